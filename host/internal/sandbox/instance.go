package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"reprise/abi"
	"reprise/modules"
)

// stderrTail is how much of a guest's last stderr goes into the message of a trap: a Go or C panic
// says there, and only there, what went wrong.
const stderrTail = 2 << 10

// instance is one execution of a guest: the state that the imports share.
type instance struct {
	ctx   context.Context
	world World
	entry Entry
	mod   *Module

	meter  meter
	inside bool // it holds one of the engine's places to compute
	// replayed counts the waits that the journal answered.
	replayed int

	warming  *warming // only while an image is made
	linear   *linear  // its memory
	fold     fold     // of the memory
	image    *image   // that it began with
	budget   *budget  // that it was admitted to
	used     int64    // bytes that it is thought to need
	reserved int64    // bytes that it got

	export    string    // the function that the run is inside of
	pending   pending   // the last call that could wait
	freezing  *freezing // it is on its way out of its calls
	thawing   *Frozen   // its code has not come back yet
	asked     *Frozen   // a copy of it answers a query
	asks      bool      // what is thawed is a copy that is asked
	words     []uint64  // of its frames, that it has saved or not loaded yet
	rewinds   bool      // it is on its way to the pending import, through its calls
	restoring bool      // memory is given that it was admitted with

	running bool  // the entry has been called; before that only initialisation runs
	cause   error // why the host stopped the guest
	exited  bool  // proc_exit was called
	status  uint32

	output, failure       []byte
	outputSet, failureSet bool
	next                  []byte // the successor's input
	nextSet               bool

	stdin  int // bytes of the input that were read
	stdout stream
	stderr stream
	result []byte // stdout of a guest that does not know output
	tail   []byte // last bytes of stderr
}

type instanceKey struct{}

func instanceOf(ctx context.Context) *instance { return ctx.Value(instanceKey{}).(*instance) }

// stop unwinds the guest out of a host function.
func (in *instance) stop(cause error) {
	if in.cause == nil {
		in.cause = cause
	}
	panic(errStop)
}

func (in *instance) misuse(function, format string, args ...any) {
	in.stop(&Misuse{Function: function, Reason: fmt.Sprintf(format, args...)})
}

// Run makes an instance, runs the world's entry in it and closes it. export names the function to
// call; empty means the module's own entry: _start of a command, reprise_run of a reactor.
func (m *Module) Run(ctx context.Context, w World, export string) Ending {
	return m.execute(ctx, w, &instance{export: m.entryName(export)})
}

// entryName is the function that an execution enters.
func (m *Module) entryName(export string) string {
	switch {
	case export != "":
		return export
	case m.prepared.Shape == modules.Command:
		return abi.ExportStart
	}
	return abi.ExportRun
}

// execute makes an instance, lets it run to its end, or until it is frozen, and closes it.
func (m *Module) execute(ctx context.Context, w World, in *instance) Ending {
	in.world, in.entry, in.mod = w, w.Entry(), m
	ctx = context.WithValue(ctx, instanceKey{}, in)
	in.ctx = ctx
	if err := in.admit(ctx); err != nil {
		return Ending{Cause: err}
	}
	defer in.discharge()
	held, err := m.held(ctx)
	if err != nil {
		return Ending{Cause: err}
	}
	if err := m.engine.places.enter(ctx, in.entry.Tenant); err != nil {
		held.letGo(ctx)
		return Ending{Cause: err}
	}
	in.inside = true
	defer in.leave()
	in.image = held.image
	inst, err := held.instantiate(ctx, in, held.image)
	held.letGo(ctx)
	if err != nil {
		return in.ending(nil, err)
	}
	defer inst.Close(ctx)
	if in.linear != nil {
		m.engine.folder.add(in)
		defer m.engine.folder.remove(in)
	}
	defer in.measure()
	var results []uint64
	switch {
	case in.asked != nil:
		results, err = in.answerQuery(inst)
	case in.thawing != nil:
		results, err = in.thaw(inst)
	default:
		results, err = in.begin(inst)
	}
	switch {
	case in.freezing != nil && in.thawing != nil: // it is as it was
		return Ending{Cause: in.freezing.why, Frozen: in.thawing}
	case in.freezing != nil:
		return in.frozen(inst, err)
	}
	in.stdout.flush(in)
	in.stderr.flush(in)
	if m.ended != nil {
		m.ended(in, inst)
	}
	return in.ending(results, err)
}

// begin calls what comes before the entry, and the entry.
func (in *instance) begin(inst api.Module) ([]uint64, error) {
	if err := in.prologue(inst, in.image); err != nil {
		return nil, err
	}
	f := inst.ExportedFunction(in.export)
	if f == nil {
		in.cause = fmt.Errorf("%w: %q", ErrNoExport, in.export)
		return nil, in.cause
	}
	in.running = true
	return f.Call(in.ctx)
}

// ending classifies how a call came back.
func (in *instance) ending(results []uint64, err error) Ending {
	var stack []string
	if err != nil {
		stack = stackOf(err)
	}
	var misuse *Misuse
	var exhausted *Exhausted
	var bug runtime.Error
	var stopped *sys.ExitError
	switch {
	case errors.As(in.cause, &misuse):
		return in.failed(abi.NewFailure(abi.CodeMisuse, "%s", misuse.Error()), stack)
	case errors.As(in.cause, &exhausted), errors.As(err, &exhausted):
		return in.failed(abi.NewFailure(exhausted.Code, "%s", exhausted.Reason), stack)
	case in.asks && errors.Is(in.cause, ErrAnswered):
		return in.answered()
	case in.cause != nil:
		return Ending{Cause: in.cause, Stack: stack}
	case in.exited && in.failureSet:
		return in.failed(abi.DecodeFailure(in.failure), nil)
	case in.exited && !in.running:
		return in.failed(abi.NewFailure(abi.CodeExit, "the guest exited with status %d before its entry was called%s", int32(in.status), in.lastWords()), nil)
	case in.exited && in.status != 0:
		return in.failed(abi.NewFailure(abi.CodeExit, "the guest exited with status %d%s", int32(in.status), in.lastWords()), nil)
	case in.exited:
		return in.success(0)
	case err == nil && len(results) == 1:
		return in.success(int32(uint32(results[0])))
	case err == nil:
		return in.success(0)
	case errors.As(err, &bug) && strings.Contains(err.Error(), "recovered by wazero"):
		return Ending{Cause: fmt.Errorf("host function: %w", err), Stack: stack}
	case errors.As(err, &stopped): // by its context: proc_exit is our own and panics otherwise
		return Ending{Cause: err, Stack: stack}
	case in.mod.engine.closed.Load():
		return Ending{Cause: fmt.Errorf("%w: %w", errClosed, err), Stack: stack}
	case in.mod.overflowed(err):
		return Ending{Cause: ErrInterpreterDepth, Stack: stack}
	}
	return in.failed(abi.NewFailure(abi.CodeTrap, "%s%s", trapOf(err), in.lastWords()), stack)
}

func (in *instance) success(status int32) Ending {
	switch {
	case in.failureSet:
		return in.failed(abi.DecodeFailure(in.failure), nil)
	case status != 0:
		return in.failed(abi.NewFailure(abi.CodeNoOutput, "the entry returned %d without calling fail%s", status, in.lastWords()), nil)
	case in.nextSet:
		return Ending{Output: in.next, Continues: true}
	case !in.outputSet && !in.mod.prepared.UsesOutput:
		if limit := in.maxPayload(); len(in.result) > limit {
			return in.failed(abi.NewFailure(abi.CodePayloadLarge, "the guest wrote more than %d bytes to standard output, which is its result", limit), nil)
		}
		return Ending{Output: in.result}
	}
	return Ending{Output: in.output}
}

func (in *instance) failed(f *abi.Failure, stack []string) Ending {
	return Ending{Failure: f, Stack: stack}
}

// lastWords is the end of stderr as the tail of a message.
func (in *instance) lastWords() string {
	s := strings.TrimSpace(string(in.tail))
	if s == "" {
		return ""
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return ": " + s
}

// trapOf is the first line of a trap without wazero's prefix, the same on every engine.
func trapOf(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = strings.TrimPrefix(line, "wasm error: ")
	return strings.TrimSuffix(line, " (recovered by wazero)")
}

// maxFrames bounds a stack that is shown to people.
const maxFrames = 12

// stackOf reads the guest's frames out of wazero's error text.
func stackOf(err error) []string {
	_, trace, ok := strings.Cut(err.Error(), "wasm stack trace:\n")
	if !ok {
		return nil
	}
	var frames []string
	for line := range strings.Lines(trace) {
		if len(frames) == maxFrames {
			break
		}
		frame := strings.TrimSpace(line)
		frame, _, _ = strings.Cut(strings.TrimPrefix(frame, "."), "(")
		if frame != "" {
			frames = append(frames, frame)
		}
	}
	return frames
}

// read copies guest memory; function names the caller in a misuse.
func (in *instance) read(m api.Module, function string, ptr, n uint32, limit int) []byte {
	if n == 0 {
		return nil
	}
	if int64(n) > int64(limit) {
		in.misuse(function, "%d bytes, more than the limit of %d", n, limit)
	}
	view, ok := memory(m).Read(ptr, n)
	if !ok {
		in.misuse(function, "bytes %d to %d are outside memory", ptr, uint64(ptr)+uint64(n))
	}
	in.tollBytes(int(n))
	return append(make([]byte, 0, n), view...)
}

// name reads a name: 1 to abi.MaxName bytes of UTF-8 without NUL.
func (in *instance) name(m api.Module, function string, ptr, n uint32) string {
	b := in.read(m, function, ptr, n, abi.MaxName)
	if len(b) == 0 || !utf8.Valid(b) || strings.IndexByte(string(b), 0) >= 0 {
		in.misuse(function, "the name %.80q is empty, not UTF-8, or has a NUL byte", b)
	}
	return string(b)
}

// pull writes b at ptr when capacity is enough and returns the full length.
func (in *instance) pull(m api.Module, function string, b []byte, ptr, capacity uint32) uint64 {
	if mem := memory(m); uint64(ptr)+uint64(capacity) > uint64(mem.Size()) {
		in.misuse(function, "the buffer of %d bytes at %d is outside memory", capacity, ptr)
	} else if uint64(len(b)) <= uint64(capacity) {
		in.tollBytes(len(b))
		mem.Write(ptr, b)
	}
	return uint64(uint32(len(b)))
}

// memory is the guest's memory; one without any has size 0, so that every access is out of bounds.
func memory(m api.Module) api.Memory {
	if mem := m.Memory(); mem != nil {
		return mem
	}
	return noMemory{}
}
