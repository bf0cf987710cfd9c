package attack

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reprise/modules"
)

// bodyTimeout is short here; the host's own is a minute.
const bodyTimeout = 500 * time.Millisecond

// uploadAttacks are about how a module is sent.
func uploadAttacks() []attack {
	return []attack{
		{number: 17, what: "a module of 8 MiB and a byte: 413 before a byte of it is read when its length is announced, and after 8 MiB when it is not",
			bounds: decoding, run: tooLargeBody},
		{number: 18, what: "a chunked body that never ends, a byte at a time: 408 when the body's time is over, however lively it is",
			bounds: decoding, setup: func(c *config) { c.api.BodyTimeout = bodyTimeout }, run: endlessBody},
		{number: 19, what: "a compressed body, 100 KB that become 100 MB: 415, not decompressed", bounds: decoding, run: compressedBody},
		{number: 31, what: "the same module a hundred times at once: all are answered with success, and there is one module and one step of its name",
			run: sameUploads},
		{number: 32, what: "another digest in the request than the bytes have: 409, nothing kept", bounds: decoding, run: wrongDigest},
		{number: 36, what: "a multipart body whose file name leads out of a folder: 415, no file anywhere", bounds: decoding, run: multipartName},
	}
}

func tooLargeBody(v *victim) {
	// Announced: the answer comes although no byte of the body does.
	silent, write := io.Pipe()
	defer write.Close()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPut, v.url+modulePath("large"), silent)
	v.check("make a request", err)
	req.ContentLength = modules.MaxSize + 1
	req.Header.Set("Content-Type", "application/wasm")
	req.Header.Set("Authorization", "Bearer "+token(ann))
	resp, err := v.client.Do(req)
	v.check("announce a large body", err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		v.errorf("announced: got %d, want 413", resp.StatusCode)
	}
	// Not announced: the host stops to read soon behind the bound. What stands in the buffers of the connection is the kernel's.
	endless := &zeros{}
	a, err := v.call(ann, http.MethodPut, modulePath("large"), wasmType, endless)
	if err == nil {
		v.refusal("endless", a, "body_too_large")
	}
	const buffers = 16 << 20
	if n := endless.read.Load(); n > modules.MaxSize+buffers {
		v.errorf("endless: %d bytes were taken, want no more than %d and buffers", n, modules.MaxSize)
	}
	// In one piece, as a client would send it that does not announce.
	if a, err := v.call(ann, http.MethodPut, modulePath("large"), wasmType, io.LimitReader(&zeros{}, modules.MaxSize+1)); err == nil {
		v.refusal("8 MiB and a byte", a, "body_too_large")
	}
	if n := v.modules(ann); n != 0 {
		v.errorf("ann has %d modules, want none", n)
	}
}

// zeros never ends, and counts.
type zeros struct{ read atomic.Int64 }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.read.Add(int64(len(p)))
	return len(p), nil
}

func endlessBody(v *victim) {
	addr := strings.TrimPrefix(v.url, "http://")
	conns := make([]net.Conn, 20)
	for i := range conns { // many at once, each of which a server would have to remember
		c, err := net.Dial("tcp", addr)
		v.check("dial", err)
		conns[i] = c
		_, err = io.WriteString(c, "PUT /v1/modules/drip HTTP/1.1\r\nHost: "+addr+"\r\nAuthorization: Bearer "+token(ann)+
			"\r\nContent-Type: application/wasm\r\nTransfer-Encoding: chunked\r\n\r\n")
		v.check("send a head", err)
	}
	var all sync.WaitGroup
	for _, c := range conns {
		stopped := make(chan struct{})
		all.Go(func() { // a chunk of one byte every now and then, until the host has had enough
			for {
				if _, err := io.WriteString(c, "1\r\n\x00\r\n"); err != nil {
					return
				}
				select {
				case <-stopped:
					return
				case <-time.After(bodyTimeout / 20):
				}
			}
		})
		all.Go(func() {
			defer close(stopped)
			b, err := io.ReadAll(c) // the host closes the connection
			if !strings.HasPrefix(string(b), "HTTP/1.1 408 ") || !strings.Contains(string(b), "body_timeout") {
				v.errorf("got %.300q, %v; want 408 body_timeout", b, err)
			}
		})
	}
	v.alive("while bodies drip")
	all.Wait()
	for _, c := range conns {
		c.Close()
	}
}

func compressedBody(v *victim) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, err := io.CopyN(w, &zeros{}, 100<<20)
	v.check("compress", err)
	v.check("compress", w.Close())
	for _, encoding := range []string{"gzip", "deflate", "br", "gzip, identity"} {
		header := wasmType.Clone()
		header.Set("Content-Encoding", encoding)
		a, err := v.call(ann, http.MethodPut, modulePath("bomb"), header, bytes.NewReader(bomb.Bytes()))
		v.check("upload", err)
		v.refusal(encoding, a, "unsupported_encoding")
	}
	// Unannounced it is what it is: no module.
	v.refused("a gzip file", bomb.Bytes(), "not_wasm")
}

func sameUploads(v *victim) {
	const times = 100
	m := fixture("echo")
	var created, same atomic.Int32
	var all sync.WaitGroup
	for range times {
		all.Go(func() {
			switch a := v.push(ann, "echo", m); a.status {
			case http.StatusCreated:
				created.Add(1)
			case http.StatusOK:
				same.Add(1)
			default:
				v.errorf("got %d %s", a.status, a.body)
			}
		})
	}
	all.Wait()
	if created.Load() != 1 || same.Load() != times-1 {
		v.errorf("got 201 %d times and 200 %d times, want once and %d", created.Load(), same.Load(), times-1)
	}
	view, err := v.host.Module(context.Background(), ann, "echo")
	v.check("show the module", err)
	if n := v.modules(ann); n != 1 || len(view.History) != 1 {
		v.errorf("got %d modules and %d steps of the name, want one each", n, len(view.History))
	}
}

func wrongDigest(v *victim) {
	for what, d := range map[string]string{
		"another module's": string(modules.DigestOf(fixture("steps"))),
		"of nothing":       string(modules.DigestOf(nil)),
	} {
		a, err := v.call(ann, http.MethodPut, modulePath("echo")+"?digest="+d, wasmType, bytes.NewReader(fixture("echo")))
		v.check("upload", err)
		v.refusal(what, a, "digest_mismatch")
		if a.status != http.StatusConflict {
			v.errorf("%s: got %d, want 409", what, a.status)
		}
	}
	for _, d := range []string{"sha256:xyz", "md5:0", strings.Repeat("a", 5000)} {
		a, err := v.call(ann, http.MethodPut, modulePath("echo")+"?digest="+d, wasmType, bytes.NewReader(fixture("echo")))
		v.check("upload", err)
		v.refusal("no digest", a, "invalid_digest", "invalid_name")
	}
	if n := v.modules(ann); n != 0 {
		v.errorf("ann has %d modules, want none", n)
	}
}

func multipartName(v *victim) {
	before := v.files()
	for _, name := range []string{"../../../../tmp/reprise-attack.wasm", "/tmp/reprise-attack.wasm", `..\..\x.wasm`, "x.wasm"} {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		part, err := w.CreateFormFile("module", name)
		v.check("make a part", err)
		_, err = part.Write(fixture("echo"))
		v.check("make a part", err)
		v.check("make a body", w.Close())
		for _, path := range []string{"/v1/modules", modulePath("up")} {
			method := http.MethodPut
			if path == "/v1/modules" {
				method = http.MethodPost
			}
			a, err := v.call(ann, method, path, http.Header{"Content-Type": {w.FormDataContentType()}}, bytes.NewReader(b.Bytes()))
			v.check("upload", err)
			v.refusal(name, a, "unsupported_media_type")
		}
	}
	v.noNewFiles(before)
	if n := v.modules(ann); n != 0 {
		v.errorf("ann has %d modules, want none", n)
	}
}

// files lists what stands in the host's folder and where a name could lead, the compile cache left out.
func (v *victim) files() []string {
	var found []string
	for _, dir := range []string{v.dir, filepath.Dir(v.dir), os.TempDir(), "."} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && path != dir {
				return fs.SkipDir
			}
			if err == nil {
				found = append(found, path)
			}
			return nil
		})
		v.check("list files", err)
	}
	return found
}

func (v *victim) noNewFiles(before []string) {
	for _, path := range v.files() {
		if !slices.Contains(before, path) {
			v.errorf("there is a new file %s", path)
		}
	}
	if _, err := os.Stat("/tmp/reprise-attack.wasm"); err == nil {
		v.errorf("there is a file where the name led")
	}
}
