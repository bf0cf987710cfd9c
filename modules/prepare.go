package modules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reprise/abi"
	"reprise/modules/binary"
	"reprise/modules/rewrite"
)

const (
	// MaxSize bounds a module's file in bytes.
	MaxSize = 8 << 20
	// MaxMemoryPages bounds the memory that a module asks for at its start, in pages of 64 KiB: 64 MiB, which is also what it may grow to.
	MaxMemoryPages = abi.MaxMemoryPages
	// AssetPrefix begins the name of a custom section that the guest reads with asset.
	AssetPrefix = "reprise.asset."
)

// Prepared is a module that passed the upload check, in the form that the sandbox compiles.
type Prepared struct {
	Digest Digest // of the bytes as uploaded
	Size   int64  // of the bytes as uploaded
	Shape  Shape
	// Code is what is compiled: the module as rewritten, without its custom sections but a well-formed name
	// section. Files that differ only in assets have the same Code.
	Code []byte
	// Rewritten says what was done to the code.
	Rewritten rewrite.Info
	// Freeze says how instances can be frozen, and carried on in others.
	Freeze Freeze
	// MemoryPages is what the memory begins with, in pages of 64 KiB.
	MemoryPages uint32
	// ImageKey names what instances are made from: 64 hex digits of a SHA-256 over Code, its data and
	// rewrite.PipelineVersion.
	ImageKey string
	// Assets are the custom sections reprise.asset.NAME, by NAME.
	Assets map[string][]byte
	// Imports are "module.name", in the binary's order.
	Imports []string
	// Exports are the exported functions.
	Exports map[string]binary.FuncType
	// UsesDescribe says that the module asks for its entry kind, so that it can be run with
	// abi.EntryDescribe; any other would take that for a start.
	UsesDescribe bool
	// UsesOutput says that the module sets its result with output.
	UsesOutput bool
}

// Entry says whether the module exports a function that the host may enter under that name: one of
// type () -> () or () -> i32.
func (p *Prepared) Entry(name string) bool {
	t, ok := p.Exports[name]
	return ok && entryType(t)
}

// Prepare takes a module from its uploaded bytes to what the sandbox compiles. It is the one way in: form,
// entry points, imports, memory and instructions are checked, and the code is rewritten so that it can be
// metered and bounded. It does not change or keep bytes. What is wrong with them is a *RefusedError; any other error is the host's own.
func Prepare(ctx context.Context, bytes []byte) (*Prepared, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("prepare module: %w", err)
	}
	if err := CheckSize(int64(len(bytes))); err != nil {
		return nil, err
	}
	m, err := binary.Decode(bytes)
	if err != nil {
		return nil, refusedForm(err)
	}
	p := &Prepared{Digest: DigestOf(bytes), Size: int64(len(bytes)), Exports: make(map[string]binary.FuncType)}
	if p.Shape, err = checkEntry(m); err != nil {
		return nil, err
	}
	if err := checkImports(m); err != nil {
		return nil, err
	}
	if err := checkMemory(m); err != nil {
		return nil, err
	}
	use, err := measureCode(m)
	if err != nil {
		return nil, err
	}
	if p.Assets, err = assets(bytes, m); err != nil {
		return nil, err
	}
	for _, e := range m.Exports {
		if e.Kind == binary.Func {
			p.Exports[e.Name] = e.Type
		}
	}
	for _, im := range m.Imports {
		p.Imports = append(p.Imports, im.Module+"."+im.Name)
	}
	p.UsesDescribe = slices.Contains(p.Imports, abi.Module+".entry_kind")
	p.UsesOutput = slices.Contains(p.Imports, abi.Module+".output")
	var waits reach
	if p.Freeze, waits, err = freezeReach(m); err != nil {
		return nil, err
	}
	if err := p.rewrite(m, waits, use); err != nil {
		return nil, err
	}
	if len(m.Memories) > 0 {
		p.MemoryPages = m.Memories[0].Min
	}
	p.ImageKey = imageKey(p)
	return p, nil
}

// rewrite makes Code, by passes that the kind of freezing adds to. When they cannot be made, the kind becomes replay.
func (p *Prepared) rewrite(m *binary.Module, waits reach, use codeUse) (err error) {
	o := passes
	switch {
	case p.Freeze.Kind == FreezeGo:
		o.Resume = p.Freeze.Go.resume()
	case p.Freeze.Kind == FreezeSuspend && waits.functions > 0:
		o.Suspend = waits.suspend()
	}
	p.Code, p.Rewritten, err = rewrite.Apply(m, o)
	if o.Suspend != nil {
		why := ""
		switch {
		case errors.Is(err, rewrite.ErrUnsaved):
			why = err.Error()
		case err == nil:
			why, err = tooLarge(m, p.Code, waits, use)
		}
		if why != "" {
			p.Freeze.Kind, p.Freeze.Reason = FreezeReplay, why
			o.Suspend = nil
			p.Code, p.Rewritten, err = rewrite.Apply(m, o)
		}
	}
	if err != nil {
		return refusedForm(err)
	}
	return nil
}

// imageKey is over everything that an instance's first state follows from.
func imageKey(p *Prepared) string {
	h := sha256.New()
	fmt.Fprintf(h, "pipeline %d, %s, %d pages, %d bytes of code, %d stretches of data\n", rewrite.PipelineVersion, p.Shape, p.MemoryPages, len(p.Code), len(p.Rewritten.Data))
	h.Write(p.Code)
	for _, r := range p.Rewritten.Data {
		fmt.Fprintf(h, "%d bytes at %d\n", len(r.Bytes), r.Offset)
		h.Write(r.Bytes)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// MaxTableEntries bounds a table: real programs have some thousands.
const MaxTableEntries = 100_000

// lazyTable is how many entries of a table are worth it: each takes about 60 ns and 100 bytes of an instance's making, and
// a look at each call.
const lazyTable = 256

// passes is what is done to every module. A change of it is a new rewrite.PipelineVersion.
var passes = rewrite.Options{Gas: true, Depth: abi.MaxDepth, MemoryPages: MaxMemoryPages, TableEntries: MaxTableEntries, CanonicalNaN: true, LazyTable: lazyTable,
	ExportGlobals: true, Apart: true}

func refusedForm(err error) error {
	var form *binary.Error
	if !errors.As(err, &form) {
		return fmt.Errorf("decode module: %w", err)
	}
	return &RefusedError{Code: form.Code, What: form.What, Where: form.Where(), Fix: form.Fix}
}

// assets copies the custom sections that the guest may read.
func assets(file []byte, m *binary.Module) (map[string][]byte, error) {
	found := make(map[string][]byte)
	for _, s := range m.Sections {
		name, ok := strings.CutPrefix(s.Name, AssetPrefix)
		if !ok || s.ID != binary.Custom {
			continue
		}
		refuse := func(what string) error {
			return &RefusedError{Code: "invalid_asset", What: what, Where: fmt.Sprintf("custom section, offset 0x%x", s.Start),
				Fix: fmt.Sprintf("give each asset a name of 1 to %d bytes of its own", abi.MaxName)}
		}
		if name == "" || len(name) > abi.MaxName {
			return nil, refuse(fmt.Sprintf("the name of the asset %.40q has %d bytes", name, len(name)))
		}
		if _, twice := found[name]; twice {
			return nil, refuse(fmt.Sprintf("the asset %.40q is there twice", name))
		}
		found[name] = slices.Clone(file[s.Body:s.End])
	}
	return found, nil
}
