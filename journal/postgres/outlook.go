package postgres

import (
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// slowClaim is how long a claim takes at least before the next ones do not look at everything: ten times what it takes in a database
// that is in order.
const slowClaim = 25 * time.Millisecond

// When claims look at everything although that is slow: so that it takes a twentieth of the time, but at least so often.
const (
	wholeShare = 20
	wholeEvery = 10 * time.Second
)

// lateCommit is how long after its time a row may be committed and still be found by the next narrow claim: a row is ready since its
// statement began, and a claim in between has not seen it.
const lateCommit = time.Second

// outlook says how much of the database a claim looks at. As a rule that is everything. When that takes long, because a snapshot that
// somebody keeps has made dead rows of what was due once, most claims look only at what has become due since the last that looked
// at everything, or was the oldest then. What they miss, the next whole one finds: a run that was made due for a time that had
// passed long before, one that was committed later than lateCommit, and a run of an owner that nobody knows.
type outlook struct {
	slow time.Duration

	mu         sync.Mutex
	bad        bool      // the last whole claim took long
	measured   bool      // and said where the oldest are
	ready, due time.Time // by the database's clock
	whole      time.Time // local, when the next claim looks at everything again
}

// look is how much one claim looks at.
type look struct {
	ready, due pgtype.Timestamptz // runs that became ready, or due, from then on
	measure    bool               // and to say which are the oldest
	whole      bool
}

var always = pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}

func (o *outlook) next() look {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bad && o.measured && time.Now().Before(o.whole) {
		return look{ready: pgtype.Timestamptz{Time: o.ready, Valid: true}, due: pgtype.Timestamptz{Time: o.due, Valid: true}}
	}
	return look{ready: always, due: always, measure: o.bad, whole: true}
}

// saw takes what a claim found that took so long.
func (o *outlook) saw(l look, c claims, took time.Duration) {
	if !l.whole {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bad = took > o.slow
	o.measured = l.measure
	o.whole = time.Now().Add(min(wholeShare*took, wholeEvery))
	o.ready, o.due = c.Now.Add(-lateCommit), c.Now.Add(-lateCommit)
	if !c.oldestReady.IsZero() && c.oldestReady.Before(o.ready) {
		o.ready = c.oldestReady
	}
	if !c.oldestDue.IsZero() && c.oldestDue.Before(o.due) {
		o.due = c.oldestDue
	}
}
