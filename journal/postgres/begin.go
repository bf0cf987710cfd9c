package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reprise/journal"
	"reprise/journal/internal/durable"
	"reprise/journal/internal/payload"
)

// s has a row for each run. What is in the way of a row, or missing, or moved, leaves it out of the answer. A run of a
// node whose lease is not live is left for any node to claim. A run that begins alone has a statement without lists, which begins in
// half the time. Primary keys: nodes, modules, aliases (the name's newest version).
const beginText = `
WITH {|clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now, reprise.reprise_timeline() AS timeline),
s AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::uuid[], $3::bytea[], $4::bytea[], $5::text[], $6::text[], $7::bytea[], $8::bytea[],
      $9::text[], $10::bigint[], $11::bytea[], $12::bytea[], $13::bytea[]) WITH ORDINALITY
    AS s(tenant, id, key, idempotency_key, workflow, digest, entry, input, node, claim, name, request, options, n)
),
live AS MATERIALIZED (
  SELECT n.id FROM reprise.nodes n, clock
  WHERE n.id IN (SELECT s.node FROM s) AND NOT n.ended AND n.timeline = clock.timeline AND n.expires_at > clock.now
),
}run AS (
  INSERT INTO reprise.runs AS r (tenant, id, key, idempotency_key, workflow, digest, entry, input_held, state, owner, claim, token, attempts, next_seq,
      wake_at, created_at, updated_at)
  SELECT s.tenant, s.id, s.key, s.idempotency_key, s.workflow, s.digest, s.entry, s.input,
    CASE WHEN live.id IS NULL THEN 'ready' ELSE 'running' END, coalesce(live.id, ''), s.claim, (live.id IS NOT NULL)::int, (live.id IS NOT NULL)::int,
    (live.id IS NOT NULL)::int, clock.now, clock.now, clock.now
  FROM {(SELECT $1::text AS tenant, $2::uuid AS id, $3::bytea AS key, $4::bytea AS idempotency_key, $5::text AS workflow, $6::text AS digest,
      $7::bytea AS entry, $8::bytea AS input, $9::text AS node, $10::bigint AS claim) s
    CROSS JOIN (SELECT reprise.reprise_now() AS now, reprise.reprise_timeline() AS timeline OFFSET 0) clock
    LEFT JOIN reprise.nodes live ON live.id = s.node AND NOT live.ended AND live.timeline = clock.timeline AND live.expires_at > clock.now|s CROSS JOIN clock LEFT JOIN live ON live.id = s.node}
  WHERE EXISTS (SELECT FROM reprise.modules m WHERE m.tenant = s.tenant AND m.digest = s.digest)
    AND (s.workflow = s.digest OR
      s.digest = (SELECT a.digest FROM reprise.aliases a WHERE a.tenant = s.tenant AND a.name = s.workflow ORDER BY a.version DESC LIMIT 1))
  ON CONFLICT DO NOTHING
  RETURNING r.tenant, r.id, r.no, r.state, r.token, r.created_at
),
entry AS (
  INSERT INTO reprise.entries (tenant, run, seq, kind, op, name, request_held, options, status, payload_held, issued, trail, token, at)
  SELECT run.tenant, run.no, 0, 'started', -1, {$11::bytea, $12::bytea, $13::bytea|s.name, s.request, s.options}, 1, NULL, 0, 0, run.token, run.created_at
  FROM run{| JOIN s USING (tenant, id)} WHERE run.state = 'running'
)
SELECT {1::bigint|s.n}, run.state, run.created_at FROM run{| JOIN s USING (tenant, id)}`

var (
	beginOneSQL = choose(true, beginText)
	beginSQL    = choose(false, beginText)
)

// begin is one call of Begin on its way.
type begin struct {
	run   journal.Run
	node  string
	first journal.Entry
	nonce int64 // marks the run as claimed by this call
	lost  bool  // an answer was lost, so the run may be there
}

// begun is its outcome.
type begun struct {
	run     journal.Run
	created bool
}

// owned says that the run is the caller's to execute.
func (b *begin) owned(got begun) bool {
	return got.created && got.run.State == journal.Running && got.run.Owner == b.node
}

// Begin implements journal.Starter. Runs that begin at the same moment are made by one statement.
func (s *Store) Begin(ctx context.Context, r journal.Run, node string, first journal.Entry) (journal.Run, bool, error) {
	if payload.Large(r.Input) {
		return s.Create(ctx, r) // some node claims it; it is not the write of the row that takes the time
	}
	durable.CreateBefore.Hit()
	b := &begin{run: r, node: node, first: first, nonce: rand.Int64()}
	f := s.begins.join(b)
	select {
	case <-f.done:
	case <-ctx.Done():
		go s.disown(f, b)
		return journal.Run{}, false, fmt.Errorf("begin run %s of %s: %w", r.ID, r.Workflow, ctx.Err())
	}
	got, made := f.got[b]
	err := f.errs[b]
	if !made && err == nil {
		got, err = s.beginLeftOut(ctx, b)
	}
	if err != nil {
		if fateOf(err) != refused || b.lost {
			s.lostClaims.add(node, b.nonce) // it may be there
		}
		return got.run, false, fmt.Errorf("begin run %s of %s: %w", r.ID, r.Workflow, err)
	}
	if got.created {
		durable.CreateAfter.Hit()
		if !b.owned(got) {
			s.tell()
		}
	}
	return got.run, got.created, nil
}

// disown gives the run of a caller that went away to the node's next claim.
func (s *Store) disown(f *flight[*begin, begun], b *begin) {
	<-f.done
	if err := f.errs[b]; err != nil && fateOf(err) != refused || b.lost || b.owned(f.got[b]) {
		s.lostClaims.add(b.node, b.nonce)
		s.hint()
	}
}

// beginMany makes runs, by one statement. Those that it leaves out are missing from the answer.
func (s *Store) beginMany(ctx context.Context, bs []*begin) (map[*begin]begun, error) {
	got := make(map[*begin]begun, len(bs))
	err := s.retry(ctx, true, func(ctx context.Context) error {
		err := s.beginOnce(ctx, bs, got)
		for _, b := range bs {
			b.lost = b.lost || err != nil && fateOf(err) == unknown
		}
		return err
	})
	return got, err
}

func (s *Store) beginOnce(ctx context.Context, bs []*begin, got map[*begin]begun) error {
	sql, args := beginOneSQL, bs[0].args()
	if len(bs) > 1 {
		sql, args = beginSQL, s.params(beginArgs(bs))
	}
	rows, err := s.pool.Query(ctx, s.in(sql), args...)
	if err != nil {
		return err
	}
	var n int64
	var state journal.State
	var at pgtype.Timestamptz
	_, err = pgx.ForEachRow(rows, []any{&n, &state, &at}, func() error {
		b := bs[n-1]
		r := b.run
		got[b] = begun{journal.Run{Tenant: r.Tenant, ID: r.ID, Key: r.Key, IdempotencyKey: r.IdempotencyKey, Workflow: r.Workflow, Digest: r.Digest,
			Entry: r.Entry, Input: r.Input, State: state, CreatedAt: fromTime(at), UpdatedAt: fromTime(at)}, true}
		if state == journal.Running {
			g := got[b]
			g.run.Owner, g.run.Token, g.run.Attempts, g.run.NextSeq = b.node, 1, 1, 1
			got[b] = g
		}
		return nil
	})
	return err
}

// args are the parameters of a begin that is alone.
func (b *begin) args() []any {
	r := b.run
	return []any{string(r.Tenant), uuidOf(r.ID), []byte(r.Key), []byte(r.IdempotencyKey), r.Workflow, string(r.Digest), []byte(r.Entry), r.Input,
		b.node, b.nonce, []byte(b.first.Name), b.first.Request, b.first.Options}
}

func beginArgs(bs []*begin) []any {
	n := len(bs)
	tenants, ids, keys, idempotency := make([]string, n), make([]pgtype.UUID, n), make([][]byte, n), make([][]byte, n)
	workflows, digests, entries, inputs := make([]string, n), make([]string, n), make([][]byte, n), make([][]byte, n)
	nodes, nonces := make([]string, n), make([]int64, n)
	names, requests, options := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	for i, b := range bs {
		tenants[i], ids[i], keys[i], idempotency[i] = string(b.run.Tenant), uuidOf(b.run.ID), []byte(b.run.Key), []byte(b.run.IdempotencyKey)
		workflows[i], digests[i], entries[i], inputs[i] = b.run.Workflow, string(b.run.Digest), []byte(b.run.Entry), b.run.Input
		nodes[i], nonces[i] = b.node, b.nonce
		names[i], requests[i], options[i] = []byte(b.first.Name), b.first.Request, b.first.Options
	}
	return []any{tenants, ids, keys, idempotency, workflows, digests, entries, inputs, nodes, nonces, names, requests, options}
}

// beginLeftOut says why the statement left a run out: an earlier start is in the way, or a try whose answer was lost
// made it, or the name has moved, or the module is missing. When what was in the way is gone, the run is made for any node.
func (s *Store) beginLeftOut(ctx context.Context, b *begin) (got begun, err error) {
	err = s.retry(ctx, true, func(ctx context.Context) error {
		if b.run.Workflow != string(b.run.Digest) {
			a, err := s.alias(ctx, b.run.Tenant, b.run.Workflow)
			if err != nil {
				return err
			}
			if a.Digest != b.run.Digest {
				return journal.ErrMoved
			}
		}
		got.run, got.created, err = s.createOnce(ctx, b.run)
		got.created = got.created || b.lost && err == nil && got.run.ID == b.run.ID
		b.lost = b.lost || err != nil && fateOf(err) == unknown
		return err
	})
	return got, err
}
