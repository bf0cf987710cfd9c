package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"reprise/abi"
	"reprise/modules"
)

// fakeMemory is guest memory without a guest.
type fakeMemory struct {
	api.Memory
	b []byte
}

func (m *fakeMemory) Size() uint32 { return uint32(len(m.b)) }
func (m *fakeMemory) Read(at, n uint32) ([]byte, bool) {
	if uint64(at)+uint64(n) > uint64(len(m.b)) {
		return nil, false
	}
	return m.b[at : at+n : at+n], true
}
func (m *fakeMemory) Write(at uint32, p []byte) bool {
	view, ok := m.Read(at, uint32(len(p)))
	copy(view, p)
	return ok
}
func (m *fakeMemory) ReadUint32Le(at uint32) (uint32, bool) {
	view, ok := m.Read(at, 4)
	if !ok {
		return 0, false
	}
	return binary.LittleEndian.Uint32(view), true
}
func (m *fakeMemory) WriteUint32Le(at, v uint32) bool {
	return m.Write(at, binary.LittleEndian.AppendUint32(nil, v))
}
func (m *fakeMemory) WriteUint64Le(at uint32, v uint64) bool {
	return m.Write(at, binary.LittleEndian.AppendUint64(nil, v))
}

type fakeModule struct {
	api.Module
	mem *fakeMemory
}

func (m fakeModule) Memory() api.Memory               { return m.mem }
func (m fakeModule) ExportedGlobal(string) api.Global { return nil }

// fakeWorld records what the imports ask of it.
type fakeWorld struct {
	entry     Entry
	now, mono int64
	started   []Request
	waited    []string
	polled    []Poll
	completed []int32
	pollAs    func(p Poll) (bool, bool, error)
	lines     []string
	published map[string]string
}

func (w *fakeWorld) Entry() Entry    { return w.entry }
func (w *fakeWorld) Progress() int64 { return int64(len(w.waited)) }
func (w *fakeWorld) Replays() bool   { return false }
func (w *fakeWorld) Start(r Request) (int32, error) {
	w.started = append(w.started, r)
	return int32(len(w.started)), nil
}
func (w *fakeWorld) Wait(handles []int32, timeout int64, max int) ([]int32, error) {
	w.waited = append(w.waited, fmt.Sprint(handles, timeout, max))
	return handles[:min(max, len(handles))], nil
}
func (w *fakeWorld) Poll(p Poll) (bool, bool, error) {
	w.polled = append(w.polled, p)
	return w.pollAs(p)
}
func (w *fakeWorld) Completed() bool { return len(w.completed) > 0 }
func (w *fakeWorld) Take() (int32, bool) {
	if len(w.completed) == 0 {
		return 0, false
	}
	h := w.completed[0]
	w.completed = w.completed[1:]
	return h, true
}
func (w *fakeWorld) Status(int32) (abi.Status, error) { return abi.OK, nil }
func (w *fakeWorld) Result(h int32) ([]byte, error) {
	if h == 9 {
		return nil, &Misuse{Function: "result", Reason: "handle 9 is pending"}
	}
	return []byte("outcome"), nil
}
func (w *fakeWorld) Cancel(int32) error  { return nil }
func (w *fakeWorld) Drop(int32) error    { return nil }
func (w *fakeWorld) CancelHandle() int32 { return 0 }
func (w *fakeWorld) Now() int64          { return w.now }
func (w *fakeWorld) Monotonic() int64    { return w.mono }
func (w *fakeWorld) Random(p []byte) {
	for i := range p {
		p[i] = 7
	}
}
func (w *fakeWorld) Log(level int32, source, line string) {
	w.lines = append(w.lines, fmt.Sprintf("%d %s %s", level, source, line))
}
func (w *fakeWorld) Publish(key string, value []byte) error {
	if w.published == nil {
		w.published = map[string]string{}
	}
	w.published[key] = string(value)
	return nil
}

// rig is an instance on fake memory.
type rig struct {
	t     *testing.T
	in    *instance
	world *fakeWorld
	mem   *fakeMemory
}

func newRig(t *testing.T) *rig {
	w := &fakeWorld{now: 1_700_000_000_000_000_000, mono: 1_000_000_000}
	return &rig{t: t, world: w, mem: &fakeMemory{b: make([]byte, 64<<10)},
		in: &instance{ctx: t.Context(), world: w, running: true, mod: &Module{engine: &Engine{places: newPlaces(1)},
			prepared: &modules.Prepared{Assets: map[string][]byte{"flow.js": []byte("code")}}}}}
}

// call runs an import with garbage in the upper half of each word, as wazero may leave it there.
func (r *rig) call(f hostFunc, args ...uint64) (result uint32, stopped error) {
	st := make([]uint64, max(len(args), 1))
	for i, a := range args {
		st[i] = a
		if a>>32 == 0 {
			st[i] |= 0xdeadbeef << 32
		}
	}
	defer func() {
		if p := recover(); p != nil {
			if err, ok := p.(error); !ok || !errors.Is(err, errStop) {
				panic(p)
			}
			stopped = r.in.cause
		}
	}()
	f(r.in, fakeModule{mem: r.mem}, st)
	return uint32(st[0]), nil
}

func (r *rig) wasi(name string, args ...uint64) uint16 {
	r.t.Helper()
	errno, stopped := r.call(func(in *instance, m api.Module, st []uint64) { st[0] = uint64(wasi[name](in, m, st)) }, args...)
	if stopped != nil {
		r.t.Fatalf("%s stopped the guest: %v", name, stopped)
	}
	return uint16(errno)
}

func (r *rig) put(at int, b []byte) { copy(r.mem.b[at:], b) }

func (r *rig) u32(at int) uint32 { return binary.LittleEndian.Uint32(r.mem.b[at:]) }
