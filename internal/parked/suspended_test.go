package parked

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise/host"
	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/tenant"
)

// parkable is a guest that waits for a signal, and how it is brought there.
type parkable struct {
	name, entry, input string
	before, last       string // names of the signals that it takes; before may be empty
	code               func() ([]byte, error)
}

// goSignals is a Go program that has taken a signal and waits for another: two entries.
var goSignals = parkable{name: "Go", entry: "signals", input: "1", before: "note", last: "late", code: sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "reprise-guest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./testguests/suite")
	cmd.Dir, cmd.Env = "../../guest-sdk/go", append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false", "GOWORK=off")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the guest: %w\n%s", err, said)
	}
	return os.ReadFile(out)
})}

// smallSignal is a small program without a heap that waits for its first signal: one entry.
var smallSignal = parkable{name: "small", last: "go", code: func() ([]byte, error) {
	return os.ReadFile(filepath.Join("..", "..", "testdata", "wasm", "signal.wasm"))
}}

// suspended is one database with runs of one guest that wait.
type suspended struct {
	testing.TB
	ctx   context.Context
	dsn   string
	guest parkable
	every int64 // entries between two checkpoints
	store journal.Store
	host  *host.Host
	ask   func(string) string
}

func (b *suspended) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// open starts a host and pushes the guest.
func (b *suspended) open() {
	b.Helper()
	b.ctx = context.Background()
	var err error
	b.store, err = open(b.ctx, b.dsn, 0)
	b.must(err)
	b.host, err = bootWith(b.ctx, b.store, b.every)
	b.must(err)
	b.ask = pgtest.Session(b, b.dsn)
	code, err := b.guest.code()
	b.must(err)
	_, err = b.host.PushModule(b.ctx, tenant.Default, "signals", code, "")
	b.must(err)
}

func (b *suspended) close() {
	b.must(b.host.Stop(b.ctx))
	b.must(b.store.Close())
}

// suspend starts runs and returns when they wait.
func (b *suspended) suspend(n int) []journal.RunID {
	b.Helper()
	ids := make([]journal.RunID, n)
	var g errgroup.Group
	g.SetLimit(16)
	for i := range ids {
		g.Go(func() error {
			run, _, err := b.host.StartRun(b.ctx, tenant.Default, host.StartRun{Workflow: "signals", Entry: b.guest.entry, Input: []byte(b.guest.input)})
			ids[i] = run.ID
			return err
		})
	}
	b.must(g.Wait())
	b.rest(0)
	if b.guest.before != "" {
		b.must(b.signal(ids, b.guest.before, "first"))
		b.rest(0)
	}
	return ids
}

// rest waits until nothing is ready or running, and so many runs have completed.
func (b *suspended) rest(completed int) {
	b.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) { // nobody announces it
		got := b.ask(`SELECT count(*) FILTER (WHERE state IN ('ready', 'running')), count(*) FILTER (WHERE finished_at IS NOT NULL)
			FROM reprise.runs WHERE state IN ('ready', 'running') OR finished_at IS NOT NULL`)
		if got == fmt.Sprintf("0|%d", completed) {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("got %s runs that are busy and that have ended, want 0 and %d", got, completed)
		}
	}
}

func (b *suspended) signal(ids []journal.RunID, name, text string) error {
	var g errgroup.Group
	g.SetLimit(16)
	for _, id := range ids {
		g.Go(func() error {
			_, err := b.store.Signal(b.ctx, tenant.Default, id, name, name, strconv.AppendQuote(nil, text))
			return err
		})
	}
	return g.Wait()
}

// wake sends runs their last signal and returns when all have completed.
func (b *suspended) wake(ids []journal.RunID) (took time.Duration) {
	b.Helper()
	before, err := strconv.Atoi(b.ask(`SELECT count(*) FROM reprise.runs WHERE state = 'completed'`))
	b.must(err)
	begin := time.Now()
	b.must(b.signal(ids, b.guest.last, "last"))
	b.rest(before + len(ids))
	took = time.Since(begin)
	if got := b.ask(`SELECT count(*) FROM reprise.runs WHERE state = 'completed'`); got != strconv.Itoa(before+len(ids)) {
		b.Fatalf("got %s runs completed, want %d", got, before+len(ids))
	}
	return took
}

// sizes are the bytes of the tables, with their indexes.
func (b *suspended) sizes() (total int64, tables string) {
	b.Helper()
	line := b.ask(`SELECT sum(pg_total_relation_size(c.oid)), string_agg(c.relname || ' ' || pg_total_relation_size(c.oid), ', ' ORDER BY c.relname)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'reprise' AND c.relkind = 'r'`)
	first, rest, _ := strings.Cut(line, "|")
	total, err := strconv.ParseInt(first, 10, 64)
	b.must(err)
	return total, rest
}

// some picks runs that wait, at random.
func (b *suspended) some(n int) (ids []journal.RunID) {
	b.Helper()
	line := b.ask(fmt.Sprintf(`SELECT string_agg(replace(id::text, '-', ''), ' ') FROM (SELECT id FROM reprise.runs WHERE state = 'waiting' ORDER BY random() LIMIT %d) r`, n))
	for _, hex := range strings.Fields(line) {
		id, err := journal.ParseRunID("run_" + hex)
		b.must(err)
		ids = append(ids, id)
	}
	return ids
}
