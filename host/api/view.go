package api

import (
	"fmt"

	"reprise/host"
	"reprise/host/api/wire"
	"reprise/journal"
	"reprise/modules"
)

func viewRun(r journal.Run) wire.Run {
	w := wire.Run{
		ID: r.ID.String(), Workflow: r.Workflow, Digest: string(r.Digest), Entry: r.Entry,
		Key: r.Key, IdempotencyKey: r.IdempotencyKey,
		State: string(r.State), Reason: r.Reason, Waiting: r.Waiting,
		Attempts: r.Attempts, Owner: r.Owner, Token: r.Token, NextSeq: r.NextSeq,
		CancelRequested: r.CancelRequested,
		WakeAt:          wire.Time(r.WakeAt), CreatedAt: wire.Time(r.CreatedAt),
		UpdatedAt: wire.Time(r.UpdatedAt), FinishedAt: wire.Time(r.FinishedAt),
	}
	if r.Parent != (journal.RunID{}) {
		w.Parent = r.Parent.String()
	}
	if r.Successor != (journal.RunID{}) {
		w.Successor = r.Successor.String()
	}
	w.Input, w.InputBase64 = wire.Payload(r.Input)
	w.Output, w.OutputBase64 = wire.Payload(r.Output)
	w.Failure, w.FailureBase64 = wire.Payload(r.Failure)
	return w
}

func viewWhole(v host.RunView) wire.Run {
	w := viewRun(v.Run)
	w.Queued = v.Queued
	for _, p := range v.Published {
		published := wire.Published{Key: p.Key, At: wire.Time(p.At)}
		published.Value, published.ValueBase64 = wire.Payload(p.Value)
		w.Published = append(w.Published, published)
	}
	return w
}

func viewEntry(e journal.Entry) wire.Entry {
	w := wire.Entry{
		Seq: e.Seq, Kind: string(e.Kind), Op: e.Op, Name: e.Name, Status: e.Status.String(),
		Issued: e.Issued, Trail: fmt.Sprintf("%016x", e.Trail), Token: e.Token, At: wire.Time(e.At),
	}
	w.Request, w.RequestBase64 = wire.Payload(e.Request)
	w.Options, w.OptionsBase64 = wire.Payload(e.Options)
	w.Payload, w.PayloadBase64 = wire.Payload(e.Payload)
	return w
}

func viewModule(v host.ModuleView) wire.Module {
	m := v.Module
	return wire.Module{
		Digest: string(m.Digest), Size: m.Size, Shape: string(m.Shape),
		SDK: m.Manifest.SDK, Workflows: m.Manifest.Workflows, Activities: m.Manifest.Activities,
		Imports: m.Imports, CreatedAt: wire.Time(m.CreatedAt),
		Names: viewAliases(v.Aliases), History: viewAliases(v.History),
	}
}

func viewAliases(as []modules.Alias) []wire.Alias {
	var out []wire.Alias
	for _, a := range as {
		out = append(out, wire.Alias{Name: a.Name, Version: a.Version, Digest: string(a.Digest), SetAt: wire.Time(a.SetAt)})
	}
	return out
}

func viewPushed(p host.Pushed) wire.Pushed {
	return wire.Pushed{
		Digest: string(p.Module.Digest), Size: p.Module.Size, Created: p.Created,
		Name: p.Alias.Name, Version: p.Alias.Version, Moved: p.Moved,
		Workflows: p.Module.Manifest.Workflows, Activities: p.Module.Manifest.Activities,
	}
}
