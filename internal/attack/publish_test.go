package attack

import (
	"bytes"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"reprise/abi"
)

// publishAttacks are about what a module may do, and how it may be called, before anybody runs it.
func publishAttacks() []attack {
	return []attack{
		{number: 30, what: "a start section that loops for ever: the upload is answered, and a run of it fails out of gas",
			bounds: bounds{cpu: time.Minute}, setup: littleGas, run: endlessStart},
		signatureAttack(),
		{number: 35, what: "names that lead out of a folder, are too long, look alike or are those of devices: refused, or a name like any other, for no name becomes a path",
			bounds: decoding, run: badNames},
	}
}

func endlessStart(v *victim) {
	spin := fn(0, 0x03, 0x40, 0x0c, 0, 0x0b)
	bare := mod(voidType, sec(secFunction, 2, 0, 0), startFunc, sec(secStart, 1), sec(secCode, 2, fn(0), spin))
	v.pushed(ann, "bare", bare)
	v.fails("start section", v.run("bare", nil), abi.CodeOutOfGas)
	// One that can be asked to describe itself is run at its upload, and stopped.
	asked := mod(sec(secType, 2, 0x60, 0, 0, 0x60, 0, 1, 0x7f), sec(secImport, 1, str(abi.Module), str("entry_kind"), 0, 1),
		sec(secFunction, 2, 0, 0), sec(secExport, 1, str("_start"), 0, 1), sec(secStart, 2), sec(secCode, 2, fn(0), spin))
	v.pushed(ann, "asked", asked)
	v.fails("start section of a module that is asked to describe itself", v.run("asked", nil), abi.CodeOutOfGas)
	reactor := mod(voidType, sec(secFunction, 2, 0, 0), sec(secExport, 2, str("reprise_run"), 0, 0, str("_initialize"), 0, 1),
		sec(secCode, 2, fn(0), spin))
	v.pushed(ann, "reactor", reactor)
	v.fails("_initialize", v.run("reactor", nil), abi.CodeOutOfGas)
}

func badNames(v *victim) {
	before := v.files()
	m := fixture("echo")
	for _, name := range []string{"../../etc/x", "/etc/x", "a/b", `a\b`, "a\x00b", "a\nb", "a b", "-x", "_x", ".x", "..x", strings.Repeat("n", 256), strings.Repeat("n", 300),
		"\u0430nn", "ann\u202e", "ａnn", "x\u200b", "sha256:" + strings.Repeat("0", 64), "%2e%2e", "a?b", "a#b", "CON:", "x\xff"} {
		a, err := v.call(ann, http.MethodPut, modulePath(name), wasmType, bytes.NewReader(m))
		v.check("upload", err)
		v.refusal(name, a, "invalid_name")
		if a.status != http.StatusBadRequest {
			v.errorf("%q: got %d, want 400", name, a.status)
		}
	}
	for _, path := range []string{"/v1/modules/.", "/v1/modules/..", "/v1/modules/", "/v1/modules//x", "/v1/modules/../../etc/x", "/v1/modules/a/b"} {
		a, err := v.call(ann, http.MethodPut, path, wasmType, bytes.NewReader(m))
		v.check("upload", err)
		v.refusal(path, a, "route_not_found", "method_not_allowed")
	}
	for _, name := range []string{"%2e", "%2e%2e"} { // "." and ".." as a client that escapes everything sends them
		a, err := v.call(ann, http.MethodPut, "/v1/modules/"+name, wasmType, bytes.NewReader(m))
		v.check("upload", err)
		v.refusal(name, a, "invalid_name", "route_not_found")
	}
	if n := v.modules(ann); n != 0 {
		v.errorf("ann has %d modules, want none", n)
	}
	for _, name := range []string{"con", "NUL", "aux.wasm", "lpt1", strings.Repeat("n", 255)} { // harmless: no name becomes a path
		v.pushed(ann, name, m)
		v.completes(name, v.run(name, nil))
	}
	v.noNewFiles(before)
	v.check("list files", filepath.WalkDir(v.dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(path, "nnnn") || strings.Contains(path, "lpt1") {
			v.errorf("a name became the path %s", path)
		}
		return err
	}))
}
