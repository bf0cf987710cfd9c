package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"reprise/abi"
	"reprise/modules"
)

// prepared reads a module of testdata, which wat2wasm makes of its text, with bytes appended.
func prepared(t *testing.T, name string, more ...byte) *modules.Prepared {
	t.Helper()
	code, err := os.ReadFile(filepath.Join("testdata", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := modules.Prepare(context.Background(), append(code, more...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newEngine(t *testing.T, cfg Config) *Engine {
	t.Helper()
	e, err := New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

func load(t *testing.T, e *Engine, p *modules.Prepared) *Module {
	t.Helper()
	m, err := e.Load(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestEndings: how a guest ended is told from what it did, on both engines the same.
func TestEndings(t *testing.T) {
	tests := []struct{ name, module, input, failure, output string }{
		{"exit in _initialize", "exit_in_init", "", abi.CodeExit, ""},
		{"exit in the start section", "exit_in_start", "", abi.CodeExit, ""},
		{"trap in the start section", "trap_in_start", "", abi.CodeTrap, ""},
		{"nothing", "ends", "---", "", ""},
		{"output", "ends", "o--", "", "out"},
		{"output and exit 0", "ends", "o-e", "", "out"},
		{"output and exit 5", "ends", "o-x", abi.CodeExit, ""},
		{"output and 1", "ends", "o-1", abi.CodeNoOutput, ""},
		{"output and trap", "ends", "o-t", abi.CodeTrap, ""},
		{"fail", "ends", "-f-", "mine", ""},
		{"output and fail", "ends", "of-", "mine", ""},
		{"fail and 1", "ends", "-f1", "mine", ""},
		{"fail and exit 0", "ends", "-fe", "mine", ""},
		{"fail and exit 5", "ends", "-fx", "mine", ""},
		{"fail and trap", "ends", "-ft", abi.CodeTrap, ""},
	}
	for engine, cfg := range map[string]Config{"compiler": {}, "interpreter": {Interpret: true}} {
		e := newEngine(t, cfg)
		for _, tt := range tests {
			t.Run(engine+"/"+tt.name, func(t *testing.T) {
				w := &fakeWorld{entry: Entry{Input: []byte(tt.input)}}
				end := load(t, e, prepared(t, tt.module)).Run(context.Background(), w, "")
				code := ""
				if end.Failure != nil {
					code = end.Failure.Code
				}
				if end.Cause != nil || code != tt.failure || string(end.Output) != tt.output {
					t.Errorf("got cause %v, failure %q, output %q, want failure %q, output %q", end.Cause, code, end.Output, tt.failure, tt.output)
				}
			})
		}
	}
}

// stuckWorld holds a guest in its start section.
type stuckWorld struct {
	fakeWorld
	entered, leave chan struct{}
}

func (w *stuckWorld) Random([]byte) {
	close(w.entered)
	<-w.leave
}

// TestStuckStartSectionBlocksNobody: a module is dropped while an instance of it is being made.
func TestStuckStartSectionBlocksNobody(t *testing.T) {
	e := newEngine(t, Config{MaxModules: 1})
	w := &stuckWorld{entered: make(chan struct{}), leave: make(chan struct{})}
	m := load(t, e, prepared(t, "random_in_start"))
	ended := make(chan Ending)
	go func() { ended <- m.Run(context.Background(), w, "") }()
	<-w.entered
	other := load(t, e, prepared(t, "ends"))
	if end := other.Run(context.Background(), &fakeWorld{entry: Entry{Input: []byte("o--")}}, ""); string(end.Output) != "out" {
		t.Errorf("got %+v of the other module, want its output", end)
	}
	close(w.leave)
	if end := <-ended; end.Cause != nil || end.Failure != nil {
		t.Errorf("got %+v of the dropped module, want success", end)
	}
}

// TestTwins: two files that differ only in an asset have the same code; dropping one leaves the other.
func TestTwins(t *testing.T) {
	e := newEngine(t, Config{MaxModules: 1})
	one := load(t, e, prepared(t, "ends"))
	two := load(t, e, prepared(t, "ends", append([]byte{0, 17, 15}, "reprise.asset.x1"...)...))
	for range 3 {
		for _, m := range []*Module{two, one} { // each drops the other
			if end := m.Run(context.Background(), &fakeWorld{entry: Entry{Input: []byte("o--")}}, ""); string(end.Output) != "out" {
				t.Fatalf("got %+v, want its output", end)
			}
		}
	}
}

// TestClosedEngineIsNotTheGuest: what a closed engine does to a guest is no failure of the guest.
func TestClosedEngineIsNotTheGuest(t *testing.T) {
	e := newEngine(t, Config{})
	p := prepared(t, "ends")
	m := load(t, e, p)
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if end := m.Run(context.Background(), &fakeWorld{entry: Entry{Input: []byte("o--")}}, ""); end.Cause == nil || end.Failure != nil {
		t.Errorf("run: got %+v, want a cause and no failure", end)
	}
	var refused *modules.RefusedError
	if _, err := e.Load(context.Background(), prepared(t, "exit_in_init")); err == nil || errors.As(err, &refused) {
		t.Errorf("load: got %v, want an error that does not blame the module", err)
	}
}

// TestContextIsNotTheGuest: a guest that its context stops has not failed.
func TestContextIsNotTheGuest(t *testing.T) {
	e := newEngine(t, Config{Interpret: true})
	ctx, cancel := context.WithCancel(context.Background())
	w := &stuckWorld{entered: make(chan struct{}), leave: make(chan struct{})}
	m := load(t, e, prepared(t, "random_in_start"))
	ended := make(chan Ending)
	go func() { ended <- m.Run(ctx, w, "") }()
	<-w.entered
	cancel()
	close(w.leave)
	// Whether the guest got to its end before it noticed is open; a failure it is not.
	if end := <-ended; end.Failure != nil {
		t.Errorf("got %v, want no failure", end.Failure)
	}
	if end := m.Run(ctx, &fakeWorld{}, ""); !errors.Is(end.Cause, context.Canceled) {
		t.Errorf("got %+v under a context that is done, want it as the cause", end)
	}
}

// TestModulesComeAndGo loads, drops and runs modules from many goroutines.
func TestModulesComeAndGo(t *testing.T) {
	e := newEngine(t, Config{MaxModules: 2})
	var mods []*modules.Prepared
	for i := range byte(5) {
		mods = append(mods, prepared(t, "ends", append([]byte{0, 18, 15}, append([]byte("reprise.asset.x"), i, i)...)...))
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 40 {
				m, err := e.Load(context.Background(), mods[(i+j*(i+1))%len(mods)])
				if err != nil {
					t.Error(err)
					return
				}
				if end := m.Run(context.Background(), &fakeWorld{entry: Entry{Input: []byte("o--")}}, ""); string(end.Output) != "out" {
					t.Errorf("got %+v, want its output", end)
					return
				}
			}
		})
	}
	wg.Wait()
}
