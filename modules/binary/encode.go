package binary

// AppendUint appends an unsigned number as LEB128, in as few bytes as it takes.
func AppendUint(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// AppendInt appends a signed number as LEB128, in as few bytes as it takes.
func AppendInt(b []byte, v int64) []byte {
	for v < -0x40 || v >= 0x40 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v)&0x7f)
}

func appendString(b []byte, s string) []byte {
	return append(AppendUint(b, uint32(len(s))), s...)
}

// appendLocals appends groups of locals: each a count and a type.
func appendLocals(b []byte, types []ValType) []byte {
	for _, t := range types {
		b = append(b, 1, byte(t))
	}
	return b
}

func appendFuncType(b []byte, t FuncType) []byte {
	b = AppendUint(append(b, 0x60), uint32(len(t.Params)))
	b = append(b, bytesOf(t.Params)...)
	b = AppendUint(b, uint32(len(t.Results)))
	return append(b, bytesOf(t.Results)...)
}

func appendLimits(b []byte, l Limits) []byte {
	if !l.HasMax {
		return AppendUint(append(b, 0), l.Min)
	}
	return AppendUint(AppendUint(append(b, 1), l.Min), l.Max)
}

func appendSection(b []byte, id SectionID, content []byte) []byte {
	b = AppendUint(append(b, byte(id)), uint32(len(content)))
	return append(b, content...)
}
