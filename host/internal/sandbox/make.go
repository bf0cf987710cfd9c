package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"reprise/abi"
	"reprise/modules"
	"reprise/modules/rewrite"
)

// linear is the memory of one instance: it begins with the image, and every page that it grows by is accounted for.
type linear struct {
	in     *instance
	mapped mapped
	begin  uint64 // bytes of the image
	size   uint64
	limit  uint64
}

// Reallocate is part of experimental.LinearMemory. The first call asks for the module's own minimum and gets the image.
func (l *linear) Reallocate(size uint64) []byte {
	switch {
	case l.size == 0:
		l.size = max(size, l.begin)
		return l.mapped.resize(l.size)
	case size > l.limit:
		return nil // -1 in the guest
	}
	l.in.grown(int64(size - l.size))
	l.size = size
	return l.mapped.resize(size)
}

// Free is part of experimental.LinearMemory; calling it again does nothing.
func (l *linear) Free() { l.mapped.free() }

// memoryLimit is how many bytes an execution's memory may grow to.
func (in *instance) memoryLimit() uint64 {
	pages := uint32(modules.MaxMemoryPages)
	if n := in.entry.Limits.MemoryPages; n > 0 {
		pages = min(pages, n)
	}
	return uint64(pages) * pageBytes
}

// instantiate makes an instance from an image of the module, with the limits of its execution. No guest code runs in it.
func (m *Module) instantiate(ctx context.Context, in *instance, im *image) (api.Module, error) {
	limit := in.memoryLimit()
	if im.Size > limit {
		return nil, &Exhausted{Code: abi.CodeMemory, Reason: fmt.Sprintf("the module begins with %d bytes of memory, and the run may have %d", im.Size, limit)}
	}
	alloc := experimental.MemoryAllocatorFunc(func(_, most uint64) experimental.LinearMemory {
		in.linear = &linear{in: in, mapped: im.backing.reserve(min(most, limit)), begin: im.Size, limit: limit}
		return in.linear
	})
	// No name: instances of one module must not collide. No start functions: the host calls what is to be called. Nobody
	// reads the random source; the engine's own would be made for each instance, and takes 5 KB.
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(rand.Reader)
	inst, err := m.runtime().InstantiateModule(experimental.WithMemoryAllocator(ctx, alloc), m.compiled, config)
	if err != nil {
		return nil, err
	}
	for i, v := range im.Globals {
		inst.ExportedGlobal(m.globals[i]).(api.MutableGlobal).Set(v)
	}
	if depth := in.entry.Limits.Depth; depth > 0 {
		if g, ok := inst.ExportedGlobal(rewrite.ExportDepth).(api.MutableGlobal); ok {
			g.Set(uint64(uint32(depth)))
		}
	}
	return inst, nil
}

// initialisers are what a module wants to be called before its entry, in order.
func initialisers(p *modules.Prepared) []string {
	var names []string
	if p.Rewritten.Start {
		names = append(names, rewrite.ExportStart)
	}
	if _, ok := p.Exports[abi.ExportInitialize]; ok && p.Shape == modules.Reactor {
		names = append(names, abi.ExportInitialize)
	}
	return names
}

// prologue calls what comes before the entry.
func (in *instance) prologue(inst api.Module, im *image) error {
	if im.Warm {
		return in.reseed(inst)
	}
	for _, name := range initialisers(in.mod.prepared) {
		if _, err := inst.ExportedFunction(name).Call(in.ctx); err != nil {
			return err
		}
	}
	return nil
}

// reseed lets a module draw its random numbers anew, when it can.
func (in *instance) reseed(inst api.Module) error {
	f := inst.ExportedFunction(abi.ExportReseed)
	if f == nil {
		return nil
	}
	status, err := f.Call(in.ctx)
	if err == nil && len(status) == 1 && uint32(status[0]) != 0 {
		err = fmt.Errorf("%s returned %d", abi.ExportReseed, int32(uint32(status[0])))
	}
	return err
}

// overhead is what an instance needs beside its memory: the engine's stack, tables, exports, goroutine.
const overhead = 64 << 10

// hoped is how much of the first part of a memory an instance is thought to write to, until its module is known:
// the pages that nobody writes to are shared.
const (
	hoped     = 512 << 10
	hopedFrom = 4 << 20
)

// charge is what an instance is thought to need at its begin: what others of its module have needed, or, while only a
// few are known, no less than a guess.
func (m *Module) charge() int64 {
	if m.runs.Load() >= measured {
		return max(overhead, m.needs.Load())
	}
	size := int64(m.image.Size)
	return max(overhead+min(size, hoped)+max(size-hopedFrom, 0), m.needs.Load())
}

// budgetOf keeps activities and the runs that wait for them apart: the ones never wait for the others.
func (e *Engine) budgetOf(kind abi.EntryKind) *budget {
	if kind == abi.EntryActivity {
		return e.forActivities
	}
	return e.forRuns
}

// admit waits until the host has memory for the execution.
func (in *instance) admit(ctx context.Context) (err error) {
	in.budget = in.mod.engine.budgetOf(in.entry.Kind)
	in.used = in.mod.charge()
	if f := cmp.Or(in.thawing, in.asked); f != nil { // with what the guest had grown by
		in.used = max(in.used, overhead+int64(f.Size)-int64(in.mod.image.Size)+2*int64(len(f.Patch)))
	}
	in.reserved, err = in.budget.admit(ctx, in.entry.Tenant, in.used)
	return err
}

// grown accounts for memory that a guest asked for. Without room the guest is stopped, and its next try waits
// until there is twice as much.
func (in *instance) grown(more int64) {
	if in.budget == nil || in.restoring {
		return // it is being warmed up, or was admitted with this
	}
	in.used += more
	if over := in.used - in.reserved; over > 0 {
		if !in.budget.grow(in.entry.Tenant, over) {
			in.mod.learn(min(2*in.used, overhead+int64(in.linear.limit)))
			in.budget.missing(in.entry.Tenant, over)
			in.stop(ErrPressure)
		}
		in.reserved += over
	}
}

// learn takes note of what an instance needed: more at once, less slowly.
func (m *Module) learn(used int64) {
	for {
		old := m.needs.Load()
		next := used
		if used < old {
			next = old - (old-used)/16
		}
		if m.needs.CompareAndSwap(old, next) {
			return
		}
	}
}

// measured says of which executions the memory is measured: the first, and then some.
const measured = 16

// measure looks at what the instance has made its own, before it is closed.
func (in *instance) measure() {
	if n := in.mod.runs.Add(1); in.linear != nil && (n <= measured || n%measured == 0) {
		in.mod.learn(overhead + in.linear.mapped.touched())
	}
}

// discharge gives back what the execution got.
func (in *instance) discharge() {
	if in.linear != nil {
		in.linear.Free()
	}
	in.budget.release(in.entry.Tenant, in.reserved)
}
