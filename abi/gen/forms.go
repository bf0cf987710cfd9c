package gen

import (
	"fmt"
	"strings"

	"reprise/abi"
)

// wat is a function's type in Wasm text.
func wat(f abi.Function) string {
	var b strings.Builder
	b.WriteString("(func")
	if len(f.Params) > 0 {
		b.WriteString(" (param")
		for _, p := range f.Params {
			b.WriteString(" " + p.Type.String())
		}
		b.WriteString(")")
	}
	for _, r := range f.Results {
		fmt.Fprintf(&b, " (result %s)", r)
	}
	return b.String() + ")"
}

// cPrototype is a function's declaration in C. On wasm32 a pointer is an i32.
func cPrototype(f abi.Function) string {
	result := "void"
	if len(f.Results) == 1 {
		result = cInt(f.Results[0])
	}
	params := make([]string, len(f.Params))
	for i, p := range f.Params {
		params[i] = cParam(f, p)
	}
	if len(params) == 0 {
		params = []string{"void"}
	}
	return fmt.Sprintf("%s reprise_%s(%s)", result, f.Name, strings.Join(params, ", "))
}

func cInt(t abi.ValType) string {
	if t == abi.I64 {
		return "int64_t"
	}
	return "int32_t"
}

func cParam(f abi.Function, p abi.Param) string {
	pointer := p.Name == "ptr" || strings.HasSuffix(p.Name, "_ptr")
	switch {
	case p.Name == "handles_ptr":
		return "const int32_t *handles"
	case p.Name == "ready_ptr":
		return "int32_t *ready"
	case !pointer:
		return cInt(p.Type) + " " + p.Name
	case p.Name == "ptr" && written(f):
		return "void *ptr"
	case p.Name == "ptr":
		return "const void *ptr"
	}
	return "const void *" + strings.TrimSuffix(p.Name, "_ptr")
}

// written says whether the host writes at a function's ptr: it is told how much room there is, or asked
// for random bytes.
func written(f abi.Function) bool {
	for _, p := range f.Params {
		if p.Name == "cap" {
			return true
		}
	}
	return f.Name == "random"
}

// cell makes text safe in a table of Markdown.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func blockingText(f abi.Function) string {
	if f.Blocking {
		return "yes: the run may be suspended here"
	}
	return "no"
}

// CName is a limit's name in C: MaxLogLine is MAX_LOG_LINE.
func (r row) CName() string {
	var b strings.Builder
	for i, c := range r.Name {
		if i > 0 && c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.ToUpper(b.String())
}

// CSuffix marks a value that an int32_t cannot hold.
func (r row) CSuffix() string {
	if len(r.Value) > 9 {
		return "LL"
	}
	return ""
}
