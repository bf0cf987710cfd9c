package modules

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise/tenant"
)

// Statement is what a signature says: a module's bytes may be published, until when, and under which name.
type Statement struct {
	Digest  Digest
	Expires time.Time // to the second; the statement holds before it, not at it
	Name    string    // workflow name; empty: under any name, and without one
}

// statementHead is the first line of every statement. It keeps a key's signature of anything else from being one of a module.
const statementHead = "reprise module signature 1"

// anyName stands in a statement for no name. CheckName takes it for none.
const anyName = "*"

// Bytes is what is signed: four lines, each ended by a line feed. docs/MODULES.md has an example.
//
//	reprise module signature 1
//	digest sha256:HEX
//	expires 2027-01-31T00:00:00Z
//	workflow NAME, or * for any
//
// Of two different statements the bytes differ: digest and time have one form each, and a name holds neither
// a space nor a line feed.
func (s Statement) Bytes() []byte {
	name := s.Name
	if name == "" {
		name = anyName
	}
	return fmt.Appendf(nil, "%s\ndigest %s\nexpires %s\nworkflow %s\n", statementHead, s.Digest, s.Expires.UTC().Format(time.RFC3339), name)
}

// check says what keeps a statement from having one form of bytes.
func (s Statement) check() error {
	if _, err := ParseDigest(string(s.Digest)); err != nil {
		return err
	}
	if y := s.Expires.UTC().Year(); y < 1970 || y > 9999 || s.Expires.Nanosecond() != 0 {
		return fmt.Errorf("the expiry %s is not a whole second of the years 1970 to 9999", s.Expires)
	}
	if s.Name != "" {
		return CheckName(s.Name)
	}
	return nil
}

// parseStatement reads exactly what Bytes writes.
func parseStatement(b []byte) (Statement, error) {
	var s Statement
	lines := strings.Split(string(b), "\n")
	if len(lines) != 5 || lines[0] != statementHead {
		return s, fmt.Errorf("the statement does not begin with %q and have four lines", statementHead)
	}
	word := func(i int, key string) string { v, _ := strings.CutPrefix(lines[i], key+" "); return v }
	at, err := time.Parse(time.RFC3339, word(2, "expires"))
	if err != nil {
		return s, fmt.Errorf("the statement's expiry: %w", err)
	}
	s = Statement{Digest: Digest(word(1, "digest")), Expires: at.UTC(), Name: word(3, "workflow")}
	if s.Name == anyName {
		s.Name = ""
	}
	if err := s.check(); err != nil {
		return s, err
	}
	if !bytes.Equal(s.Bytes(), b) {
		return s, fmt.Errorf("the statement is not in the one form that it has")
	}
	return s, nil
}

// Signature is a statement with the Ed25519 signature (RFC 8032, not prehashed) of its bytes.
type Signature struct {
	Statement Statement
	Key       TrustedKey // of whoever signed; that it is trusted is Verify's affair
	Value     [ed25519.SignatureSize]byte
}

// Sign makes a signature.
func Sign(key ed25519.PrivateKey, s Statement) (Signature, error) {
	s.Expires = s.Expires.UTC().Truncate(time.Second)
	if err := s.check(); err != nil {
		return Signature{}, fmt.Errorf("sign module: %w", err)
	}
	sig := Signature{Statement: s, Key: PublicKey(key)}
	copy(sig.Value[:], ed25519.Sign(key, s.Bytes()))
	return sig, nil
}

// Bounds of the text of signatures.
const (
	// MaxSignatures bounds the signatures of one upload: a few, so that a key can be replaced.
	MaxSignatures = 8
	// MaxSignatureText bounds their text in bytes: a signature with the longest name has 690.
	MaxSignatureText = 8 << 10
)

// signaturePrefix begins the text of a signature.
const signaturePrefix = "reprise-sig-1"

var base64url = base64.RawURLEncoding.Strict()

// String is the signature in one word: "reprise-sig-1.STATEMENT.KEY.SIGNATURE", the three parts in base64url
// without padding. It is what a file NAME.wasm.sig and the header Reprise-Signature hold.
func (s Signature) String() string {
	parts := []string{signaturePrefix}
	for _, b := range [][]byte{s.Statement.Bytes(), s.Key[:], s.Value[:]} {
		parts = append(parts, base64url.EncodeToString(b))
	}
	return strings.Join(parts, ".")
}

// ParseSignatures reads signatures separated by commas or white space; of none it returns none. What does not
// have the form is a *RefusedError with the code invalid_signature.
func ParseSignatures(text string) ([]Signature, error) {
	refuse := func(format string, args ...any) error {
		return &RefusedError{Code: "invalid_signature", What: fmt.Sprintf(format, args...), Where: "signature", Fix: "send what reprise module sign wrote, whole and unchanged"}
	}
	if len(text) > MaxSignatureText {
		return nil, refuse("the signatures have %d bytes, more than %d", len(text), MaxSignatureText)
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
	if len(words) > MaxSignatures {
		return nil, refuse("there are %d signatures, more than %d", len(words), MaxSignatures)
	}
	var sigs []Signature
	for i, w := range words {
		s, err := parseSignature(w)
		if err != nil {
			return nil, refuse("signature %d of %d: %v", i+1, len(words), err)
		}
		sigs = append(sigs, s)
	}
	return sigs, nil
}

func parseSignature(word string) (Signature, error) {
	var s Signature
	parts := strings.Split(word, ".")
	if len(parts) != 4 || parts[0] != signaturePrefix {
		// The word is not repeated: it may be a secret that stands in the wrong place.
		return s, fmt.Errorf("it is not of the form %s.STATEMENT.KEY.SIGNATURE", signaturePrefix)
	}
	statement, err := base64url.DecodeString(parts[1])
	if err != nil {
		return s, fmt.Errorf("the statement is not base64url: %w", err)
	}
	if s.Statement, err = parseStatement(statement); err != nil {
		return s, err
	}
	for _, part := range []struct {
		name, text string
		into       []byte
	}{{"key", parts[2], s.Key[:]}, {"signature", parts[3], s.Value[:]}} {
		b, err := base64url.DecodeString(part.text)
		if err != nil || len(b) != len(part.into) {
			return s, fmt.Errorf("the %s is not %d bytes in base64url", part.name, len(part.into))
		}
		copy(part.into, b)
	}
	return s, nil
}

// Trust says whose signatures a tenant's modules need. The zero value needs none.
type Trust struct {
	Everyone []TrustedKey               // trusted for the modules of every tenant
	Tenants  map[tenant.ID][]TrustedKey // trusted also for one tenant's modules
}

// Keys are the keys of a tenant. When there are none, its modules need no signature.
func (t Trust) Keys(id tenant.ID) []TrustedKey {
	return slices.Concat(t.Everyone, t.Tenants[id])
}

// Verify looks for a signature that vouches for a module under a name, and returns its key: one of keys, over
// this digest, for this name or any, and not expired at now. An error is a *RefusedError with the code
// signature_missing, signature_untrusted, signature_mismatch or signature_expired; of several signatures it
// tells of the one that came furthest.
func Verify(d Digest, name string, sigs []Signature, keys []TrustedKey, now time.Time) (TrustedKey, error) {
	worst := &RefusedError{Code: "signature_missing", What: "the module carries no signature, and this host takes only signed ones",
		Where: "signature", Fix: "sign it with reprise module sign, and push it with --signature"}
	furthest := -1
	for _, s := range sigs {
		refused, step := judge(s, d, name, keys, now)
		if refused == nil {
			return s.Key, nil
		}
		if step > furthest {
			worst, furthest = refused, step
		}
	}
	return TrustedKey{}, worst
}

// judge returns nil, or what is wrong with one signature and at which step that was found. What a signature
// says is not looked at before the signature holds.
func judge(s Signature, d Digest, name string, keys []TrustedKey, now time.Time) (*RefusedError, int) {
	said := s.Statement
	switch {
	case !slices.Contains(keys, s.Key):
		return &RefusedError{Code: "signature_untrusted", What: fmt.Sprintf("the module is signed by the key %s, which is not trusted", s.Key),
			Where: "signature", Fix: "sign it with a key that the host was given by --trust-key"}, 0
	case !ed25519.Verify(s.Key[:], said.Bytes(), s.Value[:]):
		return &RefusedError{Code: "signature_mismatch", What: fmt.Sprintf("the signature was not made by the key %s over what it says", s.Key),
			Where: "signature", Fix: "send what reprise module sign wrote, whole and unchanged"}, 1
	case said.Digest != d:
		return &RefusedError{Code: "signature_mismatch", What: fmt.Sprintf("the signature is of the module %s, and this is %s", said.Digest, d),
			Where: "signature, digest", Fix: "sign the file that is pushed, after its last build"}, 2
	case said.Name != "" && said.Name != name:
		as := "without a name"
		if name != "" {
			as = fmt.Sprintf("as %.100q", name)
		}
		return &RefusedError{Code: "signature_mismatch", What: fmt.Sprintf("the signature is for the workflow %s only, and the module is pushed %s", said.Name, as),
			Where: "signature, workflow", Fix: "push it under that name, or sign it for this one"}, 3
	case !now.Before(said.Expires):
		return &RefusedError{Code: "signature_expired", What: fmt.Sprintf("the signature expired at %s; now it is %s by the journal's clock", said.Expires.Format(time.RFC3339), now.UTC().Format(time.RFC3339)),
			Where: "signature, expires", Fix: "sign the module again with a later --expires"}, 4
	}
	return nil, 0
}
