/*
 * The guest contract of Reprise, version 1, for C and C++ on wasm32.
 * Generated from package abi; do not edit. docs/ABI.md says what the functions do.
 *
 * A (pointer, length) pair is bytes in the guest's memory, which the module exports as "memory".
 * The functions with (ptr, cap) return the full length of what there is, and write it only when cap is
 * enough: call with cap 0 to learn the length.
 */
#ifndef REPRISE_ABI_H
#define REPRISE_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__wasm__)
#define REPRISE_IMPORT(name) __attribute__((import_module("reprise_v1"), import_name(name)))
#define REPRISE_EXPORT(name) __attribute__((export_name(name)))
#else
#define REPRISE_IMPORT(name)
#define REPRISE_EXPORT(name)
#endif

#define REPRISE_ABI_VERSION 1

/* Why an instance runs. */
enum {
	REPRISE_ENTRY_WORKFLOW = 0,
	REPRISE_ENTRY_ACTIVITY = 1,
	REPRISE_ENTRY_QUERY = 2,
	REPRISE_ENTRY_DESCRIBE = 3,
};

/* What status answers. */
enum {
	REPRISE_PENDING = 0,
	REPRISE_OK = 1,
	REPRISE_FAILED = 2,
	REPRISE_CANCELLED = 3,
	REPRISE_TIMED_OUT = 4,
};

/* Levels of log. */
enum {
	REPRISE_LOG_DEBUG = 0,
	REPRISE_LOG_INFO = 1,
	REPRISE_LOG_WARN = 2,
	REPRISE_LOG_ERROR = 3,
};

/* The handle of the run's own cancellation. */
#define REPRISE_CANCEL_HANDLE 0

/* The descriptor that is readable when a handle completed. */
#define REPRISE_COMPLETION_FD 3

/* Limits. */
#define REPRISE_MAX_PAYLOAD 2097152
#define REPRISE_MAX_NAME 255
#define REPRISE_MAX_OPTIONS 16384
#define REPRISE_MAX_PENDING 2000
#define REPRISE_MAX_PENDING_BYTES 67108864
#define REPRISE_MAX_REQUESTS 500000
#define REPRISE_MAX_ENTRIES 50000
#define REPRISE_MAX_JOURNAL_BYTES 67108864
#define REPRISE_MAX_LOG_LINE 16384
#define REPRISE_MAX_LOG_BYTES 67108864
#define REPRISE_MAX_RANDOM 65536
#define REPRISE_MAX_PUBLISHED 1000
#define REPRISE_MAX_PUBLISHED_BYTES 16777216
#define REPRISE_MAX_MEMORY_PAGES 1024
#define REPRISE_MAX_GAS 10000000000LL
#define REPRISE_MAX_RUN_GAS 10000000000000LL
#define REPRISE_MAX_ACTIVITY_GAS 200000000000LL
#define REPRISE_MAX_DEPTH 20000
#define REPRISE_MAX_CHILD_DEPTH 16
#define REPRISE_MAX_DURATION 3153600000000000000LL

/* Entry */
REPRISE_IMPORT("entry_kind") extern int32_t reprise_entry_kind(void);
REPRISE_IMPORT("entry") extern int32_t reprise_entry(void *ptr, int32_t cap);
REPRISE_IMPORT("info") extern int32_t reprise_info(void *ptr, int32_t cap);
REPRISE_IMPORT("input") extern int32_t reprise_input(void *ptr, int32_t cap);
REPRISE_IMPORT("output") extern void reprise_output(const void *ptr, int32_t len);
REPRISE_IMPORT("fail") extern void reprise_fail(const void *ptr, int32_t len);
REPRISE_IMPORT("continue_as_new") extern void reprise_continue_as_new(const void *ptr, int32_t len);

/* Requests */
REPRISE_IMPORT("effect") extern int32_t reprise_effect(const void *name, int32_t name_len, const void *in, int32_t in_len, const void *opts, int32_t opts_len);
REPRISE_IMPORT("activity") extern int32_t reprise_activity(const void *name, int32_t name_len, const void *in, int32_t in_len, const void *opts, int32_t opts_len);
REPRISE_IMPORT("child") extern int32_t reprise_child(const void *name, int32_t name_len, const void *in, int32_t in_len, const void *opts, int32_t opts_len);
REPRISE_IMPORT("timer") extern int32_t reprise_timer(int64_t nanoseconds);
REPRISE_IMPORT("signal") extern int32_t reprise_signal(const void *name, int32_t name_len);

/* Waiting */
REPRISE_IMPORT("wait") extern int32_t reprise_wait(const int32_t *handles, int32_t n, int64_t timeout_ns, int32_t *ready, int32_t ready_cap);
REPRISE_IMPORT("status") extern int32_t reprise_status(int32_t handle);
REPRISE_IMPORT("result") extern int32_t reprise_result(int32_t handle, void *ptr, int32_t cap);
REPRISE_IMPORT("cancel") extern void reprise_cancel(int32_t handle);
REPRISE_IMPORT("drop") extern void reprise_drop(int32_t handle);
REPRISE_IMPORT("cancel_handle") extern int32_t reprise_cancel_handle(void);

/* Values */
REPRISE_IMPORT("now") extern int64_t reprise_now(void);
REPRISE_IMPORT("random") extern void reprise_random(void *ptr, int32_t len);
REPRISE_IMPORT("asset") extern int32_t reprise_asset(const void *name, int32_t name_len, void *ptr, int32_t cap);

/* Telling */
REPRISE_IMPORT("log") extern void reprise_log(int32_t level, const void *ptr, int32_t len);
REPRISE_IMPORT("publish") extern void reprise_publish(const void *key, int32_t key_len, const void *ptr, int32_t len);

/*
 * Specified, but not implemented by the host yet; a module that imports one is refused:
 * promise patched reply
 */

#ifdef __cplusplus
}
#endif

#endif
