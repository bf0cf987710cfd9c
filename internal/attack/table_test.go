package attack

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// attack is one row of the table.
type attack struct {
	// number names the attack for ever; docs/GUARANTEES.md refers to it.
	number int
	// what says what is done, and what must come of it.
	what   string
	bounds bounds
	setup  func(*config) // may be nil
	run    func(*victim)

	name string // of the harness' own tests, instead of a number
}

func (a attack) String() string {
	if a.name != "" {
		return a.name
	}
	return strconv.Itoa(a.number)
}

// attacks is the whole table, by area.
func attacks() []attack {
	return slices.Concat(countAttacks(), compileAttacks(), uploadAttacks(), formAttacks(), importAttacks(), publishAttacks(),
		computeAttacks(), memoryAttacks(), neighbourAttacks(), pointerAttacks(), contractAttacks())
}

// ranges are the numbers that the table has: those between are of the watched folder, whose package tests them.
var ranges = [][2]int{{1, 36}, {50, 74}}

func TestTableIsComplete(t *testing.T) {
	have := map[int]int{}
	for _, a := range attacks() {
		have[a.number]++
		if a.what == "" || a.run == nil || a.name != "" {
			t.Errorf("attack %d: got %+v, want words and a function", a.number, a)
		}
	}
	for _, r := range ranges {
		for n := r[0]; n <= r[1]; n++ {
			if have[n] != 1 {
				t.Errorf("attack %d stands %d times in the table, want once", n, have[n])
			}
			delete(have, n)
		}
	}
	for n := range have {
		t.Errorf("attack %d is of no range", n)
	}
}

// find finds an attack, or a test of the harness, by its name.
func find(name string) (attack, bool) {
	all := append(attacks(), harnessTests()...)
	i := slices.IndexFunc(all, func(a attack) bool { return a.String() == name })
	if i < 0 {
		return attack{}, false
	}
	return all[i], true
}

func TestAttacks(t *testing.T) {
	for _, a := range attacks() {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			u, err := attackProcess(a.String(), t.TempDir(), a.bounds)
			if err != nil {
				t.Errorf("%s: %v", a.what, err)
			}
			t.Logf("%s: %s", u, a.what)
		})
	}
}

// pause is the time between two looks at what cannot be waited for.
func pause() { time.Sleep(2 * time.Millisecond) }
