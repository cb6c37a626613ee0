/*
 * burn.c - burn MICROSECONDS: a task that computes so long by the CPU clock of its own
 * process, and not by the wall's.  It needs libc alone, so that its start costs little.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t burn_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	uint64_t begun = burn_now(), time = 0;

	if (argc > 1)
		time = strtoull(argv[1], NULL, 10);
	if (!time) {
		fputs("burn: say how many microseconds\n", stderr);
		return 2;
	}
	while (burn_now() - begun < time)
		;
	return 0;
}
