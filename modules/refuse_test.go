package modules

import (
	"bytes"
	"strings"
	"testing"

	"reprise/modules/binary"
)

func leb(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func str(s string) []byte { return append(leb(len(s)), s...) }

func section(id binary.SectionID, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(append([]byte{byte(id)}, leb(len(body))...), body...)
}

func custom(name, content string) []byte { return section(binary.Custom, str(name), []byte(content)) }

func with(file []byte, sections ...[]byte) []byte {
	return append(bytes.Clone(file), bytes.Join(sections, nil)...)
}

var header = []byte("\x00asm\x01\x00\x00\x00")

// entry is the type () -> (), and reactor a module with it around an import and extra exports.
func reactor(imports, exports []byte, importCount, exportCount int, memory bool) []byte {
	file := with(header, section(binary.TypeSection, []byte{2, 0x60, 0, 0, 0x60, 1, 0x7f, 1, 0x7f}),
		section(binary.ImportSection, leb(importCount), imports),
		section(binary.FunctionSection, []byte{1, 0}))
	if memory {
		file = with(file, section(binary.MemorySection, []byte{1, 0, 1}))
	}
	return with(file, section(binary.ExportSection, leb(exportCount), exports), section(binary.CodeSection, []byte{1, 2, 0, 0x0b}))
}

// importing is a module that imports one function of type (i32) -> i32 and exports reprise_run.
func importing(module, name string) []byte {
	return reactor(bytes.Join([][]byte{str(module), str(name), {0, 1}}, nil),
		bytes.Join([][]byte{str("reprise_run"), {0, 1}, str("memory"), {2, 0}}, nil), 1, 2, true)
}

// exporting is a module that imports nothing and exports its function under a name.
func exporting(name string, more ...[]byte) []byte {
	return reactor(nil, bytes.Join(append([][]byte{str(name), {0, 0}}, more...), nil), 0, 1+len(more), true)
}

func TestPrepareRefuses(t *testing.T) {
	hostile := strings.Repeat("\x1b[31m\r\n{\"level\":\"fatal\"}", 50_000)
	many := make([][]byte, 0, 900)
	for i := range 900 {
		many = append(many, append(str(strings.Repeat("\U000e0001", 60)+string(rune('a'+i%26))+strings.Repeat("z", i/26)), 0, 0))
	}
	tests := []struct {
		name      string
		file      []byte
		code, say string // say: what the text must have
	}{
		{"more than 8 MiB", make([]byte, MaxSize+1), "too_large", "8388609"},
		{"unknown function of the contract", importing("reprise_v1", "teleport"), "unknown_import", `"teleport"`},
		{"misspelt", importing("reprise_v1", "Wait"), "unknown_import", `"Wait"`},
		{"wrong signature", importing("reprise_v1", "timer"), "wrong_signature", "(i32) -> i32, and it is (i64) -> i32"},
		{"other version of the contract", importing("reprise_v2", "timer"), "unknown_import", "reprise_v1"},
		{"another module", importing("payments", "charge"), "unknown_import", "modules cannot import each other"},
		{"AssemblyScript abort", importing("env", "abort"), "unknown_import", "--use abort="},
		{"unlinked symbol", importing("env", "malloc"), "unknown_import", "not linked"},
		{"WASI preview 2", importing("wasi:io/poll@0.2.0", "poll"), "unknown_import", "preview 2"},
		{"old WASI", importing("wasi_unstable", "fd_close"), "unknown_import", "before WASI preview 1"},
		{"unknown function of WASI", importing("wasi_snapshot_preview1", "fd_teleport"), "unknown_import", "fd_teleport"},
		{"WASI of the wrong type", importing("wasi_snapshot_preview1", "fd_write"), "wrong_signature", "(i32, i32, i32, i32) -> i32"},
		{"hostile import name", importing("reprise_v1", hostile), "unknown_import", `\x1b[31m\r\n`},
		{"hostile import module", importing(hostile, "f"), "unknown_import", `\x1b[31m\r\n`},
		{"no entry, hostile exports", exporting(hostile), "no_entry", `\x1b[31m\r\n`},
		{"no entry, hundreds of exports", exporting("first", many...), "no_entry", "more"},
		{"no exports", reactor(nil, nil, 0, 0, true), "no_entry", "nothing"},
		{"entry is a memory", reactor(nil, bytes.Join([][]byte{str("_start"), {2, 0}}, nil), 0, 1, true), "wrong_entry", "memory"},
		{"_start beside a wrong _initialize", exporting("_start", append(str("_initialize"), 2, 0)), "wrong_entry", "_initialize"},
		{"memory is a function", exporting("_start", append(str("memory"), 0, 0)), "wrong_export", "memory"},
		{"pointer without memory", reactor(bytes.Join([][]byte{str("wasi_snapshot_preview1"), str("sched_yield"), {0, 2}}, nil), nil, 1, 0, false), "malformed", "type 2"},
		{"asset without a name", with(fixtures(t)["trap"], custom("reprise.asset.", "x")), "invalid_asset", "0 bytes"},
		{"asset with a long name", with(fixtures(t)["trap"], custom("reprise.asset."+strings.Repeat("a", 256), "x")), "invalid_asset", "256 bytes"},
		{"asset twice", with(fixtures(t)["trap"], custom("reprise.asset.a", "x"), custom("reprise.asset.a", "y")), "invalid_asset", "twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, refused := prepare(t, tt.file)
			if refused == nil || refused.Code != tt.code {
				t.Fatalf("got %v, want code %s", refused, tt.code)
			}
			if !strings.Contains(refused.Error(), tt.say) {
				t.Errorf("got %q, want %q in it", refused, tt.say)
			}
		})
	}
}

func TestMemoryIsRequiredForPointers(t *testing.T) {
	build := func(types []byte, module, name string, export bool) []byte {
		exports, n := append(str("reprise_run"), 0, 1), 1
		if export {
			exports, n = append(append(exports, str("memory")...), 2, 0), 2
		}
		return with(header, section(binary.TypeSection, types),
			section(binary.ImportSection, []byte{1}, str(module), str(name), []byte{0, 1}),
			section(binary.FunctionSection, []byte{1, 0}), section(binary.MemorySection, []byte{1, 0, 1}),
			section(binary.ExportSection, leb(n), exports), section(binary.CodeSection, []byte{1, 2, 0, 0x0b}))
	}
	status := []byte{2, 0x60, 0, 0, 0x60, 1, 0x7f, 1, 0x7f}
	input := []byte{2, 0x60, 0, 0, 0x60, 2, 0x7f, 0x7f, 1, 0x7f}
	tests := []struct {
		name   string
		file   []byte
		refuse string
	}{
		{"no pointer, no memory", build(status, "reprise_v1", "status", false), ""},
		{"pointer, memory", build(input, "reprise_v1", "input", true), ""},
		{"pointer, no memory", build(input, "reprise_v1", "input", false), "no_memory"},
		{"WASI without pointer", build(status, "wasi_snapshot_preview1", "fd_close", false), ""},
		{"WASI with pointer", build(input, "wasi_snapshot_preview1", "fd_tell", false), "no_memory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, refused := prepare(t, tt.file)
			got := ""
			if refused != nil {
				got = refused.Code
			}
			if got != tt.refuse {
				t.Errorf("got %q (%v), want %q", got, refused, tt.refuse)
			}
		})
	}
}

func TestMemoryAtStart(t *testing.T) {
	file := func(pages int) []byte {
		return with(header, section(binary.TypeSection, []byte{1, 0x60, 0, 0}), section(binary.FunctionSection, []byte{1, 0}),
			section(binary.MemorySection, []byte{1, 0}, leb(pages)), section(binary.ExportSection, []byte{1}, str("_start"), []byte{0, 0}),
			section(binary.CodeSection, []byte{1, 2, 0, 0x0b}))
	}
	if _, refused := prepare(t, file(MaxMemoryPages)); refused != nil {
		t.Errorf("got %v for %d pages, want none", refused, MaxMemoryPages)
	}
	if _, refused := prepare(t, file(MaxMemoryPages+1)); refused == nil || refused.Code != "too_much_memory" {
		t.Errorf("got %v for one more, want too_much_memory", refused)
	}
}
