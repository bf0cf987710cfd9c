package project

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	sdk "reprise/guest-sdk"
)

// goSDK is the path of the SDK's module.
const goSDK = "reprise/guest-sdk/go"

func goTool() tool {
	return tool{name: "go", what: "the Go tool", install: "install Go 1.26 or newer from https://go.dev/dl (Debian: sudo apt-get install -y golang, when it is new enough)"}
}

// goEnv makes modules; a workspace around the project is not part of it.
var goEnv = []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWORK=off"}

// buildGo builds a folder with a go.mod as it is; when that does not say where the SDK is, it is the one of this program.
// A file, or a folder without go.mod, becomes a module of its own.
func buildGo(ctx context.Context, r Request, dir bool) (Built, error) {
	goPath, err := goTool().find()
	if err != nil {
		return Built{}, err
	}
	root, args := r.Path, []string(nil)
	if !dir || !exists(filepath.Join(root, "go.mod")) {
		tmp, err := goModuleOf(r.Path, dir)
		if err != nil {
			return Built{}, err
		}
		defer os.RemoveAll(tmp)
		root = tmp
	}
	replace, err := needsSDK(ctx, goPath, root)
	if err != nil {
		return Built{}, err
	}
	if replace {
		folder, done, err := unpack("go", sdk.Go())
		if err != nil {
			return Built{}, err
		}
		defer done()
		modfile, remove, err := withSDK(ctx, goPath, root, folder)
		if err != nil {
			return Built{}, err
		}
		defer remove()
		args = append(args, "-modfile="+modfile)
	}
	module, err := compiled(func(out string) error {
		args = append([]string{"build"}, args...)
		args = append(args, "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, ".")
		return runTool(ctx, r.Talk, root, goEnv, goPath, args...)
	})
	return Built{Module: module}, err
}

// goModuleOf makes a Go module of loose files.
func goModuleOf(path string, dir bool) (string, error) {
	names := []string{path}
	if dir {
		var err error
		if names, err = filepath.Glob(filepath.Join(path, "*.go")); err != nil {
			return "", err
		}
	}
	tmp, err := os.MkdirTemp("", "reprise-go-")
	if err != nil {
		return "", err
	}
	files := sdk.Files{"go.mod": fmt.Appendf(nil, "module workflow\n\ngo 1.26.0\n\nrequire %s v0.0.0\n", goSDK)}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			os.RemoveAll(tmp)
			return "", err
		}
		files[filepath.Base(name)] = b
	}
	return tmp, writeFiles(tmp, files)
}

// goMod is what `go mod edit -json` says.
type goMod struct {
	Require []struct{ Path string }
	Replace []struct{ Old struct{ Path string } }
}

// needsSDK says that a module requires the SDK and does not say where it is.
func needsSDK(ctx context.Context, goPath, root string) (bool, error) {
	b, err := output(ctx, root, goEnv, goPath, "mod", "edit", "-json")
	if err != nil {
		return false, err
	}
	var m goMod
	if err := json.Unmarshal(b, &m); err != nil {
		return false, fmt.Errorf("read go.mod: %w", err)
	}
	for _, r := range m.Replace {
		if r.Old.Path == goSDK {
			return false, nil
		}
	}
	for _, r := range m.Require {
		if r.Path == goSDK {
			return true, nil
		}
	}
	return false, nil
}

// withSDK is a copy of a go.mod, and of its go.sum, that names the folder of the SDK.
func withSDK(ctx context.Context, goPath, root, folder string) (modfile string, remove func(), err error) {
	tmp, err := os.MkdirTemp("", "reprise-mod-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(tmp) }
	modfile = filepath.Join(tmp, "go.mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(tmp, name), b, 0o644)
		}
		if err != nil {
			remove()
			return "", nil, err
		}
	}
	if _, err := output(ctx, root, goEnv, goPath, "mod", "edit", "-replace="+goSDK+"="+folder, modfile); err != nil {
		remove()
		return "", nil, err
	}
	return modfile, remove, nil
}
