package main

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ledger is what the shop says: how often each step was requested, and what it booked.
type ledger struct {
	Requests map[string]int `json:"requests"`
	Lines    []line         `json:"lines"`
}

// line is one booking.
type line struct {
	ID     string `json:"id"`
	Step   string `json:"step"`
	Key    string `json:"key"`
	Order  string `json:"order"`
	Item   string `json:"item"`
	Amount int64  `json:"amount_cents"`
}

func (l ledger) count(step string) int {
	n := 0
	for _, e := range l.Lines {
		if e.Step == step {
			n++
		}
	}
	return n
}

// check returns everything in which the ledger differs from one order that was carried out once and
// whose charge was requested again after the crash.
func (l ledger) check(o theOrder) error {
	want := map[line]int{{Step: "reserve", Order: o.ID}: 1, {Step: "charge", Order: o.ID, Amount: o.Amount}: 1}
	for _, item := range o.Items {
		want[line{Step: "ship", Order: o.ID, Item: item}] = 1
	}
	var errs []error
	got := map[line]int{}
	for _, e := range l.Lines {
		e.ID, e.Key = "", ""
		got[e]++
		if want[e] == 0 {
			errs = append(errs, fmt.Errorf("the ledger has an unexpected line: %s %s", e.Step, e.Item))
		}
	}
	for e := range want {
		if got[e] != 1 {
			errs = append(errs, fmt.Errorf("the ledger has %s %s %d times, want once", e.Step, e.Item, got[e]))
		}
	}
	if l.Requests["charge"] < 2 {
		errs = append(errs, fmt.Errorf("the charge was requested %d times: the host was not killed while it was in flight", l.Requests["charge"]))
	}
	return errors.Join(errs...)
}

// checkReceipt compares the run's result with the ledger.
func checkReceipt(result []byte, o theOrder, l ledger) error {
	var r struct {
		Order       string   `json:"order"`
		Reservation string   `json:"reservation"`
		Charge      string   `json:"charge"`
		Parcels     []string `json:"parcels"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return fmt.Errorf("the result %q is no receipt: %w", result, err)
	}
	want := map[string]string{}
	for _, e := range l.Lines {
		want[e.Step+e.Item] = e.ID
	}
	ok := r.Order == o.ID && r.Reservation == want["reserve"] && r.Charge == want["charge"] && len(r.Parcels) == len(o.Items)
	for i := 0; ok && i < len(r.Parcels); i++ {
		ok = r.Parcels[i] == want["ship"+o.Items[i]]
	}
	if !ok {
		return fmt.Errorf("the receipt %s does not name what the ledger has", result)
	}
	return nil
}
