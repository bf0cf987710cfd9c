package host_test

import (
	"fmt"
	"testing"

	"reprise/host"
	"reprise/journal"
	"reprise/tenant"
)

// TestContinueAsNew: each run of a chain takes one signal of those that were sent to the first, and who waits for the first gets
// what the last one ends with.
func TestContinueAsNew(t *testing.T) {
	n := newNode(t, steps())
	n.push("again", "again")
	run, _, err := n.StartRun(t.Context(), tenant.Default, host.StartRun{Workflow: "again", Key: "k", Input: []byte("3")})
	if err != nil {
		t.Fatal(err)
	}
	n.until(run.ID, journal.Waiting)
	hold := run.ID
	for i := range 4 {
		// The run that is signalled may have gone on: its signals have, too.
		for id := hold; ; {
			_, err := n.Signal(t.Context(), tenant.Default, id, fmt.Sprint(i), "go", fmt.Append(nil, i))
			if err == nil {
				break
			}
			v, rerr := n.Run(t.Context(), tenant.Default, id)
			next, ok := v.Run.Successor, v.Run.State == journal.Continued
			if rerr != nil || !ok {
				t.Fatalf("signal %d: %v, and the run is %s (%v)", i, err, v.Run.State, rerr)
			}
			id, hold = next, next
		}
	}
	end := n.end(run.ID)
	if end.State != journal.Completed || string(end.Output) != "3" || end.Key != "k" || string(end.Input) != "0" || end.ID == run.ID {
		t.Fatalf("got %s with output %q of run %s, key %q, input %q; want completed, 3, another than %s, k, 0", end.State, end.Output, end.ID, end.Key, end.Input, run.ID)
	}
	want := []string{"3", "2", "1", "0"}
	for i, id := 0, run.ID; ; i++ {
		v, err := n.Run(t.Context(), tenant.Default, id)
		if err != nil || i >= len(want) || string(v.Run.Input) != want[i] {
			t.Fatalf("run %d of the chain: got input %q, error %v", i, v.Run.Input, err)
		}
		rep, err := n.Replay(t.Context(), tenant.Default, id, "")
		if err != nil || !rep.OK {
			t.Errorf("replay of run %d: got %+v, %v", i, rep, err)
		}
		next, ok := v.Run.Successor, v.Run.State == journal.Continued
		if !ok {
			if i != 3 {
				t.Errorf("got a chain of %d runs, want 4", i+1)
			}
			break
		}
		es, err := n.Journal(t.Context(), tenant.Default, id, 0, 10)
		if err != nil || es[len(es)-1].Kind != journal.KindContinued || string(es[len(es)-1].Payload) != want[i+1] {
			t.Errorf("end of run %d: got %+v, %v; want continued with %s", i, es[len(es)-1], err, want[i+1])
		}
		id = next
	}
}

// TestChildOfADeletedParent: it goes on and ends, although nobody is there to be told.
func TestChildOfADeletedParent(t *testing.T) {
	n := family(t)
	id := n.start("family", "abandon(signal(a);out(late););out(early);")
	n.end(id)
	child := n.children(id)[0].ID
	if err := n.DeleteRun(t.Context(), tenant.Default, id); err != nil {
		t.Fatal(err)
	}
	n.signal(child, "a")
	if end := n.end(child); end.State != journal.Completed || string(end.Output) != "late" {
		t.Errorf("got %s with %q, want completed with late", end.State, end.Output)
	}
}
