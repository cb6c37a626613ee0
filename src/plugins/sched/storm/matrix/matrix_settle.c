/*
 * matrix_settle.c - after changes: rows are spared, a round is made of them, idle
 * columns are filled, and the cycle is made.
 *
 * A group that takes more rows than its fullest column has jobs has to spare some,
 * by exchanges between its rows (exchange.c), so that most jobs stay in theirs, or
 * is packed anew.  That is to colour a graph: a greedy pass by the jobs' first
 * columns is the best there is where columns are contiguous; another by size often
 * is; a search with a budget ends the matter for small groups.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "matrix_private.h"
#include "src/gang/rows.h"
#include "src/libstorm/base/idset.h"

#define BUDGET 20000	  /* tries of one search */
#define EXCHANGES 3000	  /* steps for each job of a group, to spare a row */
#define EXCHANGE_MAX 4096 /* jobs */
#define NO_ROW UINT32_MAX

/* --------------------------------------------------------------- groups --- */

/* What matrix_settle() works with: one group at a time, and the whole result
 * until it is complete. */
struct settle {
	const struct matrix *m;
	uint32_t *parent; /* per column: of which group (union-find) */
	uint32_t *load;	  /* per column: jobs on it */
	uint32_t *all;	  /* the jobs' indices, group by group */
	/* the group: n jobs, here by their place in it */
	const uint32_t *g;
	uint32_t n;
	uint32_t *order; /* in which they are placed */
	/* where they are, at the moment; see settle_search() */
	uint32_t *row, *used;
	uint64_t **busy; /* rows of the group: clean between uses */
	uint32_t nbusy;
	/* the result, per job */
	uint32_t *own, *round, *given;
	struct storm_idset *in; /* the slots of the round that it runs in */
	uint32_t rows, rounds, cycle; /* most rows, longest round */
};

static const struct storm_idset *settle_columns(const struct settle *s,
						uint32_t k)
{
	return &s->m->jobs[s->g[k]].columns;
}

static uint32_t settle_root(uint32_t *parent, uint32_t c)
{
	while (parent[c] != c)
		c = parent[c] = parent[parent[c]];
	return c;
}

static void settle_unite(struct settle *s)
{
	for (uint32_t c = 0; c < s->m->columns; c++)
		s->parent[c] = c;
	for (uint32_t i = 0; i < s->m->njobs; i++) {
		const struct storm_idset *set = &s->m->jobs[i].columns;
		uint32_t a = settle_root(s->parent, set->r[0].first);

		for (uint32_t k = 0; k < set->count; k++) {
			for (uint32_t c = set->r[k].first; c <= set->r[k].last;
			     c++) {
				s->load[c]++;
				s->parent[settle_root(s->parent, c)] = a;
			}
		}
	}
}

static uint32_t settle_group_of(const struct settle *s, uint32_t job)
{
	return settle_root(s->parent, s->m->jobs[job].columns.r[0].first);
}

static int settle_by_group(const void *a, const void *b, void *arg)
{
	uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
	uint32_t p = settle_group_of(arg, x), q = settle_group_of(arg, y);

	return p != q ? (p < q ? -1 : 1) : (x < y ? -1 : x > y);
}

/* The next group in s->all, after the one that there is; false: none. */
static bool settle_next_group(struct settle *s)
{
	uint32_t left;

	s->g += s->n;
	left = s->m->njobs - (uint32_t) (s->g - s->all);
	for (s->n = 0; s->n < left; s->n++)
		if (settle_group_of(s, s->g[s->n]) !=
		    settle_group_of(s, s->g[0]))
			break;
	return s->n;
}

/* The most jobs on one of its columns. */
static uint32_t settle_group_load(const struct settle *s)
{
	uint32_t most = 0;

	for (uint32_t k = 0; k < s->n; k++) {
		const struct storm_idset *set = settle_columns(s, k);

		for (uint32_t i = 0; i < set->count; i++)
			for (uint32_t c = set->r[i].first; c <= set->r[i].last;
			     c++)
				if (s->load[c] > most)
					most = s->load[c];
	}
	return most;
}

/* -------------------------------------------------------------- packing --- */

/* Put it into a row of the scratch rows, or take it out again. */
static void settle_flip(struct settle *s, uint32_t k, uint32_t row)
{
	row_flip(s->busy[row], settle_columns(s, k));
}

/* The first row, of those from `from` to before `end`, where it fits. */
static uint32_t settle_first_row(const struct settle *s, uint32_t k,
				 uint32_t from, uint32_t end)
{
	for (uint32_t r = from; r < end; r++)
		if (row_fits(s->busy[r], settle_columns(s, k)))
			return r;
	return NO_ROW;
}

/* The first n of the order. */
static void settle_take_out(struct settle *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		settle_flip(s, s->order[i], s->row[s->order[i]]);
}

/* In this order, each into the first row where it fits.  Have all found one of
 * these rows? */
static bool settle_greedy(struct settle *s, uint32_t rows)
{
	uint32_t i;

	for (i = 0; i < s->n; i++) {
		uint32_t k = s->order[i];

		s->row[k] = settle_first_row(s, k, 0, rows);
		if (s->row[k] == NO_ROW)
			break;
		settle_flip(s, k, s->row[k]);
	}
	settle_take_out(s, i);
	return i == s->n;
}

/*
 * Depth first: each job in turn into each row where it fits, of the empty ones
 * only into the first.  False: there is no way, or the budget is used up.
 */
static bool settle_search(struct settle *s, uint32_t rows)
{
	uint32_t i = 0, from = 0, budget = BUDGET;

	s->used[0] = 0; /* rows that the jobs before take */
	while (i < s->n && budget--) {
		uint32_t k = s->order[i], end = s->used[i] + 1;

		s->row[k] =
			settle_first_row(s, k, from, end < rows ? end : rows);
		if (s->row[k] != NO_ROW) {
			settle_flip(s, k, s->row[k]);
			s->used[i + 1] = s->used[i] + (s->row[k] == s->used[i]);
			i++;
			from = 0;
			continue;
		}
		if (!i)
			return false;
		k = s->order[--i];
		settle_flip(s, k, s->row[k]);
		from = s->row[k] + 1;
	}
	settle_take_out(s, i);
	return i == s->n;
}

static int settle_by_first_column(const void *a, const void *b, void *arg)
{
	uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
	uint32_t p = settle_columns(arg, x)->r[0].first;
	uint32_t q = settle_columns(arg, y)->r[0].first;

	return p != q ? (p < q ? -1 : 1) : (x < y ? -1 : x > y);
}

static int settle_by_size(const void *a, const void *b, void *arg)
{
	uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
	uint64_t p = storm_idset_size(settle_columns(arg, x));
	uint64_t q = storm_idset_size(settle_columns(arg, y));

	return p != q ? (p > q ? -1 : 1) : (x < y ? -1 : x > y);
}

static void settle_sort(struct settle *s,
			int (*by)(const void *a, const void *b, void *arg))
{
	for (uint32_t k = 0; k < s->n; k++)
		s->order[k] = k;
	qsort_r(s->order, s->n, sizeof(*s->order), by, s);
}

static bool settle_overlap(const struct storm_idset *a,
			   const struct storm_idset *b)
{
	uint32_t i = 0, k = 0;

	while (i < a->count && k < b->count) {
		if (a->r[i].last < b->r[k].first)
			i++;
		else if (b->r[k].last < a->r[i].first)
			k++;
		else
			return true;
	}
	return false;
}

/* Which jobs cannot share a row; NULL: out of memory, or far too many jobs. */
static uint64_t *settle_neighbours(const struct settle *s)
{
	uint32_t words = exchange_words(s->n);
	uint64_t *beside =
		s->n > EXCHANGE_MAX ?
			NULL :
			calloc((size_t) s->n * words + 1, sizeof(*beside));

	for (uint32_t k = 0; beside && k < s->n; k++)
		for (uint32_t j = 0; j < k; j++)
			if (settle_overlap(settle_columns(s, k),
					   settle_columns(s, j))) {
				beside[k * words + j / 64] |= 1ULL << j % 64;
				beside[j * words + k / 64] |= 1ULL << k % 64;
			}
	return beside;
}

/* One row less, and if possible most jobs stay where they are: s->row. */
static bool settle_spare_row(struct settle *s, uint32_t rows)
{
	uint64_t *beside = settle_neighbours(s);
	bool good;

	for (uint32_t k = 0; k < s->n; k++)
		s->row[k] = s->own[s->g[k]];
	good = beside && exchange_spare(s->n, beside, s->row, rows,
					(uint64_t) EXCHANGES * s->n);
	free(beside);
	return good;
}

/* Into so many rows, or fewer: s->row. */
static bool settle_pack(struct settle *s, uint32_t rows)
{
	settle_sort(s, settle_by_first_column);
	if (settle_greedy(s, rows))
		return true;
	settle_sort(s, settle_by_size);
	return settle_greedy(s, rows) || settle_search(s, rows);
}

/* The rows that the jobs have, in their order, without empty ones between: how
 * many. */
static uint32_t settle_squeeze(struct settle *s)
{
	uint32_t rows = 0;

	memset(s->used, 0, (s->m->nbusy + 1) * sizeof(*s->used));
	for (uint32_t k = 0; k < s->n; k++)
		s->used[s->m->jobs[s->g[k]].row] = 1;
	for (uint32_t r = 0; r < s->m->nbusy; r++)
		if (s->used[r])
			s->used[r] = rows++;
	for (uint32_t k = 0; k < s->n; k++)
		s->own[s->g[k]] = s->used[s->m->jobs[s->g[k]].row];
	return rows;
}

/* ------------------------------------------ idle columns, and the cycle --- */

static struct policy_job settle_policy_job(const struct settle *s, uint32_t k)
{
	return (struct policy_job) { .id = s->m->jobs[s->g[k]].id,
				     .columns = settle_columns(s, k),
				     .given = s->given[s->g[k]],
				     .weight = s->m->jobs[s->g[k]].weight };
}

static int settle_by_policy(const void *a, const void *b, void *arg)
{
	uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
	const struct settle *s = arg;
	struct policy_job p = settle_policy_job(s, x);
	struct policy_job q = settle_policy_job(s, y);
	int first = s->m->policy->fill(&p, &q);

	return first ? first : (x < y ? -1 : x > y);
}

static int settle_give(struct settle *s, uint32_t k, uint32_t slot)
{
	settle_flip(s, k, 0);
	s->row[k] = slot;
	s->given[s->g[k]]++;
	return storm_idset_add(&s->in[s->g[k]], slot, slot);
}

/* A row in a group's round. */
struct settle_visits {
	uint32_t all, had; /* slots: of the round, and up to now */
	int64_t credit;
};

/* The job's slots in a round of its row. */
static uint32_t settle_own_slots(const struct settle *s, uint32_t k,
				 uint32_t unit)
{
	return (s->m->jobs[s->g[k]].weight + unit - 1) / unit;
}

/* Fill one slot of a row: first its own jobs that have not had all of theirs, then
 * all that fit, in the policy's order. */
static int settle_fill_slot(struct settle *s, uint32_t slot, uint32_t row,
			    uint32_t had, uint32_t unit)
{
	int err = STORM_OK;

	for (uint32_t k = 0; k < s->n; k++) {
		s->row[k] = NO_ROW;
		if (s->own[s->g[k]] == row &&
		    had < settle_own_slots(s, k, unit))
			err |= settle_give(s, k, slot);
	}
	settle_sort(s, settle_by_policy);
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t k = s->order[i];

		if (s->row[k] == NO_ROW &&
		    row_fits(s->busy[0], settle_columns(s, k)))
			err |= settle_give(s, k, slot);
	}
	for (uint32_t k = 0; k < s->n; k++)
		if (s->row[k] == slot)
			settle_flip(s, k, 0);
	return err ? STORM_ENOMEM : STORM_OK;
}

static uint32_t settle_common_divisor(uint32_t x, uint32_t y)
{
	while (y) {
		uint32_t rest = x % y;

		x = y;
		y = rest;
	}
	return x;
}

/* The slots of each row by its heaviest job.  Returns those of the round. */
static uint32_t settle_count_slots(const struct settle *s, uint32_t rows,
				   uint32_t unit, struct settle_visits *row)
{
	uint32_t round = 0;

	memset(row, 0, rows * sizeof(*row));
	for (uint32_t k = 0; k < s->n; k++) {
		struct settle_visits *v = &row[s->own[s->g[k]]];

		if (settle_own_slots(s, k, unit) > v->all)
			v->all = settle_own_slots(s, k, unit);
	}
	for (uint32_t r = 0; r < rows; r++)
		round += row[r].all;
	return round;
}

/* The next row of the round: each gains what it is due, and the one that has gained
 * most pays for all.  So a row's slots are spread evenly (smooth weighted round
 * robin). */
static uint32_t settle_next_row(struct settle_visits *row, uint32_t rows,
				uint32_t round)
{
	uint32_t best = 0;

	for (uint32_t r = 0; r < rows; r++) {
		row[r].credit += row[r].all;
		if (row[r].credit > row[best].credit)
			best = r;
	}
	row[best].credit -= round;
	return best;
}

/* Make the group's round of its rows: its slots, or 0: out of memory.  Weights that
 * the map has no room for are made smaller. */
static uint32_t settle_round(struct settle *s, uint32_t rows)
{
	struct settle_visits row[MATRIX_ROWS_MAX];
	uint32_t unit = 0, round;

	for (uint32_t k = 0; k < s->n; k++)
		unit = settle_common_divisor(s->m->jobs[s->g[k]].weight, unit);
	if (rows == 1)
		unit = MATRIX_WEIGHT_MAX;
	while ((round = settle_count_slots(s, rows, unit, row)) >
	       MATRIX_ROWS_MAX)
		unit *= 2;
	for (uint32_t t = 0; t < round; t++) {
		uint32_t r = settle_next_row(row, rows, round);

		if (settle_fill_slot(s, t, r, row[r].had++, unit))
			return 0;
	}
	return round;
}

/* As s->row has it: how many rows. */
static uint32_t settle_move_in(struct settle *s)
{
	uint32_t rows = 0;

	for (uint32_t k = 0; k < s->n; k++) {
		s->own[s->g[k]] = s->row[k];
		if (s->row[k] >= rows)
			rows = s->row[k] + 1;
	}
	return rows;
}

static int settle_group(struct settle *s)
{
	uint32_t rows = settle_squeeze(s), least = settle_group_load(s);
	uint32_t round;

	if (rows_make(&s->busy, &s->nbusy, rows, s->m->columns))
		return STORM_ENOMEM;
	while (rows > least &&
	       (settle_spare_row(s, rows) || settle_pack(s, rows - 1)))
		rows = settle_move_in(s);
	if (rows > MATRIX_ROWS_MAX)
		return STORM_OK;
	round = settle_round(s, rows);
	if (!round)
		return STORM_ENOMEM;
	for (uint32_t k = 0; k < s->n; k++)
		s->round[s->g[k]] = round;
	if (rows > s->rows)
		s->rows = rows;
	if (round > s->rounds)
		s->rounds = round;
	if (s->cycle <= MATRIX_CYCLE)
		s->cycle = s->cycle / settle_common_divisor(s->cycle, round) *
			   round;
	return STORM_OK;
}

/* From the slots of its group's round that a job runs in, in s->in, to those of the
 * cycle. */
static int settle_unroll(struct settle *s, uint32_t job)
{
	struct storm_idset slots = { 0 };

	for (uint32_t t = 0; s->round[job] && t < s->cycle; t++) {
		if (!storm_idset_has(&s->in[job], t % s->round[job]))
			continue;
		if (storm_idset_add(&slots, t, t)) {
			storm_idset_clear(&slots);
			return STORM_ENOMEM;
		}
	}
	storm_idset_clear(&s->in[job]);
	s->in[job] = slots;
	return STORM_OK;
}

/* ----------------------------------------------------------- all groups --- */

static int settle_groups(struct settle *s)
{
	settle_unite(s);
	for (uint32_t i = 0; i < s->m->njobs; i++)
		s->all[i] = i;
	qsort_r(s->all, s->m->njobs, sizeof(*s->all), settle_by_group, s);
	s->g = s->all;
	s->cycle = 1;
	while (settle_next_group(s))
		if (settle_group(s))
			return STORM_ENOMEM;
	if (s->cycle > MATRIX_CYCLE)
		s->cycle = s->rounds > MATRIX_CYCLE ? s->rounds : MATRIX_CYCLE;
	for (uint32_t i = 0; i < s->m->njobs; i++)
		if (settle_unroll(s, i))
			return STORM_ENOMEM;
	return STORM_OK;
}

/* Nothing can fail any more. */
static void settle_commit(struct matrix *m, struct settle *s)
{
	for (uint32_t r = 0; r < m->nbusy; r++)
		memset(m->busy[r], 0,
		       row_words(m->columns) * sizeof(**m->busy));
	for (uint32_t i = 0; i < m->njobs; i++) {
		struct matrix_job *j = &m->jobs[i];
		struct storm_idset old = j->slots;

		j->row = s->own[i];
		j->round = s->round[i];
		j->slots = s->in[i];
		s->in[i] = old;
		row_flip(m->busy[j->row], &j->columns);
	}
	m->rows = s->rows;
	m->cycle = s->cycle;
	m->changed = false;
}

static int settle_matrix(struct matrix *m)
{
	size_t n = m->njobs + 1;
	struct settle s = {
		.m = m,
		.parent = calloc(m->columns + 1, sizeof(*s.parent)),
		.load = calloc(m->columns + 1, sizeof(*s.load)),
		.all = calloc(n, sizeof(*s.all)),
		.order = calloc(n, sizeof(*s.order)),
		.row = calloc(n, sizeof(*s.row)),
		.used = calloc(n + m->nbusy, sizeof(*s.used)),
		.own = calloc(n, sizeof(*s.own)),
		.round = calloc(n, sizeof(*s.round)),
		.given = calloc(n, sizeof(*s.given)),
		.in = calloc(n, sizeof(*s.in)),
	};
	void *const memory[] = { s.parent, s.load, s.all,   s.order, s.row,
				 s.used,   s.own,  s.round, s.given, s.in };
	int err = STORM_OK;

	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		if (!memory[i])
			err = STORM_ENOMEM;
	if (!err)
		err = settle_groups(&s);
	if (!err)
		settle_commit(m, &s);
	for (uint32_t i = 0; s.in && i < m->njobs; i++)
		storm_idset_clear(&s.in[i]);
	rows_free(s.busy, s.nbusy);
	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		free(memory[i]);
	return err;
}

int matrix_settle(struct matrix *m)
{
	return m->changed ? settle_matrix(m) : STORM_OK;
}
