/*
 * serve_calls.c - what libpmix asks for, in its thread, and fences' ends.  See serve.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "serve.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

/* A message of a rank. */
static void serve_say(enum px_kind kind, const pmix_proc_t *p, int code,
		      const char *text)
{
	struct px_msg m = { .rank = p->rank, .code = (uint32_t) code };
	const struct served_run *run;

	pthread_mutex_lock(&serve.lock);
	run = serve_run_of(p);
	m.run = run ? run->number : 0;
	pthread_mutex_unlock(&serve.lock);
	m.data = (const uint8_t *) text;
	m.len = text ? storm_min(strlen(text), PMI_TEXT_MAX - 1) : 0;
	if (m.run)
		serve_send(kind, &m);
}

static pmix_status_t serve_connected(const pmix_proc_t *p, void *object,
				     pmix_info_t *info, size_t ninfo,
				     pmix_op_cbfunc_t done, void *arg)
{
	(void) object;
	(void) info;
	(void) ninfo;
	(void) done;
	(void) arg;
	serve_say(PX_JOINED, p, 0, NULL);
	return PMIX_OPERATION_SUCCEEDED;
}

/* The rank has no answer yet: the launcher hears of it before its end. */
static pmix_status_t serve_finalized(const pmix_proc_t *p, void *object,
				     pmix_op_cbfunc_t done, void *arg)
{
	(void) object;
	(void) done;
	(void) arg;
	serve_say(PX_LEFT, p, 0, NULL);
	return PMIX_OPERATION_SUCCEEDED;
}

/* Likewise.  All ranks end with it, whichever it names. */
static pmix_status_t serve_abort(const pmix_proc_t *p, void *object, int status,
				 const char *msg, pmix_proc_t *procs,
				 size_t nprocs, pmix_op_cbfunc_t done,
				 void *arg)
{
	(void) object;
	(void) procs;
	(void) nprocs;
	(void) done;
	(void) arg;
	serve_say(PX_ABORT, p, status, msg);
	return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t serve_spawn(const pmix_proc_t *p, const pmix_info_t *info,
				 size_t ninfo, const pmix_app_t *apps,
				 size_t napps, pmix_spawn_cbfunc_t done,
				 void *arg)
{
	(void) info;
	(void) ninfo;
	(void) apps;
	(void) napps;
	(void) done;
	(void) arg;
	serve_say(PX_SPAWN, p, 0, NULL);
	return PMIX_ERR_NOT_SUPPORTED;
}

/* ------------------------------------------------------------------------ fences --- */

static void serve_free_fence(struct served_fence *f)
{
	storm_idset_clear(&f->ranks);
	free(f->data);
	free(f);
}

/* The ranks that a fence is of.  False: it is not of one run alone, or there is no
 * memory. */
static bool serve_ranks(const struct served_run *run, const pmix_proc_t *p,
			size_t n, struct storm_idset *out)
{
	for (size_t k = 0; k < n; k++) {
		bool all = p[k].rank == PMIX_RANK_WILDCARD;

		if (!PMIX_CHECK_NSPACE(run->space, p[k].nspace) ||
		    (!all && p[k].rank >= run->tasks) ||
		    storm_idset_add(out, all ? 0 : p[k].rank,
				    all ? run->tasks - 1 : p[k].rank))
			return false;
	}
	return n > 0;
}

/* It waits for serve_fenced().  False: it cannot. */
static bool serve_fence_begin(struct served_run *run, struct served_fence *f,
			      const pmix_proc_t *procs, size_t nprocs,
			      struct px_msg *m)
{
	struct served_fence **at = &run->fences;

	if (!serve_ranks(run, procs, nprocs, &f->ranks) ||
	    storm_idset_union(&m->ranks, &f->ranks))
		return false;
	while (*at)
		at = &(*at)->next;
	*at = f;
	return true;
}

/* The data is the host's, who frees it. */
static pmix_status_t serve_fence(const pmix_proc_t *procs, size_t nprocs,
				 const pmix_info_t *info, size_t ninfo,
				 char *data, size_t len,
				 pmix_modex_cbfunc_t done, void *arg)
{
	struct px_msg m = { .data = (const uint8_t *) data, .len = len };
	struct served_fence *f = calloc(1, sizeof(*f));
	struct served_run *run;
	bool good = false, big;

	(void) info;
	(void) ninfo;
	pthread_mutex_lock(&serve.lock);
	run = nprocs ? serve_run_of(&procs[0]) : NULL;
	big = run && len > PMI_DATA_MAX;
	m.run = run ? run->number : 0;
	if (f) {
		f->done = done;
		f->arg = arg;
		good = run && !big &&
		       serve_fence_begin(run, f, procs, nprocs, &m);
		if (!good)
			serve_free_fence(f);
	}
	pthread_mutex_unlock(&serve.lock);
	if (good)
		serve_send(PX_FENCE, &m);
	else if (big)
		serve_fault(
			m.run,
			"ranks of this node bring %zu bytes to a fence, and %u are all that one takes",
			len, PMI_DATA_MAX);
	px_msg_free(&m);
	free(data);
	return good ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
}

static bool serve_same(const struct storm_idset *a, const struct storm_idset *b)
{
	return a->count == b->count &&
	       !memcmp(a->r, b->r, a->count * sizeof(*a->r));
}

/* The oldest of these ranks, taken out when its last piece has come.  Under the lock. */
static struct served_fence *serve_piece(const struct pmi_fenced *f)
{
	struct served_run *run = serve_run_numbered(f->run);
	struct served_fence **at, *one;

	at = run ? &run->fences : NULL;
	while (at && *at && !serve_same(&(*at)->ranks, &f->ranks))
		at = &(*at)->next;
	one = at ? *at : NULL;
	if (!one)
		return NULL;
	if (!one->data)
		one->data = malloc(f->all ? f->all : 1);
	if (!one->data)
		abort(); /* likewise */
	if (f->at == one->come && f->len) {
		memcpy(one->data + f->at, f->data, f->len);
		one->come += f->len;
	}
	if (one->come < f->all)
		return NULL;
	*at = one->next;
	return one;
}

void serve_fenced(const struct pmi_fenced *f)
{
	struct served_fence *one;

	pthread_mutex_lock(&serve.lock);
	one = serve_piece(f);
	pthread_mutex_unlock(&serve.lock);
	if (!one)
		return;
	one->done(PMIX_SUCCESS, (char *) one->data, one->come, one->arg, free,
		  one->data);
	one->data = NULL; /* libpmix frees it */
	serve_free_fence(one);
}

void serve_end_fences(struct served_run *run)
{
	struct served_fence *f;

	while ((f = run->fences)) {
		run->fences = f->next;
		f->done(PMIX_ERR_LOST_CONNECTION, NULL, 0, f->arg, NULL, NULL);
		serve_free_fence(f);
	}
}

/* What is not here libpmix refuses by itself: names that are published, and processes that
 * connect to others. */
pmix_server_module_t serve_module = {
	.client_connected2 = serve_connected,
	.client_finalized = serve_finalized,
	.abort = serve_abort,
	.fence_nb = serve_fence,
	.direct_modex = serve_direct,
	.spawn = serve_spawn,
};
