package host_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"reprise/abi"
	"reprise/journal"
	"reprise/tenant"
)

// family is a node with testdata/guests/c/family.c, which does what its input says.
func family(t *testing.T) *node {
	t.Helper()
	n := newNode(t, steps())
	code, err := os.ReadFile("../testdata/guests/c/family.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.PushModule(t.Context(), tenant.Default, "family", code, ""); err != nil {
		t.Fatal(err)
	}
	return n
}

// all lists the node's runs, oldest first.
func (n *node) all() []journal.Run {
	n.t.Helper()
	page, err := n.Runs(n.t.Context(), tenant.Default, journal.Filter{Limit: 1000})
	if err != nil {
		n.t.Fatal(err)
	}
	return page.Runs
}

// children finds the runs that a run has started.
func (n *node) children(of journal.RunID) (found []journal.Run) {
	for _, r := range n.all() {
		if r.Parent == of {
			found = append(found, r)
		}
	}
	return found
}

func (n *node) signal(id journal.RunID, name string) {
	n.t.Helper()
	if _, err := n.Signal(n.t.Context(), tenant.Default, id, "s-"+name, name, []byte("x")); err != nil {
		n.t.Fatal(err)
	}
}

func TestChildRuns(t *testing.T) {
	n := family(t)
	n.push("steps", "steps") // another module; its workflow asks for effects and gives what they say
	for name, tt := range map[string]struct{ script, want string }{
		"output":              {"child(out(hello););wait;", "ok hello"},
		"no output":           {"child();wait;", "ok "},
		"failure":             {"child(fail;);wait;", `failed {"code":"boom","message":"as told"}`},
		"one after another":   {"child(out(a););wait;child(out(b););wait;", "ok aok b"},
		"a child of a child":  {"child(child(out(deep););wait;);wait;", "ok ok deep"},
		"that continues":      {"child(next(next(out(last););););wait;", "ok last"},
		"another module":      {"module(family);wait;", "ok "},
		"no such module":      {"module(nobody);wait;", `failed {"code":"unknown_module","message":"no workflow is named \"nobody\"","retryable":false}`},
		"no such name in it":  {"named(other);wait;", "ok "}, // it enters the module's own entry, which does not look
		"dropped, then ended": {"child(signal(never););drop;out(done);", "done"},
		"abandoned":           {"abandon(out(late););out(early);", "early"},
	} {
		t.Run(name, func(t *testing.T) {
			run := n.end(n.start("family", tt.script))
			if run.State != journal.Completed || string(run.Output) != tt.want {
				t.Errorf("got %s, %s (%s); want completed, %s", run.State, run.Output, run.Reason, tt.want)
			}
		})
	}
}

// TestAbandonedChildGoesOn: it is started although its parent ends without a wait.
func TestAbandonedChildGoesOn(t *testing.T) {
	n := family(t)
	id := n.start("family", "abandon(out(late););")
	n.end(id)
	kids := n.children(id)
	if len(kids) != 1 || !kids[0].Abandoned {
		t.Fatalf("got children %+v, want one that is abandoned", kids)
	}
	if run := n.end(kids[0].ID); run.State != journal.Completed || string(run.Output) != "late" {
		t.Errorf("got %s, %s; want completed, late", run.State, run.Output)
	}
}

// TestParentsAreSuspended: a parent holds nothing while it waits for its child.
func TestParentsAreSuspended(t *testing.T) {
	n := family(t)
	id := n.start("family", "child(signal(go);out(went););wait;")
	parent := n.until(id, journal.Waiting)
	if !strings.Contains(parent.Waiting, "child") || !parent.WakeAt.IsZero() {
		t.Errorf("the parent waits for %q until %s, want the child and no timer", parent.Waiting, parent.WakeAt)
	}
	kids := n.children(id)
	if len(kids) != 1 || kids[0].ParentOp != 1 || kids[0].Depth != 1 {
		t.Fatalf("got children %+v, want one of handle 1", kids)
	}
	n.until(kids[0].ID, journal.Waiting)
	n.signal(kids[0].ID, "go")
	if run := n.end(id); string(run.Output) != "ok went" {
		t.Errorf("got %s, want ok went", run.Output)
	}
	entries, err := n.Journal(t.Context(), tenant.Default, id, 0, 10)
	if err != nil || len(entries) != 3 || entries[1].Kind != journal.KindChild || entries[1].Status != abi.OK {
		t.Errorf("got entries %+v, %v; want the child's end as one", entries, err)
	}
}

// TestChildrenEndWithTheirParent: however it ends, except those that it has abandoned.
func TestChildrenEndWithTheirParent(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		end    func(n *node, id journal.RunID)
		want   map[int32]journal.State
	}{
		"given up":  {"child(signal(never););signal(a);drop;signal(b);", func(n *node, id journal.RunID) { n.signal(id, "a") }, map[int32]journal.State{1: journal.Cancelled}},
		"completed": {"child(signal(never););abandon(signal(never););signal(a);", func(n *node, id journal.RunID) { n.signal(id, "a"); n.end(id) }, map[int32]journal.State{1: journal.Cancelled, 2: journal.Waiting}},
		"failed":    {"child(signal(never););signal(a);fail;", func(n *node, id journal.RunID) { n.signal(id, "a"); n.end(id) }, map[int32]journal.State{1: journal.Cancelled}},
		"continued": {"child(signal(never););signal(a);next(out(x););", func(n *node, id journal.RunID) { n.signal(id, "a") }, map[int32]journal.State{1: journal.Cancelled}},
		"cancelled": {"child(signal(never););signal(a);", func(n *node, id journal.RunID) {
			if _, err := n.Cancel(n.t.Context(), tenant.Default, id, "enough"); err != nil {
				n.t.Fatal(err)
			}
		}, map[int32]journal.State{1: journal.Cancelled}},
	} {
		t.Run(name, func(t *testing.T) {
			n := family(t)
			id := n.start("family", tt.script)
			n.until(id, journal.Waiting)
			for _, kid := range n.children(id) {
				n.until(kid.ID, journal.Waiting)
			}
			tt.end(n, id)
			for _, kid := range n.children(id) {
				if want := tt.want[kid.ParentOp]; want == journal.Waiting {
					n.until(kid.ID, want)
				} else if got := n.end(kid.ID); got.State != want {
					t.Errorf("child %d: got %s, want %s", kid.ParentOp, got.State, want)
				}
			}
		})
	}
}

// TestFamiliesHaveAnEnd: a run that starts itself again and again does not go on for ever.
func TestFamiliesHaveAnEnd(t *testing.T) {
	n := family(t)
	script := fmt.Sprintf("%sout(bottom);%s", strings.Repeat("child(", abi.MaxChildDepth+1), strings.Repeat(");wait;", abi.MaxChildDepth+1))
	run := n.end(n.start("family", script))
	if want := strings.Repeat("ok ", abi.MaxChildDepth) + `failed {"code":"child_depth"`; !strings.HasPrefix(string(run.Output), want) {
		t.Errorf("got %s, want %s...", run.Output, want)
	}
}

// TestContinuedRunTakesTheNewestModule: a run that goes on for ever comes to a new version, under its key.
func TestContinuedRunTakesTheNewestModule(t *testing.T) {
	n := family(t)
	id := n.start("family", "signal(a);next(out(x););")
	first := n.until(id, journal.Waiting)
	newest := n.push("family", "echo")
	n.signal(id, "a")
	var old journal.Run
	for deadline := time.Now().Add(patience); old.State != journal.Continued; time.Sleep(2 * time.Millisecond) {
		v, err := n.Run(t.Context(), tenant.Default, id)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("got %s, %v; want continued", v.Run.State, err)
		}
		old = v.Run
	}
	next := n.end(old.Successor)
	if old.Digest != first.Digest || next.Digest != newest || next.Workflow != "family" {
		t.Errorf("got %s on %s and then %s on %s; want the second on %s", old.Workflow, old.Digest, next.Workflow, next.Digest, newest)
	}
}

// TestContinuedRunIsFollowed: who knows a run by its first id reaches the one that goes on for it.
func TestContinuedRunIsFollowed(t *testing.T) {
	n := family(t)
	id := n.start("family", "signal(a);next(signal(b);again;);")
	n.until(id, journal.Waiting)
	n.signal(id, "a")
	n.followed(id, 1)
	n.signal(id, "b")
	last := n.followed(id, 2)
	run, err := n.Cancel(t.Context(), tenant.Default, id, "enough")
	if err != nil || run.ID != last {
		t.Fatalf("cancelled %s, %v; want %s", run.ID, err, last)
	}
	if end := n.end(id); end.ID != last || end.State != journal.Cancelled {
		t.Errorf("got %s of %s, want cancelled of %s", end.State, end.ID, last)
	}
	for range 2 {
		if _, err := n.Signal(t.Context(), tenant.Default, id, "late", "b", nil); !errors.Is(err, journal.ErrState) {
			t.Errorf("a signal after the end of the last: got %v, want %v", err, journal.ErrState)
		}
	}
}

// followed waits until a run has been continued so many times and the last waits.
func (n *node) followed(id journal.RunID, times int) journal.RunID {
	n.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		last, k := id, 0
		for {
			v, err := n.Run(n.t.Context(), tenant.Default, last)
			if err != nil {
				n.t.Fatal(err)
			}
			if v.Run.State == journal.Waiting && k == times {
				return last
			}
			if v.Run.State != journal.Continued {
				break
			}
			last, k = v.Run.Successor, k+1
		}
	}
	n.t.Fatalf("the run was not continued %d times", times)
	return id
}

// TestSuccessorStaysWhereItsWorkflowIs: a newer module that lacks the workflow is not for the run.
func TestSuccessorStaysWhereItsWorkflowIs(t *testing.T) {
	n := family(t)
	id := n.start("family", "signal(a);next(out(x););")
	first := n.until(id, journal.Waiting)
	n.push("family", "manifest") // says that it has other workflows
	n.signal(id, "a")
	if run := n.end(id); run.State != journal.Completed || run.Digest != first.Digest || string(run.Output) != "x" {
		t.Errorf("got %s on %s, %s; want completed on %s, x", run.State, run.Digest, run.Output, first.Digest)
	}
}
