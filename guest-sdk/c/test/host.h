/* A host of a few lines for tests of the C and C++ headers on this machine: handles are done in the order that a test gives. */
#ifndef HOST_H
#define HOST_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "reprise.h"

#ifdef __cplusplus
extern "C" {
#endif

static int failures;

static void check_text(int line, rp_bytes got, const char *want) {
	if (got.data != NULL && got.len == strlen(want) && memcmp(got.data, want, got.len) == 0)
		return;
	printf("check.c:%d: got %.*s, want %s\n", line, (int)got.len, got.data ? got.data : "(nothing)", want);
	failures++;
}

static void check_number(int line, long long got, long long want) {
	if (got == want)
		return;
	printf("check.c:%d: got %lld, want %lld\n", line, got, want);
	failures++;
}

#define TEXT(got, want) check_text(__LINE__, got, want)
#define NUMBER(got, want) check_number(__LINE__, got, want)

/* ---- The host ---- */

static struct {
	int kind;
	const char *entry, *input;
	char output[4096], failure[4096], asked[4096], options[4096];
	int32_t status[64];
	const char *payload[64];
	int32_t handles, dropped, waits;
	bool fails[64]; /* instead of being ok */
	int32_t script[64]; /* what each wait makes visible; -1 nothing */
} host;

static int32_t give(const char *from, void *ptr, int32_t cap) {
	int32_t n = (int32_t)strlen(from);
	if (cap >= n && n > 0)
		memcpy(ptr, from, (size_t)n);
	return n;
}

static void keep(char *to, const void *from, int32_t n) {
	if (n > 0)
		memcpy(to, from, (size_t)n);
	to[n] = 0;
}

int32_t reprise_entry_kind(void) { return host.kind; }
int32_t reprise_entry(void *p, int32_t cap) { return give(host.entry, p, cap); }
int32_t reprise_info(void *p, int32_t cap) { return give("{\"attempt\":2}", p, cap); }
int32_t reprise_input(void *p, int32_t cap) { return give(host.input, p, cap); }
void reprise_output(const void *p, int32_t n) { keep(host.output, p, n); }
void reprise_fail(const void *p, int32_t n) { keep(host.failure, p, n); }
void reprise_continue_as_new(const void *p, int32_t n) { keep(host.output, p, n); }
int32_t reprise_effect(const void *name, int32_t n, const void *in, int32_t in_len, const void *opts, int32_t opts_len) {
	(void)name, (void)n;
	keep(host.asked, in, in_len);
	keep(host.options, opts, opts_len);
	return ++host.handles;
}
int32_t reprise_activity(const void *name, int32_t n, const void *in, int32_t in_len, const void *opts, int32_t opts_len) {
	return reprise_effect(name, n, in, in_len, opts, opts_len);
}
int32_t reprise_child(const void *name, int32_t n, const void *in, int32_t in_len, const void *opts, int32_t opts_len) {
	return reprise_effect(name, n, in, in_len, opts, opts_len);
}
int32_t reprise_timer(int64_t ns) { (void)ns; return ++host.handles; }
int32_t reprise_signal(const void *name, int32_t n) { (void)name, (void)n; return ++host.handles; }
int32_t reprise_wait(const int32_t *handles, int32_t n, int64_t timeout, int32_t *ready, int32_t cap) {
	(void)timeout, (void)cap;
	for (int32_t i = 0; i < n; i++)
		if (host.status[handles[i]] != REPRISE_PENDING) {
			*ready = handles[i];
			return 1;
		}
	int32_t next = host.script[host.waits++];
	for (int32_t i = 0; i < n; i++)
		if (handles[i] == next) {
			if (host.status[next] == REPRISE_PENDING)
				host.status[next] = host.fails[next] ? REPRISE_FAILED : REPRISE_OK;
			*ready = next;
			return 1;
		}
	return 0;
}
int32_t reprise_status(int32_t h) { return host.status[h]; }
int32_t reprise_result(int32_t h, void *p, int32_t cap) { return give(host.payload[h] ? host.payload[h] : "", p, cap); }
void reprise_cancel(int32_t h) { host.status[h] = REPRISE_CANCELLED; }
void reprise_drop(int32_t h) { (void)h; host.dropped++; }
int32_t reprise_cancel_handle(void) { return 0; }
int64_t reprise_now(void) { return 7; }
void reprise_random(void *p, int32_t n) { memset(p, 1, (size_t)n); }
int32_t reprise_asset(const void *name, int32_t n, void *p, int32_t cap) { (void)name, (void)n, (void)p, (void)cap; return -1; }
void reprise_log(int32_t level, const void *p, int32_t n) { (void)level; keep(host.asked, p, n); }
void reprise_publish(const void *k, int32_t kn, const void *p, int32_t n) { (void)k, (void)kn; keep(host.asked, p, n); }

/* fresh makes a new host whose waits make these handles visible, one after the other. */
static void fresh(int n, ...) {
	memset(&host, 0, sizeof host);
	host.entry = host.input = "";
	va_list args;
	va_start(args, n);
	for (int i = 0; i < n; i++)
		host.script[i] = va_arg(args, int);
	va_end(args);
	for (int i = n; i < 64; i++)
		host.script[i] = -1;
}

#ifdef __cplusplus
}
#endif
#endif
