package api

import (
	"fmt"
	"net/http"
	"strings"
)

// ErrorsDoc is docs/ERRORS.md: a section for each code, whose heading is its anchor.
func ErrorsDoc() []byte {
	var b strings.Builder
	b.WriteString(`# Errors

Every error of the API is a problem (RFC 9457, ` + "`application/problem+json`" + `). Decide by ` + "`code`" + `; ` + "`detail`" + ` and
` + "`where`" + ` are for people and may change. ` + "`retryable`" + ` says that the same request may succeed later, unchanged; 429 and
503 carry Retry-After. An error of the host itself has a ` + "`request_id`" + ` and no details: they are in the host's log.

` + "```json" + `
{"type":"urn:reprise:error:run_not_found","title":"The tenant has no such run","status":404,"code":"run_not_found",
 "detail":"there is no run run_0192...","where":"run id","fix":"reprise run list shows the runs","retryable":false,"run_id":"run_0192..."}
` + "```" + `

A run's own failure is not an error of the API: its codes are the guest's, or those of docs/ABI.md. The CLI's exit
codes are in docs/CLI.md. This file is made from the table in host/api/codes.go.

| code | status | retryable |
|---|---|---|
`)
	for _, c := range Codes {
		fmt.Fprintf(&b, "| [%s](#%s) | %d %s | %s |\n", c.Code, c.Code, c.Status, http.StatusText(c.Status), yesNo(c.Retryable))
	}
	for _, c := range Codes {
		fmt.Fprintf(&b, "\n## %s\n\n%s. Status %d.\n", c.Code, c.Title, c.Status)
		if c.Fix != "" {
			fmt.Fprintf(&b, "\nWhat to do: %s.\n", c.Fix)
		}
	}
	return []byte(b.String())
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
