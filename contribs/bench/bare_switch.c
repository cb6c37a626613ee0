/*
 * bare_switch.c - take turns by only the kernel's freezer and a timer on each node:
 * the cost of a switch that every scheduler has at least.
 *
 *	bare_switch MICROSECONDS CPU=GROUP,GROUP... ...
 *
 * Each node is given by its CPU, to which a thread with real-time priority is bound.
 * At the end of each quantum it freezes one group and thaws the next, the same on
 * all nodes.  The threads read one clock, so they need no messages.  The groups are
 * control groups of version 2, one for each slot; each node has the same number.  A
 * slot without processes gets no turns.  SIGTERM thaws all groups and ends it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"

#define SLOTS_MAX 32
#define NODES_MAX 64
#define PRIORITY 20
#define LOOK_EVERY (20 * STORM_MS)

struct node {
	pthread_t thread;
	int cpu;
	int freeze[SLOTS_MAX], events[SLOTS_MAX];
};

static struct node node[NODES_MAX];
static int nodes, slots;
static uint64_t begun, quantum;
static uint32_t alive; /* a bit for each slot; atomic */
static volatile sig_atomic_t ended;

static void end(int sig)
{
	(void) sig;
	ended = 1;
}

static int open_in(const char *group, const char *file, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		perror(path);
	return fd;
}

static bool node_open(struct node *n, char *arg)
{
	char *group = strchr(arg, '=');
	int have = 0;

	if (!group)
		return false;
	*group++ = '\0';
	n->cpu = atoi(arg);
	for (group = strtok(group, ","); group; group = strtok(NULL, ",")) {
		if (have == SLOTS_MAX)
			return false;
		n->freeze[have] = open_in(group, "cgroup.freeze", O_WRONLY);
		n->events[have] = open_in(group, "cgroup.events", O_RDONLY);
		if (n->freeze[have] < 0 || n->events[have] < 0)
			return false;
		have++;
	}
	if (!slots)
		slots = have;
	return have && have == slots;
}

static void set(int fd, bool frozen)
{
	if (pwrite(fd, frozen ? "1" : "0", 1, 0) != 1)
		perror("bare_switch: cgroup.freeze");
}

static bool populated(int fd)
{
	char text[256];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
	return strstr(text, "populated 1");
}

/* The slot of a turn.  Every thread computes the same one from the number. */
static int slot_of(uint64_t turn)
{
	uint32_t left = __atomic_load_n(&alive, __ATOMIC_RELAXED);
	int nth;

	if (!left)
		return 0;
	for (nth = turn % __builtin_popcount(left); nth; nth--)
		left &= left - 1;
	return __builtin_ctz(left);
}

static void *take_turns(void *arg)
{
	const struct sched_param p = { .sched_priority = PRIORITY };
	struct node *n = arg;
	struct timespec ts;
	cpu_set_t cpus;
	int was = -1, slot;

	CPU_ZERO(&cpus);
	CPU_SET(n->cpu, &cpus);
	if (pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus) ||
	    pthread_setschedparam(pthread_self(), SCHED_FIFO, &p))
		perror("bare_switch: real-time priority, CPU");
	prctl(PR_SET_TIMERSLACK, 1);
	for (int i = 0; i < slots; i++)
		set(n->freeze[i], true);
	for (uint64_t turn = 1; !ended; turn++) {
		uint64_t due = begun + turn * quantum;

		ts.tv_sec = (time_t) (due / STORM_SEC);
		ts.tv_nsec = (long) (due % STORM_SEC);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts,
				       NULL))
			;
		slot = slot_of(turn);
		if (slot == was)
			continue;
		if (was >= 0)
			set(n->freeze[was], true);
		set(n->freeze[slot], false);
		was = slot;
	}
	for (int i = 0; i < slots; i++)
		set(n->freeze[i], false);
	return NULL;
}

static uint32_t look(void)
{
	uint32_t found = 0;

	for (int i = 0; i < slots; i++)
		for (int k = 0; k < nodes && !(found & 1u << i); k++)
			if (populated(node[k].events[i]))
				found |= 1u << i;
	return found;
}

int main(int argc, char **argv)
{
	const struct timespec every = { .tv_nsec = LOOK_EVERY };

	quantum = argc > 2 ? strtoull(argv[1], NULL, 10) * STORM_US : 0;
	if (!quantum || argc - 2 > NODES_MAX) {
		fprintf(stderr,
			"usage: bare_switch MICROSECONDS CPU=GROUP,GROUP... ...\n");
		return 2;
	}
	for (; nodes < argc - 2; nodes++)
		if (!node_open(&node[nodes], argv[nodes + 2])) {
			fprintf(stderr,
				"bare_switch: argument %d: must be CPU=GROUP,... with at most %d groups that exist, as many as the first node has\n",
				nodes + 2, SLOTS_MAX);
			return 2;
		}
	signal(SIGTERM, end);
	signal(SIGINT, end);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		perror("bare_switch: mlockall");
	alive = look();
	begun = storm_now();
	for (int i = 0; i < nodes; i++)
		if (pthread_create(&node[i].thread, NULL, take_turns,
				   &node[i])) {
			fprintf(stderr,
				"bare_switch: cannot create a thread\n");
			return 1;
		}
	while (!ended) {
		nanosleep(&every, NULL);
		__atomic_store_n(&alive, look(), __ATOMIC_RELAXED);
	}
	for (int i = 0; i < nodes; i++)
		pthread_join(node[i].thread, NULL);
	return 0;
}
