/*
 * storm_unwind.c - takes the stacks of a job's tasks on one node, as the user.  storm stack starts it
 * on each node of the job, as a task of an overlapping step:
 *
 *	storm_unwind JOB [STEP]
 *
 * It is the only program that links libdw.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "src/storm_common/caps.h"
#include "src/storm_stack/stack_line.h"
#include "unwind_collect.h"

/* s.  Whatever happens, it ends then, and the kernel lets the tasks go on. */
#define ALARM 4

static void unwind_print(uint32_t nth, const char *line)
{
	char piece[STACK_PIECE + 1];
	size_t from = 0;

	while (stack_piece_put(&piece, nth, line, &from))
		fputs(piece, stdout);
}

static void unwind_print_all(uint32_t nth, const struct stack_set *s,
			     const struct stack_node *node)
{
	char line[STACK_LINE];

	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t from = 0;

		while (stack_line_put(&line, s->all[i], &from))
			unwind_print(nth, line);
	}
	stack_node_put(&line, node);
	unwind_print(nth, line);
	fflush(stdout);
}

/* What a variable of Slurm's has, as it may stand in a line. */
static void unwind_name(struct stack_node *node)
{
	const char *name = getenv("SLURMD_NODENAME");

	stack_clean(node->name, sizeof(node->name), name ? name : "?");
}

int main(int argc, char **argv)
{
	const char *proc = getenv("SLURM_PROCID");
	uint32_t nth = proc ? (uint32_t) strtoul(proc, NULL, 10) : 0;
	struct unwind_job job = { .job = argc > 1 ? argv[1] : NULL,
				  .step = argc > 2 ? argv[2] : NULL };
	struct stack_node node = { 0 };
	struct stack_set stacks = { 0 };
	uint64_t begun;
	bool well;

	if (argc < 2 || argc > 3) {
		fputs("storm_unwind: storm stack starts it\n", stderr);
		return 2;
	}
	/* libdw would ask it for the debug information of a file */
	unsetenv("DEBUGINFOD_URLS");
	if (caps_keep(0) || !unwind_find(&job)) {
		fprintf(stderr, "storm_unwind: %s\n", strerror(errno));
		return 1;
	}
	node.tasks = job.count;
	unwind_name(&node);
	alarm(ALARM);
	begun = storm_now();
	unwind_hold(&job);
	well = unwind_collect(&job, &stacks);
	unwind_release(&job);
	node.stood_us = (storm_now() - begun) / STORM_US;
	stacks.over += job.over;
	unwind_print_all(nth, &stacks, &node);
	unwind_forget(&job);
	stack_set_clear(&stacks);
	return well ? 0 : 1;
}
