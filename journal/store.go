package journal

import (
	"context"
	"time"

	"reprise/abi"
	"reprise/modules"
	"reprise/tenant"
)

// Store is a journal's database. Its parts are small so that a user may name what it needs.
// Every method is safe for concurrent use. Errors that are not of this package are the database's and
// mean that nothing is known: the caller reads again and never assumes.
type Store interface {
	Starter
	Forker
	Inbox
	Reader
	Claimer
	Nodes
	Pruner
	Holder
	modules.Store
	// Close releases the database. It waits for nothing that callers still do.
	Close() error
}

// Starter makes runs.
type Starter interface {
	// Create stores a new run in state Ready. Of r it reads Tenant, ID, Key, IdempotencyKey, Workflow,
	// Digest, Entry and Input. created is false when IdempotencyKey (if given) names an earlier start
	// with the same Workflow, Entry, Key and Input: that run is returned.
	// Returns ErrConflict when the idempotency key was used for another start, or when an open run of
	// the tenant has the same Key; the returned run is then the one in the way.
	// Returns modules.ErrNotFound when the tenant has no such module.
	Create(ctx context.Context, r Run) (run Run, created bool, err error)
	// Begin is Create and the run's first claim in one write, for a node that has room: the new run is Running, with
	// the node as owner, Token 1 and Attempts 1, and first is its entry 0, with the time of its creation. When the
	// node's lease is not live, or the input is large, the run may be made as by Create, Ready and without an entry. A returned run that is Running under the
	// node and was created is the caller's to execute, as a claim is. Of first it reads Name, Request and
	// Options. Returns also ErrMoved, and nothing is written, when Workflow is a name that does not stand for Digest.
	Begin(ctx context.Context, r Run, node string, first Entry) (run Run, created bool, err error)
}

// Inbox takes what comes from outside; it needs no lease.
type Inbox interface {
	// Signal queues a signal; id is the sender's and makes it idempotent. A waiting run becomes ready in
	// the same transaction. duplicate is true when the id was taken before with the same name and payload.
	// Returns ErrNotFound, ErrState when the run is terminal, ErrConflict when the id was used with other
	// content, ErrQuota when MaxQueued signals wait,
	// or this one would take the bytes of those that wait over MaxQueuedBytes.
	Signal(ctx context.Context, t tenant.ID, run RunID, id, name string, payload []byte) (duplicate bool, err error)
	// RequestCancel asks a run to end. A waiting run becomes ready; a run that is blocked or paused, or
	// ready without an entry, is cancelled at once. Asking twice, or asking a terminal run that
	// was asked before, is not an error. Returns the run as it is then. Returns ErrNotFound, and
	// ErrState when the run is terminal and had not been asked.
	RequestCancel(ctx context.Context, t tenant.ID, run RunID, reason string) (Run, error)
	// Resume makes a blocked or paused run ready and sets its attempts to 0.
	// Returns ErrNotFound and ErrState.
	Resume(ctx context.Context, t tenant.ID, run RunID) (Run, error)
}

// Filter selects runs of one tenant; zero fields select all.
type Filter struct {
	State    State
	Workflow string
	Key      string
	Limit    int    // 1 to 1,000; 0 is 100
	Cursor   string // from an earlier Page; opaque
}

// Page is one page of runs, newest first. Input, Output and Failure are left out.
type Page struct {
	Runs   []Run
	Cursor string // "" when this is the last page
}

// Reader reads; it needs no lease.
type Reader interface {
	// Run returns a run whole. Returns ErrNotFound, also for a run of another tenant; and ErrPayload with the run, without
	// what cannot be read of it.
	Run(ctx context.Context, t tenant.ID, run RunID) (Run, error)
	// Runs lists runs. Returns ErrConflict for a cursor that is not from here.
	Runs(ctx context.Context, t tenant.ID, f Filter) (Page, error)
	// Entries returns at most limit entries from seq on, in order, fewer when their bytes pass 8 MiB but
	// at least one. Returns ErrNotFound and ErrPayload.
	Entries(ctx context.Context, t tenant.ID, run RunID, from int64, limit int) ([]Entry, error)
	// Arrivals returns the open part of a run's inbox after a position, in order. Returns ErrNotFound and ErrPayload.
	Arrivals(ctx context.Context, t tenant.ID, run RunID, after int64) ([]Arrival, error)
	// Published returns a run's values by key. Returns ErrNotFound and ErrPayload.
	Published(ctx context.Context, t tenant.ID, run RunID) ([]Published, error)
	// Checkpoint returns an open run's checkpoint. Returns ErrNotFound when it has none, too.
	Checkpoint(ctx context.Context, t tenant.ID, run RunID) (Checkpoint, error)
}

// Claim is one run that a node has been given.
type Claim struct {
	Lease Lease
	Run   Run
	// StolenFrom names the dead owner, "" when there was none.
	StolenFrom string
	// Unreadable is why Run.Input is left out: it wraps ErrPayload.
	Unreadable error
	// Entries are the run's journal when it is known without reading, up to Run.NextSeq; nil when not.
	Entries []Entry
}

// Begun is the claim of a run that Begin made: its owner has it, and its only entry.
func Begun(r Run, first Entry) Claim {
	first.Seq, first.Kind, first.Op, first.Status = 0, KindStarted, NoOp, abi.OK
	first.Token, first.At = r.Token, r.CreatedAt
	return Claim{Lease: Lease{Tenant: r.Tenant, Run: r.ID, Node: r.Owner, Token: r.Token}, Run: r, Entries: []Entry{first}}
}

// Want says what a claim is to find.
type Want struct {
	// Limit bounds the runs of one claim; 0 claims nothing.
	Limit int
	// Held are the runs that the node has already, by tenant.
	Held map[tenant.ID]int
	// PerTenant bounds the runs of a tenant on the node, those of Held and of the claim together; 0 is no bound.
	PerTenant int
}

// Claims is what one call of Claim found.
type Claims struct {
	Claims []Claim
	// NextDue is how long until the next waiting run is due; negative when none is. When fewer than Limit were
	// found, a run that is due and was left out because of PerTenant does not count: room for it is what
	// the node waits for.
	NextDue time.Duration
	// Now is the database's clock.
	Now time.Time
}

// Claimer hands out runs and takes what their owners write.
type Claimer interface {
	// Claim gives a live node runs that may make progress: ready, or waiting and due, or running under an
	// owner whose lease has lapsed. When there are more than w.Limit, each goes to the tenant that has
	// the fewest runs on the node by then, its oldest due first; between equals, to the one whose run is due
	// first. They are returned oldest due first. In the same statement each gets state Running, the node
	// as owner, Token+1 and Attempts+1. Concurrent claims never give a run to two. The work of a claim does not
	// grow with the runs that are due, only with their tenants. w.Limit 0 claims nothing and still reports
	// NextDue and Now. Returns ErrNodeLapsed when the node's own lease is not live.
	Claim(ctx context.Context, node string, w Want) (Claims, error)
	// Commit writes a batch under a lease, all or nothing. The lease holds when the run is running, its
	// owner and token are the lease's, and the node's lease has not expired by the database's clock;
	// otherwise ErrFenced. Entries must start at the run's NextSeq: when they are there already with the same
	// content, written under this token, the commit is a repeat and succeeds; with other content it is ErrConflict.
	// Times and the wake-up are stored with microseconds. A transition that State.Can forbids is ErrState, a checkpoint of more
	// than MaxCheckpoint bytes ErrQuota. A repeat is recognised without its checkpoint.
	// Returns the state that the run has afterwards: Next.State, or Ready when an arrival came in between.
	Commit(ctx context.Context, l Lease, b Batch) (State, error)
	// Mail returns, for the runs that the node owns and that have something in their inbox beyond the
	// given positions, the newest position. It is how an owner finds arrivals with every hint lost.
	Mail(ctx context.Context, node string, seen map[RunID]int64) (map[RunID]int64, error)
	// Hints returns a channel that gets a value, without blocking, soon after something may have become
	// due or arrived, from this process or another. It may lose every hint; nothing depends on it.
	Hints() <-chan struct{}
}

// Node is one boot of a host.
type Node struct {
	ID        string // "<name>#<boot nonce>"
	Name      string
	StartedAt time.Time
	ExpiresAt time.Time
	Live      bool // by the database's clock
	Runs      int  // runs that it owns
}

// Nodes keeps the leases of hosts.
type Nodes interface {
	// Register makes a new registration under name that is live for ttl, and ends the earlier ones of the
	// same name at once, so that a host that was killed takes back its runs when it starts again.
	Register(ctx context.Context, name string, ttl time.Duration) (Node, error)
	// Heartbeat prolongs a live registration to ttl from now, by the database's clock, and returns that
	// clock. Returns ErrNodeLapsed when the registration has expired, was ended, or was replaced.
	Heartbeat(ctx context.Context, node string, ttl time.Duration) (now time.Time, err error)
	// Unregister ends a registration; runs that it still owns may be claimed at once. Not an error when
	// it has ended already.
	Unregister(ctx context.Context, node string) error
	// ListNodes lists registrations that are live or still own runs.
	ListNodes(ctx context.Context) ([]Node, error)
	// Now returns the database's clock.
	Now(ctx context.Context) (time.Time, error)
}
