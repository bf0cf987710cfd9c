package sandbox

import (
	"context"
	"encoding/binary"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"reprise/abi"
	"reprise/modules"
)

// Error numbers of WASI preview 1 that the device gives.
const (
	errnoSuccess uint16 = 0
	errnoAgain   uint16 = 6
	errnoBadf    uint16 = 8
	errnoFault   uint16 = 21
	errnoInval   uint16 = 28
	errnoNosys   uint16 = 52
	errnoSpipe   uint16 = 70
)

// wasiFunc is one function of the device; its result is the errno.
type wasiFunc func(in *instance, m api.Module, st []uint64) uint16

// wasi is a virtual device: no files, no sockets, no host clock. What is not here answers ENOSYS, and
// what needs a descriptor beyond 3 EBADF, so that every runtime finds a world it knows how to live in.
var wasi = map[string]wasiFunc{
	"args_get": func(in *instance, m api.Module, st []uint64) uint16 {
		return strings2(m, argsOf(in.mod.prepared, in.entry), st)
	},
	"args_sizes_get": func(in *instance, m api.Module, st []uint64) uint16 {
		return sizes(m, argsOf(in.mod.prepared, in.entry), st)
	},
	"environ_get":       func(_ *instance, m api.Module, st []uint64) uint16 { return strings2(m, nil, st) },
	"environ_sizes_get": func(_ *instance, m api.Module, st []uint64) uint16 { return sizes(m, nil, st) },
	"clock_res_get": func(_ *instance, m api.Module, st []uint64) uint16 {
		if u32(st[0]) > 3 {
			return errnoInval
		}
		return put64(m, u32(st[1]), 1000) // entries carry microseconds
	},
	"clock_time_get": func(in *instance, m api.Module, st []uint64) uint16 {
		now, ok := in.clock(u32(st[0]))
		if !ok {
			return errnoInval
		}
		return put64(m, u32(st[2]), uint64(now))
	},
	"fd_close":            stdOnly,
	"fd_datasync":         stdOnly,
	"fd_sync":             stdOnly,
	"fd_fdstat_set_flags": stdOnly,
	"fd_fdstat_get":       fdstat,
	"fd_filestat_get":     filestat,
	"fd_prestat_get":      func(*instance, api.Module, []uint64) uint16 { return errnoBadf },
	"fd_prestat_dir_name": func(*instance, api.Module, []uint64) uint16 { return errnoBadf },
	"fd_read":             fdRead,
	"fd_write":            fdWrite,
	"fd_seek":             stdSpipe,
	"fd_tell":             stdSpipe,
	"poll_oneoff":         pollOneoff,
	"proc_exit": func(in *instance, _ api.Module, st []uint64) uint16 {
		in.exited, in.status = true, u32(st[0])
		panic(errStop)
	},
	"random_get": func(in *instance, m api.Module, st []uint64) uint16 {
		ptr, n := u32(st[0]), u32(st[1])
		if _, ok := memory(m).Read(ptr, n); !ok {
			return errnoFault // and nothing is written
		}
		for n > abi.MaxRandom { // a runtime may fill a large buffer in one call
			if !in.random(m, ptr, abi.MaxRandom) {
				return errnoFault
			}
			ptr, n = ptr+abi.MaxRandom, n-abi.MaxRandom
		}
		if !in.random(m, ptr, n) {
			return errnoFault
		}
		return errnoSuccess
	},
	"sched_yield": func(*instance, api.Module, []uint64) uint16 { return errnoSuccess },
}

// noAnswer is what a function says that the device does not have: EBADF when it is about a descriptor,
// which cannot be one of ours.
func noAnswer(f modules.WASIFunction) uint16 {
	for _, prefix := range []string{"fd_", "path_", "sock_"} {
		if strings.HasPrefix(f.Name, prefix) {
			return errnoBadf
		}
	}
	return errnoNosys
}

// bindWASI instantiates the device with every function of the standard.
func bindWASI(ctx context.Context, rt wazero.Runtime) error {
	b := rt.NewHostModuleBuilder(abi.WASIModule)
	for _, f := range modules.WASI {
		fn, ok := wasi[f.Name]
		if !ok {
			errno := noAnswer(f)
			fn = func(*instance, api.Module, []uint64) uint16 { return errno }
		}
		params := make([]byte, len(f.Params))
		for i, p := range f.Params {
			params[i] = byte(p)
		}
		results := make([]byte, len(f.Results))
		for i, r := range f.Results {
			results[i] = byte(r)
		}
		call := paid(errnoOf(fn))
		if f.Name == "poll_oneoff" {
			call = mayWait(abi.WASIModule, f.Name, params, call)
		}
		export(b, f.Name, call, params, results)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// errnoOf makes a function of the device an import.
func errnoOf(fn wasiFunc) hostFunc {
	return func(in *instance, m api.Module, st []uint64) {
		if errno := fn(in, m, st); len(st) > 0 {
			st[0] = uint64(errno)
		}
	}
}

// clock reads one of the device's clocks. CPU clocks run with the monotonic one.
func (in *instance) clock(id uint32) (int64, bool) {
	switch id {
	case 0:
		return in.world.Now(), true
	case 1, 2, 3:
		return in.world.Monotonic(), true
	}
	return 0, false
}

func put32(m api.Module, ptr, v uint32) uint16 {
	if !memory(m).WriteUint32Le(ptr, v) {
		return errnoFault
	}
	return errnoSuccess
}

func put64(m api.Module, ptr uint32, v uint64) uint16 {
	if !memory(m).WriteUint64Le(ptr, v) {
		return errnoFault
	}
	return errnoSuccess
}

// strings2 writes an array of pointers and the NUL-terminated strings that they point at.
func strings2(m api.Module, list []string, st []uint64) uint16 {
	ptrs, buf := u32(st[0]), u32(st[1])
	for _, s := range list {
		if put32(m, ptrs, buf) != errnoSuccess || !memory(m).Write(buf, append([]byte(s), 0)) {
			return errnoFault
		}
		ptrs, buf = ptrs+4, buf+uint32(len(s))+1
	}
	return errnoSuccess
}

func sizes(m api.Module, list []string, st []uint64) uint16 {
	total := 0
	for _, s := range list {
		total += len(s) + 1
	}
	if put32(m, u32(st[0]), uint32(len(list))) != errnoSuccess {
		return errnoFault
	}
	return put32(m, u32(st[1]), uint32(total))
}

func stdOnly(_ *instance, _ api.Module, st []uint64) uint16 {
	if u32(st[0]) > abi.CompletionFD {
		return errnoBadf
	}
	return errnoSuccess
}

func stdSpipe(_ *instance, _ api.Module, st []uint64) uint16 {
	if u32(st[0]) > abi.CompletionFD {
		return errnoBadf
	}
	return errnoSpipe
}

// File types and flags of fdstat.
const (
	typeCharacter = 2
	typeSocket    = 6
	flagNonblock  = 4
)

// fdstat: the completion descriptor is a non-blocking socket, because that is what Go's netpoller takes.
func fdstat(_ *instance, m api.Module, st []uint64) uint16 {
	fd := u32(st[0])
	if fd > abi.CompletionFD {
		return errnoBadf
	}
	var b [24]byte
	b[0] = typeCharacter
	if fd == abi.CompletionFD {
		b[0], b[2] = typeSocket, flagNonblock
	}
	for i := 8; i < 24; i++ { // all rights
		b[i] = 0xff
	}
	if !memory(m).Write(u32(st[1]), b[:]) {
		return errnoFault
	}
	return errnoSuccess
}

func filestat(_ *instance, m api.Module, st []uint64) uint16 {
	fd := u32(st[0])
	if fd > abi.CompletionFD {
		return errnoBadf
	}
	var b [64]byte
	b[16] = typeCharacter
	if fd == abi.CompletionFD {
		b[16] = typeSocket
	}
	if !memory(m).Write(u32(st[1]), b[:]) {
		return errnoFault
	}
	return errnoSuccess
}

// iovecs calls f for each of the guest's buffers until f says stop. ok is false for a bad address.
func iovecs(m api.Module, ptr, n uint32, f func(view []byte) (more bool)) (ok bool) {
	mem := memory(m)
	for ; n > 0; n-- {
		at, ok1 := mem.ReadUint32Le(ptr)
		size, ok2 := mem.ReadUint32Le(ptr + 4)
		view, ok3 := mem.Read(at, size)
		if !ok1 || !ok2 || !ok3 {
			return false
		}
		if !f(view) {
			return true
		}
		ptr += 8
	}
	return true
}

func fdWrite(in *instance, m api.Module, st []uint64) uint16 {
	fd, total := u32(st[0]), uint32(0)
	if fd != 1 && fd != 2 {
		return errnoBadf
	}
	if u32(st[2]) > maxBuffers {
		return errnoInval
	}
	ok := iovecs(m, u32(st[1]), u32(st[2]), func(view []byte) bool {
		view = view[:min(len(view), int(maxTransfer-total))]
		in.tollBytes(len(view))
		in.written(fd, view)
		total += uint32(len(view))
		return total < maxTransfer
	})
	if !ok {
		return errnoFault
	}
	return put32(m, u32(st[3]), total)
}

// written keeps what a guest wrote: as log lines, as the result of a program without SDK, and the end
// of stderr for the message of a crash.
func (in *instance) written(fd uint32, p []byte) {
	if fd == 1 {
		if limit := in.maxPayload(); !in.mod.prepared.UsesOutput && len(in.result) <= limit {
			in.result = append(in.result, p[:min(len(p), limit+1-len(in.result))]...)
		}
		in.stdout.source, in.stdout.level = "stdout", abi.LogInfo
		in.stdout.write(in, p)
		return
	}
	in.tail = append(in.tail, p[max(0, len(p)-stderrTail):]...)
	in.tail = in.tail[max(0, len(in.tail)-stderrTail):]
	in.stderr.source, in.stderr.level = "stderr", abi.LogWarn
	in.stderr.write(in, p)
}

func fdRead(in *instance, m api.Module, st []uint64) uint16 {
	var next func(view []byte) int
	switch u32(st[0]) {
	case 0:
		next = func(view []byte) int {
			n := copy(view, in.entry.Input[in.stdin:])
			in.stdin += n
			return n
		}
	case abi.CompletionFD:
		next = in.takeInto
	default:
		return errnoBadf
	}
	if u32(st[2]) > maxBuffers {
		return errnoInval
	}
	total := 0
	ok := iovecs(m, u32(st[1]), u32(st[2]), func(view []byte) bool {
		n := next(view)
		in.tollBytes(n)
		total += n
		return n == len(view)
	})
	if !ok {
		return errnoFault
	}
	if total == 0 && u32(st[0]) == abi.CompletionFD {
		return errnoAgain
	}
	return put32(m, u32(st[3]), uint32(total))
}

// takeInto fills a buffer with completed handles, four bytes each.
func (in *instance) takeInto(view []byte) int {
	n := 0
	for n+4 <= len(view) {
		h, ok := in.world.Take()
		if !ok {
			break
		}
		binary.LittleEndian.PutUint32(view[n:], uint32(h))
		n += 4
	}
	return n
}
