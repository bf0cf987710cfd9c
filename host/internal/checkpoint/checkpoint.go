// Package checkpoint owns the byte form of checkpoints: fields with their lengths, packed and sealed with a checksum. A
// checkpoint is a cache: what is not exactly what was sealed is of no use, and is never half used. The package knows
// nothing of what the fields mean. Packages sandbox and exec write and read them.
package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// ErrNoUse says that bytes are not a checkpoint that can be used here: damaged, of another version, or for something else.
var ErrNoUse = errors.New("the checkpoint is of no use here")

// A sealed checkpoint is magic, which names the version of all that is in it; the SHA-256 of the rest; the number of bytes
// that are packed as 32 bits, little-endian; and the fields as one frame of zstd.
const (
	magic      = "reprise checkpoint 2\n"
	headerSize = len(magic) + sha256.Size + 4
)

// MaxPlain bounds the bytes before they are packed: unpacking is paid by whoever thaws, and a guest may fill its memory
// with what packs well.
const MaxPlain = 32 << 20

// Packer packs and seals. It is safe for concurrent use.
type Packer struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// window bounds how far back zstd looks, and so what an encoder keeps: a guest's dirty pages are some tens of KiB.
const window = 256 << 10

// NewPacker makes a packer.
func NewPacker() *Packer {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(fmt.Sprintf("zstd: %v", err)) // it does not like the options above
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxPlain), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(fmt.Sprintf("zstd: %v", err))
	}
	return &Packer{encoder: e, decoder: d}
}

// Seal packs fields. Returns ErrNoUse for more than MaxPlain bytes.
func (p *Packer) Seal(fields []byte) ([]byte, error) {
	if len(fields) > MaxPlain {
		return nil, fmt.Errorf("%w: %d bytes, more than %d", ErrNoUse, len(fields), MaxPlain)
	}
	out := make([]byte, headerSize, headerSize+len(fields)/4+64)
	copy(out, magic)
	binary.LittleEndian.PutUint32(out[headerSize-4:], uint32(len(fields)))
	out = p.encoder.EncodeAll(fields, out)
	sum := sha256.Sum256(out[len(magic)+sha256.Size:])
	copy(out[len(magic):], sum[:])
	return out, nil
}

// Open gives the fields back. Returns ErrNoUse.
func (p *Packer) Open(sealed []byte) ([]byte, error) {
	if len(sealed) < headerSize || string(sealed[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it is of another form", ErrNoUse)
	}
	rest := sealed[len(magic):]
	if sha256.Sum256(rest[sha256.Size:]) != [sha256.Size]byte(rest) {
		return nil, fmt.Errorf("%w: its checksum is wrong", ErrNoUse)
	}
	return p.unpack(binary.LittleEndian.Uint32(rest[sha256.Size:]), rest[sha256.Size+4:])
}

// unpack trusts nothing, although the checksum was right.
func (p *Packer) unpack(size uint32, frame []byte) ([]byte, error) {
	if size > MaxPlain {
		return nil, fmt.Errorf("%w: it would have %d bytes", ErrNoUse, size)
	}
	fields, err := p.decoder.DecodeAll(frame, make([]byte, 0, size))
	if err != nil || len(fields) != int(size) {
		return nil, fmt.Errorf("%w: it cannot be unpacked", ErrNoUse)
	}
	return fields, nil
}
