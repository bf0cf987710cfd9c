package host_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"reprise/host"
	"reprise/journal/sqlite"
	"reprise/modules"
	"reprise/tenant"
)

// lateClock is a store whose clock is ahead of this machine's.
type lateClock struct {
	*sqlite.Store
	ahead time.Duration
}

func (s lateClock) Now(ctx context.Context) (time.Time, error) {
	now, err := s.Store.Now(ctx)
	return now.Add(s.ahead), err
}

// TestModulesThatNobodyVouchesFor pushes a valid module with every signature that must not do: it is
// refused, and nothing of it is stored, compiled or published.
func TestModulesThatNobodyVouchesFor(t *testing.T) {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	stranger := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32))
	var log bytes.Buffer
	const ahead = 48 * time.Hour
	h, err := host.New(host.Config{Store: lateClock{store, ahead}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Trust: modules.Trust{Tenants: map[tenant.ID][]modules.TrustedKey{"ann": {modules.PublicKey(key)}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(h.Stop(ctx), store.Close()); err != nil {
			t.Error(err)
		}
	})
	wasm := fixture(t, "echo")
	sign := func(k ed25519.PrivateKey, of []byte, name string, lives time.Duration) modules.Signature {
		s, err := modules.Sign(k, modules.Statement{Digest: modules.DigestOf(of), Name: name, Expires: time.Now().Add(ahead + lives)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, tt := range map[string]struct {
		sigs []modules.Signature
		code string
	}{
		"not signed":                     {nil, "signature_missing"},
		"a stranger's key":               {[]modules.Signature{sign(stranger, wasm, "", time.Hour)}, "signature_untrusted"},
		"another digest":                 {[]modules.Signature{sign(key, fixture(t, "steps"), "", time.Hour)}, "signature_mismatch"},
		"another name":                   {[]modules.Signature{sign(key, wasm, "ohce", time.Hour)}, "signature_mismatch"},
		"expired by the store's clock":   {[]modules.Signature{sign(key, wasm, "", -time.Hour)}, "signature_expired"},
		"expired, and a stranger's good": {[]modules.Signature{sign(key, wasm, "", -time.Hour), sign(stranger, wasm, "", time.Hour)}, "signature_expired"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.PushModule(ctx, "ann", "echo", wasm, "", tt.sigs...)
			wantError(t, err, host.Forbidden, tt.code)
		})
	}
	// What is not even Wasm is judged by its signature first.
	_, err = h.PushModule(ctx, "ann", "echo", []byte("no module"), "")
	wantError(t, err, host.Forbidden, "signature_missing")
	if mods, err := h.Modules(ctx, "ann"); err != nil || len(mods) != 0 {
		t.Errorf("got modules %v, %v; want none stored", mods, err)
	}
	_, err = h.Module(ctx, "ann", "echo")
	wantError(t, err, host.NotFound, "module_not_found")
	if log.Len() != 0 {
		t.Errorf("got log %s, want nothing said of what is refused", log.String())
	}

	// With a signature it is taken, and the log says whose.
	if p, err := h.PushModule(ctx, "ann", "echo", wasm, "", sign(stranger, wasm, "", time.Hour), sign(key, wasm, "echo", time.Hour)); err != nil || !p.Created || !p.Moved {
		t.Fatalf("got %+v, %v; want it taken", p, err)
	}
	if want := "signed_by=" + modules.PublicKey(key).String(); strings.Count(log.String(), want) != 2 {
		t.Errorf("got log %s, want %s for the module and its name", log.String(), want)
	}
	// That it is stored now is no signature.
	_, err = h.PushModule(ctx, "ann", "other", wasm, modules.DigestOf(wasm))
	wantError(t, err, host.Forbidden, "signature_missing")
	// Another tenant has no keys, so it needs no signature, and a wrong one does not matter.
	if _, err := h.PushModule(ctx, "bob", "echo", wasm, "", sign(stranger, nil, "", -time.Hour)); err != nil {
		t.Errorf("a tenant without keys: got %v, want it taken", err)
	}
}
