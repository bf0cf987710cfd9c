// Package journal owns what happened: runs, their entries, who may write them, and the contract of a
// store. It decides nothing about execution and knows no database; journal/sqlite and
// journal/postgres implement Store, journal/journaltest holds the suite that both pass. The host
// calls it.
//
// Three laws hold for every store. A write names its right to write: what changes a run that someone
// may own takes a Lease, and the check is in the same transaction as the write. Only the database's
// clock decides expiry. A commit whose answer was lost may be sent again unchanged.
package journal

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"reprise/abi"
	"reprise/modules"
	"reprise/tenant"
)

// RunID is a UUIDv7, printed as run_ and 32 hex digits.
type RunID uuid.UUID

const runPrefix = "run_"

// NewRunID makes an id that sorts by time of creation.
func NewRunID() RunID { return RunID(uuid.Must(uuid.NewV7())) }

// String is the printed form.
func (id RunID) String() string { return runPrefix + hex.EncodeToString(id[:]) }

// ParseRunID reads the printed form.
func ParseRunID(s string) (RunID, error) {
	var id RunID
	h, ok := strings.CutPrefix(s, runPrefix)
	if !ok || len(h) != 32 || strings.ToLower(h) != h {
		return id, fmt.Errorf("%.60q is not a run id of the form run_<32 hex digits>", s)
	}
	if _, err := hex.Decode(id[:], []byte(h)); err != nil {
		return id, fmt.Errorf("%.60q is not a run id: %w", s, err)
	}
	return id, nil
}

// Run is the row of one execution.
type Run struct {
	Tenant         tenant.ID
	ID             RunID
	Key            string // the user's name for it, unique among a tenant's open runs; may be empty
	IdempotencyKey string // of the request that started it; may be empty
	Workflow       string // the workflow name or digest that the starter asked for
	Digest         modules.Digest
	Entry          string // workflow inside the module, "" for the only one
	Input          []byte
	// Parent is the run that started this one as a child, and ParentOp its handle there; the zero id and 0 without one.
	Parent   RunID
	ParentOp int32
	// Depth is how many parents there are, one above the other.
	Depth int
	// Abandoned says that the run goes on when its parent ends.
	Abandoned bool
	// Successor is the run that goes on for one that is Continued; the zero id otherwise.
	Successor RunID

	State    State
	Reason   string // why blocked or failed, one line: "code: text"
	Waiting  string // what a waiting run waits for, for people
	Output   []byte // of a completed run
	Failure  []byte // of a failed or cancelled run: an abi.Failure
	Attempts int    // claims since the last suspension; committed before each execution

	Owner    string // node that runs it, "" when nobody
	Token    int64  // fencing token; grows at each claim
	NextSeq  int64  // seq of the next entry
	InboxPos int64  // position of the newest arrival, 0 when there was none
	// CheckpointSeq is the Seq of the run's checkpoint, 0 without one.
	CheckpointSeq int64

	CancelRequested bool
	WakeAt          time.Time // when a waiting run is due; zero: only an arrival wakes it
	CreatedAt       time.Time
	UpdatedAt       time.Time
	FinishedAt      time.Time // zero while the run is open
}

// Kind says what an entry records.
type Kind string

// The kinds of entry.
const (
	KindStarted   Kind = "started"   // seq 0: the first turn began; Name is the entry, Request the input's SHA-256 as a JSON string, Options the pipeline and limits that bind the run
	KindEffect    Kind = "effect"    // an effect's outcome became visible
	KindActivity  Kind = "activity"  // an activity's outcome became visible
	KindChild     Kind = "child"     // a child run's end became visible
	KindTimer     Kind = "timer"     // a timer handle fired; Request is its due time as a JSON string
	KindSignal    Kind = "signal"    // a signal was delivered; Name is the signal's name
	KindCancel    Kind = "cancel"    // the run's cancellation became visible
	KindSleep     Kind = "sleep"     // the timeout of a wait or poll passed; Request is its due time as a JSON string
	KindLook      Kind = "look"      // a look found nothing
	KindCompleted Kind = "completed" // terminal; Payload is the output
	KindFailed    Kind = "failed"    // terminal; Payload is the failure
	KindCancelled Kind = "cancelled" // terminal; Payload is the failure
	KindContinued Kind = "continued" // terminal; Payload is the successor's input
)

// Terminal says whether an entry of this kind is a run's last.
func (k Kind) Terminal() bool {
	return k == KindCompleted || k == KindFailed || k == KindCancelled || k == KindContinued
}

// NoOp is the Op of an entry that belongs to no handle.
const NoOp int32 = -1

// Entry is one row of a run's journal: the result of one host call, at the position where the guest
// saw it.
type Entry struct {
	Seq     int64
	Kind    Kind
	Op      int32 // the handle that completed, abi.CancelHandle for cancel, NoOp otherwise
	Name    string
	Request []byte // what the guest asked, byte for byte
	Options []byte // the options of the request, byte for byte
	Status  abi.Status
	Payload []byte // the outcome, byte for byte
	// Issued and Trail sum up the requests that the guest had made up to here: their number and a
	// running hash. Replay compares both, so that a request that has not completed is checked too.
	Issued int32
	Trail  uint64
	Token  int64     // the lease that wrote it; set by the store
	At     time.Time // the guest's time from here on; never before the entry's predecessor
}

// Same says whether two entries record the same thing; Token is not compared.
func (e Entry) Same(o Entry) bool {
	return e.Seq == o.Seq && e.Kind == o.Kind && e.Op == o.Op && e.Name == o.Name &&
		string(e.Request) == string(o.Request) && string(e.Options) == string(o.Options) &&
		e.Status == o.Status && string(e.Payload) == string(o.Payload) &&
		e.Issued == o.Issued && e.Trail == o.Trail && e.At.Equal(o.At)
}

// ArrivalKind says what waits in a run's inbox.
type ArrivalKind string

// The kinds of arrival.
const (
	ArrivalSignal ArrivalKind = "signal" // from outside; needs no lease
	ArrivalCancel ArrivalKind = "cancel" // from outside; at most one a run
	ArrivalDone   ArrivalKind = "done"   // an outcome that the guest has not looked at; from the owner
	ArrivalRetry  ArrivalKind = "retry"  // an attempt failed and the next is due at RetryAt; from the owner
	ArrivalChild  ArrivalKind = "child"  // a child run was started and its end is waited for; from the owner. The child's end makes it ArrivalDone
)

// Arrival is one row of a run's inbox. The guest sees it only when it has become an entry.
type Arrival struct {
	ID      string // unique in the run: "signal:<sender's id>", "cancel", or "op:<handle>"
	Pos     int64  // position in the run's inbox, from 1, in order of arrival; set by the store
	Kind    ArrivalKind
	Op      int32  // of done, retry and child; NoOp otherwise
	Name    string // the signal's name
	Status  abi.Status
	Payload []byte    // the signal's payload, the outcome, or the last failure of a retry
	Attempt int       // attempts made, of retry
	RetryAt time.Time // when the next attempt is due, of retry
	At      time.Time // when it arrived, by the database's clock; set by the store
}

// Published is one value that a run shows to readers.
type Published struct {
	Key   string
	Value []byte
	At    time.Time // set by the store
}

// Lease is the right to write one run: the claim of a node, under a token that no later claim shares.
type Lease struct {
	Tenant tenant.ID
	Run    RunID
	Node   string // id of the node's registration
	Token  int64
}

// Batch is what one commit writes, all or nothing.
type Batch struct {
	// Entries follow the run's last entry without a gap.
	Entries []Entry
	// Stash are arrivals of kind done, retry and child, written or replaced by id.
	Stash []Arrival
	// Observed are ids of arrivals that Entries made visible; they leave the inbox's open part but
	// their ids stay known, so that a signal sent twice is not delivered twice.
	Observed []string
	// Published are values for readers.
	Published []Published
	// Children are runs that are made with the batch, in state Ready, as children of the batch's run. Of each are read what Create
	// reads, ParentOp and Abandoned. One whose ID is there is left as it is.
	Children []Run
	// Cancels are runs that are asked to end with the batch, as by RequestCancel. A run that has a successor passes the
	// request on. Runs that are not there or have ended are left as they are.
	Cancels []RunID
	// Checkpoint replaces the run's earlier one; nil keeps it. It goes when the run ends.
	Checkpoint *Checkpoint
	// Next moves the run to another state and gives up the lease; nil keeps both.
	Next *Transition
}

// Checkpoint is a run as it was when it had seen so many entries. It is a cache: the journal says the same, and a run goes
// on without it. A store does not look into it.
type Checkpoint struct {
	// Seq is how many entries of the journal are in it: the next one that the run sees.
	Seq int64
	// Key says for whom it is of use.
	Key string
	// Packed is the checkpoint, at most MaxCheckpoint bytes.
	Packed []byte
}

// MaxCheckpoint bounds a checkpoint in bytes.
const MaxCheckpoint = 256 << 10

// Transition is the end of a turn.
type Transition struct {
	State State
	// SeenPos is the newest inbox position that the turn has read. When State is Waiting and something
	// newer is there, the store makes the run ready instead, so that no arrival is slept through.
	SeenPos int64
	WakeAt  time.Time // of Waiting; zero for no timer
	Waiting string    // of Waiting, for people
	Reason  string    // of Blocked and Failed
	Output  []byte    // of Completed
	Failure []byte    // of Failed and Cancelled
	// Successor is made with the transition, in state Ready: of Continued, and of nothing else. Of it are read what Create reads. It
	// has the parent that this run has.
	Successor *Run
	// Parent says that the run is a child: the transition that ends it, with no successor, is told to its parent.
	Parent bool
	// KeepAttempts leaves Run.Attempts as it is, instead of setting it to 0.
	KeepAttempts bool
	// Ended, when it is not nil, is set by a store whose commit has ended the run. After a repeat it is as it was.
	Ended *Ended
}

// Ended is what only the store knows of a run that a commit has ended.
type Ended struct {
	At              time.Time // by the database's clock
	InboxPos        int64
	CancelRequested bool
}

// Errors of a store. A caller decides by errors.Is.
var (
	ErrNotFound = errors.New("run not found")
	// ErrFenced says that the lease is not valid: taken over, given up, or its node's lease has lapsed.
	// Nothing was written. The holder must stop the run's guest without further effects.
	ErrFenced = errors.New("lease is no longer valid")
	// ErrConflict says that the same id, key or seq is there with other content. Nothing was written.
	ErrConflict = errors.New("conflict")
	// ErrMoved says that a workflow's name stands for another module now. Nothing was written.
	ErrMoved = errors.New("the workflow's name stands for another module")
	// ErrState says that the run's state does not allow the operation. Nothing was written.
	ErrState = errors.New("wrong state")
	// ErrQuota says that a limit of the tenant or run is reached. Nothing was written.
	ErrQuota = errors.New("limit reached")
	// ErrNodeLapsed says that the node's registration has expired or been replaced.
	ErrNodeLapsed = errors.New("node lease lapsed")
	// ErrPayload says that a payload which a row names is missing or damaged. What else was asked for may be good.
	ErrPayload = errors.New("payload cannot be read")
	// ErrUnavailable says that the database does not answer, or cannot work for now. A write may have been carried out
	// or not: send it again unchanged.
	ErrUnavailable = errors.New("the database is not available")
	// ErrSchema says that the database's schema is newer than this program.
	ErrSchema = errors.New("schema is newer than this program")
)

// Bounds of the signals that wait in one run's inbox.
const (
	// MaxQueued bounds their number.
	MaxQueued = 10_000
	// MaxQueuedBytes bounds the bytes of their payloads: 16 of the largest, or 3.3 KiB each of as many as may
	// wait. A turn reads them all.
	MaxQueuedBytes = 32 << 20
)
