package sqlite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise/journal"
)

func TestOpenTwice(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.db")
	s := open(t, Config{Path: path})
	link := filepath.Join(dir, "other-name.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Join(dir, ".", "journal.db"), link} {
		if _, err := Open(t.Context(), Config{Path: p}); err == nil || !strings.Contains(err.Error(), "already open in this process") {
			t.Fatalf("open %s: got error %v, want that it is open already", p, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("close again: got %v, want nil", err)
	}
	open(t, Config{Path: link})
}

func TestMemoryIsPrivate(t *testing.T) {
	a, b := open(t, Config{}), open(t, Config{Path: ":memory:"})
	if _, err := a.Register(t.Context(), "n1", 1e9); err != nil {
		t.Fatal(err)
	}
	ns, err := b.ListNodes(t.Context())
	if err != nil || len(ns) != 0 {
		t.Fatalf("nodes of another store: got %v, %v, want none", ns, err)
	}
	if _, err := os.Stat(":memory:"); err == nil {
		t.Fatal("a file named :memory: was made")
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	open(t, Config{Path: filepath.Join(dir, "journal.db")})
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got mode %o, want 600", f.Name(), info.Mode().Perm())
		}
		names = append(names, f.Name())
	}
	if got, want := strings.Join(names, " "), "journal.db journal.db-shm journal.db-wal journal.db.lock"; got != want {
		t.Fatalf("files: got %q, want %q", got, want)
	}
}

func TestOddPaths(t *testing.T) {
	for _, name := range []string{"with space.db", "a?mode=memory&b.db", "100%25#x.db", "größe.db", "file:x.db", "a'b;--.db"} {
		path := filepath.Join(t.TempDir(), name)
		s := open(t, Config{Path: path})
		if _, err := s.Register(t.Context(), "n1", 1e9); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
			t.Fatalf("%s: got %v, %v, want its WAL beside it", name, info, err)
		}
	}
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	content := bytes.Repeat([]byte("this is no database. "), 1000)
	if err := os.WriteFile(garbage, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the failure leaves no lock behind
		for path, want := range map[string]string{
			garbage:                              "not a database",
			filepath.Join(dir, "none", "x.db"):   "no such file or directory",
			dir:                                  "is a directory",
			filepath.Join(dir, "nul\x00.db"):     "invalid argument",
			filepath.Join(garbage, "beneath.db"): "not a directory",
		} {
			if _, err := Open(t.Context(), Config{Path: path}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
				t.Errorf("open %q: got error %v, want one with %q and the path", path, err, want)
			}
		}
	}
	if after, err := os.ReadFile(garbage); err != nil || !bytes.Equal(after, content) {
		t.Errorf("the file that is no database was changed: %v", err)
	}
}

func TestNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s := open(t, Config{Path: path})
	w := <-s.writer
	if _, err := w.exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`); err != nil {
		t.Fatal(err)
	}
	s.writer <- w
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Config{Path: path})
	if !errors.Is(err, journal.ErrSchema) {
		t.Fatalf("open: got error %v, want %v", err, journal.ErrSchema)
	}
	for _, word := range []string{path, "version 99", "up to 7", "newer one"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q: want it to say %q", err, word)
		}
	}
}

// TestEarlierBootsEnd checks what only a store with one process can promise: any node takes over at once.
func TestEarlierBootsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s, leases := started(t, Config{Path: path}, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, Config{Path: path})
	node, err := s.Register(t.Context(), "another name", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := s.Claim(t.Context(), node.ID, journal.Want{Limit: 1})
	if err != nil || len(cs.Claims) != 1 || cs.Claims[0].StolenFrom != leases[0].Node {
		t.Fatalf("claim: got %+v, %v, want the run of %s", cs.Claims, err, leases[0].Node)
	}
}

func TestCursor(t *testing.T) {
	c := cursor("acme", 42)
	if n, ok := parseCursor("acme", c); !ok || n != 42 {
		t.Fatalf("parse: got %d, %v, want 42", n, ok)
	}
	if _, ok := parseCursor("other", c); ok {
		t.Error("parse for another tenant: got ok, want not")
	}
	for i := range c {
		forged := []byte(c)
		forged[i] ^= 1
		if n, ok := parseCursor("acme", string(forged)); ok {
			t.Errorf("parse with character %d changed: got %d, want not ok", i, n)
		}
	}
}

func TestDurability(t *testing.T) {
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "journal.db")})
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "wal_autocheckpoint": "10000", "cache_size": "-65536"} {
		for i, c := range s.conns {
			var got string
			if _, err := c.row(`PRAGMA `+pragma, nil, &got); err != nil || got != want {
				t.Errorf("connection %d, %s: got %q, %v, want %q", i, pragma, got, err, want)
			}
		}
	}
}
