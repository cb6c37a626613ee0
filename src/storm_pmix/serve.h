/*
 * serve.h - the state of storm_pmix, of which each file has its part:
 *
 *	storm_pmix.c	the loop
 *	serve_runs.c	how a run begins and ends
 *	serve_info.c	what PMIx is told of it
 *	serve_calls.c	what libpmix asks for
 *	serve_direct.c	data of one rank, for another one
 *	serve_say.c	what the launcher is told
 *
 * Each calls those below it alone.  libpmix calls from a thread of its own; the loop has
 * the main thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SERVE_H
#define STORM_SERVE_H

#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>

#include "src/storm_launcher/px_wire.h"

/* Ranks here wait for others. */
struct served_fence {
	struct served_fence *next;
	struct storm_idset ranks;
	pmix_modex_cbfunc_t done;
	void *arg;
	uint8_t *data; /* that all nodes have brought, `come` bytes of it */
	size_t come;
};

struct served_ask;

struct served_run {
	struct served_run *next;
	uint64_t number;
	pmix_nspace_t space;
	uint32_t tasks, first, here; /* ranks */
	char dir[PX_DIR + 24];
	struct served_fence *fences; /* the oldest first */
	struct served_ask *asks;     /* serve_direct.c */
};

extern struct serve {
	int launcher;	  /* its socket */
	const char *dir;  /* that is this process's */
	const char *node; /* as Slurm calls it */
	pthread_mutex_t lock;
	struct served_run *runs; /* under the lock, and what they have */
} serve;

/* ------------------------------------------------------------ serve_say.c --- */

/* Tell the launcher, from any thread. */
void serve_send(enum px_kind kind, const struct px_msg *m);
void serve_send_frame(enum px_kind kind, const uint8_t *body, size_t len);
/* A fault of a run; 0: of all. */
__attribute__((format(printf, 2, 3))) void serve_fault(uint64_t run,
						       const char *fmt, ...);
/* The run of a rank, that with this number.  Under the lock.  NULL: there is none. */
struct served_run *serve_run_of(const pmix_proc_t *p);
struct served_run *serve_run_numbered(uint64_t number);

/* ---------------------------------------------------------- serve_direct.c --- */

/* libpmix asks for data of a rank elsewhere. */
pmix_status_t serve_direct(const pmix_proc_t *p, const pmix_info_t *info,
			   size_t ninfo, pmix_modex_cbfunc_t done, void *arg);
/* It has come, or does not; another node asks for that of a rank here. */
void serve_given(const struct px_msg *m);
void serve_wanted(const struct px_msg *m);
/* Nobody waits for it any more.  Under the lock. */
void serve_end_asks(struct served_run *run);

/* ----------------------------------------------------------- serve_calls.c --- */

extern pmix_server_module_t serve_module;
/* All nodes have come to a fence; f is one piece of what they bring. */
void serve_fenced(const struct pmi_fenced *f);
/* Nobody waits for fences of this run any more.  Under the lock. */
void serve_end_fences(struct served_run *run);

/* ------------------------------------------------------------ serve_info.c --- */

/* What PMIx is told of a run, *count values, for PMIX_INFO_FREE().  NULL: names are no
 * list, or there is no memory. */
pmix_info_t *serve_info(const struct px_register *r,
			const struct served_run *run, size_t *count);

/* ------------------------------------------------------------ serve_runs.c --- */

void serve_register(const struct px_register *r);
void serve_drop(uint64_t number);

#endif
