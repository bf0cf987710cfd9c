// Command go is the same workflow as ../c/steps.c and ../rust/steps.rs: so many steps as the input says, each an effect
// that it waits for; the output is the sum of their results. Beside it stands some of the work of ../c/work.c.
// Benchmarks and tests build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -trimpath -buildmode=c-shared -ldflags='-s -w' -o steps.wasm .
package main

import (
	"context"

	"reprise/guest-sdk/go"
)

func init() {
	reprise.Workflow("steps", Steps)
	reprise.Workflow("loop", Loop)
	reprise.Workflow("calls", Calls)
	reprise.Workflow("dispatch", Dispatch)
	reprise.Workflow("sieve", Sieve)
}

// Steps adds up.
func Steps(ctx context.Context, steps int64) (int64, error) {
	var sum int64
	for i := range steps {
		v, err := reprise.Effect[int64](ctx, "bench.add", i, reprise.EffectOptions{})
		if err != nil {
			return 0, err
		}
		sum += v
	}
	return sum, nil
}

// Loop does what a loop does: some arithmetic, a branch, a turn.
func Loop(_ context.Context, n int64) (int64, error) {
	x, odd := uint64(88172645463325252), uint64(0)
	for ; n > 0; n-- {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		if x&1 != 0 {
			odd += x >> 60
		}
	}
	return int64(x ^ odd), nil
}

// Calls does nearly nothing but call.
func Calls(_ context.Context, n int) (int, error) { return fibonacci(n), nil }

//go:noinline
func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

// adder is one of several types, so that calls of its method go by a table.
type adder interface{ add(int) int }

type one struct{ n int }
type two struct{ n int }

//go:noinline
func (o one) add(v int) int { return v + o.n }

//go:noinline
func (t two) add(v int) int { return v ^ t.n }

// Dispatch does nearly nothing but call methods of interfaces.
func Dispatch(_ context.Context, n int) (int, error) {
	adders, sum := []adder{one{1}, two{2}, one{3}}, 0
	for i := range n {
		sum = adders[i%len(adders)].add(sum)
	}
	return sum, nil
}

// Sieve writes and reads all over four megabytes, so many times.
func Sieve(_ context.Context, n int) (int, error) {
	composite, primes := make([]bool, 4<<20), 0
	for range n {
		clear(composite)
		for i := 2; i < len(composite); i++ {
			if composite[i] {
				continue
			}
			primes++
			for k := 2 * i; k < len(composite); k += i {
				composite[k] = true
			}
		}
	}
	return primes, nil
}

// nop is the least that can be entered.
//
//go:wasmexport nop
func nop() int32 { return 0 }

func main() { reprise.Main() }
