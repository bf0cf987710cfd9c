package abi

import (
	"fmt"
	"strings"
)

// Limits of version 1. They are part of the contract. Those that Limits has too are ceilings: a host may be told
// to give less, and what it gives is kept in the run; the others are the same for every run.
const (
	// MaxPayload bounds one payload in bytes: an input, a request, an outcome, an output.
	// 2 MiB, as in the systems that users come from.
	MaxPayload = 2 << 20
	// MaxName bounds a name in bytes: effect, activity, signal, workflow, publish key, asset.
	MaxName = 255
	// MaxOptions bounds the options of one request in bytes.
	MaxOptions = 16 << 10
	// MaxPending bounds the handles that are pending at once in a run.
	MaxPending = 2000
	// MaxPendingBytes bounds the bytes that a run's handles hold: requests that are pending, and outcomes until
	// drop. 64 MiB, 32 of the largest payloads: as much as a guest's memory may have.
	MaxPendingBytes = 64 << 20
	// MaxRequests bounds the requests of one run, ten for each entry that its journal may have: handles cost
	// memory of the host, also those of requests that were refused or cancelled and never waited for.
	MaxRequests = 10 * MaxEntries
	// MaxEntries bounds the entries of one journal before its end. 50,000, as in the systems that users come
	// from; replaying them takes a tenth of a second.
	MaxEntries = 50_000
	// MaxJournalBytes bounds the bytes of a journal's entries: names, requests, options and payloads. 64 MiB, as
	// in the systems that users come from, is 1.3 KiB an entry; a turn reads them all.
	MaxJournalBytes = 64 << 20
	// MaxLogLine bounds one log line in bytes; what is longer is cut and marked.
	MaxLogLine = 16 << 10
	// MaxLogBytes bounds the log lines of one run, or of one attempt of an activity, in bytes: 1.3 KiB for each
	// entry that a journal may have. What comes after is counted and not written.
	MaxLogBytes = 64 << 20
	// MaxRandom bounds one call of random in bytes.
	MaxRandom = 64 << 10
	// MaxPublished bounds the distinct keys that one run may publish.
	MaxPublished = 1000
	// MaxPublishedBytes bounds the keys and values that one run publishes together, in bytes: 16 KiB a key.
	MaxPublishedBytes = 16 << 20
	// MaxMemoryPages bounds a guest's memory in pages of 64 KiB: 64 MiB.
	MaxMemoryPages = 1024
)

// Gas counts what a guest computes: about one for each instruction, more for operations on many bytes. It is
// the same on every processor and in every replay.
const (
	// MaxGas bounds what a workflow computes between two things that it sees: some seconds.
	MaxGas = 10_000_000_000
	// MaxRunGas bounds what a workflow, or an attempt of an activity, computes from its begin to its end: a thousand
	// times MaxGas, 200,000,000 for each entry that a journal may have. It is also what one replay may cost: some hours.
	MaxRunGas = 1000 * MaxGas
	// MaxActivityGas bounds an attempt of an activity between two things that it sees; its timeout usually
	// comes first.
	MaxActivityGas = 200_000_000_000
	// MaxDepth bounds nested calls; a function with many values takes more than one.
	MaxDepth = 20_000
	// MaxChildDepth bounds how deep child runs are nested, so that a run which starts itself comes to an end.
	MaxChildDepth = 16
)

// MaxDuration bounds timer and wait durations in nanoseconds: 100 years. A longer one is clamped, so
// that due times stay inside what both stores can hold.
const MaxDuration = int64(100*365*24*3600) * 1_000_000_000

// Limits bound one run. They are decided when the run begins and kept in its first entry, so that a replay
// meets each of them at the same place whatever the host's configuration is by then.
type Limits struct {
	// MemoryPages bounds the guest's memory in pages of 64 KiB; memory.grow beyond it answers -1.
	MemoryPages uint32 `json:"memory_pages"`
	// Gas bounds what the guest computes between two things that it sees. Activities have MaxActivityGas instead.
	Gas int64 `json:"gas"`
	// RunGas bounds what it computes from its begin to its end.
	RunGas int64 `json:"run_gas"`
	// Depth bounds nested calls.
	Depth int32 `json:"depth"`
	// Payload bounds one payload that the guest gives or gets, in bytes.
	Payload int64 `json:"payload"`
	// Pending bounds the handles that are pending at once.
	Pending int64 `json:"pending"`
	// PendingBytes bounds what the handles hold in bytes: requests that are pending, and outcomes until drop.
	PendingBytes int64 `json:"pending_bytes"`
	// Requests bounds the requests from begin to end.
	Requests int64 `json:"requests"`
	// PublishedBytes bounds the published keys and values together, in bytes.
	PublishedBytes int64 `json:"published_bytes"`
	// Entries bounds the journal's entries before its end.
	Entries int64 `json:"entries"`
	// JournalBytes bounds the bytes of the journal's entries before its end.
	JournalBytes int64 `json:"journal_bytes"`
	// LogBytes bounds the log lines in bytes; what comes after is counted and not written.
	LogBytes int64 `json:"log_bytes"`
}

// DefaultLimits are the ceilings.
func DefaultLimits() Limits { return Limits{}.WithDefaults() }

// field is one field of a Limits under its JSON name. One of the pointers leads to it.
type field struct {
	name    string
	ceiling int64
	i64     *int64
	i32     *int32
	u32     *uint32
}

func (f field) get() int64 {
	switch {
	case f.i64 != nil:
		return *f.i64
	case f.i32 != nil:
		return int64(*f.i32)
	default:
		return int64(*f.u32)
	}
}

func (f field) set(v int64) {
	switch {
	case f.i64 != nil:
		*f.i64 = v
	case f.i32 != nil:
		*f.i32 = int32(v)
	default:
		*f.u32 = uint32(v)
	}
}

func (l *Limits) fields() [12]field {
	return [...]field{
		{name: "memory_pages", ceiling: MaxMemoryPages, u32: &l.MemoryPages},
		{name: "gas", ceiling: MaxGas, i64: &l.Gas},
		{name: "run_gas", ceiling: MaxRunGas, i64: &l.RunGas},
		{name: "depth", ceiling: MaxDepth, i32: &l.Depth},
		{name: "payload", ceiling: MaxPayload, i64: &l.Payload},
		{name: "pending", ceiling: MaxPending, i64: &l.Pending},
		{name: "pending_bytes", ceiling: MaxPendingBytes, i64: &l.PendingBytes},
		{name: "requests", ceiling: MaxRequests, i64: &l.Requests},
		{name: "published_bytes", ceiling: MaxPublishedBytes, i64: &l.PublishedBytes},
		{name: "entries", ceiling: MaxEntries, i64: &l.Entries},
		{name: "journal_bytes", ceiling: MaxJournalBytes, i64: &l.JournalBytes},
		{name: "log_bytes", ceiling: MaxLogBytes, i64: &l.LogBytes},
	}
}

// WithDefaults returns l with each field that is 0 set to its ceiling.
func (l Limits) WithDefaults() Limits {
	for _, f := range l.fields() {
		if f.get() == 0 {
			f.set(f.ceiling)
		}
	}
	return l
}

func (f field) check(v int64) error {
	if v < 1 || v > f.ceiling {
		return fmt.Errorf("limit %s is %d, outside 1 to %d", f.name, v, f.ceiling)
	}
	return nil
}

// Check says which field is not from 1 to its ceiling.
func (l Limits) Check() error {
	for _, f := range l.fields() {
		if err := f.check(f.get()); err != nil {
			return err
		}
	}
	return nil
}

// Set sets the field with that JSON name. It fails when there is none, or v is not from 1 to its ceiling.
func (l *Limits) Set(name string, v int64) error {
	var names []string
	for _, f := range l.fields() {
		if f.name == name {
			if err := f.check(v); err != nil {
				return err
			}
			f.set(v)
			return nil
		}
		names = append(names, f.name)
	}
	return fmt.Errorf("there is no limit %.40q; there are %s", name, strings.Join(names, ", "))
}
