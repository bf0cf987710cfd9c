package host

import (
	"testing"
	"testing/synctest"
	"time"

	"reprise/journal"
	"reprise/tenant"
)

// TestBegunIsTrustedForAMoment: a run that began here and ended on another node must not keep who asks for its result
// waiting for a look at the store.
func TestBegunIsTrustedForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := newBroadcast(), journal.NewRunID()
		open := func(owner tenant.ID) bool {
			_, forget, open := b.listen(owner, id, time.Second)
			forget()
			return open
		}
		if open("acme") {
			t.Error("a run of which nothing is known counts as open")
		}
		b.begin("acme", id)
		if !open("acme") || open("other") {
			t.Errorf("a run that has just begun: got open %v for its owner and %v for another, want true and false", open("acme"), open("other"))
		}
		time.Sleep(time.Second)
		if open("acme") {
			t.Error("a run that began a second ago still counts as open")
		}
		b.begin("acme", id)
		b.tell(id, nil)
		if open("acme") {
			t.Error("a run that has ended here counts as open")
		}
	})
}

// TestOnlyItsTenantLearnsHowARunEnded: who waits for an id of another tenant's gets nothing but the word to look, as for an id
// that does not exist.
func TestOnlyItsTenantLearnsHowARunEnded(t *testing.T) {
	b, id := newBroadcast(), journal.NewRunID()
	own, _, _ := b.listen("acme", id, time.Second)
	others, _, _ := b.listen("other", id, time.Second)
	b.tell(id, &journal.Run{ID: id, Tenant: "acme", Output: []byte("secret")})
	if r, known := <-own; !known || string(r.Output) != "secret" {
		t.Errorf("its tenant: got %q, known %v", r.Output, known)
	}
	if r, known := <-others; known || r.Output != nil {
		t.Errorf("another tenant: got %q, known %v, want nothing", r.Output, known)
	}
}
