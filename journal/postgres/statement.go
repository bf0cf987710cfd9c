package postgres

import "strings"

// The statement that writes a group of commits, in parts. It is one round trip and one transaction.
//
// b has a row for each batch, c one for each stashed arrival that changes something. The fence is the UPDATE of runs:
// it holds exactly when the lease does, and it waits for whoever has the run's row locked and then
// judges the newest version of it, so that a claim or an arrival comes wholly before or after. All
// other parts write only for rows that the fence returned. Batches that it did not take are missing
// from the answer.
//
// A group with large payloads has a longer statement, in which rows hold digests and say so; p are the payloads.
//
// Expiry is judged when the statement begins; a take-over between then and the write changes the
// token, which is judged at the write.

// Primary keys: runs, nodes.
const groupHead = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now, reprise.reprise_timeline() AS timeline),
b AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[],
      $9::timestamptz[], $10::text[], $11::text[], $12::bytea[], $13::bytea[], $14::boolean[], $15::boolean[], $16::bigint[]{, $44::boolean[], $45::boolean[]}) WITH ORDINALITY
    AS b(tenant, id, node, token, first_seq, entries, next, seen, wake_at, waiting, reason, output, failure, keep, ends, release{, output_large, failure_large}, n)
),
live AS MATERIALIZED (
  SELECT n.id FROM reprise.nodes n, clock
  WHERE n.id IN (SELECT b.node FROM b) AND NOT n.ended AND n.timeline = clock.timeline AND n.expires_at > clock.now
),`

// An append changes no indexed column, so that Postgres can update the row in place. A run that
// becomes ready because something arrived is due now.
const fenceSet = `
fence AS (
  UPDATE reprise.runs r SET
    next_seq = r.next_seq + b.entries,
    updated_at = clock.now,
    state = CASE WHEN b.next = '' THEN r.state WHEN b.next = 'waiting' AND r.mail_pos > b.seen THEN 'ready' ELSE b.next END,
    wake_at = CASE WHEN b.next = '' THEN r.wake_at
      WHEN b.next = 'ready' OR b.next = 'waiting' AND r.mail_pos > b.seen THEN clock.now ELSE b.wake_at END,
    waiting = CASE WHEN b.next = 'waiting' AND r.mail_pos <= b.seen THEN b.waiting ELSE '' END,
    owner = CASE WHEN b.next = '' THEN r.owner ELSE '' END,
    attempts = CASE WHEN b.next = '' OR b.keep THEN r.attempts ELSE 0 END,
    reason = b.reason,
    output_held = b.output,
    failure_held = b.failure,{
    output_large = b.output_large,
    failure_large = b.failure_large,}
    release = b.release,
    finished_at = CASE WHEN b.ends THEN clock.now END`

// IS TRUE keeps the planner from reading all runs of the owner through runs_running: a node may own
// thousands, and a group names each by its primary key.
const fenceWhere = `
  FROM b, clock
  WHERE r.tenant = b.tenant AND r.id = b.id
    AND (r.state = 'running') IS TRUE AND (r.owner = b.node) IS TRUE AND r.token = b.token
    AND (b.entries = 0 OR r.next_seq = b.first_seq)
    AND b.node IN (SELECT live.id FROM live)
  RETURNING b.n, r.tenant, r.no, r.state, r.token, r.updated_at, r.inbox_pos, r.cancel_requested, r.checkpoint_seq`

const insertEntries = `
entry AS (
  INSERT INTO reprise.entries (tenant, run, seq, kind, op, name, request_held, options, status, payload_held, issued, trail, token, at{, request_large, payload_large})
  SELECT f.tenant, f.no, e.seq, e.kind, e.op, e.name, e.request, e.options, e.status, e.payload, e.issued, e.trail, f.token, e.at{, e.request_large, e.payload_large}
  FROM unnest($17::bigint[], $18::bigint[], $19::text[], $20::integer[], $21::bytea[], $22::bytea[], $23::bytea[], $24::integer[],
      $25::bytea[], $26::integer[], $27::bigint[], $28::timestamptz[]{, $46::boolean[], $47::boolean[]})
    AS e(n, seq, kind, op, name, request, options, status, payload, issued, trail, at{, request_large, payload_large})
  JOIN fence f USING (n)
)`

const groupTail = `
SELECT n, state, updated_at, inbox_pos, cancel_requested, checkpoint_seq FROM fence`

// c leaves out what is there already, so that a repeated stash moves nothing, a child that has been stashed, since its end may be what is
// there, and what the guest has
// seen, so that it does not come back. Only the run's owner stashes, so what c read is still so when
// the fence holds. Primary keys: runs, inbox.
const changedStash = `
c AS MATERIALIZED (
  SELECT s.*, row_number() OVER (PARTITION BY s.n ORDER BY s.nth) AS place
  FROM unnest($29::bigint[], $30::bytea[], $31::text[], $32::integer[], $33::bytea[], $34::integer[], $35::bytea[], $36::integer[],
      $37::timestamptz[], $38::boolean[]{, $48::boolean[]}) WITH ORDINALITY
    AS s(n, id, kind, op, name, status, payload, attempt, retry_at, observed{, payload_large}, nth)
  JOIN b USING (n)
  JOIN reprise.runs r ON r.tenant = b.tenant AND r.id = b.id
  LEFT JOIN reprise.inbox i ON i.tenant = r.tenant AND i.run = r.no AND i.id = s.id
  WHERE i.id IS NULL OR i.open AND s.kind <> 'child' AND
    (i.kind, i.op, i.name, i.status, coalesce(i.payload_held, ''), i.attempt, i.retry_at, i.payload_large) IS DISTINCT FROM
    (s.kind, s.op, s.name, s.status, coalesce(s.payload, ''), s.attempt, s.retry_at, {s.payload_large|false})
),`

const fenceSetInbox = `,
    inbox_pos = r.inbox_pos + (SELECT count(*) FROM c WHERE c.n = b.n),
    queued_bytes = r.queued_bytes - coalesce((SELECT seen.bytes FROM seen WHERE seen.n = b.n), 0),
    checkpoint_seq = coalesce((SELECT k.seq FROM k WHERE k.n = b.n), r.checkpoint_seq)`

// seen sums the payloads of the signals that leave the queue. Nobody but the run's owner closes an arrival, and
// it names only what it has read, so what this reads is still so when the fence holds. Primary keys: runs, inbox.
const seenSignals = `
seen AS MATERIALIZED (
  SELECT o.n, sum(CASE WHEN i.payload_large
      THEN (SELECT p.size FROM reprise.payloads p WHERE p.tenant = i.tenant AND p.digest = i.payload_held)
      ELSE octet_length(i.payload_held) END)::bigint AS bytes
  FROM (SELECT DISTINCT n, id FROM unnest($39::bigint[], $40::bytea[]) AS o(n, id)) o
  JOIN b USING (n)
  JOIN reprise.runs r ON r.tenant = b.tenant AND r.id = b.id
  JOIN reprise.inbox i ON i.tenant = r.tenant AND i.run = r.no AND i.id = o.id
  WHERE i.open AND i.kind = 'signal'
  GROUP BY o.n
),`

// k has a row for each checkpoint.
const checkpointRows = `
k AS MATERIALIZED (
  SELECT * FROM unnest({$60|$44}::bigint[], {$61|$45}::bigint[], {$62|$46}::text[], {$63|$47}::bytea[]) AS k(n, seq, key, packed)
),`

const fenceReturnInbox = `,
    r.inbox_pos - (SELECT count(*) FROM c WHERE c.n = b.n) AS old_pos`

// Primary keys: inbox, published, checkpoints. A row is written once in a statement, so what is stashed and observed
// in one batch is written closed. The entry keeps what an outcome said; of a signal the payload stays,
// to compare a repeat with.
const writeOthers = `,
stashed AS (
  INSERT INTO reprise.inbox AS i (tenant, run, id, pos, kind, op, name, status, payload_held, attempt, retry_at, at, open{, payload_large})
  SELECT f.tenant, f.no, c.id, f.old_pos + c.place, c.kind, c.op, c.name, c.status, c.payload, c.attempt, c.retry_at, clock.now, NOT c.observed{, c.payload_large}
  FROM c JOIN fence f USING (n) CROSS JOIN clock
  ON CONFLICT (tenant, run, id) DO UPDATE SET
    pos = excluded.pos, kind = excluded.kind, op = excluded.op, name = excluded.name, status = excluded.status,
    payload_held = excluded.payload_held, payload_large = excluded.payload_large,
    attempt = excluded.attempt, retry_at = excluded.retry_at, at = excluded.at, open = excluded.open
  WHERE i.open
),
observed AS (
  UPDATE reprise.inbox i SET open = false,
    payload_held = CASE WHEN i.kind = 'signal' THEN i.payload_held END, payload_large = i.payload_large AND i.kind = 'signal'
  FROM unnest($39::bigint[], $40::bytea[]) AS o(n, id) JOIN fence f USING (n)
  WHERE i.tenant = f.tenant AND i.run = f.no AND i.id = o.id AND i.open
    AND NOT EXISTS (SELECT FROM c WHERE c.n = o.n AND c.id = o.id)
),
published AS (
  INSERT INTO reprise.published AS p (tenant, run, key, value_held, at{, value_large})
  SELECT f.tenant, f.no, v.key, v.value, clock.now{, v.value_large}
  FROM unnest($41::bigint[], $42::bytea[], $43::bytea[]{, $49::boolean[]}) AS v(n, key, value{, value_large}) JOIN fence f USING (n) CROSS JOIN clock
  ON CONFLICT (tenant, run, key) DO UPDATE SET value_held = excluded.value_held, value_large = excluded.value_large, at = excluded.at
),
kept AS (
  INSERT INTO reprise.checkpoints AS c (tenant, run, seq, key, packed)
  SELECT f.tenant, f.no, k.seq, k.key, k.packed FROM k JOIN fence f USING (n)
  ON CONFLICT (tenant, run) DO UPDATE SET seq = excluded.seq, key = excluded.key, packed = excluded.packed
)`

// Runs are locked when the first name is known, since DISTINCT reads all of the fence.
const groupPayloads = `,
p AS MATERIALIZED (
  SELECT p.*, $59::interval AS grace FROM unnest($50::text[], $51::bytea[], $52::bigint[], $53::smallint[], $54::bytea[]) AS p(tenant, digest, size, codec, bytes)
),
named AS MATERIALIZED (
  SELECT DISTINCT f.tenant, f.no AS run, o.digest, o.place, o.id
  FROM unnest($55::bigint[], $56::bytea[], $57::smallint[], $58::bytea[]) AS o(n, digest, place, id) JOIN fence f USING (n)
),` + storePayloads

// A commit that is alone has a statement without lists, which begins in half the time. The fence's text is that of a group.
const (
	oneHead = `
WITH `
	oneWhere = `
  FROM (SELECT $1::text AS tenant, $2::uuid AS id, $3::text AS node, $4::bigint AS token, $5::bigint AS first_seq, $6::bigint AS entries, $7::text AS next,
      $8::bigint AS seen, $9::timestamptz AS wake_at, $10::text AS waiting, $11::text AS reason, $12::bytea AS output, $13::bytea AS failure,
      $14::boolean AS keep, $15::boolean AS ends, $16::bigint AS release) b,
    (SELECT reprise.reprise_now() AS now, reprise.reprise_timeline() AS timeline OFFSET 0) clock, reprise.nodes live
  WHERE r.tenant = b.tenant AND r.id = b.id
    AND (r.state = 'running') IS TRUE AND (r.owner = b.node) IS TRUE AND r.token = b.token
    AND (b.entries = 0 OR r.next_seq = b.first_seq)
    AND live.id = b.node AND NOT live.ended AND live.timeline = clock.timeline AND live.expires_at > clock.now
  RETURNING 1::bigint AS n, r.tenant, r.no, r.state, r.token, r.updated_at, r.inbox_pos, r.cancel_requested, r.checkpoint_seq),`
)

// Most groups hold nothing but entries and transitions, and their statement is shorter.
var (
	oneSQL         = choose(false, oneHead+strings.TrimPrefix(fenceSet, "\n")+oneWhere+insertEntries+groupTail)
	entriesOnlySQL = choose(false, groupHead+fenceSet+fenceWhere+`),`+insertEntries+groupTail)
	wholeSQL       = choose(false, wholeParts+groupTail)
	largeSQL       = choose(true, wholeParts+groupPayloads+groupTail)
)

const wholeParts = groupHead + changedStash + seenSignals + checkpointRows + fenceSet + fenceSetInbox + fenceWhere + fenceReturnInbox + `),` +
	insertEntries + writeOthers

// choose makes a statement with or without large payloads of a text in which {a|b} is a with and b without.
func choose(large bool, text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		choice, after, _ := strings.Cut(rest, "}")
		with, without, _ := strings.Cut(choice, "|")
		if large {
			b.WriteString(with)
		} else {
			b.WriteString(without)
		}
		text = after
	}
}
