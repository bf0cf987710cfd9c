package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// deadline bounds what a test waits for; it is met only when the test fails.
const deadline = 20 * time.Second

// lines is a log that can be waited for.
type lines chan string

func (l lines) Write(b []byte) (int, error) { l <- string(b); return len(b), nil }

// live is a started watcher whose pushes and log lines arrive on channels.
type live struct {
	*testing.T
	dir    string
	w      *Watcher
	pushes chan string
	log    lines
}

// launch starts a watcher. With never as rescan only events make it look.
func launch(t *testing.T, rescan time.Duration, change func(*live)) *live {
	l := &live{T: t, dir: filepath.Join(t.TempDir(), "watched"), pushes: make(chan string, 10_000), log: make(lines, 20_000)}
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l.w = New(Config{Dir: l.dir, Settle: 10 * time.Millisecond, Rescan: rescan, Logger: slog.New(slog.NewTextHandler(l.log, nil)),
		Push: func(_ context.Context, name string, bytes, _ []byte) error {
			l.pushes <- name + "=" + string(bytes)
			return nil
		}})
	if change != nil {
		change(l)
	}
	if err := l.w.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.w.Stop)
	return l
}

const never = time.Hour

func (l *live) write(name, content string) {
	l.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(content), 0o644); err != nil {
		l.Fatal(err)
	}
}

func (l *live) want(push string) {
	l.Helper()
	select {
	case got := <-l.pushes:
		if got != push {
			l.Fatalf("got push %q, want %q", got, push)
		}
	case <-time.After(deadline):
		l.Fatalf("got no push, want %q", push)
	}
}

func (l *live) wantLine(text string) {
	l.Helper()
	timeout := time.After(deadline)
	for {
		select {
		case got := <-l.log:
			if strings.Contains(got, text) {
				return
			}
		case <-timeout:
			l.Fatalf("got no line with %q", text)
		}
	}
}

func TestEvents(t *testing.T) {
	l := launch(t, never, func(l *live) { l.write("early.wasm", "there before") })
	l.want("early=there before")
	l.write("a.wasm", "one")
	l.want("a=one")
	l.write("b.tmp", "two")
	if err := os.Rename(filepath.Join(l.dir, "b.tmp"), filepath.Join(l.dir, "b.wasm")); err != nil {
		t.Fatal(err)
	}
	l.want("b=two")
	l.write("a.wasm", "three")
	l.want("a=three")
}

func TestOverflowLooksAgain(t *testing.T) {
	ready := make(chan *fsnotify.Watcher, 1)
	l := launch(t, never, func(l *live) {
		l.w.newNotify = func() (*fsnotify.Watcher, error) {
			n, err := fsnotify.NewWatcher()
			ready <- n
			return n, err
		}
	})
	l.write("first.wasm", "x")
	l.want("first=x")
	n := <-ready
	if err := n.Remove(l.dir); err != nil { // from now on events are lost
		t.Fatal(err)
	}
	l.write("lost.wasm", "y")
	n.Errors <- fmt.Errorf("queue: %w", fsnotify.ErrEventOverflow)
	l.want("lost=y")
}

func TestManyFilesAtOnce(t *testing.T) {
	const many = 2000
	l := launch(t, 50*time.Millisecond, nil)
	var wg sync.WaitGroup
	for part := range 4 {
		wg.Go(func() {
			for i := part; i < many; i += 4 {
				l.write(fmt.Sprintf("m%d.wasm", i), fmt.Sprint(i))
			}
		})
	}
	wg.Wait()
	seen := make(map[string]bool)
	timeout := time.After(deadline)
	for len(seen) < many {
		select {
		case p := <-l.pushes:
			if seen[p] {
				t.Fatalf("got %s twice", p)
			}
			seen[p] = true
		case <-timeout:
			t.Fatalf("got %d pushes, want %d", len(seen), many)
		}
	}
}

func TestFolderIsReplaced(t *testing.T) {
	l := launch(t, 20*time.Millisecond, nil)
	l.write("a.wasm", "one")
	l.want("a=one")
	if err := os.Rename(l.dir, l.dir+".old"); err != nil {
		t.Fatal(err)
	}
	l.wantLine("cannot be read")
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l.write("b.wasm", "two")
	l.want("b=two")
	if err := os.RemoveAll(l.dir); err != nil {
		t.Fatal(err)
	}
	l.wantLine("cannot be read")
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l.write("c.wasm", "three")
	l.want("c=three")
}

// TestEventsComeBack proves that the watch is armed again on a folder that was replaced, and not only
// looked through: arm is what the loop calls at each rescan.
func TestEventsComeBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watched")
	w := New(Config{Dir: dir, Push: func(context.Context, string, []byte, []byte) error { return nil }})
	defer w.disarm()
	for range 3 {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		w.arm()
		if w.notify == nil {
			t.Fatal("got no events, want them")
		}
		path := filepath.Join(dir, "a.wasm")
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		timeout := time.After(deadline)
		for got := false; !got; {
			select {
			case e := <-w.notify.Events:
				got = e.Name == path && e.Has(fsnotify.Create)
			case <-timeout:
				t.Fatal("got no event for a file in the new folder")
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		for gone := false; !gone; { // the removal of the folder is an event too
			select {
			case e := <-w.notify.Events:
				gone = e.Name == dir && e.Has(fsnotify.Remove)
			case <-timeout:
				t.Fatal("got no event for the folder's removal")
			}
		}
	}
}

func TestWithoutEvents(t *testing.T) {
	l := launch(t, 10*time.Millisecond, func(l *live) {
		l.w.newNotify = func() (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") }
	})
	l.write("a.wasm", "one")
	l.want("a=one")
	l.write("a.wasm", "two")
	l.want("a=two")
	l.w.Stop()
	close(l.log)
	warnings := 0
	for line := range l.log {
		if strings.Contains(line, "too many open files") {
			warnings++
		}
	}
	if warnings != 1 {
		t.Errorf("got %d warnings, want 1", warnings)
	}
}

func TestFolderThatComesLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	pushed := make(chan string, 1)
	w := New(Config{Dir: dir, Settle: time.Millisecond, Rescan: 10 * time.Millisecond, Push: func(_ context.Context, name string, _, _ []byte) error { pushed <- name; return nil }})
	if err := w.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.wasm"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	select {
	case <-pushed:
	case <-time.After(deadline):
		t.Fatal("got no push")
	}
}

func TestStopEndsAPush(t *testing.T) {
	entered := make(chan struct{})
	l := launch(t, never, func(l *live) {
		l.w.folder.cfg.Push = func(ctx context.Context, _ string, _, _ []byte) error {
			close(entered)
			<-ctx.Done()
			return ctx.Err()
		}
	})
	l.write("a.wasm", "one")
	<-entered
	l.w.Stop()
	l.w.Stop() // again does no harm
}

func TestStartRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	push := func(context.Context, string, []byte, []byte) error { return nil }
	for name, c := range map[string]Config{"no folder": {Push: push}, "no push": {Dir: t.TempDir()}, "a file": {Dir: file, Push: push}} {
		w := New(c)
		if err := w.Start(context.Background()); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
		w.Stop()
	}
	w := New(Config{Dir: t.TempDir(), Push: push})
	if err := w.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := w.Start(context.Background()); err == nil {
		t.Error("second Start: got no error, want one")
	}
}
