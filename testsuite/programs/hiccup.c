/*
 * hiccup - takes the processor for a moment, again and again, as the daemons of an
 * operating system do.
 *
 *	hiccup EVERY FOR
 *
 * every EVERY microseconds it computes for FOR microseconds; if that is longer, it
 * computes all the time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	long long every = argc == 3 ? atoll(argv[1]) * 1000 : 0, next, until;
	long long busy = argc == 3 ? atoll(argv[2]) * 1000 : 0;

	if (every <= 0 || busy <= 0) {
		fprintf(stderr, "usage: hiccup EVERY FOR (microseconds)\n");
		return 2;
	}
	for (next = clock_now();; next += every) {
		struct timespec ts = { next / 1000000000, next % 1000000000 };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		for (until = clock_now() + busy; clock_now() < until;)
			continue;
	}
}
