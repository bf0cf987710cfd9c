//go:build !race

package sandbox

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// engineConfigs are the two ways to run a guest, which must not be told apart.
var engineConfigs = map[string]Config{"compiler": {}, "interpreter": {Interpret: true}}

func testObserver(t *testing.T, engine string) *observer {
	t.Helper()
	o, err := newObserver(engineConfigs[engine])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.engine.Close(context.Background()) })
	return o
}

// differ runs a corpus on both engines and returns how many executions ended in which way.
func differ(t *testing.T, c *corpus) map[string]int {
	t.Helper()
	compiler, interpreter := testObserver(t, "compiler"), testObserver(t, "interpreter")
	ways := map[string]int{}
	for _, one := range c.cases {
		want, err := compiler.observe(one, c.files[one.File])
		if err != nil {
			t.Errorf("%s, compiler: %v", one.Name, err)
			continue
		}
		got, err := interpreter.observe(one, c.files[one.File])
		if err != nil {
			t.Errorf("%s, interpreter: %v", one.Name, err)
			continue
		}
		if diff := difference(want, got); diff != "" {
			t.Errorf("%s: engines differ (-compiler +interpreter):\n%.3000s", one.Name, diff)
		}
		ways[wayOf(want)]++
		if got.Shallow {
			ways["shallow"]++
		}
	}
	return ways
}

// difference compares an engine's observation with the compiler's. The one difference that is allowed: an engine without room
// for the guest's calls stops before the others do.
func difference(want, got *observation) string {
	if !got.Shallow {
		return cmp.Diff(want, got)
	}
	return cmp.Diff(want.Calls[:min(len(want.Calls), len(got.Calls))], got.Calls)
}

func wayOf(o *observation) string {
	switch {
	case o.Cause != "":
		return "stopped"
	case strings.Contains(o.Failure, `"code":"trap"`):
		return "trap"
	case o.Failure != "":
		return "failed"
	}
	return "completed"
}

// atLeast says that a comparison compared something.
func atLeast(t *testing.T, got, want map[string]int) {
	t.Helper()
	for way, n := range want {
		if got[way] < n {
			t.Errorf("got %d executions that ended %s, want %d at least: %v", got[way], way, n, got)
		}
	}
	t.Log(got)
}

func TestEnginesAgreeOnFixtures(t *testing.T) {
	atLeast(t, differ(t, fixtures(t)), map[string]int{"completed": 60, "failed": 30, "trap": 20, "stopped": 5, "shallow": 1})
}

func TestEnginesAgreeOnNumbers(t *testing.T) {
	atLeast(t, differ(t, numbers(150)), map[string]int{"completed": 50, "trap": 10})
}

func TestEnginesAgreeOnGoGuests(t *testing.T) {
	if raceDetector { // by interpreter it would take minutes, and has one goroutine
		c := goCorpus(t, 1, func(g goGuest) bool { return g.name == "plain" })
		atLeast(t, differ(t, c), map[string]int{"completed": 1, "failed": 1})
		return
	}
	c := goCorpus(t, 3, func(goGuest) bool { return true })
	atLeast(t, differ(t, c), map[string]int{"completed": 50, "failed": 40, "trap": 3, "stopped": 5})
}
