// Package watch owns the watched folder, one of the ways in for modules: it notices that FOLDER/NAME.wasm
// has new content and hands a copy of the bytes to Push, under NAME, with what NAME.wasm.sig holds. It takes nothing away: a file that
// is removed stays published. It never judges a module (Push does), never follows a link, never goes into
// a subfolder, and never writes to the folder. cmd/host starts it.
package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"reprise/modules"
)

// Config says what is watched. Dir and Push are required; every other zero value is a documented default.
type Config struct {
	// Dir is the folder. It need not exist yet, and may come and go.
	Dir string
	// Push takes a module and the text of its signatures, nil when there is no file of them. A
	// *modules.RefusedError is final for these bytes; after any other error the same bytes come again, later and
	// later. It is called from one goroutine.
	Push func(ctx context.Context, name string, bytes, signatures []byte) error
	// Settle is how long a file must not change before it counts. Default 250ms.
	Settle time.Duration
	// Rescan is how often the folder is looked through without an event: events get lost, and some file
	// systems have none. Default 2s.
	Rescan time.Duration
	// MaxSize bounds a file in bytes; a larger one is not read. Default modules.MaxSize.
	MaxSize int64
	// Logger gets what is not published, and why. Default: discard.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Settle <= 0 {
		c.Settle = 250 * time.Millisecond
	}
	if c.Rescan <= 0 {
		c.Rescan = 2 * time.Second
	}
	if c.MaxSize <= 0 {
		c.MaxSize = modules.MaxSize
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Watcher watches one folder from Start to Stop.
type Watcher struct {
	folder *folder
	cfg    Config
	// newNotify makes the source of events; tests replace it.
	newNotify func() (*fsnotify.Watcher, error)

	// Of the loop's goroutine.
	notify  *fsnotify.Watcher // nil while there are no events
	watched os.FileInfo       // what notify watches
	warned  string            // the last trouble with the events, so that it is told once

	mu     sync.Mutex
	cancel context.CancelFunc // nil before Start
	wg     sync.WaitGroup
}

// New makes a watcher that does nothing yet.
func New(c Config) *Watcher {
	c = c.withDefaults()
	return &Watcher{folder: newFolder(c), cfg: c, newNotify: fsnotify.NewWatcher}
}

// Start begins to watch until Stop is called or ctx is done. It fails when the folder is something else
// than a folder, and when the watcher was started before.
func (w *Watcher) Start(ctx context.Context) error {
	if w.cfg.Dir == "" || w.cfg.Push == nil {
		return errors.New("watch: Dir and Push are required")
	}
	if fi, err := os.Stat(w.cfg.Dir); err == nil && !fi.IsDir() {
		return fmt.Errorf("watch %s: not a folder", w.cfg.Dir)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil {
		return fmt.Errorf("watch %s: started before", w.cfg.Dir)
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.wg.Go(func() { w.loop(ctx) })
	return nil
}

// Stop ends the watch and waits for a Push that is under way; its context is done.
func (w *Watcher) Stop() {
	w.mu.Lock()
	cancel := w.cancel
	w.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	w.wg.Wait()
}

// loop looks through the folder when an event came, when a file is due, and every Rescan. An event only
// says when to look: what is there is found out by looking.
func (w *Watcher) loop(ctx context.Context) {
	defer w.disarm()
	rescan := time.NewTicker(w.cfg.Rescan)
	defer rescan.Stop()
	due := time.NewTimer(0)
	defer due.Stop()
	soon := w.cfg.Settle / 5 // gathers the events of one copy into one look
	w.arm()
	next := time.Now()
	for {
		var events chan fsnotify.Event
		var errs chan error
		if w.notify != nil {
			events, errs = w.notify.Events, w.notify.Errors
		}
		select {
		case <-ctx.Done():
			return
		case _, ok := <-events:
			if !ok {
				w.disarm()
			}
			if at := time.Now().Add(soon); next.IsZero() || at.Before(next) {
				next = at
				due.Reset(soon)
			}
			continue
		case err, ok := <-errs: // an overflow, mostly: events were lost, so look
			if !ok || !errors.Is(err, fsnotify.ErrEventOverflow) {
				w.disarm()
			}
		case <-rescan.C:
			w.arm()
		case <-due.C:
		}
		next = w.folder.pass(ctx, time.Now())
		if !next.IsZero() {
			due.Reset(max(0, time.Until(next)))
		}
	}
}

// arm makes events come, unless they do already. The folder may have been replaced by another of the same
// name, which is not the one that is watched.
func (w *Watcher) arm() {
	fi, err := os.Stat(w.cfg.Dir)
	if err != nil {
		return // the pass tells
	}
	if w.notify == nil {
		if w.notify, err = w.newNotify(); err != nil {
			w.notify = nil
			w.warn(err)
			return
		}
	}
	if w.watched != nil && os.SameFile(fi, w.watched) && slices.Contains(w.notify.WatchList(), w.cfg.Dir) {
		return
	}
	if w.watched != nil {
		_ = w.notify.Remove(w.cfg.Dir) // gone already when the folder is
	}
	if err := w.notify.Add(w.cfg.Dir); err != nil {
		w.disarm()
		w.warn(err)
		return
	}
	w.watched, w.warned = fi, ""
}

func (w *Watcher) disarm() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
	w.notify, w.watched = nil, nil
}

func (w *Watcher) warn(err error) {
	if w.warned == err.Error() {
		return
	}
	w.warned = err.Error()
	w.cfg.Logger.Warn("no events from the watched folder; looking through it instead", "folder", w.cfg.Dir, "every", w.cfg.Rescan, "error", err)
}
