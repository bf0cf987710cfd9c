package api

import (
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"reprise/abi"
	"reprise/journal"
	"reprise/modules"
)

// checkText bounds what becomes a name, a key or a reason: UTF-8 without control characters, at most
// abi.MaxName bytes. Both stores hold such text, and it is safe in a log line.
func checkText(where, s string) error {
	if len(s) > abi.MaxName {
		return refuse("invalid_name", fmt.Sprintf("it has %d bytes, more than %d", len(s), abi.MaxName), where)
	}
	if !utf8.ValidString(s) {
		return refuse("invalid_name", "it is not UTF-8", where)
	}
	for i, r := range s {
		if unicode.IsControl(r) {
			return refuse("invalid_name", fmt.Sprintf("it has a control character at byte %d", i), where)
		}
	}
	return nil
}

func checkTexts(pairs ...[2]string) error {
	for _, p := range pairs {
		if err := checkText(p[0], p[1]); err != nil {
			return err
		}
	}
	return nil
}

func runID(s string) (journal.RunID, error) {
	id, err := journal.ParseRunID(s)
	if err != nil {
		return id, refuse("invalid_run_id", err.Error(), "path.id")
	}
	return id, nil
}

// digest reads an optional digest.
func digest(where, s string) (modules.Digest, error) {
	if s == "" {
		return "", nil
	}
	d, err := modules.ParseDigest(s)
	if err != nil {
		return "", refuse("invalid_digest", err.Error(), where)
	}
	return d, nil
}

// waitFor reads the query parameter wait.
func waitFor(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > MaxWait {
		return 0, refuse("invalid_parameter", fmt.Sprintf("wait is %.40q, not a duration from 0s to %s such as 30s", s, MaxWait), "query.wait")
	}
	return d, nil
}
