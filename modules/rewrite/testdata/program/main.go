// Program program does a little of what guests do, and prints what came of it: what it prints, and what gas
// it takes, must not depend on rewriting or on the engine.
package main

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"
	"sync"
)

func main() {
	fmt.Println(fib(15), sorted(200), hashed(300), channels(4), floats(200), recovered(), nested(300), text())
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func sorted(n int) int {
	a := make([]int, n)
	for i := range a {
		a[i] = i * 7919 % n
	}
	sort.Slice(a, func(i, j int) bool { return a[i] < a[j] })
	return a[n/2]
}

func hashed(n int) string {
	h := sha256.New()
	for i := range n {
		fmt.Fprint(h, i)
	}
	return fmt.Sprintf("%.8x", h.Sum(nil))
}

func channels(n int) int {
	out := make(chan int)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { out <- i * i })
	}
	go func() { wg.Wait(); close(out) }()
	sum := 0
	for v := range out {
		sum += v
	}
	return sum
}

func floats(n int) string {
	x, nan := 0.5, math.Inf(1)-math.Inf(1)
	for i := range n {
		x = math.Sin(x)*float64(i) + math.Sqrt(x*x+1)
	}
	return fmt.Sprintf("%x %x %x", math.Float64bits(x), math.Float64bits(nan+x), math.Float64bits(math.Sqrt(-x*x)))
}

func recovered() (s string) {
	defer func() { s = fmt.Sprint(recover()) }()
	var a []int
	return fmt.Sprint(a[len(os.Args)])
}

func nested(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + nested(n-1)
}

func text() string {
	counts := map[string]int{}
	for _, word := range strings.Fields(strings.Repeat("to be or not to be ", 10)) {
		counts[strings.ToUpper(word)]++
	}
	return fmt.Sprint(counts)
}
