/*
 * strober_state.h - the file with the cluster domain's epoch and the nodes that
 * are excluded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STROBER_STATE_H
#define STORM_STROBER_STATE_H

#include <stdint.h>

/* The saved state (struct storm_domain_conf in storm.h). */
struct strober_saved {
	uint32_t epoch;	 /* 0: nothing was saved */
	char **excluded; /* names of nodes */
	uint32_t nexcluded;
};

/* Read the file; if there is none, *out is all zeroes.  If it is damaged, which
 * is logged, *out has an epoch above all that the file can have had.  The
 * caller frees *out with strober_state_clear().  Returns 0, or -1 after logging
 * the reason. */
int strober_state_load(const char *path, struct strober_saved *out);
void strober_state_clear(struct strober_saved *s);

/* Replace the file if its epoch is still `was`.  The new state is on disk when
 * this returns.  If several processes try, one of them succeeds.  Returns 0, or
 * -1 after logging the reason. */
int strober_state_save(const char *path, uint32_t was,
		       const struct strober_saved *now);

#endif
