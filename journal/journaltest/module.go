package journaltest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"reprise/abi"
	"reprise/modules"
	"reprise/tenant"
)

func testModules(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"are stored once", func(f *fixture) {
			b := []byte("module one")
			before := f.now()
			m := modules.Module{Tenant: acme, Digest: modules.DigestOf(b), Size: int64(len(b)), Shape: modules.Reactor,
				Manifest: abi.Manifest{SDK: "go 1", Workflows: []string{"main", "größe \x00 \u2028"}, Activities: []string{"charge"}},
				Imports:  []string{"reprise_v1.wait", "wasi_snapshot_preview1.fd_write"}}
			created, err := f.Store.PutModule(f.Context(), m, b)
			f.must(err)
			if !created {
				f.Fatal("created: got false, want true")
			}
			got := f.module(acme, m.Digest)
			if got.CreatedAt.Before(before) || got.CreatedAt.After(f.now()) {
				f.Fatalf("created at: got %s, want the database's clock", got.CreatedAt)
			}
			m.CreatedAt = got.CreatedAt
			f.diff("module", got, m)

			again := m
			again.Manifest, again.Shape = abi.Manifest{SDK: "other"}, modules.Command
			created, err = f.Store.PutModule(f.Context(), again, b)
			f.must(err)
			if created {
				f.Fatal("created: got true, want false")
			}
			f.diff("module", f.module(acme, m.Digest), m)
		}},
		{"are not found", func(f *fixture) {
			d := modules.DigestOf([]byte("nobody pushed this"))
			_, err := f.Store.Module(f.Context(), acme, d)
			f.want("module", err, modules.ErrNotFound)
			_, err = f.Store.ModuleBytes(f.Context(), acme, d)
			f.want("bytes", err, modules.ErrNotFound)
			_, err = f.Store.Module(f.Context(), other, f.digest)
			f.want("another tenant's module", err, modules.ErrNotFound)
			_, err = f.Store.ModuleBytes(f.Context(), other, f.digest)
			f.want("another tenant's bytes", err, modules.ErrNotFound)
		}},
		{"belong to each tenant", func(f *fixture) {
			f.putModule(other, wasm)
			if got := f.module(other, f.digest).Tenant; got != other {
				f.Fatalf("tenant: got %s, want %s", got, other)
			}
		}},
		{"are listed newest first", func(f *fixture) {
			want := []modules.Module{f.module(acme, f.digest)}
			for i := range 3 {
				f.Advance(time.Millisecond)
				d := f.putModule(acme, fmt.Appendf(nil, "module %d", i))
				want = append([]modules.Module{f.module(acme, d)}, want...)
			}
			f.putModule(other, []byte("theirs"))
			got, err := f.Store.Modules(f.Context(), acme)
			f.must(err)
			f.diff("modules", got, want)
			got, err = f.Store.Modules(f.Context(), "nobody")
			f.must(err)
			f.diff("modules of nobody", got, []modules.Module{})
		}},
		{"may be large", func(f *fixture) {
			b := bytes.Repeat([]byte("0123456789abcde\x00"), 16<<20/16)
			d := f.putModule(acme, b)
			got, err := f.Store.ModuleBytes(f.Context(), acme, d)
			f.must(err)
			if !bytes.Equal(got, b) {
				f.Fatalf("bytes: got %d that differ, want %d as uploaded", len(got), len(b))
			}
		}},
		{"are mended by the next push", func(f *fixture) {
			m := f.module(acme, f.digest)
			created, err := f.Store.PutModule(f.Context(), m, []byte("damaged"))
			f.must(err)
			for range 2 {
				again, err := f.Store.PutModule(f.Context(), m, wasm)
				f.must(err)
				created = created || again
			}
			if got, err := f.Store.ModuleBytes(f.Context(), acme, f.digest); created || err != nil || !bytes.Equal(got, wasm) {
				f.Fatalf("got bytes %q, created %v, %v; want those of the last push in the same module", got, created, err)
			}
		}},
		{"may be pushed by many at once", func(f *fixture) {
			b := []byte("pushed by all")
			m := modules.Module{Tenant: acme, Digest: modules.DigestOf(b), Size: int64(len(b)), Shape: modules.Command}
			const n = 8
			var created [n]bool
			f.together(n, func(i int) (err error) {
				created[i], err = f.Store.PutModule(f.Context(), m, b)
				return err
			})
			count := 0
			for _, c := range created {
				if c {
					count++
				}
			}
			if count != 1 {
				f.Fatalf("created: got %d, want 1", count)
			}
		}},
	})
}

func (f *fixture) module(t tenant.ID, d modules.Digest) modules.Module {
	f.Helper()
	m, err := f.Store.Module(f.Context(), t, d)
	f.must(err)
	return m
}

// together runs act in n goroutines at once; none may fail.
func (f *fixture) together(n int, act func(i int) error) {
	f.Helper()
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = act(i)
		})
	}
	close(start)
	wg.Wait()
	for _, err := range errs {
		f.must(err)
	}
}

func (f *fixture) setAlias(name string, d modules.Digest, wantVersion int64, wantMoved bool) modules.Alias {
	f.Helper()
	a, moved, err := f.Store.SetAlias(f.Context(), acme, name, d)
	f.must(err)
	if a.Tenant != acme || a.Name != name || a.Digest != d || a.Version != wantVersion || moved != wantMoved || a.SetAt.IsZero() {
		f.Fatalf("set %s: got %+v, moved %v; want version %d of %s, moved %v", name, a, moved, wantVersion, d.Short(), wantMoved)
	}
	return a
}

func testAliases(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"have a dense history", func(f *fixture) {
			d2 := f.putModule(acme, []byte("second"))
			v1 := f.setAlias("order", f.digest, 1, true)
			f.diff("set again", f.setAlias("order", f.digest, 1, false), v1)
			f.Advance(time.Second)
			v2 := f.setAlias("order", d2, 2, true)
			v3 := f.setAlias("order", f.digest, 3, true)
			if v2.SetAt.Sub(v1.SetAt) < time.Second {
				f.Fatalf("set at: got %s and %s, want a second apart", v1.SetAt, v2.SetAt)
			}
			got, err := f.Store.Alias(f.Context(), acme, "order")
			f.must(err)
			f.diff("newest", got, v3)
			history, err := f.Store.AliasHistory(f.Context(), acme, "order")
			f.must(err)
			f.diff("history", history, []modules.Alias{v3, v2, v1})
		}},
		{"are listed by name", func(f *fixture) {
			d2 := f.putModule(acme, []byte("second"))
			f.setAlias("b", f.digest, 1, true)
			a := f.setAlias("a.x", f.digest, 1, true)
			upper := f.setAlias("B", f.digest, 1, true)
			b := f.setAlias("b", d2, 2, true)
			dash := f.setAlias("a-x", f.digest, 1, true)
			got, err := f.Store.Aliases(f.Context(), acme)
			f.must(err)
			f.diff("aliases", got, []modules.Alias{upper, dash, a, b})
			got, err = f.Store.Aliases(f.Context(), other)
			f.must(err)
			f.diff("another tenant's", got, []modules.Alias{})
		}},
		{"need a module of the tenant", func(f *fixture) {
			_, moved, err := f.Store.SetAlias(f.Context(), acme, "order", modules.DigestOf([]byte("nobody pushed this")))
			f.want("unknown module", err, modules.ErrNotFound)
			if moved {
				f.Fatal("moved: got true, want false")
			}
			_, _, err = f.Store.SetAlias(f.Context(), other, "order", f.digest)
			f.want("another tenant's module", err, modules.ErrNotFound)
			_, err = f.Store.Alias(f.Context(), acme, "order")
			f.want("alias", err, modules.ErrNotFound)
		}},
		{"are not found", func(f *fixture) {
			f.setAlias("order", f.digest, 1, true)
			for _, name := range []string{"orde", "Order", "order ", ""} {
				_, err := f.Store.Alias(f.Context(), acme, name)
				f.want("alias", err, modules.ErrNotFound)
				_, err = f.Store.AliasHistory(f.Context(), acme, name)
				f.want("history", err, modules.ErrNotFound)
			}
			_, err := f.Store.Alias(f.Context(), other, "order")
			f.want("another tenant's alias", err, modules.ErrNotFound)
			_, err = f.Store.AliasHistory(f.Context(), other, "order")
			f.want("another tenant's history", err, modules.ErrNotFound)
		}},
		{"move in one step among many", aliasRace},
	})
}

func aliasRace(f *fixture) {
	const movers, steps = 8, 10
	var digests [movers]modules.Digest
	for i := range digests {
		digests[i] = f.putModule(acme, fmt.Appendf(nil, "module %d", i))
	}
	var moved [movers]int
	f.together(movers, func(i int) error {
		for range steps {
			a, m, err := f.Store.SetAlias(f.Context(), acme, "order", digests[i])
			if err != nil {
				return err
			}
			if a.Digest != digests[i] {
				return fmt.Errorf("set to %s: got %s", digests[i].Short(), a.Digest.Short())
			}
			if m {
				moved[i]++
			}
		}
		return nil
	})
	total := 0
	for _, m := range moved {
		total += m
	}
	history, err := f.Store.AliasHistory(f.Context(), acme, "order")
	f.must(err)
	if len(history) != total {
		f.Fatalf("history: got %d steps, want as many as moves, %d", len(history), total)
	}
	for i, a := range history {
		if want := int64(total - i); a.Version != want {
			f.Fatalf("history: got version %d at %d, want %d", a.Version, i, want)
		}
		if i > 0 && a.Digest == history[i-1].Digest {
			f.Fatalf("history: version %d repeats its predecessor", history[i-1].Version)
		}
	}
}
