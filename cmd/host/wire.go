package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"

	"reprise/host"
	"reprise/host/effect"
	httpeffect "reprise/host/effect/http"
	"reprise/journal"
	"reprise/journal/postgres"
	"reprise/journal/sqlite"
	"reprise/modules"
	"reprise/modules/watch"
	"reprise/tenant"
)

// Forms of a journal's name.
const (
	memoryJournal  = "memory"
	sqlitePrefix   = "sqlite://"
	postgresPrefix = "postgres"
)

// parts is a node put together.
type parts struct {
	store   journal.Store
	host    *host.Host
	watcher *watch.Watcher // nil without a folder
}

// assemble opens the journal and makes the host. What it returns is not started. addr is where the API
// listens, which guests must not reach.
func assemble(ctx context.Context, s settings, addr net.Addr, log *slog.Logger) (*parts, error) {
	if s.watch != "" {
		if err := os.MkdirAll(s.watch, 0o755); err != nil {
			return nil, fmt.Errorf("watched folder: %w", err)
		}
	}
	request, err := httpeffect.New(httpeffect.Config{Allow: s.allow, Deny: forbidden(ctx, s.journal, addr)})
	if err != nil {
		return nil, err
	}
	store, err := openJournal(ctx, s.journal, log)
	if err != nil {
		return nil, err
	}
	cfg := s.host
	cfg.Store, cfg.Logger = store, log
	cfg.Compiler = selfCompiler()
	cfg.Effects = effect.Registry{"http.request": request}
	h, err := host.New(cfg)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	p := &parts{store: store, host: h}
	if s.watch != "" {
		p.watcher = watch.New(watch.Config{Dir: s.watch, Logger: log, Push: pushTo(h, cfg.Trust)})
	}
	return p, nil
}

// pushTo is how the watched folder's modules get to a host. Without trusted keys nobody asks what a file of
// signatures holds, which may be another program's.
func pushTo(h *host.Host, trust modules.Trust) func(ctx context.Context, name string, bytes, signatures []byte) error {
	return func(ctx context.Context, name string, bytes, signatures []byte) (err error) {
		var sigs []modules.Signature
		if len(trust.Keys(tenant.Default)) > 0 {
			if sigs, err = modules.ParseSignatures(string(signatures)); err != nil {
				return err
			}
		}
		_, err = h.PushModule(ctx, tenant.Default, name, bytes, "", sigs...)
		return err
	}
}

// selfCompiler is this program as the compiler of modules, nil where the system does not name its own file.
func selfCompiler() []string {
	if _, err := os.Stat(host.SelfCompiler); err != nil {
		return nil
	}
	return []string{host.SelfCompiler, compileCommand}
}

func (p *parts) start(ctx context.Context) error {
	if err := p.host.Start(ctx); err != nil {
		return err
	}
	if p.watcher == nil {
		return nil
	}
	if err := p.watcher.Start(ctx); err != nil {
		return errors.Join(err, p.stop())
	}
	return nil
}

// stop gives runs back; the API may go on.
func (p *parts) stop() error {
	if p.watcher != nil {
		p.watcher.Stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), hostStop)
	defer cancel()
	return p.host.Stop(ctx)
}

// close releases the journal.
func (p *parts) close() error { return p.store.Close() }

// forbidden lists the host's own addresses: its API and its database.
func forbidden(ctx context.Context, journal string, addr net.Addr) []netip.AddrPort {
	var deny []netip.AddrPort
	if a, err := netip.ParseAddrPort(addr.String()); err == nil {
		deny = append(deny, a)
	}
	u, err := url.Parse(journal)
	if err != nil || !strings.HasPrefix(journal, postgresPrefix) {
		return deny
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		port = 5432 // Postgres' own
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return deny // opening the journal says so
	}
	for _, ip := range ips {
		deny = append(deny, netip.AddrPortFrom(ip.Unmap(), uint16(port)))
	}
	return deny
}

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

// openJournal opens what a journal's name stands for.
func openJournal(ctx context.Context, name string, log *slog.Logger) (journal.Store, error) {
	switch {
	case name == memoryJournal:
		return sqlite.Open(ctx, sqlite.Config{Logger: log})
	case strings.HasPrefix(name, "postgres://"), strings.HasPrefix(name, "postgresql://"):
		return postgres.Open(ctx, postgres.Config{DSN: name, Logger: log})
	case strings.Contains(name, "://") && !strings.HasPrefix(name, sqlitePrefix):
		return nil, fmt.Errorf("the journal %.80q is neither postgres://… nor sqlite://PATH nor a path", journalText(name))
	}
	return sqlite.Open(ctx, sqlite.Config{Path: strings.TrimPrefix(name, sqlitePrefix), Logger: log})
}
