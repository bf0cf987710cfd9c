/* The JSON of reprise.h, which includes this file; nothing else does. */
#ifndef REPRISE_JSON_H
#define REPRISE_JSON_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Writing JSON ---- */

/* A writer begins as {0}. It puts commas where they belong; the order of calls is the caller's affair. */
typedef struct {
	char *data;
	size_t len, cap;
} rp_json;

void rp_json_object(rp_json *w);
void rp_json_end_object(rp_json *w);
void rp_json_array(rp_json *w);
void rp_json_end_array(rp_json *w);
void rp_json_key(rp_json *w, const char *key);
void rp_json_int(rp_json *w, int64_t value);
void rp_json_uint(rp_json *w, uint64_t value);
void rp_json_double(rp_json *w, double value); /* the same number when read again; null for what is not finite */
void rp_json_bool(rp_json *w, bool value);
void rp_json_null(rp_json *w);
void rp_json_string(rp_json *w, rp_bytes text); /* UTF-8; other bytes become U+FFFD */
void rp_json_raw(rp_json *w, rp_bytes json);    /* one JSON value as it is; nothing becomes null */
rp_bytes rp_json_done(rp_json *w);              /* the caller's; the writer is empty again */
rp_bytes rp_int(int64_t value);                 /* an integer as JSON, not to be freed: good for the next 15 calls */

/* ---- Reading JSON: slices of it, {NULL, 0} for what is not there ---- */

bool rp_json_valid(rp_bytes json);                 /* one value, nested at most 256 deep */
rp_bytes rp_field(rp_bytes object, const char *key); /* the first member of that name */
rp_bytes rp_item(rp_bytes array, size_t i);
size_t rp_count(rp_bytes container); /* members or items; 0 for anything else */
/* Goes through a container: *at begins as 0; key is the member's name as JSON, nothing in an array, and may be NULL. */
bool rp_next(rp_bytes container, size_t *at, rp_bytes *key, rp_bytes *value);
/* They say whether the slice is one, and exactly so: an integer has no fraction and fits. */
bool rp_to_int(rp_bytes json, int64_t *value);
bool rp_to_uint(rp_bytes json, uint64_t *value);
bool rp_to_double(rp_bytes json, double *value);
bool rp_to_bool(rp_bytes json, bool *value);
bool rp_to_string(rp_bytes json, rp_bytes *text); /* the caller's; half a surrogate pair becomes U+FFFD */

#ifdef __cplusplus
}
#endif
#endif

#if defined(REPRISE_IMPLEMENTATION) && !defined(REPRISE_JSON_IMPLEMENTED)
#define REPRISE_JSON_IMPLEMENTED

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Writing JSON ---- */

static void rp__put(rp_json *w, const char *p, size_t n) {
	if (w->cap - w->len < n + 1) {
		size_t cap = 2 * w->cap + n + 32;
		char *bigger = (char *)rp_alloc(cap);
		if (w->len > 0)
			memcpy(bigger, w->data, w->len);
		free(w->data);
		w->data = bigger;
		w->cap = cap;
	}
	if (n > 0)
		memcpy(w->data + w->len, p, n);
	w->len += n;
	w->data[w->len] = 0;
}

/* A value or key needs a comma before it unless it is the first of something: then what is before it says so. */
static void rp__value(rp_json *w, const char *p, size_t n) {
	if (w->len > 0 && strchr("{[:", w->data[w->len - 1]) == NULL)
		rp__put(w, ",", 1);
	rp__put(w, p, n);
}

void rp_json_object(rp_json *w) { rp__value(w, "{", 1); }
void rp_json_end_object(rp_json *w) { rp__put(w, "}", 1); }
void rp_json_array(rp_json *w) { rp__value(w, "[", 1); }
void rp_json_end_array(rp_json *w) { rp__put(w, "]", 1); }
void rp_json_null(rp_json *w) { rp__value(w, "null", 4); }
void rp_json_bool(rp_json *w, bool v) { rp__value(w, v ? "true" : "false", v ? 4 : 5); }

void rp_json_raw(rp_json *w, rp_bytes json) {
	if (json.len == 0)
		rp_json_null(w);
	else
		rp__value(w, json.data, json.len);
}

/* Writes v in decimal before end and returns where it begins. */
static char *rp__digits(char *end, uint64_t v) {
	do
		*--end = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	return end;
}

static char *rp__signed(char *end, int64_t v) {
	char *p = rp__digits(end, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
	if (v < 0)
		*--p = '-';
	return p;
}

void rp_json_uint(rp_json *w, uint64_t v) {
	char text[24], *end = text + sizeof text, *p = rp__digits(end, v);
	rp__value(w, p, (size_t)(end - p));
}

void rp_json_int(rp_json *w, int64_t v) {
	char text[24], *end = text + sizeof text, *p = rp__signed(end, v);
	rp__value(w, p, (size_t)(end - p));
}

rp_bytes rp_int(int64_t v) {
	static char ring[16][24];
	static unsigned next;
	char *end = ring[next++ % 16] + 23, *p = rp__signed(end, v);
	*end = 0;
	rp_bytes b = {p, (size_t)(end - p)};
	return b;
}

void rp_json_double(rp_json *w, double v) {
	char text[40];
	if (v - v != 0) {
		rp_json_null(w);
		return;
	}
	int n = snprintf(text, sizeof text, "%.15g", v);
	if (strtod(text, NULL) != v)
		n = snprintf(text, sizeof text, "%.17g", v);
	rp__value(w, text, (size_t)n);
}

/* The length of the UTF-8 sequence at p, 0 when it is none. */
static size_t rp__utf8(const unsigned char *p, size_t n) {
	size_t len = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
	if (len == 0 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if (p[i] >> 6 != 2)
			return 0;
	bool wrong = (len == 2 && p[0] < 0xc2) || (len == 3 && p[0] == 0xe0 && p[1] < 0xa0) || (len == 3 && p[0] == 0xed && p[1] > 0x9f) ||
	             (len == 4 && p[0] == 0xf0 && p[1] < 0x90) || (len == 4 && (p[0] > 0xf4 || (p[0] == 0xf4 && p[1] > 0x8f)));
	return wrong ? 0 : len;
}

static void rp__escape(rp_json *w, unsigned char c) {
	static const char hex[] = "0123456789abcdef", from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
	const char *known = c ? strchr(from, c) : NULL;
	char text[6] = {'\\', known ? to[known - from] : 'u', '0', '0', hex[c >> 4], hex[c & 15]};
	rp__put(w, text, known ? 2 : 6);
}

void rp_json_string(rp_json *w, rp_bytes text) {
	const unsigned char *p = (const unsigned char *)text.data;
	size_t i = 0, plain = 0; /* from plain on, nothing is written yet */
	rp__value(w, "\"", 1);
	while (i < text.len) {
		size_t n = rp__utf8(p + i, text.len - i);
		if (n > 1 || (n == 1 && p[i] >= 0x20 && p[i] != '"' && p[i] != '\\')) {
			i += n;
			continue;
		}
		rp__put(w, text.data + plain, i - plain);
		if (n == 0)
			rp__put(w, "\xef\xbf\xbd", 3);
		else
			rp__escape(w, p[i]);
		plain = ++i;
	}
	rp__put(w, text.data + plain, i - plain);
	rp__put(w, "\"", 1);
}

void rp_json_key(rp_json *w, const char *key) {
	rp_json_string(w, rp_text(key));
	rp__put(w, ":", 1);
}

rp_bytes rp_json_done(rp_json *w) {
	rp__put(w, "", 0);
	rp_bytes b = {w->data, w->len};
	memset(w, 0, sizeof *w);
	return b;
}

/* ---- Reading JSON ---- */

static const char *rp__space(const char *p, const char *end) {
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

static bool rp__digit(const char *p, const char *end) { return p < end && *p >= '0' && *p <= '9'; }

static int rp__hex4(const char *p, const char *end) {
	int v = 0;
	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = p[i];
		int d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
		if (d < 0)
			return -1;
		v = v * 16 + d;
	}
	return v;
}

/* The end of the string that begins at p with its quote; NULL when it is none. */
static const char *rp__string(const char *p, const char *end) {
	if (p >= end || *p++ != '"')
		return NULL;
	while (p < end && *p != '"') {
		if (*p == '\\') {
			if (end - p < 2 || (p[1] == 'u' ? rp__hex4(p + 2, end) < 0 : p[1] == 0 || strchr("\"\\/bfnrt", p[1]) == NULL))
				return NULL;
			p += p[1] == 'u' ? 6 : 2;
			continue;
		}
		size_t n = rp__utf8((const unsigned char *)p, (size_t)(end - p));
		if (n == 0 || (unsigned char)*p < 0x20)
			return NULL;
		p += n;
	}
	return p < end ? p + 1 : NULL;
}

static const char *rp__number(const char *p, const char *end) {
	if (p < end && *p == '-')
		p++;
	if (!rp__digit(p, end))
		return NULL;
	if (*p++ != '0')
		while (rp__digit(p, end))
			p++;
	if (p < end && *p == '.') {
		if (!rp__digit(++p, end))
			return NULL;
		while (rp__digit(p, end))
			p++;
	}
	if (p < end && (*p | 32) == 'e') {
		if (++p < end && (*p == '+' || *p == '-'))
			p++;
		if (!rp__digit(p, end))
			return NULL;
		while (rp__digit(p, end))
			p++;
	}
	return p;
}

static const char *rp__skip(const char *p, const char *end, int depth);

/* One step through a container: *at goes from its bracket, or from behind the last item, to behind the next. false at its end,
 * and with *at NULL where it is not JSON. */
static bool rp__step(const char **at, const char *end, int depth, rp_bytes *key, rp_bytes *value, bool object) {
	const char *p = rp__space(*at + (**at == '{' || **at == '['), end);
	bool first = **at == '{' || **at == '[';
	*at = NULL;
	if (p < end && *p == (object ? '}' : ']')) {
		*at = p;
		return false;
	}
	if (!first) {
		if (p >= end || *p != ',')
			return false;
		p = rp__space(p + 1, end);
	}
	if (object) {
		const char *behind = rp__string(p, end);
		if (behind == NULL)
			return false;
		if (key)
			key->data = p, key->len = (size_t)(behind - p);
		p = rp__space(behind, end);
		if (p >= end || *p != ':')
			return false;
		p = rp__space(p + 1, end);
	}
	const char *behind = rp__skip(p, end, depth + 1);
	if (behind == NULL)
		return false;
	value->data = p, value->len = (size_t)(behind - p);
	*at = behind = rp__space(behind, end);
	if (behind >= end || (*behind != ',' && *behind != (object ? '}' : ']')))
		*at = NULL;
	return *at != NULL;
}

/* The end of the value that begins at p; NULL when there is none. */
static const char *rp__skip(const char *p, const char *end, int depth) {
	static const char *const words[] = {"true", "false", "null"};
	if (p >= end || depth > 256)
		return NULL;
	if (*p == '{' || *p == '[') {
		bool object = *p == '{';
		rp_bytes value;
		while (rp__step(&p, end, depth, NULL, &value, object)) {
		}
		return p ? p + 1 : NULL;
	}
	if (*p == '"')
		return rp__string(p, end);
	for (int i = 0; i < 3; i++)
		if ((size_t)(end - p) >= strlen(words[i]) && memcmp(p, words[i], strlen(words[i])) == 0)
			return p + strlen(words[i]);
	return rp__number(p, end);
}

/* The value without the space around it; nothing when it is not exactly one. */
static rp_bytes rp__trim(rp_bytes json) {
	rp_bytes none = {NULL, 0};
	if (json.data == NULL)
		return none;
	const char *end = json.data + json.len, *p = rp__space(json.data, end), *behind = rp__skip(p, end, 0);
	if (behind == NULL || rp__space(behind, end) != end)
		return none;
	rp_bytes b = {p, (size_t)(behind - p)};
	return b;
}

bool rp_json_valid(rp_bytes json) { return rp__trim(json).data != NULL; }

bool rp_next(rp_bytes c, size_t *at, rp_bytes *key, rp_bytes *value) {
	const char *end = c.data + c.len, *p = c.data ? rp__space(c.data, end) : end;
	if (p >= end || (*p != '{' && *p != '['))
		return false;
	bool object = *p == '{';
	rp_bytes none = {NULL, 0};
	if (key)
		*key = none;
	if (*at > 0)
		p = c.data + *at;
	if (!rp__step(&p, end, 0, key, value, object))
		return false;
	*at = (size_t)(p - c.data);
	return true;
}

static bool rp__named(rp_bytes json, const char *name) {
	size_t n = strlen(name);
	if (memchr(json.data, '\\', json.len) == NULL)
		return json.len == n + 2 && memcmp(json.data + 1, name, n) == 0;
	rp_bytes text;
	bool same = rp_to_string(json, &text) && text.len == n && memcmp(text.data, name, n) == 0;
	rp_free(text);
	return same;
}

rp_bytes rp_field(rp_bytes object, const char *key) {
	rp_bytes name, value, none = {NULL, 0};
	for (size_t at = 0; rp_next(object, &at, &name, &value);)
		if (name.data != NULL && rp__named(name, key))
			return value;
	return none;
}

rp_bytes rp_item(rp_bytes array, size_t i) {
	rp_bytes key, value, none = {NULL, 0};
	for (size_t at = 0; rp_next(array, &at, &key, &value) && key.data == NULL; i--)
		if (i == 0)
			return value;
	return none;
}

size_t rp_count(rp_bytes container) {
	size_t n = 0;
	rp_bytes value;
	for (size_t at = 0; rp_next(container, &at, NULL, &value);)
		n++;
	return n;
}

bool rp_to_uint(rp_bytes json, uint64_t *value) {
	rp_bytes b = rp__trim(json);
	uint64_t v = 0;
	for (size_t i = 0; i < b.len; i++) {
		unsigned d = (unsigned)(b.data[i] - '0');
		if (d > 9 || v > (UINT64_MAX - d) / 10)
			return false;
		v = v * 10 + d;
	}
	if (b.len > 0)
		*value = v;
	return b.len > 0;
}

bool rp_to_int(rp_bytes json, int64_t *value) {
	rp_bytes b = rp__trim(json);
	bool minus = b.len > 0 && b.data[0] == '-';
	uint64_t v;
	b.data += minus, b.len -= minus;
	if (!rp_to_uint(b, &v) || v > (uint64_t)INT64_MAX + minus)
		return false;
	*value = minus ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

bool rp_to_double(rp_bytes json, double *value) {
	rp_bytes b = rp__trim(json);
	if (b.len == 0 || (b.data[0] != '-' && !rp__digit(b.data, b.data + 1)))
		return false;
	char *text = (char *)memcpy(rp_alloc(b.len + 1), b.data, b.len);
	text[b.len] = 0; /* which strtod ends at */
	*value = strtod(text, NULL);
	free(text);
	return *value - *value == 0;
}

bool rp_to_bool(rp_bytes json, bool *value) {
	rp_bytes b = rp__trim(json);
	if (b.len == 0 || (b.data[0] != 't' && b.data[0] != 'f'))
		return false;
	*value = b.data[0] == 't';
	return true;
}

static char *rp__rune(char *to, unsigned c) {
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	*to++ = (char)((0xff00 >> (more + 1) & 0xff) | c >> 6 * more);
	while (more-- > 0)
		*to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
	return to;
}

bool rp_to_string(rp_bytes json, rp_bytes *text) {
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	rp_bytes b = rp__trim(json), none = {NULL, 0};
	*text = none;
	if (b.len == 0 || b.data[0] != '"')
		return false;
	const char *p = b.data + 1, *end = b.data + b.len - 1;
	char *start = (char *)rp_alloc(b.len), *out = start; /* no escape becomes longer than it is */
	while (p < end) {
		if (*p != '\\') {
			*out++ = *p++;
		} else if (p[1] != 'u') {
			*out++ = to[strchr(from, p[1]) - from];
			p += 2;
		} else {
			unsigned c = (unsigned)rp__hex4(p + 2, end), low = 0;
			p += 6;
			if (c >> 10 == 0x36 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' && (low = (unsigned)rp__hex4(p + 2, end)) >> 10 == 0x37) {
				c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
				p += 6;
			}
			out = rp__rune(out, c >> 11 == 0x1b ? 0xfffd : c);
		}
	}
	*out = 0;
	text->data = start, text->len = (size_t)(out - start);
	return true;
}

#ifdef __cplusplus
}
#endif
#endif
