package checkpoint

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

func TestFieldsComeBack(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	var w Writer
	w.Uint(1 << 63)
	w.Int(-7)
	w.Bool(true)
	w.Bytes([]byte("bytes"))
	w.Bytes(nil)
	w.String("string")
	w.Words([]uint64{0, 1, ^uint64(0)})
	w.Time(at)
	w.Time(time.Time{})
	w.Int(10)
	p := NewPacker()
	sealed, err := p.Seal(w.Fields())
	if err != nil {
		t.Fatal(err)
	}
	fields, err := p.Open(sealed)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(fields)
	ok := r.Uint() == 1<<63 && r.Int() == -7 && r.Bool() && string(r.Bytes()) == "bytes" && r.Bytes() == nil && r.String() == "string"
	words := r.Words()
	ok = ok && len(words) == 3 && words[2] == ^uint64(0) && r.Time().Equal(at) && r.Time().IsZero() && r.Within(0, 10) == 10
	if err := r.Done(); !ok || err != nil {
		t.Errorf("got other fields than were written, and %v", err)
	}
	again, err := p.Seal(w.Fields())
	if err != nil || !bytes.Equal(sealed, again) {
		t.Errorf("the same fields give other bytes")
	}
}

// TestDamageIsFound changes each bit, and cuts at each byte.
func TestDamageIsFound(t *testing.T) {
	p := NewPacker()
	sealed, err := p.Seal([]byte("some fields that are sealed"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range sealed {
		for bit := range 8 {
			changed := bytes.Clone(sealed)
			changed[i] ^= 1 << bit
			if _, err := p.Open(changed); !errors.Is(err, ErrNoUse) {
				t.Fatalf("byte %d bit %d: got %v, want ErrNoUse", i, bit, err)
			}
		}
		if _, err := p.Open(sealed[:i]); !errors.Is(err, ErrNoUse) {
			t.Fatalf("%d bytes: got %v, want ErrNoUse", i, err)
		}
	}
	if _, err := p.Open(append(sealed, 0)); !errors.Is(err, ErrNoUse) {
		t.Errorf("a byte too many: got %v, want ErrNoUse", err)
	}
}

func TestTooLarge(t *testing.T) {
	p := NewPacker()
	if _, err := p.Seal(make([]byte, MaxPlain+1)); !errors.Is(err, ErrNoUse) {
		t.Errorf("got %v, want ErrNoUse", err)
	}
	most := make([]byte, MaxPlain)
	for i := 0; i < len(most); i += 1000 {
		most[i] = byte(rand.Uint32())
	}
	sealed, err := p.Seal(most)
	if err != nil {
		t.Fatal(err)
	}
	if fields, err := p.Open(sealed); err != nil || !bytes.Equal(fields, most) {
		t.Errorf("got %d bytes and %v, want the largest back", len(fields), err)
	}
}

// FuzzUnpack is what is behind the checksum.
func FuzzUnpack(f *testing.F) {
	p := NewPacker()
	sealed, err := p.Seal([]byte("some fields that are sealed, some fields that are sealed"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(56), sealed[headerSize:])
	f.Fuzz(func(t *testing.T, size uint32, frame []byte) {
		if fields, err := p.unpack(size, frame); err == nil && len(fields) != int(size) {
			t.Errorf("got %d bytes, want %d", len(fields), size)
		}
	})
}

// FuzzReader reads anything as anything.
func FuzzReader(f *testing.F) {
	f.Add([]byte{5, 1, 2, 3, 4, 5}, []byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Fuzz(func(t *testing.T, fields, kinds []byte) {
		r := NewReader(fields)
		for _, k := range kinds {
			switch k % 8 {
			case 0:
				r.Uint()
			case 1:
				r.Within(-3, 3)
			case 2:
				r.Bool()
			case 3:
				if n := len(r.Bytes()); n > len(fields) {
					t.Errorf("got %d bytes of %d", n, len(fields))
				}
			case 4:
				if n := len(r.Words()); n > len(fields) {
					t.Errorf("got %d words of %d bytes", n, len(fields))
				}
			case 5:
				r.Time()
			case 6:
				r.Count(3)
			case 7:
				_ = r.String()
			}
		}
		if err := r.Done(); err != nil && !errors.Is(err, ErrNoUse) {
			t.Errorf("got %v, want ErrNoUse", err)
		}
	})
}
