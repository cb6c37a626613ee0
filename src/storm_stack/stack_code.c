/*
 * stack_code.c - see stack_code.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"
#include "stack_code.h"

#define FIRST_ROOM 64

/* 32 bits of what a stack is known by, and of how often each id has it. */
static uint32_t stack_code(uint64_t hash, uint32_t each)
{
	hash = (hash ^ each) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t) (hash >> 32);
}

/* ------------------------------------------------------------- on the nodes --- */

void stack_tally_next(struct stack_tallies *t)
{
	t->process = t->count;
}

int stack_tally_add(struct stack_tallies *t, const struct stack_one *one,
		    uint32_t rank)
{
	struct stack_tally *all;
	uint32_t room = t->room ? 2 * t->room : FIRST_ROOM;

	for (uint32_t k = t->process; k < t->count; k++)
		if (t->all[k].one == one && t->all[k].rank == rank) {
			t->all[k].count++;
			return STORM_OK;
		}
	if (t->count == t->room) {
		all = realloc(t->all, room * sizeof(*all));
		if (!all)
			return STORM_ENOMEM;
		t->all = all;
		t->room = room;
	}
	t->all[t->count++] = (struct stack_tally) { one, rank, 1 };
	return STORM_OK;
}

void stack_tallies_clear(struct stack_tallies *t)
{
	free(t->all);
	memset(t, 0, sizeof(*t));
}

static int tally_by_rank(const void *va, const void *vb)
{
	const struct stack_tally *a = va, *b = vb;

	if (a->one != b->one)
		return (uintptr_t) a->one < (uintptr_t) b->one ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static int tally_by_count(const void *va, const void *vb)
{
	const struct stack_tally *a = va, *b = vb;

	if (a->one == b->one && a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return tally_by_rank(va, vb);
}

/* Several processes of a rank may have the same stack. */
static void tallies_join(struct stack_tallies *t)
{
	uint32_t n = 0;

	qsort(t->all, t->count, sizeof(*t->all), tally_by_rank);
	for (uint32_t k = 0; k < t->count; k++) {
		if (n && !tally_by_rank(&t->all[n - 1], &t->all[k]))
			t->all[n - 1].count += t->all[k].count;
		else
			t->all[n++] = t->all[k];
	}
	t->count = n;
	t->process = n;
	qsort(t->all, t->count, sizeof(*t->all), tally_by_count);
}

static uint8_t stack_report_kind(const struct stack_tally *t)
{
	if (t->rank == STACK_NO_RANK)
		return REPORT_NO_RANK;
	switch (t->one->kind) {
	case STACK_MAIN:
		return REPORT_MAIN;
	case STACK_THREAD:
		return REPORT_THREAD;
	default:
		return REPORT_FAULT;
	}
}

static uint64_t code_threads(const struct stack_code *c)
{
	return c->each * storm_idset_size(&c->ids);
}

static int code_by_threads(const void *va, const void *vb)
{
	uint64_t a = code_threads(va), b = code_threads(vb);

	return (a < b) - (a > b);
}

static int code_by_code(const void *va, const void *vb)
{
	const struct stack_code *a = va, *b = vb;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->code != b->code)
		return a->code < b->code ? -1 : 1;
	return code_by_threads(va, vb);
}

/* Let go of those from n on. */
static void codes_cut(struct stack_codes *c, uint32_t n)
{
	for (; c->count > n; c->count--)
		storm_idset_clear(&c->all[c->count - 1].ids);
}

/* The first of each code stays, and at most so many. */
static void codes_choose(struct stack_codes *c, uint32_t most)
{
	uint32_t n = 0;

	qsort(c->all, c->count, sizeof(*c->all), code_by_code);
	for (uint32_t k = 0; k < c->count; k++) {
		struct stack_code one = c->all[k];

		if (n && c->all[n - 1].kind == one.kind &&
		    c->all[n - 1].code == one.code)
			continue;
		c->all[k] = c->all[n];
		c->all[n++] = one;
	}
	codes_cut(c, n);
	qsort(c->all, c->count, sizeof(*c->all), code_by_threads);
	codes_cut(c, most);
}

int stack_codes_make(struct stack_tallies *t, uint32_t node,
		     struct stack_codes *out)
{
	struct stack_code *c = NULL;

	memset(out, 0, sizeof(*out));
	if (!t->count)
		return STORM_OK;
	tallies_join(t);
	out->all = calloc(t->count, sizeof(*out->all));
	if (!out->all)
		return STORM_ENOMEM;
	for (uint32_t k = 0; k < t->count; k++) {
		const struct stack_tally *y = &t->all[k];
		uint8_t kind = stack_report_kind(y);
		uint32_t id = kind == REPORT_NO_RANK ? node : y->rank;

		if (!c || c->one != y->one || c->each != y->count ||
		    c->kind != kind) {
			c = &out->all[out->count++];
			c->kind = kind;
			c->code = stack_code(y->one->hash, y->count);
			c->one = y->one;
			c->each = y->count;
		}
		if (storm_idset_add(&c->ids, id, id))
			return STORM_ENOMEM;
	}
	codes_choose(out, STACK_CODES);
	return STORM_OK;
}

void stack_codes_clear(struct stack_codes *c)
{
	codes_cut(c, 0);
	free(c->all);
	memset(c, 0, sizeof(*c));
}

void stack_text_put(char (*out)[STACK_LINE], const struct stack_code *c)
{
	snprintf(*out, sizeof(*out), "T\t%u\t%c\t%s\t%s\t%u\t%s", c->kind,
		 (int) c->one->kind, c->one->label, c->one->program, c->each,
		 c->one->text);
}

/* ---------------------------------------------------------------- questions --- */

size_t stack_wants_put(uint8_t (*out)[STACK_WANTS_BYTES], bool last,
		       const struct stack_want *w, uint32_t count)
{
	struct storm_out o = { *out, *out + sizeof(*out), false };

	storm_put8(&o, last);
	for (uint32_t k = 0; k < count; k++) {
		storm_put8(&o, w[k].kind);
		storm_put32(&o, w[k].code);
		storm_put32(&o, w[k].id);
	}
	return (size_t) (o.p - *out);
}

bool stack_wants_read(const void *buf, size_t len, bool *last,
		      struct stack_want *w, uint32_t *count)
{
	struct storm_in i = { buf, (const uint8_t *) buf + len, false };
	uint8_t flag = storm_get8(&i);

	*last = flag == 1;
	*count = 0;
	if (flag > 1 || len > STACK_WANTS_BYTES)
		return false;
	while (i.p < i.end && !i.bad) {
		struct stack_want *one = &w[(*count)++];

		one->kind = storm_get8(&i);
		one->code = storm_get32(&i);
		one->id = storm_get32(&i);
	}
	return storm_in_done(&i);
}

/* ------------------------------------------------------------- at the asker --- */

void stack_heard_add(struct stack_heard *h, uint8_t kind, uint32_t code,
		     const struct storm_idset *ids)
{
	if (kind == REPORT_SUM && code < SUM_CODE(SUMS, 0))
		storm_idset_union(&h->sums[code / SUM_BITS][code % SUM_BITS],
				  ids);
	/* nothing new is taken once texts are asked, or without room */
	if (kind < STACK_REPORTS && !h->order &&
	    storm_reports_bytes(&h->got) < STACK_ALL)
		storm_reports_add(&h->got, kind, code, ids, NULL);
}

uint64_t stack_heard_sum(const struct stack_heard *h, enum stack_sum what)
{
	uint64_t sum = 0;

	for (unsigned int k = 0; k < SUM_BITS; k++)
		sum += storm_idset_size(&h->sums[what][k]) << k;
	return sum;
}

static int heard_by_ids(const void *va, const void *vb, void *arg)
{
	const struct storm_report_entry *e = arg;
	const struct storm_report_entry *a = &e[*(const uint32_t *) va];
	const struct storm_report_entry *b = &e[*(const uint32_t *) vb];
	uint64_t na = storm_idset_size(&a->ids), nb = storm_idset_size(&b->ids);

	/* other threads than the first of a process last */
	if ((a->kind == REPORT_THREAD) != (b->kind == REPORT_THREAD))
		return a->kind == REPORT_THREAD ? 1 : -1;
	return (na < nb) - (na > nb);
}

static bool heard_sort(struct stack_heard *h)
{
	if (h->order)
		return true;
	h->told = calloc(h->got.count + 1, sizeof(*h->told));
	if (!h->told)
		return false;
	h->order = calloc(h->got.count + 1, sizeof(*h->order));
	if (!h->order) {
		free(h->told);
		h->told = NULL;
		return false;
	}
	for (uint32_t k = 0; k < h->got.count; k++)
		h->order[k] = k;
	qsort_r(h->order, h->got.count, sizeof(*h->order), heard_by_ids,
		h->got.e);
	return true;
}

uint32_t stack_heard_next(struct stack_heard *h,
			  struct stack_want (*w)[STACK_WANTS], bool *last)
{
	uint32_t n = 0, most;

	*last = false;
	if (!heard_sort(h))
		return 0;
	most = h->bytes < STACK_ALL ?
		       (uint32_t) ((STACK_ALL - h->bytes) / STACK_TEXT_LINE) :
		       0;
	most = (uint32_t) storm_min(most, (uint32_t) STACK_WANTS);
	for (; n < most && h->asked < h->got.count; h->asked++) {
		const struct storm_report_entry *e =
			&h->got.e[h->order[h->asked]];

		(*w)[n++] = (struct stack_want) { e->kind, e->code,
						  e->ids.r[0].first };
	}
	h->open += n;
	*last = !most || h->asked == h->got.count;
	return n;
}

/* Was this one asked, and not told yet?  UINT32_MAX: no. */
static uint32_t heard_find(const struct stack_heard *h, uint8_t kind,
			   uint32_t code)
{
	for (uint32_t k = 0; k < h->asked; k++) {
		uint32_t at = h->order[k];

		if (h->got.e[at].kind == kind && h->got.e[at].code == code)
			return h->told[at] ? UINT32_MAX : at;
	}
	return UINT32_MAX;
}

int stack_heard_text(struct stack_heard *h, struct stack_said *said, size_t len,
		     struct stack_set *to)
{
	struct stack_rec *r = &said->rec;
	struct storm_range none = { STACK_NO_RANK, STACK_NO_RANK };
	uint64_t ids;
	uint32_t at, each = (uint32_t) r->count;
	int err;

	at = heard_find(
		h, said->report,
		stack_code(stack_hash(r->kind, r->label, r->program, r->text),
			   each));
	if (at == UINT32_MAX)
		return STORM_OK;
	h->told[at] = true;
	h->open--;
	h->bytes += len;
	ids = storm_idset_size(&h->got.e[at].ids);
	r->count = each * ids;
	r->ranks = said->report == REPORT_NO_RANK ?
			   (struct storm_idset) { &none, 1, 1 } :
			   h->got.e[at].ids;
	err = stack_set_add(to, r);
	memset(&r->ranks, 0, sizeof(r->ranks));
	if (!err)
		h->kept += r->count;
	return err;
}

void stack_heard_clear(struct stack_heard *h)
{
	storm_reports_clear(&h->got);
	for (int what = 0; what < SUMS; what++)
		for (unsigned int k = 0; k < SUM_BITS; k++)
			storm_idset_clear(&h->sums[what][k]);
	free(h->order);
	free(h->told);
	memset(h, 0, sizeof(*h));
}
