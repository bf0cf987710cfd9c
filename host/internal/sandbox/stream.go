package sandbox

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"reprise/abi"
)

// stream turns what a guest writes to stdout or stderr into log lines.
type stream struct {
	source string
	level  int32
	line   []byte // the unfinished line, at most abi.MaxLogLine bytes
	cut    bool   // the unfinished line was longer
}

func (s *stream) write(in *instance, p []byte) {
	for len(p) > 0 {
		part, rest, ended := p, []byte(nil), false
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			part, rest, ended = p[:i], p[i+1:], true
		}
		room := abi.MaxLogLine - len(s.line)
		s.cut = s.cut || len(part) > room
		s.line = append(s.line, part[:min(len(part), room)]...)
		if ended {
			s.emit(in)
		}
		p = rest
	}
}

// flush emits a last line without a newline.
func (s *stream) flush(in *instance) {
	if len(s.line) > 0 {
		s.emit(in)
	}
}

func (s *stream) emit(in *instance) {
	in.log(s.level, s.source, bytes.TrimSuffix(s.line, []byte("\r")), s.cut)
	s.line, s.cut = s.line[:0], false
}

// log hands one line to the world, as valid UTF-8, marked when it was cut.
func (in *instance) log(level int32, source string, line []byte, cut bool) {
	in.toll(tollLine)
	s := string(line)
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if cut {
		s += " [cut]"
	}
	in.world.Log(min(max(level, abi.LogDebug), abi.LogError), source, s)
}
