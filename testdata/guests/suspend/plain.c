/*
 * A C program that knows nothing of Reprise: it reads, sleeps wherever a program may, and prints. Tests freeze it at every
 * sleep. `make fixtures-guests` builds it as a command of WASI.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int slept;

/* rest sleeps and counts. */
static int rest(int n) {
	struct timespec t = {n % 3, n * 1000000L};
	nanosleep(&t, NULL);
	return ++slept;
}

static int compare(const void *a, const void *b) {
	rest(1);
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static double depth(int n) { return n == 0 ? rest(2) / 3.0 : depth(n - 1) * 1.25 + rest(n) % 2; }

static void leave(void) {
	rest(7);
	printf("slept %d times\n", slept);
}

int main(void) {
	char line[256], *words[32];
	size_t n = 0;
	atexit(leave);
	if (fgets(line, sizeof line, stdin) == NULL)
		exit(1);
	for (char *w = strtok(line, " \n"); w != NULL && n < 32; w = strtok(NULL, " \n"))
		words[n++] = w;
	qsort(words, n, sizeof words[0], compare);
	for (size_t i = 0; i < n; i++) {
		printf("%s%c", words[i], i + 1 < n ? ' ' : '\n');
		fflush(stdout); /* a line that stays unfinished over a sleep */
		rest((int)i);
	}
	printf("%.6f ", depth(20));
	time_t now = time(NULL);
	sleep(5);
	printf("%ld\n", (long)(time(NULL) - now));
	return 0;
}
