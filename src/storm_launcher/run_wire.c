/*
 * run_wire.c - see run_wire.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_texts.h"
#include "run_wire.h"
#include "src/libstorm/base/idset.h"

/* ------------------------------------------------------------- the program --- */

void run_window_put(struct storm_out *o, const struct run_window *w)
{
	storm_put16(o, w->rows);
	storm_put16(o, w->columns);
	storm_put16(o, w->width);
	storm_put16(o, w->height);
}

void run_window_get(struct storm_in *i, struct run_window *w)
{
	w->rows = storm_get16(i);
	w->columns = storm_get16(i);
	w->width = storm_get16(i);
	w->height = storm_get16(i);
}

size_t run_what_len(const struct run_what *w)
{
	size_t n = 4 + sizeof(w->limit) + 4 + strlen(w->cwd) + 1;

	for (int k = 0; k < 3; k++)
		n += 4 + strlen(w->stream[k]) + 1;
	return n + 10 + RUN_WINDOW_LEN + 1 + 4 + strlen(w->bind_list) + 1 + 2 +
	       1 + 4 + run_programs_len(&w->programs) + run_list_len(w->argv) +
	       run_list_len(w->env);
}

void run_what_put(struct storm_out *o, const struct run_what *w)
{
	storm_put32(o, w->umask);
	for (int k = 0; k < RUN_LIMITS; k++)
		storm_put64(o, w->limit[k]);
	run_put_text(o, w->cwd);
	for (int k = 0; k < 3; k++)
		run_put_text(o, w->stream[k]);
	storm_put8(o, w->label);
	storm_put8(o, w->fold);
	storm_put8(o, w->unbuffered);
	storm_put8(o, w->append);
	storm_put8(o, w->direct);
	storm_put8(o, w->lends);
	storm_put8(o, w->framed);
	storm_put8(o, w->tells);
	storm_put8(o, w->pty);
	run_window_put(o, &w->window);
	storm_put8(o, (uint8_t) w->mpi);
	storm_put8(o, (uint8_t) w->bind);
	run_put_text(o, w->bind_list);
	storm_put8(o, w->bind_verbose);
	storm_put8(o, w->no_gpus);
	storm_put8(o, (uint8_t) w->input);
	storm_put32(o, w->input_rank);
	run_programs_put(o, &w->programs);
	run_put_list(o, w->argv);
	run_put_list(o, w->env);
}

bool run_what_get(struct storm_in *i, struct run_what *w)
{
	memset(w, 0, sizeof(*w));
	w->umask = storm_get32(i) & 0777;
	for (int k = 0; k < RUN_LIMITS; k++)
		w->limit[k] = storm_get64(i);
	w->cwd = run_get_text(i);
	for (int k = 0; k < 3; k++)
		w->stream[k] = run_get_text(i);
	w->label = storm_get8(i);
	w->fold = storm_get8(i);
	w->unbuffered = storm_get8(i);
	w->append = storm_get8(i);
	w->direct = storm_get8(i);
	w->lends = storm_get8(i);
	w->framed = storm_get8(i);
	w->tells = storm_get8(i);
	w->pty = storm_get8(i);
	run_window_get(i, &w->window);
	w->mpi = (enum run_mpi) storm_get8(i);
	w->bind = (enum run_bind) storm_get8(i);
	w->bind_list = run_get_text(i);
	w->bind_verbose = storm_get8(i);
	w->no_gpus = storm_get8(i);
	w->input = (enum run_input) storm_get8(i);
	w->input_rank = storm_get32(i);
	run_programs_get(i, &w->programs);
	w->argv = run_get_list(i);
	w->env = run_get_list(i);
	if (storm_in_done(i) && w->argv[0] && w->input < RUN_INPUTS &&
	    w->mpi < RUN_MPIS && w->bind < RUN_BINDS)
		return true;
	run_what_free(w);
	return false;
}

void run_what_free(struct run_what *w)
{
	run_programs_free(&w->programs);
	free(w->argv);
	free(w->env);
	w->argv = w->env = NULL;
}

size_t run_ask_len(const struct run_ask *a)
{
	return 4 + 7 * 4 + 2 * 8 + 3 + 4 + strlen(a->with) + 1 + 4 +
	       strlen(a->without) + 1 + 4 + strlen(a->journal) + 1;
}

void run_ask_put(struct storm_out *o, const struct run_ask *a)
{
	storm_put32(o, RUN_VERSION);
	storm_put32(o, a->nodes);
	storm_put32(o, a->tasks);
	storm_put32(o, a->cpus);
	storm_put32(o, a->gpus);
	storm_put32(o, a->node_gpus);
	storm_put64(o, a->mem);
	storm_put64(o, a->cpu_mem);
	storm_put32(o, a->limit);
	storm_put32(o, a->wait);
	storm_put8(o, a->kill);
	storm_put8(o, a->keep);
	storm_put8(o, a->whole);
	run_put_text(o, a->with);
	run_put_text(o, a->without);
	run_put_text(o, a->journal);
}

bool run_ask_get(struct storm_in *i, struct run_ask *a)
{
	bool ours = storm_get32(i) == RUN_VERSION;

	a->nodes = storm_get32(i);
	a->tasks = storm_get32(i);
	a->cpus = storm_get32(i);
	a->gpus = storm_get32(i);
	a->node_gpus = storm_get32(i);
	a->mem = storm_get64(i);
	a->cpu_mem = storm_get64(i);
	a->limit = storm_get32(i);
	a->wait = storm_get32(i);
	a->kill = storm_get8(i);
	a->keep = storm_get8(i);
	a->whole = storm_get8(i);
	a->with = run_get_text(i);
	a->without = run_get_text(i);
	a->journal = run_get_text(i);
	return ours && !i->bad;
}

/* -------------------------------------------------------------- the start --- */

/* Nodes that follow each other and have as many tasks as the kth. */
static uint32_t run_alike(const uint32_t *rank, uint32_t nodes, uint32_t k)
{
	uint32_t n = 1;

	while (k + n < nodes &&
	       rank[k + n + 1] - rank[k + n] == rank[k + 1] - rank[k])
		n++;
	return n;
}

size_t run_start_len(const struct run_start *s)
{
	uint32_t nodes = (uint32_t) storm_idset_size(&s->nodes);
	size_t n = 8 + 4 + 4 + storm_set_len(&s->past) + 3 * 4 + 4 +
		   strlen(s->names) + 1 + storm_set_len(&s->nodes) + 4 + 4 +
		   STORM_ADDR_LEN + 2 + RUN_LIFE + 1;

	for (uint32_t k = 0; k < nodes; k += run_alike(s->rank, nodes, k))
		n += 4 + 4;
	return n;
}

void run_start_put(struct storm_out *o, const struct run_start *s)
{
	uint32_t nodes = (uint32_t) storm_idset_size(&s->nodes), n;

	storm_put64(o, s->number);
	storm_put32(o, s->first);
	storm_put32(o, s->tasks);
	storm_put_set(o, &s->past);
	storm_put32(o, s->cpus);
	storm_put32(o, s->gpus);
	storm_put32(o, s->node_gpus);
	run_put_text(o, s->names);
	storm_put_set(o, &s->nodes);
	for (uint32_t k = 0; k < nodes; k += n) {
		n = run_alike(s->rank, nodes, k);
		storm_put32(o, n);
		storm_put32(o, s->rank[k + 1] - s->rank[k]);
	}
	storm_put32(o, s->local);
	storm_put32(o, s->channel);
	storm_put_addr(o, &s->relay);
	storm_put(o, s->life, RUN_LIFE);
	storm_put8(o, s->usage);
}

static uint32_t *run_get_layout(struct storm_in *i, uint32_t nodes,
				uint32_t tasks)
{
	uint32_t *rank = malloc(((size_t) nodes + 1) * sizeof(*rank));
	uint32_t at = 0;

	if (rank)
		rank[0] = 0;
	while (rank && at < nodes) {
		uint32_t n = storm_get32(i), each = storm_get32(i);

		if (!n || !each || n > nodes - at ||
		    (uint64_t) n * each > tasks - rank[at])
			break;
		for (; n; n--, at++)
			rank[at + 1] = rank[at] + each;
	}
	if (rank && at == nodes && rank[at] == tasks)
		return rank;
	free(rank);
	return NULL;
}

bool run_start_get(struct storm_in *i, struct run_start *s)
{
	const uint8_t *life;

	memset(s, 0, sizeof(*s));
	s->number = storm_get64(i);
	s->first = storm_get32(i);
	s->tasks = storm_get32(i);
	storm_get_set(i, &s->past, UINT32_MAX - 1);
	s->cpus = storm_get32(i);
	s->gpus = storm_get32(i);
	s->node_gpus = storm_get32(i);
	s->names = run_get_text(i);
	storm_get_set(i, &s->nodes, STORM_NODES_MAX - 1);
	s->rank = run_get_layout(i, (uint32_t) storm_idset_size(&s->nodes),
				 s->tasks);
	s->local = storm_get32(i);
	s->channel = storm_get32(i);
	storm_get_addr(i, &s->relay);
	life = storm_get(i, RUN_LIFE);
	if (life)
		memcpy(s->life, life, RUN_LIFE);
	s->usage = storm_get8(i);
	if (!i->bad && s->nodes.count && s->rank &&
	    s->tasks < UINT32_MAX - s->first)
		return true;
	run_start_free(s);
	return false;
}

void run_start_free(struct run_start *s)
{
	storm_idset_clear(&s->past);
	storm_idset_clear(&s->nodes);
	free((uint32_t *) s->rank);
	s->rank = NULL;
}

/* --------------------------------------------------------------- the step --- */

size_t run_step_len(const struct run_step *s)
{
	size_t n = 4 + 4 + RUN_KEY + 4;

	for (uint32_t k = 0; k < s->count; k++)
		n += 4 + 4 + 8 + 4 + strlen(s->nodes[k].name) + 1 +
		     STORM_ADDR_LEN + 2;
	return n;
}

void run_step_put(struct storm_out *o, const struct run_step *s)
{
	storm_put32(o, RUN_VERSION);
	storm_put32(o, s->job);
	storm_put(o, s->key, RUN_KEY);
	storm_put32(o, s->count);
	for (uint32_t k = 0; k < s->count; k++) {
		storm_put32(o, s->cpus[k]);
		storm_put32(o, s->gpus[k]);
		storm_put64(o, s->mem[k]);
		run_put_text(o, s->nodes[k].name);
		storm_put_addr(o, &s->nodes[k].addr);
	}
}

bool run_step_alloc(struct run_step *s, uint32_t count)
{
	s->count = count;
	s->cpus = calloc(count, sizeof(*s->cpus));
	s->gpus = calloc(count, sizeof(*s->gpus));
	s->mem = calloc(count, sizeof(*s->mem));
	s->nodes = calloc(count, sizeof(*s->nodes));
	if (s->cpus && s->gpus && s->mem && s->nodes)
		return true;
	run_step_free(s);
	return false;
}

bool run_step_get(struct storm_in *i, struct run_step *s)
{
	bool ours = storm_get32(i) == RUN_VERSION;
	const uint8_t *key;

	memset(s, 0, sizeof(*s));
	s->job = storm_get32(i);
	key = storm_get(i, RUN_KEY);
	if (key)
		memcpy(s->key, key, RUN_KEY);
	s->count = storm_get32(i);
	if (!ours || i->bad || !s->count || s->count > STORM_NODES_MAX)
		return false;
	if (!run_step_alloc(s, s->count))
		return false;
	for (uint32_t k = 0; k < s->count; k++) {
		s->cpus[k] = storm_get32(i);
		s->gpus[k] = storm_get32(i);
		s->mem[k] = storm_get64(i);
		s->nodes[k].name = run_get_text(i);
		storm_get_addr(i, &s->nodes[k].addr);
	}
	if (storm_in_done(i))
		return true;
	run_step_free(s);
	return false;
}

void run_step_free(struct run_step *s)
{
	free(s->cpus);
	free(s->gpus);
	free(s->mem);
	free(s->nodes);
	s->cpus = s->gpus = NULL;
	s->mem = NULL;
	s->nodes = NULL;
}

/* -------------------------------------------------------------------- key --- */

size_t run_parent_text(const uint8_t life[static RUN_LIFE],
		       char (*out)[RUN_PARENT_TEXT])
{
	char hex[RUN_KEY_TEXT];

	run_key_text(life, &hex); /* as long */
	return (size_t) snprintf(*out, sizeof(*out),
				 RUN_PARENT_NAME "%s:", hex);
}

void run_key_text(const uint8_t key[static RUN_KEY], char (*out)[RUN_KEY_TEXT])
{
	for (int k = 0; k < RUN_KEY; k++)
		snprintf(*out + 2 * k, sizeof(*out) - 2 * (size_t) k, "%02x",
			 key[k]);
}

bool run_key_read(const char *text, uint8_t key[static RUN_KEY])
{
	if (!text || strlen(text) != RUN_KEY_TEXT - 1 ||
	    strspn(text, "0123456789abcdef") != RUN_KEY_TEXT - 1)
		return false;
	for (int k = 0; k < RUN_KEY; k++) {
		char digits[3] = { text[2 * k], text[2 * k + 1], '\0' };

		key[k] = (uint8_t) strtoul(digits, NULL, 16);
	}
	return true;
}
