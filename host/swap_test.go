package host_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"reprise/host"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// variant is a module with a custom section of its own: other bytes and another digest, the same code.
func variant(wasm []byte, n int) []byte {
	section := append([]byte{1, 'v'}, binary.LittleEndian.AppendUint32(nil, uint32(n))...)
	return append(append(append([]byte(nil), wasm...), 0, byte(len(section))), section...)
}

// TestHotSwaps moves a name a thousand times while runs of it execute. Each run ends on the digest that it
// started on. There are more modules than the engine keeps, and all have the same code: dropping one must not
// take the code of another with it.
func TestHotSwaps(t *testing.T) {
	const swaps, workers = 1000, 4
	n := newNode(t, steps())
	base := fixture(t, "steps")
	push := func(i int) modules.Digest {
		p, err := n.PushModule(t.Context(), tenant.Default, "flow", variant(base, i), "")
		if err != nil {
			t.Error(err)
		}
		return p.Module.Digest
	}
	push(0)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				n.checkSwapped(t)
			}
		})
	}
	var before, after runtime.MemStats
	for i := 1; i <= swaps; i++ {
		push(i)
		if i == swaps/2 {
			runtime.GC()
			runtime.ReadMemStats(&before)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	close(done)
	wg.Wait()
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("the heap grew by %d MiB in the second half, want it flat: modules that nobody runs are dropped", grown>>20)
	}
	if held := images(); held > 2*128 {
		t.Errorf("%d images are held in the end, want about as many as the engine keeps modules: 128", held)
	}
	v, err := n.Module(t.Context(), tenant.Default, "flow")
	if err != nil || len(v.History) != swaps+1 {
		t.Errorf("got %d steps of the name, %v; want %d", len(v.History), err, swaps+1)
	}
}

// images counts the files without a name that hold images, of this process; 0 where there are none.
func images() int {
	held := 0
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.Contains(to, "reprise-image") {
			held++
		}
	}
	return held
}

// checkSwapped starts a run and checks that it ends on the digest that it started on.
func (n *node) checkSwapped(t *testing.T) {
	run, _, err := n.StartRun(t.Context(), tenant.Default, host.StartRun{Workflow: "flow", Input: []byte("3")})
	if err != nil {
		t.Error(err)
		return
	}
	end, err := n.Result(t.Context(), tenant.Default, run.ID, patience)
	if err != nil || end.State != journal.Completed || string(end.Output) != "[1][2][3]" || end.Digest != run.Digest {
		t.Error(fmt.Errorf("run %s of %s: got %s %q on %s (%s), %v", run.ID, run.Digest, end.State, end.Output, end.Digest, end.Reason, err))
	}
}
