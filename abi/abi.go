// Package abi owns the contract between a guest module and its host: the import module, its
// functions and their types, status codes, failures and limits. One table (Functions) is the single
// source: docs/ABI.md and abi/abi.h are generated from it, the upload check refuses by it and the
// sandbox binds by it. It never touches a guest, a store or a clock, and imports only the standard
// library. Everybody else imports it.
package abi

// Version is the contract's version. It is part of the import module's name, so that a module says
// by its imports which contract it was built against.
const Version = 1

// Module is the name of the import module that carries the contract.
const Module = "reprise_v1"

// WASIModule is the import module of WASI preview 1, which the host implements itself.
const WASIModule = "wasi_snapshot_preview1"

// Exports that the host looks for.
const (
	// ExportStart marks a WASI command: its main is the entry of every kind.
	ExportStart = "_start"
	// ExportInitialize marks a WASI reactor; it is called once before any other export.
	ExportInitialize = "_initialize"
	// ExportReseed is called before the entry in an instance that is made from an image of the module after its
	// initialisation: () -> () or () -> i32, 0 for success. It draws new random numbers for what the
	// initialisation drew, which is the same in every instance until then.
	ExportReseed = "reprise_reseed"
	// ExportRun is the entry of a reactor: () -> () or () -> i32, 0 for success.
	ExportRun = "reprise_run"
	// ExportQuery answers queries in a copy of a run that waits: () -> () or () -> i32, 0 for success.
	ExportQuery = "reprise_query"
	// ExportMemory is the guest's linear memory, in which every (ptr, len) points.
	ExportMemory = "memory"
)

// EntryKind says why an instance was made; a guest reads it with entry_kind.
type EntryKind int32

// The kinds of entry.
const (
	EntryWorkflow EntryKind = 0 // run a workflow: durable, replayed
	EntryActivity EntryKind = 1 // run an activity once: not replayed, effects are direct
	EntryQuery    EntryKind = 2 // answer a query in a copy of a run: nothing can be asked for
	EntryDescribe EntryKind = 3 // write the manifest (see Manifest) with output and return
)

// String names the kind in errors and logs.
func (k EntryKind) String() string {
	switch k {
	case EntryWorkflow:
		return "workflow"
	case EntryActivity:
		return "activity"
	case EntryQuery:
		return "query"
	case EntryDescribe:
		return "describe"
	}
	return "unknown"
}

// Status is what status(h) answers.
type Status int32

// The states of a handle.
const (
	Pending   Status = 0
	OK        Status = 1
	Failed    Status = 2
	Cancelled Status = 3
	TimedOut  Status = 4
)

// String is the word used in journals and JSON.
func (s Status) String() string {
	switch s {
	case Pending:
		return "pending"
	case OK:
		return "ok"
	case Failed:
		return "failed"
	case Cancelled:
		return "cancelled"
	case TimedOut:
		return "timed_out"
	}
	return "unknown"
}

// ParseStatus is the inverse of String. ok is false for a word that names no status.
func ParseStatus(word string) (s Status, ok bool) {
	for s := Pending; s <= TimedOut; s++ {
		if s.String() == word {
			return s, true
		}
	}
	return 0, false
}

// CancelHandle is the handle of the run's own cancellation. Other handles are dense from 1.
const CancelHandle int32 = 0

// QueryHandle is what the completion descriptor gives in a copy of a run that is asked, once and before anything else: entry_kind, entry
// and input are the query's then, and output or fail answers it. It cannot be asked for and has no status.
const QueryHandle int32 = -2

// CompletionFD is the descriptor that is readable when a handle completed: fd_read yields the
// completed handles as little-endian i32, EAGAIN when none is left.
const CompletionFD = 3

// Log levels of the log function.
const (
	LogDebug int32 = 0
	LogInfo  int32 = 1
	LogWarn  int32 = 2
	LogError int32 = 3
)
