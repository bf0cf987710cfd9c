package faultnet

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"
)

// link is one connection of a client with its connection to the server.
type link struct {
	p    *Proxy
	ends [2]*net.TCPConn // by Side
	once sync.Once
	gone chan struct{} // closed by reset
}

func (l *link) reset() {
	l.once.Do(func() {
		close(l.gone)
		abort(l.ends[Client])
		abort(l.ends[Server])
	})
}

// carry forwards what one side sends, until it ends or the link is gone.
func (l *link) carry(from Side) {
	to := l.ends[1-from]
	r := &reader{r: bufio.NewReader(l.ends[from]), untyped: from == Client}
	for {
		m, err := r.next()
		if err != nil {
			if l.wait(from) && err == io.EOF {
				_ = to.CloseWrite()
				return
			}
			l.reset()
			return
		}
		if m.asksForTLS() {
			_, _ = l.ends[from].Write([]byte{'N'}) // no: what is encrypted has no messages to count
			continue
		}
		if m.begins() {
			r.untyped = false
		}
		if !l.wait(from) {
			return
		}
		switch l.p.judge(l, from, m) {
		case forward:
			if _, err := to.Write(m.bytes); err != nil {
				l.reset()
				return
			}
		case cut:
			l.reset()
			return
		}
	}
}

// wait returns when messages of a side may pass, false when the link is gone.
func (l *link) wait(from Side) bool {
	for {
		l.p.mu.Lock()
		held, changed, delay := l.p.held[from], l.p.changed, l.p.delay
		l.p.mu.Unlock()
		if !held && delay == 0 {
			return true
		}
		var late <-chan time.Time
		if !held {
			late, changed = time.After(delay), nil
		}
		select {
		case <-late:
			return true
		case <-changed:
		case <-l.gone:
			return false
		}
	}
}

// message is one message as it is sent. The first ones of a client have no type.
type message struct {
	kind  byte // 0 without a type
	bytes []byte
}

// Codes of messages without a type.
const (
	startupCode = 196608 // protocol 3.0
	tlsCode     = 80877103
	gssCode     = 80877104
)

func (m message) code() uint32 {
	if m.kind != 0 || len(m.bytes) < 8 {
		return 0
	}
	return binary.BigEndian.Uint32(m.bytes[4:])
}

func (m message) asksForTLS() bool { c := m.code(); return c == tlsCode || c == gssCode }

// begins says that messages with a type follow. A later minor version of the protocol begins too.
func (m message) begins() bool { return m.code()>>16 == startupCode>>16 }

// reader cuts a stream into messages: a type, unless untyped, a length that counts itself, and the rest.
type reader struct {
	r       *bufio.Reader
	untyped bool
}

func (r *reader) next() (message, error) {
	var m message
	head := make([]byte, 5)
	if r.untyped {
		head = head[:4]
	}
	if _, err := io.ReadFull(r.r, head); err != nil {
		return m, err
	}
	if !r.untyped {
		m.kind = head[0]
	}
	size := int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
	if size < 0 || size > 1<<30 {
		return m, io.ErrUnexpectedEOF // it is not this protocol
	}
	m.bytes = append(head, make([]byte, size)...)
	_, err := io.ReadFull(r.r, m.bytes[len(head):])
	return m, err
}
