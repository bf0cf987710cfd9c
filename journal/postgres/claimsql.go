package postgres

// What is due is shared among tenants in three steps. some_ready and some_due tell whether more is due than is wanted. If
// not, their tenants are all that matter; if so, a walk goes from tenant to tenant that has a ready run, or a timer, one
// index step each, in the order of the index that has them and no other. offers then are the oldest due runs of each tenant, as many as it may get, with the place that each
// would have among the tenant's runs on the node; the lowest places win, and quota is how many of which kind a tenant gets. So
// the work grows with tenants and with $2, and not with a tenant's backlog. Only then are rows locked and judged by
// their newest version. A row that somebody else has locked is being claimed or signalled and is left for the next
// call; the tenant's next one takes its place. When there was none, more may be due: the next run is then due now.
//
// That a tenant's due runs are found by (tenant, wake_at) <= (its name, now) is for the planner: with tenant = its name it may
// take runs_waiting and read the timers of all tenants. So is unnest(ARRAY(...)): it takes an array for 10 rows, and a part of this statement for thousands, for which
// it would read all of runs, and compile.
//
// Indexes: runs_ready and runs_waiting_of for the tenants and the runs of each in order of wake_at; runs_waiting for
// what is due and the next timer; runs_running for the distinct owners, one step each, and for the runs of a dead or
// unknown one.
//
// again are runs that an earlier call of this node took in a statement whose answer was lost: they
// are handed out under the token that they have.
//
// While somebody's old snapshot keeps dead rows, each of these steps reads past all that were due since then. A claim that has met that looks at rows from $8 and $9 on
// only, for what has become due since, and at owners that are known; claims in between look at everything, and say where the oldest are.
//
// $1 node, $2 limit, $3 nonce, $4 lost nonces, $5 and $6 tenants and how many runs of each the node has, $7 bound of those, $8 and $9 since when runs that
// are looked at are ready, or due, $10 whether to say where the oldest are.
const claimSQL = `
WITH RECURSIVE clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now, reprise.reprise_timeline() AS timeline),
since AS MATERIALIZED (
  SELECT least($8::timestamptz, clock.now - interval '1 second') AS ready, least($9::timestamptz, clock.now - interval '1 second') AS due FROM clock
),
me AS MATERIALIZED (
  SELECT n.id FROM reprise.nodes n, clock WHERE n.id = $1 AND NOT n.ended AND n.timeline = clock.timeline AND n.expires_at > clock.now
),
owners(owner) AS (
  (SELECT r.owner FROM reprise.runs r WHERE r.state = 'running' AND $8::timestamptz = '-infinity' ORDER BY r.owner LIMIT 1)
  UNION ALL
  SELECT (SELECT r.owner FROM reprise.runs r WHERE r.state = 'running' AND r.owner > o.owner ORDER BY r.owner LIMIT 1)
  FROM owners o WHERE o.owner IS NOT NULL
),
dead AS MATERIALIZED (
  SELECT o.owner FROM owners o, clock
  WHERE NOT EXISTS (SELECT FROM reprise.nodes n WHERE n.id = o.owner AND NOT n.ended AND n.timeline = clock.timeline AND n.expires_at > clock.now)
  UNION ALL
  SELECT n.id FROM reprise.nodes n, clock
  WHERE n.id >= '' AND $8::timestamptz > '-infinity' AND (n.ended OR n.timeline <> clock.timeline OR n.expires_at <= clock.now)
),
again AS MATERIALIZED (
  SELECT r.tenant, r.id, r.wake_at FROM reprise.runs r
  WHERE cardinality($4::bigint[]) > 0 AND r.state = 'running' AND r.owner = $1 AND r.claim = ANY ($4) AND EXISTS (SELECT FROM me)
  LIMIT $2 FOR UPDATE
),
some_ready AS MATERIALIZED (
  SELECT r.tenant FROM reprise.runs r WHERE r.state = 'ready' AND r.wake_at >= (SELECT ready FROM since) AND EXISTS (SELECT FROM me) ORDER BY r.tenant LIMIT $2
),
some_due AS MATERIALIZED (
  SELECT r.tenant FROM reprise.runs r
  WHERE r.state = 'waiting' AND r.wake_at >= (SELECT due FROM since) AND r.wake_at <= (SELECT now FROM clock) AND EXISTS (SELECT FROM me) ORDER BY r.wake_at LIMIT $2
),
walk_ready(tenant) AS (
  (SELECT r.tenant FROM reprise.runs r
   WHERE r.state = 'ready' AND r.wake_at >= (SELECT ready FROM since) AND $2 > 0 AND (SELECT count(*) FROM some_ready) >= $2 ORDER BY r.tenant, r.wake_at LIMIT 1)
  UNION ALL
  SELECT (SELECT r.tenant FROM reprise.runs r WHERE r.state = 'ready' AND r.wake_at >= (SELECT ready FROM since) AND r.tenant > w.tenant ORDER BY r.tenant, r.wake_at LIMIT 1)
  FROM walk_ready w WHERE w.tenant IS NOT NULL
),
walk_waiting(tenant) AS (
  (SELECT r.tenant FROM reprise.runs r
   WHERE r.state = 'waiting' AND r.wake_at >= (SELECT due FROM since) AND $2 > 0 AND (SELECT count(*) FROM some_due) >= $2 ORDER BY r.tenant, r.wake_at LIMIT 1)
  UNION ALL
  SELECT (SELECT r.tenant FROM reprise.runs r
          WHERE r.state = 'waiting' AND r.wake_at >= (SELECT due FROM since) AND r.tenant > w.tenant ORDER BY r.tenant, r.wake_at LIMIT 1)
  FROM walk_waiting w WHERE w.tenant IS NOT NULL
),
lost AS MATERIALIZED (
  SELECT r.tenant, r.id, r.wake_at, r.owner, row_number() OVER (PARTITION BY r.tenant ORDER BY r.wake_at) AS nth FROM reprise.runs r
  WHERE r.state = 'running' AND r.owner = ANY (ARRAY(SELECT d.owner FROM dead d)) AND EXISTS (SELECT FROM me)
),
everybody AS MATERIALIZED (
  SELECT tenant FROM some_ready UNION SELECT tenant FROM some_due UNION
  SELECT tenant FROM walk_ready UNION SELECT tenant FROM walk_waiting UNION SELECT tenant FROM lost
),
tenants AS MATERIALIZED (
  SELECT t.tenant, coalesce(h.runs, 0) AS held, least($2, $7 - coalesce(h.runs, 0)) AS room
  FROM unnest(ARRAY(SELECT e.tenant FROM everybody e)) AS t(tenant)
  LEFT JOIN unnest($5::text[], $6::bigint[]) AS h(tenant, runs) ON h.tenant = t.tenant
  WHERE t.tenant IS NOT NULL AND coalesce(h.runs, 0) < $7
),
offers AS MATERIALIZED (
  SELECT t.tenant, o.kind, o.wake_at, t.held + row_number() OVER (PARTITION BY t.tenant ORDER BY o.wake_at) AS place
  FROM tenants t CROSS JOIN LATERAL (
    SELECT u.kind, u.wake_at FROM (
      (SELECT 'ready' AS kind, r.wake_at FROM reprise.runs r WHERE r.state = 'ready' AND r.tenant = t.tenant AND r.wake_at >= (SELECT ready FROM since) ORDER BY r.wake_at LIMIT t.room)
      UNION ALL
      (SELECT 'due', r.wake_at FROM reprise.runs r
       WHERE r.state = 'waiting' AND r.wake_at IS NOT NULL AND r.tenant >= t.tenant AND (r.tenant, r.wake_at) >= (t.tenant, (SELECT due FROM since)) AND (r.tenant, r.wake_at) <= (t.tenant, (SELECT now FROM clock))
       ORDER BY r.tenant, r.wake_at LIMIT t.room)
      UNION ALL
      (SELECT 'lost', l.wake_at FROM lost l WHERE l.tenant = t.tenant ORDER BY l.wake_at LIMIT t.room)
    ) u ORDER BY u.wake_at LIMIT t.room
  ) o
),
quota AS MATERIALIZED (
  SELECT w.tenant, w.kind, count(*) AS n
  FROM (SELECT * FROM offers ORDER BY place, wake_at LIMIT greatest($2 - (SELECT count(*) FROM again), 0)) w GROUP BY w.tenant, w.kind
),
picked_ready AS MATERIALIZED (
  SELECT p.* FROM quota q CROSS JOIN LATERAL (
    SELECT r.tenant, r.id, r.wake_at FROM reprise.runs r
    WHERE r.state = 'ready' AND r.tenant = q.tenant AND r.wake_at >= (SELECT ready FROM since) ORDER BY r.wake_at LIMIT q.n FOR UPDATE SKIP LOCKED
  ) p WHERE q.kind = 'ready'
),
picked_due AS MATERIALIZED (
  SELECT p.* FROM quota q CROSS JOIN LATERAL (
    SELECT r.tenant, r.id, r.wake_at FROM reprise.runs r
    WHERE r.state = 'waiting' AND r.wake_at IS NOT NULL AND r.tenant >= q.tenant AND (r.tenant, r.wake_at) >= (q.tenant, (SELECT due FROM since)) AND (r.tenant, r.wake_at) <= (q.tenant, (SELECT now FROM clock))
    ORDER BY r.tenant, r.wake_at LIMIT q.n FOR UPDATE SKIP LOCKED
  ) p WHERE q.kind = 'due'
),
picked_lost AS MATERIALIZED (
  SELECT r.tenant, r.id, r.wake_at, r.owner
  FROM quota q JOIN lost l ON q.kind = 'lost' AND l.tenant = q.tenant AND l.nth <= q.n CROSS JOIN LATERAL (
    SELECT r.* FROM reprise.runs r
    WHERE r.tenant = l.tenant AND r.id = l.id AND r.state = 'running' AND r.owner = l.owner FOR UPDATE SKIP LOCKED
  ) r
),
picked AS MATERIALIZED (
  SELECT tenant, id, wake_at, '' AS stolen_from, 0 AS step FROM again
  UNION ALL SELECT tenant, id, wake_at, '', 1 FROM picked_ready
  UNION ALL SELECT tenant, id, wake_at, '', 1 FROM picked_due
  UNION ALL SELECT tenant, id, wake_at, owner, 1 FROM picked_lost
),
claimed AS (
  UPDATE reprise.runs r SET state = 'running', owner = $1, claim = $3, waiting = '',
    token = r.token + p.step, attempts = r.attempts + p.step, updated_at = clock.now
  FROM unnest(ARRAY(SELECT tenant FROM picked), ARRAY(SELECT id FROM picked), ARRAY(SELECT stolen_from FROM picked), ARRAY(SELECT step FROM picked))
    AS p(tenant, id, stolen_from, step), clock
  WHERE r.tenant = p.tenant AND r.id = p.id
  RETURNING r.*, p.stolen_from
)
SELECT clock.now, EXISTS (SELECT FROM me),
  CASE
  WHEN (SELECT count(*) FROM picked) >= $2 THEN
    (SELECT w.wake_at FROM reprise.runs w
     WHERE w.state = 'waiting' AND w.wake_at >= (SELECT due FROM since) AND (w.tenant, w.id) NOT IN (SELECT p.tenant, p.id FROM picked p)
     ORDER BY w.wake_at LIMIT 1)
  WHEN (SELECT count(*) FROM picked WHERE step = 1) < (SELECT sum(q.n) FROM quota q) THEN clock.now
  ELSE (SELECT w.wake_at FROM reprise.runs w WHERE w.state = 'waiting' AND w.wake_at > clock.now ORDER BY w.wake_at LIMIT 1)
  END,
  (SELECT min(o.wake_at) FROM unnest(ARRAY(SELECT e.tenant FROM everybody e)) AS t(tenant) CROSS JOIN LATERAL (
     SELECT w.wake_at FROM reprise.runs w WHERE $10::boolean AND w.state = 'ready' AND w.tenant = t.tenant ORDER BY w.wake_at LIMIT 1) o),
  (SELECT w.wake_at FROM reprise.runs w WHERE $10::boolean AND w.state = 'waiting' AND w.wake_at IS NOT NULL ORDER BY w.wake_at LIMIT 1),
  r.stolen_from, ` + runColumns + `
FROM clock LEFT JOIN claimed r ON true
ORDER BY r.wake_at`
