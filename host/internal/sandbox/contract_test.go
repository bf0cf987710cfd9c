package sandbox

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"reprise/abi"
)

func wantMisuse(t *testing.T, what string, err error) {
	t.Helper()
	var m *Misuse
	if !errors.As(err, &m) {
		t.Errorf("%s: got %v, want a misuse", what, err)
	}
}

// TestPointers gives every import that takes memory an address that is not the guest's.
func TestPointers(t *testing.T) {
	bad := []struct {
		name   string
		ptr, n uint64
	}{
		{"last address", math.MaxUint32, 1},
		{"sum overflows", math.MaxUint32 - 1, 4},
		{"behind the end", 64<<10 - 1, 2},
		{"4 GiB", 0, math.MaxUint32},
	}
	for _, b := range bad {
		for name, call := range map[string]func(r *rig) (uint32, error){
			"input":        func(r *rig) (uint32, error) { return r.call(contract["input"], b.ptr, b.n) },
			"output":       func(r *rig) (uint32, error) { return r.call(contract["output"], b.ptr, b.n) },
			"fail":         func(r *rig) (uint32, error) { return r.call(contract["fail"], b.ptr, b.n) },
			"effect name":  func(r *rig) (uint32, error) { return r.call(contract["effect"], b.ptr, b.n, 0, 0, 0, 0) },
			"signal":       func(r *rig) (uint32, error) { return r.call(contract["signal"], b.ptr, b.n) },
			"result":       func(r *rig) (uint32, error) { return r.call(contract["result"], 1, b.ptr, b.n) },
			"random":       func(r *rig) (uint32, error) { return r.call(contract["random"], b.ptr, b.n) },
			"publish key":  func(r *rig) (uint32, error) { return r.call(contract["publish"], b.ptr, b.n, 0, 0) },
			"wait handles": func(r *rig) (uint32, error) { return r.call(contract["wait"], b.ptr, min(b.n, 2000), 0, 0, 1) },
			"wait ready":   func(r *rig) (uint32, error) { return r.call(contract["wait"], 0, 0, 0, b.ptr, b.n) },
		} {
			if strings.HasPrefix(name, "wait") && b.ptr == 0 {
				continue // counts of wait are cut to its limit, which memory holds
			}
			r := newRig(t)
			_, err := call(r)
			wantMisuse(t, name+", "+b.name, err)
		}
	}
}

func TestPull(t *testing.T) {
	r := newRig(t)
	r.in.entry.Input = []byte("hello")
	if n, err := r.call(contract["input"], 100, 4); n != 5 || err != nil || r.mem.b[100] != 0 {
		t.Errorf("buffer too small: got %d, %v, byte %d; want 5 and nothing written", n, err, r.mem.b[100])
	}
	if n, err := r.call(contract["input"], 100, 5); n != 5 || err != nil || string(r.mem.b[100:105]) != "hello" {
		t.Errorf("got %d, %v, %q; want 5 and hello", n, err, r.mem.b[100:105])
	}
	if n, err := r.call(contract["input"], 64<<10, 0); n != 5 || err != nil {
		t.Errorf("cap 0 at the end of memory: got %d, %v; want 5", n, err)
	}
}

func TestRequestBytesAreCopies(t *testing.T) {
	r := newRig(t)
	r.put(0, []byte("http.request"))
	r.put(50, []byte("abc"))
	if h, err := r.call(contract["effect"], 0, 12, 50, 3, 0, 0); h != 1 || err != nil {
		t.Fatalf("got handle %d, %v", h, err)
	}
	r.put(50, []byte("xyz"))
	if got := string(r.world.started[0].Input); got != "abc" {
		t.Errorf("got input %q after the guest changed its memory, want abc", got)
	}
}

func TestNames(t *testing.T) {
	names := map[string][]byte{"empty": {}, "NUL": []byte("a\x00b"), "not UTF-8": {0xff, 0xfe}, "256 bytes": bytes.Repeat([]byte("x"), 256)}
	for what, name := range names {
		r := newRig(t)
		r.put(0, name)
		_, err := r.call(contract["signal"], 0, uint64(len(name)))
		wantMisuse(t, what, err)
	}
	r := newRig(t)
	r.put(0, bytes.Repeat([]byte("x"), 255))
	if _, err := r.call(contract["signal"], 0, 255); err != nil {
		t.Errorf("255 bytes: got %v, want none", err)
	}
}

// TestOversize: a request over a limit is no trap, but a request that the world will fail.
func TestOversize(t *testing.T) {
	r := newRig(t)
	r.put(0, []byte("x"))
	if _, err := r.call(contract["effect"], 0, 1, 0, abi.MaxPayload+1, 0, 0); err != nil {
		t.Fatalf("got %v, want no trap", err)
	}
	if got := r.world.started[0]; got.Input != nil || !strings.HasPrefix(string(got.Options), OversizeMark) {
		t.Errorf("got %+v, want no input and the mark", got)
	}
	for n, marked := range []bool{false, true} {
		if _, err := r.call(contract["effect"], 0, 1, 0, 1, 8, abi.MaxOptions+uint64(n)); err != nil {
			t.Fatal(err)
		}
		if got := r.world.started[n+1]; strings.HasPrefix(string(got.Options), OversizeMark) != marked || (got.Input == nil) != marked {
			t.Errorf("options of %d bytes: got %d bytes of them and %d of input, want the mark %v", abi.MaxOptions+n, len(got.Options), len(got.Input), marked)
		}
	}
}

func TestTimerIsClamped(t *testing.T) {
	for given, want := range map[int64]int64{-1: 0, math.MinInt64: 0, 5: 5, math.MaxInt64: abi.MaxDuration} {
		r := newRig(t)
		r.in.start("timer", Request{}) // handle 1
		st := []uint64{uint64(given)}
		contract["timer"](r.in, fakeModule{mem: r.mem}, st)
		if got := r.world.started[1].After; got != want {
			t.Errorf("timer(%d): got %d, want %d", given, got, want)
		}
	}
}

func TestBeforeTheEntryNothingMayBeAsked(t *testing.T) {
	for _, name := range []string{"effect", "activity", "signal", "timer", "wait"} {
		r := newRig(t)
		r.in.running = false
		r.put(0, []byte("x"))
		_, err := r.call(contract[name], 0, 1, 0, 0, 1, 0)
		wantMisuse(t, name, err)
	}
}

func TestAsset(t *testing.T) {
	r := newRig(t)
	r.put(0, []byte("flow.jsnone"))
	if n, _ := r.call(contract["asset"], 0, 7, 100, 10); n != 4 || string(r.mem.b[100:104]) != "code" {
		t.Errorf("got %d %q, want code", n, r.mem.b[100:104])
	}
	if n, _ := r.call(contract["asset"], 7, 4, 100, 10); int32(n) != -1 {
		t.Errorf("got %d for an asset that is not there, want -1", int32(n))
	}
}

func TestLogLines(t *testing.T) {
	r := newRig(t)
	whole := strings.Repeat("y", abi.MaxLogLine)
	r.put(0, []byte(whole+"y"))
	for i, w := range []string{"3 log " + whole, "3 log " + whole + " [cut]"} {
		if _, err := r.call(contract["log"], 99, 0, abi.MaxLogLine+uint64(i)); err != nil {
			t.Fatal(err)
		}
		if got := r.world.lines[i]; got != w {
			t.Errorf("line of %d bytes: got %.20q ... %q, want level 3, and what is over cut and marked", abi.MaxLogLine+i, got, got[len(got)-8:])
		}
	}
	r.in.written(1, []byte("half"))
	r.in.written(1, []byte(" line\r\nbad \xff\nrest"))
	r.in.stdout.flush(r.in)
	want := []string{"1 stdout half line", "1 stdout bad \uFFFD", "1 stdout rest"}
	for i, w := range want {
		if got := r.world.lines[i+2]; got != w {
			t.Errorf("line %d: got %q, want %q", i, got, w)
		}
	}
}

func TestEveryImplementedFunctionIsBound(t *testing.T) {
	for _, f := range abi.Functions {
		if _, ok := contract[f.Name]; ok != f.Implemented {
			t.Errorf("%s: implemented is %v in the table, %v here", f.Name, f.Implemented, ok)
		}
	}
}

// TestPayloadLimit: what is exactly as long as a payload of the run may be is taken.
func TestPayloadLimit(t *testing.T) {
	const limit = 100
	for name, args := range map[string][]uint64{"output": {8}, "fail": {8}, "publish": {0, 1, 8}} {
		for n, ok := range map[uint64]bool{limit: true, limit + 1: false} {
			r := newRig(t)
			r.put(0, []byte("x"))
			r.in.entry.Limits.Payload = limit
			_, err := r.call(contract[name], append(slices.Clone(args), n)...)
			if ok && err != nil {
				t.Errorf("%s of %d bytes: got %v, want none", name, n, err)
			} else if !ok {
				wantMisuse(t, name, err)
			}
		}
	}
	r := newRig(t)
	r.put(0, []byte("x"))
	r.in.entry.Limits.Payload = limit
	for n, taken := range []bool{true, false} {
		if _, err := r.call(contract["effect"], 0, 1, 8, limit+uint64(n), 0, 0); err != nil {
			t.Fatal(err)
		}
		if got := r.world.started[n]; (len(got.Input) == limit) != taken || strings.HasPrefix(string(got.Options), OversizeMark) == taken {
			t.Errorf("request of %d bytes: got input of %d bytes and options %q, want taken %v", limit+n, len(got.Input), got.Options, taken)
		}
	}
	r = newRig(t)
	r.in.entry.Limits.Payload = limit
	r.in.written(1, make([]byte, limit))
	if end := r.in.success(0); end.Failure != nil || len(end.Output) != limit {
		t.Errorf("standard output of %d bytes: got %v, want them as output", limit, end.Failure)
	}
	r.in.written(1, []byte("x"))
	if end := r.in.success(0); end.Failure == nil || end.Failure.Code != abi.CodePayloadLarge {
		t.Errorf("standard output of %d bytes: got %v, want %s", limit+1, end.Failure, abi.CodePayloadLarge)
	}
}
