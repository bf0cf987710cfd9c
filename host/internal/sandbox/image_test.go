package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"reprise/abi"
	"reprise/modules/rewrite"
)

// memories are the ways in which instances get their memory.
var memories = map[string]Config{"shared": {}, "copied": {Copies: true}, "interpreter": {Interpret: true}}

// TestWarmImage: what an initialisation has done is there in every instance, and what one instance does is in no other.
func TestWarmImage(t *testing.T) {
	for name, cfg := range memories {
		t.Run(name, func(t *testing.T) {
			m := load(t, newEngine(t, cfg), prepared(t, "warm"))
			if !m.Warm() || m.image.Why != "" || m.image.Size != 2*pageBytes {
				t.Fatalf("got warm %v (%s), %d bytes, want a warm image of 2 pages", m.Warm(), m.image.Why, m.image.Size)
			}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					end := m.Run(t.Context(), &fakeWorld{mono: monotonicStart}, "")
					checkWarm(t, end)
				})
			}
			wg.Wait()
		})
	}
}

func checkWarm(t *testing.T, end Ending) {
	b := end.Output
	if len(b) != 56 {
		t.Errorf("got %+v, want 56 bytes", end)
		return
	}
	if n, pages, wide := int32(binary.LittleEndian.Uint32(b)), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[8:]); n != -3 || pages != 2 || wide != 0x1122334455667788 {
		t.Errorf("got %d, %d pages, %x, want what the initialisation has set", n, pages, wide)
	}
	if f := math.Float64frombits(binary.LittleEndian.Uint64(b[24:])); f != 2.5 || string(b[16:22]) != "abde\x00z" {
		t.Errorf("got %v and %q, want 2.5 and the data with what was written to it", f, b[16:22])
	}
	if bytes.Equal(b[32:40], bytes.Repeat([]byte{7}, 8)) || !bytes.Equal(b[48:56], bytes.Repeat([]byte{7}, 8)) {
		t.Errorf("got %x and %x, want the image's random numbers and then the run's", b[32:40], b[48:56])
	}
	if mono := binary.LittleEndian.Uint64(b[40:]); mono != monotonicStart {
		t.Errorf("got %d, want the monotonic clock's begin", mono)
	}
}

// TestImagesAreTheSame: an image follows from the module alone, whoever makes it.
func TestImagesAreTheSame(t *testing.T) {
	var first *image
	for name, cfg := range memories {
		im := load(t, newEngine(t, cfg), prepared(t, "warm")).image
		if first == nil {
			first = im
		}
		if !sameImage(first, im) {
			t.Errorf("%s: got another image", name)
		}
	}
	dir := t.TempDir()
	saved := load(t, newEngine(t, Config{CacheDir: dir}), prepared(t, "warm")).image
	child := load(t, childEngine(t, Config{}), prepared(t, "warm")).image
	read := load(t, newEngine(t, Config{CacheDir: dir}), prepared(t, "warm")).image
	for name, im := range map[string]*image{"saved": saved, "child": child, "read": read} {
		if !sameImage(first, im) {
			t.Errorf("%s: got another image", name)
		}
	}
}

func sameImage(a, b *image) bool {
	flat := func(im *image) []byte {
		b := make([]byte, im.Size)
		im.fill(b)
		for _, g := range im.Globals {
			b = binary.LittleEndian.AppendUint64(b, g)
		}
		return b
	}
	return a.Warm == b.Warm && a.Why == b.Why && bytes.Equal(flat(a), flat(b))
}

// TestFreshImage: an initialisation that asks for what is not the same in every run is run in each of them.
func TestFreshImage(t *testing.T) {
	sevens := strings.Repeat("\x07", 8)
	tests := map[string]struct{ why, output, failure string }{
		"init_clock":      {why: "its initialisation reads the wall clock", output: "\x88\x77\x66\x55\x44\x33\x22\x11" + strings.Repeat("\x00", 8) + "abc"},
		"init_random":     {why: "its initialisation draws random numbers, and the module has no reprise_reseed", output: sevens + strings.Repeat("\x00", 8) + "abc"},
		"init_twice":      {why: "its initialisation draws random numbers beside those of its runtime", output: sevens + sevens + "abc"},
		"init_again":      {why: "its initialisation draws random numbers that cannot be drawn again: reprise_reseed returned 1", output: sevens + strings.Repeat("\x00", 8) + "abc"},
		"init_log":        {why: "its initialisation calls log", output: strings.Repeat("\x00", 16) + "abc"},
		"init_table":      {why: "its code changes a table", output: strings.Repeat("\x00", 16) + "abc"},
		"init_segments":   {why: "its code copies or drops passive segments", output: "xy" + strings.Repeat("\x00", 14) + "abc"},
		"init_traps":      {why: `its initialisation fails: "unreachable"`, failure: abi.CodeTrap},
		"init_spins":      {why: `its initialisation fails: "the guest computed for more than 500000000 gas without waiting"`, failure: abi.CodeOutOfGas},
		"random_in_start": {why: "its initialisation draws random numbers, and the module has no reprise_reseed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for kind, cfg := range memories {
				if tt.failure == abi.CodeOutOfGas && cfg.Interpret {
					continue // the same counter, a hundred times slower
				}
				m := load(t, newEngine(t, cfg), prepared(t, name))
				if m.Warm() || m.image.Why != tt.why {
					t.Errorf("%s: got warm %v, %q, want %q", kind, m.Warm(), m.image.Why, tt.why)
				}
				for range 2 {
					w := &fakeWorld{now: 0x1122334455667788, entry: Entry{Limits: abi.Limits{Gas: 1000}}}
					end := m.Run(t.Context(), w, "")
					switch {
					case tt.failure != "" && (end.Failure == nil || end.Failure.Code != tt.failure):
						t.Errorf("%s: got %+v, want %s", kind, end, tt.failure)
					case tt.output != "" && !strings.HasPrefix(string(end.Output), tt.output):
						t.Errorf("%s: got %q (%+v), want %q", kind, end.Output, end, tt.output)
					case name == "init_log" && len(w.lines) != 1:
						t.Errorf("%s: got the lines %q, want one in each run", kind, w.lines)
					}
				}
			}
		})
	}
}

// TestStartFunction: a start function runs once, before the initialisation, and both are in the image.
func TestStartFunction(t *testing.T) {
	m := load(t, newEngine(t, Config{}), prepared(t, "start"))
	for range 2 {
		if end := m.Run(t.Context(), &fakeWorld{}, ""); !m.Warm() || string(end.Output) != "\x01\x0b" {
			t.Errorf("got warm %v, %+v, want the bytes 1 and 11", m.Warm(), end)
		}
	}
}

// TestImageFile: a file that is not what was saved is no image, and is made again.
func TestImageFile(t *testing.T) {
	dir := t.TempDir()
	p := prepared(t, "warm")
	path := imagePath(dir, p.ImageKey)
	saved := load(t, newEngine(t, Config{CacheDir: dir}), p)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode(), err)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	for name, bad := range map[string][]byte{"empty": {}, "cut": good[:len(good)-1], "flipped": flipped, "magic": append([]byte("x"), good[1:]...)} {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readImage(path); !errors.Is(err, errDamaged) {
			t.Errorf("%s: got %v, want it called damaged", name, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, want the file gone", name, err)
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		for kind, e := range map[string]*Engine{"in this process": newEngine(t, Config{CacheDir: dir}), "in a child": childEngine(t, Config{CacheDir: dir})} {
			checkWarm(t, load(t, e, p).Run(t.Context(), &fakeWorld{mono: monotonicStart}, ""))
			if again, err := readImage(path); err != nil || !sameImage(again, saved.image) {
				t.Errorf("%s, %s: got %v, want the image as it was", name, kind, err)
			}
		}
	}
	outside := &image{Size: pageBytes, Runs: []rewrite.Run{{Offset: pageBytes - 1, Bytes: []byte{1, 2}}}}
	if err := outside.save(path); err != nil {
		t.Fatal(err)
	}
	if _, err := readImage(path); !errors.Is(err, errDamaged) {
		t.Errorf("got %v, want a refusal of what does not fit", err)
	}
}

// TestMemoryLimit: a run may have less memory than its module asks for in the end, and not less than it begins with.
func TestMemoryLimit(t *testing.T) {
	for name, cfg := range memories {
		m := load(t, newEngine(t, cfg), prepared(t, "warm"))
		at := m.Run(t.Context(), &fakeWorld{mono: monotonicStart, entry: Entry{Limits: abi.Limits{MemoryPages: 4}}}, "")
		checkWarm(t, at)
		// Beyond the limit memory.grow answers -1, and the fill that follows is out of bounds.
		over := m.Run(t.Context(), &fakeWorld{entry: Entry{Limits: abi.Limits{MemoryPages: 2}}}, "")
		if over.Failure == nil || over.Failure.Code != abi.CodeTrap {
			t.Errorf("%s: got %+v, want a trap", name, over)
		}
		under := m.Run(t.Context(), &fakeWorld{entry: Entry{Limits: abi.Limits{MemoryPages: 1}}}, "")
		if under.Failure == nil || under.Failure.Code != abi.CodeMemory {
			t.Errorf("%s: got %+v, want %s", name, under, abi.CodeMemory)
		}
	}
}
