/*
 * launch_record.h - how long the phases of a launch by STORM have taken, as the step's
 * srun says: for storm why.  No Slurm header.
 *
 * srun gives it to one node of the step when all tasks run (STEP_EVENT_LAUNCHED of
 * step_protocol.h).  That node's agent keeps it, and answers with the same bytes.  They
 * are a user's word.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCH_RECORD_H
#define STORM_LAUNCH_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As in srun's timeline, up to the start of all tasks. */
enum launch_part {
	LAUNCH_STEP_CREATE,
	LAUNCH_OPEN,
	LAUNCH_SEND,
	LAUNCH_REPAIR,
	LAUNCH_WRITE,
	LAUNCH_VERIFY,
	LAUNCH_EXEC,
	LAUNCH_SLOT, /* it lies within LAUNCH_EXEC */
	LAUNCH_PARTS
};

/* What the slowest node waited for. */
enum launch_wait {
	LAUNCH_WAIT_BYTES,  /* bytes, or its part in the transfer */
	LAUNCH_WAIT_SLURMD, /* its slurmd's answer to the launch message */
	LAUNCH_WAIT_STEPD,  /* the start of its tasks, by slurmstepd */
	LAUNCH_WAIT_TURN,   /* the turn of its job */
	LAUNCH_WAIT_RESENT, /* Slurm's own message, by TCP */
	LAUNCH_WAITS
};

#define LAUNCH_NONE UINT32_MAX	   /* of a part that did not happen */
#define LAUNCH_LONGEST 3600000000u /* us, of what is believed: an hour */
/* us: what lasts longer is no part of a launch, but srun's wait for busy nodes, or for
 * slurmctld.  The record then begins with the next part. */
#define LAUNCH_CREATE_LONGEST 5000000u
#define LAUNCH_SLOW 3	  /* slowest nodes in a record, one for a part */
#define LAUNCH_NAME 32	  /* bytes of a name, with its NUL */
#define LAUNCH_RECORD 176 /* bytes of a record, at most */

struct launch_slow {
	enum launch_part part;
	enum launch_wait wait;
	/* of a node, or of several: "n[1-4]"; printable ASCII, if it was read */
	char name[LAUNCH_NAME];
};

struct launch_record {
	uint32_t nodes, tasks;
	struct {
		uint32_t start, took; /* us; start: since the first one's */
	} part[LAUNCH_PARTS];	      /* took LAUNCH_NONE: it did not happen */
	struct launch_slow slow[LAUNCH_SLOW];
	unsigned int slows; /* of these */
};

/* Constant words: a part's as in STORM_TIMELINE; what was waited for. */
const char *launch_part_word(enum launch_part part);
const char *launch_wait_word(enum launch_wait wait);

/* Write a record.  Returns its bytes; 0: there is something in it that
 * launch_record_unpack() does not take. */
size_t launch_record_pack(const struct launch_record *r,
			  uint8_t buf[static LAUNCH_RECORD]);
/* Read one.  False: it is none, or says what cannot be.  Then out has anything. */
bool launch_record_unpack(struct launch_record *out, const uint8_t *buf,
			  size_t len);

/* From the begin of the first part to the end of the last one, us. */
uint32_t launch_record_took(const struct launch_record *r);
/* The slowest node of a part; NULL: it is not known. */
const struct launch_slow *launch_record_slow(const struct launch_record *r,
					     enum launch_part part);

#endif
