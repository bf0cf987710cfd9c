package ts

import (
	"slices"
	"testing"
)

func TestLinesOfASourceMapStandAlone(t *testing.T) {
	// Line 1 has places (0: 0,0,0) and (4: 0,0,9), line 3 (2: 1,20,3), a place of nothing at 5, and (6: 0,0,1).
	in := `{"version":3,"sources":["a","b"],"sourcesContent":null,"mappings":"AAAA,IAAS;;ECoBN,G,CDpBF;"}`
	want := `{"sources":["a","b"],"mappings":"AAAA,IAAS;;ECoBG,G,CDpBF;"}`
	got, err := byLine([]byte(in))
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	for _, bad := range []string{"", `{"mappings":"A!"}`, `{"mappings":"gggggggggg"}`} {
		if got, err := byLine([]byte(bad)); err == nil {
			t.Errorf("%s: got %s, want an error", bad, got)
		}
	}
}

func TestVLQ(t *testing.T) {
	for _, fields := range [][]int{nil, {0}, {1, -1}, {15, 16, -16, 31, 32}, {123456, -123456, 1 << 29, -1 << 29}} {
		got, err := readVLQ(writeVLQ(fields))
		if err != nil || !slices.Equal(got, fields) {
			t.Errorf("got %v, %v, want %v", got, err, fields)
		}
	}
}
