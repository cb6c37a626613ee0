/*
 * task.h - start one task.  A launcher may hold much memory, and fork(2) would copy its
 * page tables.  So the child shares the launcher's memory until it executes, as that of
 * vfork(2) does, on a stack of its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TASK_H
#define STORM_TASK_H

#include <sys/resource.h>
#include <sys/types.h>

#include "run_wire.h"

/* Variables that say which GPUs of its node a program is to use. */
#define TASK_GPU_NAMES                                                         \
	"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", \
		"GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"

/* What the tasks of a run have in common on this node. */
struct task_form {
	const struct run_what *what;
	const struct run_start *start;
	uint32_t node, nth; /* of the domain; of the run's nodes */
	const char *name;   /* the node's */
	const char *step;   /* SLURM_STEP_ID of the launchers */
	char *counts;	    /* run_counts_text() of all nodes */
};

/* The environment of task number `local` here: the client's, but for what is said of
 * this node or of a step.  The caller frees it with free(), and not before it is used. */
char **task_env(const struct task_form *f, uint32_t local);

/* Start it, with fd[] as its descriptors 0 to 2, which must be above 2.  env is
 * task_env()'s, and changed.  The pid; or 0, and *code says why. */
pid_t task_start(const struct task_form *f, char **env, const int fd[3],
		 uint32_t *code);

#endif
