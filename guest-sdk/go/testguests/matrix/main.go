// Command matrix passes every durable step of a host once, against a shop at the URL in its input: an
// effect that fails at first and is retried after a suspension, an activity, a published value, a short sleep, a
// signal, and three effects at once whose answers come in a fixed order. A cancelled run undoes its booking.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"reprise/guest-sdk/go"
)

func init() {
	reprise.Workflow("matrix", Matrix)
	reprise.Workflow("cancelled", Cancelled)
}

// In is the input: the shop's base URL.
type In struct {
	Shop string `json:"shop"`
}

// Out is the result: the bookings in the order of the program.
type Out struct {
	Bookings string `json:"bookings"`
	Slept    string `json:"slept"`
	Signal   string `json:"signal"`
}

type booking struct {
	Booking string `json:"booking"`
}

// The long wait between attempts suspends the run; the short one is held in memory.
var (
	long  = &reprise.Retry{Attempts: 20, Backoff: 150 * time.Millisecond, Factor: 1}
	short = &reprise.Retry{Attempts: 20, Backoff: 10 * time.Millisecond, Factor: 1}
)

func book(ctx context.Context, shop, what string, retry *reprise.Retry) (string, error) {
	resp, err := reprise.HTTP(ctx, reprise.Request{URL: shop + "/book/" + what, JSON: struct{}{}, Retry: retry})
	if err != nil {
		return "", err
	}
	if err := resp.Err(); err != nil {
		return "", err
	}
	var b booking
	err = resp.Decode(&b)
	return b.Booking, err
}

// Charge books inside an activity.
var Charge = reprise.NewActivity("charge", func(ctx context.Context, in In) (string, error) {
	return book(ctx, in.Shop, "charge", long)
}, reprise.ActivityOptions{Retry: long})

// Matrix is the program of which every step is crashed.
func Matrix(ctx context.Context, in In) (Out, error) {
	var out Out
	flaky, err := book(ctx, in.Shop, "flaky", long)
	if err != nil {
		return out, fmt.Errorf("flaky: %w", err)
	}
	charge, err := Charge.Do(ctx, in)
	if err != nil {
		return out, fmt.Errorf("charge: %w", err)
	}
	reprise.Publish("stage", "sleeping")
	start := time.Now()
	time.Sleep(300 * time.Millisecond)
	if time.Since(start) >= 300*time.Millisecond {
		out.Slept = "enough"
	}
	if out.Signal, err = reprise.Signal[string](ctx, "go"); err != nil {
		return out, fmt.Errorf("signal: %w", err)
	}
	reprise.Publish("stage", "shipping")
	ships, errs := make([]string, 3), make([]error, 3)
	var wg sync.WaitGroup
	for i := range ships {
		wg.Go(func() { ships[i], errs[i] = book(ctx, in.Shop, fmt.Sprintf("ship%d", i), long) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return out, err
	}
	out.Bookings = strings.Join(append([]string{flaky, charge}, ships...), " ")
	return out, nil
}

// Cancelled books, waits to be cancelled, and undoes.
func Cancelled(ctx context.Context, in In) (Out, error) {
	if _, err := book(ctx, in.Shop, "reserve", short); err != nil {
		return Out{}, err
	}
	<-ctx.Done()
	_, err := book(context.WithoutCancel(ctx), in.Shop, "release", short)
	return Out{}, errors.Join(ctx.Err(), err)
}

func main() { reprise.Main() }
