/*
 * A workflow that waits in as many places as a C program has for it: in a comparator that qsort calls, behind function
 * pointers and variable arguments, in recursion, in loops, switches and gotos, with integers and floats of every size alive
 * across the wait. Tests freeze it at every wait. `make fixtures-guests` builds it at every level of optimisation.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi.h"

static uint64_t hash = 14695981039346656037u;

static void mix(uint64_t v) {
	for (int i = 0; i < 64; i += 8)
		hash = (hash ^ (v >> i & 255)) * 1099511628211u;
}

/* decimal writes a number and returns its length. */
static int decimal(char *to, unsigned long long v) {
	char text[24];
	int n = 0, len = 0;
	do
		text[n++] = '0' + v % 10;
	while (v /= 10);
	while (n > 0)
		to[len++] = text[--n];
	return len;
}

/* ask waits for the answer to a number and makes one of it. */
__attribute__((noinline)) static int ask(int k) {
	static const char effect[] = "test.ask";
	char text[32], answer[64];
	int32_t handle = reprise_effect(effect, sizeof effect - 1, text, decimal(text, (unsigned)k), NULL, 0), ready;
	if (reprise_wait(&handle, 1, -1, &ready, 1) != 1 || ready != handle)
		abort();
	int n = reprise_result(handle, answer, sizeof answer), sum = 0;
	reprise_drop(handle);
	for (int i = 0; i < n; i++)
		sum = sum * 7 + answer[i];
	mix(sum);
	return sum & 0xffff;
}

static int compare(const void *a, const void *b) {
	int x = *(const int *)a, y = *(const int *)b;
	ask(x - y);
	return (x > y) - (x < y);
}

/* Function pointers, of which one never waits. */
typedef double (*step)(double, int);

static double grow(double x, int i) { return x * 1.5 + ask(i) % 7; }
static double shrink(double x, int i) { return x - 2.25 * i; }
static double both(double x, int i) { return i > 0 ? grow(x, i - 1) + __builtin_sqrt(__builtin_fabs(x)) : x; }
static const step steps[] = {grow, shrink, both};

/* Alive across the wait: an argument of every type. */
static double many(int a, float b, long long c, double d, short e, unsigned char f, float g) {
	int before = a * 3 + e;
	return ask(a) + before + b * g + (double)(c ^ ask(f)) + d / (1 + ask(e));
}

static int sum(int n, ...) {
	va_list list;
	va_start(list, n);
	int s = 0;
	for (int i = 0; i < n; i++)
		s += va_arg(list, int) * (ask(i) & 3);
	va_end(list);
	return s;
}

struct tree {
	struct tree *left, *right;
	int key;
};

static struct tree *insert(struct tree *t, int key) {
	if (t == NULL) {
		t = calloc(1, sizeof *t);
		t->key = key;
		ask(key);
	} else if (key < t->key)
		t->left = insert(t->left, key);
	else if (key > t->key)
		t->right = insert(t->right, key);
	else
		ask(key + 1000);
	return t;
}

static int walk(const struct tree *t) {
	return t == NULL ? 1 : walk(t->left) * 3 + (t->key ^ (ask(t->key) & 15)) + walk(t->right) * 5;
}

/* One function calls the other, as deep as it is told. */
static int odd(int n);
static int even(int n) { return n == 0 ? ask(0) & 1 : odd(n - 1) + 1; }
static int odd(int n) { return n == 0 ? ask(1) & 1 : even(n - 1) * 2; }

static int jumps(int x) {
	int r = 0;
	for (;;) {
		switch (x % 6) {
		case 0:
			r += ask(x);
			x += 1;
			continue;
		case 1:
			if (ask(x) & 1)
				r ^= 5;
			else
				r += ask(r & 63) & 3;
			x += 2;
			break;
		case 2: {
			float q = x * 0.5f;
			q += ask(x) & 7;
			r += (int)(q * 3.25f);
			x += 3;
			break;
		}
		case 3:
			return r + ask(r & 63);
		case 4: {
			int i = 0;
			do {
				if (i == 3)
					goto out;
				r += ask(i) & (i + 1);
				i++;
			} while (i < 5);
		out:
			x += 5;
			break;
		}
		default:
			x++;
		}
		if (x > 60)
			break;
	}
	return r;
}

static long long wide(long long v, int n) {
	while (n-- > 0) {
		long long t = ask(n);
		v = t > 30000 && ask(n + 1) % 3 ? v * 31 + t : t & 1 ? v ^ t << 33 : v + (long long)ask((int)(v & 63)) * n;
	}
	return v;
}

/* fibonacci computes; it could wait in each call and never does. */
static int fibonacci(int n) { return n < 0 ? ask(n) : n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

REPRISE_EXPORT("fibonacci") int32_t hot(void) {
	char text[32] = {0};
	reprise_input(text, sizeof text - 1);
	reprise_output(text, decimal(text, (unsigned)fibonacci(atoi(text))));
	return 0;
}

REPRISE_EXPORT("reprise_run") int32_t run(void) {
	char text[32] = {0};
	reprise_input(text, sizeof text - 1);
	for (int round = 0, rounds = atoi(text); round < rounds; round++) {
		int values[9];
		for (int i = 0; i < 9; i++)
			values[i] = ask(i) * 7919 % 101;
		qsort(values, 9, sizeof values[0], compare);
		for (int i = 0; i < 9; i++)
			mix(values[i]);
		double d = 1;
		for (int i = 0; i < 7; i++)
			d = steps[(ask(i) + i) % 3](d, i);
		mix((uint64_t)(int64_t)d);
		mix((uint64_t)(int64_t)many(round, 0.1f, -5, 2.5, -3, 200, 1e10f));
		mix(sum(5, 1, ask(2), 3, 4, ask(5)));
		struct tree *t = NULL;
		for (int i = 0; i < 8; i++)
			t = insert(t, ask(i) % 31);
		mix(walk(t));
		mix(even(100));
		mix(jumps(round));
		mix(wide(round, 6));
		usleep(1000 * (round + 1)); /* the other wait */
		mix(ask(1) + ask(2) * ask(3) - (ask(4) & 1 ? ask(5) : ask(6)));
		char *block = malloc(100000); /* grows the memory, with something in it */
		memset(block, ask(7), 100000);
		mix(block[99999]);
	}
	reprise_output(text, decimal(text, hash));
	return 0;
}
