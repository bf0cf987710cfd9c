package failpoint

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
)

var (
	pointA = New("test.a")
	_      = New("test.b")
)

// TestMain: a child passes pointA three times and says how far it got.
func TestMain(m *testing.M) {
	if os.Getenv("REPRISE_TEST_CHILD") != "" {
		for i := range 3 {
			pointA.Hit()
			os.Stdout.WriteString(string(rune('1' + i)))
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestHit(t *testing.T) {
	tests := map[string]struct {
		passed string
		killed bool
	}{
		"":         {"123", false},
		"test.b":   {"123", false},
		"test.a":   {"", true},
		"test.a:1": {"", true},
		"test.a:3": {"12", true},
		"test.a:4": {"123", false},
		"test.a:x": {"", true}, // no number is once
	}
	for spec, tt := range tests {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "REPRISE_TEST_CHILD=1", Env+"="+spec)
		out, err := cmd.Output()
		var exit *exec.ExitError
		killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		if string(out) != tt.passed || killed != tt.killed {
			t.Errorf("%q: got %q, killed %v (%v); want %q, killed %v", spec, out, killed, err, tt.passed, tt.killed)
		}
	}
}

func TestNames(t *testing.T) {
	if got, want := Names(), []string{"test.a", "test.b"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a second point of one name was made, want a panic")
		}
	}()
	New("test.a")
}
