package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	sdk "reprise/guest-sdk"
)

// tool is a program that a build needs.
type tool struct {
	name    string
	what    string // for people
	install string // how to get it on Debian
}

// find is the tool's path.
func (t tool) find() (string, error) {
	path, err := exec.LookPath(t.name)
	if err != nil {
		return "", &Error{What: fmt.Sprintf("%s is missing: there is no %s in PATH", t.what, t.name), Fix: t.install}
	}
	return path, nil
}

// runTool runs a compiler in a folder. What it says goes to talk, and is not repeated in the error.
func runTool(ctx context.Context, talk io.Writer, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = talk, talk
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return &Error{What: fmt.Sprintf("%s did not compile the program (%s)", filepath.Base(name), exit.ProcessState), Where: dir, Fix: "see what it says above"}
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", name, errors.Join(err, ctx.Err()))
	}
	return nil
}

// output is what a tool writes to its standard output.
func output(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var told bytes.Buffer
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil {
		return nil, &Error{What: fmt.Sprintf("%s %s failed: %s", filepath.Base(name), args[0], strings.TrimSpace(told.String())), Where: dir, Fix: "mend the project"}
	}
	return out, nil
}

// unpack writes an SDK to a folder that stays, so that compilers find what they have compiled before, and returns it. Without a
// folder for caches it is one for this build, which done removes.
func unpack(name string, files sdk.Files) (dir string, done func(), err error) {
	h := sha256.New()
	for _, f := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %d\n%s", f, len(files[f]), files[f])
	}
	key := name + "-" + hex.EncodeToString(h.Sum(nil))[:16]
	cache, err := os.UserCacheDir()
	if err == nil {
		cache = filepath.Join(cache, "reprise", "sdk")
		if dir = filepath.Join(cache, key); exists(dir) {
			return dir, func() {}, nil
		}
		err = os.MkdirAll(cache, 0o755)
	}
	kept := err == nil
	if !kept {
		cache = ""
	}
	tmp, err := os.MkdirTemp(cache, key+".")
	if err != nil {
		return "", nil, fmt.Errorf("unpack the SDK: %w", err)
	}
	if err := writeFiles(tmp, files); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(tmp))
	}
	if !kept {
		return tmp, func() { os.RemoveAll(tmp) }, nil
	}
	if err := os.Rename(tmp, dir); err != nil { // another build was first
		os.RemoveAll(tmp)
		if !exists(dir) {
			return "", nil, fmt.Errorf("unpack the SDK: %w", err)
		}
	}
	return dir, func() {}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// writeFiles writes files below a folder.
func writeFiles(dir string, files sdk.Files) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// compiled runs a build that writes a module to a file, and reads it.
func compiled(build func(out string) error) ([]byte, error) {
	dir, err := os.MkdirTemp("", "reprise-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "module.wasm")
	if err := build(out); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("the compiler wrote no module: %w", err)
	}
	return b, nil
}
