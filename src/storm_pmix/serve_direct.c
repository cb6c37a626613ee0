/*
 * serve_direct.c - data of one rank that came to no fence, and that another one asks for:
 * from here, and here.  See serve.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "serve.h"

/* A rank here waits for data of one elsewhere. */
struct served_ask {
	struct served_ask *next;
	uint32_t token;
	pmix_modex_cbfunc_t done;
	void *arg;
};

/* Another node waits for data of a rank here. */
struct served_wish {
	uint64_t run;
	uint32_t node, token;
};

/* ------------------------------------------------------------------------ from here --- */

pmix_status_t serve_direct(const pmix_proc_t *p, const pmix_info_t *info,
			   size_t ninfo, pmix_modex_cbfunc_t done, void *arg)
{
	static uint32_t last; /* under the lock */
	struct served_ask *a = calloc(1, sizeof(*a));
	struct px_msg m = { .rank = p->rank };
	struct served_run *run;

	(void) info;
	(void) ninfo;
	pthread_mutex_lock(&serve.lock);
	run = serve_run_of(p);
	if (run && a && p->rank < run->tasks) {
		a->token = m.code = ++last;
		a->done = done;
		a->arg = arg;
		a->next = run->asks;
		run->asks = a;
		m.run = run->number;
	}
	pthread_mutex_unlock(&serve.lock);
	if (m.run)
		serve_send(PX_WANT, &m);
	else
		free(a);
	return m.run ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

/* The one with this number, taken out.  NULL: it is gone. */
static struct served_ask *serve_ask_of(uint64_t number, uint32_t token)
{
	struct served_run *run;
	struct served_ask **at, *a = NULL;

	pthread_mutex_lock(&serve.lock);
	run = serve_run_numbered(number);
	at = run ? &run->asks : NULL;
	while (at && *at && (*at)->token != token)
		at = &(*at)->next;
	if (at && *at) {
		a = *at;
		*at = a->next;
	}
	pthread_mutex_unlock(&serve.lock);
	return a;
}

void serve_given(const struct px_msg *m)
{
	struct served_ask *a = serve_ask_of(m->run, m->code);
	size_t len = m->len ? m->len - 1 : 0;
	char *data = malloc(len ? len : 1);

	if (!data)
		abort(); /* as in serve_send() */
	if (a && m->len && *m->data) {
		memcpy(data, m->data + 1, len);
		a->done(PMIX_SUCCESS, data, len, a->arg, free, data);
		data = NULL; /* libpmix frees it */
	} else if (a) {
		a->done(PMIX_ERR_NOT_FOUND, NULL, 0, a->arg, NULL, NULL);
	}
	free(data);
	free(a);
}

void serve_end_asks(struct served_run *run)
{
	struct served_ask *a;

	while ((a = run->asks)) {
		run->asks = a->next;
		a->done(PMIX_ERR_LOST_CONNECTION, NULL, 0, a->arg, NULL, NULL);
		free(a);
	}
}

/* ----------------------------------------------------------------------------- here --- */

/* In libpmix's thread, or at once: what it has of the rank, which stays its own. */
static void serve_wish_done(pmix_status_t rc, char *data, size_t len, void *arg)
{
	struct served_wish *w = arg;
	uint8_t *body = malloc(len + 1);
	struct px_msg m = { .run = w->run, .rank = w->node, .code = w->token };
	uint8_t none = 0;

	m.data = &none;
	m.len = 1;
	if (body && rc == PMIX_SUCCESS && len < PMI_PIECE) {
		*body = 1;
		if (len)
			memcpy(body + 1, data, len);
		m.data = body;
		m.len = len + 1;
	}
	serve_send(PX_GIVEN, &m);
	free(body);
	free(w);
}

void serve_wanted(const struct px_msg *m)
{
	struct served_wish *w = calloc(1, sizeof(*w));
	const struct served_run *run;
	pmix_status_t rc = PMIX_ERR_NOT_FOUND;
	pmix_proc_t p;

	if (!w || !m->ranks.count) {
		free(w);
		return;
	}
	w->run = m->run;
	w->node = m->ranks.r[0].first;
	w->token = m->code;
	pthread_mutex_lock(&serve.lock);
	run = serve_run_numbered(m->run);
	if (run)
		PMIX_LOAD_PROCID(&p, run->space, m->rank);
	pthread_mutex_unlock(&serve.lock);
	if (run)
		rc = PMIx_server_dmodex_request(&p, serve_wish_done, w);
	if (rc != PMIX_SUCCESS)
		serve_wish_done(rc, NULL, 0, w);
}
