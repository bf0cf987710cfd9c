package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"reprise/modules"
	"reprise/tenant"
)

// makeKey writes a new private key to a file that does not exist yet.
func makeKey(path string) (modules.TrustedKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return modules.TrustedKey{}, fmt.Errorf("make key: %w", err)
	}
	text, err := modules.FormatPrivateKey(key)
	if err != nil {
		return modules.TrustedKey{}, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return modules.TrustedKey{}, fmt.Errorf("%s exists; a key is not replaced: name another file, or remove this one", path)
	}
	if err != nil {
		return modules.TrustedKey{}, fmt.Errorf("private key: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return modules.TrustedKey{}, fmt.Errorf("private key: %w", errors.Join(err, os.Remove(path)))
	}
	return modules.PublicKey(key), nil
}

// keyFileLimit bounds a file of keys, in bytes: thousands of public ones.
const keyFileLimit = 1 << 20

// readPrivateKey reads the key that signs. Others must not be able to read its file.
func readPrivateKey(path string) (ed25519.PrivateKey, error) {
	b, err := readKeyFile(path, "private key", 0o077, "read")
	if err != nil {
		return nil, err
	}
	key, err := modules.ParsePrivateKey(b)
	if err != nil {
		return nil, fmt.Errorf("private key %s: %w", path, err)
	}
	return key, nil
}

// readKeyFile reads a file whose mode has none of the bits of forbidden, which would let others do something.
func readKeyFile(path, what string, forbidden fs.FileMode, do string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if mode := info.Mode(); !mode.IsRegular() {
		return nil, fmt.Errorf("%s %s: not a file", what, path)
	} else if mode.Perm()&forbidden != 0 {
		return nil, fmt.Errorf("%s %s: others can %s it (mode %04o); chmod %o it", what, path, do, mode.Perm(), mode.Perm()&^forbidden)
	}
	if info.Size() > keyFileLimit {
		return nil, fmt.Errorf("%s %s: it has more than %d bytes", what, path, keyFileLimit)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return b, nil
}

// readTrust gathers the keys of --trust-key: public keys, which every tenant's modules need then, and files of them.
func readTrust(values []string) (modules.Trust, error) {
	trust := modules.Trust{Tenants: map[tenant.ID][]modules.TrustedKey{}}
	for _, v := range values {
		if strings.HasPrefix(v, "ed25519:") {
			key, err := modules.ParseTrustedKey(v)
			if err != nil {
				return trust, fmt.Errorf("--trust-key %.80s: %w", v, err)
			}
			trust.Everyone = append(trust.Everyone, key)
			continue
		}
		if err := readTrustFile(v, &trust); err != nil {
			return trust, err
		}
	}
	return trust, nil
}

// readTrustFile reads lines of a key, or of a tenant and a key. Empty lines and lines that start with # are
// skipped. Others must not be able to write the file: they would decide what runs.
func readTrustFile(path string, trust *modules.Trust) error {
	b, err := readKeyFile(path, "trusted keys", 0o022, "write")
	if err != nil {
		return err
	}
	if strings.HasPrefix(string(b), "-----BEGIN") && strings.Contains(string(b), "PRIVATE KEY") {
		return fmt.Errorf("trusted keys %s: %w", path, modules.ErrPrivateKey)
	}
	found := false
	for i, line := range strings.Split(string(b), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) > 2 {
			return fmt.Errorf("trusted keys %s line %d: not a key, nor a tenant and a key", path, i+1)
		}
		key, err := modules.ParseTrustedKey(words[len(words)-1])
		if err != nil {
			return fmt.Errorf("trusted keys %s line %d: %w", path, i+1, err)
		}
		found = true
		if len(words) == 1 {
			trust.Everyone = append(trust.Everyone, key)
			continue
		}
		t, err := tenant.ParseID(words[0])
		if err != nil {
			return fmt.Errorf("trusted keys %s line %d: %w", path, i+1, err)
		}
		trust.Tenants[t] = append(trust.Tenants[t], key)
	}
	if !found {
		return fmt.Errorf("trusted keys %s: there is no key in it", path)
	}
	return nil
}

// trustText says for people who must sign, "" when nobody must.
func trustText(t modules.Trust) string {
	n := len(t.Everyone)
	for _, keys := range t.Tenants {
		n += len(keys)
	}
	switch {
	case n == 0:
		return ""
	case len(t.Everyone) == 0:
		return fmt.Sprintf("signed ones only, of %d tenants; keys %d", len(t.Tenants), n)
	}
	return fmt.Sprintf("signed ones only; keys %d", n)
}

// replaceFile writes a file in one step, so that nobody reads a part.
func replaceFile(path, text string, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
