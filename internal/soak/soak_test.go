package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reprise/internal/pgtest"
)

var reprise string // the program

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "reprise-soaktest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	reprise = filepath.Join(dir, "reprise")
	cmd := exec.Command("go", "build", "-o", reprise, "./cmd/host")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// progress logs what a soak says.
type progress struct{ t *testing.T }

func (p progress) Write(b []byte) (int, error) {
	p.t.Log(strings.TrimSuffix(string(b), "\n"))
	return len(b), nil
}

// run carries out a soak in a temporary folder of the test's own, in which nothing may be left.
func run(t *testing.T, cfg Config) Report {
	t.Helper()
	cfg.Program, cfg.Progress = reprise, progress{t}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	if r.Logs != "" {
		if err := os.RemoveAll(r.Logs); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the soak left %v (%v), want nothing", left, err)
	}
	return r
}

func TestSoakOnPostgres(t *testing.T) {
	r := run(t, Config{Duration: 20 * time.Second, Seed: 36, LeaseTTL: 2 * time.Second})
	if !r.OK() {
		t.Errorf("found:\n%s", strings.Join(r.Findings, "\n"))
	}
	if r.Kills == 0 || r.Restarts == 0 || r.Freezes == 0 || r.Commands == 0 || r.Runs == 0 {
		t.Errorf("got %+v, want some of everything", r)
	}
}

func TestSoakOnSQLite(t *testing.T) {
	r := run(t, Config{Duration: 6 * time.Second, Seed: 2, Journal: ToSQLite, LeaseTTL: 2 * time.Second, Runs: 8})
	if !r.OK() {
		t.Errorf("found:\n%s", strings.Join(r.Findings, "\n"))
	}
	if r.Commands == 0 || r.Kills == 0 {
		t.Errorf("got %+v, want commands and kills", r)
	}
}

// TestSoakFinds breaks the system under the soak: what is broken must be found.
func TestSoakFinds(t *testing.T) {
	once := func(break1 func(l *ledger, r *record)) fault {
		done := false
		return func(key string, l *ledger, r *record) { // called with l.mu held
			if !done && strings.HasPrefix(r.counter, "sure") {
				break1(l, r)
				done = true
			}
		}
	}
	for name, c := range map[string]struct {
		broken fault
		found  func(r Report) bool
	}{
		"a booking applied twice":   {once(func(l *ledger, r *record) { l.counters[r.counter] += r.amount }), func(r Report) bool { return r.Duplicated > 0 }},
		"a booking not applied":     {once(func(l *ledger, r *record) { l.counters[r.counter] -= r.amount }), func(r Report) bool { return r.Lost > 0 }},
		"an effect that never left": {once(func(l *ledger, r *record) { r.answer = ""; l.counters[r.counter] -= r.amount }), func(r Report) bool { return r.Lost > 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, Config{Duration: 2 * time.Second, Seed: 3, Journal: ToSQLite, Runs: 4, broken: c.broken})
			if !c.found(r) {
				t.Errorf("got %d lost, %d duplicated, %d wrong", r.Lost, r.Duplicated, r.Wrong)
			}
		})
	}
}

// TestSoakFindsLostSignals runs on a database that loses some signals after it has acknowledged them.
func TestSoakFindsLostSignals(t *testing.T) {
	dsn := pgtest.Start(t, pgtest.Options{Durable: true}).Database(t)
	_ = exec.Command(reprise, "doctor", "--journal", dsn, "--addr", "http://127.0.0.1:1").Run() // makes the schema; there is no host
	sql := `CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			DELETE FROM reprise.inbox WHERE tenant = NEW.tenant AND run = NEW.run AND id = NEW.id; RETURN NULL; END $$;
		CREATE TRIGGER forget AFTER INSERT ON reprise.inbox FOR EACH ROW WHEN (NEW.kind = 'signal' AND NEW.pos % 2 = 0) EXECUTE FUNCTION forget()`
	if out, err := exec.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", dsn, "-c", sql).CombinedOutput(); err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	r := run(t, Config{Duration: 4 * time.Second, Seed: 4, Journal: dsn, Hosts: 2, Runs: 8, LeaseTTL: 2 * time.Second, Settle: 6 * time.Second})
	if r.Lost == 0 {
		t.Errorf("got %+v, want lost signals", r)
	}
}

// TestSoakInterrupted ends a soak in its middle: nothing is left of it but the logs that it names.
func TestSoakInterrupted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := &notice{text: "the harm begins", then: cancel}
	r, err := Run(ctx, Config{Program: reprise, Duration: time.Hour, Seed: 5, Progress: started, Runs: 4})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || filepath.Join(dir, left[0].Name()) != r.Logs {
		t.Errorf("the soak left %v (%v), want the folder of logs %s alone", left, err, r.Logs)
	}
	for _, pid := range processes(t) {
		if b, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline")); err == nil && strings.Contains(string(b), dir) {
			t.Errorf("process %s is left: %q", pid, b)
		}
	}
}

// notice calls a function when a text is written.
type notice struct {
	text string
	then func()
}

func (n *notice) Write(b []byte) (int, error) {
	if strings.Contains(string(b), n.text) {
		n.then()
	}
	return len(b), nil
}

func processes(t *testing.T) []string {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []string
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789") == "" {
			pids = append(pids, e.Name())
		}
	}
	return pids
}
