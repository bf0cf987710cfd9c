package sandbox

import (
	"encoding/binary"
	"testing"

	"reprise/abi"
	"reprise/modules"
)

func clockSub(userdata uint64, clock uint32, timeout uint64, flags uint16) []byte {
	b := make([]byte, subscriptionSize)
	binary.LittleEndian.PutUint64(b, userdata)
	binary.LittleEndian.PutUint32(b[16:], clock)
	binary.LittleEndian.PutUint64(b[24:], timeout)
	binary.LittleEndian.PutUint16(b[40:], flags)
	return b
}

func fdSub(userdata uint64, kind byte, fd uint32) []byte {
	b := make([]byte, subscriptionSize)
	binary.LittleEndian.PutUint64(b, userdata)
	b[8] = kind
	binary.LittleEndian.PutUint32(b[16:], fd)
	return b
}

const hour = 3600 * 1_000_000_000

func TestPollOneoff(t *testing.T) {
	timesOut := func(Poll) (bool, bool, error) { return false, true, nil }
	completes := func(Poll) (bool, bool, error) { return true, false, nil }
	now, mono := uint64(1_700_000_000_000_000_000), uint64(1_000_000_000)
	tests := []struct {
		name      string
		subs      [][]byte
		completed []int32
		pollAs    func(Poll) (bool, bool, error)
		polled    []Poll   // what the world is asked
		events    []uint64 // userdata of the events, in order
	}{
		{name: "relative sleep", subs: [][]byte{clockSub(1, 1, hour, 0)}, pollAs: timesOut, polled: []Poll{{Timeout: hour}}, events: []uint64{1}},
		{name: "absolute monotonic", subs: [][]byte{clockSub(1, 1, mono+hour, 1)}, pollAs: timesOut, polled: []Poll{{Timeout: hour}}, events: []uint64{1}},
		{name: "absolute realtime", subs: [][]byte{clockSub(1, 0, now+hour, 1)}, pollAs: timesOut, polled: []Poll{{Timeout: hour}}, events: []uint64{1}},
		{name: "absolute in the past", subs: [][]byte{clockSub(1, 0, 5, 1)}, events: []uint64{1}},
		{name: "absolute for ever", subs: [][]byte{clockSub(1, 0, 1<<63, 1)}, pollAs: timesOut, polled: []Poll{{Timeout: abi.MaxDuration}}, events: []uint64{1}},
		{name: "relative for ever", subs: [][]byte{clockSub(1, 1, 1<<64-1, 0)}, pollAs: timesOut, polled: []Poll{{Timeout: abi.MaxDuration}}, events: []uint64{1}},
		{name: "zero timeout reveals nothing", subs: [][]byte{fdSub(1, subRead, 3), clockSub(2, 1, 0, 0)}, events: []uint64{2}},
		{name: "a completion is at hand", subs: [][]byte{fdSub(1, subRead, 3), clockSub(2, 1, 0, 0)}, completed: []int32{4}, events: []uint64{1}},
		{name: "completion or timer: completion", subs: [][]byte{fdSub(1, subRead, 3), clockSub(2, 1, hour, 0)}, pollAs: completes, polled: []Poll{{Timeout: hour, Completions: true}}, events: []uint64{1}},
		{name: "completion or timer: timer", subs: [][]byte{fdSub(1, subRead, 3), clockSub(2, 1, hour, 0)}, pollAs: timesOut, polled: []Poll{{Timeout: hour, Completions: true}}, events: []uint64{2}},
		{name: "two timers at once", subs: [][]byte{clockSub(1, 1, hour, 0), clockSub(2, 1, hour, 0), clockSub(3, 1, 2*hour, 0)}, pollAs: timesOut, polled: []Poll{{Timeout: hour}}, events: []uint64{1, 2}},
		{name: "standard streams are ready", subs: [][]byte{fdSub(1, subWrite, 1), fdSub(2, subRead, 0), clockSub(3, 1, hour, 0)}, events: []uint64{1, 2}},
		{name: "a completion beside a stream", subs: [][]byte{fdSub(1, subWrite, 1), fdSub(2, subRead, 3)}, completed: []int32{4}, events: []uint64{1, 2}},
		{name: "bad descriptor and clock", subs: [][]byte{fdSub(1, subRead, 9), clockSub(2, 77, hour, 0)}, events: []uint64{1, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.world.pollAs, r.world.completed = tt.pollAs, tt.completed
			for i, s := range tt.subs {
				r.put(1000+i*subscriptionSize, s)
			}
			if errno := r.wasi("poll_oneoff", 1000, 4000, uint64(len(tt.subs)), 8000); errno != 0 {
				t.Fatalf("got errno %d", errno)
			}
			if len(r.world.polled) != len(tt.polled) || len(tt.polled) > 0 && r.world.polled[0] != tt.polled[0] {
				t.Errorf("got %v asked of the world, want %v", r.world.polled, tt.polled)
			}
			n := int(r.u32(8000))
			if n != len(tt.events) {
				t.Fatalf("got %d events, want %v", n, tt.events)
			}
			for i, want := range tt.events {
				if got := binary.LittleEndian.Uint64(r.mem.b[4000+i*eventSize:]); got != want {
					t.Errorf("event %d is of subscription %d, want %d", i, got, want)
				}
			}
		})
	}
}

func TestPollOneoffBadArguments(t *testing.T) {
	r := newRig(t)
	if got := r.wasi("poll_oneoff", 0, 0, 0, 0); got != errnoInval {
		t.Errorf("no subscriptions: got errno %d, want %d", got, errnoInval)
	}
	if got := r.wasi("poll_oneoff", 0, 0, 1<<31, 0); got != errnoInval {
		t.Errorf("2^31 subscriptions: got errno %d, want %d", got, errnoInval)
	}
	if got := r.wasi("poll_oneoff", 64<<10-4, 0, 1, 0); got != errnoFault {
		t.Errorf("outside memory: got errno %d, want %d", got, errnoFault)
	}
}

func TestCompletionDescriptor(t *testing.T) {
	r := newRig(t)
	binary.LittleEndian.PutUint32(r.mem.b[100:], 200) // one iovec of 8 bytes at 200
	binary.LittleEndian.PutUint32(r.mem.b[104:], 8)
	if got := r.wasi("fd_read", 3, 100, 1, 300); got != errnoAgain {
		t.Errorf("nothing completed: got errno %d, want EAGAIN", got)
	}
	r.world.completed = []int32{5, 6, 7}
	if got := r.wasi("fd_read", 3, 100, 1, 300); got != 0 || r.u32(300) != 8 || r.u32(200) != 5 || r.u32(204) != 6 {
		t.Errorf("got errno %d, %d bytes, handles %d %d; want 8 bytes with 5 and 6", got, r.u32(300), r.u32(200), r.u32(204))
	}
	if got := r.wasi("fd_read", 3, 100, 1, 300); got != 0 || r.u32(300) != 4 || r.u32(200) != 7 {
		t.Errorf("got errno %d, %d bytes, handle %d; want the last one", got, r.u32(300), r.u32(200))
	}
	if got := r.wasi("fd_fdstat_get", 3, 400); got != 0 || r.mem.b[400] != typeSocket || r.mem.b[402] != flagNonblock {
		t.Errorf("got errno %d, type %d, flags %d; want a non-blocking socket", got, r.mem.b[400], r.mem.b[402])
	}
}

func TestStandardInput(t *testing.T) {
	r := newRig(t)
	r.in.entry.Input = []byte("abcde")
	binary.LittleEndian.PutUint32(r.mem.b[100:], 200)
	binary.LittleEndian.PutUint32(r.mem.b[104:], 3)
	for _, want := range []string{"abc", "de", ""} {
		if got := r.wasi("fd_read", 0, 100, 1, 300); got != 0 || string(r.mem.b[200:200+r.u32(300)]) != want {
			t.Errorf("got errno %d, %q; want %q", got, r.mem.b[200:200+r.u32(300)], want)
		}
	}
}

// TestNothingIsReachable: no file, no socket, no descriptor but the four.
func TestNothingIsReachable(t *testing.T) {
	r := newRig(t)
	for _, f := range []string{"fd_close", "fd_sync", "fd_datasync", "fd_seek", "fd_tell", "fd_fdstat_set_flags"} {
		if got := r.wasi(f, 4, 0, 0, 0); got != errnoBadf {
			t.Errorf("%s(4): got errno %d, want EBADF", f, got)
		}
	}
	if got := r.wasi("fd_prestat_get", 3, 0); got != errnoBadf {
		t.Errorf("fd_prestat_get(3): got errno %d, want EBADF: there are no preopened folders", got)
	}
	for _, f := range modules.WASI {
		if _, ok := wasi[f.Name]; !ok && noAnswer(f) != errnoBadf && noAnswer(f) != errnoNosys {
			t.Errorf("%s answers %d", f.Name, noAnswer(f))
		}
	}
}

func TestClocks(t *testing.T) {
	r := newRig(t)
	for clock, want := range map[uint64]int64{0: r.world.now, 1: r.world.mono, 2: r.world.mono, 3: r.world.mono} {
		if got := r.wasi("clock_time_get", clock, 1, 100); got != 0 || int64(binary.LittleEndian.Uint64(r.mem.b[100:])) != want {
			t.Errorf("clock %d: got errno %d, %d; want %d", clock, got, binary.LittleEndian.Uint64(r.mem.b[100:]), want)
		}
	}
	if got := r.wasi("clock_time_get", 4, 1, 100); got != errnoInval {
		t.Errorf("clock 4: got errno %d, want EINVAL", got)
	}
}

func TestArguments(t *testing.T) {
	r := newRig(t)
	r.in.entry.Args = []string{"flow", "x"}
	if got := r.wasi("args_sizes_get", 100, 104); got != 0 || r.u32(100) != 2 || r.u32(104) != 7 {
		t.Errorf("got errno %d, %d arguments of %d bytes; want 2 of 7", got, r.u32(100), r.u32(104))
	}
	if got := r.wasi("args_get", 200, 300); got != 0 || string(r.mem.b[300:307]) != "flow\x00x\x00" || r.u32(204) != 305 {
		t.Errorf("got errno %d, %q, second at %d", got, r.mem.b[300:307], r.u32(204))
	}
	if got := r.wasi("environ_sizes_get", 100, 104); got != 0 || r.u32(100) != 0 {
		t.Errorf("got errno %d, %d variables; want none", got, r.u32(100))
	}
}

func TestRandomGetOfALargeBuffer(t *testing.T) {
	r := newRig(t)
	r.mem.b = make([]byte, 300<<10)
	if got := r.wasi("random_get", 10, 200<<10); got != 0 || r.mem.b[10] != 7 || r.mem.b[10+200<<10-1] != 7 || r.mem.b[9] != 0 {
		t.Errorf("got errno %d and bytes %d %d", got, r.mem.b[10], r.mem.b[10+200<<10-1])
	}
	if got := r.wasi("random_get", 200<<10, 200<<10); got != errnoFault {
		t.Errorf("outside memory: got errno %d, want EFAULT", got)
	}
}
