package attack

import (
	"os"
	"strings"
	"testing"
	"time"
)

// harnessTests are attacks that succeed, each in its way, and one that does not.
func harnessTests() []attack {
	return []attack{
		{name: "harness-good", run: func(*victim) {}},
		{name: "harness-expectation", run: func(v *victim) { v.errorf("odd") }},
		{name: "harness-panic", run: func(*victim) { panic("boom") }},
		{name: "harness-panic-elsewhere", run: func(*victim) {
			go panic("boom")
			select {}
		}},
		{name: "harness-memory", bounds: bounds{memory: 200}, run: func(*victim) { hold(2 << 30) }},
		{name: "harness-address", bounds: bounds{address: 4096}, run: func(*victim) { reserve(8 << 30) }},
		{name: "harness-processor", bounds: bounds{cpu: time.Millisecond}, run: func(*victim) {}},
		{name: "harness-hang", bounds: bounds{wall: 2 * time.Second}, run: func(*victim) { select {} }},
		{name: "harness-early", run: func(*victim) { os.Exit(0) }},
		{name: "harness-goroutine", run: func(*victim) { go func() { select {} }() }},
	}
}

// reserve allocates bytes and does not use them.
func reserve(n int) (all [][]byte) {
	for range n >> 20 {
		all = append(all, make([]byte, 1<<20))
	}
	return all
}

// hold allocates bytes and uses them.
func hold(n int) {
	for _, b := range reserve(n) {
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
	}
}

// TestHarness shows that a host that dies, hangs or takes too much does not pass for one that has survived.
func TestHarness(t *testing.T) {
	want := map[string]string{
		"harness-good":            "",
		"harness-expectation":     "not as expected:\nodd",
		"harness-panic":           "crashed",
		"harness-panic-elsewhere": "crashed",
		"harness-memory":          "MiB of memory, more than",
		"harness-address":         "crashed",
		"harness-processor":       "of processor time, more than",
		"harness-hang":            "it hangs",
		"harness-early":           "ended early, with status 0",
		"harness-goroutine":       "not as expected:\ngoroutines are left",
	}
	if raceDetector {
		delete(want, "harness-address") // it has no bound there
	}
	for _, a := range harnessTests() {
		reason, ok := want[a.name]
		if !ok {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			_, err := attackProcess(a.name, t.TempDir(), a.bounds)
			if got := errorText(err); got != reason && (reason == "" || !strings.Contains(got, reason)) {
				t.Errorf("got %q, want %q", got, reason)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
