// Package archtest keeps the shape of the program: who imports whom, how long a file gets, and that
// exported names are documented. It parses sources and asks no build tool, whose answers are cached.
package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// edges is the import direction: a package may import what stands here, and nothing else of ours.
// A path that ends in /... stands for itself and all below.
var edges = map[string][]string{
	"abi":                      {},
	"abi/...":                  {"abi"},
	"tenant":                   {},
	"modules":                  {"abi", "tenant", "modules/binary", "modules/rewrite"},
	"modules/rewrite":          {"modules/binary"},
	"modules/binary":           {"abi"},
	"modules/watch":            {"modules", "abi"},
	"journal":                  {"abi", "tenant", "modules"},
	"journal/internal/...":     {"journal", "internal/failpoint"},
	"journal/sqlite":           {"abi", "tenant", "modules", "journal", "journal/internal/durable", "journal/internal/payload", "internal/failpoint"},
	"journal/postgres":         {"abi", "tenant", "modules", "journal", "journal/internal/durable", "journal/internal/payload", "internal/failpoint"},
	"journal/journaltest":      {"abi", "tenant", "modules", "journal"},
	"host/effect":              {"abi", "tenant"},
	"host/effect/http":         {"abi", "tenant", "host/effect"},
	"host/internal/sandbox":    {"abi", "modules", "modules/rewrite", "host/internal/checkpoint"},
	"host/internal/checkpoint": {},
	"host/internal/exec":       {"abi", "tenant", "modules", "journal", "host/effect", "host/internal/checkpoint", "host/internal/sandbox", "internal/failpoint"},
	"host/internal/gate":       {"tenant"},
	"host/internal/prune":      {"journal"},
	"host/internal/sched":      {"tenant", "journal", "internal/failpoint"},
	"host":                     {"abi", "tenant", "modules", "journal", "host/effect", "host/internal/exec", "host/internal/gate", "host/internal/prune", "host/internal/sandbox", "host/internal/sched", "internal/failpoint"},
	"host/testkit":             {"abi", "tenant", "modules", "journal", "journal/sqlite", "host/api/wire", "host/effect", "host/effect/http", "host/internal/exec", "host/internal/sandbox"},
	"host/api":                 {"abi", "tenant", "modules", "journal", "host", "host/api/wire", "host/internal/gate"},
	"host/api/wire":            {},
	"host/client":              {"host/api/wire"},
	"cmd/host":                 {"abi", "tenant", "modules", "modules/watch", "journal", "journal/sqlite", "journal/postgres", "host", "host/api", "host/api/wire", "host/client", "host/effect", "host/effect/http", "internal/failpoint", "internal/soak", "guest-sdk/ts", "guest-sdk/project", "host/testkit"},
	"guest-sdk":                {"abi"},
	"guest-sdk/project":        {"guest-sdk", "guest-sdk/ts"},
	"guest-sdk/ts":             {},
	"internal/failpoint":       {},
	"internal/pgserver":        {},
	"internal/pgtest":          {"internal/pgserver"},
	"internal/faultnet":        {},
	"internal/soak":            {"abi", "host/api/wire", "host/client", "internal/failpoint", "internal/pgserver"},
	"internal/archtest":        {},
	"internal/attack":          {},
	"internal/conformance":     {},
	"testdata/...":             {},
	"examples/...":             {},
}

// owners says which packages may import a library that is somebody's affair.
var owners = map[string][]string{
	"github.com/tetratelabs/wazero":    {"host/internal/sandbox", "modules", "modules/rewrite"},
	"github.com/jackc/pgx/v5":          {"journal/postgres"},
	"modernc.org/sqlite":               {"journal/sqlite"},
	"github.com/urfave/cli/v2":         {"cmd/host"},
	"github.com/fsnotify/fsnotify":     {"modules/watch"},
	"github.com/klauspost/compress":    {"journal/internal/payload", "host/internal/checkpoint"},
	"github.com/pressly/goose/v3":      {"journal/sqlite", "journal/postgres"},
	"github.com/danielgtaylor/huma/v2": {"host/api"},
	"github.com/evanw/esbuild":         {"guest-sdk/ts"},
	"go.yaml.in/yaml/v3":               {"host/testkit"},
}

// stdOnly lists packages that import the standard library alone.
var stdOnly = []string{"abi", "tenant"}

// Bounds of a file's length in lines.
const (
	longest = 600
	median  = 200
)

type file struct {
	path, pkg string // slash-separated, from the root
	test      bool
	lines     int
	ast       *ast.File
}

func TestImports(t *testing.T) {
	for _, f := range sources(t) {
		for _, spec := range f.ast.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			checkOurs(t, f, path)
			checkOwner(t, f, path)
			if slices.Contains(stdOnly, f.pkg) && !f.test && strings.Contains(strings.Split(path, "/")[0], ".") {
				t.Errorf("%s imports %s, but package %s imports the standard library only", f.path, path, f.pkg)
			}
		}
	}
}

func checkOurs(t *testing.T, f file, path string) {
	ours, ok := strings.CutPrefix(path, "reprise/")
	if !ok || f.test || ours == f.pkg {
		return // tests may reach further
	}
	allowed, known := edgesOf(f.pkg)
	if !known {
		t.Errorf("%s: package %s is not in the table of edges", f.path, f.pkg)
	} else if !slices.Contains(allowed, ours) {
		t.Errorf("%s imports %s, which package %s may not", f.path, path, f.pkg)
	}
}

func edgesOf(pkg string) ([]string, bool) {
	if allowed, ok := edges[pkg]; ok {
		return allowed, true
	}
	for pattern, allowed := range edges {
		if root, ok := strings.CutSuffix(pattern, "/..."); ok && (pkg == root || strings.HasPrefix(pkg, root+"/")) {
			return allowed, true
		}
	}
	return nil, false
}

func checkOwner(t *testing.T, f file, path string) {
	for lib, pkgs := range owners {
		if (path == lib || strings.HasPrefix(path, lib+"/")) && !slices.Contains(pkgs, f.pkg) {
			t.Errorf("%s imports %s, which only %v may", f.path, path, pkgs)
		}
	}
}

func TestFileLength(t *testing.T) {
	var lengths []int
	for _, f := range sources(t) {
		if f.lines > longest {
			t.Errorf("%s has %d lines, more than %d", f.path, f.lines, longest)
		}
		if !f.test {
			lengths = append(lengths, f.lines)
		}
	}
	slices.Sort(lengths)
	if got := lengths[len(lengths)/2]; got > median {
		t.Errorf("the median file has %d lines, more than %d", got, median)
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	packageDocs := map[string]bool{}
	packages := map[string]string{}
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		packages[f.pkg] = f.path
		packageDocs[f.pkg] = packageDocs[f.pkg] || f.ast.Doc.Text() != ""
		for _, d := range f.ast.Decls {
			checkDecl(t, f, d)
		}
	}
	for pkg, path := range packages {
		if !packageDocs[pkg] {
			t.Errorf("package %s (%s) has no doc comment", pkg, path)
		}
	}
}

func checkDecl(t *testing.T, f file, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) && d.Doc.Text() == "" {
			t.Errorf("%s: func %s is exported and has no doc comment", f.path, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc.Text() == "" && s.Doc.Text() == "" {
					t.Errorf("%s: type %s is exported and has no doc comment", f.path, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && d.Doc.Text() == "" && s.Doc.Text() == "" && s.Comment.Text() == "" {
						t.Errorf("%s: %s is exported and has no doc comment", f.path, n.Name)
					}
				}
			}
		}
	}
}

// exportedReceiver says whether a function belongs to the package's face: methods of unexported types,
// and methods that only satisfy an interface, do not.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	x := d.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	if index, ok := x.(*ast.IndexExpr); ok {
		x = index.X
	}
	id, ok := x.(*ast.Ident)
	return ok && id.IsExported()
}

// sources parses every Go file of the repository, guest modules left out of the import table's reach.
func sources(t *testing.T) []file {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var files []file
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || rel == "bin" || ownModule(root, path)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file{path: rel, pkg: filepath.ToSlash(filepath.Dir(rel)), test: strings.HasSuffix(rel, "_test.go"),
			lines: strings.Count(string(src), "\n"), ast: parsed})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("got %d Go files, want the whole repository", len(files))
	}
	return files
}

// ownModule says whether a folder is the root of another Go module.
func ownModule(root, path string) bool {
	if path == root {
		return false
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}
