package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reprise/internal/failpoint"
	"reprise/journal"
	"reprise/journal/internal/durable"
	"reprise/journal/internal/payload"
	"reprise/tenant"
)

// Claim implements journal.Claimer. A claim whose answer was lost would leave runs with a live owner
// that does not know of them; so each try marks what it takes with a nonce, and the next try of the
// node hands out what an unanswered one took.
func (s *Store) Claim(ctx context.Context, node string, w journal.Want) (journal.Claims, error) {
	var got claims
	err := s.retry(ctx, true, func(ctx context.Context) error {
		nonce := rand.Int64()
		var err error
		look := s.outlook.next()
		began := time.Now()
		got, err = s.claimOnce(ctx, claimArgs(node, w, nonce, s.lostClaims.of(node), look))
		if err == nil {
			s.outlook.saw(look, got, time.Since(began))
		}
		lost := err != nil && fateOf(err) != undone && !errors.Is(err, journal.ErrNodeLapsed)
		if err == nil {
			err = s.fillClaims(ctx, &got)
			lost = err != nil
		}
		if lost {
			s.lostClaims.add(node, nonce)
		}
		return err
	})
	if err != nil {
		return journal.Claims{}, fmt.Errorf("claim for node %s: %w", node, err)
	}
	if len(got.Claims.Claims) > 0 {
		durable.ClaimAfter.Hit()
	}
	return got.Claims, nil
}

// claims are claims whose inputs may be digests.
type claims struct {
	journal.Claims
	large []bool // of each claim, whether its input is

	oldestReady, oldestDue time.Time // when it was asked for; zero: none is
}

// fillClaims reads the large inputs, a tenant at a time.
func (s *Store) fillClaims(ctx context.Context, c *claims) error {
	byTenant := map[tenant.ID][]int{}
	for i, large := range c.large {
		if large {
			t := c.Claims.Claims[i].Lease.Tenant
			byTenant[t] = append(byTenant[t], i)
		}
	}
	for t, those := range byTenant {
		var w payload.Wanted
		for _, i := range those {
			w.Add(&c.Claims.Claims[i].Run.Input, true)
		}
		err := s.fill(ctx, s.pool, t, &w)
		if err != nil && !errors.Is(err, journal.ErrPayload) {
			return err
		}
		for _, i := range those {
			if r := &c.Claims.Claims[i]; r.Run.Input == nil {
				r.Unreadable = err
			}
		}
	}
	return nil
}

// claimOnce runs the statement. Only an armed failpoint needs to know before the commit whether
// something is claimed, which takes a transaction of more than one statement.
func (s *Store) claimOnce(ctx context.Context, args []any) (got claims, err error) {
	if !strings.HasPrefix(os.Getenv(failpoint.Env), "store.claim.before") {
		return s.claim(ctx, s.pool, args)
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		got, err = s.claim(ctx, tx, args)
		if len(got.Claims.Claims) > 0 {
			durable.ClaimBefore.Hit()
		}
		return err
	})
	return got, err
}

// claimArgs are the parameters of claimSQL.
func claimArgs(node string, w journal.Want, nonce int64, lost []int64, look look) []any {
	tenants, runs := make([]string, 0, len(w.Held)), make([]int64, 0, len(w.Held))
	for t, n := range w.Held {
		tenants, runs = append(tenants, string(t)), append(runs, int64(n))
	}
	most := int64(w.PerTenant)
	if most <= 0 {
		most = math.MaxInt32
	}
	return []any{node, int64(max(w.Limit, 0)), nonce, lost, tenants, runs, most, look.ready, look.due, look.measure}
}

func (s *Store) claim(ctx context.Context, q querier, args []any) (claims, error) {
	got := claims{Claims: journal.Claims{NextDue: -1}}
	rows, err := q.Query(ctx, s.in(claimSQL), args...)
	if err != nil {
		return got, err
	}
	defer rows.Close()
	for rows.Next() {
		var now, next, oldestReady, oldestDue pgtype.Timestamptz
		var live bool
		var stolen string
		var w runRow
		into := append([]any{&now, &live, &next, &oldestReady, &oldestDue, &stolen}, w.into()...)
		claimed := rows.RawValues()[5] != nil
		if !claimed {
			clear(into[5:]) // the one row without a run; pgx skips a nil
		}
		if err := rows.Scan(into...); err != nil {
			return got, err
		}
		if !live {
			return got, journal.ErrNodeLapsed
		}
		got.Now, got.oldestReady, got.oldestDue = fromTime(now), fromTime(oldestReady), fromTime(oldestDue)
		if next.Valid {
			got.NextDue = max(0, next.Time.Sub(now.Time))
		}
		if claimed {
			r := w.run()
			l := journal.Lease{Tenant: r.Tenant, Run: r.ID, Node: r.Owner, Token: r.Token}
			got.Claims.Claims = append(got.Claims.Claims, journal.Claim{Lease: l, Run: r.Run, StolenFrom: stolen})
			got.large = append(got.large, r.large.input)
		}
	}
	return got, rows.Err()
}

// lostClaims remembers the nonces of claims whose answer was lost, by node.
type lostClaims struct {
	mu     sync.Mutex
	byNode map[string][]lostClaim
}

type lostClaim struct {
	nonce int64
	at    time.Time
}

// Bounds of what is remembered: a statement that the server has not carried out after 5 minutes it
// will not carry out any more; and with more lost answers than 64 in that time the oldest are given up.
const (
	maxLostAge = 5 * time.Minute
	maxLost    = 64
)

func (c *lostClaims) add(node string, nonce int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byNode == nil {
		c.byNode = make(map[string][]lostClaim)
	}
	l := append(c.byNode[node], lostClaim{nonce, time.Now()})
	c.byNode[node] = l[max(0, len(l)-maxLost):]
}

func (c *lostClaims) of(node string) []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.byNode[node]
	for len(l) > 0 && time.Since(l[0].at) > maxLostAge {
		l = l[1:]
	}
	if len(l) == 0 {
		delete(c.byNode, node)
	} else {
		c.byNode[node] = l
	}
	nonces := make([]int64, len(l))
	for i, lost := range l {
		nonces[i] = lost.nonce
	}
	return nonces
}

// Index runs_running.
const mailSQL = `
SELECT r.id, r.mail_pos FROM reprise.runs r
LEFT JOIN unnest($2::uuid[], $3::bigint[]) AS seen(id, pos) ON seen.id = r.id
WHERE r.state = 'running' AND r.owner = $1 AND r.mail_pos > coalesce(seen.pos, 0)`

// Mail implements journal.Claimer. What the owner stashed itself is not mail.
func (s *Store) Mail(ctx context.Context, node string, seen map[journal.RunID]int64) (map[journal.RunID]int64, error) {
	ids, at := make([]pgtype.UUID, 0, len(seen)), make([]int64, 0, len(seen))
	for id, pos := range seen {
		ids, at = append(ids, uuidOf(id)), append(at, pos)
	}
	var got map[journal.RunID]int64
	err := s.retry(ctx, true, func(ctx context.Context) error {
		got = make(map[journal.RunID]int64)
		rows, err := s.pool.Query(ctx, s.in(mailSQL), node, ids, at)
		if err != nil {
			return err
		}
		var id pgtype.UUID
		var pos int64
		_, err = pgx.ForEachRow(rows, []any{&id, &pos}, func() error {
			got[id.Bytes] = pos
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("mail of node %s: %w", node, err)
	}
	return got, nil
}
