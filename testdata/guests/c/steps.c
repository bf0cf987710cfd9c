/*
 * The same workflow as ../rust/steps.rs and ../go/main.go: so many steps as the input says, each an effect that it
 * waits for; the output is the sum of their results.
 *
 *     clang --target=wasm32-wasi -mexec-model=reactor -O2 -isystem /usr/include/wasm32-wasi -L/usr/lib/wasm32-wasi \
 *         -Iabi -Wl,--strip-all -o testdata/guests/c/steps.wasm testdata/guests/c/steps.c
 *
 * from the root, with clang 14, lld, wasi-libc and libclang-rt-dev-wasm32 of Debian 12; `make fixtures-guests` does it.
 */
#include "guest.h"

#include <string.h>

static const char effect[] = "bench.add";

/* step asks for one effect and returns the number that it gives. */
static long long step(long long i) {
	char text[32];
	int32_t handle = reprise_effect(effect, strlen(effect), text, snprintf(text, sizeof text, "%lld", i), NULL, 0);
	int32_t ready;
	reprise_wait(&handle, 1, -1, &ready, 1);
	int32_t n = reprise_result(handle, NULL, 0);
	char *result = calloc(n + 1, 1);
	reprise_result(handle, result, n);
	reprise_drop(handle);
	long long v = atoll(result);
	free(result);
	return v;
}

REPRISE_EXPORT("reprise_run") int32_t run(void) {
	long long steps = input_number(), sum = 0;
	for (long long i = 0; i < steps; i++)
		sum += step(i);
	output_number(sum);
	return 0;
}

/* nop is the least that can be entered. */
REPRISE_EXPORT("nop") int32_t nop(void) { return 0; }
