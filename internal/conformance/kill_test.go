package conformance

import (
	"context"
	"fmt"
	"sync"

	"reprise/journal"
	"reprise/tenant"
)

// death is how a run loses its host at a commit.
type death string

const (
	lost       death = "lost"       // before the commit
	unanswered death = "unanswered" // after the commit, before its answer
	stolen     death = "stolen"     // in the wait behind the commit: the owner is not told, and another owner begins at once
)

// cut is where one run is to die: at its commit of that number; 0 is the one that begins it.
type cut struct {
	how death
	at  int
}

// always is the number of every commit but the first.
const always = -1

// mortal is a store in which runs die: an owner is told that its lease is lost, or is not told, and the run is given to
// whoever comes first, which executes it in a new instance from the journal.
type mortal struct {
	journal.Store

	mu      sync.Mutex
	cuts    map[journal.RunID]cut
	next    map[string]cut // by the key of a run that has not begun
	commits map[journal.RunID]int
	dead    map[journal.RunID]bool          // those that have died
	roots   map[journal.RunID]journal.RunID // of children and successors: the run that they all come from, which counts for them
}

func newMortal(s journal.Store) *mortal {
	return &mortal{Store: s, cuts: map[journal.RunID]cut{}, next: map[string]cut{}, commits: map[journal.RunID]int{}, dead: map[journal.RunID]bool{},
		roots: map[journal.RunID]journal.RunID{}}
}

// plan says how the run of a key is to die.
func (m *mortal) plan(key string, c cut) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next[key] = c
}

// begun binds a run to what its key was planned for, and says whether it dies at once.
func (m *mortal) begun(r journal.Run) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.next[r.Key]
	if !ok {
		return false
	}
	delete(m.next, r.Key)
	m.cuts[r.ID] = c
	m.dead[r.ID] = c.at == 0
	return c.at == 0
}

// due counts a commit and says how the run dies at it, "" for not at all. The commits of a run, its children and its successors
// are counted together.
func (m *mortal) due(id journal.RunID, b journal.Batch) death {
	m.mu.Lock()
	defer m.mu.Unlock()
	if root, ok := m.roots[id]; ok {
		id = root
	}
	for _, child := range b.Children {
		m.roots[child.ID] = id
	}
	if b.Next != nil && b.Next.Successor != nil {
		m.roots[b.Next.Successor.ID] = id
	}
	m.commits[id]++
	c, ok := m.cuts[id]
	if !ok || c.at != always && (m.dead[id] || m.commits[id] != c.at) {
		return ""
	}
	m.dead[id] = true
	return c.how
}

// died says whether a run has died, and how many commits it has made.
func (m *mortal) died(id journal.RunID) (bool, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead[id], m.commits[id]
}

// Begin makes a run and, where it was planned, takes it from its owner.
func (m *mortal) Begin(ctx context.Context, r journal.Run, node string, first journal.Entry) (journal.Run, bool, error) {
	run, created, err := m.Store.Begin(ctx, r, node, first)
	if err != nil || !created || !m.begun(run) || run.State != journal.Running {
		return run, created, err
	}
	return run, created, m.release(ctx, journal.Lease{Tenant: tenant.Default, Run: run.ID, Node: node, Token: run.Token})
}

// Commit writes a batch, and lets the run die where it was planned.
func (m *mortal) Commit(ctx context.Context, l journal.Lease, b journal.Batch) (journal.State, error) {
	how := m.due(l.Run, b)
	if how == "" {
		return m.Store.Commit(ctx, l, b)
	}
	held := true
	if how != lost {
		state, err := m.Store.Commit(ctx, l, b)
		if err != nil {
			return state, err
		}
		held = b.Next == nil
	}
	if held {
		if err := m.release(ctx, l); err != nil {
			return "", err
		}
	}
	if how == stolen {
		if b.Next != nil {
			return b.Next.State, nil
		}
		return journal.Running, nil
	}
	return "", fmt.Errorf("commit of %s: %w", l.Run, journal.ErrFenced)
}

func (m *mortal) release(ctx context.Context, l journal.Lease) error {
	_, err := m.Store.Commit(ctx, l, journal.Batch{Next: &journal.Transition{State: journal.Ready}})
	return err
}
