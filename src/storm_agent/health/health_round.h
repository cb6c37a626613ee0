/*
 * health_round.h - runs checks, each in a child of its own with a deadline.  A check that
 * does not come back makes itself hang, and nothing else: its child is killed with its
 * process group, and no other one is begun until that has ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HEALTH_ROUND_H
#define STORM_HEALTH_ROUND_H

#include <sys/types.h>

#include "health_measure.h"

/* The caller sets kind, name and patience, and -1 in pidfd and out. */
struct health_check {
	enum health_kind kind;
	const char *name;
	uint64_t patience; /* ns */
	/* the child's, if there is one */
	pid_t pid;
	int pidfd, out;
	uint64_t until; /* when it has to have ended */
	bool running;	/* it is waited for */
	struct health_line said;
	struct health_sample got;
	size_t have; /* bytes of it */
};

/* Run all of them, beside each other.  False: `lifeline` was closed, and all children
 * are killed. */
bool health_round(struct health_check *c, size_t n,
		  const struct health_place *at, int lifeline);

#endif
