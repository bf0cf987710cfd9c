package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
)

// crowd says how many instances of which guest are to live at once, each blocked in its first wait.
type crowd struct {
	Language string
	File     string // the module's
	Way      way
	N        int
}

// crowded is what was seen of a crowd. Memory is that of the whole process, less what it had before the first
// instance; pages that are shared out of the image are in none of it.
type crowded struct {
	Private int64 // bytes of pages that only this process has
	Tables  int64 // bytes of the kernel's page tables
	Heap    int64 // bytes of Go's heap, which are among the private ones
	Begin   time.Duration
	End     time.Duration
	Wrong   []string // what was wrong with the first runs that did not end as they should
}

// perInstance is the memory that an instance costs, in bytes.
func (c *crowded) perInstance(n int) float64 { return float64(c.Private+c.Tables) / float64(n) }

// crowdEnv makes the test binary the process that a crowd lives in.
const crowdEnv = "REPRISE_TEST_CROWD"

// gather lets a crowd live in a process of its own, whose memory is nobody else's.
func gather(ctx context.Context, c crowd) (*crowded, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	arg, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), crowdEnv+"="+string(arg))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("a crowd of %d: %w\n%s", c.N, err, said.Bytes())
	}
	seen := &crowded{}
	return seen, json.Unmarshal(out, seen)
}

// crowdChild is the whole life of that process.
func crowdChild(arg string) error {
	var c crowd
	if err := json.Unmarshal([]byte(arg), &c); err != nil {
		return err
	}
	file, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	e, err := New(context.Background(), c.Way.config())
	if err != nil {
		return err
	}
	m, err := begin(context.Background(), e, file, c.Way)
	if err != nil {
		return err
	}
	file = nil
	seen, err := c.live(m)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(os.Stdout).Encode(seen), e.Close(context.Background()))
}

// crowdSteps is how many effects each of a crowd asks for; it is blocked in the wait for the first.
const crowdSteps = 3

// live makes the instances, looks at the memory when all of them are blocked, and lets them end.
func (c crowd) live(m *Module) (*crowded, error) {
	first := steps(crowdSteps, 0)
	if end := m.Run(context.Background(), first, ""); string(end.Output) != first.sum(crowdSteps) {
		return nil, fmt.Errorf("one alone: got %+v, want %s", end, first.sum(crowdSteps))
	}
	before, err := memoryOfProcess()
	if err != nil {
		return nil, err
	}
	var blocked, ended sync.WaitGroup
	blocked.Add(c.N)
	gate := make(chan struct{})
	ends := make([]Ending, c.N)
	began := time.Now()
	for i := range c.N {
		ended.Go(func() {
			w := steps(crowdSteps, int64(i))
			w.held = sync.OnceFunc(func() { blocked.Done(); <-gate })
			ends[i] = m.Run(context.Background(), w, "")
		})
	}
	blocked.Wait()
	seen := &crowded{Begin: time.Since(began)}
	for c.Way == fromShared && m.engine.folder.folded.Load() < int64(c.N) {
		time.Sleep(time.Millisecond)
	}
	after, err := memoryOfProcess()
	if err != nil {
		return nil, err
	}
	seen.Private, seen.Tables, seen.Heap = after.Private-before.Private, after.Tables-before.Tables, after.Heap-before.Heap
	began = time.Now()
	close(gate)
	ended.Wait()
	seen.End = time.Since(began)
	for i, end := range ends {
		if want := steps(crowdSteps, int64(i)).sum(crowdSteps); string(end.Output) != want && len(seen.Wrong) < 3 {
			seen.Wrong = append(seen.Wrong, fmt.Sprintf("run %d: got %+v, want %s", i, end, want))
		}
	}
	return seen, nil
}

// memoryOfProcess is the memory that this process has for itself, after its garbage is gone.
func memoryOfProcess() (*crowded, error) {
	debug.FreeOSMemory()
	private, err := kilobytes("/proc/self/smaps_rollup", "Private_Clean:", "Private_Dirty:", "Private_Hugetlb:", "Swap:")
	if err != nil {
		return nil, err
	}
	tables, err := kilobytes("/proc/self/status", "VmPTE:")
	if err != nil {
		return nil, err
	}
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	return &crowded{Private: private, Tables: tables, Heap: int64(heap.HeapAlloc)}, nil
}

// kilobytes adds up lines of a file of /proc. The result is in bytes.
func kilobytes(file string, names ...string) (int64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var sum int64
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		for _, name := range names {
			if len(f) == 3 && f[0] == name {
				kb, err := strconv.ParseInt(f[1], 10, 64)
				if err != nil {
					return 0, fmt.Errorf("%s: %w", file, err)
				}
				sum += kb << 10
			}
		}
	}
	return sum, nil
}
