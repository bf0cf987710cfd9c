package faultnet

import "bytes"

// Fault breaks one connection at one message of one exchange. An exchange begins with a message of the
// client and ends with the server's ReadyForQuery.
type Fault struct {
	// Begin is in the message of the client with which the first exchange begins, say a part of a statement.
	// Default: any message.
	Begin string
	// Exchanges is how many exchanges in a row belong to it: a statement that is prepared first takes two.
	// Default 1.
	Exchanges int
	// From and At say where: both sides are reset instead of forwarding the At-th message of that side, from 1.
	From Side
	At   int
	// Eat loses the answer instead: the messages of the last exchange reach the server, and when it has
	// answered them all, so that whatever they do is done, both sides are reset and the answer is dropped.
	Eat bool
}

// armed is a fault that waits or has happened.
type armed struct {
	Fault
	link  *link // on which its first exchange began
	count int   // messages of From
	ended int   // exchanges
	fired bool
	over  bool // fired, or its exchanges passed without
}

// Arm sets the fault, in place of an earlier one.
func (p *Proxy) Arm(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.Exchanges = max(f.Exchanges, 1)
	p.fault = &armed{Fault: f}
}

// Fired says whether the last fault has happened. When its exchanges had fewer messages it never does.
func (p *Proxy) Fired() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault != nil && p.fault.fired
}

// verdict is what becomes of a message.
type verdict int

const (
	forward verdict = iota
	drop
	cut // the link
)

// readyForQuery is the type of the message that ends an exchange.
const readyForQuery = 'Z'

func (p *Proxy) judge(l *link, from Side, m message) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.fault
	if a == nil || a.over || a.link != nil && a.link != l {
		return forward
	}
	if a.link == nil {
		if from != Client || m.kind == 0 || !bytes.Contains(m.bytes, []byte(a.Begin)) {
			return forward
		}
		a.link = l
	}
	if !a.Eat && from == a.From {
		if a.count++; a.count == a.At {
			a.fired, a.over = true, true
			return cut
		}
	}
	eats := a.Eat && from == Server && a.ended == a.Exchanges-1
	if from == Server && m.kind == readyForQuery {
		if a.ended++; a.ended == a.Exchanges {
			a.over, a.fired = true, eats
			if eats {
				return cut
			}
		}
	}
	if eats {
		return drop
	}
	return forward
}
