/*
 * strober_state.h - what is saved of the cluster domain: its epoch, and who is
 * excluded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STROBER_STATE_H
#define STORM_STROBER_STATE_H

#include <stdint.h>

/* What is saved of the cluster domain (storm.h: struct storm_domain_conf). */
struct strober_saved {
	uint32_t epoch;		/* 0: nothing was saved */
	char **excluded;	/* names of nodes */
	uint32_t nexcluded;
};

/* 0: *out is filled (no file: all zeroes); or -1, and the reason was logged. */
int strober_state_load(const char *path, struct strober_saved *out);
void strober_state_clear(struct strober_saved *s);

/* Replace what is there, if its epoch is still `was`; on disk when it returns.
 * Of several processes one succeeds.  0, or -1, and the reason was logged. */
int strober_state_save(const char *path, uint32_t was,
		       const struct strober_saved *now);

#endif
