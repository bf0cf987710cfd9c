/*
 * Durable workflows and activities in C (C99 and newer), over the contract of abi.h.
 *
 *     #define REPRISE_IMPLEMENTATION // in exactly one file of the module
 *     #include "reprise.h"
 *
 *     static int charge(rp_bytes input) { return rp_output(input); }
 *
 *     static int order(rp_bytes input) {
 *         rp_bytes receipt;
 *         int rc = rp_get(rp_activity("charge", input, NULL), &receipt);
 *         return rc ? rc : rp_output(receipt);
 *     }
 *
 *     RP_MODULE(RP_WORKFLOW("order", order), RP_ACTIVITY("charge", charge));
 *
 * A workflow is carried on after a crash by running it again from its beginning with the outcomes that it has already seen. All
 * that C offers may be used: there is one thread, the clock and the random numbers are the run's own, sleep() is durable.
 *
 * Payloads are bytes. The functions rp_json_* write JSON, rp_field and its like read it where it lies, without building a tree.
 * Memory that runs out ends the run with the failure code out_of_memory; no function here returns an error for it.
 */
#ifndef REPRISE_H
#define REPRISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What functions return that can fail. Return it from a workflow or an activity as it is: RP_FAILED fails it with the last failure,
 * RP_CANCELLED ends a run as cancelled.
 */
enum {
	RP_OK = 0,
	RP_FAILED = 1,    /* rp_last_failure says why */
	RP_CANCELLED = 2, /* the run was cancelled. Told once, by the first wait that finds it; waits after that work, so that a program can undo */
	RP_TIMEOUT = 3,   /* the time given to rp_wait_any has passed */
};

/*
 * Bytes that somebody else owns. What a function of this header gives through a pointer is the caller's, to be released with
 * rp_free; it has a 0 behind its end, so that text may be used as a C string. Slices of JSON (rp_field) are not to be freed.
 */
typedef struct {
	const char *data;
	size_t len;
} rp_bytes;

rp_bytes rp_text(const char *text); /* the bytes of a C string, not copied */
void rp_free(rp_bytes bytes);
void *rp_alloc(size_t size); /* malloc that never returns NULL: it ends the run with code out_of_memory */

/* ---- The module ---- */

/*
 * A workflow, an activity, or a query. It sets its result with rp_output, at any time, and returns RP_OK, or returns what is not RP_OK.
 * A query is answered by a copy of a run that waits, which has what the workflow left in memory; it may ask for nothing.
 */
typedef int (*rp_function)(rp_bytes input);

typedef struct {
	const char *name; /* 1 to 255 bytes of UTF-8 */
	int kind;
	rp_function function;
} rp_entry;

#define RP_WORKFLOW(name, function) {name, REPRISE_ENTRY_WORKFLOW, function}
#define RP_ACTIVITY(name, function) {name, REPRISE_ENTRY_ACTIVITY, function}
#define RP_QUERY(name, function) {name, REPRISE_ENTRY_QUERY, function}
/* The table of all that the module offers, once in a module. */
#define RP_MODULE(...) const rp_entry rp_module[] = {__VA_ARGS__, {NULL, 0, NULL}}
extern const rp_entry rp_module[];

int rp_output(rp_bytes output); /* sets the result, the last call wins; RP_OK */

/* ---- Failures ---- */

enum { RP_BY_POLICY = 0, RP_RETRY = 1, RP_NO_RETRY = 2 };

typedef struct {
	const char *code;    /* a stable word; "" becomes "error" */
	const char *message; /* for people */
	int retryable;       /* RP_NO_RETRY ends an activity's attempts, RP_BY_POLICY leaves it to the policy */
	rp_bytes details;    /* any JSON, or nothing */
} rp_failure;

int rp_fail(const char *code, const char *message); /* RP_FAILED, with this as the last failure */
int rp_fail_with(rp_failure failure);               /* the same; what it points to is copied */
const rp_failure *rp_last_failure(void);            /* valid until the next failure; never NULL */
rp_failure rp_keep_failure(void);                   /* a copy of the last failure that stays, for what is done before it is returned */

/* ---- Requests: each returns at once, and leaves at the next wait ---- */

typedef int32_t rp_handle;

/* How an activity or effect is attempted; 0 means the host's default everywhere. Durations are milliseconds. */
typedef struct {
	const char *module; /* an activity of another module: a workflow name or a digest */
	int64_t timeout_ms; /* of one attempt; default 30,000 */
	int64_t total_timeout_ms; /* of all attempts together; default none */
	int attempts;             /* in all; default 1 for activities */
	int64_t backoff_ms;       /* after the first failure; default 1,000 */
	double factor;            /* growth of the wait; default 2 */
	int64_t max_backoff_ms;   /* default 60,000 */
	const char *const *non_retryable; /* failure codes that end it at once, ended by NULL */
} rp_options;

typedef struct {
	const char *module; /* of another module: a workflow name or a digest */
	bool abandon;       /* it goes on when its handle is given up, and when this run ends */
} rp_child_options;

#define RP_MILLISECOND INT64_C(1000000)
#define RP_SECOND (1000 * RP_MILLISECOND)
#define RP_MINUTE (60 * RP_SECOND)
#define RP_HOUR (60 * RP_MINUTE)

/* Options may be NULL. A request that breaks a limit is a handle that has failed already. */
rp_handle rp_activity(const char *name, rp_bytes input, const rp_options *options);
rp_handle rp_effect(const char *name, rp_bytes input, const rp_options *options);
/* A run of its own, which ends when this one does unless it is abandoned. Not from an activity. */
rp_handle rp_child(const char *workflow, rp_bytes input, const rp_child_options *options);
rp_handle rp_timer(int64_t nanoseconds);
rp_handle rp_signal(const char *name); /* the next signal of that name */

/* ---- Waiting ---- */

/* Waits for the outcome, takes it and drops the handle. RP_OK: *outcome is the caller's (outcome may be NULL). RP_FAILED: it failed.
 * RP_CANCELLED: the run was cancelled first, and the request was given up. */
int rp_get(rp_handle handle, rp_bytes *outcome);
/* Waits until one of n handles is done and sets *index to it; of several, to the one that the host names, the same in every replay.
 * timeout in nanoseconds, -1 for none, 0 only looks. RP_OK, RP_TIMEOUT or RP_CANCELLED; the handles stay as they are. */
int rp_wait_any(const rp_handle *handles, size_t n, int64_t timeout, size_t *index);
int rp_wait_all(const rp_handle *handles, size_t n); /* RP_OK when all are done, well or not; or RP_CANCELLED */
int rp_sleep(int64_t nanoseconds);                   /* RP_OK or RP_CANCELLED */
bool rp_done(rp_handle handle);
void rp_give_up(rp_handle handle); /* cancels what is pending and drops the handle */
bool rp_cancelled(void);           /* whether the run's cancellation was seen */

/* ---- Values, and telling ---- */

int64_t rp_now(void); /* nanoseconds since 1970, of the last thing seen; moves only at waits */
uint64_t rp_random(void); /* the same numbers in every replay; not for secrets */
rp_bytes rp_info(void);   /* the caller's: JSON with run, tenant, workflow, key, module, and attempt (from 1) in an activity */
void rp_publish(const char *key, rp_bytes value); /* a value that readers of the run see */
void rp_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3))); /* REPRISE_LOG_INFO and so on, at most 1,023 bytes; silent in replay */
int rp_continue_as_new(rp_bytes input); /* RP_OK: return it, and the run ends and its successor begins with input; a workflow's only */

#ifdef __cplusplus
}
#endif

#include "reprise_json.h"
#endif

#if defined(REPRISE_IMPLEMENTATION) && !defined(REPRISE_IMPLEMENTED)
#define REPRISE_IMPLEMENTED

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Memory ---- */

void *rp_alloc(size_t size) {
	static const char failure[] = "{\"code\":\"out_of_memory\",\"message\":\"the program took all the memory that it may have\"}";
	void *p = malloc(size ? size : 1);
	if (p == NULL) {
		reprise_fail(failure, sizeof failure - 1);
		_Exit(1);
	}
	return p;
}

static rp_bytes rp__copy(rp_bytes b) {
	char *p = (char *)rp_alloc(b.len + 1);
	if (b.len > 0)
		memcpy(p, b.data, b.len);
	p[b.len] = 0;
	rp_bytes copy = {p, b.len};
	return copy;
}

void rp_free(rp_bytes b) { free((void *)(uintptr_t)b.data); }

rp_bytes rp_text(const char *text) {
	rp_bytes b = {text, text ? strlen(text) : 0};
	return b;
}

/* What only the host knows the length of is pulled twice: the first call says how much there is. */
enum { RP__ENTRY, RP__INFO, RP__INPUT, RP__RESULT };

static int32_t rp__read(int what, rp_handle h, void *p, int32_t cap) {
	switch (what) {
	case RP__ENTRY: return reprise_entry(p, cap);
	case RP__INFO: return reprise_info(p, cap);
	case RP__INPUT: return reprise_input(p, cap);
	default: return reprise_result(h, p, cap);
	}
}

static rp_bytes rp__pull(int what, rp_handle h) {
	int32_t n = rp__read(what, h, NULL, 0);
	char *p = (char *)rp_alloc((size_t)n + 1);
	rp__read(what, h, p, n);
	p[n] = 0;
	rp_bytes b = {p, (size_t)n};
	return b;
}

rp_bytes rp_info(void) { return rp__pull(RP__INFO, 0); }

/* ---- Failures ---- */

static rp_failure rp__last = {"", "", 0, {NULL, 0}};
static bool rp__owned; /* whether rp__last's parts are to be freed */

const rp_failure *rp_last_failure(void) { return &rp__last; }

int rp_fail_with(rp_failure f) {
	rp_failure old = rp__last; /* which f may point into */
	rp__last.code = rp__copy(rp_text(f.code && *f.code ? f.code : "error")).data;
	rp__last.message = rp__copy(rp_text(f.message ? f.message : "")).data;
	rp__last.retryable = f.retryable;
	rp__last.details = rp__copy(f.details);
	if (rp__owned) {
		rp_free(rp_text(old.code));
		rp_free(rp_text(old.message));
		rp_free(old.details);
	}
	rp__owned = true;
	return RP_FAILED;
}

rp_failure rp_keep_failure(void) {
	rp_failure f = rp__last;
	f.code = rp__copy(rp_text(f.code)).data;
	f.message = rp__copy(rp_text(f.message)).data;
	f.details = rp__copy(f.details);
	return f;
}

int rp_fail(const char *code, const char *message) {
	rp_failure f = {code, message, RP_BY_POLICY, {NULL, 0}};
	return rp_fail_with(f);
}

/* The failure of a handle that did not end well; what is no failure object becomes the message. */
static int rp__failed(int32_t status, rp_bytes payload) {
	rp_bytes code, message;
	bool retry;
	if (!rp_to_string(rp_field(payload, "code"), &code))
		return rp_fail(status == REPRISE_CANCELLED ? "cancelled" : status == REPRISE_TIMED_OUT ? "timeout" : "error", payload.data);
	rp_to_string(rp_field(payload, "message"), &message);
	rp_failure f = {code.data, message.data, RP_BY_POLICY, rp_field(payload, "details")};
	if (rp_to_bool(rp_field(payload, "retryable"), &retry))
		f.retryable = retry ? RP_RETRY : RP_NO_RETRY;
	rp_fail_with(f);
	rp_free(code);
	rp_free(message);
	return RP_FAILED;
}

/* ---- Requests ---- */

static void rp__bound(rp_json *w, const char *key, int64_t v) {
	if (v == 0)
		return;
	rp_json_key(w, key);
	rp_json_int(w, v);
}

/* No bytes when all are defaults. */
static rp_bytes rp__encode(const rp_options *o) {
	rp_json w = {NULL, 0, 0};
	rp_bytes none = {NULL, 0};
	bool retry = o && (o->attempts || o->backoff_ms || o->factor != 0 || o->max_backoff_ms || o->non_retryable);
	if (o == NULL || (!retry && !o->module && !o->timeout_ms && !o->total_timeout_ms))
		return none;
	rp_json_object(&w);
	if (o->module) {
		rp_json_key(&w, "module");
		rp_json_string(&w, rp_text(o->module));
	}
	rp__bound(&w, "timeout_ms", o->timeout_ms);
	rp__bound(&w, "total_timeout_ms", o->total_timeout_ms);
	if (retry) {
		rp_json_key(&w, "retry");
		rp_json_object(&w);
		rp__bound(&w, "attempts", o->attempts);
		rp__bound(&w, "backoff_ms", o->backoff_ms);
		if (o->factor != 0) {
			rp_json_key(&w, "factor");
			rp_json_double(&w, o->factor);
		}
		rp__bound(&w, "max_backoff_ms", o->max_backoff_ms);
		if (o->non_retryable) {
			rp_json_key(&w, "non_retryable");
			rp_json_array(&w);
			for (const char *const *code = o->non_retryable; *code; code++)
				rp_json_string(&w, rp_text(*code));
			rp_json_end_array(&w);
		}
		rp_json_end_object(&w);
	}
	rp_json_end_object(&w);
	return rp_json_done(&w);
}

rp_handle rp_activity(const char *name, rp_bytes in, const rp_options *options) {
	rp_bytes o = rp__encode(options);
	rp_handle h = reprise_activity(name, (int32_t)strlen(name), in.data, (int32_t)in.len, o.data, (int32_t)o.len);
	rp_free(o);
	return h;
}

rp_handle rp_effect(const char *name, rp_bytes in, const rp_options *options) {
	rp_bytes o = rp__encode(options);
	rp_handle h = reprise_effect(name, (int32_t)strlen(name), in.data, (int32_t)in.len, o.data, (int32_t)o.len);
	rp_free(o);
	return h;
}

rp_handle rp_child(const char *workflow, rp_bytes in, const rp_child_options *options) {
	rp_bytes o = {NULL, 0};
	if (options && (options->module || options->abandon)) {
		rp_json w = {NULL, 0, 0};
		rp_json_object(&w);
		if (options->module) {
			rp_json_key(&w, "module");
			rp_json_string(&w, rp_text(options->module));
		}
		if (options->abandon) {
			rp_json_key(&w, "abandon");
			rp_json_bool(&w, true);
		}
		rp_json_end_object(&w);
		o = rp_json_done(&w);
	}
	rp_handle h = reprise_child(workflow, (int32_t)strlen(workflow), in.data, (int32_t)in.len, o.data, (int32_t)o.len);
	rp_free(o);
	return h;
}

rp_handle rp_timer(int64_t nanoseconds) { return reprise_timer(nanoseconds); }
rp_handle rp_signal(const char *name) { return reprise_signal(name, (int32_t)strlen(name)); }

/* ---- Waiting ---- */

static bool rp__told; /* whether RP_CANCELLED was returned */

bool rp_cancelled(void) { return rp__told || reprise_status(REPRISE_CANCEL_HANDLE) != REPRISE_PENDING; }
bool rp_done(rp_handle h) { return reprise_status(h) != REPRISE_PENDING; }
void rp_give_up(rp_handle h) { reprise_drop(h); }

/* The index of a handle, for what the host says is done; else of any that is done: a cancellation does not hide it. n when none is. */
static size_t rp__which(const rp_handle *handles, size_t n, rp_handle said) {
	size_t i = 0;
	while (i < n && (said != REPRISE_CANCEL_HANDLE ? handles[i] != said : !rp_done(handles[i])))
		i++;
	return i;
}

int rp_wait_any(const rp_handle *handles, size_t n, int64_t timeout, size_t *index) {
	rp_handle few[8] = {0}, ready = REPRISE_CANCEL_HANDLE, *set = n < 8 ? few : (rp_handle *)rp_alloc((n + 1) * sizeof *set);
	size_t m = n;
	if (n > 0)
		memcpy(set, handles, n * sizeof *set);
	if (!rp__told)
		set[m++] = REPRISE_CANCEL_HANDLE;
	int32_t found = reprise_wait(set, (int32_t)m, timeout, &ready, 1);
	if (set != few)
		free(set);
	if (found == 0)
		return RP_TIMEOUT;
	*index = rp__which(handles, n, ready);
	if (*index < n)
		return RP_OK;
	rp__told = true;
	return RP_CANCELLED;
}

int rp_wait_all(const rp_handle *handles, size_t n) {
	rp_handle *left = (rp_handle *)rp_alloc(n * sizeof *left);
	size_t m = 0, i;
	for (i = 0; i < n; i++)
		if (!rp_done(handles[i]))
			left[m++] = handles[i];
	int rc = RP_OK;
	while (m > 0 && (rc = rp_wait_any(left, m, -1, &i)) == RP_OK)
		memmove(left + i, left + i + 1, (--m - i) * sizeof *left);
	free(left);
	return rc;
}

int rp_get(rp_handle h, rp_bytes *outcome) {
	size_t index;
	int rc = rp_done(h) ? RP_OK : rp_wait_any(&h, 1, -1, &index);
	if (rc != RP_OK) {
		rp_give_up(h);
		return rc;
	}
	int32_t status = reprise_status(h);
	rp_bytes payload = rp__pull(RP__RESULT, h);
	reprise_drop(h);
	if (status == REPRISE_OK && outcome) {
		*outcome = payload;
		return RP_OK;
	}
	rc = status == REPRISE_OK ? RP_OK : rp__failed(status, payload);
	rp_free(payload);
	return rc;
}

int rp_sleep(int64_t nanoseconds) { return rp_get(rp_timer(nanoseconds), NULL); }

/* ---- Values, and telling ---- */

int64_t rp_now(void) { return reprise_now(); }

uint64_t rp_random(void) {
	uint64_t v;
	reprise_random(&v, sizeof v);
	return v;
}

void rp_publish(const char *key, rp_bytes value) { reprise_publish(key, (int32_t)strlen(key), value.data, (int32_t)value.len); }

void rp_log(int level, const char *format, ...) {
	char line[1024];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	reprise_log(level, line, n < (int)sizeof line ? n : (int)sizeof line - 1);
}

int rp_output(rp_bytes output) {
	reprise_output(output.data, (int32_t)output.len);
	return RP_OK;
}

int rp_continue_as_new(rp_bytes input) {
	reprise_continue_as_new(input.data, (int32_t)input.len);
	return RP_OK;
}

/* ---- Entering the module ---- */

static void rp__names(rp_json *w, const char *key, int kind) {
	rp_json_key(w, key);
	rp_json_array(w);
	for (const rp_entry *e = rp_module; e->name; e++)
		if (e->kind == kind)
			rp_json_string(w, rp_text(e->name));
	rp_json_end_array(w);
}

static void rp__describe(void) {
	rp_json w = {NULL, 0, 0};
	rp_json_object(&w);
	rp_json_key(&w, "sdk");
	rp_json_string(&w, rp_text("c"));
	rp__names(&w, "workflows", REPRISE_ENTRY_WORKFLOW);
	rp__names(&w, "activities", REPRISE_ENTRY_ACTIVITY);
	rp_json_end_object(&w);
	rp_output(rp_json_done(&w));
}

/* The entry of that kind and name; without a name the only workflow. */
static const rp_entry *rp__find(int kind, rp_bytes name) {
	const rp_entry *only = NULL;
	int n = 0;
	for (const rp_entry *e = rp_module; e->name; e++) {
		if (e->kind != kind)
			continue;
		if (strlen(e->name) == name.len && memcmp(e->name, name.data, name.len) == 0)
			return e;
		only = e;
		n++;
	}
	return name.len == 0 && kind == REPRISE_ENTRY_WORKFLOW && n == 1 ? only : NULL;
}

static int rp__enter(int kind) {
	static const char *const unknown[] = {"unknown_workflow", "unknown_activity", "unknown_query"};
	rp_bytes name = rp__pull(RP__ENTRY, 0);
	const rp_entry *e = rp__find(kind, name);
	if (e == NULL) {
		rp_failure f = {unknown[kind], "the module has none of that name", RP_NO_RETRY, {NULL, 0}};
		return rp_fail_with(f);
	}
	if (kind != REPRISE_ENTRY_QUERY)
		reprise_cancel_handle();
	return e->function(rp__pull(RP__INPUT, 0));
}

static void rp__tell(const rp_failure *f) {
	rp_json w = {NULL, 0, 0};
	rp_json_object(&w);
	rp_json_key(&w, "code");
	rp_json_string(&w, rp_text(*f->code ? f->code : "error"));
	rp_json_key(&w, "message");
	rp_json_string(&w, rp_text(f->message));
	if (f->retryable != RP_BY_POLICY) {
		rp_json_key(&w, "retryable");
		rp_json_bool(&w, f->retryable == RP_RETRY);
	}
	if (rp_json_valid(f->details)) {
		rp_json_key(&w, "details");
		rp_json_raw(&w, f->details);
	}
	rp_json_end_object(&w);
	rp_bytes b = rp_json_done(&w);
	reprise_fail(b.data, (int32_t)b.len);
	rp_free(b);
}

static int32_t rp__serve(int kind) {
	int rc = rp__enter(kind);
	if (rc == RP_CANCELLED)
		rp_fail("cancelled", "the run was cancelled");
	if (rc != RP_OK)
		rp__tell(rp_last_failure());
	return rc != RP_OK;
}

REPRISE_EXPORT("reprise_run") int32_t rp_run(void) {
	int32_t kind = reprise_entry_kind();
	if (kind != REPRISE_ENTRY_DESCRIBE)
		return rp__serve(kind == REPRISE_ENTRY_ACTIVITY ? kind : REPRISE_ENTRY_WORKFLOW);
	rp__describe();
	return 0;
}

REPRISE_EXPORT("reprise_query") int32_t rp_query(void) { return rp__serve(REPRISE_ENTRY_QUERY); }

#ifdef __cplusplus
}
#endif
#endif
