/*
 * run_connect.h - the way from storm run to the head of this job's launchers, which it
 * starts if there are none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_CONNECT_H
#define STORM_RUN_CONNECT_H

#include "src/storm_launcher/run_sock.h"
#include "src/storm_launcher/run_wire.h"

struct run_job {
	const char *id;
	char path[RUN_SOCK_PATH];
};

/* The job in which this is.  False: it was said why. */
bool run_job_find(struct run_job *j);

/* A connection to the head, which is started if there is none; or -1, and it was said
 * why.  Without start errno tells then whether nobody is there; 0: this host cannot
 * know. */
int run_connect(const struct run_job *j, bool start);
/* Does errno say so? */
bool run_nobody_there(void);

/* What waits longer says so: */
#define SAY_WAITS 1000 /* ms */
/* for what it asks for, which a run has, or if that is "" some runs; */
void run_say_waits(const char *run, const struct run_ask *ask);
/* for the next head, as this one ends; */
void run_say_next(void);
/* and for a head that is silent. */
void run_say_unanswered(void);

#endif
