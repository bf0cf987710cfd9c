package tenant

import (
	"errors"
	"strings"
	"testing"
)

func TestParseID(t *testing.T) {
	for _, good := range []string{"default", "a", "0", "a-b-9", strings.Repeat("x", 63)} {
		if id, err := ParseID(good); err != nil || string(id) != good {
			t.Errorf("%q: got %q, %v; want it taken", good, id, err)
		}
	}
	for _, bad := range []string{"", "-a", "A", "a_b", "a b", "a/b", "a\x00", "\u0430", strings.Repeat("x", 64)} {
		if _, err := ParseID(bad); !errors.Is(err, ErrInvalidID) {
			t.Errorf("%q: got %v, want ErrInvalidID", bad, err)
		}
	}
}

func TestTokens(t *testing.T) {
	ts := Tokens{NewToken("a", "secret of a"), NewToken("b", "secret of b")}
	for text, want := range map[string]ID{"secret of a": "a", "secret of b": "b"} {
		if got, ok := ts.Tenant(text); !ok || got != want {
			t.Errorf("%q: got %q, %v; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "secret of", "secret of c", string(ts[0].Hash[:])} {
		if got, ok := ts.Tenant(text); ok || got != "" {
			t.Errorf("%q: got %q, %v; want nobody", text, got, ok)
		}
	}
	if _, ok := (Tokens)(nil).Tenant(""); ok {
		t.Error("no tokens: got somebody, want nobody")
	}
}
