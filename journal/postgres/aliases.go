package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reprise/journal/internal/durable"
	"reprise/modules"
	"reprise/tenant"
)

const aliasColumns = `a.tenant, a.name, a.version, a.digest, a.set_at`

func scanAlias(row pgx.CollectableRow) (modules.Alias, error) {
	var a modules.Alias
	var t, digest string
	var at pgtype.Timestamptz
	err := row.Scan(&t, &a.Name, &a.Version, &digest, &at)
	a.Tenant, a.Digest, a.SetAt = tenant.ID(t), modules.Digest(digest), fromTime(at)
	return a, err
}

// Primary keys of aliases and modules. Two that move a name at once meet at the primary key, and the
// second one looks again.
const setAliasSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now),
current AS MATERIALIZED (
  SELECT a.version, a.digest FROM reprise.aliases a WHERE a.tenant = $1 AND a.name = $2 ORDER BY a.version DESC LIMIT 1
)
INSERT INTO reprise.aliases AS a (tenant, name, version, digest, set_at)
SELECT $1, $2, coalesce((SELECT version FROM current), 0) + 1, m.digest, clock.now
FROM reprise.modules m, clock
WHERE m.tenant = $1 AND m.digest = $3 AND m.digest IS DISTINCT FROM (SELECT digest FROM current)
ON CONFLICT DO NOTHING
RETURNING ` + aliasColumns

// SetAlias implements modules.Aliases.
func (s *Store) SetAlias(ctx context.Context, t tenant.ID, name string, d modules.Digest) (a modules.Alias, moved bool, err error) {
	durable.AliasBefore.Hit()
	lostAnswer := false
	err = s.retry(ctx, true, func(ctx context.Context) error {
		a, moved, err = s.setAliasOnce(ctx, t, name, d)
		moved = err == nil && (moved || lostAnswer)
		lostAnswer = lostAnswer || err != nil && fateOf(err) == unknown
		return err
	})
	if err != nil {
		return modules.Alias{}, false, fmt.Errorf("point name %s at module %s: %w", name, d.Short(), err)
	}
	durable.AliasAfter.Hit()
	return a, moved, nil
}

func (s *Store) setAliasOnce(ctx context.Context, t tenant.ID, name string, d modules.Digest) (modules.Alias, bool, error) {
	for range maxTries {
		rows, err := s.pool.Query(ctx, s.in(setAliasSQL), string(t), name, string(d))
		if err != nil {
			return modules.Alias{}, false, err
		}
		a, err := pgx.CollectExactlyOneRow(rows, scanAlias)
		if !errors.Is(err, pgx.ErrNoRows) {
			return a, err == nil, err
		}
		if _, err := s.module(ctx, t, d); err != nil {
			return modules.Alias{}, false, err
		}
		a, err = s.alias(ctx, t, name)
		if err == nil && a.Digest == d || err != nil && !errors.Is(err, modules.ErrNotFound) {
			return a, false, err
		}
	}
	return modules.Alias{}, false, errors.New("others keep moving the name")
}

// Primary key, backwards.
const aliasHistorySQL = `
SELECT ` + aliasColumns + ` FROM reprise.aliases a WHERE a.tenant = $1 AND a.name = $2 ORDER BY a.version DESC LIMIT $3`

// Alias implements modules.Aliases.
func (s *Store) Alias(ctx context.Context, t tenant.ID, name string) (a modules.Alias, err error) {
	err = s.retry(ctx, true, func(ctx context.Context) error {
		var there bool
		if a, there, err = s.aliasReads.get(ctx, aliasKey{t, name}); err == nil && !there {
			err = modules.ErrNotFound
		}
		return err
	})
	if err != nil {
		return modules.Alias{}, fmt.Errorf("workflow name %.300q: %w", name, err)
	}
	return a, nil
}

type aliasKey struct {
	tenant tenant.ID
	name   string
}

// Primary key, backwards, once for each name.
const manyAliasesSQL = `
SELECT ` + aliasColumns + ` FROM unnest($1::text[], $2::text[]) AS k(tenant, name)
CROSS JOIN LATERAL (
  SELECT a.* FROM reprise.aliases a WHERE a.tenant = k.tenant AND a.name = k.name ORDER BY a.version DESC LIMIT 1
) a`

// manyAliases reads the newest steps of names.
func (s *Store) manyAliases(ctx context.Context, keys []aliasKey) (map[aliasKey]modules.Alias, error) {
	tenants, names := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		tenants[i], names[i] = string(k.tenant), k.name
	}
	rows, err := s.pool.Query(ctx, s.in(manyAliasesSQL), tenants, names)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, scanAlias)
	got := make(map[aliasKey]modules.Alias, len(found))
	for _, a := range found {
		got[aliasKey{a.Tenant, a.Name}] = a
	}
	return got, err
}

func (s *Store) alias(ctx context.Context, t tenant.ID, name string) (modules.Alias, error) {
	rows, err := s.pool.Query(ctx, s.in(aliasHistorySQL), string(t), name, 1)
	if err != nil {
		return modules.Alias{}, err
	}
	a, err := pgx.CollectExactlyOneRow(rows, scanAlias)
	return a, noModule(err)
}

// AliasHistory implements modules.Aliases.
func (s *Store) AliasHistory(ctx context.Context, t tenant.ID, name string) ([]modules.Alias, error) {
	as, err := s.aliases(ctx, aliasHistorySQL, string(t), name, nil)
	if err == nil && len(as) == 0 {
		err = modules.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("history of workflow name %.300q: %w", name, err)
	}
	return as, nil
}

// Primary key.
const listAliasesSQL = `
SELECT DISTINCT ON (a.name) ` + aliasColumns + ` FROM reprise.aliases a WHERE a.tenant = $1 ORDER BY a.name, a.version DESC`

// Aliases implements modules.Aliases.
func (s *Store) Aliases(ctx context.Context, t tenant.ID) ([]modules.Alias, error) {
	as, err := s.aliases(ctx, listAliasesSQL, string(t))
	if err != nil {
		return nil, fmt.Errorf("list workflow names: %w", err)
	}
	return as, nil
}

func (s *Store) aliases(ctx context.Context, sql string, args ...any) (as []modules.Alias, err error) {
	err = s.retry(ctx, true, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, s.in(sql), args...)
		if err != nil {
			return err
		}
		as, err = pgx.CollectRows(rows, scanAlias)
		return err
	})
	return as, err
}
