package sandbox

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"reprise/modules"
)

// TestDamagedCacheIsRebuilt: whatever happened to a compiled module on disk, the module itself is good.
func TestDamagedCacheIsRebuilt(t *testing.T) {
	ctx := context.Background()
	code, err := os.ReadFile("../../../testdata/wasm/steps.wasm")
	if err != nil {
		t.Fatal(err)
	}
	p, err := modules.Prepare(ctx, code)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	load := func() {
		t.Helper()
		e, err := New(ctx, Config{CacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(ctx)
		if _, err := e.Load(ctx, p); err != nil {
			t.Error(err)
		}
	}
	load()
	damages := map[string]func(b []byte) []byte{
		"empty":        func([]byte) []byte { return nil },
		"cut":          func(b []byte) []byte { return b[:len(b)/2] },
		"one bit":      func(b []byte) []byte { b[len(b)-20] ^= 1; return b },
		"another file": func([]byte) []byte { return []byte("not a compiled module at all, but long enough to be one") },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			files := cached(t, dir)
			if len(files) == 0 {
				t.Fatal("nothing is cached")
			}
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(f, damage(b), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			load()
			load()
		})
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got mode %v, %v; want 0700: who can write there controls the host", info.Mode(), err)
	}
}

func cached(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
