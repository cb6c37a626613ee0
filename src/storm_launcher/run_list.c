/*
 * run_list.c - see run_list.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "run_list.h"

/* Up to its zero, which stays. */
static const char *run_listed_text(struct storm_in *i)
{
	size_t left = (size_t) (i->end - i->p);
	const uint8_t *end = left ? memchr(i->p, 0, left) : NULL;

	if (i->bad || !end) {
		i->bad = true;
		return "";
	}
	return (const char *) storm_get(i, (size_t) (end + 1 - i->p));
}

size_t run_listed_len(const struct run_listed *l)
{
	return 8 + 1 + 8 + 2 * 4 + 8 + strlen(l->nodes) + 1 +
	       strlen(l->command) + 1;
}

void run_listed_put(struct storm_out *o, const struct run_listed *l)
{
	storm_put64(o, l->number);
	storm_put8(o, (uint8_t) l->state);
	storm_put64(o, l->age);
	storm_put32(o, l->tasks);
	storm_put32(o, l->ended);
	storm_put64(o, l->cpus);
	storm_put(o, l->nodes, strlen(l->nodes) + 1);
	storm_put(o, l->command, strlen(l->command) + 1);
}

bool run_listed_get(struct storm_in *i, struct run_listed *l)
{
	l->number = storm_get64(i);
	l->state = storm_get8(i);
	l->age = storm_get64(i);
	l->tasks = storm_get32(i);
	l->ended = storm_get32(i);
	l->cpus = storm_get64(i);
	l->nodes = run_listed_text(i);
	l->command = run_listed_text(i);
	return storm_in_done(i) && l->state <= RUN_LIST_ENDS;
}

void run_stocks_put(struct storm_out *o, const struct run_stocks *s)
{
	storm_put64(o, s->cpus);
	storm_put64(o, s->free_cpus);
	storm_put64(o, s->gpus);
	storm_put64(o, s->free_gpus);
	storm_put64(o, s->mem);
	storm_put64(o, s->free_mem);
}

bool run_stocks_get(struct storm_in *i, struct run_stocks *s)
{
	s->cpus = storm_get64(i);
	s->free_cpus = storm_get64(i);
	s->gpus = storm_get64(i);
	s->free_gpus = storm_get64(i);
	s->mem = storm_get64(i);
	s->free_mem = storm_get64(i);
	return storm_in_done(i);
}
