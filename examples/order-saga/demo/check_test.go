package main

import (
	"strings"
	"testing"
)

func good() ledger {
	return ledger{Requests: map[string]int{"charge": 2}, Lines: []line{
		{ID: "r", Step: "reserve", Key: "1", Order: "o"},
		{ID: "c", Step: "charge", Key: "2", Order: "o", Amount: 5},
		{ID: "s", Step: "ship", Key: "3", Order: "o", Item: "book"},
	}}
}

func TestCheck(t *testing.T) {
	order := theOrder{ID: "o", Amount: 5, Items: []string{"book"}}
	for _, tc := range []struct {
		name   string
		change func(*ledger)
		want   string // part of the error; "" for none
	}{
		{"good", func(*ledger) {}, ""},
		{"missing", func(l *ledger) { l.Lines = l.Lines[:2] }, "ship book 0 times"},
		{"twice", func(l *ledger) { l.Lines = append(l.Lines, l.Lines[1]) }, "charge  2 times"},
		{"wrong amount", func(l *ledger) { l.Lines[1].Amount = 6 }, "unexpected line: charge"},
		{"compensated", func(l *ledger) { l.Lines = append(l.Lines, line{Step: "refund", Order: "o"}) }, "unexpected line: refund"},
		{"not killed in flight", func(l *ledger) { l.Requests["charge"] = 1 }, "was not killed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := good()
			tc.change(&l)
			err := l.check(order)
			if (tc.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestCheckReceipt(t *testing.T) {
	order := theOrder{ID: "o", Amount: 5, Items: []string{"book"}}
	for result, ok := range map[string]bool{
		`{"order":"o","reservation":"r","charge":"c","parcels":["s"]}`: true,
		`{"order":"o","reservation":"r","charge":"x","parcels":["s"]}`: false,
		`{"order":"o","reservation":"r","charge":"c","parcels":[]}`:    false,
		`{"order":"o","reservation":"r","charge":"c","parcels":["c"]}`: false,
		`no JSON`: false,
	} {
		if err := checkReceipt([]byte(result), order, good()); (err == nil) != ok {
			t.Errorf("%s: got %v, want ok %t", result, err, ok)
		}
	}
}
