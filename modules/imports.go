package modules

import (
	"fmt"
	"strings"

	"reprise/abi"
	"reprise/modules/binary"
)

// checkImports refuses everything that is not a function of the contract or of WASI preview 1, with
// exactly its type.
func checkImports(m *binary.Module) error {
	for i, im := range m.Imports {
		if e := checkImport(im); e != nil {
			e.Where = fmt.Sprintf("import %d of %d, offset 0x%x", i+1, len(m.Imports), im.Offset)
			return e
		}
	}
	return nil
}

func checkImport(im binary.Import) *RefusedError {
	if im.Kind != binary.Func {
		return &RefusedError{Code: "unknown_import", What: fmt.Sprintf("the module imports the %s %.40q.%.40q, and the host gives functions only", im.Kind, im.Module, im.Name),
			Fix: fixKind(im.Kind)}
	}
	switch im.Module {
	case abi.Module:
		return checkContract(im)
	case abi.WASIModule:
		f, ok := FindWASI(im.Name)
		if !ok {
			return &RefusedError{Code: "unknown_import", What: fmt.Sprintf("WASI preview 1 has no function %.40q", im.Name), Fix: "build for WASI preview 1 (wasip1)"}
		}
		return checkType(im, f.Params, f.Results)
	}
	return &RefusedError{Code: "unknown_import", What: fmt.Sprintf("the module imports %.40q.%.40q, and the host gives %s and %s only", im.Module, im.Name, abi.Module, abi.WASIModule),
		Fix: fixModule(im)}
}

func checkContract(im binary.Import) *RefusedError {
	f, ok := abi.Find(im.Name)
	if !ok {
		return &RefusedError{Code: "unknown_import", What: fmt.Sprintf("%s has no function %.40q", abi.Module, im.Name),
			Fix: "check the spelling against docs/ABI.md, or use a host that is as new as the SDK"}
	}
	params := make([]abi.ValType, len(f.Params))
	for i, p := range f.Params {
		params[i] = p.Type
	}
	if e := checkType(im, params, f.Results); e != nil {
		return e
	}
	if !f.Implemented {
		return &RefusedError{Code: "not_implemented", What: fmt.Sprintf("%s.%s is specified, but this version of the host does not implement it", abi.Module, im.Name),
			Fix: "build the module without it"}
	}
	return nil
}

func checkType(im binary.Import, params, results []abi.ValType) *RefusedError {
	want := binary.FuncType{Params: valTypes(params), Results: valTypes(results)}
	if im.Type.Equal(want) {
		return nil
	}
	return &RefusedError{Code: "wrong_signature", What: fmt.Sprintf("the module imports %s.%s as %s, and it is %s", im.Module, im.Name, clip(im.Type.String()), want),
		Fix: "declare it with that type"}
}

func valTypes(ts []abi.ValType) []binary.ValType {
	out := make([]binary.ValType, len(ts))
	for i, t := range ts {
		out[i] = binary.ValType(t)
	}
	return out
}

func fixKind(k binary.Kind) string {
	switch k {
	case binary.Memory:
		return "let the module define its own memory and export it: no --import-memory"
	case binary.Table:
		return "let the module define its own table: no --import-table"
	}
	return "let the module define its own globals: link it statically, not as a shared library"
}

// fixModule knows the imports that toolchains make without being asked.
func fixModule(im binary.Import) string {
	switch {
	case im.Module == "env" && im.Name == "abort":
		return "AssemblyScript: build with --use abort=assembly/YOURFILE/abort and a function of your own that calls fail"
	case im.Module == "env" && im.Name == "seed":
		return "AssemblyScript: build with --use seed=assembly/YOURFILE/seed and a function of your own that calls random"
	case im.Module == "env":
		return "a symbol is not linked: define it in the module, or give its import the module name " + abi.Module
	case strings.HasPrefix(im.Module, "wasi:"):
		return "this is WASI preview 2: build a core module for WASI preview 1 (wasip1)"
	case im.Module == "wasi_unstable":
		return "this is the snapshot before WASI preview 1: build with a current toolchain"
	case strings.HasPrefix(im.Module, "__wbindgen"), im.Module == "wbg":
		return "this is for a browser: build without wasm-bindgen"
	case im.Module == "gojs", im.Module == "go":
		return "this is for a browser: build with GOOS=wasip1"
	case strings.HasPrefix(im.Module, "reprise"):
		return "the contract of this host is " + abi.Module + ": build with an SDK for it"
	}
	return "remove the import; modules cannot import each other"
}
