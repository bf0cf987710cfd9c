package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTrimRemovesTheOldest(t *testing.T) {
	dir := t.TempDir()
	old, young := filepath.Join(dir, "a", "old"), filepath.Join(dir, "young")
	if err := os.Mkdir(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, age := range map[string]time.Duration{old: time.Hour, young: time.Minute} {
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	if trim(dir, 200); !there(old) || !there(young) {
		t.Error("something was removed though there was room")
	}
	if trim(dir, 150); there(old) || !there(young) {
		t.Errorf("old is there: %v, young is there: %v; want only the young one", there(old), there(young))
	}
	trim(filepath.Join(dir, "missing"), 0) // no folder, no trouble
}
