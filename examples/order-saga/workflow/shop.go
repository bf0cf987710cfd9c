package main

import (
	"context"
	"time"

	"reprise/guest-sdk/go"
)

// shop speaks to the shop's service at a base URL.
type shop struct{ url string }

// booking is the body of every request to the shop.
type booking struct {
	Order   string `json:"order"`
	Amount  int64  `json:"amount_cents,omitempty"`
	Item    string `json:"item,omitempty"`
	Carrier string `json:"carrier,omitempty"`
}

// post makes one booking and returns its id. The host attaches an Idempotency-Key that stays the same
// when the request is made again after a crash; the shop books each key once.
func (s shop) post(ctx context.Context, step string, b booking) (string, error) {
	resp, err := reprise.HTTP(ctx, reprise.Request{
		URL:     s.url + "/" + step,
		JSON:    b,
		Timeout: 20 * time.Second,
		Retry:   &reprise.Retry{Attempts: 10, Backoff: 200 * time.Millisecond, MaxBackoff: 10 * time.Second},
	})
	if err != nil {
		return "", err
	}
	if err := resp.Err(); err != nil {
		return "", err
	}
	var booked struct {
		ID string `json:"id"`
	}
	err = resp.Decode(&booked)
	return booked.ID, err
}

// ChargeIn is the input of the activity charge.
type ChargeIn struct {
	Shop   string `json:"shop"`
	Order  string `json:"order"`
	Amount int64  `json:"amount_cents"`
}

// Charge takes the money and returns the booking's id. It is an activity and not a request of the
// workflow itself, because it looks at the answer to decide whether another attempt makes sense. Each
// attempt begins at the start, and its requests carry the same Idempotency-Key as those of the attempt
// before.
var Charge = reprise.NewActivity("charge", func(ctx context.Context, in ChargeIn) (string, error) {
	resp, err := reprise.HTTP(ctx, reprise.Request{
		URL:  in.Shop + "/charge",
		JSON: booking{Order: in.Order, Amount: in.Amount},
	})
	if err != nil {
		return "", err
	}
	if resp.Status == 402 {
		return "", reprise.NonRetryable(reprise.Failf("declined", "the card of order %s was declined", in.Order))
	}
	if err := resp.Err(); err != nil {
		return "", err
	}
	var booked struct {
		ID string `json:"id"`
	}
	err = resp.Decode(&booked)
	return booked.ID, err
}, reprise.ActivityOptions{
	Timeout: 20 * time.Second,
	Retry:   &reprise.Retry{Attempts: 10, Backoff: 200 * time.Millisecond, MaxBackoff: 10 * time.Second, NonRetryable: []string{"declined"}},
})
