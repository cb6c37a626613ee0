/*
 * px_wire.c - see px_wire.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "px_wire.h"
#include "run_texts.h"
#include "src/libstorm/base/idset.h"

/* --------------------------------------------------------------------- messages --- */

size_t px_msg_len(const struct px_msg *m)
{
	return 8 + 4 + 4 + storm_set_len(&m->ranks) + m->len;
}

void px_msg_put(struct storm_out *o, const struct px_msg *m)
{
	storm_put64(o, m->run);
	storm_put32(o, m->rank);
	storm_put32(o, m->code);
	storm_put_set(o, &m->ranks);
	if (m->len)
		storm_put(o, m->data, m->len);
}

bool px_msg_get(struct storm_in *i, struct px_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->run = storm_get64(i);
	m->rank = storm_get32(i);
	m->code = storm_get32(i);
	storm_get_set(i, &m->ranks, PX_RANKS - 1);
	m->len = i->bad ? 0 : (size_t) (i->end - i->p);
	m->data = storm_get(i, m->len);
	if (storm_in_done(i) && m->len <= PMI_DATA_MAX)
		return true;
	px_msg_free(m);
	return false;
}

void px_msg_free(struct px_msg *m)
{
	storm_idset_clear(&m->ranks);
}

/* ------------------------------------------------------------------------- runs --- */

size_t px_register_len(const struct px_register *r)
{
	return 8 + 4 + strlen(r->space) + 1 + 4 + strlen(r->names) + 1 + 4 + 4 +
	       4 * ((size_t) r->nodes + 1);
}

void px_register_put(struct storm_out *o, const struct px_register *r)
{
	storm_put64(o, r->run);
	run_put_text(o, r->space);
	run_put_text(o, r->names);
	storm_put32(o, r->nodes);
	storm_put32(o, r->nth);
	for (uint32_t n = 0; n <= r->nodes; n++)
		storm_put32(o, r->rank[n]);
}

/* Each node has a rank; they ascend from 0. */
static bool px_ranks_good(const uint32_t *rank, uint32_t nodes)
{
	for (uint32_t n = 0; n < nodes; n++)
		if (rank[n] >= rank[n + 1])
			return false;
	return !rank[0] && rank[nodes] <= PX_RANKS;
}

bool px_register_get(struct storm_in *i, struct px_register *r)
{
	uint32_t *rank = NULL;

	memset(r, 0, sizeof(*r));
	r->run = storm_get64(i);
	r->space = run_get_text(i);
	r->names = run_get_text(i);
	r->nodes = storm_get32(i);
	r->nth = storm_get32(i);
	if (!i->bad && r->nodes && r->nth < r->nodes &&
	    (size_t) (i->end - i->p) == 4 * ((size_t) r->nodes + 1))
		rank = calloc((size_t) r->nodes + 1, sizeof(*rank));
	for (uint32_t n = 0; rank && n <= r->nodes; n++)
		rank[n] = storm_get32(i);
	r->rank = rank;
	if (rank && storm_in_done(i) && *r->space &&
	    strlen(r->space) < PX_NAMESPACE && px_ranks_good(rank, r->nodes))
		return true;
	px_register_free(r);
	return false;
}

void px_register_free(struct px_register *r)
{
	free((uint32_t *) r->rank);
	r->rank = NULL;
}

/* -------------------------------------------------------------------- variables --- */

static bool px_env_has(char *const *env, const char *variable)
{
	for (; *env; env++)
		if (!strcmp(*env, variable))
			return true;
	return false;
}

/* Those of the kth rank that are sent; o NULL: how many bytes and how many there are. */
static uint32_t px_env_each(struct storm_out *o, char *const *const *env,
			    uint32_t k, size_t *bytes)
{
	uint32_t count = 0;

	for (char *const *e = env[k]; *e; e++) {
		if (k && px_env_has(env[0], *e))
			continue;
		count++;
		*bytes += 4 + strlen(*e) + 1;
		if (o)
			run_put_text(o, *e);
	}
	return count;
}

size_t px_env_len(char *const *const *env, uint32_t count)
{
	size_t bytes = 8 + 4;

	for (uint32_t k = 0; k < count; k++) {
		bytes += 4;
		px_env_each(NULL, env, k, &bytes);
	}
	return bytes;
}

void px_env_put(struct storm_out *o, uint64_t run, char *const *const *env,
		uint32_t count)
{
	size_t bytes = 0;

	storm_put64(o, run);
	storm_put32(o, count);
	for (uint32_t k = 0; k < count; k++) {
		storm_put32(o, px_env_each(NULL, env, k, &bytes));
		px_env_each(o, env, k, &bytes);
	}
}

/* The variables of all, or how many there are if e has no room for them yet. */
static uint32_t px_env_read(struct storm_in *i, struct px_env *e)
{
	uint32_t have = 0;

	for (uint32_t k = 0; !i->bad && k < e->count; k++) {
		uint32_t n = storm_get32(i);

		i->bad |= n > PX_VARIABLES;
		if (e->at)
			e->at[k] = have;
		for (uint32_t v = 0; !i->bad && v < n; v++) {
			const char *text = run_get_text(i);

			i->bad |= *text == '=' || !strchr(text, '=');
			if (e->text)
				e->text[have] = text;
			have++;
		}
	}
	if (e->at)
		e->at[e->count] = have;
	return have;
}

bool px_env_get(struct storm_in *i, struct px_env *e)
{
	struct storm_in again;
	uint32_t all;

	memset(e, 0, sizeof(*e));
	e->run = storm_get64(i);
	e->count = storm_get32(i);
	again = *i;
	all = px_env_read(&again, e);
	if (!e->count || !storm_in_done(&again))
		return false;
	e->text = calloc(all ? all : 1, sizeof(*e->text));
	e->at = calloc((size_t) e->count + 1, sizeof(*e->at));
	if (e->text && e->at) {
		px_env_read(i, e);
		return true;
	}
	px_env_free(e);
	return false;
}

void px_env_free(struct px_env *e)
{
	free(e->text);
	free(e->at);
	memset(e, 0, sizeof(*e));
}

static bool px_same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return !strncmp(a, b, n + 1);
}

char **px_env_of(const struct px_env *e, uint32_t k)
{
	uint32_t own = e->at[k + 1] - e->at[k], all = e->at[1], have = 0;
	char **env = calloc((size_t) own + all + 1, sizeof(*env));

	for (uint32_t v = 0; env && k && v < all; v++) {
		bool other = false;

		for (uint32_t o = e->at[k]; !other && o < e->at[k + 1]; o++)
			other = px_same_name(e->text[v], e->text[o]);
		if (!other)
			env[have++] = (char *) e->text[v];
	}
	for (uint32_t o = e->at[k]; env && o < e->at[k + 1]; o++)
		env[have++] = (char *) e->text[o];
	return env;
}
