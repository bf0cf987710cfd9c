package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise/abi"
	"reprise/internal/failpoint"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// childEnv names the role that the test's program plays as a child; its last argument is the path.
const childEnv = "SQLITE_TEST_CHILD"

func child(t *testing.T, role, path string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, path)
	cmd.Env = append(append(os.Environ(), childEnv+"="+role), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

func childMain(role, path string) int {
	s, err := Open(context.Background(), Config{Path: path})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	switch role {
	case "hold":
		fmt.Println("open")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends
	case "steps":
		l := &life{Store: s, ctx: context.Background()}
		for _, step := range steps {
			if err := step.do(l); err != nil {
				fmt.Fprintln(os.Stderr, step.point, err)
				return 1
			}
			fmt.Println(step.point)
		}
	}
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestSecondProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	cmd := child(t, "hold", path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "open\n" {
		t.Fatalf("child: got %q, %v", line, err)
	}
	s, err := Open(t.Context(), Config{Path: path})
	want := fmt.Sprintf("is open in another reprise process (pid %d)", cmd.Process.Pid)
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
		t.Fatalf("open: got %v, %v; want an error with %q and the path", s, err, want)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	stdin.Close()
	open(t, Config{Path: path}) // the lock ended with its holder
}

// life is what the steps of one run's life know of each other.
type life struct {
	*Store
	ctx   context.Context
	lease journal.Lease
}

const owner tenant.ID = "acme"

var (
	runID  = journal.RunID{15: 1}
	module = []byte("module")
	digest = modules.DigestOf(module)
)

func (l *life) commit(b journal.Batch) error {
	_, err := l.Commit(l.ctx, l.lease, b)
	return err
}

func (l *life) claim() error {
	n, err := l.Register(l.ctx, "n1", time.Hour)
	if err != nil {
		return err
	}
	cs, err := l.Claim(l.ctx, n.ID, journal.Want{Limit: 1})
	if err != nil {
		return err
	}
	if len(cs.Claims) != 1 {
		return errors.New("nothing to claim")
	}
	l.lease = cs.Claims[0].Lease
	return nil
}

// removed ends a run of its own and removes it; a name says that the run was there.
func (l *life) removed(name string, id journal.RunID, remove func(journal.RunID) error) error {
	_, _, err1 := l.Create(l.ctx, journal.Run{Tenant: owner, ID: id, Digest: digest})
	_, err2 := l.RequestCancel(l.ctx, owner, id, "")
	_, _, err3 := l.SetAlias(l.ctx, owner, name, digest)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	return remove(id)
}

func (l *life) isRemoved(name string, id journal.RunID) bool {
	_, err1 := l.Alias(l.ctx, owner, name)
	_, err2 := l.Run(l.ctx, owner, id)
	return err1 == nil && errors.Is(err2, journal.ErrNotFound)
}

type step struct {
	point string // without .before and .after
	do    func(*life) error
	seen  func(*life, journal.Run) bool // whether the step is in the journal
}

// steps is a run's life in which each durable step is taken.
var steps = []step{
	{"store.module", func(l *life) error {
		_, err := l.PutModule(l.ctx, modules.Module{Tenant: owner, Digest: digest}, module)
		return err
	}, func(l *life, _ journal.Run) bool {
		b, err := l.ModuleBytes(l.ctx, owner, digest)
		return err == nil && string(b) == string(module)
	}},
	{"store.alias", func(l *life) error {
		_, _, err := l.SetAlias(l.ctx, owner, "order", digest)
		return err
	}, func(l *life, _ journal.Run) bool {
		a, err := l.Alias(l.ctx, owner, "order")
		return err == nil && a.Digest == digest
	}},
	{"store.create", func(l *life) error {
		_, _, err := l.Create(l.ctx, journal.Run{Tenant: owner, ID: runID, Digest: digest})
		return err
	}, func(_ *life, r journal.Run) bool { return r.ID == runID }},
	{"store.claim", (*life).claim, func(_ *life, r journal.Run) bool { return r.Token >= 1 }},
	{"store.signal", func(l *life) error {
		_, err := l.Signal(l.ctx, owner, runID, "s1", "paid", nil)
		return err
	}, func(_ *life, r journal.Run) bool { return r.InboxPos >= 1 }},
	{"store.commit.append", func(l *life) error {
		return l.commit(journal.Batch{Entries: []journal.Entry{{Kind: journal.KindStarted}}})
	}, func(_ *life, r journal.Run) bool { return r.NextSeq >= 1 }},
	{"store.commit.stash", func(l *life) error {
		return l.commit(journal.Batch{Stash: []journal.Arrival{{ID: "op:1", Kind: journal.ArrivalDone, Op: 1, Status: abi.OK}}})
	}, func(_ *life, r journal.Run) bool { return r.InboxPos >= 2 }},
	{"store.cancel", func(l *life) error {
		_, err := l.RequestCancel(l.ctx, owner, runID, "stop it")
		return err
	}, func(_ *life, r journal.Run) bool { return r.CancelRequested }},
	{"store.commit.suspend", func(l *life) error {
		return l.commit(journal.Batch{Next: &journal.Transition{State: journal.Blocked}, Entries: []journal.Entry{{Seq: 1, Kind: journal.KindCancel}}})
	}, func(_ *life, r journal.Run) bool {
		return r.NextSeq >= 2 && (r.Token > 1 || r.State != journal.Running)
	}},
	{"store.resume", func(l *life) error {
		if _, err := l.Resume(l.ctx, owner, runID); err != nil {
			return err
		}
		return l.claim()
	}, func(_ *life, r journal.Run) bool { return r.NextSeq >= 2 && (r.State == journal.Ready || r.Token > 1) }},
	{"store.commit.finish", func(l *life) error {
		return l.commit(journal.Batch{Next: &journal.Transition{State: journal.Completed, Output: []byte("out")}, Entries: []journal.Entry{{Seq: 2, Kind: journal.KindCompleted}}})
	}, func(_ *life, r journal.Run) bool { return r.State == journal.Completed && string(r.Output) == "out" }},
	{"store.delete", func(l *life) error {
		return l.removed("deleting", journal.RunID{15: 2}, func(id journal.RunID) error { return l.DeleteRun(l.ctx, owner, id) })
	}, func(l *life, _ journal.Run) bool { return l.isRemoved("deleting", journal.RunID{15: 2}) }},
	{"store.prune", func(l *life) error {
		return l.removed("pruning", journal.RunID{15: 3}, func(journal.RunID) error {
			_, err := l.Prune(l.ctx, journal.Retention{Cancelled: time.Nanosecond}, 10)
			return err
		})
	}, func(l *life, _ journal.Run) bool { return l.isRemoved("pruning", journal.RunID{15: 3}) }},
	{"store.hold", func(l *life) error {
		_, _, err := l.Create(l.ctx, journal.Run{Tenant: owner, ID: journal.RunID{15: 4}, Digest: digest})
		if err == nil {
			_, err = l.Hold(l.ctx, "restored: text", 10)
		}
		return err
	}, func(l *life, _ journal.Run) bool {
		r, err := l.Run(l.ctx, owner, journal.RunID{15: 4})
		return err == nil && r.State == journal.Paused
	}},
}

// TestCrash kills a process at each durable step: what was acknowledged is there, what was not
// committed is not, and the file opens again.
func TestCrash(t *testing.T) {
	for _, name := range failpoint.Names() {
		point, when := name[:strings.LastIndex(name, ".")], name[strings.LastIndex(name, ".")+1:]
		if !strings.HasPrefix(name, "store.") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			at := slices.IndexFunc(steps, func(s step) bool { return s.point == point })
			if at < 0 {
				t.Fatalf("no step of this test passes %s", name)
			}
			path := filepath.Join(t.TempDir(), "journal.db")
			acknowledged := crash(t, path, name)
			if acknowledged != at {
				t.Fatalf("acknowledged steps: got %d, want %d", acknowledged, at)
			}
			durable := at
			if when == "after" {
				durable++
			}
			checkSeen(t, path, durable)
		})
	}
}

// crash runs the steps in a child that kills itself at a point and returns how many it acknowledged.
func crash(t *testing.T, path, point string) int {
	t.Helper()
	out, err := child(t, "steps", path, failpoint.Env+"="+point).Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("child: got %v, want killed", err)
	}
	return strings.Count(string(out), "\n")
}

func checkSeen(t *testing.T, path string, durable int) {
	t.Helper()
	l := &life{Store: open(t, Config{Path: path}), ctx: t.Context()}
	r, err := l.Run(l.ctx, owner, runID)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		t.Fatal(err)
	}
	for i, step := range steps {
		if got, want := step.seen(l, r), i < durable; got != want {
			t.Fatalf("%s: got in the journal %v, want %v", step.point, got, want)
		}
	}
	var verdict string
	if _, err := l.conns[0].row(`PRAGMA integrity_check`, nil, &verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity check: got %q, %v", verdict, err)
	}
}
