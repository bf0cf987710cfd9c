/*
 * Work without a purpose, one kind an export: the input says how often, the output is a checksum. The command is that
 * of steps.c.
 */
#include "guest.h"

#include <string.h>

/* count is the tightest loop that there is; the compiler cannot see its end. */
REPRISE_EXPORT("count") int32_t count(void) {
	long long n = input_number(), i = 0;
	for (; i < n; i++)
		__asm__ volatile("" : "+r"(i));
	output_number(i);
	return 0;
}

/* loop does what a loop does: some arithmetic, a branch, a turn. */
REPRISE_EXPORT("loop") int32_t loop(void) {
	unsigned long long n = input_number(), x = 88172645463325252ull, odd = 0;
	for (; n > 0; n--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (x & 1)
			odd += x >> 60;
	}
	output_number((long long)(x ^ odd));
	return 0;
}

__attribute__((noinline)) static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

/* calls does nearly nothing but call: one and a half functions for each unit of its output. */
REPRISE_EXPORT("calls") int32_t calls(void) {
	output_number(fibonacci((int)input_number()));
	return 0;
}

/* sieve writes and reads all over four megabytes, so many times. */
REPRISE_EXPORT("sieve") int32_t sieve(void) {
	enum { size = 4 << 20 };
	static unsigned char composite[size];
	long long n = input_number(), primes = 0;
	while (n-- > 0) {
		memset(composite, 0, size);
		for (int i = 2; i < size; i++) {
			if (composite[i])
				continue;
			primes++;
			for (int k = 2 * i; k < size; k += i)
				composite[k] = 1;
		}
	}
	output_number(primes);
	return 0;
}

/* floats steps a pendulum: sums and products that could all be NaN. */
REPRISE_EXPORT("floats") int32_t floats(void) {
	long long n = input_number();
	double angle = 1, speed = 0;
	for (; n > 0; n--) {
		speed -= 1e-3 * (angle - angle * angle * angle / 6);
		angle += 1e-3 * speed;
	}
	output_number((long long)(angle * 1e15));
	return 0;
}

/* clock calls the host for a number that it has at hand. */
REPRISE_EXPORT("clock") int32_t clock_reads(void) {
	long long n = input_number(), last = 0;
	for (; n > 0; n--)
		last = reprise_now();
	output_number(last);
	return 0;
}

/* spin never ends. */
REPRISE_EXPORT("spin") int32_t spin(void) {
	for (volatile unsigned x = 1;;)
		x = x * 1664525 + 1013904223;
}

REPRISE_EXPORT("reprise_run") int32_t run(void) { return loop(); }
