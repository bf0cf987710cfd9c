package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/tetratelabs/wazero/api"

	"reprise/abi"
	"reprise/modules"
)

// Limits of an initialisation that an image is made of. One that needs more runs in each instance.
const warmGas = 500_000_000

// warmSeed begins what the random numbers of an initialisation are drawn from; the module's key follows.
const warmSeed = "reprise image 1 "

// warming watches an initialisation: what it may ask for is the same for every run. At the first thing that is not,
// the image is given up and the initialisation runs in each instance.
type warming struct {
	drawn   bool // the one draw of random numbers
	reseeds bool // the module draws again before it is entered
}

// errParticular says that an initialisation asked for something that is not the same for every run.
type errParticular struct{ what string }

func (e *errParticular) Error() string { return "its initialisation " + e.what }

// sameForAll are the imports whose answer does not depend on the run.
var sameForAll = map[string]bool{
	"args_get": true, "args_sizes_get": true, "environ_get": true, "environ_sizes_get": true, "clock_res_get": true,
	"fd_fdstat_get": true, "fd_fdstat_set_flags": true, "fd_prestat_get": true, "fd_prestat_dir_name": true, "sched_yield": true,
	"out_of_gas": true, "too_deep": true,
}

// check is called before each import of a module that is warmed up.
func (w *warming) check(in *instance, name string, st []uint64) {
	draws := name == "random_get" || name == "random"
	switch {
	case sameForAll[name]:
	case name == "clock_time_get" && u32(st[0]) != 0: // the monotonic clock begins at the same time in every run
	case draws && w.reseeds && !w.drawn && u32(st[1]) <= sha256.Size:
		w.drawn = true // a runtime's own seed; what more a program draws it means to be its own
	case draws && !w.reseeds:
		in.stop(&errParticular{"draws random numbers, and the module has no " + abi.ExportReseed})
	case draws:
		in.stop(&errParticular{"draws random numbers beside those of its runtime"})
	case name == "clock_time_get" || name == "now":
		in.stop(&errParticular{"reads the wall clock"})
	default:
		in.stop(&errParticular{"calls " + name})
	}
}

// warmWorld is the world of an initialisation; what it does not have is never called.
type warmWorld struct {
	World
	entry  Entry
	random *rand.ChaCha8
}

func (w *warmWorld) Entry() Entry     { return w.entry }
func (w *warmWorld) Progress() int64  { return 0 }
func (w *warmWorld) Replays() bool    { return false }
func (w *warmWorld) Monotonic() int64 { return monotonicStart }
func (w *warmWorld) Random(p []byte)  { _, _ = w.random.Read(p) }

// monotonicStart is what the monotonic clock says until the entry is called: Go's runtime refuses one that reads 0.
const monotonicStart = 1_000_000_000

// warm makes the image of a module: by running its initialisation, or of its data alone when that must run for each
// instance. Which of them follows from the module alone; an error says nothing about it.
func (m *Module) warm(ctx context.Context) (*image, error) {
	p := m.prepared
	fresh := &image{Size: uint64(p.MemoryPages) * pageBytes, Runs: p.Rewritten.Data}
	if len(initialisers(p)) == 0 {
		return fresh, nil
	}
	if fresh.Why = p.Rewritten.Frozen; fresh.Why != "" {
		return fresh, nil
	}
	im, err := m.initialised(ctx, fresh)
	var particular *errParticular
	switch {
	case err == nil:
		return im, nil
	case ctx.Err() != nil || m.engine.closed.Load():
		return nil, errors.Join(ctx.Err(), err)
	case errors.As(err, &particular):
		fresh.Why = particular.Error()
	default:
		fresh.Why = fmt.Sprintf("its initialisation fails: %.300q", trapOf(err))
	}
	return fresh, nil
}

// initialised runs what comes before the entry and takes the picture.
func (m *Module) initialised(ctx context.Context, fresh *image) (*image, error) {
	w := &warmWorld{random: rand.NewChaCha8(sha256.Sum256([]byte(warmSeed + m.prepared.ImageKey))),
		entry: Entry{Kind: abi.EntryDescribe, Args: reactorArgs(), Limits: abi.Limits{Gas: warmGas}}}
	f, reseeds := m.prepared.Exports[abi.ExportReseed]
	in := &instance{world: w, entry: w.entry, mod: m, warming: &warming{reseeds: reseeds && len(f.Params) == 0}}
	ctx = context.WithValue(ctx, instanceKey{}, in)
	in.ctx = ctx
	if err := fresh.open(true); err != nil {
		return nil, err
	}
	defer fresh.close()
	if err := m.engine.places.enter(ctx, in.entry.Tenant); err != nil {
		return nil, err
	}
	in.inside = true
	defer in.leave()
	inst, err := m.instantiate(ctx, in, fresh)
	if err != nil {
		return nil, err
	}
	defer inst.Close(ctx)
	if err := in.prologue(inst, fresh); err != nil {
		return nil, errors.Join(in.cause, err)
	}
	im := m.picture(inst)
	if in.warming.drawn {
		in.warming = nil // from here on it is as in a run
		if err := in.reseed(inst); err != nil {
			return nil, &errParticular{"draws random numbers that cannot be drawn again: " + trapOf(err)}
		}
	}
	return im, nil
}

// picture copies the state of an instance.
func (m *Module) picture(inst api.Module) *image {
	im := &image{Warm: true}
	if mem := inst.Memory(); mem != nil {
		b, _ := mem.Read(0, mem.Size())
		im.Size, im.Runs = uint64(len(b)), runsOf(b)
	}
	for _, name := range m.globals {
		im.Globals = append(im.Globals, inst.ExportedGlobal(name).Get())
	}
	return im
}

// reactorArgs are the arguments of a program that is not entered by its main: the same in every run, because it
// reads them before there is a run.
func reactorArgs() []string { return []string{"workflow"} }

// argsOf are the arguments that a module's runs have.
func argsOf(p *modules.Prepared, e Entry) []string {
	if p.Shape == modules.Reactor {
		return reactorArgs()
	}
	return e.Args
}
