package postgres

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"reprise/journal"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrationLock names the advisory lock under which one node migrates; its bytes spell "reprise".
const migrationLock = 0x72657072697365

// versionTable holds goose's record of what was applied.
const versionTable = "schema_version"

// migrate brings the schema up to date. Any number of nodes may do so at once: the lock is of a
// transaction, not of a session, so that it also holds through a pooler.
func migrate(ctx context.Context, conn *pgx.Conn, cc *pgx.ConnConfig, schema string) error {
	steps, newest, err := migrations(schema)
	if err != nil {
		return err
	}
	if current, err := checkVersion(ctx, conn, schema, newest); err != nil || current == newest {
		return err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("migration lock: %w", err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // releases the lock; it wrote nothing
	// It stands idle while the steps are carried out, which must not end it.
	if _, err := tx.Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', '0', true)`); err != nil {
		return fmt.Errorf("migration lock: %w", err)
	}
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
		return fmt.Errorf("migration lock: %w", err)
	}
	// Somebody else may have migrated meanwhile, perhaps with a newer program.
	if current, err := checkVersion(ctx, conn, schema, newest); err != nil || current == newest {
		return err
	}
	db := stdlib.OpenDB(*cc)
	defer db.Close()
	if err := makeSchema(ctx, db, schema); err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, nil,
		goose.WithGoMigrations(steps...),
		goose.WithTableName(schema+"."+versionTable),
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migration of schema %s: %w", schema, err)
	}
	return nil
}

// checkVersion returns the schema's version, 0 for none. Returns ErrSchema when it is above newest.
func checkVersion(ctx context.Context, conn *pgx.Conn, schema string, newest int64) (int64, error) {
	var there bool
	if err := conn.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, schema+"."+versionTable).Scan(&there); err != nil {
		return 0, fmt.Errorf("schema version: %w", err)
	}
	if !there {
		return 0, nil
	}
	var current int64
	err := conn.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM `+schema+"."+versionTable+` WHERE is_applied`).Scan(&current)
	if err != nil {
		return 0, fmt.Errorf("schema version: %w", err)
	}
	if current > newest {
		return 0, fmt.Errorf("schema %s has version %d and this program knows versions up to %d; run a newer program, or restore a database of its time: %w",
			schema, current, newest, journal.ErrSchema)
	}
	return current, nil
}

// makeSchema looks before it makes, because CREATE SCHEMA needs a right that a host need not have.
func makeSchema(ctx context.Context, db *sql.DB, schema string) error {
	var there bool
	if err := db.QueryRowContext(ctx, `SELECT to_regnamespace($1) IS NOT NULL`, schema).Scan(&there); err != nil {
		return fmt.Errorf("schema %s: %w", schema, err)
	}
	if there {
		return nil
	}
	if _, err := db.ExecContext(ctx, `CREATE SCHEMA `+schema); err != nil {
		return fmt.Errorf("schema %s: %w", schema, err)
	}
	return nil
}

// migrations makes a step of each file NNNNN_name.sql. A step sets the search path for its own
// transaction, so that the files need not know the schema.
func migrations(schema string) (steps []*goose.Migration, newest int64, err error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, 0, fmt.Errorf("migration files: %w", err)
	}
	for _, name := range names {
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, 0, fmt.Errorf("migration file: %w", err)
		}
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "migrations/"), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("migration file %s: %w", name, err)
		}
		newest = max(newest, version)
		up := func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `SELECT set_config('search_path', $1, true)`, schema); err != nil {
				return fmt.Errorf("search path: %w", err)
			}
			_, err := tx.ExecContext(ctx, string(text))
			return err
		}
		steps = append(steps, goose.NewGoMigration(version, &goose.GoFunc{RunTx: up}, nil))
	}
	return steps, newest, nil
}
