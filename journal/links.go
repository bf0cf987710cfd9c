package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"reprise/abi"
)

// ChildID is the id of the run that a run starts by its handle: the same however often it is started. at is the time of
// the request.
func ChildID(parent RunID, op int32, at time.Time) RunID {
	return derived(at, "child", parent, op)
}

// SuccessorID is the id of the run that goes on for a run from a time on.
func SuccessorID(r RunID, at time.Time) RunID { return derived(at, "successor", r, NoOp) }

// derived makes an id in the form of NewRunID that follows from another.
func derived(at time.Time, word string, r RunID, op int32) (id RunID) {
	h := sha256.New()
	h.Write([]byte(word))
	h.Write(r[:])
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(op)))
	copy(id[:], h.Sum(nil))
	ms := uint64(at.UnixMilli())
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}

// Linked says that a batch writes more than its own run.
func (b Batch) Linked() bool {
	return len(b.Children)+len(b.Cancels) > 0 || b.Next != nil && (b.Next.Successor != nil || b.Next.Parent)
}

// Outcome is what the end of a run in state s is to its parent.
func Outcome(s State) abi.Status {
	switch s {
	case Completed:
		return abi.OK
	case Cancelled:
		return abi.Cancelled
	case TimedOut:
		return abi.TimedOut
	}
	return abi.Failed
}
