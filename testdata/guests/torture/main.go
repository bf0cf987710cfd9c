// Command torture is a workflow that waits in as many ways as a Go program can: in goroutines and in deferred functions, deep
// in a recursion, between collections of garbage, by select, timers, tickers and deadlines, and by the import wait itself.
// Tests freeze it at every wait.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"reprise/guest-sdk/go"
)

func init() { reprise.Workflow("torture", Torture) }

func main() { reprise.Main() }

// Torture goes so many rounds and returns what it has seen.
func Torture(ctx context.Context, rounds int) ([]string, error) {
	t := &torture{ctx: ctx}
	t.queries()
	for round := range rounds {
		t.goroutines(round)
		t.deadline()
		t.say("%v", t.deferred(5))
		t.say("deep %d", t.deep(2000))
		t.garbage()
		t.encoding(round)
		t.ticker()
		t.say("direct %s", t.direct(round))
		fmt.Printf("round %d, ", round) // a line that stays unfinished over the waits that come
	}
	fmt.Println("done")
	return t.seen, nil
}

type torture struct {
	ctx  context.Context
	seen []string
}

func (t *torture) say(format string, args ...any) {
	t.seen = append(t.seen, fmt.Sprintf(format, args...))
	fmt.Fprintln(os.Stderr, len(t.seen))
}

func (t *torture) ask(what string) string {
	v, err := reprise.Effect[string](t.ctx, "test.ask", what, reprise.EffectOptions{})
	if err != nil {
		return err.Error()
	}
	return v
}

// goroutines has four of them wait for timers, then for each other, then for effects.
func (t *torture) goroutines(round int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[string]string{}
	for k := range 4 {
		wg.Go(func() {
			time.Sleep(time.Duration(k*10+1) * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			got[fmt.Sprint(k)] = t.ask(fmt.Sprintf("goroutine %d of round %d", k, round))
		})
	}
	wg.Wait()
	for _, k := range slices.Sorted(maps.Keys(got)) {
		t.say("%s %s", k, got[k])
	}
}

// deadline lets a context's deadline win against a goroutine and a timer.
func (t *torture) deadline() {
	ctx, cancel := context.WithTimeout(t.ctx, 50*time.Millisecond)
	late := make(chan string)
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(80 * time.Millisecond)
		select {
		case late <- t.ask("late"):
		case <-ctx.Done():
		}
	})
	select {
	case v := <-late:
		t.say("came %s", v)
	case <-ctx.Done():
		t.say("timeout %v", ctx.Err())
	case <-time.After(60 * time.Millisecond):
		t.say("after")
	}
	cancel()
	wg.Wait()
}

// deferred waits before a panic, and in each deferred function that recovers from one.
func (t *torture) deferred(depth int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("recovered %v after %s", r, t.ask("deferred"))
			if depth < 3 {
				panic("again")
			}
		}
	}()
	if depth == 0 {
		t.ask("before the panic")
		panic("boom")
	}
	return t.deferred(depth - 1)
}

func (t *torture) deep(n int) int {
	if n == 0 {
		return len(t.ask("deep"))
	}
	var pad [64]byte
	pad[n%64] = byte(n)
	return t.deep(n-1) + int(pad[n%64])&1
}

// garbage makes 20 MB of it and waits in between.
func (t *torture) garbage() {
	var kept [][]byte
	for i := range 200 {
		b := make([]byte, 100_000+i)
		if i%10 == 0 {
			kept = append(kept, b)
		}
		if i%50 == 0 {
			t.ask("garbage")
		}
	}
	runtime.GC()
	t.say("%d %s", len(kept), t.ask("collected"))
}

type record struct {
	OK bool           `json:"ok"`
	V  float64        `json:"v"`
	M  map[string]int `json:"m,omitempty"`
}

func (t *torture) encoding(round int) {
	var r record
	if err := json.Unmarshal([]byte(fmt.Sprintf(`{"ok":true,"v":%d.25}`, len(t.ask("encoding")))), &r); err != nil {
		t.say("%v", err)
	}
	r.M = map[string]int{"a": 1, "b": round}
	b, err := json.Marshal(r)
	t.say("%s %v %v", b, err, errors.Is(err, context.Canceled))
}

func (t *torture) ticker() {
	begin, tick := time.Now(), time.NewTicker(30*time.Minute)
	<-tick.C
	<-tick.C
	tick.Stop()
	t.say("an hour: %v", time.Since(begin).Round(time.Minute))
}

//go:wasmimport reprise_v1 effect
func importEffect(name string, in unsafe.Pointer, inLen uint32, opts unsafe.Pointer, optsLen uint32) int32

//go:wasmimport reprise_v1 wait
func importWait(handles unsafe.Pointer, n uint32, timeout int64, ready unsafe.Pointer, readyCap uint32) int32

//go:wasmimport reprise_v1 result
func importResult(handle int32, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport reprise_v1 drop
func importDrop(handle int32)

// direct waits as a program without SDK does, which stops all goroutines.
func (t *torture) direct(round int) string {
	in, out := []byte(fmt.Sprintf("%q", strings.Repeat("direct ", round+1))), make([]byte, 256)
	handles, ready := [2]int32{}, [2]int32{}
	for i := range handles {
		handles[i] = importEffect("test.ask", unsafe.Pointer(&in[0]), uint32(len(in)), nil, 0)
	}
	got := ""
	for left := handles[:]; len(left) > 0; {
		n := importWait(unsafe.Pointer(&left[0]), uint32(len(left)), -1, unsafe.Pointer(&ready[0]), 2)
		for _, h := range ready[:n] {
			size := importResult(h, unsafe.Pointer(&out[0]), uint32(len(out)))
			got += fmt.Sprintf("%d %s;", h, out[:size])
			importDrop(h)
			left = slices.DeleteFunc(left, func(o int32) bool { return o == h })
		}
	}
	if n := importWait(nil, 0, int64(time.Second), unsafe.Pointer(&ready[0]), 2); n != 0 {
		got += fmt.Sprintf("%d are ready", n)
	}
	return got
}
