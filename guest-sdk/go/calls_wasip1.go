//go:build wasip1

package reprise

import (
	"os"
	"unsafe"
)

//go:wasmimport reprise_v1 entry_kind
func importEntryKind() int32

//go:wasmimport reprise_v1 entry
func importEntry(ptr unsafe.Pointer, size uint32) int32

//go:wasmimport reprise_v1 info
func importInfo(ptr unsafe.Pointer, size uint32) int32

//go:wasmimport reprise_v1 input
func importInput(ptr unsafe.Pointer, size uint32) int32

//go:wasmimport reprise_v1 output
func importOutput(ptr unsafe.Pointer, size uint32)

//go:wasmimport reprise_v1 fail
func importFail(ptr unsafe.Pointer, size uint32)

//go:wasmimport reprise_v1 effect
func importEffect(name string, in unsafe.Pointer, inLen uint32, opts unsafe.Pointer, optsLen uint32) int32

//go:wasmimport reprise_v1 activity
func importActivity(name string, in unsafe.Pointer, inLen uint32, opts unsafe.Pointer, optsLen uint32) int32

//go:wasmimport reprise_v1 child
func importChild(name string, in unsafe.Pointer, inLen uint32, opts unsafe.Pointer, optsLen uint32) int32

//go:wasmimport reprise_v1 continue_as_new
func importContinueAsNew(ptr unsafe.Pointer, size uint32)

//go:wasmimport reprise_v1 signal
func importSignal(name string) int32

//go:wasmimport reprise_v1 status
func importStatus(handle int32) int32

//go:wasmimport reprise_v1 result
func importResult(handle int32, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport reprise_v1 cancel
func importCancel(handle int32)

//go:wasmimport reprise_v1 drop
func importDrop(handle int32)

//go:wasmimport reprise_v1 cancel_handle
func importCancelHandle() int32

//go:wasmimport reprise_v1 now
func importNow() int64

//go:wasmimport reprise_v1 random
func importRandom(ptr unsafe.Pointer, size uint32)

//go:wasmimport reprise_v1 asset
func importAsset(name string, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport reprise_v1 log
func importLog(level int32, line string)

//go:wasmimport reprise_v1 publish
func importPublish(key string, ptr unsafe.Pointer, size uint32)

// exportRun is the entry of a reactor. A command enters by its main, which calls Main.
//
//go:wasmexport reprise_run
func exportRun() int32 { return run() }

// Main runs the workflow or activity that this instance was made for. A program's main calls it, so
// that a plain build works as well as one with -buildmode=c-shared (where main is never run).
func Main() {
	if run() != 0 {
		os.Exit(1)
	}
}

// completionFD is the descriptor that is readable when a handle has completed.
const completionFD = 3

func openCompletions() *os.File { return os.NewFile(completionFD, "completions") }

func bytesPtr(b []byte) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))
}

// pull reads bytes whose length only the host knows. A first call with a small buffer is enough for
// most; read writes nothing when the buffer is too small.
func pull(read func(ptr unsafe.Pointer, size uint32) int32) []byte {
	buf := make([]byte, 512)
	n := read(bytesPtr(buf))
	if int(n) > len(buf) {
		buf = make([]byte, n)
		read(bytesPtr(buf))
	}
	return buf[:n]
}

func callEntryKind() int32     { return importEntryKind() }
func callEntry() string        { return string(pull(importEntry)) }
func callInfo() []byte         { return pull(importInfo) }
func callInput() []byte        { return pull(importInput) }
func callStatus(h int32) int32 { return importStatus(h) }
func callCancel(h int32)       { importCancel(h) }
func callDrop(h int32)         { importDrop(h) }
func callCancelHandle() int32  { return importCancelHandle() }
func callNow() int64           { return importNow() }

func callSignal(name string) int32 { return importSignal(name) }

func callLog(level int32, line string) { importLog(level, line) }

func callOutput(b []byte) { importOutput(bytesPtr(b)) }
func callFail(b []byte)   { importFail(bytesPtr(b)) }
func callRandom(b []byte) { importRandom(bytesPtr(b)) }

func callPublish(key string, b []byte) {
	p, n := bytesPtr(b)
	importPublish(key, p, n)
}

func callEffect(name string, in, opts []byte) int32 {
	p, n := bytesPtr(in)
	q, m := bytesPtr(opts)
	return importEffect(name, p, n, q, m)
}

func callActivity(name string, in, opts []byte) int32 {
	p, n := bytesPtr(in)
	q, m := bytesPtr(opts)
	return importActivity(name, p, n, q, m)
}

func callChild(name string, in, opts []byte) int32 {
	p, n := bytesPtr(in)
	q, m := bytesPtr(opts)
	return importChild(name, p, n, q, m)
}

func callContinueAsNew(b []byte) { importContinueAsNew(bytesPtr(b)) }

func callResult(h int32) []byte {
	return pull(func(p unsafe.Pointer, size uint32) int32 { return importResult(h, p, size) })
}

func callAsset(name string) ([]byte, bool) {
	if importAsset(name, nil, 0) < 0 {
		return nil, false
	}
	return pull(func(p unsafe.Pointer, size uint32) int32 { return importAsset(name, p, size) }), true
}
