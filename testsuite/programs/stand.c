/*
 * stand.c - a task that stands in a known stack, for test_stack.py:
 *
 *	stand [--leave] [--threads=N] [--hide] [--vfork] RANK...	these ranks hang in odd_one(), all others in solve()
 *
 * A file "up.RANK" in the working directory says that it stands there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static volatile int deeper = 1;

static void say_up(void)
{
	const char *rank = getenv("SLURM_PROCID");
	char name[32];

	snprintf(name, sizeof(name), "up.%s", rank ? rank : "x");
	close(open(name, O_WRONLY | O_CREAT, 0666));
}

__attribute__((noinline)) void wait_here(void)
{
	say_up();
	while (deeper)
		pause();
}

__attribute__((noinline)) void odd_one(void)
{
	wait_here();
	deeper++;
}

__attribute__((noinline)) void solve(int depth)
{
	if (depth)
		solve(depth - 1);
	else
		wait_here();
	deeper++;
}

static void *helper(void *arg)
{
	if (arg)
		say_up();
	while (deeper)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	const char *rank = getenv("SLURM_PROCID");
	pthread_t thread;

	for (int k = 1; k < argc; k++) {
		if (!strncmp(argv[k], "--threads=", 10))
			for (int n = atoi(argv[k] + 10); n; n--)
				pthread_create(&thread, NULL, helper, NULL);
		else if (!strcmp(argv[k], "--leave")) {
			/* the process goes on without its first thread */
			pthread_create(&thread, NULL, helper, argv);
			pthread_exit(NULL);
		} else if (!strcmp(argv[k], "--hide"))
			prctl(PR_SET_DUMPABLE, 0);
		else if (!strcmp(argv[k], "--vfork") && rank && !atoi(rank) &&
			 !vfork())
			wait_here(); /* rank 0 waits in the kernel meanwhile */
		else if (rank && !strcmp(argv[k], rank))
			odd_one();
	}
	solve(1);
	return 0;
}
