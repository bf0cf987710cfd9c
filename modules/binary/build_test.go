package binary

// The tests make binaries by hand: the ones that matter are those that no tool would write.

func leb(n uint32) []byte {
	var b []byte
	for n >= 0x80 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n))
}

func cat(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case []byte:
			out = append(out, p...)
		case string:
			out = append(out, p...)
		}
	}
	return out
}

func sec(id SectionID, parts ...any) []byte {
	body := cat(parts...)
	return cat(int(id), leb(uint32(len(body))), body)
}

func str(s string) []byte { return cat(leb(uint32(len(s))), s) }

func mod(parts ...any) []byte { return cat("\x00asm\x01\x00\x00\x00", cat(parts...)) }

var most = []byte{0xff, 0xff, 0xff, 0xff, 0x0f} // 4,294,967,295

// oneType is a type section with () -> ().
var oneType = sec(TypeSection, 1, 0x60, 0, 0)
