package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"reprise/modules"
)

// An image file is imageMagic, the SHA-256 of the rest, and the image as gob encodes it.
const imageMagic = "reprise image 1\n"

// maxImageFile bounds what is read of one: the largest memory, and what describes it.
const maxImageFile = modules.MaxMemoryPages*pageBytes + 1<<20

func imagePath(dir, key string) string { return filepath.Join(dir, "image-"+key) }

// save writes an image so that a reader finds all of it or nothing.
func (im *image) save(path string) error {
	var b bytes.Buffer
	b.WriteString(imageMagic)
	b.Write(make([]byte, sha256.Size))
	if err := gob.NewEncoder(&b).Encode(im); err != nil {
		return fmt.Errorf("encode the image: %w", err)
	}
	file := b.Bytes()
	sum := sha256.Sum256(file[len(imageMagic)+sha256.Size:])
	copy(file[len(imageMagic):], sum[:])
	tmp, err := os.CreateTemp(filepath.Dir(path), "image-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails when it was renamed
	_, err = tmp.Write(file)
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// errDamaged says that a file is not what was saved.
var errDamaged = errors.New("the image file is damaged")

// readImage reads what save wrote. Returns fs.ErrNotExist, or errDamaged, and then the file is gone.
func readImage(path string) (*image, error) {
	im, err := decodeImage(path)
	if errors.Is(err, errDamaged) {
		if rerr := os.Remove(path); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return im, err
}

func decodeImage(path string) (*image, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.Size() > maxImageFile {
		return nil, fmt.Errorf("%w: it has %d bytes", errDamaged, info.Size())
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rest, ok := bytes.CutPrefix(file, []byte(imageMagic))
	if !ok || len(rest) < sha256.Size || sha256.Sum256(rest[sha256.Size:]) != [sha256.Size]byte(rest) {
		return nil, fmt.Errorf("%w: its checksum is wrong", errDamaged)
	}
	im := &image{}
	if err := gob.NewDecoder(bytes.NewReader(rest[sha256.Size:])).Decode(im); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	for _, r := range im.Runs {
		if uint64(r.Offset)+uint64(len(r.Bytes)) > im.Size || im.Size > modules.MaxMemoryPages*pageBytes {
			return nil, fmt.Errorf("%w: it does not fit into its memory", errDamaged)
		}
	}
	return im, nil
}
