package abi

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Manifest is what a module says of itself when it is run with EntryDescribe: one JSON object,
// written with output.
type Manifest struct {
	SDK        string   `json:"sdk,omitempty"`
	Workflows  []string `json:"workflows,omitempty"`
	Activities []string `json:"activities,omitempty"`
}

// maxManifestNames bounds the workflows and the activities of one module.
const maxManifestNames = 1000

// DecodeManifest reads and checks a manifest. No bytes are an empty one. Unknown fields are kept out,
// not refused: a newer SDK may say more.
func DecodeManifest(b []byte) (Manifest, error) {
	var m Manifest
	if len(b) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return Manifest{}, fmt.Errorf("the manifest is not the JSON object that the contract describes: %w", err)
	}
	for _, list := range [][]string{{m.SDK}, m.Workflows, m.Activities} {
		if len(list) > maxManifestNames {
			return Manifest{}, fmt.Errorf("the manifest has %d names in one list, more than %d", len(list), maxManifestNames)
		}
		for _, name := range list {
			if len(name) > MaxName || !utf8.ValidString(name) {
				return Manifest{}, fmt.Errorf("the manifest has the name %.80q, which is longer than %d bytes or not UTF-8", name, MaxName)
			}
		}
	}
	return m, nil
}
