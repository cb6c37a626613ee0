/*
 * run_code.h - how a task of a run has ended, as one number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_CODE_H
#define STORM_RUN_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* How a task ended: the code of its report, and with 0 it ended well. */
enum run_cause {
	RUN_EXITED,	 /* with this status */
	RUN_SIGNALED,	 /* by this signal */
	RUN_NOT_STARTED, /* this errno: the program */
	RUN_NO_CWD,	 /* this errno: the directory */
	RUN_NO_START,	 /* this errno: all else before the program */
	RUN_OUTPUT_LOST, /* this errno: some of its output did not come */
	RUN_NO_STDIN,	 /* this errno: its file; so the next two */
	RUN_NO_STDOUT,
	RUN_NO_STDERR,
	RUN_INPUT_LOST, /* this errno: some of its input did not come */
	RUN_NODE_LOST,	/* of GONE alone: the task's node */
	RUN_PMI_LOST, /* this errno: its launcher lost the ranks of other nodes */
	RUN_NO_PMIX,   /* this errno: storm_pmix; ENOENT: it is not installed;
		      * RUN_PMIX_ENDED with a signal, or 0: it has ended */
	RUN_NO_BIND,   /* this errno: it cannot be bound */
	RUN_UNBOUND,   /* 0: launchers have more CPUs than the job */
	RUN_NO_MEMORY, /* 0: the kernel has killed it for lack of memory */
	RUN_NO_HWLOC, /* this errno: hwloc does not tell of cores; ENOENT: its module is
		       * not installed */
	RUN_CAUSES
};
#define RUN_PMIX_ENDED 0x1000

/* Why a run is over. */
enum run_end {
	RUN_END_OWN,	   /* by its tasks and its client alone */
	RUN_END_NODE_LOST, /* it could not go on without one of its nodes */
	RUN_END_STOPPED,   /* the launchers end */
	RUN_ENDS
};

uint32_t run_code(enum run_cause cause, int value);
/* False: it is none. */
bool run_code_read(uint32_t code, enum run_cause *cause, int *value);
/* The exit status of a task, as srun has it. */
int run_code_status(uint32_t code);
/* Has a signal ended it? */
bool run_code_is_signal(uint32_t code);

#endif
