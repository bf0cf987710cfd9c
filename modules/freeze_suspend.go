package modules

import (
	"fmt"

	"reprise/modules/binary"
	"reprise/modules/rewrite"
)

// suspend is what rewriting has to know of what can reach a wait.
func (r reach) suspend() *rewrite.Suspend {
	s := &rewrite.Suspend{Functions: r.can, Types: make([]bool, len(r.types))}
	for i, t := range r.types {
		s.Types[i] = r.byTable[t]
	}
	return s
}

// tooLarge compares functions that save their frames with the limits of code that is uploaded; use is that of the module as
// it was. It says which of them the compiler should not see; empty when there is none.
func tooLarge(m *binary.Module, written []byte, waits reach, use codeUse) (string, error) {
	after, err := binary.DecodeWritten(written)
	if err != nil {
		return "", fmt.Errorf("read the rewritten module: %w", err)
	}
	var f flow
	cost := use.cost
	for i := range m.Bodies {
		index := m.ImportedFuncs() + i
		if !waits.has(uint32(index)) {
			continue
		}
		was, err := f.measure(m, i)
		if err != nil {
			return "", err
		}
		is, err := f.measure(after, i)
		if err != nil {
			return "", err
		}
		for _, l := range is.limits() {
			if l.figure > l.most {
				return fmt.Sprintf("%s would have %d %s with code that saves its frame, more than %d", functionText(m, index), l.figure, l.what, l.most), nil
			}
		}
		if cost += is.total() - was.total(); cost > maxCost {
			return fmt.Sprintf("to compile the module with code that saves frames would take about %.3f s, more than %.3f s", seconds(cost), seconds(maxCost)), nil
		}
	}
	return "", nil
}
