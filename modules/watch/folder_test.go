package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"reprise/modules"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const settle = time.Second

// bench drives passes by a clock of its own, so that nothing depends on how fast the test runs.
type bench struct {
	*testing.T
	dir    string
	folder *folder
	now    time.Time
	pushed []string // "name=content", or "name+signatures=content"
	answer error    // of Push
	log    bytes.Buffer
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, dir: t.TempDir(), now: time.Unix(1000, 0)}
	b.folder = newFolder(Config{Dir: b.dir, Settle: settle, MaxSize: 100, Logger: slog.New(slog.NewTextHandler(&b.log, nil)),
		Push: func(_ context.Context, name string, bytes, signatures []byte) error {
			if signatures != nil {
				name += "+" + string(signatures)
			}
			b.pushed = append(b.pushed, name+"="+string(bytes))
			return b.answer
		}}.withDefaults())
	return b
}

func (b *bench) write(name, content string) {
	b.Helper()
	put(b.T, filepath.Join(b.dir, name), content)
}

// put writes a file so that its stamp changes, however coarse the file system's clock is. In use
// that is what Settle is for.
func put(t *testing.T, path, content string) {
	t.Helper()
	before, _ := os.Lstat(path)
	for {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		after, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if before == nil || stampOf(before) != stampOf(after) {
			return
		}
	}
}

// pass looks once and moves the clock on.
func (b *bench) pass(d time.Duration) time.Time {
	at := b.folder.pass(context.Background(), b.now)
	b.now = b.now.Add(d)
	return at
}

// want runs passes for ten times Settle and compares what was pushed since the last want.
func (b *bench) want(pushes ...string) {
	b.Helper()
	for range 10 {
		b.pass(settle)
	}
	if diff := cmp.Diff(pushes, b.pushed); diff != "" {
		b.Errorf("pushed (-want +got):\n%s", diff)
	}
	b.pushed = nil
}

// logged counts lines with a text and forgets the log.
func (b *bench) logged(text string) int {
	n := strings.Count(b.log.String(), text)
	b.log.Reset()
	return n
}

func TestPushedOnce(t *testing.T) {
	b := newBench(t)
	b.write("a.wasm", "one")
	b.write("a.txt", "not a module")
	b.want("a=one")
	b.want()
	b.write("a.wasm", "two")
	b.want("a=two")
	b.write("a.wasm", "one")
	b.want("a=one")
	later := time.Unix(5000, 0)
	if err := os.Chtimes(filepath.Join(b.dir, "a.wasm"), later, later); err != nil {
		t.Fatal(err)
	}
	b.want()
	if b.log.Len() != 0 {
		t.Errorf("got log %q, want none: Push tells of what went well", b.log.String())
	}
}

func TestDueWhenSettled(t *testing.T) {
	b := newBench(t)
	b.write("a.wasm", "one")
	due := b.pass(0)
	if want := b.now.Add(settle); !due.Equal(want) {
		t.Errorf("got due at %v, want %v", due, want)
	}
	b.now = due.Add(-1)
	b.pass(1)
	if len(b.pushed) != 0 {
		t.Fatalf("got %q before it had settled, want nothing", b.pushed)
	}
	if due := b.pass(0); !due.IsZero() || len(b.pushed) != 1 {
		t.Errorf("got %q and due at %v, want one push and nothing due", b.pushed, due)
	}
}

func TestHalfFileIsNotPushed(t *testing.T) {
	b := newBench(t)
	b.write("a.wasm", "half")
	b.pass(settle / 2)
	b.write("a.wasm", "half and half")
	b.pass(settle * 3 / 4) // the first half is older than Settle by now
	b.pass(0)
	if len(b.pushed) != 0 {
		t.Fatalf("got %q, want nothing before the whole has settled", b.pushed)
	}
	b.want("a=half and half")
}

func TestWrittenThenRenamed(t *testing.T) {
	b := newBench(t)
	b.write("a.tmp", "whole")
	b.want()
	if err := os.Rename(filepath.Join(b.dir, "a.tmp"), filepath.Join(b.dir, "a.wasm")); err != nil {
		t.Fatal(err)
	}
	b.want("a=whole")
}

func TestOnlyRegularFiles(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(b.dir, name) }
	l, err := net.Listen("unix", at("socket.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, err := range []error{
		os.Symlink(outside, at("link.wasm")),
		os.Symlink("good.wasm", at("inside.wasm")),
		os.Symlink("absent", at("dangling.wasm")),
		syscall.Mkfifo(at("pipe.wasm"), 0o644),
		os.Mkdir(at("folder.wasm"), 0o755),
		os.WriteFile(at("folder.wasm")+"/deep.wasm", []byte("deep"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b.write("good.wasm", "good")
	b.want("good=good")
}

// TestSwappedAfterTheLook replaces a file by what must not be read, between the look and the open.
func TestSwappedAfterTheLook(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	swaps := map[string]func(path, dir string) error{
		"link outside": func(path, _ string) error { return os.Symlink(outside, path) },
		"link inside":  func(path, _ string) error { return os.Symlink("other", path) },
		"pipe":         func(path, _ string) error { return syscall.Mkfifo(path, 0o644) },
		"folder":       func(path, _ string) error { return os.Mkdir(path, 0o755) },
		"another file": func(path, dir string) error { return os.Rename(filepath.Join(dir, "other"), path) },
		"nothing":      func(string, string) error { return nil },
	}
	for name, swap := range swaps {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("a.wasm", "good")
			b.write("other", "evil")
			root, err := os.OpenRoot(b.dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			fi, err := root.Lstat("a.wasm")
			if err != nil {
				t.Fatal(err)
			}
			is := stampOf(fi)
			if got, err := read(root, "a.wasm", is); err != nil || string(got) != "good" {
				t.Fatalf("got %q, %v before the swap, want good", got, err)
			}
			path := filepath.Join(b.dir, "a.wasm")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := swap(path, b.dir); err != nil {
				t.Fatal(err)
			}
			if got, err := read(root, "a.wasm", is); err == nil {
				t.Errorf("got %q, want an error", got)
			}
		})
	}
}

func TestHardLinkEditedFromOutside(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(outside, filepath.Join(b.dir, "a.wasm")); err != nil {
		t.Fatal(err)
	}
	b.want("a=one")
	put(t, outside, "two")
	b.want("a=two")
}

func TestSameSizeAndTimeOtherContent(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.dir, "a.wasm")
	b.write("a.wasm", "one")
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	b.want("a=one")
	b.write("a.wasm", "two")
	if err := os.Chtimes(path, fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	b.want("a=two")
}

// TestContentChangesUnseen has the content change under an unchanged stamp between the two reads, as
// on a file system whose clock is coarse.
func TestContentChangesUnseen(t *testing.T) {
	b := newBench(t)
	b.write("a.wasm", "one")
	b.pass(settle)
	b.folder.files["a.wasm"].sum.module[0]++ // the first read saw something else
	b.pass(settle / 2)
	if len(b.pushed) != 0 {
		t.Fatalf("got %q after two reads that differ, want nothing", b.pushed)
	}
	b.want("a=one")
}

func TestRefusedIsToldOnce(t *testing.T) {
	b := newBench(t)
	b.answer = fmt.Errorf("push: %w", &modules.RefusedError{Code: "no_entry", What: "no entry", Where: "exports", Fix: "export one"})
	b.write("a.wasm", "bad")
	b.want("a=bad")
	b.want()
	if got := b.logged(`what="no entry" where=exports fix="export one"`); got != 1 {
		t.Errorf("got %d lines, want 1", got)
	}
	b.write("a.wasm", "worse")
	b.want("a=worse")
	if got := b.logged("no entry"); got != 1 {
		t.Errorf("got %d lines for the new content, want 1", got)
	}
}

func TestOtherErrorsAreRetried(t *testing.T) {
	b := newBench(t)
	b.answer = errors.New("database is away")
	b.write("a.wasm", "good")
	b.pass(settle)
	var waits []time.Duration
	for range 8 {
		due := b.pass(0)
		waits = append(waits, due.Sub(b.now))
		b.now = due.Add(-1)
		n := len(b.pushed)
		b.pass(1)
		if len(b.pushed) != n {
			t.Fatal("got a try before it was due")
		}
	}
	want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}
	for i := range want {
		want[i] *= time.Second
	}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if got := b.logged("database is away"); got != 1 {
		t.Errorf("got %d lines, want 1", got)
	}
	b.pushed, b.answer = nil, nil
	b.now = b.now.Add(lastRetry)
	b.want("a=good")
	if got := b.logged("published after all"); got != 1 {
		t.Errorf("got %d lines when it went well, want 1", got)
	}
	b.want()
}

func TestTooLargeIsNotRead(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.dir, "a.wasm")
	b.write("a.wasm", "")
	if err := os.Truncate(path, 10<<30); err != nil { // sparse
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	b.want()
	if got := b.logged("10737418240 bytes"); got != 1 {
		t.Errorf("got %d lines, want 1", got)
	}
	if f := b.folder.files["a.wasm"]; f.read {
		t.Error("the file was read")
	}
}

func TestNames(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{".wasm", "a b.wasm", "-a.wasm", "\x1b[31m.wasm", "a\r\nb.wasm", "\u0430pi.wasm", "..wasm"} {
		b.write(name, "x")
	}
	b.write("con.v1_2-3.wasm", "x")
	b.write("UPPER.WASM", "x")
	b.want("con.v1_2-3=x")
	if strings.ContainsAny(b.log.String(), "\x1b\r") {
		t.Errorf("got control characters in the log: %q", b.log.String())
	}
	if got := b.logged("refused"); got != 7 {
		t.Errorf("got %d names refused, want 7", got)
	}
}

func TestRemoval(t *testing.T) {
	b := newBench(t)
	b.write("a.wasm", "one")
	b.want("a=one")
	if err := os.Remove(filepath.Join(b.dir, "a.wasm")); err != nil {
		t.Fatal(err)
	}
	b.want()
	b.write("a.wasm", "one")
	b.want("a=one") // put there on purpose
}

func TestFolderGoesAndComes(t *testing.T) {
	b := newBench(t)
	b.write("a.wasm", "one")
	b.want("a=one")
	away := b.dir + ".away"
	if err := os.Rename(b.dir, away); err != nil {
		t.Fatal(err)
	}
	b.want()
	if got := b.logged("cannot be read"); got != 1 {
		t.Errorf("got %d warnings, want 1", got)
	}
	if err := os.Rename(away, b.dir); err != nil {
		t.Fatal(err)
	}
	b.want()
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	b.want()
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.write("b.wasm", "two")
	b.want("b=two")
}

// TestSignatures: a module and the file of its signatures are one thing, which comes again when either changes.
func TestSignatures(t *testing.T) {
	b := newBench(t)
	b.write("a.wasm.sig", "alone") // no module: nothing
	b.want()
	b.write("a.wasm", "one")
	b.want("a+alone=one")
	b.answer = &modules.RefusedError{Code: "signature_missing", What: "w"}
	b.write("b.wasm", "two")
	b.want("b=two")
	b.answer = nil
	b.write("b.wasm.sig", "late")
	b.want("b+late=two")
	b.write("b.wasm.sig", "late") // written again as it was
	b.want()
	b.write("b.wasm", "three")
	b.want("b+late=three")
	if err := os.Remove(filepath.Join(b.dir, "b.wasm.sig")); err != nil {
		t.Fatal(err)
	}
	b.want("b=three")
	if err := os.Symlink(filepath.Join(b.dir, "a.wasm.sig"), filepath.Join(b.dir, "b.wasm.sig")); err != nil {
		t.Fatal(err)
	}
	b.want() // a link is not followed
	b.write("a.wasm.sig", strings.Repeat("s", modules.MaxSignatureText+1))
	b.want()
	if !strings.Contains(b.log.String(), "the file of its signatures has") {
		t.Errorf("got log %s, want the size of the signatures in it", b.log.String())
	}
}
