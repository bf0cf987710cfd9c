package sandbox

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"reprise/abi"
	"reprise/modules/rewrite"
)

// hostFunc is one import. stack holds the parameters and takes the results; the upper half of an i32
// word is garbage and must be cut off.
type hostFunc func(in *instance, m api.Module, stack []uint64)

func u32(w uint64) uint32 { return uint32(w) }

// contract holds the function of each implemented row of abi.Functions.
var contract = map[string]hostFunc{
	"entry_kind": func(in *instance, _ api.Module, st []uint64) { st[0] = uint64(uint32(in.entry.Kind)) },
	"entry": func(in *instance, m api.Module, st []uint64) {
		st[0] = in.pull(m, "entry", []byte(in.entry.Name), u32(st[0]), u32(st[1]))
	},
	"info": func(in *instance, m api.Module, st []uint64) {
		st[0] = in.pull(m, "info", in.entry.Info, u32(st[0]), u32(st[1]))
	},
	"input": func(in *instance, m api.Module, st []uint64) {
		st[0] = in.pull(m, "input", in.entry.Input, u32(st[0]), u32(st[1]))
	},
	"output": func(in *instance, m api.Module, st []uint64) {
		in.output, in.outputSet = in.read(m, "output", u32(st[0]), u32(st[1]), in.maxPayload()), true
	},
	"fail": func(in *instance, m api.Module, st []uint64) {
		in.failure, in.failureSet = in.read(m, "fail", u32(st[0]), u32(st[1]), in.maxPayload()), true
	},
	"continue_as_new": func(in *instance, m api.Module, st []uint64) {
		if in.entry.Kind != abi.EntryWorkflow {
			in.misuse("continue_as_new", "called by the entry of kind %s, and only a workflow has a successor", in.entry.Kind)
		}
		in.next, in.nextSet = in.read(m, "continue_as_new", u32(st[0]), u32(st[1]), in.maxPayload()), true
	},
	"effect":   func(in *instance, m api.Module, st []uint64) { in.request(m, "effect", OpEffect, st) },
	"activity": func(in *instance, m api.Module, st []uint64) { in.request(m, "activity", OpActivity, st) },
	"child":    func(in *instance, m api.Module, st []uint64) { in.request(m, "child", OpChild, st) },
	"timer": func(in *instance, _ api.Module, st []uint64) {
		after := min(max(int64(st[0]), 0), abi.MaxDuration)
		st[0] = in.start("timer", Request{Kind: OpTimer, After: after})
	},
	"signal": func(in *instance, m api.Module, st []uint64) {
		st[0] = in.start("signal", Request{Kind: OpSignal, Name: in.name(m, "signal", u32(st[0]), u32(st[1]))})
	},
	"wait": wait,
	"status": func(in *instance, _ api.Module, st []uint64) {
		s, err := in.world.Status(int32(u32(st[0])))
		in.check(err)
		st[0] = uint64(uint32(s))
	},
	"result": func(in *instance, m api.Module, st []uint64) {
		b, err := in.world.Result(int32(u32(st[0])))
		in.check(err)
		st[0] = in.pull(m, "result", b, u32(st[1]), u32(st[2]))
	},
	"cancel":        func(in *instance, _ api.Module, st []uint64) { in.check(in.world.Cancel(int32(u32(st[0])))) },
	"drop":          func(in *instance, _ api.Module, st []uint64) { in.check(in.world.Drop(int32(u32(st[0])))) },
	"cancel_handle": func(in *instance, _ api.Module, st []uint64) { st[0] = uint64(uint32(in.world.CancelHandle())) },
	"now":           func(in *instance, _ api.Module, st []uint64) { st[0] = uint64(in.world.Now()) },
	"random": func(in *instance, m api.Module, st []uint64) {
		if !in.random(m, u32(st[0]), u32(st[1])) {
			in.misuse("random", "%d bytes at %d are outside memory or over the limit of %d", u32(st[1]), u32(st[0]), abi.MaxRandom)
		}
	},
	"asset": func(in *instance, m api.Module, st []uint64) {
		b, ok := in.mod.prepared.Assets[in.name(m, "asset", u32(st[0]), u32(st[1]))]
		if !ok {
			st[0] = uint64(^uint32(0)) // -1
			return
		}
		st[0] = in.pull(m, "asset", b, u32(st[2]), u32(st[3]))
	},
	"log": func(in *instance, m api.Module, st []uint64) {
		n := u32(st[2])
		line := in.read(m, "log", u32(st[1]), min(n, abi.MaxLogLine), abi.MaxLogLine)
		in.log(int32(u32(st[0])), "log", line, n > abi.MaxLogLine)
	},
	"publish": func(in *instance, m api.Module, st []uint64) {
		key := in.name(m, "publish", u32(st[0]), u32(st[1]))
		in.check(in.world.Publish(key, in.read(m, "publish", u32(st[2]), u32(st[3]), in.maxPayload())))
	},
}

// check stops the guest when the world says so.
func (in *instance) check(err error) {
	if err != nil {
		in.stop(err)
	}
}

// request reads (name, input, options). What breaks a limit of size is not a trap but a request that
// fails at once, so that a guest can handle it; the world decides that from the empty Input.
func (in *instance) request(m api.Module, function string, kind OpKind, st []uint64) {
	r := Request{Kind: kind, Name: in.name(m, function, u32(st[0]), u32(st[1]))}
	inLen, optLen := u32(st[3]), u32(st[5])
	if limit := in.maxPayload(); int64(inLen) > int64(limit) || optLen > abi.MaxOptions {
		r.Options = tooLarge(inLen, limit, optLen)
	} else {
		r.Input = in.read(m, function, u32(st[2]), inLen, abi.MaxPayload)
		r.Options = in.read(m, function, u32(st[4]), optLen, abi.MaxOptions)
	}
	st[0] = in.start(function, r)
}

// tooLarge stands in for the options of a request over a limit. It is deterministic, and no valid
// options, so that the request fails with a message that says what was too large.
func tooLarge(inLen uint32, limit int, optLen uint32) []byte {
	return fmt.Appendf(nil, "%s input %d bytes of at most %d, options %d bytes of at most %d", OversizeMark, inLen, limit, optLen, abi.MaxOptions)
}

// maxPayload is the run's limit of one payload.
func (in *instance) maxPayload() int {
	if n := in.entry.Limits.Payload; n > 0 {
		return int(n)
	}
	return abi.MaxPayload
}

// OversizeMark begins the options of a request whose input or options were over the limit.
const OversizeMark = "!oversize"

func (in *instance) start(function string, r Request) uint64 {
	if !in.running {
		in.misuse(function, "called before the entry: initialisation may not ask for anything")
	}
	h, err := in.world.Start(r)
	in.check(err)
	return uint64(uint32(h))
}

// maxWait bounds the handles of one wait, as many as may be pending.
const maxWait = abi.MaxPending + 1

func wait(in *instance, m api.Module, st []uint64) {
	if !in.running {
		in.misuse("wait", "called before the entry")
	}
	ptr, n, timeout, out, capacity := u32(st[0]), u32(st[1]), int64(st[2]), u32(st[3]), u32(st[4])
	if n > maxWait {
		in.misuse("wait", "%d handles, more than %d", n, maxWait)
	}
	in.tollBytes(4 * int(n))
	mem := memory(m)
	handles := make([]int32, n)
	for i := range handles {
		h, ok := mem.ReadUint32Le(ptr + uint32(4*i))
		if !ok || uint64(ptr)+4*uint64(n) > uint64(mem.Size()) {
			in.misuse("wait", "the %d handles at %d are outside memory", n, ptr)
		}
		handles[i] = int32(h)
	}
	capacity = min(capacity, maxWait)
	if uint64(out)+4*uint64(capacity) > uint64(mem.Size()) {
		in.misuse("wait", "the %d ready handles at %d are outside memory", capacity, out)
	}
	if capacity == 0 {
		in.misuse("wait", "no room for a ready handle")
	}
	var ready []int32
	seen := in.outside(m, func() (err error) {
		ready, err = in.world.Wait(handles, min(timeout, abi.MaxDuration), int(capacity))
		return err
	})
	if !seen {
		st[0] = 0
		return
	}
	for i, h := range ready {
		mem.WriteUint32Le(out+uint32(4*i), uint32(h))
	}
	st[0] = uint64(len(ready))
}

func (in *instance) random(m api.Module, ptr, n uint32) bool {
	if n > abi.MaxRandom {
		return false
	}
	view, ok := memory(m).Read(ptr, n)
	if ok {
		in.tollBytes(int(n))
		in.world.Random(view)
	}
	return ok
}

// bindContract instantiates the import module of the contract.
func bindContract(ctx context.Context, rt wazero.Runtime) error {
	b := rt.NewHostModuleBuilder(abi.Module)
	for _, f := range abi.Functions {
		fn, ok := contract[f.Name]
		if ok != f.Implemented {
			return fmt.Errorf("%s: the table and the sandbox disagree on whether it is implemented", f.Name)
		}
		if !ok {
			continue
		}
		params := make([]byte, len(f.Params))
		for i, p := range f.Params {
			params[i] = byte(p.Type)
		}
		results := make([]byte, len(f.Results))
		for i, r := range f.Results {
			results[i] = byte(r)
		}
		if fn = paid(fn); f.Blocking {
			fn = mayWait(abi.Module, f.Name, params, fn)
		}
		export(b, f.Name, fn, params, results)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// export adds one function. GoModuleFunc only: wazero's reflection costs 2 us a call.
func export(b wazero.HostModuleBuilder, name string, fn hostFunc, params, results []api.ValueType) {
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, st []uint64) {
		in := instanceOf(ctx)
		switch {
		case in.warming != nil:
			in.warming.check(in, name, st)
		case in.rewinds:
			in.arrives(m, name, st)
		case in.freezing != nil && name != rewrite.ImportOutOfGas:
			in.strays()
		}
		fn(in, m, st)
	}), params, results).Export(name)
}
