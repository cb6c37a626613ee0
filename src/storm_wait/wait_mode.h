/*
 * wait_mode.h - how the ranks of an MPI program wait for each other, as the
 * user has it in --storm-wait=MODE.
 *
 * 	spin			as MPI does; it is measured
 * 	block[:SPIN[:NAP]]	test for SPIN us, then sleep NAP us before each test
 * 	slice[:SLICE[:OPEN]]	test in the first OPEN us of each SLICE us, all
 * 				ranks at the same time, and sleep between
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WAIT_MODE_H
#define STORM_WAIT_MODE_H

#include <stdbool.h>
#include <stdint.h>

/* Carries MODE from srun to the tasks.  "srun --export=NONE" keeps it, because
 * its name begins with SLURM. */
#define WAIT_MODE_ENV "SLURM_STORM_WAIT"

struct wait_mode {
	enum wait_kind { WAIT_SPIN, WAIT_BLOCK, WAIT_SLICE } kind;
	uint64_t first, second; /* SPIN and NAP, or SLICE and OPEN, in ns */
};

/* Parse a MODE.  False: the text is none; NULL is none either. */
bool wait_mode_parse(const char *text, struct wait_mode *m);
const char *wait_mode_name(enum wait_kind kind);

#endif
