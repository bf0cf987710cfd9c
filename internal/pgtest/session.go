package pgtest

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// Session opens a session of another program, which ends with the test. ask runs a statement in it and returns the one line that is its answer; statements
// that answer nothing may stand before it.
func Session(t testing.TB, dsn string) (ask func(sql string) string) {
	t.Helper()
	psql, err := findPsql()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, psql, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", dsn)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	lines := bufio.NewReader(out)
	return func(sql string) string {
		t.Helper()
		if _, err := io.WriteString(in, sql+";\n"); err != nil {
			t.Fatalf("psql %q: %v", sql, err)
		}
		line, err := lines.ReadString('\n')
		if err != nil { // it has ended
			_ = cmd.Wait()
			t.Fatalf("psql %q: %v\n%s", sql, err, said.String())
		}
		return strings.TrimSpace(line)
	}
}
