package attack

import (
	"bytes"
	"fmt"
	"strings"
)

// Sections of a binary by id.
const (
	secCustom    = 0
	secType      = 1
	secImport    = 2
	secFunction  = 3
	secTable     = 4
	secMemory    = 5
	secGlobal    = 6
	secExport    = 7
	secStart     = 8
	secElement   = 9
	secCode      = 10
	secData      = 11
	secDataCount = 12
	secTag       = 13
)

const header = "\x00asm\x01\x00\x00\x00"

// most is the largest number of 32 bits as LEB128.
const most = "\xff\xff\xff\xff\x0f"

func leb(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// cat joins bytes: an int is one byte, the rest are as they are.
func cat(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case string:
			b = append(b, p...)
		case []byte:
			b = append(b, p...)
		default:
			panic(fmt.Sprintf("%T is not bytes", p))
		}
	}
	return b
}

// str is a text behind its length.
func str(s string) []byte { return cat(leb(len(s)), s) }

// sec is a section.
func sec(id int, parts ...any) []byte {
	body := cat(parts...)
	return cat(id, leb(len(body)), body)
}

func mod(sections ...any) []byte { return cat(append([]any{header}, sections...)...) }

// fn is a function's body: its locals and code, without the last end.
func fn(parts ...any) []byte {
	b := cat(cat(parts...), 0x0b)
	return cat(leb(len(b)), b)
}

// Pieces of a command: its only type is () -> (), and its first function is _start.
var (
	voidType  = sec(secType, 1, 0x60, 0, 0)
	oneVoid   = sec(secFunction, 1, 0)
	startFunc = sec(secExport, 1, str("_start"), 0, 0)
)

// command is a module whose _start has that body.
func command(body ...any) []byte {
	return mod(voidType, oneVoid, startFunc, sec(secCode, 1, fn(body...)))
}

// withMemory is a command that has a page of memory.
func withMemory(body ...any) []byte {
	return mod(voidType, oneVoid, sec(secMemory, 1, 0, 1), startFunc, sec(secCode, 1, fn(body...)))
}

// custom is a custom section.
func custom(name string, content ...any) []byte { return sec(secCustom, str(name), cat(content...)) }

// names is a name section that names functions from 0 on.
func names(of ...string) []byte {
	m := leb(len(of))
	for i, n := range of {
		m = cat(m, leb(i), str(n))
	}
	return custom("name", 1, leb(len(m)), m)
}

func times(n int, parts ...any) []byte { return bytes.Repeat(cat(parts...), n) }

// hostile is text that would break a log, a terminal or a JSON document that took it as it is.
var hostile = strings.Repeat("\x1b[31m\r\n{\"level\":\"FATAL\",\"msg\":\"owned\"}\u2028", 20_000)
