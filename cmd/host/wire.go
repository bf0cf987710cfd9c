package main

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"

	"reprise/host"
	"reprise/journal"
)

// Forms of a journal's name.
const (
	memoryJournal  = "memory"
	sqlitePrefix   = "sqlite://"
	postgresPrefix = "postgres"
)

// parts is a node put together.
type parts struct {
	store journal.Store
	host  host.UseCases
}

// errNotBuilt is returned until the parts of a node exist.
var errNotBuilt = errors.New("this program was built without a node")

// assemble opens the journal and makes the host. What it returns is not started.
func assemble(context.Context, settings, *slog.Logger) (*parts, error) { return nil, errNotBuilt }

func (p *parts) start(context.Context) error { return errNotBuilt }

// stop gives runs back; the API may go on.
func (p *parts) stop() error { return nil }

// close releases the journal.
func (p *parts) close() error { return p.store.Close() }

// journalText names a journal for people, without its password.
func journalText(name string) string {
	if name == memoryJournal {
		return "memory (keep it: --db reprise.db)"
	}
	if !strings.HasPrefix(name, postgresPrefix) {
		return strings.TrimPrefix(name, sqlitePrefix)
	}
	u, err := url.Parse(name)
	if err != nil {
		return "Postgres"
	}
	return "Postgres " + u.Host + u.Path
}

func openJournal(context.Context, string) (journal.Store, error) { return nil, errNotBuilt }
