/*
 * end_at.c - a task that ends at a given time, and says when it did.
 *
 *	end_at SECONDS DIR
 *
 * SECONDS: since the epoch, with a fraction.  The task writes DIR/end.PROCID just
 * before it ends: the time, in microseconds.  Exit code 3: the time was over when it
 * began.  storm_bench term runs it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	const char *task = getenv("SLURM_PROCID");
	double seconds = argc == 3 ? atof(argv[1]) : 0;
	uint64_t when = (uint64_t) (seconds * 1e6);
	struct timespec ts = {
		.tv_sec = (time_t) (when / 1000000),
		.tv_nsec = (long) (when % 1000000) * 1000,
	};
	char path[4096];
	int fd;

	if (seconds <= 0 || !task) {
		fprintf(stderr, "usage: end_at SECONDS DIR, in a step\n");
		return 2;
	}
	/* before the end: a shared file system takes its time */
	snprintf(path, sizeof(path), "%s/end.%s", argv[2], task);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) {
		perror(path);
		return 1;
	}
	if (now_us() >= when)
		return 3;
	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL);
	dprintf(fd, "%" PRIu64 "\n", now_us());
	return 0;
}
