package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"reprise/modules"
	"reprise/tenant"
)

// PushModule takes a module: checks it, stores it, and points name at it. Nothing is stored of a module
// that is refused. What is wrong with it is a *modules.RefusedError. When the tenant has trusted keys, one of
// sigs must vouch for it: until then nothing reads the bytes but the digest.
func (h *Host) PushModule(ctx context.Context, t tenant.ID, name string, bytes []byte, expect modules.Digest, sigs ...modules.Signature) (Pushed, error) {
	if name != "" {
		if err := modules.CheckName(name); err != nil {
			return Pushed{}, err
		}
	}
	digest := modules.DigestOf(bytes)
	if expect != "" && digest != expect {
		return Pushed{}, &Error{Kind: Conflict, Code: "digest_mismatch", What: fmt.Sprintf("the bytes have the digest %s, not %s", digest, expect),
			Where: "digest", Fix: "send the file that the digest was made from"}
	}
	signer, err := h.vouched(ctx, t, digest, name, sigs)
	if err != nil {
		return Pushed{}, err
	}
	log := h.cfg.Logger.With("tenant", string(t), "module", digest.Short())
	if signer != "" {
		log = log.With("signed_by", signer)
	}
	var out Pushed
	if out.Module, err = h.prepare(ctx, t, digest, bytes); err != nil {
		return Pushed{}, err
	}
	if out.Created, err = h.cfg.Store.PutModule(ctx, out.Module, bytes); err != nil {
		return Pushed{}, fmt.Errorf("store module %s: %w", digest.Short(), err)
	}
	if out.Module, err = h.cfg.Store.Module(ctx, t, digest); err != nil {
		return Pushed{}, fmt.Errorf("read module %s: %w", digest.Short(), err)
	}
	if out.Created {
		log.Info("module stored", "size", out.Module.Size)
	}
	if name == "" {
		return out, nil
	}
	if out.Alias, out.Moved, err = h.cfg.Store.SetAlias(ctx, t, name, digest); err != nil {
		return Pushed{}, fmt.Errorf("publish workflow %s: %w", name, err)
	}
	if out.Moved {
		log.Info("workflow published", "workflow", name, "version", out.Alias.Version)
	}
	return out, nil
}

// vouched returns the key that vouches for a module, empty when the tenant's modules need none. Expiry is
// judged by the store's clock, which all nodes share.
func (h *Host) vouched(ctx context.Context, t tenant.ID, d modules.Digest, name string, sigs []modules.Signature) (signer string, err error) {
	keys := h.cfg.Trust.Keys(t)
	if len(keys) == 0 {
		return "", nil
	}
	now, err := h.cfg.Store.Now(ctx)
	if err != nil {
		return "", fmt.Errorf("read the journal's clock: %w", err)
	}
	key, err := modules.Verify(d, name, sigs, keys, now)
	var refused *modules.RefusedError
	switch {
	case errors.As(err, &refused):
		return "", &Error{Kind: Forbidden, Code: refused.Code, What: refused.What, Where: refused.Where, Fix: refused.Fix, Err: err}
	case err != nil:
		return "", err
	}
	return key.String(), nil
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
