package postgres

// Indexes: runs_ready and runs_waiting in order of wake_at; runs_running for the distinct owners, one
// step each, and for the runs of a dead or unknown one. A row that somebody else has locked is being
// claimed or signalled and is left for the next call. FOR UPDATE judges the newest version of a row, so
// what is picked is still as it was found; the rows locked beyond the limit go free with the statement.
//
// again are runs that an earlier call of this node took in a statement whose answer was lost: they
// are handed out under the token that they have.
const claimSQL = `
WITH RECURSIVE clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now),
me AS MATERIALIZED (
  SELECT n.id FROM reprise.nodes n, clock WHERE n.id = $1 AND NOT n.ended AND n.expires_at > clock.now
),
owners(owner) AS (
  (SELECT r.owner FROM reprise.runs r WHERE r.state = 'running' ORDER BY r.owner LIMIT 1)
  UNION ALL
  SELECT (SELECT r.owner FROM reprise.runs r WHERE r.state = 'running' AND r.owner > o.owner ORDER BY r.owner LIMIT 1)
  FROM owners o WHERE o.owner IS NOT NULL
),
dead AS MATERIALIZED (
  SELECT o.owner FROM owners o, clock
  WHERE NOT EXISTS (SELECT FROM reprise.nodes n WHERE n.id = o.owner AND NOT n.ended AND n.expires_at > clock.now)
),
again AS MATERIALIZED (
  SELECT r.tenant, r.id, r.wake_at FROM reprise.runs r
  WHERE cardinality($4::bigint[]) > 0 AND r.state = 'running' AND r.owner = $1 AND r.claim = ANY ($4) AND EXISTS (SELECT FROM me)
  LIMIT $2 FOR UPDATE
),
ready AS MATERIALIZED (
  SELECT r.tenant, r.id, r.wake_at FROM reprise.runs r
  WHERE r.state = 'ready' AND EXISTS (SELECT FROM me)
  ORDER BY r.wake_at LIMIT $2 FOR UPDATE SKIP LOCKED
),
due AS MATERIALIZED (
  SELECT r.tenant, r.id, r.wake_at FROM reprise.runs r
  WHERE r.state = 'waiting' AND r.wake_at <= (SELECT now FROM clock) AND EXISTS (SELECT FROM me)
  ORDER BY r.wake_at LIMIT $2 FOR UPDATE SKIP LOCKED
),
lost AS MATERIALIZED (
  SELECT r.tenant, r.id, r.wake_at, r.owner FROM reprise.runs r
  WHERE r.state = 'running' AND r.owner = ANY (ARRAY(SELECT d.owner FROM dead d)) AND EXISTS (SELECT FROM me)
  ORDER BY r.wake_at LIMIT $2 FOR UPDATE SKIP LOCKED
),
picked AS MATERIALIZED (
  SELECT * FROM (
    SELECT tenant, id, wake_at, '' AS stolen_from, 0 AS step FROM again
    UNION ALL SELECT tenant, id, wake_at, '', 1 FROM ready
    UNION ALL SELECT tenant, id, wake_at, '', 1 FROM due
    UNION ALL SELECT tenant, id, wake_at, owner, 1 FROM lost
  ) p ORDER BY step, wake_at LIMIT $2
),
claimed AS (
  UPDATE reprise.runs r SET state = 'running', owner = $1, claim = $3, waiting = '',
    token = r.token + p.step, attempts = r.attempts + p.step, updated_at = clock.now
  FROM picked p, clock WHERE r.tenant = p.tenant AND r.id = p.id
  RETURNING r.*, p.stolen_from
)
SELECT clock.now, EXISTS (SELECT FROM me),
  (SELECT w.wake_at FROM reprise.runs w
   WHERE w.state = 'waiting' AND w.wake_at IS NOT NULL AND (w.tenant, w.id) NOT IN (SELECT p.tenant, p.id FROM picked p)
   ORDER BY w.wake_at LIMIT 1),
  r.stolen_from, ` + runColumns + `
FROM clock LEFT JOIN claimed r ON true
ORDER BY r.wake_at`
