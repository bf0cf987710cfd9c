package sqlite

import (
	"context"
	"fmt"

	"reprise/journal/internal/durable"
	"reprise/modules"
	"reprise/tenant"
)

const aliasColumns = `tenant, name, version, digest, set_at`

// newestAlias finds the newest step of a name, by the primary key.
const newestAlias = `SELECT ` + aliasColumns + ` FROM aliases WHERE tenant = ? AND name = ? ORDER BY version DESC LIMIT 1`

func (c *conn) aliases(text string, args ...any) (as []modules.Alias, err error) {
	err = c.each(text, args, func(row scanner) (bool, error) {
		var a modules.Alias
		var set int64
		err := row.Scan(&a.Tenant, &a.Name, &a.Version, &a.Digest, &set)
		a.SetAt = fromMicro(set)
		as = append(as, a)
		return true, err
	})
	return as, err
}

// SetAlias implements modules.Aliases.
func (s *Store) SetAlias(ctx context.Context, t tenant.ID, name string, d modules.Digest) (a modules.Alias, moved bool, err error) {
	err = s.write(ctx, func(x *tx) (err error) {
		a, moved, err = x.setAlias(t, name, d)
		return err
	})
	if err != nil {
		return modules.Alias{}, false, fmt.Errorf("set alias %s: %w", name, err)
	}
	return a, moved, nil
}

func (t *tx) setAlias(owner tenant.ID, name string, d modules.Digest) (modules.Alias, bool, error) {
	newest, err := t.aliases(newestAlias, owner, name)
	if err != nil {
		return modules.Alias{}, false, err
	}
	next := modules.Alias{Tenant: owner, Name: name, Version: 1, Digest: d, SetAt: t.now}
	if len(newest) > 0 {
		if newest[0].Digest == d {
			return newest[0], false, nil
		}
		next.Version = newest[0].Version + 1
	}
	if has, err := t.hasModule(owner, d); err != nil {
		return modules.Alias{}, false, err
	} else if !has {
		return modules.Alias{}, false, modules.ErrNotFound
	}
	t.step(durable.AliasBefore, durable.AliasAfter)
	_, err = t.exec(`INSERT INTO aliases (`+aliasColumns+`) VALUES (?, ?, ?, ?, ?)`, owner, name, next.Version, d, micro(next.SetAt))
	return next, true, err
}

// Alias implements modules.Aliases.
func (s *Store) Alias(ctx context.Context, t tenant.ID, name string) (modules.Alias, error) {
	as, err := s.someAliases(ctx, newestAlias, t, name)
	if err != nil {
		return modules.Alias{}, fmt.Errorf("read alias %s: %w", name, err)
	}
	return as[0], nil
}

// AliasHistory implements modules.Aliases, by the primary key.
func (s *Store) AliasHistory(ctx context.Context, t tenant.ID, name string) ([]modules.Alias, error) {
	as, err := s.someAliases(ctx, `SELECT `+aliasColumns+` FROM aliases WHERE tenant = ? AND name = ? ORDER BY version DESC`, t, name)
	if err != nil {
		return nil, fmt.Errorf("read history of alias %s: %w", name, err)
	}
	return as, nil
}

// someAliases returns modules.ErrNotFound when there is none.
func (s *Store) someAliases(ctx context.Context, text string, args ...any) (as []modules.Alias, err error) {
	err = s.read(ctx, func(c *conn) (err error) {
		as, err = c.aliases(text, args...)
		return err
	})
	if err == nil && len(as) == 0 {
		err = modules.ErrNotFound
	}
	return as, err
}

// Aliases implements modules.Aliases, by the primary key.
func (s *Store) Aliases(ctx context.Context, t tenant.ID) (as []modules.Alias, err error) {
	err = s.read(ctx, func(c *conn) (err error) {
		as, err = c.aliases(`SELECT `+aliasColumns+` FROM aliases a WHERE tenant = ?
			AND version = (SELECT max(version) FROM aliases b WHERE b.tenant = a.tenant AND b.name = a.name) ORDER BY name`, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list aliases: %w", err)
	}
	return as, nil
}
