// Package modules owns what can run: the name of a module's bytes (Digest), the store of modules and
// of the workflow names that point at them, the way from bytes to a prepared module, and the watched
// folder. It never runs a workflow and never writes a run; the host calls it.
package modules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"reprise/abi"
	"reprise/tenant"
)

// Digest names a module: "sha256:" and 64 lower-case hex digits of the SHA-256 of its uploaded bytes.
type Digest string

const digestPrefix = "sha256:"

// DigestOf names bytes.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(digestPrefix + hex.EncodeToString(sum[:]))
}

// ParseDigest checks the form of a digest.
func ParseDigest(s string) (Digest, error) {
	h, ok := strings.CutPrefix(s, digestPrefix)
	if b, err := hex.DecodeString(h); !ok || err != nil || len(b) != sha256.Size || strings.ToLower(h) != h {
		return "", fmt.Errorf("%.100q is not a digest of the form sha256:<64 hex digits>", s)
	}
	return Digest(s), nil
}

// Short is the digest's first 12 hex digits, for people.
func (d Digest) Short() string {
	h := strings.TrimPrefix(string(d), digestPrefix)
	return h[:min(12, len(h))]
}

// Shape says how a module is entered.
type Shape string

// The shapes of a module.
const (
	Command Shape = "command" // exports _start; every entry runs it
	Reactor Shape = "reactor" // exports reprise_run or named functions; _initialize runs first
)

// Module is what the store knows of a module. It is immutable.
type Module struct {
	Tenant    tenant.ID
	Digest    Digest
	Size      int64 // bytes as uploaded
	Shape     Shape
	Manifest  abi.Manifest
	Imports   []string // "module.name", in the binary's order
	CreatedAt time.Time
}

// Alias is one step in the history of a workflow name. The newest step is what the name means.
type Alias struct {
	Tenant  tenant.ID
	Name    string
	Version int64 // 1 for the first digest of the name, then dense
	Digest  Digest
	SetAt   time.Time
}

// ErrNotFound says that a digest or a name is not in the tenant's store.
var ErrNotFound = errors.New("module not found")

// Blobs keeps module bytes by digest, per tenant.
type Blobs interface {
	// PutModule stores a module once; created is false when the tenant had it already.
	PutModule(ctx context.Context, m Module, bytes []byte) (created bool, err error)
	// ModuleBytes returns the bytes exactly as uploaded. Returns ErrNotFound.
	ModuleBytes(ctx context.Context, t tenant.ID, d Digest) ([]byte, error)
	// Module returns what is known of a module. Returns ErrNotFound.
	Module(ctx context.Context, t tenant.ID, d Digest) (Module, error)
	// Modules lists a tenant's modules, newest first.
	Modules(ctx context.Context, t tenant.ID) ([]Module, error)
}

// Aliases keeps workflow names and their history, per tenant.
type Aliases interface {
	// SetAlias points a name at a digest that the tenant has, in one step. When the name points there
	// already, nothing is written and the current step is returned with moved false.
	// Returns ErrNotFound when the tenant has no such module.
	SetAlias(ctx context.Context, t tenant.ID, name string, d Digest) (a Alias, moved bool, err error)
	// Alias returns the newest step of a name. Returns ErrNotFound.
	Alias(ctx context.Context, t tenant.ID, name string) (Alias, error)
	// Aliases lists the newest step of each name, by name.
	Aliases(ctx context.Context, t tenant.ID) ([]Alias, error)
	// AliasHistory lists all steps of a name, newest first. Returns ErrNotFound.
	AliasHistory(ctx context.Context, t tenant.ID, name string) ([]Alias, error)
}

// Store is what a journal's database offers for modules.
type Store interface {
	Blobs
	Aliases
}

// RefusedError says why bytes are not taken: what is wrong, where, and how to mend it.
type RefusedError struct {
	Code  string // stable word, for example "unknown_import"
	What  string
	Where string
	Fix   string
}

// Error is the one-line form.
func (e *RefusedError) Error() string {
	s := e.What
	if e.Where != "" {
		s += " (" + e.Where + ")"
	}
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

// CheckName checks a workflow name: 1 to 255 bytes, letters, digits, '.', '_', '-', starting with a
// letter or digit. Such a name is safe in a path, a URL, a log line and a terminal.
func CheckName(name string) error {
	refuse := func(what string) error {
		return &RefusedError{Code: "invalid_name", What: what, Where: "workflow name", Fix: "use 1 to 255 letters, digits, '.', '_' or '-', starting with a letter or digit"}
	}
	if name == "" {
		return refuse("the name is empty")
	}
	if len(name) > abi.MaxName {
		return refuse(fmt.Sprintf("the name has %d bytes, more than %d", len(name), abi.MaxName))
	}
	for i, c := range []byte(name) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return refuse(fmt.Sprintf("the name %.60q has a character that is not allowed at byte %d", name, i))
		}
	}
	return nil
}
