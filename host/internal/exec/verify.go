package exec

import (
	"context"
	"errors"
	"fmt"

	"reprise/abi"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
)

// Report is what replaying a journal found.
type Report struct {
	Entries int64 // that matched
	// Ending is the terminal kind that both sides reached, or "live" when the journal ended first.
	Ending string
	// Mismatch is set when the module did something else.
	Mismatch *NondeterminismError
}

// Replay runs a journal against a module without writing or launching anything.
func (t *Turner) Replay(ctx context.Context, run journal.Run, digest modules.Digest) (Report, error) {
	entries, err := t.history(ctx, run, 0, run.NextSeq)
	if err != nil {
		return Report{}, err
	}
	pin, err := t.pinned(entries)
	if err != nil {
		return Report{}, err
	}
	mod, err := t.load(ctx, run.Tenant, digest)
	if err != nil {
		return Report{}, err
	}
	x := newExecution(run, digest, pin, entries)
	err = x.begin()
	if err == nil {
		err = x.verify(mod.Run(ctx, x, ""))
	}
	rep := Report{Entries: int64(x.cur.pos)}
	switch {
	case err == nil:
		rep.Ending = string(entries[len(entries)-1].Kind)
	case errors.Is(err, errLive):
		rep.Ending = "live"
	case errors.As(err, &rep.Mismatch):
	default:
		return Report{}, err
	}
	return rep, nil
}

// verify compares an ending with the journal's rest.
func (x *execution) verify(end sandbox.Ending) error {
	e, err := x.terminal(end)
	if err != nil {
		return err
	}
	if !x.cur.more() {
		return errLive // the guest ended where the journal has not got to
	}
	return x.compareEnd(e)
}

// describeGas bounds what a module may compute to describe itself: about a second.
const describeGas = 1_000_000_000

// Describe asks a module for its manifest, in an instance that may ask the host for nothing. ctx stops
// it. A module that cannot say is no error: its manifest is empty.
func Describe(ctx context.Context, engine *sandbox.Engine, p *modules.Prepared) (abi.Manifest, error) {
	if !p.UsesDescribe {
		return abi.Manifest{}, nil
	}
	mod, err := engine.Load(ctx, p)
	if err != nil {
		return abi.Manifest{}, err
	}
	x := &execution{m: newMachine([]byte(p.Digest)), entry: sandbox.Entry{Kind: abi.EntryDescribe, Args: []string{"describe"}, Limits: abi.Limits{Gas: describeGas}},
		log: func(int32, string, string) {}}
	end := mod.Run(ctx, x, "")
	if errors.Is(end.Cause, sandbox.ErrPressure) || ctx.Err() != nil {
		return abi.Manifest{}, fmt.Errorf("ask module %s what it is: %w", p.Digest.Short(), errors.Join(end.Cause, ctx.Err()))
	}
	if end.Cause != nil || end.Failure != nil {
		return abi.Manifest{}, nil
	}
	m, err := abi.DecodeManifest(end.Output)
	if err != nil {
		return abi.Manifest{}, &modules.RefusedError{Code: "invalid_manifest", What: err.Error(), Where: "what the module writes when entry_kind is 3",
			Fix: fmt.Sprintf("write {\"workflows\": [...], \"activities\": [...]} with names of at most %d bytes, or nothing", abi.MaxName)}
	}
	return m, nil
}
