package attack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"reprise/journal"
	"reprise/modules"
)

// formAttacks are files that are not what they should be.
func formAttacks() []attack {
	return []attack{
		{number: 20, what: "an empty file, four bytes, a component, another version, text: refused with a word for each", bounds: decoding, run: wrongFiles},
		{number: 21, what: "a good module cut at every byte: refused, no crash", bounds: decoding, run: cutFiles},
		{number: 22, what: "bits and bytes of good modules changed at random: refused or run, no crash", bounds: bounds{cpu: 40 * time.Second}, setup: littleGas, run: changedFiles},
		{number: 25, what: "threads, exceptions, tail calls, vectors, 64-bit and several memories, GC: refused by name", bounds: decoding, run: features},
		{number: 34, what: "a name section of 1 MiB, or with escape sequences, line breaks and JSON: nothing of it in logs, failures or answers", run: hostileNames},
	}
}

func wrongFiles(v *victim) {
	for what, tt := range map[string]struct{ file, code, word string }{
		"empty":          {"", "empty", "empty"},
		"four bytes":     {header[:4], "truncated", "end"},
		"seven bytes":    {header[:7], "truncated", "end"},
		"only a header":  {header, "no_entry", "_start"},
		"component":      {"\x00asm\x0d\x00\x01\x00", "component", "component"},
		"version 2":      {"\x00asm\x02\x00\x00\x00", "unsupported_version", "version"},
		"text":           {"(module)", "not_wasm", "not a Wasm module"},
		"shell script":   {"#!/bin/sh\necho owned\n", "not_wasm", "not a Wasm module"},
		"native program": {"\x7fELF\x02\x01\x01", "not_wasm", "not a Wasm module"},
	} {
		a := v.refused(what, []byte(tt.file), tt.code)
		if !strings.Contains(a.detail, tt.word) {
			v.errorf("%s: the refusal says %q, want %q in it", what, a.detail, tt.word)
		}
	}
}

// formCodes are the refusals of a file that is damaged.
var formCodes = []string{"empty", "not_wasm", "truncated", "malformed", "no_entry", "unsupported_version", "too_many", "too_large"}

func cutFiles(v *victim) {
	whole := fixture("echo") // its last section is its code, so that no part of it is a module
	for n := range whole {
		v.refusal(fmt.Sprintf("cut behind %d bytes", n), v.push(ann, "cut", whole[:n]), formCodes...)
	}
	if n := v.modules(ann); n != 0 {
		v.errorf("ann has %d modules, want none", n)
	}
	// Larger ones: their sections end everywhere.
	for _, larger := range [][]byte{own("calls"), fixture("wasi"), fixture("cancelaware")} {
		for n := range larger {
			var refused *modules.RefusedError
			if _, err := modules.Prepare(context.Background(), larger[:n]); err != nil && !errors.As(err, &refused) {
				v.errorf("cut behind %d of %d bytes: got %v, want a refusal or a module", n, len(larger), err)
			}
		}
	}
}

func changedFiles(v *victim) {
	const (
		changes = 20_000
		pushed  = 40 // at least, of those that pass the check: each starts a compiler
	)
	r := rand.New(rand.NewPCG(1, 2))
	originals := [][]byte{fixture("steps"), fixture("wasi"), fixture("manifest"), fixture("published"), own("calls")}
	taken, uploads := 0, 0
	for i := range changes {
		m := change(r, originals[i%len(originals)])
		_, err := modules.Prepare(context.Background(), m)
		var refused *modules.RefusedError
		switch {
		case errors.As(err, &refused):
			if len(refused.Error()) > maxAnswer {
				v.errorf("change %d: the refusal has %d bytes", i, len(refused.Error()))
			}
			continue
		case err != nil:
			v.errorf("change %d: got %v, want a refusal or a module", i, err)
			continue
		}
		if taken++; taken%16 != 0 {
			continue
		}
		uploads++
		if a := v.push(ann, "changed", m); a.status >= http.StatusInternalServerError || a.status == 0 {
			v.errorf("change %d: got %d %s, want it taken or refused", i, a.status, a.body)
		} else if a.code == "" {
			v.settles(i, v.begin(ann, "changed", []byte("2")))
		}
	}
	if uploads < pushed {
		v.errorf("%d changes pass the check and %d are uploaded: the attack tests little behind it", taken, uploads)
	}
}

// settles waits until a run has ended or is suspended.
func (v *victim) settles(i int, id journal.RunID) {
	for {
		switch run := v.view(ann, id); {
		case run.State == journal.Waiting:
			_, err := v.host.Cancel(context.Background(), ann, id, "")
			v.check("cancel", err)
			return
		case run.State.Terminal():
			return
		case run.State == journal.Blocked:
			v.errorf("change %d: the run is blocked: %s", i, run.Reason)
			return
		}
		pause()
	}
}

// change makes a copy with a few bits or bytes changed, removed, doubled or moved.
func change(r *rand.Rand, original []byte) []byte {
	m := append([]byte(nil), original...)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(m))
		switch r.IntN(6) {
		case 0:
			m[at] = byte(r.Uint32())
		case 1:
			m = append(m[:at], m[min(len(m), at+1+r.IntN(4)):]...)
		case 2:
			m = append(m[:at], append([]byte{m[at]}, m[at:]...)...)
		case 3: // a large number
			m = append(m[:at], append([]byte(most), m[min(len(m), at+1):]...)...)
		default:
			m[at] ^= 1 << r.IntN(8)
		}
		if len(m) == 0 {
			return m
		}
	}
	return m
}

func features(v *victim) {
	memory := sec(secMemory, 1, 0, 1)
	with := func(body ...any) []byte {
		return mod(voidType, oneVoid, sec(secTable, 1, 0x70, 0, 1), memory, startFunc, sec(secCode, 1, fn(body...)))
	}
	for what, tt := range map[string]struct {
		module []byte
		word   string
	}{
		"shared memory":        {mod(sec(secMemory, 1, 3, 1, 1)), "threads"},
		"atomic instruction":   {with(0, 0x41, 0, 0xfe, 0x10, 2, 0, 0x1a), "threads"},
		"exception tag":        {mod(voidType, sec(secTag, 1, 0, 0)), "exceptions"},
		"try":                  {with(0, 0x06, 0x40, 0x0b), "exceptions"},
		"try_table":            {with(0, 0x1f, 0x40, 0, 0x0b), "exceptions"},
		"return_call":          {with(0, 0x12, 0), "tail calls"},
		"return_call_indirect": {with(0, 0x41, 0, 0x13, 0, 0), "tail calls"},
		"vector type":          {mod(sec(secType, 1, 0x60, 1, 0x7b, 0)), "SIMD"},
		"vector instruction":   {with(0, 0x41, 0, 0xfd, 0x0f, 0x1a), "SIMD"},
		"relaxed vectors":      {with(0, 0x41, 0, 0xfd, 0x80, 0x02, 0x1a), "SIMD"},
		"memory64":             {mod(sec(secMemory, 1, 4, 1)), "memory64"},
		"two memories":         {mod(sec(secMemory, 2, 0, 1, 0, 1)), "more than one memory"},
		"struct type":          {mod(sec(secType, 1, 0x5f, 0, 0)), "GC"},
		"GC instruction":       {with(0, 0xfb, 0, 0), "GC"},
		"extended constant":    {mod(sec(secGlobal, 1, 0x7f, 0, 0x41, 1, 0x41, 1, 0x6a, 0x0b)), "extended constants"},
		"typed references":     {with(0, 0xd4, 0x1a), "function references"},
	} {
		a := v.refused(what, tt.module, "unsupported_feature")
		if !strings.Contains(a.detail, tt.word) {
			v.errorf("%s: the refusal says %q, want %q in it", what, a.detail, tt.word)
		}
	}
}

// hostileNames has guests trap under names that would forge a log entry, and refused with them.
func hostileNames(v *victim) {
	trap := command(0, 0x00)
	long := make([]string, 300)
	for i := range long {
		long[i] = strings.Repeat("n", 4000)
	}
	for what, section := range map[string][]byte{
		"1 MiB of names":       names(long...),
		"a name of 1 MiB":      names(strings.Repeat("n", 1<<20)),
		"hostile":              names(hostile),
		"short hostile":        names("a\x1b]0;owned\x07"),
		"separators of lines":  names("a\u2028{\"level\":\"FATAL\"}\u2029\u0085"),
		"JSON":                 names(`","level":"FATAL","msg":"owned`),
		"hostile, of a module": custom("name", 0, leb(len(str("\x1b[2J"))), str("\x1b[2J")),
		"hostile section":      custom(hostile[:200], "x"),
	} {
		v.pushed(ann, "trap", cat(trap, section))
		v.fails(what, v.run("trap", nil), "trap")
		// Names are in what a refusal says, too.
		v.refused(what, cat(command(0, times(10_000, 0x02, 0x40), times(10_000, 0x0b)), section), "too_many")
	}
	for line := range strings.Lines(v.log.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry["level"] == "FATAL" || entry["msg"] == "owned" || len(line) > 8<<10 {
			v.errorf("the log has the line %.300q (%v)", line, err)
		}
		if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\x1b\r\n\x07") {
			v.errorf("the log has the line %.300q with control characters", line)
		}
	}
}
