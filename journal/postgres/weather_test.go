package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reprise/internal/pgtest"
	"reprise/journal"
)

// fails repeats a call until it fails with a state, and returns that failure.
func (f *fixture) fails(state string, call func() error) error {
	f.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if err := call(); isState(err, state) {
			return err
		}
	}
	f.Fatalf("no call failed with %s", state)
	return nil
}

func (f *fixture) signal(l journal.Lease, id string) error {
	_, err := f.s.Signal(f.Context(), acme, l.Run, id, "paid", nil)
	return err
}

// TestTimeoutsOfTheServer: a statement that the server gives up because of a lock is tried again and then told of,
// and works when the lock is gone.
func TestTimeoutsOfTheServer(t *testing.T) {
	for state, setting := range map[string]string{"57014": "&statement_timeout=30", "55P03": "&lock_timeout=30"} {
		b := newTestbed(t)
		b.direct = b.cfg.DSN
		b.cfg.DSN += setting
		f := newFixtureOn(t, b)
		l := f.owned()
		locked := f.lockRun(l.Run)
		err := f.signal(l, "s1")
		if !isState(err, state) || fateOf(err) != undone {
			t.Errorf("signal to a locked run: got %v, want state %s", err, state)
		}
		locked.rollback()
		f.must(f.signal(l, "s1"))
	}
}

// TestDeadlock makes a group and another transaction wait for each other. The server ends the group, which is
// written when the other is through.
func TestDeadlock(t *testing.T) {
	b := newTestbed(t)
	b.direct = b.cfg.DSN
	// Postgres looks for a deadlock once, that long after a wait began: by then the other must wait, too.
	b.cfg.DSN += "&options=-cdeadlock_timeout%3D3000"
	count := &counter{}
	b.cfg.tracer = count
	f := newFixtureOn(t, b)
	ls := f.ownedMany(2)
	tries := 0
	for first := range ls {
		var group []*commit
		for _, l := range ls {
			group = append(group, &commit{lease: l, batch: journal.Batch{Entries: entries(int64(len(f.entries(l.Run))), 1)}, done: make(chan result, 1)})
		}
		other := f.lockRun(ls[first].Run)
		tries += len(count.of(func() {
			var wg sync.WaitGroup
			wg.Go(func() { f.s.writeGroup(group) })
			f.waitBlocked(1)
			// Which run the group takes first is the planner's affair: with one of the two orders it has the second by now.
			other.exec(`SET LOCAL deadlock_timeout = '1min'`)
			other.exec(`SELECT FROM reprise.runs WHERE id = $1 FOR UPDATE`, uuidOf(ls[1-first].Run))
			other.commit()
			wg.Wait()
		}))
		for i, c := range group {
			if r := <-c.done; r.err != nil || !r.written {
				t.Errorf("commit %d: got %+v, want it written", i, r)
			}
		}
	}
	if tries != len(ls)+1 {
		t.Errorf("statements: got %d, want one for each group and one again: the deadlock was not met", tries)
	}
}

// TestSerializationFailure: where each statement sees the rows as they were when it began, a commit that meets
// another write of its run is ended, and done again.
func TestSerializationFailure(t *testing.T) {
	b := newTestbed(t)
	b.direct = b.cfg.DSN
	b.cfg.DSN += "&default_transaction_isolation=repeatable%20read"
	f := newFixtureOn(t, b)
	l := f.owned()
	other := f.lockRun(l.Run)
	answer := f.commitBlocked(l, journal.Batch{Entries: entries(0, 1)})
	other.exec(`UPDATE reprise.runs SET updated_at = now() WHERE id = $1`, uuidOf(l.Run))
	other.commit()
	if _, err := answer(); err != nil {
		t.Errorf("commit: got %v, want it done", err)
	}
	if n := len(f.entries(l.Run)); n != 1 {
		t.Errorf("entries: got %d, want 1", n)
	}
}

// TestReadOnlyServer: a server is made read-only under the store and later takes writes again.
func TestReadOnlyServer(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	p := &pair{fixture: newFixtureOn(t, &testbed{cfg: Config{DSN: server.Database(t), AllowNoFsync: true}})}
	l := p.owned()
	server.Exec(t, `ALTER SYSTEM SET default_transaction_read_only = on`, `SELECT pg_reload_conf()`)
	seq := int64(0)
	var err error
	p.waitFor("a commit to fail", func() bool {
		if _, err = p.s.Commit(t.Context(), l, journal.Batch{Entries: entries(seq, 1)}); err == nil {
			seq++ // the reload takes a moment
		}
		return err != nil
	})
	if fateOf(err) != away {
		t.Errorf("commit: got fate %d of %v, want %d", fateOf(err), err, away)
	}
	done := make(chan error, 1)
	go func() {
		done <- p.patiently(func(ctx context.Context) error {
			_, err := p.s.Commit(ctx, l, journal.Batch{Entries: entries(seq, 1), Next: &journal.Transition{State: journal.Completed}})
			return err
		})
	}()
	p.must(p.allowWrites(server))
	p.must(<-done)
	p.whole(l, int(seq)+1)
}

// TestFullDisk fills a disk of a few MiB under the entries. Nothing is written by halves, and what waited is written
// when there is room. Where a test may not mount a file system the server says 53100 because a trigger does.
func TestFullDisk(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	f := newFixtureOn(t, &testbed{cfg: Config{DSN: server.Database(t), AllowNoFsync: true}})
	fill, free := f.smallDisk(t)
	l := f.owned()
	_, err := f.s.Commit(t.Context(), l, journal.Batch{Entries: entries(0, 1)})
	f.must(err)
	fill()
	more := entries(1, 300) // more than the table's pages have room for
	err = f.fails("53100", func() error { _, err := f.s.Commit(t.Context(), l, journal.Batch{Entries: more}); return err })
	if fateOf(err) != away {
		t.Errorf("commit: got fate %d, want %d", fateOf(err), away)
	}
	if n := len(f.entries(l.Run)); n != 1 {
		t.Errorf("entries: got %d, want 1: nothing by halves", n)
	}
	if _, err := f.s.Heartbeat(t.Context(), l.Node, ttl); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
	free()
	f.must(f.patiently(func(ctx context.Context) error {
		_, err := f.s.Commit(ctx, l, journal.Batch{Entries: more, Next: &journal.Transition{State: journal.Completed}})
		return err
	}))
	f.whole(l, 301)
}

// smallDisk puts the table of entries on a file system of its own that fill fills and free empties.
func (f *fixture) smallDisk(t *testing.T) (fill, free func()) {
	dir, err := os.MkdirTemp("/tmp", "reprise-disk-")
	f.must(err)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m,mode=0755", "tmpfs", dir).CombinedOutput(); err != nil {
		_ = os.Remove(dir)
		t.Logf("a trigger stands for the full disk: %v: %s", err, out)
		f.exec(`CREATE FUNCTION full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no space left on device' USING ERRCODE = '53100'; END $$`)
		return func() { f.exec(`CREATE TRIGGER full BEFORE INSERT ON reprise.entries EXECUTE FUNCTION full()`) },
			func() { f.exec(`DROP TRIGGER full ON reprise.entries`) }
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
		_ = os.Remove(dir)
	})
	var data string
	f.queryRow(`SHOW data_directory`, &data)
	info, err := os.Stat(data)
	f.must(err)
	owner := info.Sys().(*syscall.Stat_t)
	space := filepath.Join(dir, "space")
	f.must(os.Mkdir(space, 0o700))
	f.must(os.Chown(space, int(owner.Uid), int(owner.Gid)))
	f.exec(`CREATE TABLESPACE small LOCATION '` + space + `'`)
	f.exec(`ALTER TABLE reprise.entries SET TABLESPACE small`)
	filler := filepath.Join(dir, "filler")
	return func() {
			// All that is left: the first page that the table needs more finds no room.
			file, err := os.Create(filler)
			f.must(err)
			defer file.Close()
			for _, size := range []int{1 << 16, 1 << 12} {
				for err = error(nil); err == nil; {
					_, err = file.Write(make([]byte, size))
				}
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("filling the disk: got %v, want %v", err, syscall.ENOSPC)
			}
		}, func() {
			f.must(os.Remove(filler))
		}
}

func (f *fixture) exec(sql string) {
	f.Helper()
	if _, err := f.conn.Exec(f.Context(), sql); err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
}

// TestConnectionStorm: two nodes whose callers come all at once share a server of 20 connections. Everybody waits for
// their turn, heartbeats for nobody, and none is refused.
func TestConnectionStorm(t *testing.T) {
	const most = 20
	server := pgtest.Start(t, pgtest.Options{Settings: []string{fmt.Sprint("max_connections = ", most)}})
	b := &testbed{cfg: Config{DSN: server.Database(t), MaxConns: 8, AllowNoFsync: true}}
	f := newFixtureOn(t, b)
	stores := []*Store{f.s, b.open(t)}
	var wg, beats sync.WaitGroup
	stop := make(chan struct{})
	for i, s := range stores {
		n, err := s.Register(t.Context(), fmt.Sprint("n", i), ttl)
		f.must(err)
		beats.Go(func() {
			for {
				if _, err := s.Heartbeat(t.Context(), n.ID, ttl); err != nil {
					t.Errorf("heartbeat: %v", err)
				}
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
		for range 200 {
			wg.Go(func() {
				r, _, err := s.Create(t.Context(), journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: f.digest})
				if err == nil {
					_, err = s.Signal(t.Context(), acme, r.ID, "s", "paid", nil)
				}
				if err == nil {
					_, err = s.Run(t.Context(), acme, r.ID)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	close(stop)
	beats.Wait()
	var n int
	f.queryRow(`SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'`, &n)
	if own := 2*8 + 2 + 1; n > own { // with those that listen, and the test's
		t.Errorf("connections: got %d, want at most %d", n, own)
	}

	// Others take every connection, also the stores'. Their calls fail with what they may wait for.
	crowd := f.takeAll(server)
	for _, s := range stores {
		_, err := s.Now(t.Context())
		if !isState(err, "53300") || fateOf(err) != away {
			t.Errorf("call without a free connection: got %v, want 53300", err)
		}
	}
	for _, c := range crowd {
		_ = c.Close(context.Background())
	}
	for _, s := range stores {
		f.must(f.patiently(func(ctx context.Context) error { _, err := s.Now(ctx); return err }))
	}
}

// takeAll ends every connection of others to the server and takes them all.
func (f *fixture) takeAll(server *pgtest.Cluster) (crowd []*pgx.Conn) {
	f.Helper()
	f.Cleanup(func() {
		for _, c := range crowd {
			_ = c.Close(context.Background())
		}
	})
	for failed := 0; failed < 20; {
		f.killAll()
		c, err := pgx.Connect(f.Context(), server.DSN("postgres"))
		var pg *pgconn.PgError
		switch {
		case err == nil:
			crowd = append(crowd, c)
			failed = 0
		case errors.As(err, &pg) && pg.Code == "53300":
			failed++
		default:
			f.Fatal(err)
		}
	}
	return crowd
}
