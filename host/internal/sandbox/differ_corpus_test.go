//go:build !race

package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"reprise/abi"
	"reprise/modules"
)

// corpus is what is run wherever it can be: modules by name, and executions of them.
type corpus struct {
	files map[string][]byte
	cases []guestCase
}

func (c *corpus) add(file string, kind abi.EntryKind, entry, input string, seed uint64, gas int64) {
	c.cases = append(c.cases, guestCase{Name: fmt.Sprintf("%s %s %s %.20q %d", file, kind, entry, input, seed), File: file, Kind: kind,
		Entry: entry, Input: []byte(input), Seed: seed, Gas: gas})
}

// smallGas is more than any fixture needs that ends.
const smallGas = 3 * gasSlice

// fixtureInputs mean something to one fixture or another.
var fixtureInputs = []string{"", "7", "600000000", "oft", "o-x", `{"code":"declined","message":"no"}`}

// fixtures are the modules of testdata that an upload accepts.
func fixtures(t *testing.T) *corpus {
	t.Helper()
	c := &corpus{files: map[string][]byte{}}
	for _, pattern := range []string{"../../../testdata/wasm/*.wasm", "testdata/*.wasm", "../../../testdata/guests/*/*.wasm"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("got %d files %s (%v), want some", len(paths), pattern, err)
		}
		for _, path := range paths {
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := modules.Prepare(t.Context(), file); err != nil {
				continue
			}
			name := strings.TrimSuffix(filepath.Base(path), ".wasm")
			if strings.Contains(pattern, "guests") { // by its language
				name = filepath.Base(filepath.Dir(path)) + " " + name
			}
			if name == "init_spins" {
				continue // for as long as an initialisation may, which by interpreter is half a minute
			}
			c.files[name] = file
			for seed, input := range fixtureInputs {
				c.add(name, abi.EntryWorkflow, "main", input, uint64(seed), smallGas)
			}
			c.add(name, abi.EntryActivity, "main", "7", 1, smallGas)
		}
	}
	for kind := '0'; kind <= 'C'; kind++ {
		c.add("traps", abi.EntryWorkflow, "", string(kind), 0, smallGas)
	}
	return c
}

// numbers are random programs over all numeric instructions, and one that applies each to all pairs of edges.
func numbers(programs uint64) *corpus {
	c := &corpus{files: map[string][]byte{"every pair": everyPair()}}
	c.add("every pair", abi.EntryWorkflow, "", "", 0, 1<<40)
	for seed := range programs {
		name := fmt.Sprint("numbers ", seed)
		c.files[name] = numericProgram(seed)
		c.add(name, abi.EntryWorkflow, "", "", seed, 1<<40)
	}
	return c
}

// goGuest is a Go program and how it is built: as a reactor, or as a command.
type goGuest struct {
	name, dir string
	command   bool
}

var goGuests = []goGuest{
	{"suite", "../../../guest-sdk/go/testguests/suite", false},
	{"sleeper", "../../../guest-sdk/go/testguests/sleeper", false},
	{"matrix", "../../../guest-sdk/go/testguests/matrix", false},
	{"plain", "../../../guest-sdk/go/testguests/plain", true},
	{"hello", "../../../examples/hello", false},
	{"hello-command", "../../../examples/hello", true},
	{"order-saga", "../../../examples/order-saga/workflow", false},
}

// goRuns are executions of Go guests: guest, entry, input. An entry with a colon is an activity.
var goRuns = [][3]string{
	{"suite", "sequential", "9"}, {"suite", "parallel", "12"}, {"suite", "race", ""}, {"suite", "locks", "6"}, {"suite", "group", ""},
	{"suite", "order", ""}, {"suite", "caught", ""}, {"suite", "fails", `{"code":"c","message":"m","details":{"k":"v"}}`},
	{"suite", "panics", ""}, {"suite", "panics-elsewhere", ""}, {"suite", "deadline", ""}, {"suite", "deadline-escapes", ""},
	{"suite", "cleanup", ""}, {"suite", "retry", ""}, {"suite", "stuck", ""}, {"suite", "payload", "\x00\xff\xfe not JSON {"},
	{"suite", "typed", `{"large":9007199254740993,"text":"é\u0000😀<&>","raw":{"b":9007199254740993,"a":1.0},"bytes":"AP8="}`},
	{"suite", "signals", "3"}, {"suite", "ticks", ""}, {"suite", "tells", ""}, {"suite", "fetch", `"http://h/"`}, {"suite", "limits", ""},
	{"suite", "unknown", ""}, {"suite", "activity:flaky", "2"}, {"suite", "activity:final", ""},
	{"sleeper", "sleeper", `"24h"`}, {"sleeper", "sleeper", `"x"`}, {"plain", "", "hello"}, {"plain", "", "fail"},
	{"matrix", "matrix", `{"shop":"http://h"}`}, {"matrix", "cancelled", `{"shop":"http://h"}`},
	{"hello", "hello", `{"name":"you","after":"10s"}`}, {"hello-command", "hello", `{"after":"1h"}`}, {"hello-command", "hello", ""},
	{"order-saga", "order-saga", `{"id":"o1","shop":"http://h","amount_cents":4200,"items":["a","b","c"]}`},
	{"order-saga", "activity:charge", `{"shop":"http://h","order":"o1","amount_cents":1}`},
}

// goCorpus are the executions of some guests, each with so many scripts, and what each guest says of itself.
func goCorpus(t *testing.T, scripts uint64, wanted func(goGuest) bool) *corpus {
	t.Helper()
	c := &corpus{files: map[string][]byte{}}
	for _, g := range goGuests {
		if !wanted(g) {
			continue
		}
		file, err := buildGuest(g)
		if err != nil {
			t.Fatal(err)
		}
		c.files[g.name] = file
		c.add(g.name, abi.EntryDescribe, "", "", 0, 1<<40)
		for _, r := range goRuns {
			if r[0] != g.name {
				continue
			}
			kind, entry := abi.EntryWorkflow, r[1]
			if name, ok := strings.CutPrefix(entry, "activity:"); ok {
				kind, entry = abi.EntryActivity, name
			}
			for seed := range scripts {
				c.add(g.name, kind, entry, r[2], seed, 1<<40)
			}
		}
	}
	return c
}

// built keeps the guests of this test run.
var built struct {
	sync.Mutex
	files map[string][]byte
}

// buildGuest builds a guest, once.
func buildGuest(g goGuest) ([]byte, error) {
	built.Lock()
	defer built.Unlock()
	if file, ok := built.files[g.name]; ok {
		return file, nil
	}
	dir, err := os.MkdirTemp("", "differ-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	mode := "-buildmode=c-shared"
	if g.command {
		mode = "-buildmode=exe"
	}
	path := filepath.Join(dir, "guest.wasm")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-trimpath", mode, "-ldflags=-s -w", "-o", path, ".")
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", g.name, err, out)
	}
	file, err := os.ReadFile(path)
	if err == nil {
		if built.files == nil {
			built.files = map[string][]byte{}
		}
		built.files[g.name] = file
	}
	return file, err
}
