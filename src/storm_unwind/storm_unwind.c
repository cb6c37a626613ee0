/*
 * storm_unwind.c - takes the stacks of a job's tasks on one node, as the user.  storm stack starts it
 * on each node of the job, as a task of an overlapping step:
 *
 *	storm_unwind JOB PORT [STEP]
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
#include "src/libstorm/base/minmax.h"
#include "src/storm_common/caps.h"
#include "src/storm_stack/stack_line.h"
#include "unwind_collect.h"
#include "unwind_member.h"

/* s of holding.  Whatever happens, it ends then, and the kernel lets the tasks go on. */
#define ALARM 4
#define STROBE_LIMIT (8 * STORM_SEC)  /* until the strobe comes */
#define STAND_LIMIT (1500 * STORM_MS) /* until all stand */

/* Returns the bytes that it has printed. */
static size_t unwind_print(uint32_t nth, const char *line)
{
	char piece[STACK_PIECE + 1];
	size_t from = 0, all = 0, n;

	while ((n = stack_piece_put(&piece, nth, line, &from))) {
		fputs(piece, stdout);
		all += n;
	}
	return all;
}

/* Bytes that this node may send of all that may come to the asker. */
static size_t unwind_share(void)
{
	const char *nodes = getenv("SLURM_STEP_NUM_NODES");

	return stack_share(nodes ? (uint32_t) strtoul(nodes, NULL, 10) : 1);
}

/* Those that most threads have come first, and those that do not fit are counted. */
static void unwind_print_all(uint32_t nth, struct stack_set *s,
			     const struct stack_node *node)
{
	size_t room = unwind_share();
	char line[STACK_LINE];

	stack_set_sort(s);
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t from = 0;

		if (strlen(s->all[i]->text) >= room) {
			s->over += s->all[i]->count;
			continue;
		}
		while (stack_line_put(&line, s->all[i], &from))
			room -= storm_min(room, unwind_print(nth, line));
	}
	if (s->over) {
		stack_over_put(&line, s->over);
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

/* Stop the tasks, for ALARM at most.  *begun: when.  False: they cannot be looked for. */
static bool unwind_stop(struct unwind_job *job, uint64_t *begun)
{
	*begun = storm_now();
	alarm(ALARM);
	if (!unwind_find(job))
		return false;
	unwind_hold(job);
	return true;
}

/* Wait for the strobe, stop the tasks, and wait until all nodes have done so.  *alone: this
 * node cannot wait for others, and has not stopped them.  False: the asker is gone. */
static bool unwind_stand(struct unwind_job *job, bool *alone, uint64_t *begun)
{
	*alone = !member_wait(STACK_STOP, storm_now() + STROBE_LIMIT, 0);
	if (*alone)
		return true;
	if (!unwind_stop(job, begun))
		return false;
	member_tell(STAGE_STANDS);
	if (member_wait(STACK_WALK, storm_now() + STAND_LIMIT, STACK_SILENCE)) {
		member_tell(STAGE_WALKS);
		return true;
	}
	/* others do not stand: then it is as if each were alone */
	unwind_release(job);
	unwind_forget(job);
	*alone = member_is_closed();
	return *alone;
}

static int unwind_look(struct unwind_job *job, uint32_t nth,
		       struct stack_node *node)
{
	struct stack_set stacks = { 0 };
	uint64_t begun = 0;
	bool well, alone;

	if (!unwind_stand(job, &alone, &begun))
		return 1;
	if (alone && !unwind_stop(job, &begun))
		return 1;
	well = unwind_collect(job, &stacks);
	unwind_release(job);
	node->stood_us = (storm_now() - begun) / STORM_US;
	node->tasks = job->count;
	alarm(0);
	stacks.over += job->over;
	unwind_print_all(nth, &stacks, node);
	unwind_forget(job);
	stack_set_clear(&stacks);
	return well ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *proc = getenv("SLURM_PROCID");
	uint32_t nth = proc ? (uint32_t) strtoul(proc, NULL, 10) : 0;
	struct unwind_job job = { .job = argc > 1 ? argv[1] : NULL,
				  .step = argc > 3 ? argv[3] : NULL };
	struct stack_node node = { 0 };
	struct storm_addr at;
	unsigned long port;
	char line[STACK_LINE];
	int status;

	if (argc < 3 || argc > 4) {
		fputs("storm_unwind: storm stack starts it\n", stderr);
		return 2;
	}
	/* libdw would ask it for the debug information of a file */
	unsetenv("DEBUGINFOD_URLS");
	if (caps_keep(0)) {
		fprintf(stderr, "storm_unwind: %s\n", strerror(errno));
		return 1;
	}
	unwind_name(&node);
	port = strtoul(argv[2], NULL, 10);
	stack_ready_put(&line, node.name,
			port && port <= UINT16_MAX &&
					member_start(node.name, (uint16_t) port,
						     &at) ?
				&at :
				NULL);
	unwind_print(nth, line);
	fflush(stdout);
	status = unwind_look(&job, nth, &node);
	member_stop();
	return status;
}
