package host_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"reprise/abi"
	"reprise/host"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// TestRefusedModulesLeaveNothing pushes what must not be taken, and looks for traces.
func TestRefusedModulesLeaveNothing(t *testing.T) {
	n := newNode(t, nil)
	component := []byte{0, 'a', 's', 'm', 0x0d, 0, 1, 0}
	tests := map[string]struct {
		bytes []byte
		code  string
	}{
		"not Wasm":             {[]byte("#!/bin/sh\necho hello\n"), ""},
		"empty":                {nil, ""},
		"component":            {component, ""},
		"cut":                  {fixture(t, "steps")[:40], ""},
		"unknown import":       {fixture(t, "unknown_import"), "unknown_import"},
		"wrong import":         {fixture(t, "wrong_sig_import"), ""},
		"imported memory":      {fixture(t, "env_memory"), ""},
		"no entry":             {fixture(t, "no_entry"), "no_entry"},
		"wrong entry":          {fixture(t, "wrong_entry_sig"), "wrong_entry"},
		"not in this version":  {fixture(t, "unimplemented"), ""},
		"too large":            {make([]byte, modules.MaxSize+1), "too_large"},
		"body does not decode": {damaged(fixture(t, "trap")), "malformed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := n.PushModule(t.Context(), tenant.Default, "bad", tt.bytes, "")
			var refused *modules.RefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if tt.code != "" && refused.Code != tt.code {
				t.Errorf("got code %s, want %s", refused.Code, tt.code)
			}
			if refused.What == "" || refused.Where == "" || refused.Fix == "" || len(err.Error()) > 4<<10 {
				t.Errorf("got what %q, where %q, fix %q; want all three in 4 KiB", refused.What, refused.Where, refused.Fix)
			}
		})
	}
	mods, err := n.Modules(t.Context(), tenant.Default)
	if err != nil || len(mods) != 0 {
		t.Errorf("got modules %v, %v; want none stored", mods, err)
	}
	_, err = n.Module(t.Context(), tenant.Default, "bad")
	wantError(t, err, host.NotFound, "module_not_found")
}

// damaged makes the only instruction of a function, which has no locals, an opcode that does not exist.
func damaged(b []byte) []byte {
	return bytes.Replace(b, []byte{0x00, 0x00, 0x0b}, []byte{0x00, 0xff, 0x0b}, 1)
}

func TestRefusedNames(t *testing.T) {
	n := newNode(t, nil)
	for _, name := range []string{"../../etc/x", "a/b", "a\x00b", strings.Repeat("n", 256), "\u0430bc", ".", "-x", "a b"} {
		_, err := n.PushModule(t.Context(), tenant.Default, name, fixture(t, "echo"), "")
		var refused *modules.RefusedError
		if !errors.As(err, &refused) || refused.Code != "invalid_name" {
			t.Errorf("%q: got %v, want invalid_name", name, err)
		}
	}
	if mods, err := n.Modules(t.Context(), tenant.Default); err != nil || len(mods) != 0 {
		t.Errorf("got modules %v, %v; want none stored under a refused name", mods, err)
	}
}

func TestPushChecksTheExpectedDigest(t *testing.T) {
	n := newNode(t, nil)
	_, err := n.PushModule(t.Context(), tenant.Default, "echo", fixture(t, "echo"), modules.DigestOf([]byte("other")))
	wantError(t, err, host.Conflict, "digest_mismatch")
	if mods, _ := n.Modules(t.Context(), tenant.Default); len(mods) != 0 {
		t.Errorf("got modules %v, want none", mods)
	}
}

func TestRefusedStarts(t *testing.T) {
	n := newNode(t, nil)
	n.push("echo", "echo")
	long := strings.Repeat("x", abi.MaxName+1)
	tests := map[string]struct {
		req  host.StartRun
		kind host.ErrorKind
		code string
	}{
		"unknown workflow":     {host.StartRun{Workflow: "nobody"}, host.NotFound, "module_not_found"},
		"unknown digest":       {host.StartRun{Workflow: string(modules.DigestOf(nil))}, host.NotFound, "module_not_found"},
		"bad digest":           {host.StartRun{Workflow: "sha256:xyz"}, host.Invalid, "invalid_digest"},
		"no workflow":          {host.StartRun{}, host.Invalid, "invalid_name"},
		"long key":             {host.StartRun{Workflow: "echo", Key: long}, host.Invalid, "invalid_name"},
		"long idempotency key": {host.StartRun{Workflow: "echo", IdempotencyKey: long}, host.Invalid, "invalid_name"},
		"key not UTF-8":        {host.StartRun{Workflow: "echo", Key: "\xff"}, host.Invalid, "invalid_name"},
		"key with NUL":         {host.StartRun{Workflow: "echo", Key: "a\x00"}, host.Invalid, "invalid_name"},
		"input too large":      {host.StartRun{Workflow: "echo", Input: make([]byte, abi.MaxPayload+1)}, host.TooLarge, "payload_too_large"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := n.StartRun(t.Context(), tenant.Default, tt.req)
			wantError(t, err, tt.kind, tt.code)
		})
	}
	if page, err := n.Runs(t.Context(), tenant.Default, journal.Filter{}); err != nil || len(page.Runs) != 0 {
		t.Errorf("got runs %v, %v; want none of a refused start", page.Runs, err)
	}
	largest := n.start("echo", strings.Repeat("x", abi.MaxPayload))
	if run := n.end(largest); run.State != journal.Completed || len(run.Output) != abi.MaxPayload {
		t.Errorf("the largest input: got %s with %d bytes (%s)", run.State, len(run.Output), run.Reason)
	}
}

func TestUnknownRuns(t *testing.T) {
	n := newNode(t, nil)
	ctx, id := t.Context(), journal.NewRunID()
	_, err := n.Run(ctx, tenant.Default, id)
	wantError(t, err, host.NotFound, "run_not_found")
	_, err = n.Journal(ctx, tenant.Default, id, 0, 10)
	wantError(t, err, host.NotFound, "run_not_found")
	_, err = n.Result(ctx, tenant.Default, id, 0)
	wantError(t, err, host.NotFound, "run_not_found")
	_, err = n.Signal(ctx, tenant.Default, id, "1", "go", nil)
	wantError(t, err, host.NotFound, "run_not_found")
	_, err = n.Cancel(ctx, tenant.Default, id, "")
	wantError(t, err, host.NotFound, "run_not_found")
	_, err = n.Resume(ctx, tenant.Default, id)
	wantError(t, err, host.NotFound, "run_not_found")
	_, err = n.Replay(ctx, tenant.Default, id, "")
	wantError(t, err, host.NotFound, "run_not_found")
	_, err = n.Runs(ctx, tenant.Default, journal.Filter{State: "lost"})
	wantError(t, err, host.Invalid, "unknown_state")
	_, err = n.Runs(ctx, tenant.Default, journal.Filter{Cursor: "forged"})
	wantError(t, err, host.Invalid, "invalid_cursor")
}

// TestAnotherTenantSeesNothing: a run and module of one tenant do not exist for another.
func TestAnotherTenantSeesNothing(t *testing.T) {
	n := newNode(t, nil)
	d := n.push("signal", "signal")
	id := n.start("signal", "")
	const other tenant.ID = "other"
	_, err := n.Run(t.Context(), other, id)
	wantError(t, err, host.NotFound, "run_not_found")
	_, err = n.Signal(t.Context(), other, id, "1", "go", nil)
	wantError(t, err, host.NotFound, "run_not_found")
	_, err = n.Cancel(t.Context(), other, id, "")
	wantError(t, err, host.NotFound, "run_not_found")
	_, _, err = n.StartRun(t.Context(), other, host.StartRun{Workflow: "signal"})
	wantError(t, err, host.NotFound, "module_not_found")
	_, _, err = n.StartRun(t.Context(), other, host.StartRun{Workflow: string(d)})
	wantError(t, err, host.NotFound, "module_not_found")
	if page, err := n.Runs(t.Context(), other, journal.Filter{}); err != nil || len(page.Runs) != 0 {
		t.Errorf("got %v, %v; want no runs", page.Runs, err)
	}
}

func TestRefusedSignals(t *testing.T) {
	n := newNode(t, nil)
	n.push("signal", "signal")
	id := n.start("signal", "")
	n.until(id, journal.Waiting)
	send := func(signalID, name string, payload []byte) (bool, error) {
		return n.Signal(t.Context(), tenant.Default, id, signalID, name, payload)
	}
	_, err := send("1", "", nil)
	wantError(t, err, host.Invalid, "invalid_name")
	_, err = send("1", strings.Repeat("s", 256), nil)
	wantError(t, err, host.Invalid, "invalid_name")
	_, err = send("1", "go\xff", nil)
	wantError(t, err, host.Invalid, "invalid_name")
	_, err = send("1", "go", make([]byte, abi.MaxPayload+1))
	wantError(t, err, host.TooLarge, "payload_too_large")
	if dup, err := send("1", "later", []byte("a")); err != nil || dup {
		t.Errorf("got duplicate %v, %v; want taken", dup, err)
	}
	if dup, err := send("1", "later", []byte("a")); err != nil || !dup {
		t.Errorf("the same again: got duplicate %v, %v; want duplicate", dup, err)
	}
	_, err = send("1", "later", []byte("b"))
	wantError(t, err, host.Conflict, "signal_conflict")
}
