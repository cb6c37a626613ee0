/*
 * serve_runs.c - how a run begins and ends.  See serve.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve.h"
#include "src/storm_launcher/px_tree.h"

/* Calls of libpmix that are under way; the first fault of them. */
struct serve_calls {
	pthread_mutex_t lock;
	pthread_cond_t all;
	uint32_t left;
	pmix_status_t fault;
};

static void serve_called(pmix_status_t rc, void *arg)
{
	struct serve_calls *c = arg;

	pthread_mutex_lock(&c->lock);
	if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED &&
	    c->fault == PMIX_SUCCESS)
		c->fault = rc;
	if (!--c->left)
		pthread_cond_signal(&c->all);
	pthread_mutex_unlock(&c->lock);
}

/* A call that has returned this calls no more. */
static void serve_begun(struct serve_calls *c, pmix_status_t rc)
{
	if (rc != PMIX_SUCCESS)
		serve_called(rc, c);
}

static pmix_status_t serve_await(struct serve_calls *c)
{
	pthread_mutex_lock(&c->lock);
	while (c->left)
		pthread_cond_wait(&c->all, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return c->fault;
}

#define SERVE_CALLS(n)                                                    \
	{                                                                 \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, (n), \
			PMIX_SUCCESS                                      \
	}

static pmix_status_t serve_register_space(const struct px_register *r,
					  const struct served_run *run)
{
	struct serve_calls c = SERVE_CALLS(1);
	pmix_status_t rc;
	size_t count;
	pmix_info_t *info = serve_info(r, run, &count);

	if (!info)
		return PMIX_ERR_NOMEM;
	serve_begun(&c,
		    PMIx_server_register_nspace(run->space, (int) run->here,
						info, count, serve_called, &c));
	rc = serve_await(&c);
	PMIX_INFO_FREE(info, count);
	return rc;
}

static pmix_status_t serve_register_ranks(const struct served_run *run)
{
	struct serve_calls c = SERVE_CALLS(run->here);

	for (uint32_t k = 0; k < run->here; k++) {
		pmix_proc_t p;

		PMIX_LOAD_PROCID(&p, run->space, run->first + k);
		serve_begun(&c, PMIx_server_register_client(&p, geteuid(),
							    getegid(), NULL,
							    serve_called, &c));
	}
	return serve_await(&c);
}

/* Each rank has one, so that Open MPI makes none elsewhere. */
static bool serve_make_dirs(const struct served_run *run)
{
	char path[sizeof(run->dir) + 12];

	if (mkdir(run->dir, 0700))
		return false;
	for (uint32_t k = 0; k < run->here; k++) {
		snprintf(path, sizeof(path), "%s/%u", run->dir, run->first + k);
		if (mkdir(path, 0700))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------ variables --- */

static void serve_free_env(char ***env, uint32_t count)
{
	for (uint32_t k = 0; env && k < count; k++) {
		for (char **e = env[k]; e && *e; e++)
			free(*e);
		free(env[k]);
	}
	free(env);
}

static void serve_send_env(const struct served_run *run, char ***env)
{
	size_t len = px_env_len((char *const *const *) env, run->here);
	uint8_t *body = len > RUN_FRAME_MAX ? NULL : malloc(len);
	struct storm_out o = { body, body ? body + len : NULL, false };

	if (!body) {
		serve_fault(run->number,
			    "PMIx: the ranks of this node are too many");
		return;
	}
	px_env_put(&o, run->number, (char *const *const *) env, run->here);
	serve_send_frame(PX_ENV, body, len);
	free(body);
}

/* What libpmix wants in each rank's environment. */
static pmix_status_t serve_env(const struct served_run *run)
{
	char ***env = calloc(run->here, sizeof(*env));
	pmix_status_t rc = env ? PMIX_SUCCESS : PMIX_ERR_NOMEM;

	for (uint32_t k = 0; rc == PMIX_SUCCESS && k < run->here; k++) {
		pmix_proc_t p;

		PMIX_LOAD_PROCID(&p, run->space, run->first + k);
		env[k] = calloc(1, sizeof(**env));
		rc = env[k] ? PMIx_server_setup_fork(&p, &env[k]) :
			      PMIX_ERR_NOMEM;
	}
	if (rc == PMIX_SUCCESS)
		serve_send_env(run, env);
	serve_free_env(env, run->here);
	return rc;
}

/* ----------------------------------------------------------------------- runs --- */

void serve_register(const struct px_register *r)
{
	struct served_run *run = calloc(1, sizeof(*run));
	pmix_status_t rc = PMIX_ERR_NOMEM;

	if (run) {
		run->number = r->run;
		PMIX_LOAD_NSPACE(run->space, r->space);
		run->tasks = r->rank[r->nodes];
		run->first = r->rank[r->nth];
		run->here = r->rank[r->nth + 1] - run->first;
		snprintf(run->dir, sizeof(run->dir), "%s/%llu", serve.dir,
			 (unsigned long long) r->run);
		pthread_mutex_lock(&serve.lock);
		run->next = serve.runs;
		serve.runs = run;
		pthread_mutex_unlock(&serve.lock);
		rc = serve_make_dirs(run) ? serve_register_space(r, run) :
					    PMIX_ERR_FILE_OPEN_FAILURE;
	}
	if (rc == PMIX_SUCCESS)
		rc = serve_register_ranks(run);
	if (rc == PMIX_SUCCESS)
		rc = serve_env(run);
	if (rc != PMIX_SUCCESS)
		serve_fault(r->run, "PMIx: the run cannot be registered: %s",
			    PMIx_Error_string(rc));
}

void serve_drop(uint64_t number)
{
	struct serve_calls c = SERVE_CALLS(1);
	struct served_run **at = &serve.runs, *run;

	pthread_mutex_lock(&serve.lock);
	while ((run = *at) && run->number != number)
		at = &run->next;
	if (run) {
		*at = run->next;
		serve_end_fences(run);
		serve_end_asks(run);
	}
	pthread_mutex_unlock(&serve.lock);
	if (!run)
		return;
	PMIx_server_deregister_nspace(run->space, serve_called, &c);
	serve_await(&c);
	px_tree_remove(run->dir);
	free(run);
}
