package conformance

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"reprise/abi"
	"reprise/journal"
)

// canonical is a journal without what may differ between two runs, or two languages: times, tokens, the numbers of handles,
// whether a timer is a handle or the timeout of a wait, and how options that mean the same are written. How a run failed is the
// language's row to say.
func canonical(p program, entries []journal.Entry) ([]string, error) {
	lines := make([]string, len(entries))
	for i, e := range entries {
		if e.Seq != int64(i) {
			return nil, fmt.Errorf("entry %d has seq %d", i, e.Seq)
		}
		line, err := canonicalEntry(e)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		lines[i] = line
	}
	if p.unordered {
		slices.Sort(lines[1 : len(lines)-1])
	}
	return lines, nil
}

func canonicalEntry(e journal.Entry) (string, error) {
	switch e.Kind {
	case journal.KindTimer, journal.KindSleep:
		return "timer", nil
	case journal.KindStarted:
		return fmt.Sprintf("started %s %s", e.Name, e.Request), nil
	case journal.KindFailed, journal.KindCancelled:
		return string(e.Kind), nil
	}
	options, err := abi.DecodeOptions(e.Options)
	if err != nil {
		return "", err
	}
	o, err := json.Marshal(options)
	return fmt.Sprintf("%s %s %s(%s) = %s %s", e.Kind, e.Name, o, short(e.Request), e.Status, short(e.Payload)), err
}

// short keeps a payload readable: of a long one the hash and the length.
func short(b []byte) string {
	if len(b) > 200 {
		return fmt.Sprintf("%x of %d bytes", sha256.Sum256(b), len(b))
	}
	return string(b)
}
