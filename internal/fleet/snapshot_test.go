package fleet

import (
	"testing"

	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/tenant"
)

// TestSomebodyKeepsASnapshot: another program has a transaction open that sees the database as it was, all the time that two hosts
// work on it; whatever runs do, they do it as ever, and are removed when they are kept no longer.
func TestSomebodyKeepsASnapshot(t *testing.T) {
	s := onPostgres(t)
	a := s.boot("a", s.open(), nil)
	a.push("steps", "timer", "signal", "activity")
	before := a.start("signal", "")
	a.until(before, journal.Waiting)
	keep := pgtest.Session(t, s.dsn)
	keep("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM reprise.runs")
	b := s.boot("b", s.open(), nil)
	type one struct {
		id     journal.RunID
		output string
	}
	var runs []one
	for i := range 20 {
		n := []*node{a, b}[i%2]
		runs = append(runs, one{n.start("steps", "3"), "[1][2][3]"}, one{n.start("timer", "150000000"), "done"}, one{n.start("activity", "xy"), "xyxy"})
		signal := n.start("signal", "")
		n.until(signal, journal.Waiting)
		n.signal(signal, "go", "now")
		runs = append(runs, one{signal, "now"})
	}
	b.signal(before, "go", "early")
	for i, r := range append(runs, one{before, "early"}) {
		n := []*node{b, a}[i%2]
		n.ends(r.id, journal.Completed, r.output)
		n.checkJournal(r.id)
	}
	if n := keep("SELECT count(*) FROM reprise.runs"); n != "1" {
		t.Errorf("the old snapshot sees %s runs, want the one that was there", n)
	}
	if _, err := a.store.Prune(t.Context(), journal.Retention{Completed: 1}, 1000); err != nil {
		t.Fatal(err)
	}
	page, err := b.store.Runs(t.Context(), tenant.Default, journal.Filter{})
	if err != nil || len(page.Runs) != 0 {
		t.Errorf("got %d runs, %v, after all were removed", len(page.Runs), err)
	}
	if n := keep("SELECT count(*) FROM reprise.runs"); n != "1" {
		t.Errorf("the old snapshot sees %s runs, want it kept to the end", n)
	}
}
