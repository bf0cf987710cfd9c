package project

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	sdk "reprise/guest-sdk"
)

const (
	rustPackages = "rustc cargo lld libstd-rust-dev-wasm32"
	rustFix      = "sudo apt-get install -y " + rustPackages + ", or with rustup: rustup target add wasm32-wasip1"
)

// rust is a compiler that has the standard library of a target for WASI.
type rust struct{ rustc, cargo, target string }

// findRust looks at the compiler that RUSTC names, at that in PATH, and at the distribution's: one of them may lack the target. Its
// build tool stands beside it; another version's does not understand it.
func findRust(ctx context.Context) (rust, error) {
	missing := &Error{What: "the Rust compiler is missing: there is no rustc in PATH", Fix: rustFix}
	for _, name := range []string{os.Getenv("RUSTC"), "rustc", "/usr/bin/rustc"} {
		rustc, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		cargo := filepath.Join(filepath.Dir(rustc), "cargo")
		target := wasiTarget(ctx, rustc)
		switch {
		case target == "":
			missing = &Error{What: "the Rust compiler has no standard library for WASI", Where: rustc, Fix: rustFix}
		case !exists(cargo):
			missing = &Error{What: "Rust's build tool is missing: there is no " + cargo, Where: rustc, Fix: rustFix}
		default:
			return rust{rustc: rustc, cargo: cargo, target: target}, nil
		}
	}
	return rust{}, missing
}

// wasiTarget is the target for WASI that a compiler has the standard library of, "" when it has none.
func wasiTarget(ctx context.Context, rustc string) string {
	root, err := exec.CommandContext(ctx, rustc, "--print", "sysroot").Output()
	if err != nil {
		return ""
	}
	for _, target := range []string{"wasm32-wasip1", "wasm32-wasi"} {
		if exists(filepath.Join(strings.TrimSpace(string(root)), "lib", "rustlib", target, "lib")) {
			return target
		}
	}
	return ""
}

// buildRust builds a folder with a Cargo.toml, or a file as the one source of a crate of its own.
func buildRust(ctx context.Context, r Request, dir bool) (Built, error) {
	t, err := findRust(ctx)
	if err != nil {
		return Built{}, err
	}
	root := r.Path
	if dir {
		err = t.hasSDK(ctx, root)
	} else {
		var done func()
		if root, done, err = crateOf(r.Path); err == nil {
			defer done()
		}
	}
	if err != nil {
		return Built{}, err
	}
	args := []string{"build", "--release", "--target", t.target, "--message-format=json-render-diagnostics"}
	cmd := exec.CommandContext(ctx, t.cargo, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = root, append(os.Environ(), "RUSTC="+t.rustc), r.Talk
	out, err := cmd.Output()
	if err != nil && ctx.Err() == nil {
		return Built{}, &Error{What: fmt.Sprintf("cargo did not compile the program (%v)", err), Where: r.Path, Fix: "see what it says above"}
	}
	if err != nil {
		return Built{}, fmt.Errorf("run cargo: %w", ctx.Err())
	}
	file, err := artifact(out, root)
	if err != nil {
		return Built{}, err
	}
	module, err := os.ReadFile(file)
	return Built{Module: module}, err
}

// crateOf makes a crate of one file, beside the SDK of this program.
func crateOf(file string) (dir string, done func(), err error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	folder, gone, err := unpack("rust", sdk.Rust())
	if err != nil {
		return "", nil, err
	}
	tmp, err := os.MkdirTemp("", "reprise-rust-")
	if err != nil {
		gone()
		return "", nil, err
	}
	name := filepath.Base(file)
	manifest := fmt.Sprintf("[package]\nname = \"workflow\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[lib]\nname = \"workflow\"\npath = %q\ncrate-type = [\"cdylib\"]\n\n"+
		"[dependencies]\nreprise = { path = %q }\n\n[profile.release]\npanic = \"abort\"\nstrip = true\n\n[workspace]\n", name, folder)
	done = func() {
		os.RemoveAll(tmp)
		gone()
	}
	if err := writeFiles(tmp, sdk.Files{"Cargo.toml": []byte(manifest), name: source}); err != nil {
		done()
		return "", nil, err
	}
	return tmp, done, nil
}

// hasSDK returns an error when a crate depends on the SDK by a version: no registry has it.
func (t rust) hasSDK(ctx context.Context, root string) error {
	b, err := output(ctx, root, []string{"RUSTC=" + t.rustc}, t.cargo, "metadata", "--no-deps", "--format-version", "1")
	if err != nil {
		return err
	}
	var m struct {
		Packages []struct {
			Dependencies []struct {
				Name   string  `json:"name"`
				Source *string `json:"source"`
			} `json:"dependencies"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return fmt.Errorf("read what cargo says of the crate: %w", err)
	}
	for _, p := range m.Packages {
		for _, d := range p.Dependencies {
			if d.Name == "reprise" && d.Source != nil {
				return &Error{What: "the crate depends on reprise by a version, and no registry has it", Where: filepath.Join(root, "Cargo.toml"),
					Fix: `write reprise = { path = "sdk" }; reprise new makes a project with that folder`}
			}
		}
	}
	return nil
}

// artifact is the module among the files that cargo says it has made.
func artifact(out []byte, root string) (string, error) {
	var found []string
	for _, line := range bytes.Split(out, []byte("\n")) {
		var m struct {
			Reason    string   `json:"reason"`
			Filenames []string `json:"filenames"`
		}
		if json.Unmarshal(line, &m) != nil || m.Reason != "compiler-artifact" {
			continue
		}
		for _, f := range m.Filenames {
			if strings.HasSuffix(f, ".wasm") {
				found = append(found, f)
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", &Error{What: "cargo has made no module", Where: root, Fix: "add [lib] crate-type = [\"cdylib\"] to Cargo.toml"}
	}
	return "", &Error{What: fmt.Sprintf("cargo has made several modules: %s", strings.Join(found, ", ")), Where: root, Fix: "keep one of them in the project"}
}
