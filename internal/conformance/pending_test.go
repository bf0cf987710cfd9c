package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// pending are the programs that no host runs yet.
var pending = []string{"child", "again"}

// standIns are functions of the same types for those that only pending programs call, and that hosts refuse modules for.
var standIns = map[string]string{
	"\x0areprise_v1\x05child":           "\x0areprise_v1\x08activity",
	"\x0areprise_v1\x0fcontinue_as_new": "\x0areprise_v1\x06output",
}

// admissible is a module as hosts take it: while programs are pending, its section of imports has the stand-ins.
func admissible(wasm []byte) ([]byte, error) {
	if len(pending) == 0 {
		return wasm, nil
	}
	const header, imports = 8, 2
	for at := header; at < len(wasm); {
		size, n := binary.Uvarint(wasm[at+1:])
		start := at + 1 + n
		end := start + int(size)
		if n <= 0 || end > len(wasm) {
			return nil, fmt.Errorf("the module has a section that does not end at byte %d", at)
		}
		if wasm[at] == imports {
			section := wasm[start:end]
			for name, standIn := range standIns {
				section = bytes.ReplaceAll(section, []byte(name), []byte(standIn))
			}
			out := binary.AppendUvarint(bytes.Clone(wasm[:at+1]), uint64(len(section)))
			return append(append(out, section...), wasm[end:]...), nil
		}
		at = end
	}
	return wasm, nil
}
