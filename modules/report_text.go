package modules

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"reprise/modules/binary"
)

// maxPlain bounds a name in a report, in bytes of its safe form.
const maxPlain = 160

// plain makes a name of a module safe to show: what does not print, such as escape sequences and characters that turn
// the direction of writing, becomes an escape, and what is too long is cut.
func plain(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+size]
		switch {
		case r == utf8.RuneError && size == 1:
			piece = fmt.Sprintf(`\x%02x`, s[i])
		case !unicode.IsPrint(r):
			piece = strings.Trim(strconv.QuoteRune(r), "'")
		}
		if b.Len()+len(piece) > maxPlain {
			b.WriteString("…")
			break
		}
		b.WriteString(piece)
		i += size
	}
	return b.String()
}

// functionText names a function by its index, and by name when the module says one.
func functionText(m *binary.Module, index int) string {
	text := fmt.Sprintf("function %d", index)
	if name := m.FuncName(index); name != "" {
		text += " " + plain(name)
	}
	return text
}
