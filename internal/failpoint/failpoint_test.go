package failpoint

import (
	"bytes"
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

// TestFreeze: a child stops at a point and goes on after SIGCONT.
func TestFreeze(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "REPRISE_TEST_CHILD=1", FreezeEnv+"=test.a:2")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Errorf("got status %v (%v), want stopped", status, err)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil || out.String() != "123" {
		t.Errorf("got %q (%v), want 123 after it was let go on", out.String(), err)
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
