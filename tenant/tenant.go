// Package tenant owns the answer to "who owns this": the id that is the first part of every key,
// query, API call and token, and the tokens that prove it. It never reads a store and imports only
// the standard library.
package tenant

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"regexp"
)

// ID names a tenant: 1 to 63 bytes of a-z, 0-9 and '-', starting with a letter or digit.
type ID string

// Default is the one tenant that exists until more are made.
const Default ID = "default"

var idForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// ErrInvalidID is wrapped by ParseID's errors.
var ErrInvalidID = errors.New("invalid tenant id")

// ParseID checks the form of a tenant's name.
func ParseID(s string) (ID, error) {
	if !idForm.MatchString(s) {
		return "", fmt.Errorf("%w: %.80q is not 1 to 63 of a-z, 0-9 and '-', starting with a letter or digit", ErrInvalidID, s)
	}
	return ID(s), nil
}

// Token is the stored form of a bearer token: who it speaks for, and the SHA-256 of its text. The
// text itself is never kept.
type Token struct {
	Tenant ID
	Hash   [sha256.Size]byte
}

// NewToken makes the stored form of a token's text.
func NewToken(t ID, text string) Token {
	return Token{Tenant: t, Hash: sha256.Sum256([]byte(text))}
}

// Tokens answers which tenant a bearer token speaks for.
type Tokens []Token

// Tenant finds the owner of a token's text. It looks at every token, so that the time taken tells
// nothing about which one nearly matched.
func (ts Tokens) Tenant(text string) (ID, bool) {
	sum := sha256.Sum256([]byte(text))
	var owner ID
	found := 0
	for _, t := range ts {
		if subtle.ConstantTimeCompare(sum[:], t.Hash[:]) == 1 {
			owner, found = t.Tenant, 1
		}
	}
	return owner, found == 1
}
