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

// clang is how C and C++ are compiled: by the distribution's compiler and its libraries for WASI, or by those of a WASI SDK that
// the environment variable WASI_SDK_PATH names.
type clang struct {
	program string
	endings []string
	flags   []string
	// headers are below the folder of WASI's headers; the first must be there.
	headers []string
	// packages are those of Debian that have all of it.
	packages string
}

const (
	debianHeaders = "/usr/include/wasm32-wasi"
	debianLibs    = "/usr/lib/wasm32-wasi"
)

func forC() clang {
	return clang{program: "clang", endings: []string{".c"}, headers: []string{"stdlib.h"}, packages: "clang lld wasi-libc libclang-rt-dev-wasm32"}
}

func forCPP() clang {
	return clang{program: "clang++", endings: []string{".cpp", ".cc", ".cxx", ".c"}, flags: []string{"-std=c++20", "-fno-exceptions", "-fno-rtti"},
		headers: []string{"c++/v1/coroutine"}, packages: "clang lld wasi-libc libclang-rt-dev-wasm32 libc++-dev-wasm32"}
}

func buildC(ctx context.Context, r Request, dir bool) (Built, error) {
	return forC().build(ctx, r, dir, sdk.C())
}

func buildCPP(ctx context.Context, r Request, dir bool) (Built, error) {
	return forCPP().build(ctx, r, dir, sdk.CPP())
}

// onlyC is the form of a folder with C and no C++, whose compiler takes both.
func onlyC(names []string) bool {
	return anyOf("*.c")(names) && !anyOf("*.cpp", "*.cc", "*.cxx")(names)
}

// The stack lies before the data, so that one that overflows traps and destroys nothing; 1 MiB of it takes memory as it is used.
var clangFlags = []string{"--target=wasm32-wasi", "-mexec-model=reactor", "-O2", "-Wall", "-Wl,--strip-debug", "-Wl,--stack-first", "-Wl,-z,stack-size=1048576"}

// build compiles a file, or all files of the language in a folder and in its folder src.
func (c clang) build(ctx context.Context, r Request, dir bool, files sdk.Files) (Built, error) {
	program, places, err := c.find(ctx)
	if err != nil {
		return Built{}, err
	}
	root, sources := filepath.Dir(r.Path), []string{filepath.Base(r.Path)}
	if dir {
		root = r.Path
		if sources, err = c.sources(root); err != nil {
			return Built{}, err
		}
	}
	folder, done, err := unpack(c.program, files)
	if err != nil {
		return Built{}, err
	}
	defer done()
	args := append(slices.Concat(clangFlags, c.flags, places), "-I.", "-Isdk", "-I"+folder)
	module, err := compiled(func(out string) error {
		return runTool(ctx, r.Talk, root, nil, program, slices.Concat(args, []string{"-o", out}, sources)...)
	})
	return Built{Module: module}, err
}

func (c clang) sources(root string) ([]string, error) {
	var all []string
	for _, below := range []string{"", "src"} {
		entries, err := os.ReadDir(filepath.Join(root, below))
		if err != nil && below == "" {
			return nil, err
		}
		for _, e := range entries {
			if slices.Contains(c.endings, filepath.Ext(e.Name())) && !e.IsDir() {
				all = append(all, filepath.Join(below, e.Name()))
			}
		}
	}
	if len(all) == 0 {
		return nil, &Error{What: fmt.Sprintf("the folder %.200s has no file that ends in %s", root, strings.Join(c.endings, " or ")), Fix: "name the program's file or folder"}
	}
	return all, nil
}

// find is the compiler, and where its headers and libraries are.
func (c clang) find(ctx context.Context) (program string, places []string, err error) {
	if kit := os.Getenv("WASI_SDK_PATH"); kit != "" {
		program = filepath.Join(kit, "bin", c.program)
		if !exists(program) {
			return "", nil, &Error{What: fmt.Sprintf("WASI_SDK_PATH names %.200s, which has no bin/%s", kit, c.program), Fix: "name the folder of a WASI SDK, or unset it"}
		}
		return program, []string{"--sysroot=" + filepath.Join(kit, "share", "wasi-sysroot")}, nil
	}
	fix := "sudo apt-get install -y " + c.packages
	if program, err = (tool{name: c.program, what: "the compiler", install: fix}).find(); err != nil {
		return "", nil, err
	}
	if _, err := (tool{name: "wasm-ld", what: "the linker", install: fix}).find(); err != nil {
		return "", nil, err
	}
	for _, h := range c.headers {
		if !exists(filepath.Join(debianHeaders, h)) {
			return "", nil, &Error{What: "the libraries for WASI are missing: there is no " + filepath.Join(debianHeaders, h), Fix: fix + ", or set WASI_SDK_PATH"}
		}
	}
	// Without it every division of 64 bits and every float in printf is an import that a host refuses.
	if b, err := exec.CommandContext(ctx, program, "--target=wasm32-wasi", "-print-libgcc-file-name").Output(); err == nil && !exists(strings.TrimSpace(string(b))) {
		return "", nil, &Error{What: "the compiler's runtime for WASI is missing: there is no " + strings.TrimSpace(string(b)), Fix: fix}
	}
	if c.program == "clang++" {
		places = append(places, "-isystem", filepath.Join(debianHeaders, "c++", "v1"))
	}
	return program, append(places, "-isystem", debianHeaders, "-L"+debianLibs), nil
}
