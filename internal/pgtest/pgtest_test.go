package pgtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"reprise/internal/pgserver"
)

// childEnv makes this test binary start a cluster, say where, and wait to be killed.
const childEnv = "PGTEST_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	c, err := start(Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	pid, err := c.server.PID()
	fmt.Println(pid, err, c.server.Dir())
	select {}
}

func query(t *testing.T, dsn, sql string) string {
	t.Helper()
	psql, err := findPsql()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(psql, "-X", "-A", "-t", "-d", dsn, "-c", sql).CombinedOutput()
	if err != nil {
		t.Fatalf("psql %q: %v\n%s", sql, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestDatabasesAreSeparate(t *testing.T) {
	a, b := Database(t), Database(t)
	query(t, a, "CREATE TABLE only_here (x int)")
	if got := query(t, b, "SELECT to_regclass('only_here') IS NULL"); got != "t" {
		t.Errorf("the second database sees the first one's table: got %s, want t", got)
	}
}

func TestDatabaseIsDropped(t *testing.T) {
	var dsn string
	t.Run("user", func(t *testing.T) { dsn = Database(t) })
	name := dsn[strings.LastIndex(dsn, "/")+1:]
	name, _, _ = strings.Cut(name, "?")
	got := query(t, Database(t), "SELECT count(*) FROM pg_database WHERE datname = '"+name+"'")
	if got != "0" {
		t.Errorf("databases named %s after its test: got %s, want 0", name, got)
	}
}

func TestWithDatabase(t *testing.T) {
	for _, c := range []struct{ dsn, want string }{
		{"postgres://u@h:1/a?sslmode=disable", "postgres://u@h:1/x?sslmode=disable"},
		{"host=h user=u dbname=a", "host=h user=u dbname=a dbname=x"},
	} {
		if got := withDatabase(c.dsn, "x"); got != c.want {
			t.Errorf("withDatabase(%q): got %q, want %q", c.dsn, got, c.want)
		}
	}
}

func TestSession(t *testing.T) {
	ask := Session(t, Database(t))
	if got := ask("BEGIN; CREATE TABLE mine (x int); SELECT 7"); got != "7" {
		t.Errorf("got %q, want 7", got)
	}
	if got := ask("SELECT count(*) FROM mine"); got != "0" {
		t.Errorf("in the same transaction: got %q, want 0", got)
	}
}

func TestRestartKeepsData(t *testing.T) {
	c := Start(t, Options{Durable: true, Settings: []string{"max_connections = 20"}})
	dsn := c.Database(t)
	if got := query(t, dsn, "SELECT current_setting('fsync') || ' ' || current_setting('max_connections')"); got != "on 20" {
		t.Errorf("settings: got %q, want %q", got, "on 20")
	}
	query(t, dsn, "CREATE TABLE kept AS SELECT 7 AS x")
	for _, m := range []Mode{Fast, Immediate} {
		c.Restart(t, m)
		if got := query(t, dsn, "SELECT x FROM kept"); got != "7" {
			t.Errorf("after a restart with mode %s: got %q, want 7", m, got)
		}
	}
}

func TestPauseStopsEveryProcess(t *testing.T) {
	c := Start(t, Options{})
	pid, err := c.server.PID()
	if err != nil {
		t.Fatal(err)
	}
	resume := c.Pause(t)
	children, err := pgserver.Children(pid)
	if err != nil {
		t.Fatal(err)
	}
	all := append(children, pid)
	if len(all) < 4 {
		t.Errorf("processes of the server: got %d, want the postmaster and its workers", len(all))
	}
	for _, p := range all {
		waitFor(t, fmt.Sprintf("process %d to stop", p), func() bool { return processState(p) == "T" })
	}
	resume()
	if got := query(t, c.DSN("postgres"), "SELECT 1"); got != "1" {
		t.Errorf("after resume: got %q, want 1", got)
	}
}

func TestNothingIsLeftOfAKilledProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
	if len(fields) != 3 || fields[1] != "<nil>" {
		t.Fatalf("the child said %q, want a pid and a folder", line)
	}
	pid, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the server to end", func() bool { s := processState(pid); return s == "" || s == "Z" })
	waitFor(t, "the folder to go", func() bool { _, err := os.Stat(fields[2]); return os.IsNotExist(err) })
}

// processState is the letter that /proc gives for a process, "" when there is none.
func processState(pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	return strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))[0]
}

// waitFor looks until something is so that nobody announces.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}
