package abi

// Limits of version 1. They are part of the contract: a guest that exceeds one gets the same answer
// on every host and in every replay, so they are constants and not configuration.
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
	// MaxLogLine bounds one log line in bytes; what is longer is cut and marked.
	MaxLogLine = 16 << 10
	// MaxRandom bounds one call of random in bytes.
	MaxRandom = 64 << 10
	// MaxPublished bounds the distinct keys that one run may publish.
	MaxPublished = 1000
)

// Gas counts what a guest computes: about one for each instruction, more for operations on many bytes. It is
// the same on every processor and in every replay.
const (
	// MaxGas bounds what a workflow computes between two things that it sees: some seconds.
	MaxGas = 10_000_000_000
	// MaxActivityGas bounds an attempt of an activity between two things that it sees; its timeout usually
	// comes first.
	MaxActivityGas = 200_000_000_000
	// MaxDepth bounds nested calls; a function with many values takes more than one.
	MaxDepth = 20_000
)

// MaxDuration bounds timer and wait durations in nanoseconds: 100 years. A longer one is clamped, so
// that due times stay inside what both stores can hold.
const MaxDuration = int64(100*365*24*3600) * 1_000_000_000

// Limits bound one run. They are decided when the run begins and kept in its first entry, so that a replay
// meets each of them at the same place whatever the host's configuration is by then.
type Limits struct {
	// MemoryPages bounds the guest's memory in pages of 64 KiB; memory.grow beyond it answers -1.
	MemoryPages uint32 `json:"memory_pages"`
	// Gas bounds what the guest computes between two things that it sees.
	Gas int64 `json:"gas"`
	// RunGas bounds what it computes from its begin to its end.
	RunGas int64 `json:"run_gas"`
	// Depth bounds nested calls.
	Depth int32 `json:"depth"`
}
