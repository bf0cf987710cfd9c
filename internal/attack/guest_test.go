package attack

import (
	"encoding/binary"
	"fmt"
	"slices"

	"reprise/journal"
	"reprise/tenant"
)

// operations are what testdata/calls.wat can do, in its order.
var operations = []string{"end",
	"input", "output", "fail", "entry_kind", "entry", "info", "effect", "activity", "timer", "signal", "wait", "status", "result",
	"cancel", "drop", "random", "asset", "log", "publish", "proc_exit", "fd_write", "fd_read", "random_get", "poll_oneoff",
	"clock_time_get", "args_get", "fd_fdstat_get",
	"store", "move", "fill", "copy", "size", "grow", "table_grow", "trap", "again"}

// Where the guest has what.
const (
	programAt  = 0x10000  // its records
	recordSize = 64       // operation, six arguments, result
	resultAt   = 56       // in a record
	dataAt     = 0x18000  // what the program brings
	scratch    = 0x200000 // free
	memoryEnd  = 96 << 16
)

// program is what the guest is to do.
type program struct {
	records []byte
	data    []byte
}

// result is the place where the result of an operation stands.
type result int

// do adds an operation. An argument is a number, or a result, whose value it takes when it runs.
func (p *program) do(op string, args ...any) result {
	n := slices.Index(operations, op)
	if n < 0 || len(args) > 6 {
		panic(fmt.Sprintf("no operation %s of %d arguments", op, len(args)))
	}
	moves := 0
	for _, a := range args {
		if _, ok := a.(result); ok {
			moves++
		}
	}
	at := programAt + len(p.records) + moves*recordSize
	var record [recordSize]byte
	binary.LittleEndian.PutUint64(record[:], uint64(n))
	for i, a := range args {
		slot := 8 * (i + 1)
		if from, ok := a.(result); ok {
			p.do("move", at+slot, int(from))
			continue
		}
		binary.LittleEndian.PutUint64(record[slot:], word(a))
	}
	p.records = append(p.records, record[:]...)
	if len(p.records) > dataAt-programAt {
		panic("the program is too long")
	}
	return result(at + resultAt)
}

func word(a any) uint64 {
	switch a := a.(type) {
	case int:
		return uint64(a)
	case int64:
		return uint64(a)
	case uint64:
		return a
	case uint32:
		return uint64(a)
	case int32:
		return uint64(a)
	}
	panic(fmt.Sprintf("%T is no argument", a))
}

// bring adds bytes that the guest has in its memory, and returns where.
func (p *program) bring(b []byte) (at, n int) {
	at = dataAt + len(p.data)
	p.data = append(p.data, b...)
	return at, len(b)
}

// effect adds a request for an effect.
func (p *program) effect(name, input, options string) result {
	n, nl := p.bring([]byte(name))
	in, il := p.bring([]byte(input))
	o, ol := p.bring([]byte(options))
	return p.do("effect", n, nl, in, il, o, ol)
}

// await waits for one handle.
func (p *program) await(h result) result {
	p.do("move", scratch, int(h))
	return p.do("wait", scratch, 1, -1, scratch+16, 1)
}

// next is where the next record will stand.
func (p *program) next() int { return programAt + len(p.records) }

// input is the program as the guest's input.
func (p *program) input() []byte {
	if len(p.data) == 0 {
		return p.records
	}
	b := make([]byte, dataAt-programAt, dataAt-programAt+len(p.data))
	copy(b, p.records)
	return append(b, p.data...)
}

// value reads a result out of the memory that a program gave as its output: see report.
func (r result) value(out []byte) int64 {
	at := int(r) - programAt
	if at+8 > len(out) {
		return -1 << 62
	}
	return int64(binary.LittleEndian.Uint64(out[at:]))
}

// report makes the program's records, results included, the output.
func (p *program) report() { p.do("output", programAt, dataAt-programAt) }

// play pushes the guest once and runs a program as ann.
func (v *victim) play(p *program) journal.Run { return v.end(ann, v.begins(ann, p)) }

// begins starts a run of a program.
func (v *victim) begins(t tenant.ID, p *program) journal.RunID {
	v.pushed(t, "calls", own("calls"))
	return v.begin(t, "calls", p.input())
}

// plays runs a program that must complete, and returns its output.
func (v *victim) plays(what string, p *program) []byte {
	run := v.play(p)
	v.completes(what, run)
	return run.Output
}
