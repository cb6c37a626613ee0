/*
 * clock.c - preloaded: time() is CLOCK_OFF seconds off, for munged alone
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

time_t time(time_t *t)
{
	struct timespec now;
	time_t off;

	clock_gettime(CLOCK_REALTIME, &now);
	off = now.tv_sec + atoi(getenv("CLOCK_OFF"));
	if (t)
		*t = off;
	return off;
}
