package httpeffect

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"reprise/abi"
)

// Codes of the failures that a guest sees.
const (
	CodeDenied      = "egress_denied"      // the host, port or address is not allowed; terminal
	CodeInvalid     = "invalid_request"    // the input is wrong; terminal
	CodeTooLarge    = "response_too_large" // the body or headers are over the limit; terminal
	CodeTLS         = "tls_invalid"        // the server's certificate is not trusted; terminal
	CodeUnreachable = "http_unreachable"   // no connection, or one that broke; retried
	CodeTimeout     = "http_timeout"       // the exchange took too long; retried
	CodeStatus      = "http_status"        // 429, 502, 503 or 504; retried; details has status and body
)

func invalid(format string, args ...any) *abi.Failure {
	return abi.NewFailure(CodeInvalid, format, args...).Terminal()
}

func tooLarge(what string, limit int64) *abi.Failure {
	return abi.NewFailure(CodeTooLarge, "%s is larger than %d bytes", what, limit).Terminal()
}

// deniedError is a refusal of the rules, found before the request or at the dial.
type deniedError struct{ text string }

func (e *deniedError) Error() string { return e.text }

func denied(err error) *abi.Failure {
	return abi.NewFailure(CodeDenied, "%s", err).Terminal()
}

// retryStatus says which answers are the server's way of asking to come again.
func retryStatus(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func statusFailure(host string, status int, body []byte) *abi.Failure {
	f := abi.NewFailure(CodeStatus, "%.80q answered with status %d", host, status)
	text := strings.ToValidUTF8(string(body[:min(len(body), maxDetail)]), "\ufffd")
	f.Details, _ = json.Marshal(struct {
		Status int    `json:"status"`
		Body   string `json:"body"`
	}{status, text})
	return f
}

// failed tells the guest why an exchange broke off. The text names no address that the guest did not
// give: what a name resolves to inside the operator's network is not the guest's business.
func failed(ctx context.Context, host string, err error) error {
	var refused *deniedError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(err, &refused):
		return denied(refused)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return abi.NewFailure(CodeTimeout, "the exchange with %.80q took too long", host)
	case ctx.Err() != nil:
		return ctx.Err() // the host gave the attempt up; nobody reads the outcome
	case errors.As(err, &cert):
		return abi.NewFailure(CodeTLS, "the certificate of %.80q is not trusted: %.200s", host, cert.Err).Terminal()
	case strings.Contains(err.Error(), "server response headers exceeded"):
		return tooLarge("the response's header", maxHeader)
	}
	return abi.NewFailure(CodeUnreachable, "%.80q: %s", host, reason(err))
}

func reason(err error) string {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no such host"
	case errors.As(err, &dns):
		return "the name cannot be resolved now"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended before the response did"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "no route to the host"
	}
	return "the server does not speak HTTP as it should"
}
