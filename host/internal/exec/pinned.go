package exec

import (
	"bytes"
	"encoding/json"
	"fmt"

	"reprise/abi"
	"reprise/journal"
	"reprise/modules"
)

// pinned is what binds a run from its begin to its end, whatever the host's configuration is by then. The Options
// of entry 0 are it as JSON.
type pinned struct {
	// Pipeline is the version of what is done to modules, which decides what a guest pays in gas and call depth.
	Pipeline int        `json:"pipeline"`
	Limits   abi.Limits `json:"limits"`
	// Origin is of a run that was forked: the first run that its entries come from.
	Origin *origin `json:"origin,omitempty"`
}

// origin is what a guest knows of the run that it is, and what its random numbers are made from. A run that was forked keeps
// the other's, for its entries say what was done with them.
type origin struct {
	Run string `json:"run"`
	Key string `json:"key,omitempty"`
}

// as is the run as its guest knows it.
func (p pinned) as(r journal.Run) journal.Run {
	if p.Origin != nil {
		r.Key = p.Origin.Key
		r.ID, _ = journal.ParseRunID(p.Origin.Run) // decodePinned has looked
	}
	return r
}

// firstPipeline is what journals were written under before entry 0 had Options.
const firstPipeline = 1

// PipelineError says that a run began under another version of what is done to modules than this host has.
type PipelineError struct{ Run, Host int }

// Error is the text of the reason for which the run is blocked.
func (e *PipelineError) Error() string {
	return fmt.Sprintf("the run began on modules prepared by version %d, this host prepares them by version %d", e.Run, e.Host)
}

// pinned returns what binds a run: what its entry 0 says, or what this host gives when it has not begun.
// Returns a *PipelineError, and errCorrupt for an entry 0 that says nothing of the kind.
func (t *Turner) pinned(entries []journal.Entry) (pinned, error) {
	if len(entries) == 0 {
		return pinned{Pipeline: modules.PipelineVersion, Limits: t.cfg.Limits}, nil
	}
	p, err := decodePinned(entries[0].Options)
	if err == nil && p.Pipeline != modules.PipelineVersion {
		err = &PipelineError{Run: p.Pipeline, Host: modules.PipelineVersion}
	}
	return p, err
}

func decodePinned(options []byte) (pinned, error) {
	if len(options) == 0 {
		return pinned{Pipeline: firstPipeline, Limits: abi.DefaultLimits()}, nil
	}
	var p pinned
	d := json.NewDecoder(bytes.NewReader(options))
	d.DisallowUnknownFields() // a bound that is not known here is not kept here
	err := d.Decode(&p)
	if err == nil && d.More() {
		err = fmt.Errorf("bytes follow the JSON object")
	}
	if err == nil && p.Pipeline < 1 {
		err = fmt.Errorf("pipeline is %d", p.Pipeline)
	}
	if err == nil {
		err = p.Limits.Check()
	}
	if err == nil && p.Origin != nil {
		_, err = journal.ParseRunID(p.Origin.Run)
	}
	if err != nil {
		return p, fmt.Errorf("%w: options of entry 0: %w", errCorrupt, err)
	}
	return p, nil
}

func (p pinned) encode() []byte {
	b, err := json.Marshal(p)
	if err != nil {
		return nil // every field is a number
	}
	return b
}

// attempt is what binds an attempt of an activity of the run.
func (p pinned) attempt() pinned {
	p.Limits.Gas = abi.MaxActivityGas
	return p
}
