package sqlite

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"reprise/journal"
	"reprise/journal/internal/payload"
)

// wholeTable matches a step that reads all of a table that grows; an index that holds some of the rows may be read whole.
var wholeTable = regexp.MustCompile(`(?m)^SCAN (r|e|i|v|p|b|runs|entries|inbox|published|payloads|payload_names|payload_bytes|inputs|results|checkpoints|modules|module_bytes)( USING (COVERING )?INDEX sqlite_\S+)?$`)

// plan asks how a statement is carried out, one line a step.
func (c *conn) plan(t *testing.T, text string) string {
	t.Helper()
	var steps []string
	err := c.each(`EXPLAIN QUERY PLAN `+text, make([]any, strings.Count(text, `?`)), func(row scanner) (bool, error) {
		var id, parent, unused int
		var detail string
		err := row.Scan(&id, &parent, &unused, &detail)
		steps = append(steps, detail)
		return true, err
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Join(steps, "\n")
}

// TestEveryPlan calls every method, and looks at the plan of every statement that was prepared for it.
func TestEveryPlan(t *testing.T) {
	clock := &movableClock{}
	s, leases := started(t, Config{Clock: clock.now}, 4)
	ctx := t.Context()
	ignore := func(any, error) {} // what counts is the statement
	p := bytes.Repeat([]byte("payload "), payload.Inline)
	l := leases[0]
	largeRun(t, s, l, p)
	largeRun(t, s, l, p) // a repeat
	ignore(s.Commit(ctx, l, journal.Batch{Entries: []journal.Entry{{Seq: 10, Kind: journal.KindEffect}}, Observed: []string{"op:1"}}))
	ignore(s.Commit(ctx, leases[1], journal.Batch{Next: &journal.Transition{State: journal.Completed, Output: p}}))
	ignore(s.Commit(ctx, leases[2], journal.Batch{Next: &journal.Transition{State: journal.Blocked}}))
	ignore(s.Commit(ctx, leases[3], journal.Batch{Next: &journal.Transition{State: journal.Waiting}}))
	r, err := s.Run(ctx, owner, l.Run)
	if err != nil {
		t.Fatal(err)
	}
	r.ID, r.Key, r.IdempotencyKey, r.Input = journal.NewRunID(), "k", "i", p
	for range 2 {
		ignore(s.Signal(ctx, owner, leases[3].Run, "s1", "paid", p))
		_, _, _ = s.Create(ctx, r)
	}
	again := r
	again.ID, again.IdempotencyKey = journal.NewRunID(), ""
	_, _, _ = s.Create(ctx, again)
	for _, f := range []journal.Filter{{}, {State: "ready"}, {Workflow: "w"}, {Key: "k"}, {State: "failed", Workflow: "w", Key: "k"}} {
		ignore(s.Runs(ctx, owner, f))
	}
	ignore(s.Commit(ctx, l, journal.Batch{Checkpoint: &journal.Checkpoint{Seq: 1}}))
	ignore(s.Checkpoint(ctx, owner, l.Run))
	forked := r
	forked.ID, forked.Key, forked.IdempotencyKey = journal.NewRunID(), "", ""
	_, _, _ = s.Fork(ctx, forked, journal.Fork{From: l.Run, Entries: 2, Checkpoint: &journal.Checkpoint{Seq: 1}})
	ignore(s.Entries(ctx, owner, l.Run, 0, 10))
	ignore(s.Arrivals(ctx, owner, l.Run, 0))
	ignore(s.Published(ctx, owner, l.Run))
	ignore(s.Resume(ctx, owner, leases[2].Run))
	ignore(s.RequestCancel(ctx, owner, leases[3].Run, "stop"))
	ignore(s.RequestCancel(ctx, owner, r.ID, "stop"))
	ignore(s.Mail(ctx, l.Node, nil))
	ignore(s.Heartbeat(ctx, l.Node, time.Hour))
	ignore(s.ListNodes(ctx))
	_, _, _ = s.SetAlias(ctx, owner, "w", r.Digest)
	ignore(s.Alias(ctx, owner, "w"))
	ignore(s.AliasHistory(ctx, owner, "w"))
	ignore(s.Aliases(ctx, owner))
	ignore(s.Module(ctx, owner, r.Digest))
	ignore(s.Modules(ctx, owner))
	ignore(s.ModuleBytes(ctx, owner, r.Digest))
	for i := range 3 {
		_, _ = s.Claim(ctx, l.Node, journal.Want{Limit: i})
	}
	_ = s.DeleteRun(ctx, owner, r.ID)
	clock.advance(48 * time.Hour)
	for range 2 {
		ignore(s.Prune(ctx, journal.Retention{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour}, 10))
		clock.advance(time.Hour)
	}
	_ = s.Unregister(ctx, l.Node)
	ignore(s.Hold(ctx, "why", 10))
	ignore(s.Register(ctx, "n", time.Hour))

	seen := 0
	for _, c := range s.conns {
		for text := range c.stmts {
			if !regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)`).MatchString(text) {
				continue
			}
			seen++
			if plan := c.plan(t, text); wholeTable.MatchString(plan) {
				t.Errorf("a plan reads a whole table:\n%s\n%s", text, plan)
			}
		}
	}
	if seen < 60 {
		t.Errorf("got %d statements, want those of every method", seen)
	}
}
