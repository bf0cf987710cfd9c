package modules

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/tenant"
)

// keyOf makes a key from a seed of one repeated byte.
func keyOf(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

func signed(t *testing.T, key ed25519.PrivateKey, s Statement) Signature {
	t.Helper()
	sig, err := Sign(key, s)
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

var (
	signedBytes = []byte("\x00asm\x01\x00\x00\x00")
	expiry      = time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
)

// TestSignatureVector fixes the form for ever: a signature that somebody keeps in a file must go on to hold.
// The key is that of test 1 of RFC 8032, section 7.1.
func TestSignatureVector(t *testing.T) {
	seed, err := hex.DecodeString("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
	if err != nil {
		t.Fatal(err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	sig := signed(t, key, Statement{Digest: DigestOf(signedBytes), Expires: expiry, Name: "hello"})
	const statement = "reprise module signature 1\n" +
		"digest sha256:93a44bbb96c751218e4c00d479e4c14358122a389acca16205b1e4d0dc5f9476\n" +
		"expires 2027-01-31T00:00:00Z\n" +
		"workflow hello\n"
	const public = "ed25519:11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
	const text = "reprise-sig-1.cmVwcmlzZSBtb2R1bGUgc2lnbmF0dXJlIDEKZGlnZXN0IHNoYTI1Njo5M2E0NGJiYjk2Yzc1MTIxOGU0YzAwZDQ3OWU0YzE0MzU4MTIyYTM4OWFjY2ExNjIwNWIxZTRkMGRjNWY5NDc2CmV4cGlyZXMgMjAyNy0wMS0zMVQwMDowMDowMFoKd29ya2Zsb3cgaGVsbG8K." +
		"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo.I4VVjugtqZCMCaquhavEAo0-KISOgY1y0AZX3Znf6wYMunUHCfa3v9-PTt9eQT-GaM2FsufQPupni6Z6urQbCg"
	if diff := cmp.Diff(statement, string(sig.Statement.Bytes())); diff != "" {
		t.Errorf("statement (-want +got):\n%s", diff)
	}
	if got := sig.Key.String(); got != public {
		t.Errorf("got key %s, want %s", got, public)
	}
	if got := sig.String(); got != text {
		t.Errorf("got %s\nwant %s", got, text)
	}
	back, err := ParseSignatures(text)
	if err != nil || len(back) != 1 || back[0] != sig {
		t.Errorf("got %v, %v; want the signature back", back, err)
	}
}

func TestVerify(t *testing.T) {
	d := DigestOf(signedBytes)
	trusted, stranger := keyOf(1), keyOf(2)
	keys := []TrustedKey{PublicKey(keyOf(3)), PublicKey(trusted)}
	now := expiry.Add(-time.Hour)
	any := Statement{Digest: d, Expires: expiry}
	named := Statement{Digest: d, Expires: expiry, Name: "hello"}
	other := Statement{Digest: DigestOf(nil), Expires: expiry}
	over := Statement{Digest: d, Expires: now}
	forged := signed(t, trusted, over)
	forged.Statement.Expires = expiry // what was signed ended earlier
	renamed := signed(t, stranger, any)
	renamed.Key = PublicKey(trusted)
	tests := []struct {
		name string
		as   string
		sigs []Signature
		code string
	}{
		{"none", "hello", nil, "signature_missing"},
		{"any name", "hello", []Signature{signed(t, trusted, any)}, ""},
		{"any name, pushed without one", "", []Signature{signed(t, trusted, any)}, ""},
		{"its own name", "hello", []Signature{signed(t, trusted, named)}, ""},
		{"another name", "hullo", []Signature{signed(t, trusted, named)}, "signature_mismatch"},
		{"without its name", "", []Signature{signed(t, trusted, named)}, "signature_mismatch"},
		{"a stranger's", "hello", []Signature{signed(t, stranger, any)}, "signature_untrusted"},
		{"a stranger's under a trusted key's name", "hello", []Signature{renamed}, "signature_mismatch"},
		{"another digest", "hello", []Signature{signed(t, trusted, other)}, "signature_mismatch"},
		{"expired at this moment", "hello", []Signature{signed(t, trusted, over)}, "signature_expired"},
		{"longer than was signed", "hello", []Signature{forged}, "signature_mismatch"},
		{"the second of two", "hello", []Signature{signed(t, stranger, any), signed(t, trusted, any)}, ""},
		{"tells of the one that came furthest", "hello", []Signature{signed(t, trusted, over), signed(t, stranger, any)}, "signature_expired"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key, err := Verify(d, tt.as, tt.sigs, keys, now)
			if tt.code == "" {
				if err != nil || key != PublicKey(trusted) {
					t.Fatalf("got key %s, %v; want %s", key, err, PublicKey(trusted))
				}
				return
			}
			var refused *RefusedError
			if !errors.As(err, &refused) || refused.Code != tt.code || key != (TrustedKey{}) {
				t.Fatalf("got %v and key %s, want %s and none", err, key, tt.code)
			}
			if refused.What == "" || refused.Where == "" || refused.Fix == "" {
				t.Errorf("got what %q, where %q, fix %q; want all three", refused.What, refused.Where, refused.Fix)
			}
		})
	}
}

// TestEveryChangedByteEndsASignature flips each character of a signature's text: what is left is refused, or
// does not verify.
func TestEveryChangedByteEndsASignature(t *testing.T) {
	key := keyOf(1)
	d := DigestOf(signedBytes)
	text := signed(t, key, Statement{Digest: d, Expires: expiry, Name: "hello"}).String()
	for i := range text {
		for _, c := range []byte("A_1,") {
			if text[i] == c {
				continue
			}
			changed := text[:i] + string(c) + text[i+1:]
			sigs, err := ParseSignatures(changed)
			if err != nil {
				continue
			}
			if k, err := Verify(d, "hello", sigs, []TrustedKey{PublicKey(key)}, expiry.Add(-time.Hour)); err == nil {
				t.Fatalf("byte %d made %q: got vouched for by %s, want refused: %s", i, c, k, changed)
			}
		}
	}
}

func TestSignRefuses(t *testing.T) {
	d := DigestOf(signedBytes)
	for name, s := range map[string]Statement{
		"no digest":         {Expires: expiry},
		"digest in capital": {Digest: Digest(strings.ToUpper(string(d))), Expires: expiry},
		"no expiry":         {Digest: d},
		"far expiry":        {Digest: d, Expires: expiry.AddDate(9000, 0, 0)},
		"name with a line":  {Digest: d, Expires: expiry, Name: "a\nb"},
		"name like any":     {Digest: d, Expires: expiry, Name: "*"},
	} {
		if sig, err := Sign(keyOf(1), s); err == nil {
			t.Errorf("%s: got %q, want an error", name, sig.Statement.Bytes())
		}
	}
	half := signed(t, keyOf(1), Statement{Digest: d, Expires: expiry.Add(time.Second / 2)})
	if !half.Statement.Expires.Equal(expiry) {
		t.Errorf("got expiry %s, want it cut to %s", half.Statement.Expires, expiry)
	}
}

func TestParseSignatures(t *testing.T) {
	d := DigestOf(signedBytes)
	sig := signed(t, keyOf(1), Statement{Digest: d, Expires: expiry})
	parts := strings.Split(sig.String(), ".")
	of := func(statement string) string {
		return strings.Join([]string{parts[0], base64url.EncodeToString([]byte(statement)), parts[2], parts[3]}, ".")
	}
	good := string(sig.Statement.Bytes())
	for name, text := range map[string]string{
		"a word":               "signature",
		"three parts":          strings.Join(parts[:3], "."),
		"five parts":           sig.String() + ".x",
		"another version":      strings.Replace(sig.String(), "reprise-sig-1", "reprise-sig-2", 1),
		"padding":              parts[0] + "." + parts[1] + "." + parts[2] + "=." + parts[3],
		"standard base64":      parts[0] + "." + parts[1] + "." + parts[2][:42] + "+." + parts[3],
		"short key":            parts[0] + "." + parts[1] + "." + parts[2][:40] + "." + parts[3],
		"bits left over":       parts[0] + "." + parts[1] + "." + parts[2][:42] + "_." + parts[3],
		"another head":         of(strings.Replace(good, "signature 1", "signature 2", 1)),
		"a fifth line":         of(good + "more\n"),
		"no last line feed":    of(strings.TrimSuffix(good, "\n")),
		"carriage returns":     of(strings.ReplaceAll(good, "\n", "\r\n")),
		"two spaces":           of(strings.Replace(good, "digest ", "digest  ", 1)),
		"lines in other order": of(strings.Replace(strings.Replace(good, "digest", "x", 1), "expires", "digest", 1)),
		"fraction of a second": of(strings.Replace(good, "00Z", "00.5Z", 1)),
		"another zone":         of(strings.Replace(good, "00Z", "00+00:00", 1)),
		"no name":              of(strings.Replace(good, "workflow *", "workflow ", 1)),
		"too many":             strings.Repeat(sig.String()+",", MaxSignatures+1),
		"too long":             strings.Repeat(" ", MaxSignatureText+1),
	} {
		var refused *RefusedError
		if got, err := ParseSignatures(text); !errors.As(err, &refused) || refused.Code != "invalid_signature" {
			t.Errorf("%s: got %v, %v; want invalid_signature", name, got, err)
		}
	}
	for name, text := range map[string]string{"comma": sig.String() + ", " + sig.String(), "lines": sig.String() + "\r\n" + sig.String() + "\n\n"} {
		if got, err := ParseSignatures(text); err != nil || !cmp.Equal(got, []Signature{sig, sig}) {
			t.Errorf("%s: got %v, %v; want it twice", name, got, err)
		}
	}
	if got, err := ParseSignatures(" \n"); err != nil || got != nil {
		t.Errorf("nothing: got %v, %v; want none", got, err)
	}
	longest := signed(t, keyOf(1), Statement{Digest: d, Expires: expiry, Name: strings.Repeat("n", 255)})
	if n := MaxSignatures * (len(longest.String()) + 1); n > MaxSignatureText {
		t.Errorf("the longest signatures have %d bytes, more than MaxSignatureText", n)
	}
}

func TestKeys(t *testing.T) {
	key := keyOf(7)
	file, err := FormatPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ParsePrivateKey(file); err != nil || !back.Equal(key) {
		t.Errorf("got %v, want the private key back", err)
	}
	public := PublicKey(key)
	if back, err := ParseTrustedKey(public.String()); err != nil || back != public {
		t.Errorf("got %s, %v; want %s", back, err, public)
	}
	if _, err := ParseTrustedKey(string(file)); !errors.Is(err, ErrPrivateKey) {
		t.Errorf("a private key as a public one: got %v, want ErrPrivateKey", err)
	}
	for _, bad := range []string{"", "ed25519:", "rsa:" + public.String()[8:], public.String() + "A", public.String()[:50], public.String() + "="} {
		if got, err := ParseTrustedKey(bad); err == nil {
			t.Errorf("%q: got %s, want an error", bad, got)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "public": public.String(), "two": string(file) + string(file), "text": "secret",
		"other block": strings.ReplaceAll(string(file), "PRIVATE KEY", "EC PRIVATE KEY"),
		"damaged":     strings.Replace(string(file), "MC4CAQ", "MC4CAA", 1),
	} {
		if _, err := ParsePrivateKey([]byte(text)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want an error that repeats nothing", name, err)
		}
	}
}

func TestTrust(t *testing.T) {
	all, anns := PublicKey(keyOf(1)), PublicKey(keyOf(2))
	for name, tt := range map[string]struct {
		trust Trust
		of    tenant.ID
		want  []TrustedKey
	}{
		"nobody":              {Trust{}, "ann", nil},
		"everyone":            {Trust{Everyone: []TrustedKey{all}}, "bob", []TrustedKey{all}},
		"everyone and ann":    {Trust{Everyone: []TrustedKey{all}, Tenants: map[tenant.ID][]TrustedKey{"ann": {anns}}}, "ann", []TrustedKey{all, anns}},
		"ann's are not bob's": {Trust{Tenants: map[tenant.ID][]TrustedKey{"ann": {anns}}}, "bob", nil},
	} {
		if diff := cmp.Diff(tt.want, tt.trust.Keys(tt.of)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzSignatures reads any text; what is read has one form, which reads as the same.
func FuzzSignatures(f *testing.F) {
	sig, err := Sign(keyOf(1), Statement{Digest: DigestOf(nil), Expires: expiry})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sig.String())
	f.Add(sig.String() + "," + sig.String())
	f.Add("reprise-sig-1...")
	f.Fuzz(func(t *testing.T, text string) {
		sigs, err := ParseSignatures(text)
		if err != nil {
			return
		}
		for _, s := range sigs {
			if !strings.Contains(text, s.String()) {
				t.Errorf("%q was read as %s", text, s)
			}
		}
	})
}
