package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"reprise/abi"
	"reprise/modules"
	"reprise/modules/binary"
	"reprise/modules/rewrite"
)

// stepGuests are the guests of testdata/guests that are the same workflow in each language.
var stepGuests = []string{"c", "rust", "go"}

// guestFile is the module of a language's steps, which is built when its toolchain is always there.
func guestFile(language string) ([]byte, error) {
	if language != "go" {
		return os.ReadFile(filepath.Join(guestRoot, language, "steps.wasm"))
	}
	return builtGo("go", "-buildmode=c-shared", "-ldflags=-s -w")
}

const guestRoot = "../../../testdata/guests"

// goGuest builds a guest with the installed toolchain.
func builtGo(name string, args ...string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "reprise-guest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", append(append([]string{"build", "-trimpath"}, args...), "-o", out, ".")...)
	cmd.Dir, cmd.Env = filepath.Join(guestRoot, name), append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false", "GOWORK=off")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the Go guest: %w\n%s", err, said)
	}
	return os.ReadFile(out)
}

// way is how an instance begins.
type way string

const (
	fromData   way = "plain"  // the engine applies the module's data, and its initialisation runs
	fromCopy   way = "copied" // with a copy of the warm image
	fromShared way = "shared" // with the warm image, whose pages are shared
)

// config is that of an engine whose instances begin so. Memory is no concern of what is measured.
func (w way) config() Config { return Config{Copies: w == fromCopy, Memory: 1 << 40} }

// begin loads a module into an engine that was made for the way.
func begin(ctx context.Context, e *Engine, file []byte, w way) (*Module, error) {
	p, err := modules.Prepare(ctx, file)
	if err != nil {
		return nil, err
	}
	if w != fromData {
		return e.Load(ctx, p)
	}
	if p, err = rewritten(ctx, file, rewrite.Options{Gas: true, Depth: abi.MaxDepth, MemoryPages: modules.MaxMemoryPages, CanonicalNaN: true}); err != nil {
		return nil, err
	}
	compiled, err := e.compile(ctx, p.Code)
	if err != nil {
		return nil, err
	}
	m := &Module{engine: e, digest: p.Digest, compiled: compiled, prepared: p, image: &image{Size: uint64(p.MemoryPages) * pageBytes}}
	return m, m.image.open(true)
}

// rewritten is Prepare with other passes than those that every module gets.
func rewritten(ctx context.Context, file []byte, o rewrite.Options) (*modules.Prepared, error) {
	p, err := modules.Prepare(ctx, file)
	if err != nil {
		return nil, err
	}
	decoded, err := binary.Decode(file)
	if err != nil {
		return nil, err
	}
	if p.Code, p.Rewritten, err = rewrite.Apply(decoded, o); err != nil {
		return nil, err
	}
	p.Digest = modules.DigestOf(append([]byte(fmt.Sprintf("%+v\n", o)), file...))
	p.ImageKey = string(p.Digest)
	return p, nil
}

// adder is the world of a guest that adds up: the result of an effect is its input and the world's own number.
type adder struct {
	World // what these guests do not call
	entry Entry
	own   int64
	// replay says that all waits are answered at once.
	replay bool
	// held is called at each wait, before there is an answer.
	held func()

	handle  int32 // of the one effect at a time
	result  []byte
	seen    int64
	visible bool // the result
	fresh   bool // for the completion descriptor
}

// steps is the world of a run of so many steps.
func steps(n int, own int64) *adder {
	return &adder{own: own, entry: Entry{Name: "steps", Input: strconv.AppendInt(nil, int64(n), 10)}}
}

// sum is what the run of so many steps comes to.
func (w *adder) sum(n int) string {
	return strconv.FormatInt(int64(n)*int64(n-1)/2+int64(n)*w.own, 10)
}

func (w *adder) Entry() Entry    { return w.entry }
func (w *adder) Progress() int64 { return w.seen }
func (w *adder) Replays() bool   { return w.replay }

func (w *adder) Start(r Request) (int32, error) {
	v, err := strconv.ParseInt(string(r.Input), 10, 64)
	w.handle, w.visible, w.result = w.handle+1, false, strconv.AppendInt(nil, v+w.own, 10)
	return w.handle, err
}

func (w *adder) answer() {
	if w.held != nil {
		w.held()
	}
	w.seen++
	w.visible = true
}

func (w *adder) Wait(handles []int32, _ int64, _ int) ([]int32, error) {
	w.answer()
	return handles[:1], nil
}

func (w *adder) Poll(Poll) (completion, timedOut bool, err error) {
	w.answer()
	w.fresh = true
	return true, false, nil
}

func (w *adder) Completed() bool { return w.fresh }

func (w *adder) Take() (int32, bool) {
	was := w.fresh
	w.fresh = false
	return w.handle, was
}

func (w *adder) Status(int32) (abi.Status, error) {
	if w.visible {
		return abi.OK, nil
	}
	return abi.Pending, nil
}

func (w *adder) Result(int32) ([]byte, error) { return w.result, nil }
func (w *adder) Drop(int32) error             { return nil }
func (w *adder) CancelHandle() int32          { return abi.CancelHandle }
func (w *adder) Now() int64                   { return 1_700_000_000_000_000_000 }
func (w *adder) Monotonic() int64             { return monotonicStart }
func (w *adder) Log(int32, string, string)    {}

func (w *adder) Random(p []byte) {
	for i := range p {
		p[i] = byte(w.own) + byte(i)
	}
}

// savedGuest is the path of a language's module.
func savedGuest(t testing.TB, language string) string {
	t.Helper()
	file, err := guestFile(language)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), language+".wasm")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
