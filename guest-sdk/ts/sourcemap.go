package ts

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A source map's numbers are differences from one place of the script to the next, so that who looks for one place reads all
// before it; an interpreter takes a tenth of a second for that, at each failure. In a module the differences begin anew in every line.

// sourceMap is what a module keeps of a source map.
type sourceMap struct {
	Sources []string `json:"sources"`
	// Mappings are the lines of the script, separated by semicolons, each a list of segments as in a source map of version 3, but
	// with all numbers of a line's first segment relative to 0.
	Mappings string `json:"mappings"`
}

// byLine makes of a source map of version 3 one whose lines can be read each by itself.
func byLine(file []byte) ([]byte, error) {
	var m sourceMap
	if err := json.Unmarshal(file, &m); err != nil {
		return nil, fmt.Errorf("read the source map: %w", err)
	}
	var at [3]int // source, line and column of the last segment, as version 3 counts them
	lines := strings.Split(m.Mappings, ";")
	for i, line := range lines {
		if line == "" {
			continue
		}
		segments := strings.Split(line, ",")
		var from [3]int // what the segment before has, or 0
		for k, segment := range segments {
			fields, err := readVLQ(segment)
			if err != nil {
				return nil, fmt.Errorf("read line %d of the source map: %w", i, err)
			}
			for f := range min(len(at), len(fields)-1) {
				at[f] += fields[f+1]
				fields[f+1] = at[f] - from[f]
				from[f] = at[f]
			}
			segments[k] = writeVLQ(fields)
		}
		lines[i] = strings.Join(segments, ",")
	}
	m.Mappings = strings.Join(lines, ";")
	return json.Marshal(m)
}

const vlqDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// readVLQ reads numbers of 5 bits a digit, the lowest first, of which the first bit is the sign.
func readVLQ(text string) (fields []int, err error) {
	value, shift := 0, 0
	for _, c := range text {
		digit := strings.IndexRune(vlqDigits, c)
		if digit < 0 || shift > 30 {
			return nil, fmt.Errorf("%q is no segment", text)
		}
		value |= digit & 31 << shift
		shift += 5
		if digit&32 != 0 {
			continue
		}
		if value&1 != 0 {
			value = -value
		}
		fields = append(fields, value/2)
		value, shift = 0, 0
	}
	return fields, nil
}

func writeVLQ(fields []int) string {
	var b strings.Builder
	for _, f := range fields {
		value := f << 1
		if f < 0 {
			value = -f<<1 | 1
		}
		for ; value > 31; value >>= 5 {
			b.WriteByte(vlqDigits[value&31|32])
		}
		b.WriteByte(vlqDigits[value])
	}
	return b.String()
}
