package reprise

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// handler is a registered function with its types encoded away.
type handler func(ctx context.Context, input []byte) ([]byte, error)

// registry is what a program offers, by name.
type registry struct {
	workflows, activities map[string]handler
}

func newRegistry() *registry {
	return &registry{workflows: map[string]handler{}, activities: map[string]handler{}}
}

// program is filled while packages initialise and is read afterwards.
var program = newRegistry()

// Workflow registers a workflow under a name; call it from init. It panics when the name is empty,
// longer than 255 bytes, not UTF-8 or taken. Input and output are JSON; []byte and json.RawMessage are passed as they are.
func Workflow[In, Out any](name string, fn func(ctx context.Context, in In) (Out, error)) {
	add(program.workflows, "workflow", name, wrap(fn))
}

func add(to map[string]handler, what, name string, h handler) {
	const maxName = 255 // bytes, the contract's limit
	if name == "" || len(name) > maxName {
		panic(fmt.Sprintf("reprise: the name of %s %.60q has %d bytes, not 1 to %d", what, name, len(name), maxName))
	}
	if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		panic(fmt.Sprintf("reprise: the name of %s %q is not UTF-8 or has a NUL byte", what, name))
	}
	if _, taken := to[name]; taken {
		panic(fmt.Sprintf("reprise: two functions are registered as %s %q", what, name))
	}
	to[name] = h
}

func wrap[In, Out any](fn func(context.Context, In) (Out, error)) handler {
	return func(ctx context.Context, input []byte) ([]byte, error) {
		in, err := decode[In](input)
		if err != nil {
			return nil, NonRetryable(Failf(CodeInvalidInput, "input is not a %T: %v", in, err))
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		b, err := encode(out)
		if err != nil {
			return nil, NonRetryable(Failf(CodeInvalidOutput, "result cannot be encoded: %v", err))
		}
		return b, nil
	}
}

// workflow finds the workflow to run; no name means the only one.
func (r *registry) workflow(name string) (handler, error) {
	if name == "" && len(r.workflows) == 1 {
		for _, h := range r.workflows {
			return h, nil
		}
	}
	if h, ok := r.workflows[name]; ok {
		return h, nil
	}
	if name == "" && len(r.workflows) > 1 {
		return nil, NonRetryable(Failf(CodeUnknownWorkflow, "no workflow is named and this module has several: %s", list(r.workflows)))
	}
	return nil, NonRetryable(Failf(CodeUnknownWorkflow, "this module has no workflow %q; it has %s", name, list(r.workflows)))
}

func (r *registry) activity(name string) (handler, error) {
	if h, ok := r.activities[name]; ok {
		return h, nil
	}
	return nil, NonRetryable(Failf(CodeUnknownActivity, "this module has no activity %q; it has %s", name, list(r.activities)))
}

func names(m map[string]handler) []string { return slices.Sorted(maps.Keys(m)) }

func list(m map[string]handler) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(names(m), ", ")
}

// manifest is what a module says of itself.
type manifest struct {
	SDK        string   `json:"sdk"`
	Workflows  []string `json:"workflows,omitempty"`
	Activities []string `json:"activities,omitempty"`
}

func (r *registry) manifest() manifest {
	return manifest{SDK: "go/" + Version, Workflows: names(r.workflows), Activities: names(r.activities)}
}
