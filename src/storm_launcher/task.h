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

/* What a task has of its node. */
struct task_place {
	struct storm_idset cpus;  /* that it alone has; none: it has no such */
	struct storm_idset gpus;  /* likewise, by their places in the names */
	struct storm_idset bound; /* CPUs that it may use; none: all */
	char *said; /* to what it is bound, for its stderr; "%" where its pid is */
};

/* What the tasks of a run have in common on this node. */
struct task_form {
	const struct run_what *what;
	const struct run_start *start;
	uint32_t node, nth; /* of the domain; of the run's nodes */
	const char *name;   /* the node's */
	const char *step;   /* SLURM_STEP_ID of the launchers */
	char *counts;	    /* run_counts_text() of all nodes */
	/* GPUs of the run here, by their places in the names; NULL: it has asked for
	 * none, and sees all */
	const struct storm_idset *gpus;
};

/* How many GPUs Slurm has given to the launchers on this node. */
uint32_t task_gpus(void);

/* The first variable of it: the child writes its number there. */
#define TASK_PID_VARIABLE "SLURM_TASK_PID="
#define TASK_PID_DIGITS 11

/* The environment of task number `local` here: the client's, but for what is said of
 * this node or of a step, and those of mpi, which may be NULL and ends with NULL.  The caller frees it with
 * free(), and neither it nor mpi before it is used. */
char **task_env(const struct task_form *f, uint32_t local,
		const struct task_place *place, char *const *mpi);

/* Its descriptors 0 to 2. */
struct task_stdio {
	int fd[3];     /* above 2 */
	char *path[3]; /* a file, instead; NULL: none.  The caller frees them */
	int flags[3];  /* to open it with */
	bool err_as_out; /* 2 is 1 */
	bool pty;	 /* all are the terminal of its session */
	int pmi;	 /* becomes TASK_PMI_FD; 0: there is none */
};
#define TASK_PMI_FD 3

/* What -i, -o and -e say of task number `local` here.  Those that have no file get no
 * path.  False: no memory, or a name is too long. */
bool task_paths(const struct task_form *f, uint32_t local,
		struct task_stdio *out);
void task_paths_free(struct task_stdio *s);

/* Once, before others of this user lose the right to look into this process. */
void task_prepare(void);
/* Start it, as argv.  env is task_env()'s, and changed.  The pid; or 0, and *code says
 * why. */
pid_t task_start(const struct task_form *f, char *const *argv, char **env,
		 const struct task_stdio *io, const struct task_place *place,
		 uint32_t *code);

#endif
