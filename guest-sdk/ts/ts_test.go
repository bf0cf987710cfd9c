package ts

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes files below a new folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBuild(t *testing.T) {
	dir := write(t, map[string]string{
		"flow.ts":                           `import { workflow } from "reprise"; import { helper } from "./lib/helper"; import lib from "lib"; workflow("a", (n: number) => helper(n) + lib);`,
		"lib/helper.ts":                     `export const helper = (n: number): number => n as any;`,
		"node_modules/lib/package.json":     `{"main": "index.js"}`,
		"node_modules/lib/index.js":         `module.exports = "a CommonJS package";`,
		"node_modules/reprise/package.json": `{"main": "index.js"}`,
		"node_modules/reprise/index.js":     `throw new Error("not the SDK of this program");`,
	})
	b, err := Build(filepath.Join(dir, "flow.ts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"a CommonJS package", "__reprise", "helper"} {
		if !strings.Contains(string(b.Script), part) {
			t.Errorf("the script has no %q", part)
		}
	}
	for _, part := range []string{": number", "import ", "not the SDK", dir} {
		if strings.Contains(string(b.Script), part) {
			t.Errorf("the script has %q", part)
		}
	}
	var m struct {
		Sources        []string
		SourcesContent []string
	}
	if err := json.Unmarshal(b.Map, &m); err != nil {
		t.Fatal(err)
	}
	var program []string
	for _, s := range m.Sources {
		if !strings.Contains(s, sdkPrefix) {
			program = append(program, s)
		}
	}
	if diff := cmp.Diff([]string{"node_modules/lib/index.js", "lib/helper.ts", "flow.ts"}, program); diff != "" || m.SourcesContent != nil {
		t.Errorf("sources (-want +got):\n%s\nand contents %q, want none", diff, m.SourcesContent)
	}
	again, err := Build(filepath.Join(dir, "flow.ts"))
	if diff := cmp.Diff(b, again); err != nil || diff != "" {
		t.Errorf("a second build: %v (-first +second):\n%s", err, diff)
	}
}

func TestBuildSaysWhatIsWrong(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"syntax", "const x = ;\n", "bad.ts:1:11: "},
		{"an import that is not there", "\nimport 'nowhere';\n", `bad.ts:2:8: Could not resolve "nowhere"`},
		{"a module of Node", "import fs from 'node:fs'; fs;\n", `bad.ts:1:16: Could not resolve "node:fs"`},
		{"a name that the SDK lacks", "import { nothing } from 'reprise'; nothing();\n", `bad.ts:1:10: No matching export in "reprise:index" for import "nothing"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Build(filepath.Join(write(t, map[string]string{"bad.ts": tc.text}), "bad.ts"))
			var bad *BuildError
			if !errors.As(err, &bad) || len(bad.Problems) != 1 || !strings.HasPrefix(bad.Problems[0], tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
	if _, err := Build(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("got %v for a folder, want an error that says so", err)
	}
	if _, err := Build("not-there.ts"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for a file that is not there, want %v", err, os.ErrNotExist)
	}
}

func TestJoin(t *testing.T) {
	engine := []byte("\x00asm\x01\x00\x00\x00")
	got, err := Join(engine, Bundle{Script: []byte(strings.Repeat("s", 300)), Map: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	rest, sections := got[len(engine):], map[string]string{}
	for len(rest) > 0 {
		size, n := binary.Uvarint(rest[1:])
		body := rest[1+n : 1+n+int(size)]
		sections[string(body[1:1+body[0]])] = string(body[1+body[0]:])
		rest = rest[1+n+int(size):]
	}
	if diff := cmp.Diff(map[string]string{scriptAsset: strings.Repeat("s", 300), mapAsset: "{}"}, sections); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
	if _, err := Join([]byte("\x00asm\x0d\x00\x01\x00"), Bundle{}); err == nil {
		t.Error("a component was taken for an engine")
	}
}

func TestWriteTypes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node_modules")
	if err := WriteTypes(dir); err != nil {
		t.Fatal(err)
	}
	var p struct{ Types string }
	b, err := os.ReadFile(filepath.Join(dir, "reprise/package.json"))
	if err != nil || json.Unmarshal(b, &p) != nil {
		t.Fatalf("package.json: %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "reprise", p.Types)); err != nil {
		t.Error(err)
	}
}
