// Command workflow is an order, from reservation to parcels, as a saga: what was done is undone in
// reverse order when a later step fails or the run is cancelled.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"reprise/guest-sdk/go"
)

// Order is the input.
type Order struct {
	ID     string   `json:"id"`
	Shop   string   `json:"shop"` // base URL of the shop's service
	Amount int64    `json:"amount_cents"`
	Items  []string `json:"items"` // one parcel each
}

// Receipt is the result.
type Receipt struct {
	Order       string   `json:"order"`
	Reservation string   `json:"reservation"`
	Charge      string   `json:"charge"`
	Parcels     []string `json:"parcels"`
}

// Go is the payload of the signal ship: somebody at the warehouse says that parcels may leave.
type Go struct {
	Carrier string `json:"carrier"`
}

func init() { reprise.Workflow("order-saga", OrderSaga) }

// OrderSaga reserves the items, charges the card, waits for the signal ship, and sends all parcels at
// once.
func OrderSaga(ctx context.Context, o Order) (receipt Receipt, err error) {
	var undo compensations
	defer func() {
		if err != nil {
			undo.run(ctx)
		}
	}()
	shop := shop{o.Shop}
	receipt.Order = o.ID

	if receipt.Reservation, err = shop.post(ctx, "reserve", booking{Order: o.ID}); err != nil {
		return receipt, fmt.Errorf("reserve: %w", err)
	}
	undo.add("release", func(ctx context.Context) error {
		_, err := shop.post(ctx, "release", booking{Order: o.ID})
		return err
	})

	reprise.Publish("stage", "charging")
	undo.add("refund", func(ctx context.Context) error { // before the charge: one that got no answer may have happened
		_, err := shop.post(ctx, "refund", booking{Order: o.ID, Amount: o.Amount})
		return err
	})
	if receipt.Charge, err = Charge.Do(ctx, ChargeIn{Shop: o.Shop, Order: o.ID, Amount: o.Amount}); err != nil {
		return receipt, fmt.Errorf("charge: %w", err)
	}

	reprise.Publish("stage", "waiting for ship")
	release, err := reprise.Signal[Go](ctx, "ship")
	if err != nil {
		return receipt, fmt.Errorf("wait for ship: %w", err)
	}

	reprise.Publish("stage", "shipping")
	receipt.Parcels, err = ship(ctx, shop, o, release.Carrier)
	return receipt, err
}

// ship sends every parcel at the same time, in ordinary goroutines.
func ship(ctx context.Context, shop shop, o Order, carrier string) ([]string, error) {
	parcels, errs := make([]string, len(o.Items)), make([]error, len(o.Items))
	var wg sync.WaitGroup
	for i, item := range o.Items {
		wg.Go(func() {
			parcels[i], errs[i] = shop.post(ctx, "ship", booking{Order: o.ID, Item: item, Carrier: carrier})
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("ship %s: %w", o.Items[i], err)
		}
	}
	return parcels, nil
}

// compensations are the steps that undo what was done.
type compensations []struct {
	name string
	do   func(context.Context) error
}

func (c *compensations) add(name string, do func(context.Context) error) {
	*c = append(*c, struct {
		name string
		do   func(context.Context) error
	}{name, do})
}

// run undoes in reverse order. It goes on when the run is cancelled, and past a step that fails.
func (c compensations) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
	defer cancel()
	for i := len(c) - 1; i >= 0; i-- {
		if err := c[i].do(ctx); err != nil {
			reprise.Logger().Error("compensation failed", "step", c[i].name, "error", err)
		}
	}
}

func main() { reprise.Main() }
