package postgres

import (
	"github.com/jackc/pgx/v5/pgtype"

	"reprise/journal"
)

// groupStatement chooses the statement for a group and lays its commits out as arrays.
func groupStatement(group []*commit) (sql string, args []any) {
	var bs batchRows
	var es entryRows
	var as stashRows
	var os observedRows
	var ps publishedRows
	var ks checkpointColumns
	large := false
	bs.grow(len(group))
	es.grow(len(group))
	for i, c := range group {
		n := int64(i + 1)
		large = large || c.packed != nil
		bs.add(c)
		for _, e := range c.batch.Entries {
			es.add(n, e, c.packed)
		}
		var observed map[string]bool
		if len(c.batch.Observed) > 0 {
			observed = make(map[string]bool, len(c.batch.Observed))
		}
		for _, id := range c.batch.Observed {
			if !observed[id] {
				observed[id] = true
				os.add(n, id)
			}
		}
		for _, a := range c.batch.Stash {
			as.add(n, a, observed[a.ID], c.packed)
		}
		for _, p := range c.batch.Published {
			ps.add(n, p, c.packed)
		}
		if c.batch.Checkpoint != nil {
			ks.add(n, *c.batch.Checkpoint)
		}
	}
	if !large && len(as.batch)+len(os.batch)+len(ps.batch)+len(ks.batch) == 0 {
		if len(group) == 1 {
			return oneSQL, append(bs.one(), es.args()...)
		}
		return entriesOnlySQL, append(bs.args(), es.args()...)
	}
	args = append(bs.args(), es.args()...)
	args = append(args, as.args()...)
	args = append(args, os.args()...)
	args = append(args, ps.args()...)
	if !large {
		return wholeSQL, append(args, ks.args()...)
	}
	return largeSQL, append(append(args, largeArgs(group)...), ks.args()...)
}

// checkpointColumns are the columns of k in the statement.
type checkpointColumns struct {
	batch, seq []int64
	key        []string
	packed     [][]byte
}

func (r *checkpointColumns) add(batch int64, c journal.Checkpoint) {
	r.batch = append(r.batch, batch)
	r.seq = append(r.seq, c.Seq)
	r.key = append(r.key, c.Key)
	r.packed = append(r.packed, c.Packed)
}

func (r *checkpointColumns) args() []any { return []any{r.batch, r.seq, r.key, r.packed} }

// batchRows are the columns of b in the statement.
type batchRows struct {
	tenant          []string
	run             []pgtype.UUID
	node            []string
	token, firstSeq []int64
	entries         []int64
	next            []string // "" to keep the lease
	seen            []int64
	wake            []pgtype.Timestamptz
	waiting, reason []string
	output, failure [][]byte
	keep, ends      []bool
	release         []int64
}

// grow makes room for n batches, in few pieces.
func (r *batchRows) grow(n int) {
	texts, numbers, flags, bytes := make([]string, 5*n), make([]int64, 5*n), make([]bool, 2*n), make([][]byte, 2*n)
	r.tenant, r.node, r.next, r.waiting, r.reason = piece(&texts, n), piece(&texts, n), piece(&texts, n), piece(&texts, n), piece(&texts, n)
	r.token, r.firstSeq, r.entries, r.seen, r.release = piece(&numbers, n), piece(&numbers, n), piece(&numbers, n), piece(&numbers, n), piece(&numbers, n)
	r.keep, r.ends = piece(&flags, n), piece(&flags, n)
	r.output, r.failure = piece(&bytes, n), piece(&bytes, n)
	r.run, r.wake = make([]pgtype.UUID, 0, n), make([]pgtype.Timestamptz, 0, n)
}

// piece cuts an empty slice with room for n from the front of all.
func piece[T any](all *[]T, n int) []T {
	p := (*all)[:0:n]
	*all = (*all)[n:]
	return p
}

func (r *batchRows) add(c *commit) {
	r.tenant = append(r.tenant, string(c.lease.Tenant))
	r.run = append(r.run, uuidOf(c.lease.Run))
	r.node = append(r.node, c.lease.Node)
	r.token = append(r.token, c.lease.Token)
	var first int64
	if len(c.batch.Entries) > 0 {
		first = c.batch.Entries[0].Seq
	}
	r.firstSeq = append(r.firstSeq, first)
	r.entries = append(r.entries, int64(len(c.batch.Entries)))
	n := c.batch.Next
	if n == nil {
		n = &journal.Transition{}
	}
	r.next = append(r.next, string(n.State))
	r.seen = append(r.seen, n.SeenPos)
	r.wake = append(r.wake, nullTime(n.WakeAt))
	r.waiting = append(r.waiting, n.Waiting)
	r.reason = append(r.reason, n.Reason)
	r.output = append(r.output, c.packed.held(n.Output))
	r.failure = append(r.failure, c.packed.held(n.Failure))
	r.keep = append(r.keep, n.KeepAttempts)
	r.ends = append(r.ends, n.State != "" && n.State.Terminal())
	r.release = append(r.release, c.release)
}

func (r *batchRows) args() []any {
	return []any{r.tenant, r.run, r.node, r.token, r.firstSeq, r.entries, r.next, r.seen, r.wake,
		r.waiting, r.reason, r.output, r.failure, r.keep, r.ends, r.release}
}

// one are the parameters of a single batch.
func (r *batchRows) one() []any {
	return []any{r.tenant[0], r.run[0], r.node[0], r.token[0], r.firstSeq[0], r.entries[0], r.next[0], r.seen[0], r.wake[0],
		r.waiting[0], r.reason[0], r.output[0], r.failure[0], r.keep[0], r.ends[0], r.release[0]}
}

// entryRows are the columns of e in the statement.
type entryRows struct {
	batch, seq       []int64
	kind             []string
	op               []int32
	name             [][]byte
	request, options [][]byte
	status           []int32
	payload          [][]byte
	issued           []int32
	trail            []int64
	at               []pgtype.Timestamptz
}

// grow makes room for n entries; most batches have one.
func (r *entryRows) grow(n int) {
	numbers, small, bytes := make([]int64, 3*n), make([]int32, 3*n), make([][]byte, 4*n)
	r.batch, r.seq, r.trail = piece(&numbers, n), piece(&numbers, n), piece(&numbers, n)
	r.op, r.status, r.issued = piece(&small, n), piece(&small, n), piece(&small, n)
	r.name, r.request, r.options, r.payload = piece(&bytes, n), piece(&bytes, n), piece(&bytes, n), piece(&bytes, n)
	r.kind, r.at = make([]string, 0, n), make([]pgtype.Timestamptz, 0, n)
}

func (r *entryRows) add(batch int64, e journal.Entry, p *packed) {
	r.batch = append(r.batch, batch)
	r.seq = append(r.seq, e.Seq)
	r.kind = append(r.kind, string(e.Kind))
	r.op = append(r.op, e.Op)
	r.name = append(r.name, []byte(e.Name))
	r.request = append(r.request, p.held(e.Request))
	r.options = append(r.options, e.Options)
	r.status = append(r.status, int32(e.Status))
	r.payload = append(r.payload, p.held(e.Payload))
	r.issued = append(r.issued, e.Issued)
	r.trail = append(r.trail, int64(e.Trail))
	r.at = append(r.at, pgtype.Timestamptz{Time: e.At, Valid: true})
}

func (r *entryRows) args() []any {
	return []any{r.batch, r.seq, r.kind, r.op, r.name, r.request, r.options, r.status, r.payload, r.issued, r.trail, r.at}
}

// stashRows are the columns of s in the statement.
type stashRows struct {
	batch    []int64
	id       [][]byte
	kind     []string
	op       []int32
	name     [][]byte
	status   []int32
	payload  [][]byte
	attempt  []int32
	retryAt  []pgtype.Timestamptz
	observed []bool
}

func (r *stashRows) add(batch int64, a journal.Arrival, observed bool, p *packed) {
	r.batch = append(r.batch, batch)
	r.id = append(r.id, []byte(a.ID))
	r.kind = append(r.kind, string(a.Kind))
	r.op = append(r.op, a.Op)
	r.name = append(r.name, []byte(a.Name))
	r.status = append(r.status, int32(a.Status))
	r.payload = append(r.payload, p.held(a.Payload))
	r.attempt = append(r.attempt, int32(a.Attempt))
	r.retryAt = append(r.retryAt, nullTime(a.RetryAt))
	r.observed = append(r.observed, observed)
}

func (r *stashRows) args() []any {
	return []any{r.batch, r.id, r.kind, r.op, r.name, r.status, r.payload, r.attempt, r.retryAt, r.observed}
}

// observedRows are the columns of o in the statement.
type observedRows struct {
	batch []int64
	id    [][]byte
}

func (r *observedRows) add(batch int64, id string) {
	r.batch = append(r.batch, batch)
	r.id = append(r.id, []byte(id))
}

func (r *observedRows) args() []any { return []any{r.batch, r.id} }

// publishedRows are the columns of p in the statement.
type publishedRows struct {
	batch []int64
	key   [][]byte
	value [][]byte
}

func (r *publishedRows) add(batch int64, v journal.Published, p *packed) {
	r.batch = append(r.batch, batch)
	r.key = append(r.key, []byte(v.Key))
	r.value = append(r.value, p.held(v.Value))
}

func (r *publishedRows) args() []any { return []any{r.batch, r.key, r.value} }
