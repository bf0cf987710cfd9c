package modules

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// TrustedKey is an Ed25519 public key. Its text is its name in files, logs and messages.
type TrustedKey [ed25519.PublicKeySize]byte

// keyPrefix begins the text of a public key.
const keyPrefix = "ed25519:"

// String is "ed25519:" and the key's 32 bytes in base64url without padding.
func (k TrustedKey) String() string { return keyPrefix + base64url.EncodeToString(k[:]) }

// PublicKey is the public half of a private key.
func PublicKey(key ed25519.PrivateKey) TrustedKey {
	return TrustedKey(key.Public().(ed25519.PublicKey))
}

// ErrPrivateKey says that a private key stands where a public one belongs.
var ErrPrivateKey = errors.New("this is a private key; whoever signs keeps it, and a host is given the public key, ed25519:…")

// ParseTrustedKey reads the text of a public key. Returns ErrPrivateKey for the first line of a private one.
func ParseTrustedKey(text string) (TrustedKey, error) {
	if strings.HasPrefix(text, "-----BEGIN") && strings.Contains(text, "PRIVATE KEY") {
		return TrustedKey{}, ErrPrivateKey
	}
	encoded, ok := strings.CutPrefix(text, keyPrefix)
	b, err := base64url.DecodeString(encoded)
	if !ok || err != nil || len(b) != ed25519.PublicKeySize {
		// The text is not repeated: it may be a secret that stands in the wrong place.
		return TrustedKey{}, errors.New("this is not a public key of the form ed25519: and 43 characters of base64url")
	}
	return TrustedKey(b), nil
}

// pemPrivate is the type of the PEM block of a private key.
const pemPrivate = "PRIVATE KEY"

// FormatPrivateKey is the file of a private key: PKCS #8 in PEM, which other tools read and write too.
func FormatPrivateKey(key ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: der}), nil
}

// ParsePrivateKey reads the file of a private key. Its errors repeat nothing of the file.
func ParsePrivateKey(file []byte) (ed25519.PrivateKey, error) {
	if strings.HasPrefix(string(file), keyPrefix) {
		return nil, errors.New("this is a public key; signing needs the private key that reprise module keygen wrote")
	}
	block, rest := pem.Decode(file)
	switch {
	case block == nil:
		return nil, errors.New("this is not a private key: there is no PEM block in it; reprise module keygen makes one")
	case block.Type != pemPrivate:
		return nil, fmt.Errorf("the PEM block is a %.40q, not a %s (PKCS #8, without a password)", block.Type, pemPrivate)
	case strings.TrimSpace(string(rest)) != "":
		return nil, errors.New("there is more in it than one private key")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the private key is damaged: it is not PKCS #8")
	}
	ed, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the private key is a %T; signatures of modules are made with Ed25519", key)
	}
	return ed, nil
}
