// Package sdk holds the sources of the SDKs that are part of this program, so that a project needs no registry. It never compiles
// anything. Package project writes them where compilers find them.
package sdk

import (
	"embed"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"reprise/abi"
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

// trees are the sources of the other SDKs.
//
//go:embed c/*.h cpp/*.hpp rust/Cargo.toml rust/src zig/reprise.zig assemblyscript/assembly
var trees embed.FS

// C is the SDK for C: headers, in one folder.
func C() Files {
	files := flat("c")
	files["abi.h"] = abi.Header
	return files
}

// CPP is the SDK for C++: headers, those for C among them.
func CPP() Files {
	files := C()
	maps.Copy(files, flat("cpp"))
	return files
}

// optional is what the manifest of the SDK for Rust says of crates that it can do without: with it, cargo would ask a registry.
var optional = regexp.MustCompile(`(?m)^(# Adds the payload type .*|serde(_json)? = .*)\n`)

// Rust is the SDK for Rust: a crate that depends on no other, so it has no payloads of serde.
func Rust() Files {
	files := Files{}
	_ = fs.WalkDir(trees, "rust", func(name string, d fs.DirEntry, err error) error { // an embedded tree can be walked
		if err == nil && !d.IsDir() {
			files[strings.TrimPrefix(name, "rust/")], err = trees.ReadFile(name)
		}
		return err
	})
	files["Cargo.toml"] = optional.ReplaceAll(files["Cargo.toml"], nil)
	return files
}

// AssemblyScript is the SDK for AssemblyScript: a folder reprise with its files, for a path of packages.
func AssemblyScript() Files {
	files := Files{}
	for name, b := range flat("assemblyscript/assembly") {
		files["reprise/"+name] = b
	}
	return files
}

// Zig is the SDK for Zig: one file.
func Zig() Files { return flat("zig") }

// flat is the files that are embedded of a folder, without those of its folders.
func flat(dir string) Files {
	files := Files{}
	names, err := fs.Glob(trees, dir+"/*")
	if err != nil {
		return files // the pattern is right
	}
	for _, name := range names {
		if b, err := trees.ReadFile(name); err == nil {
			files[path.Base(name)] = b
		}
	}
	return files
}
