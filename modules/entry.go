package modules

import (
	"fmt"
	"slices"
	"strings"

	"reprise/abi"
	"reprise/modules/binary"
)

// entryType says whether the host may enter a function of that type: () -> () or () -> i32.
func entryType(t binary.FuncType) bool {
	return len(t.Params) == 0 && (len(t.Results) == 0 || len(t.Results) == 1 && t.Results[0] == binary.I32)
}

// checkEntry finds out how a module is entered. A command's _start wins over reprise_run: it is what the
// toolchain of a module with main makes.
func checkEntry(m *binary.Module) (Shape, error) {
	if err := checkExport(m, abi.ExportInitialize, "() -> ()", func(t binary.FuncType) bool { return t.Equal(binary.FuncType{}) }); err != nil {
		return "", err
	}
	if err := checkExport(m, abi.ExportReseed, "() -> () or () -> i32", entryType); err != nil {
		return "", err
	}
	if err := checkExport(m, abi.ExportQuery, "() -> () or () -> i32", entryType); err != nil {
		return "", err
	}
	if _, ok := m.Export(abi.ExportStart); ok {
		return Command, checkExport(m, abi.ExportStart, "() -> ()", func(t binary.FuncType) bool { return t.Equal(binary.FuncType{}) })
	}
	if _, ok := m.Export(abi.ExportRun); ok {
		return Reactor, checkExport(m, abi.ExportRun, "() -> () or () -> i32", entryType)
	}
	return "", &RefusedError{Code: "no_entry",
		What: fmt.Sprintf("the module exports neither %s nor %s; it exports %s", abi.ExportStart, abi.ExportRun, exportNames(m)), Where: "exports",
		Fix: "build a WASI command (a main), or export the function " + abi.ExportRun}
}

// checkExport checks the export of a name, when there is one.
func checkExport(m *binary.Module, name, want string, good func(binary.FuncType) bool) error {
	e, ok := m.Export(name)
	if !ok || e.Kind == binary.Func && good(e.Type) {
		return nil
	}
	got := e.Kind.String()
	if e.Kind == binary.Func {
		got = clip(e.Type.String())
	}
	return &RefusedError{Code: "wrong_entry", What: fmt.Sprintf("the export %s is %s, not a function %s", name, got, want),
		Where: fmt.Sprintf("export section, offset 0x%x", e.Offset), Fix: "export it with that type"}
}

// maxListed bounds a list of names in an error, so that the error stays below 4 KiB.
const maxListed = 1 << 10

func exportNames(m *binary.Module) string {
	if len(m.Exports) == 0 {
		return "nothing"
	}
	var b strings.Builder
	for i, e := range m.Exports {
		next := fmt.Sprintf("%.40q", e.Name)
		if b.Len()+len(next) > maxListed {
			fmt.Fprintf(&b, " and %d more", len(m.Exports)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(next)
	}
	return b.String()
}

// clip bounds the text of a type: a function may have dozens of parameters.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// checkMemory checks the memory that the host reads and writes.
func checkMemory(m *binary.Module) error {
	if pages := startPages(m); pages > MaxMemoryPages {
		return &RefusedError{Code: "too_much_memory", Where: "memory section",
			What: fmt.Sprintf("the module asks for %d pages of memory at its start, more than %d", pages, MaxMemoryPages),
			Fix:  "lower the initial memory; it may grow later"}
	}
	e, ok := m.Export(abi.ExportMemory)
	if ok && e.Kind != binary.Memory {
		return &RefusedError{Code: "wrong_export", What: fmt.Sprintf("the export %s is a %s", abi.ExportMemory, e.Kind),
			Where: fmt.Sprintf("export section, offset 0x%x", e.Offset), Fix: "export the module's memory under that name"}
	}
	if ok {
		return nil
	}
	for i, im := range m.Imports {
		if pointsToMemory(im.Module, im.Name) {
			return &RefusedError{Code: "no_memory", What: fmt.Sprintf("the module imports %s.%s, which reads or writes its memory, and exports no memory", im.Module, im.Name),
				Where: fmt.Sprintf("import %d of %d", i+1, len(m.Imports)), Fix: "export the module's memory as " + abi.ExportMemory}
		}
	}
	return nil
}

// pointsToMemory says whether a function of the contract or of WASI takes a pointer.
func pointsToMemory(module, name string) bool {
	if module == abi.WASIModule {
		f, _ := FindWASI(name)
		return f.Pointers
	}
	f, _ := abi.Find(name)
	return slices.ContainsFunc(f.Params, func(p abi.Param) bool {
		return p.Name == "ptr" || strings.HasSuffix(p.Name, "_ptr")
	})
}
