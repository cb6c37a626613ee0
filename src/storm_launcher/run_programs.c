/*
 * run_programs.c - see run_programs.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_programs.h"
#include "run_texts.h"
#include "src/libstorm/base/minmax.h"

#define RANGE_LEN 8
/* A program without arguments: numbers of its ranges and strings, and one of these. */
#define PROGRAM_LEN (4 + 4 + 4 + 1)

/* ------------------------------------------------------------------- as bytes --- */

size_t run_programs_len(const struct run_programs *p)
{
	size_t n = 4;

	for (uint32_t k = 0; k < p->count; k++)
		n += 4 + (size_t) p->list[k].count * RANGE_LEN +
		     run_list_len(p->list[k].argv);
	return n;
}

void run_programs_put(struct storm_out *o, const struct run_programs *p)
{
	storm_put32(o, p->count);
	for (uint32_t k = 0; k < p->count; k++) {
		const struct run_program *one = &p->list[k];

		storm_put32(o, one->count);
		for (uint32_t r = 0; r < one->count; r++) {
			storm_put32(o, one->ranks[r].first);
			storm_put32(o, one->ranks[r].last);
		}
		run_put_list(o, one->argv);
	}
}

static size_t run_left(const struct storm_in *i)
{
	return (size_t) (i->end - i->p);
}

static void run_program_get(struct storm_in *i, struct run_program *one)
{
	one->count = storm_get32(i);
	if (one->count > run_left(i) / RANGE_LEN) {
		one->count = 0;
		i->bad = true;
		return;
	}
	if (one->count)
		one->ranks = calloc(one->count, sizeof(*one->ranks));
	if (one->count && !one->ranks) {
		one->count = 0;
		i->bad = true;
	}
	for (uint32_t r = 0; r < one->count; r++) {
		one->ranks[r].first = storm_get32(i);
		one->ranks[r].last = storm_get32(i);
		i->bad |= one->ranks[r].first > one->ranks[r].last ||
			  one->ranks[r].last == UINT32_MAX;
	}
	one->argv = run_get_list(i);
	i->bad |= one->argv && !one->argv[0];
}

bool run_programs_get(struct storm_in *i, struct run_programs *p)
{
	uint32_t count = storm_get32(i);

	*p = (struct run_programs) { 0 };
	if (i->bad || count > run_left(i) / PROGRAM_LEN) {
		i->bad = true;
		return false;
	}
	if (count)
		p->list = calloc(count, sizeof(*p->list));
	i->bad |= count && !p->list;
	for (; p->count < count && !i->bad; p->count++)
		run_program_get(i, &p->list[p->count]);
	if (!i->bad)
		return true;
	run_programs_free(p);
	return false;
}

void run_programs_free(struct run_programs *p)
{
	for (uint32_t k = 0; k < p->count; k++) {
		free(p->list[k].ranks);
		free(p->list[k].argv);
	}
	free(p->list);
	free(p->text);
	*p = (struct run_programs) { 0 };
}

/* ------------------------------------------------------------------ whose it is --- */

static bool run_program_has(const struct run_program *one, uint32_t rank,
			    uint32_t *place)
{
	uint32_t before = 0;

	*place = rank;
	for (uint32_t r = 0; r < one->count; r++) {
		const struct storm_range *range = &one->ranks[r];

		if (rank >= range->first && rank <= range->last) {
			*place = before + rank - range->first;
			return true;
		}
		before += range->last - range->first + 1;
	}
	return !one->count;
}

const struct run_program *run_programs_find(const struct run_programs *p,
					    uint32_t rank, uint32_t *place)
{
	for (uint32_t k = 0; k < p->count; k++)
		if (run_program_has(&p->list[k], rank, place))
			return &p->list[k];
	return NULL;
}

uint32_t run_programs_tasks(const struct run_programs *p)
{
	uint32_t tasks = 0;

	for (uint32_t k = 0; k < p->count; k++)
		for (uint32_t r = 0; r < p->list[k].count; r++)
			tasks = (uint32_t) storm_max(
				tasks, p->list[k].ranks[r].last + 1);
	return tasks;
}

bool run_programs_cover(const struct run_programs *p, uint32_t tasks,
			uint32_t *missing)
{
	struct storm_idset named = { 0 };
	bool rest = false;

	/* without memory a launcher finds it out */
	for (uint32_t k = 0; k < p->count; k++) {
		rest |= !p->list[k].count;
		for (uint32_t r = 0; r < p->list[k].count; r++)
			rest |= storm_idset_add(&named,
						p->list[k].ranks[r].first,
						p->list[k].ranks[r].last) != 0;
	}
	*missing = named.count && !named.r[0].first ? named.r[0].last + 1 : 0;
	storm_idset_clear(&named);
	return rest || *missing >= tasks;
}

struct storm_idset *run_programs_split(const struct run_programs *p,
				       const struct storm_idset *ranks)
{
	struct storm_idset *sets = p->count ? calloc(p->count, sizeof(*sets)) :
					      NULL;
	uint32_t place;

	for (uint32_t k = 0; sets && k < ranks->count; k++)
		for (uint32_t n = ranks->r[k].first; n <= ranks->r[k].last;
		     n++) {
			const struct run_program *one =
				run_programs_find(p, n, &place);

			/* without memory a name is not told */
			if (one)
				storm_idset_add(&sets[one - p->list], n, n);
		}
	return sets;
}

/* -------------------------------------------------------------------- arguments --- */

/* An argument of a rank, with its zero, as far as there is room.  Its whole length. */
static size_t run_argument(const char *from, uint32_t rank, uint32_t place,
			   char *out, size_t room)
{
	char number[12];
	size_t len = 0;

	for (; *from; from++) {
		const char *what = from;
		size_t n = 1;

		if (*from == '%' && (from[1] == 't' || from[1] == 'o')) {
			from++;
			n = (size_t) snprintf(number, sizeof(number), "%u",
					      *from == 't' ? rank : place);
			what = number;
		} else if (*from == '%' && from[1] == '%') {
			from++;
		}
		if (out && len + n < room)
			memcpy(out + len, what, n);
		len += n;
	}
	if (out && len < room)
		out[len] = '\0';
	return len + 1;
}

char **run_programs_argv(const struct run_programs *p, uint32_t rank)
{
	uint32_t place, words = 0;
	const struct run_program *one = run_programs_find(p, rank, &place);
	size_t len = 0;
	char **argv, *text;

	if (!one)
		return NULL;
	for (; one->argv[words]; words++)
		len += run_argument(one->argv[words], rank, place, NULL, 0);
	argv = malloc((words + (size_t) 1) * sizeof(*argv) + len);
	if (!argv)
		return NULL;
	text = (char *) (argv + words + 1);
	for (uint32_t k = 0; k < words; k++) {
		size_t n = run_argument(one->argv[k], rank, place, text, len);

		argv[k] = text;
		text += n;
		len -= n;
	}
	argv[words] = NULL;
	return argv;
}
