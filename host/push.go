package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"reprise/host/internal/exec"
	"reprise/modules"
	"reprise/tenant"
)

// describeFor bounds what a module may take to describe itself at its upload.
const describeFor = 5 * time.Second

// PushModule takes a module: checks it, stores it, and points name at it. Nothing is stored of a module
// that is refused. What is wrong with it is a *modules.RefusedError.
func (h *Host) PushModule(ctx context.Context, t tenant.ID, name string, bytes []byte, expect modules.Digest) (Pushed, error) {
	if name != "" {
		if err := modules.CheckName(name); err != nil {
			return Pushed{}, err
		}
	}
	p, err := modules.Prepare(ctx, bytes)
	if err != nil {
		return Pushed{}, err
	}
	if expect != "" && p.Digest != expect {
		return Pushed{}, &Error{Kind: Conflict, Code: "digest_mismatch", What: fmt.Sprintf("the bytes have the digest %s, not %s", p.Digest, expect),
			Where: "digest", Fix: "send the file that the digest was made from"}
	}
	out := Pushed{Module: modules.Module{Tenant: t, Digest: p.Digest, Size: p.Size, Shape: p.Shape, Imports: p.Imports}}
	if _, err := h.engine.Load(ctx, p); err != nil {
		return Pushed{}, err
	}
	dctx, cancel := context.WithTimeout(ctx, describeFor)
	out.Module.Manifest, err = exec.Describe(dctx, h.describer, p)
	cancel()
	if err != nil {
		return Pushed{}, err
	}
	if out.Created, err = h.cfg.Store.PutModule(ctx, out.Module, bytes); err != nil {
		return Pushed{}, fmt.Errorf("store module %s: %w", p.Digest.Short(), err)
	}
	if out.Module, err = h.cfg.Store.Module(ctx, t, p.Digest); err != nil {
		return Pushed{}, fmt.Errorf("read module %s: %w", p.Digest.Short(), err)
	}
	if name == "" {
		return out, nil
	}
	if out.Alias, out.Moved, err = h.cfg.Store.SetAlias(ctx, t, name, p.Digest); err != nil {
		return Pushed{}, fmt.Errorf("publish workflow %s: %w", name, err)
	}
	if out.Moved {
		h.cfg.Logger.Info("workflow published", "tenant", string(t), "workflow", name, "version", out.Alias.Version, "module", p.Digest.Short())
	}
	return out, nil
}

// Modules lists a tenant's modules with the names that point at them.
func (h *Host) Modules(ctx context.Context, t tenant.ID) ([]ModuleView, error) {
	mods, err := h.cfg.Store.Modules(ctx, t)
	if err != nil {
		return nil, err
	}
	names, err := h.cfg.Store.Aliases(ctx, t)
	if err != nil {
		return nil, err
	}
	at := map[modules.Digest][]modules.Alias{}
	for _, a := range names {
		at[a.Digest] = append(at[a.Digest], a)
	}
	views := make([]ModuleView, len(mods))
	for i, m := range mods {
		views[i] = ModuleView{Module: m, Aliases: at[m.Digest]}
	}
	return views, nil
}

// Module finds a module by workflow name or digest.
func (h *Host) Module(ctx context.Context, t tenant.ID, ref string) (ModuleView, error) {
	digest, err := h.resolve(ctx, t, ref)
	if err != nil {
		return ModuleView{}, err
	}
	var v ModuleView
	if v.Module, err = h.cfg.Store.Module(ctx, t, digest); err != nil {
		return v, moduleError(err, ref)
	}
	names, err := h.cfg.Store.Aliases(ctx, t)
	if err != nil {
		return v, err
	}
	for _, a := range names {
		if a.Digest == digest {
			v.Aliases = append(v.Aliases, a)
		}
	}
	if !strings.HasPrefix(ref, "sha256:") {
		if v.History, err = h.cfg.Store.AliasHistory(ctx, t, ref); err != nil {
			return v, moduleError(err, ref)
		}
	}
	return v, nil
}

// resolve finds the digest that a workflow name or digest means now.
func (h *Host) resolve(ctx context.Context, t tenant.ID, ref string) (modules.Digest, error) {
	if strings.HasPrefix(ref, "sha256:") {
		d, err := modules.ParseDigest(ref)
		if err != nil {
			return "", &Error{Kind: Invalid, Code: "invalid_digest", What: err.Error(), Where: "module", Fix: "reprise module list shows the digests"}
		}
		return d, nil
	}
	if err := modules.CheckName(ref); err != nil {
		return "", err
	}
	a, err := h.cfg.Store.Alias(ctx, t, ref)
	if err != nil {
		return "", moduleError(err, ref)
	}
	return a.Digest, nil
}

// moduleError translates what a store says of a module.
func moduleError(err error, ref string) error {
	if errors.Is(err, modules.ErrNotFound) {
		return &Error{Kind: NotFound, Code: "module_not_found", What: fmt.Sprintf("there is no workflow or module %.100q", ref), Where: "module", Fix: "push one, or see reprise module list", Err: err}
	}
	return err
}
