// Package sdk holds the sources of the SDKs that are part of this program, so that a project needs no registry. It never compiles
// anything. Package project writes them where compilers find them.
package sdk

import (
	_ "embed"

	"github.com/rogpeppe/go-internal/txtar"
)

// Files are the contents of files by their slash-separated names.
type Files map[string][]byte

// goFiles are the files of guest-sdk/go. That folder is a Go module of its own, whose files another module cannot embed, so they
// stand here as a copy, which `make generate` renews.
//
//go:embed go.txtar
var goFiles []byte

// Go is the SDK for Go: a module, for a folder that another module's replace directive names.
func Go() Files {
	files := Files{}
	for _, f := range txtar.Parse(goFiles).Files {
		files[f.Name] = f.Data
	}
	return files
}
