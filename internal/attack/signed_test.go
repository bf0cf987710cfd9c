package attack

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"strings"
	"time"

	"reprise/modules"
	"reprise/tenant"
)

// signatureAttack publishes without the right to. Only ann's modules need signatures.
func signatureAttack() attack {
	return attack{number: 33, what: "a module without a signature, or with one of another key, module, workflow or time, or one that was changed: 403, nothing kept",
		bounds: decoding, run: forgedSignatures,
		setup: func(c *config) {
			c.host.Trust = modules.Trust{Tenants: map[tenant.ID][]modules.TrustedKey{ann: {modules.PublicKey(signingKey(1))}, bob: nil}}
		}}
}

// signingKey is a key made of one byte.
func signingKey(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

func forgedSignatures(v *victim) {
	m := fixture("echo")
	later, before := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	sign := func(key byte, of []byte, expires time.Time, name string) modules.Signature {
		s, err := modules.Sign(signingKey(key), modules.Statement{Digest: modules.DigestOf(of), Expires: expires, Name: name})
		v.check("sign", err)
		return s
	}
	good := sign(1, m, later, "echo")
	changed := sign(1, m, before, "echo")
	changed.Statement.Expires = good.Statement.Expires // what it says is not what was signed
	renamed := sign(1, m, later, "other")
	renamed.Statement.Name = "echo"
	lent := sign(2, m, later, "echo")
	lent.Key = good.Key // the trusted key over another's signature
	for what, tt := range map[string]struct {
		text, code string
		status     int
	}{
		"none":                       {"", "signature_missing", http.StatusForbidden},
		"another key":                {sign(2, m, later, "echo").String(), "signature_untrusted", http.StatusForbidden},
		"another module":             {sign(1, fixture("steps"), later, "echo").String(), "signature_mismatch", http.StatusForbidden},
		"another workflow":           {sign(1, m, later, "other").String(), "signature_mismatch", http.StatusForbidden},
		"expired":                    {sign(1, m, before, "echo").String(), "signature_expired", http.StatusForbidden},
		"its time changed":           {changed.String(), "signature_mismatch", http.StatusForbidden},
		"its workflow changed":       {renamed.String(), "signature_mismatch", http.StatusForbidden},
		"the trusted key put in":     {lent.String(), "signature_mismatch", http.StatusForbidden},
		"several, none of them good": {strings.Join([]string{sign(2, m, later, "").String(), changed.String()}, ","), "signature_mismatch", http.StatusForbidden},
		"no signature at all":        {"reprise-sig-1.x.y.z", "invalid_signature", http.StatusBadRequest},
		"a key instead":              {good.Key.String(), "invalid_signature", http.StatusBadRequest},
		"cut":                        {good.String()[:100], "invalid_signature", http.StatusBadRequest},
		"a thousand":                 {strings.Repeat("x,", 1000), "invalid_signature", http.StatusBadRequest},
		"longer than any":            {strings.Repeat("x", 20_000), "invalid_signature", http.StatusBadRequest},
	} {
		a := v.pushSigned("echo", m, tt.text)
		v.refusal(what, a, tt.code)
		if a.status != tt.status {
			v.errorf("%s: got %d, want %d", what, a.status, tt.status)
		}
		if strings.Contains(string(a.body), fmt.Sprintf("%x", signingKey(1).Seed())) {
			v.errorf("%s: the answer has a key in it", what)
		}
	}
	if n := v.modules(ann); n != 0 {
		v.errorf("ann has %d modules, want none", n)
	}
	// The right one is taken, under its name only; then the module is there, and is no one's to publish under another.
	if a := v.pushSigned("echo", m, good.String()); a.status != http.StatusCreated {
		v.errorf("the right signature: got %d %s, want 201", a.status, a.body)
	}
	v.refusal("another name", v.pushSigned("other", m, good.String()), "signature_mismatch")
	v.refusal("the same bytes without a signature", v.push(ann, "other", m), "signature_missing")
	a, err := v.call(ann, http.MethodGet, modulePath("other"), nil, nil)
	v.check("look for the name", err)
	v.refusal("the refused name", a, "module_not_found")
}

func (v *victim) pushSigned(name string, wasm []byte, signature string) answer {
	header := wasmType.Clone()
	if signature != "" {
		header.Set("Reprise-Signature", signature)
	}
	a, err := v.call(ann, http.MethodPut, modulePath(name), header, bytes.NewReader(wasm))
	v.check("upload", err)
	return a
}
