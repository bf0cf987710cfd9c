package project

import (
	"context"
	"os/exec"
	"path/filepath"

	sdk "reprise/guest-sdk"
)

// ascVersion is the compiler that the SDK is tested with.
const ascVersion = "0.28.20"

const ascFix = "run npm install in the project, or npm install --global assemblyscript@" + ascVersion + " (npm on Debian: sudo apt-get install -y nodejs npm)"

// findAsc is the compiler of the project, or the one in PATH.
func findAsc(root string) (string, error) {
	own, err := filepath.Abs(filepath.Join(root, "node_modules", ".bin", "asc"))
	if err == nil && exists(own) {
		return own, nil
	}
	asc, err := exec.LookPath("asc")
	if err != nil {
		return "", &Error{What: "the AssemblyScript compiler is missing: there is no asc in node_modules/.bin or in PATH", Where: root, Fix: ascFix}
	}
	return asc, nil
}

// buildAssemblyScript builds a folder by its asconfig.json, or a file. The SDK is the package reprise: what the project has in its
// folder sdk, or the one of this program.
func buildAssemblyScript(ctx context.Context, r Request, dir bool) (Built, error) {
	root, args := filepath.Dir(r.Path), []string{filepath.Base(r.Path), "-O", "--use", "abort=~lib/reprise/abort/abort"}
	if dir {
		root, args = r.Path, []string{"--config", "asconfig.json"}
	}
	asc, err := findAsc(root)
	if err != nil {
		return Built{}, err
	}
	if !dir || !exists(filepath.Join(root, "sdk", "reprise")) {
		folder, done, err := unpack("assemblyscript", sdk.AssemblyScript())
		if err != nil {
			return Built{}, err
		}
		defer done()
		args = append(args, "--path", folder)
	}
	module, err := compiled(func(out string) error {
		return runTool(ctx, r.Talk, root, nil, asc, append(args, "--outFile", out)...)
	})
	return Built{Module: module}, err
}
