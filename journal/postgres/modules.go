package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reprise/journal/internal/durable"
	"reprise/modules"
	"reprise/tenant"
)

// Primary keys. Bytes that are lost or damaged are replaced. The manifest and the imports are bytes of JSON, not Postgres' json, which refuses
// what a guest may say.
const putModuleSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now),
made AS (
  INSERT INTO reprise.modules (tenant, digest, size, shape, manifest, imports, created_at)
  SELECT $1, $2, $3, $4, $5, $6, clock.now FROM clock
  ON CONFLICT DO NOTHING
  RETURNING digest
),
kept AS (
  INSERT INTO reprise.module_bytes AS b (tenant, digest, bytes) VALUES ($1, $2, $7)
  ON CONFLICT (tenant, digest) DO UPDATE SET bytes = excluded.bytes WHERE b.bytes <> excluded.bytes
)
SELECT count(*) FROM made`

// PutModule implements modules.Blobs.
func (s *Store) PutModule(ctx context.Context, m modules.Module, bytes []byte) (created bool, err error) {
	manifest, err := json.Marshal(m.Manifest)
	if err != nil {
		return false, fmt.Errorf("manifest of module %s: %w", m.Digest.Short(), err)
	}
	imports, err := json.Marshal(m.Imports)
	if err != nil {
		return false, fmt.Errorf("imports of module %s: %w", m.Digest.Short(), err)
	}
	if bytes == nil {
		bytes = []byte{}
	}
	durable.ModuleBefore.Hit()
	lostAnswer := false
	err = s.retry(ctx, true, func(ctx context.Context) error {
		var made int
		err := s.pool.QueryRow(ctx, s.in(putModuleSQL), string(m.Tenant), string(m.Digest), m.Size, string(m.Shape), manifest, imports, bytes).Scan(&made)
		created = err == nil && (made == 1 || lostAnswer)
		lostAnswer = lostAnswer || err != nil && fateOf(err) == unknown
		return err
	})
	if err != nil {
		return false, fmt.Errorf("store module %s: %w", m.Digest.Short(), err)
	}
	durable.ModuleAfter.Hit()
	return created, nil
}

// Primary key.
const moduleBytesSQL = `SELECT b.bytes FROM reprise.module_bytes b WHERE b.tenant = $1 AND b.digest = $2`

// ModuleBytes implements modules.Blobs.
func (s *Store) ModuleBytes(ctx context.Context, t tenant.ID, d modules.Digest) (b []byte, err error) {
	err = s.retry(ctx, true, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, s.in(moduleBytesSQL), string(t), string(d)).Scan(&b)
	})
	if err != nil {
		return nil, fmt.Errorf("bytes of module %s: %w", d.Short(), noModule(err))
	}
	return b, nil
}

const moduleColumns = `m.tenant, m.digest, m.size, m.shape, m.manifest, m.imports, m.created_at`

func scanModule(row pgx.CollectableRow) (modules.Module, error) {
	var m modules.Module
	var t, digest, shape string
	var manifest, imports []byte
	var created pgtype.Timestamptz
	if err := row.Scan(&t, &digest, &m.Size, &shape, &manifest, &imports, &created); err != nil {
		return m, err
	}
	m.Tenant, m.Digest, m.Shape, m.CreatedAt = tenant.ID(t), modules.Digest(digest), modules.Shape(shape), fromTime(created)
	if err := errors.Join(json.Unmarshal(manifest, &m.Manifest), json.Unmarshal(imports, &m.Imports)); err != nil {
		return m, fmt.Errorf("manifest of module %s: %w", m.Digest.Short(), err)
	}
	return m, nil
}

// Primary key.
const moduleSQL = `SELECT ` + moduleColumns + ` FROM reprise.modules m WHERE m.tenant = $1 AND m.digest = $2`

// Module implements modules.Blobs.
func (s *Store) Module(ctx context.Context, t tenant.ID, d modules.Digest) (m modules.Module, err error) {
	err = s.retry(ctx, true, func(ctx context.Context) error {
		m, err = s.module(ctx, t, d)
		return err
	})
	return m, err
}

func (s *Store) module(ctx context.Context, t tenant.ID, d modules.Digest) (modules.Module, error) {
	rows, err := s.pool.Query(ctx, s.in(moduleSQL), string(t), string(d))
	if err != nil {
		return modules.Module{}, fmt.Errorf("module %s: %w", d.Short(), err)
	}
	m, err := pgx.CollectExactlyOneRow(rows, scanModule)
	if err != nil {
		return modules.Module{}, fmt.Errorf("module %s: %w", d.Short(), noModule(err))
	}
	return m, nil
}

// Primary key; a tenant's modules are few and sorted after.
const listModulesSQL = `SELECT ` + moduleColumns + ` FROM reprise.modules m WHERE m.tenant = $1 ORDER BY m.created_at DESC, m.digest`

// Modules implements modules.Blobs.
func (s *Store) Modules(ctx context.Context, t tenant.ID) (ms []modules.Module, err error) {
	err = s.retry(ctx, true, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, s.in(listModulesSQL), string(t))
		if err != nil {
			return err
		}
		ms, err = pgx.CollectRows(rows, scanModule)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}
	return ms, nil
}

func noModule(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return modules.ErrNotFound
	}
	return err
}
