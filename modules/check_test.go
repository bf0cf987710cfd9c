package modules

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reprise/modules/binary"
)

func TestLimits(t *testing.T) {
	for _, s := range atLimits {
		t.Run(s.name, func(t *testing.T) {
			if _, refused := prepare(t, program(function(0), s.make(s.limit))); refused != nil {
				t.Errorf("got %v for %d, want none", refused, s.limit)
			}
			_, refused := prepare(t, program(function(0), s.make(s.limit+s.step)))
			if refused == nil || refused.Code != "too_many" {
				t.Fatalf("got %v for %d, want too_many", refused, s.limit+s.step)
			}
			for _, say := range []string{"function 1", s.say, fmt.Sprint(s.limit), fmt.Sprint(s.limit + s.step)} {
				if !strings.Contains(refused.Error(), say) {
					t.Errorf("got %q, want %q in it", refused, say)
				}
			}
		})
	}
}

// TestSumOfFunctions refuses many functions of which each alone is good.
func TestSumOfFunctions(t *testing.T) {
	one := function(0, times(4_000, zero, []byte{0x11, 0, 0})) // call_indirect
	file := program(one)
	m, err := binary.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	var f flow
	figures, err := f.measure(m, 0)
	if err != nil {
		t.Fatal(err)
	}
	most := maxCost / figures.total()
	functions := make([][]byte, most+1)
	for i := range functions {
		functions[i] = one
	}
	if _, refused := prepare(t, program(functions[:most]...)); refused != nil {
		t.Errorf("got %v for %d functions, want none", refused, most)
	}
	_, refused := prepare(t, program(functions...))
	if refused == nil || refused.Code != "too_many" || !strings.Contains(refused.Error(), fmt.Sprintf("function %d", most)) {
		t.Errorf("got %v for %d functions, want too_many in the last", refused, most+1)
	}
}

func TestFigures(t *testing.T) {
	tests := []struct {
		name string
		code []byte
		want figures
	}{
		{"straight", function(1, get(0), drop), figures{instructions: 3, carried: 1}},
		{"written where it is read", function(1, zero, set(0), get(0), drop), figures{instructions: 5}},
		{"read behind a branch", function(1, zero, set(0), zero, brIf(0), get(0), drop), figures{instructions: 7, branches: 1, carried: 1, searched: 1}},
		{"if", function(1, zero, ifThen, zero, set(0), end, get(0), drop),
			figures{instructions: 8, branches: 1, nesting: 1, carried: 1, joined: 2, searched: 2}},
		{"if and else", function(1, zero, ifThen, zero, set(0), []byte{0x05}, end, get(0), drop),
			figures{instructions: 9, branches: 1, nesting: 1, carried: 1, joined: 2, searched: 2}},
		{"if that returns", function(1, zero, ifThen, []byte{0x0f}, end, get(0), drop),
			figures{instructions: 7, branches: 1, nesting: 1, carried: 1, searched: 2}},
		{"loop", function(1, loop, get(0), brIf(0), end), figures{instructions: 5, branches: 3, nesting: 1, loops: 1, carried: 1, joined: 2}},
		{"block without a branch", function(1, zero, set(0), block, end, get(0), drop),
			figures{instructions: 7, branches: 1, nesting: 1, carried: 1, searched: 1}},
		{"br_table", function(1, block, block, zero, table(3, 1), end, end, get(0), drop),
			figures{instructions: 9, branches: 2, nesting: 2, labels: 3, table: 3, carried: 1, joined: 3, searched: 3}},
		{"dead code", function(1, []byte{0x00}, block, loop, get(0), brIf(0), end, end, get(0), drop),
			figures{instructions: 10, branches: 4, nesting: 2, loops: 1}},
		{"label that is not there", function(0, zero, brIf(77)), figures{instructions: 3, branches: 1}},
		{"fill", function(1, fill, get(0), drop), figures{instructions: 7, branches: 3, bulk: 1, carried: 1, joined: 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := binary.Decode(program(tt.code))
			if err != nil {
				t.Fatal(err)
			}
			var f flow
			got, err := f.measure(m, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got.cost = 0; got != tt.want {
				t.Errorf("got %+v\nwant %+v", got, tt.want)
			}
			if again, _ := f.measure(m, 0); again.carried != got.carried || again.searched != got.searched {
				t.Errorf("got %+v the second time, want %+v", again, got)
			}
		})
	}
}

// TestRefusalNamesTheFunction takes the name from the name section when that is harmless.
func TestRefusalNamesTheFunction(t *testing.T) {
	bad := program(function(0), function(0, []byte{0xfd, 0x0c}, make([]byte, 16), drop))
	names := func(name string) []byte {
		entry := append([]byte{1, 1}, str(name)...)
		return custom("name", string(append(append([]byte{1}, leb(len(entry))...), entry...)))
	}
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"no names", bad, `function 1, code section, offset 0x`},
		{"a name", with(bad, names("main.main")), `function 1 "main.main", code section, offset 0x`},
		{"a name with ESC", with(bad, names("\x1b[31m")), `function 1, code section, offset 0x`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, refused := prepare(t, tt.file)
			if refused == nil || refused.Code != "unsupported_feature" || !strings.HasPrefix(refused.Where, tt.want) {
				t.Errorf("got %+v, want unsupported_feature at %q", refused, tt.want)
			}
		})
	}
}

// guest builds a Go program for WASI.
func guest(t testing.TB, dir string, args ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", append([]string{"build", "-o", out}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWORK=off")
	if log, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s %v: %v\n%s", dir, args, err, log)
	}
	file, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestGoGuestsPass takes what people build. A program with the server and the client of net/http is
// larger than an upload may be, but its code must not be what is wrong with it.
func TestGoGuestsPass(t *testing.T) {
	for _, name := range []string{"suite", "matrix"} {
		if _, refused := prepare(t, guest(t, "../guest-sdk/go", "./testguests/"+name)); refused != nil {
			t.Errorf("%s: %v", name, refused)
		}
	}
}

func TestNetHTTPPasses(t *testing.T) {
	m, err := binary.Decode(guest(t, "testdata/nethttp", "."))
	if err != nil {
		t.Fatal(err)
	}
	var f flow
	for i := range m.Bodies {
		figures, err := f.measure(m, i)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range figures.limits() {
			if l.figure > l.most {
				t.Errorf("function %d has %d %s, more than %d", i, l.figure, l.what, l.most)
			}
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	file := guest(b, "../guest-sdk/go", "./testguests/suite")
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if _, refused := prepare(b, file); refused != nil {
			b.Fatal(refused)
		}
	}
}
