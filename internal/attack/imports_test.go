package attack

import (
	"net/http"
	"strings"

	"reprise/journal"
	"reprise/tenant"
)

// importAttacks reach for what the host does not give.
func importAttacks() []attack {
	return []attack{
		{number: 26, what: "an import that is unknown, of another type, or a memory, table or global: refused, naming it", bounds: decoding, run: badImports},
		{number: 27, what: "no entry, or an entry or memory of another type: refused, naming it", bounds: decoding, run: badExports},
		{number: 28, what: "workflows named like the host's import modules or like another tenant's: each runs its own module", run: namesakes},
		{number: 29, what: "an import from another tenant's module by its name: refused", bounds: decoding, run: importFromTenant},
		{number: 74, what: "another version of the contract: refused at upload, with the version that the host has", bounds: decoding, run: otherVersions},
	}
}

// importing is a command that imports a function of type (i32) -> i32.
func importing(module, name string) []byte {
	return mod(sec(secType, 2, 0x60, 0, 0, 0x60, 1, 0x7f, 1, 0x7f), sec(secImport, 1, str(module), str(name), 0, 1), oneVoid,
		sec(secMemory, 1, 0, 1), sec(secExport, 2, str("_start"), 0, 1, str("memory"), 2, 0), sec(secCode, 1, fn(0)))
}

// importingKind is a command that imports something else than a function.
func importingKind(module, name string, desc ...any) []byte {
	return mod(voidType, sec(secImport, 1, str(module), str(name), cat(desc...)), oneVoid, startFunc, sec(secCode, 1, fn(0)))
}

func badImports(v *victim) {
	for what, tt := range map[string]struct {
		module     []byte
		code, name string
	}{
		"unknown function":         {importing("reprise_v1", "teleport"), "unknown_import", "teleport"},
		"misspelt":                 {importing("reprise_v1", "Wait"), "unknown_import", "Wait"},
		"another type":             {importing("reprise_v1", "timer"), "wrong_signature", "timer"},
		"specified only":           {importing("reprise_v1", "child"), "wrong_signature", "child"},
		"unknown of WASI":          {importing("wasi_snapshot_preview1", "fd_teleport"), "unknown_import", "fd_teleport"},
		"WASI of another type":     {importing("wasi_snapshot_preview1", "fd_write"), "wrong_signature", "fd_write"},
		"env":                      {importing("env", "system"), "unknown_import", "system"},
		"the host's own meter":     {importing("reprise_host_v1", "out_of_gas"), "unknown_import", "out_of_gas"},
		"memory":                   {importingKind("env", "memory", 2, 0, 1), "unknown_import", "memory"},
		"table":                    {importingKind("env", "table", 1, 0x70, 0, 1), "unknown_import", "table"},
		"global":                   {importingKind("env", "base", 3, 0x7f, 0), "unknown_import", "base"},
		"memory of the contract":   {importingKind("reprise_v1", "memory", 2, 0, 1), "unknown_import", "memory"},
		"no name":                  {importing("", ""), "unknown_import", `""`},
		"a name of 20,000 escapes": {importing(hostile, hostile), "unknown_import", `\x1b[31m\r\n`},
	} {
		a := v.refused(what, tt.module, tt.code)
		if !strings.Contains(a.detail, tt.name) {
			v.errorf("%s: the refusal says %.300q, want %q in it", what, a.detail, tt.name)
		}
	}
}

func badExports(v *victim) {
	exporting := func(exports ...any) []byte {
		return mod(sec(secType, 2, 0x60, 0, 0, 0x60, 1, 0x7f, 1, 0x7e), sec(secFunction, 2, 0, 1), sec(secMemory, 1, 0, 1),
			sec(secExport, exports...), sec(secCode, 2, fn(0), fn(0, 0x42, 0)))
	}
	for what, tt := range map[string]struct {
		module     []byte
		code, name string
	}{
		"nothing":                    {exporting(0), "no_entry", "_start"},
		"something else":             {exporting(1, str("main"), 0, 0), "no_entry", "main"},
		"_start with a parameter":    {exporting(1, str("_start"), 0, 1), "wrong_entry", "_start"},
		"_start is a memory":         {exporting(1, str("_start"), 2, 0), "wrong_entry", "_start"},
		"reprise_run, another type":  {exporting(1, str("reprise_run"), 0, 1), "wrong_entry", "reprise_run"},
		"_initialize, another type":  {exporting(2, str("reprise_run"), 0, 0, str("_initialize"), 0, 1), "wrong_entry", "_initialize"},
		"memory is a function":       {exporting(2, str("_start"), 0, 0, str("memory"), 0, 0), "wrong_export", "memory"},
		"a name of the host's meter": {exporting(2, str("_start"), 0, 0, str("reprise_host_gas"), 0, 0), "wrong_export", "reprise_host_gas"},
	} {
		a := v.refused(what, tt.module, tt.code)
		if !strings.Contains(a.detail, tt.name) {
			v.errorf("%s: the refusal says %.300q, want %q in it", what, a.detail, tt.name)
		}
	}
}

// namesakes gives the same names to modules of two tenants.
func namesakes(v *victim) {
	for _, name := range []string{"reprise_v1", "wasi_snapshot_preview1", "reprise_host_v1", "env", "steps"} {
		// The module calls itself so too, in its name section.
		named := custom("name", 0, leb(len(str(name))), str(name))
		v.pushed(ann, name, cat(fixture("echo"), named))
		v.pushed(bob, name, cat(fixture("steps"), named))
		mine, others := v.begin(ann, name, []byte("2")), v.begin(bob, name, []byte("2"))
		for _, want := range []struct {
			t      tenant.ID
			run    journal.RunID
			output string
		}{{ann, mine, "2"}, {bob, others, "[1][2]"}} {
			if run := v.end(want.t, want.run); run.State != journal.Completed || string(run.Output) != want.output {
				v.errorf("%s of %s: got %s %q (%s), want %q", name, want.t, run.State, run.Output, run.Reason, want.output)
			}
		}
	}
}

func importFromTenant(v *victim) {
	v.pushed(bob, "payments", fixture("echo"))
	for _, name := range []string{"payments", "bob/payments", "bob"} {
		a := v.refused(name, importing(name, "reprise_run"), "unknown_import")
		if !strings.Contains(a.detail, name) {
			v.errorf("the refusal says %q, want %q in it", a.detail, name)
		}
	}
	// Nor is what bob has there for ann under any other name.
	a, err := v.call(ann, http.MethodGet, modulePath("payments"), nil, nil)
	v.check("ask for the module", err)
	v.refusal("another tenant's module", a, "module_not_found")
}

func otherVersions(v *victim) {
	for _, version := range []string{"reprise_v2", "reprise_v0", "reprise", "reprise_v1 ", "reprise_v10"} {
		a := v.refused(version, importing(version, "status"), "unknown_import")
		if !strings.Contains(string(a.body), "reprise_v1") {
			v.errorf("%s: the refusal is %s, want the version that the host has in it", version, a.body)
		}
	}
}
