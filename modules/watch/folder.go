package watch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"reprise/modules"
)

const (
	suffix          = ".wasm"
	signatureSuffix = ".sig" // after the module's whole name
)

// Waits before bytes whose Push failed are tried again: they double from the first to the last.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// folder remembers what was seen of each file. Time comes in with each pass.
type folder struct {
	cfg    Config
	files  map[string]*file
	warned string // the last trouble with the folder itself, so that it is told once
}

// file is what is known of one name in the folder: of the module and of the file of its signatures.
type file struct {
	is     stamp
	signed stamp     // zero when there are no signatures
	since  time.Time // when it was first seen with those stamps and that content
	sum    sum
	read   bool // sum is of the content that is there now, as far as is known
	told   bool // its trouble was told; a new stamp or content may have another

	done    bool // there is nothing to do before it changes
	pushed  bool // lastSum is set
	lastSum sum
	wait    time.Duration // before the next try of a Push that failed
	retryAt time.Time
}

// sum tells the content of a module and of its signatures.
type sum struct{ module, signatures [sha256.Size]byte }

func newFolder(c Config) *folder { return &folder{cfg: c, files: make(map[string]*file)} }

// pass looks through the folder and pushes what counts. It returns when the next file is due, zero when
// none is.
func (f *folder) pass(ctx context.Context, now time.Time) (next time.Time) {
	root, err := os.OpenRoot(f.cfg.Dir)
	if err != nil {
		f.warn(err)
		return time.Time{}
	}
	defer root.Close()
	names, err := list(root)
	if err != nil {
		f.warn(err)
		return time.Time{}
	}
	f.warned = ""
	present := make(map[string]bool, len(names))
	for _, name := range names {
		if ctx.Err() != nil {
			return time.Time{}
		}
		present[name] = true
		at := f.look(ctx, root, name, now)
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	// Only a folder that could be listed forgets: one that is away for a while has lost nothing.
	for name := range f.files {
		if !present[name] {
			delete(f.files, name)
		}
	}
	return next
}

// list gives the names that end in .wasm, sorted.
func list(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	names := all[:0]
	for _, n := range all {
		if strings.HasSuffix(n, suffix) {
			names = append(names, n)
		}
	}
	return names, nil
}

// look brings one file forward and returns when it is due again. A file counts when it was read twice,
// Settle apart, with the same content and without a change between.
func (f *folder) look(ctx context.Context, root *os.Root, name string, now time.Time) (due time.Time) {
	fi, err := root.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() {
		return time.Time{} // gone, a link, a pipe, a folder: not ours
	}
	s, is, signed := f.files[name], stampOf(fi), stamp{}
	if fi, err := root.Lstat(name + signatureSuffix); err == nil && fi.Mode().IsRegular() {
		signed = stampOf(fi)
	}
	if s == nil {
		s = &file{}
		f.files[name] = s
	}
	if s.is != is || s.signed != signed || s.since.IsZero() {
		s.is, s.signed, s.since = is, signed, now
		s.read, s.told, s.done = false, false, false
		s.wait, s.retryAt = 0, time.Time{}
	}
	switch {
	case s.done:
		return time.Time{}
	case s.read && now.Before(s.since.Add(f.cfg.Settle)):
		return s.since.Add(f.cfg.Settle)
	case now.Before(s.retryAt):
		return s.retryAt
	}
	return f.take(ctx, root, name, s, now)
}

// take reads a file, and pushes it when this was the second time with the same content.
func (f *folder) take(ctx context.Context, root *os.Root, name string, s *file, now time.Time) (due time.Time) {
	if err := f.acceptable(name, s); err != nil {
		s.done = true
		f.tell(name, s, err)
		return time.Time{}
	}
	bytes, err := read(root, name, s.is)
	var signatures []byte
	if err == nil && s.signed != (stamp{}) {
		signatures, err = read(root, name+signatureSuffix, s.signed)
	}
	if errors.Is(err, errChanged) {
		s.since, s.read = now, false // being written: look again
		return now.Add(f.cfg.Settle)
	}
	if err != nil {
		f.tell(name, s, err)
		return f.later(s, now)
	}
	is := sum{sha256.Sum256(bytes), sha256.Sum256(signatures)}
	if !s.read || is != s.sum {
		s.sum, s.read, s.told, s.since = is, true, false, now
		return now.Add(f.cfg.Settle)
	}
	if s.pushed && s.lastSum == is {
		s.done = true // touched, or written again as it was
		return time.Time{}
	}
	return f.push(ctx, name, s, bytes, signatures, now)
}

func (f *folder) push(ctx context.Context, name string, s *file, bytes, signatures []byte, now time.Time) (due time.Time) {
	err := f.cfg.Push(ctx, strings.TrimSuffix(name, suffix), bytes, signatures)
	var refused *modules.RefusedError
	if err == nil || errors.As(err, &refused) {
		s.done, s.pushed, s.lastSum, s.retryAt = true, true, s.sum, time.Time{}
	}
	switch {
	case err == nil && s.told: // Push tells of what went well; this ends a trouble that was told
		f.cfg.Logger.Info("module in the watched folder published after all", "file", clip(name))
	case err == nil:
	case ctx.Err() != nil: // stopping; nobody needs to hear of it
	default:
		f.tell(name, s, err)
	}
	if s.done {
		return time.Time{}
	}
	return f.later(s, now)
}

// later puts off the next try.
func (f *folder) later(s *file, now time.Time) time.Time {
	s.wait = min(max(2*s.wait, firstRetry), lastRetry)
	s.retryAt = now.Add(s.wait)
	return s.retryAt
}

// acceptable checks what can be known without reading.
func (f *folder) acceptable(name string, s *file) error {
	if err := modules.CheckName(strings.TrimSuffix(name, suffix)); err != nil {
		return err
	}
	if s.is.size > f.cfg.MaxSize {
		return &modules.RefusedError{Code: "too_large", What: fmt.Sprintf("the file has %d bytes, more than %d", s.is.size, f.cfg.MaxSize), Where: "file",
			Fix: "build it smaller: strip symbols and DWARF, leave out what it does not use"}
	}
	if s.signed.size > modules.MaxSignatureText {
		return &modules.RefusedError{Code: "invalid_signature", What: fmt.Sprintf("the file of its signatures has %d bytes, more than %d", s.signed.size, modules.MaxSignatureText),
			Where: "file " + signatureSuffix, Fix: "put there what reprise module sign wrote"}
	}
	return nil
}

// tell logs a file's trouble once for each content.
func (f *folder) tell(name string, s *file, err error) {
	if s.told {
		return
	}
	s.told = true
	var refused *modules.RefusedError
	if errors.As(err, &refused) {
		f.cfg.Logger.Warn("module in the watched folder refused", "file", clip(name), "what", refused.What, "where", refused.Where, "fix", refused.Fix)
		return
	}
	f.cfg.Logger.Warn("module in the watched folder not published yet; trying again", "file", clip(name), "error", err)
}

func (f *folder) warn(err error) {
	if f.warned == err.Error() {
		return
	}
	f.warned = err.Error()
	f.cfg.Logger.Warn("the watched folder cannot be read; trying again", "folder", f.cfg.Dir, "every", f.cfg.Rescan, "error", err)
}

// clip makes a file's name safe for a log: it may hold any bytes but '/' and NUL.
func clip(name string) string {
	if modules.CheckName(name) == nil {
		return name
	}
	return fmt.Sprintf("%.80q", name)
}
