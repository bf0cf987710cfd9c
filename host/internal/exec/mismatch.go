package exec

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"reprise/abi"
	"reprise/journal"
	"reprise/modules"
)

// step is one side of a comparison.
type step struct {
	kind    string
	name    string
	request []byte
}

// String is the step on one line: kind, name, and the start of the request.
func (s step) String() string {
	text := s.kind
	if s.name != "" {
		text += " " + printable(s.name, 24)
	}
	if len(s.request) > 0 {
		text += " " + printable(string(s.request), 16)
	}
	return text
}

// printable cuts and escapes bytes of a guest, so that they do no harm where people read them.
func printable(s string, limit int) string {
	var b strings.Builder
	for i, r := range s {
		if b.Len() >= limit {
			return b.String() + "..."
		}
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// NondeterminismError says that a module did something else than its journal. Nothing was written.
type NondeterminismError struct {
	Run    journal.RunID
	Digest modules.Digest
	Name   string // workflow name, for people
	Seq    int64
	Turn   int64           // lease token that wrote the entry
	Before []journal.Entry // the last entries that did match
	Want   step            // journal
	Got    step            // module
	Detail string          // what differs when kind and name do not
	Stack  []string        // of the guest; innermost first
}

// Error is the whole message, several lines.
func (e *NondeterminismError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s stopped: the module did something else than last time   [nondeterminism]\n", e.Run)
	fmt.Fprintf(&b, "  at seq %d (turn %d, module %s", e.Seq, e.Turn, e.Digest.Short())
	if e.Name != "" {
		fmt.Fprintf(&b, " = %s", e.Name)
	}
	b.WriteString(")\n")
	const row = " %s %5s  %-52s  %s\n"
	fmt.Fprintf(&b, row, " ", "", "journal (first run)", "module (now)")
	for _, p := range e.Before {
		fmt.Fprintf(&b, row, " ", fmt.Sprint(p.Seq), stepOf(p), "same")
	}
	fmt.Fprintf(&b, row, "▶", fmt.Sprint(e.Seq), e.Want, e.Got)
	if e.Detail != "" {
		fmt.Fprintf(&b, "  differs      %s\n", e.Detail)
	}
	if len(e.Stack) > 0 {
		fmt.Fprintf(&b, "  guest stack  %s\n", printable(strings.Join(e.Stack, " ← "), 300))
	}
	b.WriteString("  likely       the code changed, or it took map order, time or random numbers from elsewhere than the host\n")
	from := max(e.Seq-3, 0)
	fmt.Fprintf(&b, "  next         reprise run journal %s --from %d · reprise run replay %s --module DIGEST", e.Run, from, e.Run)
	return b.String()
}

// Summary is the message on one line, for a run's reason.
func (e *NondeterminismError) Summary() string {
	s := fmt.Sprintf("nondeterminism: at seq %d the journal has %s, the module did %s", e.Seq, e.Want, e.Got)
	if e.Detail != "" {
		s += " (" + e.Detail + ")"
	}
	return s
}

func stepOf(e journal.Entry) step {
	return step{kind: string(e.Kind), name: e.Name, request: e.Request}
}

func stepOfOp(o *op) step {
	return step{kind: string(o.kind), name: o.name, request: o.request}
}

// differs says in words what is unlike between an entry and the op that it should complete.
func differs(e journal.Entry, o *op) string {
	switch {
	case string(e.Request) != string(o.request):
		return fmt.Sprintf("request bytes: journal %d bytes, module %d bytes, first difference at byte %d", len(e.Request), len(o.request), firstDifference(e.Request, o.request))
	case string(e.Options) != string(o.options):
		return fmt.Sprintf("options: journal %s, module %s", printable(string(e.Options), 80), printable(string(o.options), 80))
	}
	return ""
}

func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// endStep is the step of a guest that ended.
func endStep(kind journal.Kind, payload []byte) step {
	s := step{kind: string(kind), request: payload}
	if kind == journal.KindFailed || kind == journal.KindCancelled {
		s.name = abi.DecodeFailure(payload).Code
		s.request = nil
	}
	return s
}
