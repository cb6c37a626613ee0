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
#include "src/storm_common/caps.h"
#include "unwind_collect.h"
#include "unwind_member.h"
#include "unwind_tell.h"

/* s of holding.  Whatever happens, it ends then, and the kernel lets the tasks go on. */
#define ALARM 4
#define STROBE_LIMIT (8 * STORM_SEC)  /* until the strobe comes */
#define STAND_LIMIT (1500 * STORM_MS) /* until all stand */

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

/* What was left out. */
static void unwind_unseen(const struct unwind_job *job,
			  struct stack_unseen *out)
{
	out->processes = job->over;
	for (uint32_t i = 0; i < job->count; i++)
		out->threads += job->all[i].unseen;
}

static int unwind_look(struct unwind_job *job, uint32_t nth,
		       struct stack_node *node)
{
	struct stack_set stacks = { 0 };
	struct stack_tallies tallies = { 0 };
	uint64_t begun = 0;
	bool well, alone;

	if (!unwind_stand(job, &alone, &begun))
		return 1;
	if (alone && !unwind_stop(job, &begun))
		return 1;
	well = unwind_collect(job, &stacks, &tallies);
	unwind_release(job);
	node->stood_us = (storm_now() - begun) / STORM_US;
	node->tasks = job->count;
	alarm(0);
	unwind_unseen(job, &node->unseen);
	if (alone || !unwind_tell(nth, &stacks, &tallies, node))
		unwind_print_all(nth, &stacks, node);
	unwind_forget(job);
	stack_tallies_clear(&tallies);
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
