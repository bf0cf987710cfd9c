package payload

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"reprise/journal"
)

func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

func TestPackKeepsEveryByte(t *testing.T) {
	for _, c := range []struct {
		name  string
		b     []byte
		codec Codec
	}{
		{"what repeats", bytes.Repeat([]byte("reprise\x00"), 256<<10), Zstd},
		{"noise", noise(2 << 20), Plain},
		{"one more than inline", make([]byte, Inline+1), Zstd},
		{"nothing", nil, Plain},
	} {
		p := Pack(c.b)
		if p.Codec != c.codec || p.Size != int64(len(c.b)) || len(p.Bytes) > len(c.b) {
			t.Errorf("%s: got codec %d, size %d, %d bytes stored; want codec %d, size %d", c.name, p.Codec, p.Size, len(p.Bytes), c.codec, len(c.b))
		}
		got, err := Unpack(p)
		if err != nil || !bytes.Equal(got, c.b) {
			t.Errorf("%s: got %d bytes, %v; want %d", c.name, len(got), err, len(c.b))
		}
	}
}

func TestUnpackRefusesWhatIsDamaged(t *testing.T) {
	whole := Pack(bytes.Repeat([]byte("abc"), 100_000))
	plain := Pack(noise(100_000))
	for name, change := range map[string]func(p *Packed){
		"a bit":               func(p *Packed) { p.Bytes[len(p.Bytes)/2] ^= 1 },
		"cut":                 func(p *Packed) { p.Bytes = p.Bytes[:len(p.Bytes)-1] },
		"empty":               func(p *Packed) { p.Bytes = nil },
		"a smaller size":      func(p *Packed) { p.Size-- },
		"a larger size":       func(p *Packed) { p.Size++ },
		"a size beyond all":   func(p *Packed) { p.Size = 1 << 60 },
		"a negative size":     func(p *Packed) { p.Size = -1 },
		"another codec":       func(p *Packed) { p.Codec ^= 1 },
		"no such codec":       func(p *Packed) { p.Codec = 7 },
		"the name of another": func(p *Packed) { p.Digest = Digest([]byte("x")) },
	} {
		for _, p := range []Packed{whole, plain} {
			p.Bytes = bytes.Clone(p.Bytes)
			change(&p)
			if got, err := Unpack(p); !errors.Is(err, journal.ErrPayload) || got != nil {
				t.Errorf("%s, codec %d: got %d bytes, %v; want none and %v", name, p.Codec, len(got), err, journal.ErrPayload)
			}
		}
	}
}

// TestUnpackTakesNoMoreMemoryThanTheSize: what is stored may be damaged so that it claims to be huge.
func TestUnpackTakesNoMoreMemoryThanTheSize(t *testing.T) {
	p := Pack(make([]byte, 64<<20))
	p.Size = 100
	if _, err := Unpack(p); !errors.Is(err, journal.ErrPayload) {
		t.Errorf("got %v, want %v", err, journal.ErrPayload)
	}
}

func TestSetAndWanted(t *testing.T) {
	a, b := noise(Inline+1), bytes.Repeat([]byte("b"), 2<<20)
	var s Set
	var held [][]byte
	var w Wanted
	in := [][]byte{a, b, []byte("small"), bytes.Clone(b), nil, noise(Inline), a}
	for _, v := range in {
		p := s.Put(v)
		if (p != nil) != (len(v) > Inline) {
			t.Errorf("%d bytes: got packed %v", len(v), p != nil)
		}
		h := v
		if p != nil {
			h = p.Digest
		}
		held = append(held, h)
	}
	for i := range held {
		w.Add(&held[i], Large(in[i]))
	}
	if len(s.Packed) != 2 || len(w.Digests()) != 2 {
		t.Fatalf("got %d payloads and %d digests, want 2", len(s.Packed), len(w.Digests()))
	}
	missing := w
	missing.fields = []*[]byte{new([]byte)}
	*missing.fields[0] = held[0]
	if err := missing.Fill(s.Packed[1:]); !errors.Is(err, journal.ErrPayload) || *missing.fields[0] != nil {
		t.Errorf("missing: got %v and %d bytes, want %v and none", err, len(*missing.fields[0]), journal.ErrPayload)
	}
	if err := w.Fill(s.Packed); err != nil {
		t.Fatal(err)
	}
	for i, v := range in {
		if !bytes.Equal(held[i], v) {
			t.Errorf("%d: got %d bytes, want %d", i, len(held[i]), len(v))
		}
	}
}

// BenchmarkPack packs and unpacks 2 MiB of what repeats and of noise.
func BenchmarkPack(b *testing.B) {
	for name, p := range map[string][]byte{"text": bytes.Repeat([]byte(`{"order":4711,"state":"paid","items":["a","b"]},`), 2<<20/48), "noise": noise(2 << 20)} {
		b.Run("pack-"+name, func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				Pack(p)
			}
		})
		packed := Pack(p)
		b.Run("unpack-"+name, func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				if _, err := Unpack(packed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
