package postgres

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"
)

// TestArraysAreWhatPgxSends: the bytes are those of pgx, for every type and with NULLs.
func TestArraysAreWhatPgxSends(t *testing.T) {
	late := time.Date(2031, 5, 6, 7, 8, 9, 123_456_000, time.FixedZone("", 3600))
	for _, c := range []struct {
		oid  uint32
		args any
	}{
		{pgtype.TextArrayOID, []string{"", "a", "\x00é\"{},NULL"}},
		{pgtype.ByteaArrayOID, [][]byte{nil, {}, {0, 255}, bytes.Repeat([]byte("x"), 70_000)}},
		{pgtype.ByteaArrayOID, [][]byte{{1}}},
		{pgtype.Int8ArrayOID, []int64{0, -1, 1 << 62, -1 << 63}},
		{pgtype.Int4ArrayOID, []int32{0, -1, 1 << 30, -1 << 31}},
		{pgtype.BoolArrayOID, []bool{true, false, true}},
		{pgtype.UUIDArrayOID, []pgtype.UUID{{Bytes: [16]byte{1, 2, 15: 255}, Valid: true}, {Valid: true}}},
		{pgtype.TimestamptzArrayOID, []pgtype.Timestamptz{{Time: late, Valid: true}, {}, {Time: time.Unix(0, 0), Valid: true}, {Time: time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC), Valid: true}}},
	} {
		m := pgtype.NewMap()
		want, err := m.Encode(c.oid, pgtype.BinaryFormatCode, c.args, nil)
		if err != nil {
			t.Fatal(err)
		}
		takeArrays(m)
		got, err := m.Encode(c.oid, pgtype.BinaryFormatCode, arrays([]any{c.args})[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%T: got %x, want %x", c.args, got[:min(len(got), 200)], want[:min(len(want), 200)])
		}
		if again, err := m.Encode(c.oid, pgtype.BinaryFormatCode, c.args, nil); err != nil || !bytes.Equal(again, want) {
			t.Errorf("%T: a slice is encoded otherwise than before: %v", c.args, err)
		}
	}
}

// TestArraysLeaveTheRestAlone: what is no slice of the statements' types is pgx's to encode.
func TestArraysLeaveTheRestAlone(t *testing.T) {
	want := []any{"text", int64(7), []byte("bytes"), nil, true, []int16{1}, 3 * time.Second}
	if d := cmp.Diff(want, arrays(want)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
