// Package gen renders what is generated from the contract: docs/ABI.md for people and abi/abi.h for C.
// The tables come from abi.Functions and from the constants and their comments in package abi's sources,
// so that neither can say something else than the code. It has no place in a host; its test writes and
// checks the files.
package gen

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"text/template"

	"reprise/abi"
)

//go:embed ABI.md.tmpl
var docsText string

//go:embed abi.h.tmpl
var headerText string

// row is a constant or field with what its source says of it.
type row struct {
	Name, Value, Doc string
}

// contract is what the templates see.
type contract struct {
	Version            int
	Module, WASIModule string
	Families           []family
	Statuses           []row
	Codes              []row
	Limits             []row
	Options, Retry     []row
	RunLimits          []row
	Kinds              []row
	Pending            []abi.Function // specified, not implemented
	CompletionFD       int
	Manifest           []row
}

type family struct {
	Name      string
	Functions []abi.Function
}

// Docs renders docs/ABI.md. sources is the folder of package abi.
func Docs(sources string) ([]byte, error) { return render("ABI.md", docsText, sources) }

// Header renders abi/abi.h. sources is the folder of package abi.
func Header(sources string) ([]byte, error) { return render("abi.h", headerText, sources) }

func render(name, text, sources string) ([]byte, error) {
	c, err := load(sources)
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Funcs(template.FuncMap{
		"wat": wat, "c": cPrototype, "cell": cell, "blockingText": blockingText, "upper": strings.ToUpper,
	}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse template of %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, c); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return out.Bytes(), nil
}

func load(sources string) (contract, error) {
	c := contract{Version: abi.Version, Module: abi.Module, WASIModule: abi.WASIModule, CompletionFD: abi.CompletionFD}
	for _, f := range abi.Functions {
		if len(c.Families) == 0 || c.Families[len(c.Families)-1].Name != f.Family {
			c.Families = append(c.Families, family{Name: f.Family})
		}
		last := &c.Families[len(c.Families)-1]
		last.Functions = append(last.Functions, f)
		if !f.Implemented {
			c.Pending = append(c.Pending, f)
		}
	}
	for s := abi.Pending; s <= abi.TimedOut; s++ {
		c.Statuses = append(c.Statuses, row{Name: s.String(), Value: strconv.Itoa(int(s))})
	}
	for k := abi.EntryWorkflow; k <= abi.EntryDescribe; k++ {
		c.Kinds = append(c.Kinds, row{Name: k.String(), Value: strconv.Itoa(int(k))})
	}
	consts, err := constants(sources)
	if err != nil {
		return c, err
	}
	for _, r := range consts {
		switch {
		case strings.HasPrefix(r.Name, "Code") && strings.HasPrefix(r.Value, `"`):
			c.Codes = append(c.Codes, row{Name: strings.Trim(r.Value, `"`), Doc: r.Doc})
		case strings.HasPrefix(r.Name, "Max"):
			r.Doc = strings.TrimPrefix(r.Doc, r.Name+" ")
			c.Limits = append(c.Limits, r)
		}
	}
	for i := range c.Limits {
		c.Limits[i].Value = strconv.FormatInt(limitValues[c.Limits[i].Name], 10)
	}
	for typ, into := range map[string]*[]row{"Options": &c.Options, "Retry": &c.Retry, "Manifest": &c.Manifest, "Limits": &c.RunLimits} {
		if *into, err = fields(sources, typ); err != nil {
			return c, err
		}
	}
	return c, nil
}

// limitValues gives the value of each limit; a test fails when one is missing.
var limitValues = map[string]int64{
	"MaxGas": abi.MaxGas, "MaxRunGas": abi.MaxRunGas, "MaxActivityGas": abi.MaxActivityGas, "MaxDepth": abi.MaxDepth, "MaxChildDepth": abi.MaxChildDepth,
	"MaxPayload": abi.MaxPayload, "MaxName": abi.MaxName, "MaxOptions": abi.MaxOptions, "MaxPending": abi.MaxPending, "MaxLogLine": abi.MaxLogLine,
	"MaxPendingBytes": abi.MaxPendingBytes, "MaxRequests": abi.MaxRequests, "MaxEntries": abi.MaxEntries, "MaxJournalBytes": abi.MaxJournalBytes,
	"MaxLogBytes": abi.MaxLogBytes, "MaxPublishedBytes": abi.MaxPublishedBytes, "MaxMemoryPages": abi.MaxMemoryPages,
	"MaxRandom": abi.MaxRandom, "MaxPublished": abi.MaxPublished, "MaxDuration": abi.MaxDuration,
}

func parse(sources string) ([]*ast.File, error) {
	paths, err := filepath.Glob(filepath.Join(sources, "*.go"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no sources in %s (%v)", sources, err)
	}
	var files []*ast.File
	for _, p := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", p, err)
		}
		files = append(files, f)
	}
	return files, nil
}

// constants lists the constants of package abi with their comments, in order.
func constants(sources string) ([]row, error) {
	files, err := parse(sources)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, f := range files {
		for _, d := range f.Decls {
			gd, ok := d.(*ast.GenDecl)
			if !ok || gd.Tok != token.CONST {
				continue
			}
			for _, s := range gd.Specs {
				vs := s.(*ast.ValueSpec)
				r := row{Name: vs.Names[0].Name, Doc: comment(vs.Doc, vs.Comment)}
				if r.Doc == "" && len(gd.Specs) == 1 {
					r.Doc = comment(gd.Doc, nil)
				}
				if len(vs.Values) == 1 {
					if lit, ok := vs.Values[0].(*ast.BasicLit); ok {
						r.Value = lit.Value
					}
				}
				rows = append(rows, r)
			}
		}
	}
	return rows, nil
}

// fields lists the fields of a struct of package abi by their JSON names.
func fields(sources, typ string) ([]row, error) {
	files, err := parse(sources)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			ts, ok := n.(*ast.TypeSpec)
			if !ok || ts.Name.Name != typ {
				return true
			}
			st, ok := ts.Type.(*ast.StructType)
			if !ok {
				return false
			}
			for _, field := range st.Fields.List {
				if field.Tag == nil {
					continue
				}
				tag, _, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
				rows = append(rows, row{Name: tag, Doc: strings.TrimPrefix(comment(field.Doc, field.Comment), field.Names[0].Name+" ")})
			}
			return false
		})
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("package abi has no struct %s with JSON fields", typ)
	}
	return rows, nil
}

func comment(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if g != nil {
			return strings.Join(strings.Fields(g.Text()), " ")
		}
	}
	return ""
}
