package soak

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
)

// The commands of a program; guest.wat carries them out. Numbers are little endian. A slot holds a handle, and is
// used once in a program.
const (
	cmdEnd      = 0  // end the run; the output is both checksums, of an activity the first
	cmdEffect   = 1  // slot, name, options, request, where the checksums go in it, slot whose outcome goes in it and where
	cmdActivity = 2  // as cmdEffect
	cmdTimer    = 3  // slot, nanoseconds
	cmdSignal   = 4  // slot, name
	cmdAwait    = 5  // mode, timeout, slots
	cmdCancel   = 6  // slot
	cmdPublish  = 7  // key
	cmdRandom   = 8  // mixes 8 random bytes
	cmdCancels  = 9  // slot: the run's own cancellation
	cmdFail     = 10 // failure
	cmdDrop     = 11 // slot
)

// Modes of cmdAwait.
const (
	awaitAll  = 0
	awaitOne  = 1
	awaitOnce = 2 // with the timeout; 0 is a look
)

// Absent places in a request.
const (
	noPlace = 0xffff
	noSlot  = 0xff
)

// endless is the timeout of a wait that has none.
const endless = ^uint64(0)

// Names in the module.
const (
	entryName    = "soak"
	activityName = "work"
	httpRequest  = "http.request"
)

// program is what one run does and must come to.
type program struct {
	number   int
	code     []byte
	commands int
	ops      []op // by handle, from 1
	signals  []signal
	// cancelled programs are cancelled from outside once their signals are sent; they wait for it at their end.
	cancelled bool
	// sure programs see every op that is not optional, whatever comes when; others are cut short by their cancellation.
	sure bool
	// state is what the run ends as.
	state string
	// code of the failure of a run that fails.
	failure string
}

// op is one request of a program.
type op struct {
	kind string // as in the journal; "cancel" for the run's cancellation, which has handle 0
	name string
	// optional ops may be given up before anybody sees them.
	optional bool
	// fails is for an effect whose every attempt is refused.
	fails bool
	// add is what the op's request books in the ledger, nil for nothing. An activity books under a key below its own.
	add *booking
}

// booking is one addition to a counter.
type booking struct {
	counter string
	amount  int64
}

// signal is one signal that a program waits for.
type signal struct {
	name   string
	amount int64
	// delay is how long the sender waits before it, in milliseconds.
	delay int
	// twice signals are sent again under the same id.
	twice bool
}

func (s signal) payload() []byte { return fmt.Appendf(nil, "%08d", s.amount) }

// assembler writes a program.
type assembler struct {
	program
	slots  int
	ledger string // base URL
}

func (a *assembler) emit(op byte, args ...any) {
	a.code = append(a.code, op)
	for _, arg := range args {
		switch v := arg.(type) {
		case byte:
			a.code = append(a.code, v)
		case uint16:
			a.code = binary.LittleEndian.AppendUint16(a.code, v)
		case uint64:
			a.code = binary.LittleEndian.AppendUint64(a.code, v)
		case string: // with a length of one byte
			a.code = append(append(a.code, byte(len(v))), v...)
		case []byte: // with a length of two
			a.code = append(binary.LittleEndian.AppendUint16(a.code, uint16(len(v))), v...)
		default:
			panic(fmt.Sprintf("soak: no argument of a command: %T", arg))
		}
	}
	a.commands++
}

// slot takes a new one for a request.
func (a *assembler) slot(o op) byte {
	a.ops = append(a.ops, o)
	return a.take()
}

func (a *assembler) take() byte {
	a.slots++
	return byte(a.slots - 1)
}

func (a *assembler) await(mode byte, timeout uint64, slots ...byte) {
	a.emit(cmdAwait, mode, timeout, string(slots))
}

// sums and amountDigits stand in a request's text where the guest puts its checksums and the payload of a signal.
var (
	sums         = strings.Repeat("s", 32)
	amountDigits = strings.Repeat("a", 8)
)

// httpInput is a request of the ledger; path may have a query.
func (a *assembler) httpInput(path, body string) []byte {
	b, err := json.Marshal(struct {
		Method string `json:"method"`
		URL    string `json:"url"`
		Body   string `json:"body"`
	}{"POST", a.ledger + path, body})
	if err != nil {
		panic(err) // strings only
	}
	return b
}

// effect asks for an HTTP request to the ledger. from is the slot of the signal whose payload is the amount.
func (a *assembler) effect(o op, path, options string, from byte) byte {
	amount := amountDigits
	if from == noSlot {
		amount = fmt.Sprintf("%08d", o.add.amount)
	}
	o.kind, o.name = "effect", httpRequest
	in := a.httpInput(path, o.add.counter+" "+amount+" "+sums)
	slot := a.slot(o)
	a.emit(cmdEffect, slot, httpRequest, []byte(options), in, place(in, sums), from, place(in, amountDigits))
	return slot
}

// activity asks for an activity that books by itself.
func (a *assembler) activity(o op, options string) byte {
	inner := &assembler{ledger: a.ledger}
	in := inner.httpInput("/add", fmt.Sprintf("%s %08d", o.add.counter, o.add.amount))
	inner.emit(cmdEffect, inner.take(), httpRequest, []byte(nil), in, uint16(noPlace), byte(noSlot), uint16(noPlace))
	inner.await(awaitAll, endless, 0)
	inner.emit(cmdEnd)
	o.kind, o.name = "activity", activityName
	slot := a.slot(o)
	a.emit(cmdActivity, slot, activityName, []byte(options), inner.code, uint16(noPlace), byte(noSlot), uint16(noPlace))
	a.commands += inner.commands
	return slot
}

func place(in []byte, text string) uint16 {
	if i := strings.Index(string(in), text); i >= 0 {
		return uint16(i)
	}
	return noPlace
}

// checksum is the guest's, of what it saw.
type checksum struct{ sum uint64 }

func newChecksum() *checksum { return &checksum{fnv.New64a().Sum64()} }

// saw mixes a completion: handle -1 is a wait that nothing ended.
func (c *checksum) saw(handle int32, status byte, outcome []byte) {
	head := append(binary.LittleEndian.AppendUint32(nil, uint32(handle)), status)
	for _, b := range append(head, outcome...) {
		c.sum = (c.sum ^ uint64(b)) * 0x100000001b3
	}
}

// text is the form in which the guest tells it.
func (c *checksum) text() string { return fmt.Sprintf("%016x", c.sum) }
