/*
 * calls - what a program sees of its turns.
 *
 *	calls wait SECONDS [FILE]
 *
 * waits in epoll_wait() and semtimedop() by turns, at most until FILE is there, and
 * prints how often each was interrupted: "EPOLL_WAIT SEMTIMEDOP".
 *
 *	calls run SECONDS
 *
 * computes, and prints "LOOPS" and a line "BEGIN END" (ns, monotonic) for each time that
 * it ran, without a pause of 0.3 ms or more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

#define PAUSE 300000
#define WAIT 15 /* ms, and up to 6 more, so that turns end in either call */
#define SPANS 100000

static long long clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static int wait_in_calls(long long until, const char *file)
{
	struct timespec nap = { 0 };
	struct sembuf take = { .sem_op = -1 };
	int epoll = epoll_create1(0), err = 0;
	int sem = semget(IPC_PRIVATE, 1, 0600);
	long polls = 0, sems = 0;
	struct epoll_event e;
	int wait = 0;

	if (epoll < 0 || sem < 0)
		return fail("calls");
	while (!err && clock_now() < until && (!file || access(file, F_OK))) {
		wait = WAIT + (wait + 1) % 7;
		nap.tv_nsec = wait * 1000000L;
		if (epoll_wait(epoll, &e, 1, wait) < 0) {
			err |= errno != EINTR;
			polls++;
		}
		if (semtimedop(sem, &take, 1, &nap) < 0 && errno != EAGAIN) {
			err |= errno != EINTR;
			sems++;
		}
	}
	semctl(sem, 0, IPC_RMID);
	if (err)
		return fail("calls");
	printf("%ld %ld\n", polls, sems);
	return 0;
}

static int run(long long until)
{
	static long long begin[SPANS], end[SPANS];
	long long now = clock_now(), last = now;
	long loops = 0;
	int n = 0;

	begin[0] = now;
	for (; now < until && n < SPANS - 1; last = now, loops++) {
		now = clock_now();
		if (now - last < PAUSE)
			continue;
		end[n++] = last;
		begin[n] = now;
	}
	end[n++] = last;
	printf("%ld\n", loops);
	for (int i = 0; i < n; i++)
		printf("%lld %lld\n", begin[i], end[i]);
	return 0;
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) : 0;
	long long until = clock_now() + (long long) (seconds * 1e9);

	if (seconds > 0 && argc < 5 && !strcmp(argv[1], "wait"))
		return wait_in_calls(until, argv[3]);
	if (seconds > 0 && argc == 3 && !strcmp(argv[1], "run"))
		return run(until);
	fprintf(stderr, "usage: calls wait SECONDS [FILE] | run SECONDS\n");
	return 2;
}
