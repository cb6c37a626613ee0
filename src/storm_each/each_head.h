/*
 * each_head.h - the way to pullers: the run of them, which the job's head has, and a stream
 * of bytes to and from each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_HEAD_H
#define STORM_EACH_HEAD_H

#include "pull_wire.h"

struct each_heard {
	void (*frame)(uint32_t rank, enum pull_kind kind, struct storm_in *in);
	/* of its stderr */
	void (*words)(const uint8_t *buf, size_t len);
	/* its process, or its node, is gone; code is a run_code() */
	void (*gone)(uint32_t rank, uint32_t code);
};

/* Begin the run, which is in this journal, if it is not NULL.  False: it was said why. */
bool each_head_open(const struct each_heard *heard, const char *journal);
int each_head_fd(void);
/* Does something wait to be sent to the head? */
bool each_head_waits(void);
/* ms after which each_head_patience() is to be called, or -1. */
int each_head_timeout(void);
void each_head_patience(void);
/* Take what is there.  False: the run is over; *status is how. */
bool each_head_hear(int *status);
/* What is sent to a puller: frames are put in; NULL: no memory. */
struct pull_bytes *each_head_to(uint32_t rank);
/* Its input ends, when all of this is sent. */
void each_head_end(uint32_t rank);
/* Send what can be sent without waiting. */
void each_head_send(void);

#endif
