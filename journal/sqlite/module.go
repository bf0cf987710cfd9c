package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"reprise/journal/internal/durable"
	"reprise/modules"
	"reprise/tenant"
)

// hasModule looks in the unique index on (tenant, digest).
func (t *tx) hasModule(owner tenant.ID, d modules.Digest) (bool, error) {
	var one int
	return t.row(`SELECT 1 FROM modules WHERE tenant = ? AND digest = ?`, []any{owner, d}, &one)
}

// PutModule implements modules.Blobs.
func (s *Store) PutModule(ctx context.Context, m modules.Module, bytes []byte) (created bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		has, err := t.hasModule(m.Tenant, m.Digest)
		if err != nil {
			return err
		}
		if has {
			return t.mendModule(m, bytes)
		}
		created = true
		t.step(durable.ModuleBefore, durable.ModuleAfter)
		return t.insertModule(m, bytes)
	})
	if err != nil {
		return false, fmt.Errorf("put module %s: %w", m.Digest.Short(), err)
	}
	return created, nil
}

func (t *tx) insertModule(m modules.Module, bytes []byte) error {
	manifest, err := json.Marshal(m.Manifest)
	if err != nil {
		return err
	}
	imports, err := json.Marshal(m.Imports)
	if err != nil {
		return err
	}
	var n int64
	_, err = t.row(`INSERT INTO modules (tenant, digest, size, shape, manifest, imports, created_at) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING n`,
		[]any{m.Tenant, m.Digest, m.Size, m.Shape, manifest, imports, micro(t.now)}, &n)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO module_bytes (module, bytes) VALUES (?, ?)`, n, blob(bytes))
	return err
}

// mendModule replaces bytes that are lost or damaged.
func (t *tx) mendModule(m modules.Module, bytes []byte) error {
	_, err := t.exec(`INSERT INTO module_bytes (module, bytes) SELECT n, ?1 FROM modules WHERE tenant = ?2 AND digest = ?3
		ON CONFLICT (module) DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes`, blob(bytes), m.Tenant, m.Digest)
	return err
}

// ModuleBytes implements modules.Blobs, by the unique index on (tenant, digest).
func (s *Store) ModuleBytes(ctx context.Context, t tenant.ID, d modules.Digest) (b []byte, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.row(`SELECT b.bytes FROM modules m JOIN module_bytes b ON b.module = m.n WHERE m.tenant = ? AND m.digest = ?`, []any{t, d}, &b)
		if err == nil && !found {
			err = modules.ErrNotFound
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read bytes of module %s: %w", d.Short(), err)
	}
	return b, nil
}

const moduleColumns = `tenant, digest, size, shape, manifest, imports, created_at`

func scanModule(row scanner) (modules.Module, error) {
	var m modules.Module
	var manifest, imports []byte
	var created int64
	if err := row.Scan(&m.Tenant, &m.Digest, &m.Size, &m.Shape, &manifest, &imports, &created); err != nil {
		return modules.Module{}, err
	}
	m.CreatedAt = fromMicro(created)
	if err := json.Unmarshal(manifest, &m.Manifest); err != nil {
		return modules.Module{}, fmt.Errorf("manifest: %w", err)
	}
	if err := json.Unmarshal(imports, &m.Imports); err != nil {
		return modules.Module{}, fmt.Errorf("imports: %w", err)
	}
	return m, nil
}

// Module implements modules.Blobs, by the unique index on (tenant, digest).
func (s *Store) Module(ctx context.Context, t tenant.ID, d modules.Digest) (modules.Module, error) {
	ms, err := s.modules(ctx, `SELECT `+moduleColumns+` FROM modules WHERE tenant = ? AND digest = ?`, t, d)
	if err == nil && len(ms) == 0 {
		err = modules.ErrNotFound
	}
	if err != nil {
		return modules.Module{}, fmt.Errorf("read module %s: %w", d.Short(), err)
	}
	return ms[0], nil
}

// Modules implements modules.Blobs, by the unique index on (tenant, digest).
func (s *Store) Modules(ctx context.Context, t tenant.ID) ([]modules.Module, error) {
	ms, err := s.modules(ctx, `SELECT `+moduleColumns+` FROM modules WHERE tenant = ? ORDER BY n DESC`, t)
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}
	return ms, nil
}

func (s *Store) modules(ctx context.Context, text string, args ...any) (ms []modules.Module, err error) {
	err = s.read(ctx, func(c *conn) error {
		return c.each(text, args, func(row scanner) (bool, error) {
			m, err := scanModule(row)
			ms = append(ms, m)
			return true, err
		})
	})
	return ms, err
}
