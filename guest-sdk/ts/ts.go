// Package ts makes workflow modules of TypeScript and JavaScript, without a toolchain of the author's. It owns the SDK's sources,
// which are part of the program, the bundle, and how bundle and engine become one file. The engine, a JavaScript interpreter, it
// is given: scripts/engine makes that from a registry package. The package never runs a script and never compiles a module; a
// host does, which sees an ordinary module with two assets. cmd/host calls it for `reprise build`.
package ts

import (
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

//go:embed src package.json
var sdk embed.FS

// The names of the assets, which the engine's adapter and the SDK ask for.
const (
	scriptAsset = "reprise.asset.main.js"
	mapAsset    = "reprise.asset.main.js.map"
)

// sdkPrefix begins the name of a source of the SDK in a source map; the SDK leaves such frames out of stacks.
const sdkPrefix = "reprise:"

// Bundle is a program and all that it imports, as one script.
type Bundle struct {
	Script []byte
	// Map leads from places in Script to places in the sources, line by line. It holds no source text.
	Map []byte
	// Warnings are the bundler's, one a line with the place.
	Warnings []string
}

// BuildError says what is wrong with a program.
type BuildError struct {
	// Problems are texts of the form "file:line:column: what".
	Problems []string
}

// Error lists them, one a line.
func (e *BuildError) Error() string { return strings.Join(e.Problems, "\n") }

// Build bundles the program that begins in a file. Types are stripped and not checked. It imports the SDK as "reprise".
func Build(entry string) (Bundle, error) {
	path, err := filepath.Abs(entry)
	if err != nil {
		return Bundle{}, fmt.Errorf("find %s: %w", entry, err)
	}
	if info, err := os.Stat(path); err != nil {
		return Bundle{}, err
	} else if info.IsDir() {
		return Bundle{}, fmt.Errorf("%s is a folder; name the file that the program begins in", entry)
	}
	dir := filepath.Dir(path)
	start := fmt.Sprintf("import { start } from %q;\nimport %q;\nstart();\n", "reprise/main", path)
	r := api.Build(api.BuildOptions{
		Stdin:          &api.StdinOptions{Contents: start, ResolveDir: dir, Sourcefile: sdkPrefix + "start", Loader: api.LoaderJS},
		AbsWorkingDir:  dir,
		Outfile:        filepath.Join(dir, "main.js"), // not written; the map's names are relative to it
		Bundle:         true,
		Format:         api.FormatIIFE,
		Platform:       api.PlatformNeutral,
		MainFields:     []string{"module", "main"},
		Target:         api.ES2023,
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		Charset:        api.CharsetUTF8,
		KeepNames:      true, // for stacks
		LogLevel:       api.LogLevelSilent,
		Plugins:        []api.Plugin{resolveSDK()},
	})
	if len(r.Errors) > 0 {
		return Bundle{}, &BuildError{Problems: texts(r.Errors)}
	}
	b := Bundle{Warnings: texts(r.Warnings)}
	for _, f := range r.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			if b.Map, err = byLine(f.Contents); err != nil {
				return Bundle{}, err
			}
		} else {
			b.Script = f.Contents
		}
	}
	return b, nil
}

func texts(messages []api.Message) []string {
	var all []string
	for _, m := range messages {
		text := m.Text
		if l := m.Location; l != nil {
			text = fmt.Sprintf("%s:%d:%d: %s", l.File, l.Line, l.Column+1, text)
		}
		for _, n := range m.Notes {
			text += "\n  " + n.Text
		}
		all = append(all, text)
	}
	return all
}

// resolveSDK answers imports of "reprise" with the sources in this program, so that the SDK of a module is that of the reprise
// that built it, whatever an editor found in node_modules.
func resolveSDK() api.Plugin {
	const namespace = "reprise"
	return api.Plugin{Name: "reprise", Setup: func(b api.PluginBuild) {
		found := func(name string) (api.OnResolveResult, error) {
			// The namespace is the prefix of names in the source map.
			return api.OnResolveResult{Path: name, Namespace: namespace, SideEffects: api.SideEffectsTrue}, nil
		}
		b.OnResolve(api.OnResolveOptions{Filter: `^reprise(/main)?$`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			if a.Path == "reprise" {
				return found("index")
			}
			return found("main")
		})
		b.OnResolve(api.OnResolveOptions{Filter: `^\./`, Namespace: namespace}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			return found(strings.TrimPrefix(a.Path, "./"))
		})
		b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: namespace}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			source, err := sdk.ReadFile("src/" + a.Path + ".ts")
			if err != nil {
				return api.OnLoadResult{}, fmt.Errorf("the SDK has no %s: %w", a.Path, err)
			}
			text := string(source)
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderTS}, nil
		})
	}}
}

// Join makes a module of a bundle and the engine. Modules with one engine differ only in their assets, and a host compiles that
// engine once for all of them.
func Join(engine []byte, b Bundle) ([]byte, error) {
	if !strings.HasPrefix(string(engine), "\x00asm\x01\x00\x00\x00") {
		return nil, errors.New("the engine is not a WebAssembly module")
	}
	module := append([]byte(nil), engine...)
	for _, a := range []struct {
		name string
		data []byte
	}{{scriptAsset, b.Script}, {mapAsset, b.Map}} {
		body := binary.AppendUvarint(nil, uint64(len(a.name)))
		body = append(append(body, a.name...), a.data...)
		module = append(module, 0) // a custom section
		module = binary.AppendUvarint(module, uint64(len(body)))
		module = append(module, body...)
	}
	return module, nil
}

// WriteTypes writes the SDK's sources to dir/reprise, for editors and type checkers: they are their own declarations.
func WriteTypes(dir string) error {
	to := filepath.Join(dir, "reprise")
	err := fs.WalkDir(sdk, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		out := filepath.Join(to, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(out, 0o755)
		}
		source, err := sdk.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(out, source, 0o644)
	})
	if err != nil {
		return fmt.Errorf("write the SDK's types to %s: %w", to, err)
	}
	return nil
}
