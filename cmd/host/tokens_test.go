package main

import (
	"os"
	"path/filepath"
	"testing"

	"reprise/tenant"
)

func TestReadTokens(t *testing.T) {
	tests := []struct {
		name, text string
		mode       os.FileMode
		want       map[string]tenant.ID // nil: an error
	}{
		{"one token", "0123456789abcdef", 0o600, map[string]tenant.ID{"0123456789abcdef": tenant.Default}},
		{"lines", "# who\nann ann-token-0123456789\n\n bob\tbob-token-0123456789 \n", 0o400,
			map[string]tenant.ID{"ann-token-0123456789": "ann", "bob-token-0123456789": "bob"}},
		{"empty", "", 0o600, nil},
		{"comments only", "# a\n", 0o600, nil},
		{"short", "0123456789abcde", 0o600, nil},
		{"no tenant's name", "Ann ann-token-0123456789", 0o600, nil},
		{"three words", "ann ann-token-0123456789 x", 0o600, nil},
		{"group can read", "0123456789abcdef", 0o640, nil},
		{"all can read", "0123456789abcdef", 0o604, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tokens")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			tokens, err := readTokens(path)
			if (err != nil) != (tt.want == nil) {
				t.Fatalf("got %v, want an error: %v", err, tt.want == nil)
			}
			if len(tokens) != len(tt.want) {
				t.Errorf("got %d tokens, want %d", len(tokens), len(tt.want))
			}
			for text, owner := range tt.want {
				if got, ok := tokens.Tenant(text); !ok || got != owner {
					t.Errorf("token %q: got tenant %q (%v), want %q", text, got, ok, owner)
				}
			}
		})
	}
}

func TestJournalTextHidesPasswords(t *testing.T) {
	for name, want := range map[string]string{
		memoryJournal: "memory (keep it: --db reprise.db)", "sqlite://a/b.db": "a/b.db", "a/b.db": "a/b.db",
		"postgres://u:secret@h:5432/db?x=y": "Postgres h:5432/db", "postgres://u:sec%ret@h/db": "Postgres",
	} {
		if got := journalText(name); got != want {
			t.Errorf("journalText(%q): got %q, want %q", name, got, want)
		}
	}
}
