package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"reprise/journal"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema to this program's version, or refuses a newer one.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	have, know, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if have > know {
		return fmt.Errorf("%w: the file has version %d, this program knows up to %d; use the program that wrote the file or a newer one", journal.ErrSchema, have, know)
	}
	if have == know {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate schema from version %d to %d: %w", have, know, err)
	}
	return nil
}
