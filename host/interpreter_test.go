package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"reprise/host"
	"reprise/journal"
	"reprise/journal/sqlite"
	"reprise/modules"
	"reprise/tenant"
)

// TestInterpretedModule: a node runs one module by interpreter. A run that it has no room for is blocked, and goes on when it
// is resumed on a node that compiles the module.
func TestInterpretedModule(t *testing.T) {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	begin := func(interpreted ...modules.Digest) *node {
		h, err := host.New(host.Config{Store: store, Effects: steps(), Interpreted: interpreted})
		if err == nil {
			err = h.Start(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		return &node{Host: h, t: t, store: store}
	}
	n := begin(modules.DigestOf(fixture(t, "nested")))
	n.push("nested", "nested")
	if run := n.end(n.start("nested", "1000")); run.State != journal.Completed || string(run.Output) != "\xe8\x03\x00\x00" {
		t.Errorf("got %s (%s) %x of a run of 1,000 calls, want completed", run.State, run.Reason, run.Output)
	}
	id := n.start("nested", "10000")
	if run := n.until(id, journal.Blocked); !strings.HasPrefix(run.Reason, "interpreter_depth: ") {
		t.Errorf("got %q, want blocked for the interpreter's depth", run.Reason)
	}
	if err := n.Stop(ctx); err != nil {
		t.Error(err)
	}
	n = begin()
	if _, err := n.Resume(ctx, tenant.Default, id); err != nil {
		t.Fatal(err)
	}
	if run := n.end(id); run.State != journal.Completed || string(run.Output) != "\x10\x27\x00\x00" {
		t.Errorf("got %s (%s) %x where the module is compiled, want completed", run.State, run.Reason, run.Output)
	}
	if err := errors.Join(n.Stop(ctx), store.Close()); err != nil {
		t.Error(err)
	}
}

func TestInterpretedIsADigest(t *testing.T) {
	store, err := sqlite.Open(context.Background(), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := host.New(host.Config{Store: store, Interpreted: []modules.Digest{"sha256:12"}}); err == nil || !strings.Contains(err.Error(), "not a digest") {
		t.Errorf("got %v, want that it is not a digest", err)
	}
}
