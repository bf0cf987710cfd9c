package testkit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"reprise/abi"
	"reprise/host/internal/exec"
	"reprise/journal"
	"reprise/modules"
)

// played is what a play must know of an earlier one to go on from it.
type played struct {
	digest modules.Digest
	id     journal.RunID // of the last run, when some continued as new
	input  []byte
	began  time.Time
	// delivered counts the signals that earlier runs took, by name.
	delivered map[string]int
	c         Case
	outcomes  map[string]outcome
	events    []*event
	mismatch  *exec.NondeterminismError
}

// DivergedError says that a run which was cut and carried on did not do what it did before.
type DivergedError struct {
	// Cut is how many entries the journal had when the run was cut.
	Cut int
	// Seq is the first entry that is another, or -1 when only the end is.
	Seq int64
	// Before and After are the two sides, in words.
	Before, After string
	// Message is the whole text of a host that met it, when it was met in the replay.
	Message string
}

// Error says where, and both sides.
func (e *DivergedError) Error() string {
	at := "the end"
	if e.Seq >= 0 {
		at = fmt.Sprintf("entry %d", e.Seq)
	}
	text := fmt.Sprintf("the run was cut after %d entries, and then %s was another: before the cut %s, after it %s", e.Cut, at, e.Before, e.After)
	if e.Message != "" {
		text += "\n" + e.Message
	}
	return text
}

// Resume cuts the run of a play after each entry of its journal and carries it on by this module, as a host does after a
// crash. Effects and activities that had an outcome before have it again. The module that was played must come to the same
// journal and the same end. Another, as a new version that is to carry on the runs of an old one, must do what the journal says as
// far as it goes. A long journal is cut at MaxCuts places that are spread over it; of runs that
// continued as new only the last is cut. Returns a *DivergedError for the first cut after
// which that was not so.
func (m *Module) Resume(ctx context.Context, r *Result) error {
	for _, n := range r.cuts() {
		if n == 0 && m.digest != r.played.digest {
			continue // that is a run of its own
		}
		if err := m.resume(ctx, r, n); err != nil {
			return err
		}
	}
	return nil
}

// cuts are the places at which the run is cut: not where a child run is under way, which would begin again and end later.
func (r *Result) cuts() []int {
	return slices.DeleteFunc(cuts(len(r.Entries)), func(n int) bool { return childUnderWay(r.Entries, n) })
}

// childUnderWay says that a child run was asked for before the cut and ended after it.
func childUnderWay(es []journal.Entry, n int) bool {
	return n > 0 && slices.ContainsFunc(es[n:], func(e journal.Entry) bool { return e.Kind == journal.KindChild && e.Op <= es[n-1].Issued })
}

// count adds the signals among entries to those by name.
func count(delivered map[string]int, es []journal.Entry) map[string]int {
	if delivered == nil {
		delivered = map[string]int{}
	}
	for _, e := range es {
		if e.Kind == journal.KindSignal && e.Status == abi.OK {
			delivered[e.Name]++
		}
	}
	return delivered
}

// MaxCuts bounds how often the run of one play is cut and carried on.
const MaxCuts = 200

// cuts are the places at which a journal of n entries is cut.
func cuts(n int) []int {
	all := make([]int, min(n, MaxCuts))
	for i := range all {
		all[i] = i
		if n > MaxCuts {
			all[i] = i * (n - 1) / (MaxCuts - 1)
		}
	}
	return all
}

func (m *Module) resume(ctx context.Context, before *Result, n int) error {
	after, err := m.play(ctx, before.played.c, before, n)
	if err != nil {
		return fmt.Errorf("the run was cut after %d entries: %w", n, err)
	}
	odd := differ(before, after)
	if odd == nil {
		return nil
	}
	odd.Cut = n
	return odd
}

// differ finds what is not the same.
func differ(before, after *Result) *DivergedError {
	if m := after.played.mismatch; m != nil {
		return &DivergedError{Seq: m.Seq, Before: "the journal has " + m.Want.String(), After: "the module did " + m.Got.String(), Message: m.Error()}
	}
	if before.played.digest != after.played.digest {
		return nil
	}
	for i := range max(len(before.Entries), len(after.Entries)) {
		a, b := entryText(before.Entries, i), entryText(after.Entries, i)
		if i >= len(before.Entries) || i >= len(after.Entries) || !same(before.Entries[i], after.Entries[i]) {
			return &DivergedError{Seq: int64(i), Before: a, After: b}
		}
	}
	if a, b := before.String(), after.String(); a != b {
		return &DivergedError{Seq: -1, Before: a, After: b}
	}
	return nil
}

// same compares entries but for who wrote them and when: a request that was in flight begins again later.
func same(a, b journal.Entry) bool {
	b.At = a.At
	return a.Same(b)
}

func entryText(es []journal.Entry, i int) string {
	if i >= len(es) {
		return "nothing"
	}
	e := es[i]
	text := string(e.Kind)
	if e.Name != "" {
		text += " " + e.Name
	}
	if len(e.Request) > 0 && e.Kind != journal.KindStarted {
		text += " " + short(e.Request)
	}
	if e.Status != abi.OK {
		text += " " + e.Status.String()
	}
	if len(e.Payload) > 0 {
		text += " → " + short(e.Payload)
	}
	return text
}

// restore gives the run its first entries.
func (p *play) restore(known []journal.Entry) error {
	claims, err := p.store.Claim(p.ctx, p.node, journal.Want{Limit: 1})
	if err != nil {
		return err
	}
	if len(claims.Claims) != 1 {
		return fmt.Errorf("the run to be restored was not claimed")
	}
	_, err = p.store.Commit(p.ctx, claims.Claims[0].Lease, journal.Batch{Entries: known, Next: &journal.Transition{State: journal.Ready}})
	return err
}

// resend sends what had arrived by the cut and was not delivered, and leaves the rest for its moment.
func (p *play) resend(before *Result, n int) error {
	known := before.Entries[:n]
	delivered := count(maps.Clone(before.played.delivered), known)
	cancelled := slices.ContainsFunc(known, func(e journal.Entry) bool { return e.Kind == journal.KindCancel })
	for i, e := range p.events {
		at := before.played.events[i].at
		if at.run < before.Continued {
			at.entries = 0
		}
		e.After, e.Entries = at.at.Sub(p.start), at.entries
		switch {
		case !at.fired, e.query != nil:
			e.at.fired = true // the run had ended, or it changes nothing
		case e.signal != nil && delivered[e.signal.Name] > 0:
			delivered[e.signal.Name]--
			e.at = at
		case e.cancel != nil && cancelled:
			e.at = at
		case int64(n) >= at.entries && !at.at.After(p.Now()):
			e.at = at
			if err := p.send(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// mismatch asks the turner where a run that is blocked left its journal.
func (p *play) mismatch(run journal.Run) *exec.NondeterminismError {
	if run.State != journal.Blocked {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	report, err := p.turner.Replay(ctx, run, run.Digest)
	if err != nil {
		return nil // Reason says what there is to say
	}
	return report.Mismatch
}
