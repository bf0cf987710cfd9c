package project

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	sdk "reprise/guest-sdk"
)

const (
	// zigVersion is what the SDK is written for: the language changes from one to the next.
	zigVersion = "0.13"
	zigFix     = "python3 -m pip install --user --break-system-packages ziglang==0.13.0 (Debian has no package of it), or put zig into PATH from https://ziglang.org/download"
)

// findZig is the compiler in PATH, or that of the Python package ziglang.
func findZig(ctx context.Context) (string, error) {
	zig, err := exec.LookPath("zig")
	if err != nil {
		b, perr := exec.CommandContext(ctx, "python3", "-c", "import ziglang; print(ziglang.__path__[0])").Output()
		if zig = filepath.Join(strings.TrimSpace(string(b)), "zig"); perr != nil || !exists(zig) {
			return "", &Error{What: "the Zig compiler is missing: there is no zig in PATH, and no Python package ziglang", Fix: zigFix}
		}
	}
	b, err := output(ctx, "", nil, zig, "version")
	if err != nil {
		return "", err
	}
	if v := strings.TrimSpace(string(b)); !strings.HasPrefix(v, zigVersion+".") {
		return "", &Error{What: fmt.Sprintf("the Zig compiler is version %.40s, and the SDK is for %s", v, zigVersion), Where: zig, Fix: zigFix}
	}
	return zig, nil
}

// buildZig builds a file, or a folder by its build.zig, or by its main.zig or only file. The SDK is the module reprise: the
// project's sdk/reprise.zig, or the one of this program.
func buildZig(ctx context.Context, r Request, dir bool) (Built, error) {
	zig, err := findZig(ctx)
	if err != nil {
		return Built{}, err
	}
	if dir && exists(filepath.Join(r.Path, "build.zig")) {
		return zigProject(ctx, r, zig)
	}
	file := r.Path
	if dir {
		if file, err = zigIn(r.Path); err != nil {
			return Built{}, err
		}
	}
	root := filepath.Dir(file)
	library := filepath.Join("sdk", "reprise.zig")
	if !exists(filepath.Join(root, library)) {
		folder, done, err := unpack("zig", sdk.Zig())
		if err != nil {
			return Built{}, err
		}
		defer done()
		library = filepath.Join(folder, "reprise.zig")
	}
	module, err := compiled(func(out string) error {
		// The stack has 1 MiB, which takes memory as it is used.
		return runTool(ctx, r.Talk, root, nil, zig, "build-exe", "-target", "wasm32-freestanding", "-fno-entry", "-rdynamic", "-O", "ReleaseSmall", "--stack", "1048576",
			"--dep", "reprise", "-Mmain="+filepath.Base(file), "-Mreprise="+library, "--cache-dir", zigCache(filepath.Dir(out)), "-femit-bin="+out)
	})
	return Built{Module: module}, err
}

// zigCache is where the compiler keeps what it has done; beside what it makes when there is no folder for caches.
func zigCache(beside string) string {
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "reprise", "zig")
	}
	return filepath.Join(beside, "cache")
}

func zigProject(ctx context.Context, r Request, zig string) (Built, error) {
	tmp, err := os.MkdirTemp("", "reprise-zig-")
	if err != nil {
		return Built{}, err
	}
	defer os.RemoveAll(tmp)
	if err := runTool(ctx, r.Talk, r.Path, nil, zig, "build", "--prefix", tmp); err != nil {
		return Built{}, err
	}
	made, err := filepath.Glob(filepath.Join(tmp, "bin", "*.wasm"))
	if err != nil {
		return Built{}, err
	}
	if len(made) != 1 {
		return Built{}, &Error{What: fmt.Sprintf("build.zig installs %d modules, want one", len(made)), Where: r.Path, Fix: "install one executable for wasm32-freestanding or wasm32-wasi in build.zig"}
	}
	module, err := os.ReadFile(made[0])
	return Built{Module: module}, err
}

// zigIn is the file that a folder's program begins in.
func zigIn(dir string) (string, error) {
	names, err := namesIn(dir)
	if err != nil {
		return "", err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return filepath.Ext(n) != ".zig" })
	switch {
	case slices.Contains(names, "main.zig"):
		return filepath.Join(dir, "main.zig"), nil
	case len(names) == 1:
		return filepath.Join(dir, names[0]), nil
	}
	return "", &Error{What: fmt.Sprintf("the folder %.200s has no main.zig, and not one file of Zig: %s", dir, strings.Join(names, ", ")), Fix: "name the file that the program begins in"}
}
