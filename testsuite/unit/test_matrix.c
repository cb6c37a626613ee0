/*
 * test_matrix.c - the Ousterhout matrix: what matrix.h promises, after every
 * step of random sequences of starts, ends, suspends and resumes.
 *
 * The model knows the jobs and counts; the least number of rows it finds by
 * trying everything.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/plugins/sched/storm/matrix/matrix.h"
#include "unit.h"

#define COLUMNS 200
#define JOBS 40

enum shape { CONTIGUOUS, NODES, ANY };

struct model {
	struct matrix *m;
	uint32_t columns, mpl;
	enum shape shape;
	struct model_job {
		uint64_t id; /* 0: none */
		bool suspended;
		uint32_t weight; /* 0: it was given none */
		bool col[COLUMNS];
	} job[JOBS];
	uint64_t next;
	bool resumed; /* some core may have more than MPL */
	bool weights;
};

static bool runs(const struct model_job *j)
{
	return j->id && !j->suspended;
}

static void columns_of(const struct model_job *j, uint32_t n,
		       struct storm_idset *s)
{
	memset(s, 0, sizeof(*s));
	for (uint32_t c = 0; c < n; c++)
		if (j->col[c])
			must(storm_idset_add(s, c, c) == STORM_OK);
}

static bool share(const struct model_job *a, const struct model_job *b)
{
	for (uint32_t c = 0; c < COLUMNS; c++)
		if (a->col[c] && b->col[c])
			return true;
	return false;
}

static uint32_t load(const struct model *w, uint32_t column)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < JOBS; i++)
		n += runs(&w->job[i]) && w->job[i].col[column];
	return n;
}

static uint32_t most_load(const struct model *w)
{
	uint32_t most = 0;

	for (uint32_t c = 0; c < w->columns; c++)
		if (load(w, c) > most)
			most = load(w, c);
	return most;
}

/* Can the running jobs from i on be put into so many rows? */
static bool colourable(const struct model *w, uint32_t i, uint32_t rows,
		       uint32_t *row, uint32_t used)
{
	while (i < JOBS && !runs(&w->job[i]))
		i++;
	if (i == JOBS)
		return true;
	for (uint32_t r = 0; r < rows && r <= used; r++) {
		bool fits = true;

		for (uint32_t k = 0; k < i && fits; k++)
			fits = !runs(&w->job[k]) || row[k] != r ||
			       !share(&w->job[k], &w->job[i]);
		row[i] = r;
		if (fits && colourable(w, i + 1, rows, row,
				       r == used ? used + 1 : used))
			return true;
	}
	return false;
}

static uint32_t least_rows(const struct model *w)
{
	uint32_t row[JOBS], rows = most_load(w);

	while (!colourable(w, 0, rows, row, 0))
		rows++;
	return rows;
}

/* The jobs on each column in slot t: at most one. */
static void fill_slot(const struct model *w, uint32_t t, bool *busy)
{
	memset(busy, 0, COLUMNS * sizeof(*busy));
	for (uint32_t i = 0; i < JOBS; i++) {
		const struct model_job *j = &w->job[i];

		if (!runs(j) || !storm_idset_has(matrix_slots(w->m, j->id), t))
			continue;
		for (uint32_t c = 0; c < w->columns; c++) {
			must(!j->col[c] || !busy[c]);
			busy[c] |= j->col[c];
		}
	}
}

/* Each job that can run in a slot does. */
static void nobody_fits(const struct model *w, uint32_t t, const bool *busy)
{
	for (uint32_t i = 0; i < JOBS; i++) {
		const struct model_job *j = &w->job[i];
		bool fits = true;

		if (!runs(j) || storm_idset_has(matrix_slots(w->m, j->id), t))
			continue;
		for (uint32_t c = 0; c < w->columns && fits; c++)
			fits = !j->col[c] || !busy[c];
		must(!fits);
	}
}

/* Within any round of its group, and all the time where it is alone. */
static void no_starvation(const struct model *w, const struct model_job *j)
{
	const struct storm_idset *s = matrix_slots(w->m, j->id);
	uint32_t round = matrix_round(w->m, j->id), since = 0;
	uint32_t cycle = matrix_cycle(w->m);
	bool alone = true;

	must(s && round && round <= cycle);
	for (uint32_t t = 0; t < cycle; t++) {
		since = storm_idset_has(s, t) ? 0 : since + 1;
		must(since < round);
	}
	for (uint32_t i = 0; i < JOBS && alone; i++)
		alone = &w->job[i] == j || !runs(&w->job[i]) ||
			!share(&w->job[i], j);
	must(alone == (storm_idset_size(s) == cycle));
	must(!alone || round == 1);
}

static uint32_t weight_of(const struct model_job *j)
{
	return j->weight ? j->weight : 1;
}

static uint32_t divisor(uint32_t a, uint32_t b)
{
	return b ? divisor(b, a % b) : a;
}

/* The largest number by which all weights of the job's group can be divided. */
static uint32_t unit_of_group(const struct model *w, uint32_t job)
{
	bool in[JOBS] = { false }, more = true;
	uint32_t unit = 0;

	in[job] = true;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < JOBS; i++)
			for (uint32_t k = 0; k < JOBS && !in[i]; k++)
				if (in[k] && runs(&w->job[i]) &&
				    share(&w->job[i], &w->job[k]))
					more = in[i] = true;
	}
	for (uint32_t i = 0; i < JOBS; i++)
		if (in[i])
			unit = divisor(unit, weight_of(&w->job[i]));
	return unit;
}

/* In each round as many slots as its weight says. */
static void weight_counts(const struct model *w, uint32_t job)
{
	const struct model_job *j = &w->job[job];
	const struct storm_idset *s = matrix_slots(w->m, j->id);
	uint32_t round = matrix_round(w->m, j->id);
	uint32_t least = weight_of(j) / unit_of_group(w, job);

	for (uint32_t r = 0; round > 1 && r < matrix_cycle(w->m) / round; r++) {
		uint32_t n = 0;

		for (uint32_t t = r * round; t < (r + 1) * round; t++)
			n += storm_idset_has(s, t);
		must(n >= least);
	}
}

static void check(const struct model *w)
{
	bool busy[COLUMNS];
	uint32_t n = 0;

	for (uint32_t t = 0; t < matrix_cycle(w->m); t++) {
		fill_slot(w, t, busy);
		nobody_fits(w, t, busy);
	}
	for (uint32_t i = 0; i < JOBS; i++) {
		if (runs(&w->job[i])) {
			no_starvation(w, &w->job[i]);
			weight_counts(w, i);
			n++;
		} else if (w->job[i].id) {
			must(!matrix_slots(w->m, w->job[i].id));
			must(!matrix_round(w->m, w->job[i].id));
		}
	}
	must(matrix_jobs(w->m) == n);
	must(matrix_rows(w->m) >= most_load(w));
	must(matrix_shared(w->m) == (most_load(w) > 1));
	if (w->shape == CONTIGUOUS) {
		must(matrix_rows(w->m) == most_load(w));
		must(w->resumed || matrix_rows(w->m) <= w->mpl);
	}
	if (n <= 10)
		must(matrix_rows(w->m) == least_rows(w));
}

/* Columns of the model's shape. */
static void random_columns(struct model *w, struct rnd *r, bool *col)
{
	uint32_t first = below(r, w->columns);
	uint32_t n = 1 + below(r, w->columns);
	uint32_t sparse = 1 + below(r, 6);

	memset(col, 0, COLUMNS * sizeof(*col));
	for (uint32_t c = 0; c < w->columns; c++) {
		if (w->shape == CONTIGUOUS)
			col[c] = c >= first && c < first + n;
		else if (w->shape == NODES && c % 4)
			col[c] = col[c - 1]; /* 4 cores each */
		else
			col[c] = !below(r, sparse);
	}
	col[first] = true;
}

static void start(struct model *w, struct model_job *j)
{
	struct storm_idset s;

	columns_of(j, w->columns, &s);
	must(matrix_add(w->m, j->id, &s) == STORM_OK);
	if (j->weight)
		must(matrix_weigh(w->m, j->id, j->weight) == STORM_OK);
	must(matrix_add(w->m, j->id, &s) == STORM_EEXIST);
	storm_idset_clear(&s);
}

/* As select does under FORCE:M: only where fewer than M are on every core;
 * those that are suspended do not count. */
static void submit(struct model *w, struct rnd *r, struct model_job *j)
{
	random_columns(w, r, j->col);
	for (uint32_t c = 0; c < w->columns; c++)
		if (j->col[c] && load(w, c) >= w->mpl)
			return;
	/* ids need not rise: a requeued job keeps its own */
	j->id = below(r, 2) ? ++w->next : UINT64_MAX - ++w->next;
	j->suspended = false;
	/* from the id, not drawn: the jobs are the same without weights */
	j->weight = w->weights ? 1 + (uint32_t) (j->id * 7 % 11 % 4) : 0;
	start(w, j);
}

static void step(struct model *w, struct rnd *r)
{
	struct model_job *j = &w->job[below(r, JOBS)];

	if (!j->id) {
		submit(w, r, j);
	} else if (j->suspended) {
		j->suspended = false;
		w->resumed = true;
		start(w, j);
	} else {
		must(matrix_remove(w->m, j->id) == STORM_OK);
		must(matrix_remove(w->m, j->id) == STORM_ENOENT);
		if (below(r, 4))
			j->id = 0;
		else
			j->suspended = true;
	}
}

START_TEST(test_random)
{
	static const uint32_t sizes[] = { 4, 8, 31, 64, 65, 128, COLUMNS };
	struct rnd r = rnd_of(_i);
	struct model w = { .columns = sizes[below(&r, 7)],
			   .mpl = 1 + below(&r, 5),
			   .shape = _i % 3,
			   .weights = _i / 6 % 2 };

	w.m = matrix_create(w.columns, _i % 2 ? MATRIX_BUDDY : MATRIX_FIRST_FIT,
			    &policy_gang);
	must(w.m);
	must(matrix_settle(w.m) == STORM_OK);
	must(matrix_cycle(w.m) == 1 && !matrix_rows(w.m));
	for (int n = 0; n < 60; n++) {
		/* several changes may come at a time */
		for (uint32_t k = 1 + below(&r, 3); k--;)
			step(&w, &r);
		must(matrix_settle(w.m) == STORM_OK);
		check(&w);
	}
	matrix_destroy(w.m);
}
END_TEST

/* ------------------------------------------------------------- rows <= MPL --- */

/* Jobs of any shape, placed as by a select plugin with its own MPL rows: each
 * takes the first row in which all of its columns are free. A resumed job takes
 * any row where it fits, beyond MPL if necessary. */
struct chosen {
	uint32_t row[JOBS];
	bool busy[JOBS][COLUMNS]; /* rows */
};

static uint32_t row_for(const struct model *w, const struct chosen *c,
			const struct model_job *j)
{
	uint32_t r = 0;

	for (uint32_t k = 0; k < w->columns; k++)
		if (j->col[k] && c->busy[r][k]) {
			r++;
			k = UINT32_MAX; /* from the first one */
		}
	return r;
}

static void sit(const struct model *w, struct chosen *c, uint32_t i, bool on)
{
	for (uint32_t k = 0; k < w->columns; k++)
		if (w->job[i].col[k])
			c->busy[c->row[i]][k] = on;
}

static void come(struct model *w, struct chosen *c, uint32_t i)
{
	c->row[i] = row_for(w, c, &w->job[i]);
	sit(w, c, i, true);
	w->job[i].suspended = false;
	start(w, &w->job[i]);
}

/* It keeps its first column. */
static void shrink(struct model *w, struct chosen *c, struct rnd *r, uint32_t i)
{
	struct model_job *j = &w->job[i];
	struct storm_idset s;
	uint32_t k = 0;
	bool left = true;

	while (!j->col[k])
		k++;
	sit(w, c, i, false);
	for (k++; k < w->columns; k++) {
		left = below(r, 8) && (left || w->shape != CONTIGUOUS);
		j->col[k] &= left;
	}
	sit(w, c, i, true);
	columns_of(j, w->columns, &s);
	must(matrix_shrink(w->m, j->id, &s) == STORM_OK);
	storm_idset_clear(&s);
}

static void change(struct model *w, struct chosen *c, struct rnd *r)
{
	uint32_t i = below(r, JOBS), what = below(r, 8);
	struct model_job *j = &w->job[i];

	if (!j->id) {
		random_columns(w, r, j->col);
		if (row_for(w, c, j) >= w->mpl)
			return; /* select has no room */
		j->id = ++w->next;
		come(w, c, i);
	} else if (j->suspended) {
		come(w, c, i);
	} else if (what == 0) {
		shrink(w, c, r, i);
	} else if (what < 4) {
		sit(w, c, i, false);
		must(matrix_remove(w->m, j->id) == STORM_OK);
		j->suspended = what == 1;
		if (!j->suspended)
			j->id = 0;
	}
}

static bool resumed_beyond(const struct model *w, const struct chosen *c)
{
	for (uint32_t i = 0; i < JOBS; i++)
		if (runs(&w->job[i]) && c->row[i] >= w->mpl)
			return true;
	return false;
}

/* New ones keep rows <= MPL; only what was resumed has more. */
START_TEST(test_new_ones_keep_to_mpl)
{
	static const uint32_t sizes[] = { 8, 31, 64, 128, COLUMNS };
	struct rnd r = rnd_of(_i);
	struct model w = { .columns = sizes[below(&r, 5)],
			   .mpl = 2 + below(&r, 5),
			   .shape = _i % 3 };
	static struct chosen c;
	bool beyond;

	memset(&c, 0, sizeof(c));
	w.m = matrix_create(w.columns, _i % 2 ? MATRIX_BUDDY : MATRIX_FIRST_FIT,
			    &policy_gang);
	must(w.m);
	for (int n = 0; n < 100; n++) {
		change(&w, &c, &r);
		must(matrix_settle(w.m) == STORM_OK);
		beyond = resumed_beyond(&w, &c);
		must(beyond || matrix_rows(w.m) <= w.mpl);
		w.resumed = beyond;
		check(&w);
	}
	matrix_destroy(w.m);
}
END_TEST

static void add(struct matrix *m, uint64_t id, uint32_t first, uint32_t last)
{
	struct storm_idset s = { 0 };

	must(storm_idset_add(&s, first, last) == STORM_OK);
	must(matrix_add(m, id, &s) == STORM_OK);
	storm_idset_clear(&s);
}

/* If two rows become one after an end, all jobs get more. */
START_TEST(test_unification)
{
	struct matrix *m = matrix_create(8, MATRIX_FIRST_FIT, &policy_gang);

	must(m);
	add(m, 1, 0, 7);
	add(m, 2, 0, 3);
	add(m, 3, 0, 7);
	add(m, 4, 4, 7);
	must(matrix_settle(m) == STORM_OK);
	ck_assert_uint_eq(matrix_rows(m), 3);
	must(matrix_remove(m, 1) == STORM_OK);
	must(matrix_settle(m) == STORM_OK);
	ck_assert_uint_eq(matrix_rows(m), 2);
	must(matrix_remove(m, 3) == STORM_OK);
	must(matrix_settle(m) == STORM_OK);
	must(!matrix_shared(m));
	ck_assert_uint_eq(storm_idset_size(matrix_slots(m, 4)), 1);
	matrix_destroy(m);
}
END_TEST

/* Two that share, and three that share elsewhere: halves and thirds. */
START_TEST(test_groups)
{
	struct matrix *m = matrix_create(10, MATRIX_FIRST_FIT, &policy_gang);

	must(m);
	for (uint64_t id = 1; id <= 5; id++)
		add(m, id, id <= 2 ? 0 : 5, id <= 2 ? 4 : 9);
	must(matrix_settle(m) == STORM_OK);
	ck_assert_uint_eq(matrix_rows(m), 3);
	ck_assert_uint_eq(matrix_cycle(m), 6);
	for (uint64_t id = 1; id <= 5; id++)
		ck_assert_uint_eq(storm_idset_size(matrix_slots(m, id)),
				  id <= 2 ? 3 : 2);
	matrix_destroy(m);
}
END_TEST

/* A small job, 4: first fit takes the first row with a hole, the buddy tree the
 * one where no larger block is broken up for it. */
START_TEST(test_buddy)
{
	for (int buddy = 0; buddy < 2; buddy++) {
		struct matrix *m = matrix_create(
			8, buddy ? MATRIX_BUDDY : MATRIX_FIRST_FIT,
			&policy_gang);

		must(m);
		add(m, 1, 0, 7);
		add(m, 2, 0, 3); /* 4 to 7 are free beside it */
		add(m, 3, 0, 4); /* 5 to 7 */
		add(m, 4, 5, 5);
		add(m, 5, 5, 5);
		must(matrix_settle(m) == STORM_OK);
		ck_assert_uint_eq(matrix_rows(m), 3);
		must(storm_idset_has(matrix_slots(m, 4), buddy ? 2 : 1));
		must(storm_idset_has(matrix_slots(m, 5), buddy ? 1 : 2));
		ck_assert_uint_eq(storm_idset_size(matrix_slots(m, 4)), 1);
		matrix_destroy(m);
	}
}
END_TEST

/* Two on each column, and each in the way of both others: three rows, and all get
 * their turns. */
START_TEST(test_triangle)
{
	static const uint32_t columns[3][2] = { { 0, 2 }, { 2, 4 }, { 0, 4 } };
	struct matrix *m = matrix_create(6, MATRIX_FIRST_FIT, &policy_gang);

	must(m);
	for (uint64_t id = 0; id < 3; id++) {
		struct storm_idset s = { 0 };

		for (int i = 0; i < 2; i++)
			must(storm_idset_add(&s, columns[id][i],
					     columns[id][i]) == STORM_OK);
		must(matrix_add(m, id, &s) == STORM_OK);
		storm_idset_clear(&s);
	}
	must(matrix_settle(m) == STORM_OK);
	ck_assert_uint_eq(matrix_rows(m), 3);
	for (uint64_t id = 0; id < 3; id++)
		ck_assert_uint_eq(storm_idset_size(matrix_slots(m, id)), 1);
	matrix_destroy(m);
}
END_TEST

START_TEST(test_arguments)
{
	struct matrix *m = matrix_create(8, MATRIX_BUDDY, &policy_gang);
	struct storm_idset s = { 0 };

	must(m);
	must(matrix_add(m, 1, &s) == STORM_EINVAL);
	must(storm_idset_add(&s, 7, 8) == STORM_OK);
	must(matrix_add(m, 1, &s) == STORM_EINVAL);
	must(matrix_remove(m, 1) == STORM_ENOENT);
	must(matrix_shrink(m, 1, &s) == STORM_ENOENT);
	add(m, 2, 0, 3);
	must(matrix_shrink(m, 2, &s) == STORM_EINVAL);
	storm_idset_clear(&s);
	must(matrix_shrink(m, 2, &s) == STORM_EINVAL);
	must(matrix_remove(m, 2) == STORM_OK);
	must(!matrix_slots(m, 1) && !matrix_round(m, 1) && !matrix_jobs(m));
	storm_idset_clear(&s);
	matrix_destroy(m);
	matrix_destroy(NULL);
}
END_TEST

static uint32_t last_row_choose(const struct policy_rows *r,
				const struct storm_idset *columns)
{
	(void) columns;
	return r->rows - 1; /* whether it fits or not; the first job has none */
}

static int youngest_fill(const struct policy_job *a, const struct policy_job *b)
{
	return a->id > b->id ? -1 : 1;
}

/* Another policy's choices count, but for a row where the job does not fit. */
START_TEST(test_other_policy)
{
	const struct policy other = { .choose_row = last_row_choose,
				      .fill = youngest_fill };

	for (int i = 0; i < 2; i++) {
		struct matrix *m = matrix_create(4, MATRIX_FIRST_FIT,
						 i ? &other : &policy_gang);

		must(m);
		add(m, 1, 0, 1);
		add(m, 2, 0, 1);
		add(m, 3, 2, 2); /* into the second row instead of the first */
		add(m, 4, 0, 3); /* a row of its own */
		add(m, 5, 2, 2);
		must(matrix_settle(m) == STORM_OK);
		ck_assert_uint_eq(matrix_rows(m), 3);
		for (uint64_t id = 1; id <= 5; id++) {
			static const uint32_t row[2][6] = {
				{ 0, 0, 1, 0, 2, 1 }, { 0, 0, 1, 1, 2, 0 }
			};

			must(storm_idset_has(matrix_slots(m, id), row[i][id]));
			ck_assert_uint_eq(storm_idset_size(matrix_slots(m, id)),
					  1);
		}
		/* one row more, where columns 2 and 3 are idle */
		add(m, 6, 0, 1);
		must(matrix_settle(m) == STORM_OK);
		ck_assert_uint_eq(matrix_rows(m), 4);
		must(storm_idset_size(matrix_slots(m, i ? 5 : 3)) == 2);
		must(storm_idset_size(matrix_slots(m, i ? 3 : 5)) == 1);
		matrix_destroy(m);
	}
}
END_TEST

/* The slots of a cycle, a letter each: whose turn it is on a column. */
static void turns(struct matrix *m, const uint64_t *ids, const char *letters,
		  char *out)
{
	must(matrix_settle(m) == STORM_OK);
	for (uint32_t t = 0; t < matrix_cycle(m); t++) {
		out[t] = '.';
		for (int i = 0; letters[i]; i++)
			if (storm_idset_has(matrix_slots(m, ids[i]), t))
				out[t] = letters[i];
	}
	out[matrix_cycle(m)] = '\0';
}

/* Three turns for one, spread over the round. */
START_TEST(test_weights)
{
	struct matrix *m = matrix_create(4, MATRIX_FIRST_FIT, &policy_gang);
	const uint64_t ids[] = { 1, 2, 3 }, equal[] = { 1, 3 };
	char text[MATRIX_ROWS_MAX + 1];

	must(m);
	must(matrix_weigh(m, 1, 2) == STORM_ENOENT);
	add(m, 1, 0, 3);
	must(matrix_weigh(m, 1, 0) == STORM_EINVAL);
	must(matrix_weigh(m, 1, MATRIX_WEIGHT_MAX + 1) == STORM_EINVAL);
	must(matrix_weigh(m, 1, 3) == STORM_OK);
	/* alone it has all turns */
	turns(m, ids, "A", text);
	ck_assert_str_eq(text, "A");
	add(m, 2, 0, 3);
	turns(m, ids, "AB", text);
	ck_assert_str_eq(text, "AABA");
	ck_assert_uint_eq(matrix_round(m, 2), 4);
	ck_assert_uint_eq(matrix_rows(m), 2);
	add(m, 3, 0, 3);
	must(matrix_weigh(m, 3, 2) == STORM_OK);
	turns(m, ids, "ABC", text);
	ck_assert_str_eq(text, "ACABCA");
	/* two of the same weight go round as two of weight 1 */
	must(matrix_remove(m, 2) == STORM_OK);
	must(matrix_weigh(m, 3, 3) == STORM_OK);
	turns(m, equal, "AC", text);
	ck_assert_str_eq(text, "AC");
	must(matrix_weigh(m, 1, 1) == STORM_OK);
	must(matrix_weigh(m, 3, 1) == STORM_OK);
	turns(m, equal, "AC", text);
	ck_assert_str_eq(text, "AC");
	matrix_destroy(m);
}
END_TEST

/* A row's heavy job has more slots than the light one beside it.  What these leave
 * idle goes by weight, too. */
START_TEST(test_weights_of_idle_columns)
{
	static const uint32_t slots[] = { 0, 5, 2, 2, 2, 3 };
	struct matrix *m = matrix_create(4, MATRIX_FIRST_FIT, &policy_gang);

	must(m);
	add(m, 1, 0, 1);
	must(matrix_weigh(m, 1, 4) == STORM_OK);
	add(m, 2, 2, 3); /* beside 1 */
	add(m, 3, 0, 2); /* ties all to one group */
	add(m, 4, 3, 3); /* beside 3 */
	add(m, 5, 3, 3); /* a row of its own */
	must(matrix_weigh(m, 5, 2) == STORM_OK);
	must(matrix_settle(m) == STORM_OK);
	ck_assert_uint_eq(matrix_round(m, 2), 7);
	for (uint64_t id = 1; id <= 5; id++)
		ck_assert_uint_eq(storm_idset_size(matrix_slots(m, id)),
				  slots[id]);
	matrix_destroy(m);
}
END_TEST

/* Weights that would take more slots than a map has are made smaller. */
START_TEST(test_weights_beyond_the_map)
{
	struct matrix *m = matrix_create(1, MATRIX_FIRST_FIT, &policy_gang);

	must(m);
	for (uint64_t id = 1; id <= 30; id++) {
		add(m, id, 0, 0);
		must(matrix_weigh(m, id, id % 2 ? 16 : 1) == STORM_OK);
	}
	must(matrix_settle(m) == STORM_OK);
	ck_assert_uint_eq(matrix_round(m, 1), 15 * 16 + 15);
	add(m, 31, 0, 0);
	must(matrix_weigh(m, 31, 15) == STORM_OK);
	must(matrix_settle(m) == STORM_OK);
	ck_assert_uint_eq(matrix_round(m, 1), 15 * 8 + 15 + 8);
	ck_assert_uint_eq(matrix_cycle(m), matrix_round(m, 1));
	ck_assert_uint_eq(storm_idset_size(matrix_slots(m, 1)), 8);
	ck_assert_uint_eq(storm_idset_size(matrix_slots(m, 2)), 1);
	matrix_destroy(m);
}
END_TEST

/* More than the map can express share a core: those run freely, others do not.
 * */
START_TEST(test_too_many)
{
	struct matrix *m = matrix_create(2, MATRIX_FIRST_FIT, &policy_gang);

	must(m);
	for (uint64_t id = 1; id <= MATRIX_ROWS_MAX + 1; id++)
		add(m, id, 0, 0);
	add(m, 1000, 1, 1);
	add(m, 1001, 1, 1);
	must(matrix_settle(m) == STORM_OK);
	ck_assert_uint_eq(matrix_rows(m), 2);
	must(!matrix_slots(m, 1) && matrix_slots(m, 1000));
	must(matrix_remove(m, 7) == STORM_OK);
	must(matrix_settle(m) == STORM_OK);
	ck_assert_uint_eq(matrix_rows(m), MATRIX_ROWS_MAX);
	ck_assert_uint_eq(matrix_cycle(m), MATRIX_ROWS_MAX);
	ck_assert_uint_eq(storm_idset_size(matrix_slots(m, 1)), 1);
	ck_assert_uint_eq(storm_idset_size(matrix_slots(m, 1000)),
			  MATRIX_ROWS_MAX / 2);
	matrix_destroy(m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("matrix");
	TCase *t = tcase_create("matrix");

	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, test_random, 0, unit_runs(60));
	tcase_add_loop_test(t, test_new_ones_keep_to_mpl, 0, unit_runs(21));
	tcase_add_test(t, test_unification);
	tcase_add_test(t, test_groups);
	tcase_add_test(t, test_buddy);
	tcase_add_test(t, test_triangle);
	tcase_add_test(t, test_arguments);
	tcase_add_test(t, test_other_policy);
	tcase_add_test(t, test_weights);
	tcase_add_test(t, test_weights_of_idle_columns);
	tcase_add_test(t, test_weights_beyond_the_map);
	tcase_add_test(t, test_too_many);
	suite_add_tcase(s, t);
	return unit_main(s);
}
