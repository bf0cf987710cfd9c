package postgres

import (
	"reprise/journal"
	"reprise/journal/internal/payload"
	"reprise/tenant"
)

// largeArgs are the parameters that only the statement with large payloads has. They follow the others.
func largeArgs(group []*commit) []any {
	var output, failure, request, outcome, stash, published []bool
	var ps payloadRows
	var ns nameRows
	for i, c := range group {
		n := c.batch.Next
		if n == nil {
			n = &journal.Transition{}
		}
		output, failure = append(output, payload.Large(n.Output)), append(failure, payload.Large(n.Failure))
		for _, e := range c.batch.Entries {
			request, outcome = append(request, payload.Large(e.Request)), append(outcome, payload.Large(e.Payload))
		}
		for _, a := range c.batch.Stash {
			stash = append(stash, payload.Large(a.Payload))
		}
		for _, v := range c.batch.Published {
			published = append(published, payload.Large(v.Value))
		}
		if c.packed != nil {
			ps.add(c.lease.Tenant, c.packed.Packed)
			ns.add(int64(i+1), c.packed.names)
		}
	}
	args := []any{output, failure, request, outcome, stash, published}
	args = append(args, ps.args()...)
	args = append(args, ns.args()...)
	return append(args, payload.Grace)
}

// payloadRows are the columns of p in the statement.
type payloadRows struct {
	tenant []string
	digest [][]byte
	size   []int64
	codec  []int16
	bytes  [][]byte
	have   map[[2]string]bool
}

// add leaves out what another batch of the group has.
func (r *payloadRows) add(t tenant.ID, ps []payload.Packed) {
	for _, p := range ps {
		key := [2]string{string(t), string(p.Digest)}
		if r.have[key] {
			continue
		}
		if r.have == nil {
			r.have = map[[2]string]bool{}
		}
		r.have[key] = true
		r.tenant = append(r.tenant, string(t))
		r.digest = append(r.digest, p.Digest)
		r.size = append(r.size, p.Size)
		r.codec = append(r.codec, int16(p.Codec))
		r.bytes = append(r.bytes, p.Bytes)
	}
}

func (r *payloadRows) args() []any { return []any{r.tenant, r.digest, r.size, r.codec, r.bytes} }

// nameRows are the columns of o in the statement.
type nameRows struct {
	batch  []int64
	digest [][]byte
	place  []int16
	id     [][]byte
}

func (r *nameRows) add(batch int64, names []name) {
	for _, n := range names {
		r.batch = append(r.batch, batch)
		r.digest = append(r.digest, n.digest)
		r.place = append(r.place, n.place)
		r.id = append(r.id, []byte(n.id))
	}
}

func (r *nameRows) args() []any { return []any{r.batch, r.digest, r.place, r.id} }
