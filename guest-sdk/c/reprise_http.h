/*
 * HTTP by the host, for programs that include reprise.h: include this file after it, in the file with REPRISE_IMPLEMENTATION too.
 *
 *     rp_http_response answer;
 *     int rc = rp_http_get(rp_http((rp_http_request){.url = "https://api.example.org/v1/charges", .body = json}, NULL), &answer);
 *     if (rc == RP_OK)
 *         rc = rp_http_check(&answer);
 *
 * The host sends an Idempotency-Key, the same in every attempt. Which addresses can be reached is the operator's affair, and how
 * requests fail is in docs/EFFECTS.md.
 */
#ifndef REPRISE_HTTP_H
#define REPRISE_HTTP_H

#include "reprise.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
	const char *url;
	const char *method;         /* NULL: GET, or POST when there is a body */
	const char *const *headers; /* names and values in turn, ended by NULL; or NULL */
	rp_bytes body;              /* any bytes; NULL for none */
} rp_http_request;

typedef struct {
	int status;       /* also one of 400 or more, see rp_http_check */
	rp_bytes headers; /* a JSON object, names in lower case; a slice */
	rp_bytes body;    /* the caller's */
	rp_bytes outcome; /* the caller's, which headers lies in */
} rp_http_response;

rp_handle rp_http(rp_http_request request, const rp_options *options);
int rp_http_get(rp_handle handle, rp_http_response *response); /* as rp_get */
bool rp_http_read(rp_bytes outcome, rp_http_response *response); /* reads the outcome of http.request; whether it is one */
/* RP_OK for a status below 400; else RP_FAILED with code http_status, worth another attempt for 408 and 5xx only, and with the details
 * {"status", "body"}, of the body the first 4 KiB. */
int rp_http_check(const rp_http_response *response);
void rp_http_free(rp_http_response *response);

#ifdef __cplusplus
}
#endif
#endif

#if defined(REPRISE_IMPLEMENTATION) && !defined(REPRISE_HTTP_IMPLEMENTED)
#define REPRISE_HTTP_IMPLEMENTED

#ifdef __cplusplus
extern "C" {
#endif

static const char rp__base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void rp__json_base64(rp_json *w, rp_bytes b) {
	const unsigned char *p = (const unsigned char *)b.data;
	rp_json_string(w, rp_text(""));
	w->len--; /* the quote, which comes again at the end */
	for (size_t i = 0; i < b.len; i += 3) {
		size_t n = b.len - i < 3 ? b.len - i : 3;
		unsigned v = (unsigned)p[i] << 16 | (n > 1 ? (unsigned)p[i + 1] << 8 : 0) | (n > 2 ? p[i + 2] : 0u);
		char text[4] = {rp__base64[v >> 18], rp__base64[v >> 12 & 63], n > 1 ? rp__base64[v >> 6 & 63] : '=', n > 2 ? rp__base64[v & 63] : '='};
		rp__put(w, text, 4);
	}
	rp__put(w, "\"", 1);
}

/* The bytes of a JSON string in base64; nothing when it is none. */
static bool rp__from_base64(rp_bytes json, rp_bytes *bytes) {
	rp_bytes text;
	if (!rp_to_string(json, &text) || text.len % 4 != 0) {
		rp_free(text);
		bytes->data = NULL, bytes->len = 0;
		return false;
	}
	char *out = (char *)rp_alloc(text.len / 4 * 3 + 1);
	size_t n = 0;
	unsigned v = 0;
	bool is = true;
	for (size_t i = 0; i < text.len && text.data[i] != '='; i++) {
		const char *digit = (const char *)memchr(rp__base64, text.data[i], 64);
		is = is && digit != NULL;
		v = v << 6 | (unsigned)(digit ? digit - rp__base64 : 0);
		if (i % 4 > 0)
			out[n++] = (char)(v >> (6 - 2 * (i % 4)));
	}
	out[n] = 0;
	rp_free(text);
	bytes->data = out, bytes->len = n;
	return is;
}

static bool rp__is_text(rp_bytes b) {
	for (size_t i = 0, n; i < b.len; i += n)
		if ((n = rp__utf8((const unsigned char *)b.data + i, b.len - i)) == 0)
			return false;
	return true;
}

rp_handle rp_http(rp_http_request r, const rp_options *options) {
	rp_json w = {NULL, 0, 0};
	rp_json_object(&w);
	rp_json_key(&w, "method");
	rp_json_string(&w, rp_text(r.method ? r.method : r.body.data ? "POST" : "GET"));
	rp_json_key(&w, "url");
	rp_json_string(&w, rp_text(r.url));
	if (r.headers) {
		rp_json_key(&w, "headers");
		rp_json_object(&w);
		for (const char *const *h = r.headers; h[0] && h[1]; h += 2) {
			rp_json_key(&w, h[0]);
			rp_json_string(&w, rp_text(h[1]));
		}
		rp_json_end_object(&w);
	}
	if (r.body.data) {
		bool text = rp__is_text(r.body);
		rp_json_key(&w, text ? "body" : "body_base64");
		(text ? rp_json_string : rp__json_base64)(&w, r.body);
	}
	rp_json_end_object(&w);
	rp_bytes input = rp_json_done(&w);
	rp_handle h = rp_effect("http.request", input, options);
	rp_free(input);
	return h;
}

bool rp_http_read(rp_bytes outcome, rp_http_response *r) {
	int64_t status = 0;
	memset(r, 0, sizeof *r);
	bool is = rp_to_int(rp_field(outcome, "status"), &status);
	r->status = (int)status;
	r->headers = rp_field(outcome, "headers");
	rp_bytes packed = rp_field(outcome, "body_base64");
	if (packed.data)
		is = rp__from_base64(packed, &r->body) && is;
	else if (!rp_to_string(rp_field(outcome, "body"), &r->body))
		r->body = rp__copy(rp_text("")); /* there was none */
	return is;
}

int rp_http_get(rp_handle h, rp_http_response *r) {
	rp_bytes outcome;
	memset(r, 0, sizeof *r);
	int rc = rp_get(h, &outcome);
	if (rc != RP_OK)
		return rc;
	bool is = rp_http_read(outcome, r);
	r->outcome = outcome;
	return is ? RP_OK : rp_fail("invalid_output", "the outcome is no response");
}

int rp_http_check(const rp_http_response *r) {
	char message[64];
	if (r->status < 400)
		return RP_OK;
	snprintf(message, sizeof message, "the server answered with status %d", r->status);
	rp_bytes body = {r->body.data, r->body.len < 4096 ? r->body.len : 4096};
	rp_json w = {NULL, 0, 0};
	rp_json_object(&w);
	rp_json_key(&w, "status");
	rp_json_int(&w, r->status);
	rp_json_key(&w, "body");
	rp_json_string(&w, body);
	rp_json_end_object(&w);
	rp_failure f = {"http_status", message, r->status < 500 && r->status != 408 ? RP_NO_RETRY : RP_BY_POLICY, rp_json_done(&w)};
	rp_fail_with(f);
	rp_free(f.details);
	return RP_FAILED;
}

void rp_http_free(rp_http_response *r) {
	rp_free(r->body);
	rp_free(r->outcome);
	memset(r, 0, sizeof *r);
}

#ifdef __cplusplus
}
#endif
#endif
