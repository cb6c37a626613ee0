/*
 * each_source.c - see each_source.h.
 *
 * A combination of the sources' values (each_product.h) becomes a record: its values,
 * or their columns.  A row is one record; with --max-args, -X and -m it is several.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "each_columns.h"
#include "each_command.h"
#include "each_items.h"
#include "each_options.h"
#include "each_product.h"
#include "each_source.h"
#include "src/libstorm/base/chance.h"

/* The kernel takes 128 KiB as one argument, which the text for the shell is.  As many
 * arguments as these stay far below that. */
enum { MOST_BYTES = 64 << 10 };

/* Rows in order. */
struct rows_kept {
	struct each_row *row;
	size_t at, count, room;
};

struct each_sources {
	const struct each_options *o;
	struct each_product *product;
	struct each_columns *columns;
	bool ended;
	/* records that were read for a row, and did not fit or are spread; or that
	 * --shuf has mixed */
	struct rows_kept records;
	struct rows_kept rows; /* read ahead by each_sources_count() */
	size_t share; /* records of a row, when the last ones are spread; 0: not yet */
	bool mixed, counted;
};

/* ------------------------------------------------------------------------ rows --- */

void each_row_free(struct each_row *row)
{
	for (uint32_t k = 0; k < row->count; k++)
		free(row->arg[k]);
	free(row->arg);
	*row = (struct each_row) { 0 };
}

static bool row_add(struct each_row *row, char *arg)
{
	/* doubled at each power of two */
	if (!(row->count & (row->count + 1)) || !row->count) {
		char **more = reallocarray(row->arg, row->count * 2 + 2,
					   sizeof(*more));

		if (!more || !arg) {
			row->arg = more ? more : row->arg;
			free(arg);
			run_say("no memory");
			return false;
		}
		row->arg = more;
	}
	row->arg[row->count] = arg;
	row->count += arg != NULL;
	return arg != NULL;
}

/* The arguments of one go to the end of another. */
static bool row_append(struct each_row *to, struct each_row *from)
{
	bool fine = true;

	for (uint32_t k = 0; k < from->count; k++) {
		fine = fine && row_add(to, from->arg[k]);
		from->arg[k] = NULL;
	}
	each_row_free(from);
	return fine;
}

static bool rows_push(struct rows_kept *rows, struct each_row *row)
{
	if (rows->count == rows->room) {
		size_t room = rows->room ? 2 * rows->room : 64;
		struct each_row *more =
			reallocarray(rows->row, room, sizeof(*more));

		if (!more) {
			each_row_free(row);
			run_say("no memory");
			return false;
		}
		rows->row = more;
		rows->room = room;
	}
	rows->row[rows->count++] = *row;
	*row = (struct each_row) { 0 };
	return true;
}

static bool rows_pop(struct rows_kept *rows, struct each_row *row)
{
	if (rows->at == rows->count) {
		rows->at = rows->count = 0;
		return false;
	}
	*row = rows->row[rows->at++];
	return true;
}

static void rows_clear(struct rows_kept *rows)
{
	struct each_row row;

	while (rows_pop(rows, &row))
		each_row_free(&row);
	free(rows->row);
	*rows = (struct rows_kept) { 0 };
}

/* --------------------------------------------------------------------- records --- */

/* A value, or its columns. */
static bool record_value(const struct each_sources *s, const char *value,
			 struct each_row *record)
{
	do {
		const char *rest = NULL;
		size_t len = s->columns ? each_columns_next(s->columns, value,
							    &rest) :
					  strlen(value);
		char *arg = each_trimmed(s->o, value, len);

		if (!row_add(record, arg))
			return false;
		value = rest;
	} while (value);
	return true;
}

static int record_read(struct each_sources *s, struct each_row *record)
{
	char *const *value;
	size_t width = each_product_width(s->product);
	int is = s->ended ? 0 : each_product_next(s->product, &value);

	*record = (struct each_row) { 0 };
	s->ended = is < 1;
	for (size_t k = 0; is > 0 && k < width; k++)
		if (!record_value(s, value[k], record)) {
			each_row_free(record);
			return -1;
		}
	return is;
}

/* All that is left, in an order by chance. */
static int records_mix(struct each_sources *s)
{
	struct each_row record;
	uint64_t state;
	int is;

	if (getrandom(&state, sizeof(state), 0) != sizeof(state))
		state = (uintptr_t) s;
	while ((is = record_read(s, &record)) > 0)
		if (!rows_push(&s->records, &record))
			return -1;
	for (size_t left = s->records.count; left > 1; left--) {
		size_t k = storm_chance(&state) % left;

		record = s->records.row[k];
		s->records.row[k] = s->records.row[left - 1];
		s->records.row[left - 1] = record;
	}
	s->mixed = true;
	return is;
}

static int record_next(struct each_sources *s, struct each_row *record)
{
	if (s->o->shuf && !s->mixed && records_mix(s) < 0)
		return -1;
	if (rows_pop(&s->records, record))
		return 1;
	return record_read(s, record);
}

/* ------------------------------------------------------------- several for a row --- */

/* With -X and -m the last arguments are spread over all slots.  So those of a row are
 * kept apart until it is known whether there are more. */
static int rows_fill(struct each_sources *s, struct rows_kept *full)
{
	struct each_row record;
	size_t bytes = 0, most = s->o->max_args ? s->o->max_args : SIZE_MAX;
	int is = 0;

	while (full->count < most && (is = record_next(s, &record)) > 0) {
		size_t more = each_command_share(s->o, &record);

		if (full->count &&
		    (more > MOST_BYTES || bytes + more > MOST_BYTES)) {
			/* it begins the next row */
			return rows_push(&s->records, &record) ? 1 : -1;
		}
		bytes += more;
		if (!rows_push(full, &record))
			return -1;
	}
	return is;
}

/* A number of records, one behind the other, are a row. */
static bool rows_join(struct rows_kept *records, size_t n, struct each_row *row)
{
	struct each_row record;

	*row = (struct each_row) { 0 };
	while (n-- && rows_pop(records, &record))
		if (!row_append(row, &record)) {
			each_row_free(row);
			return false;
		}
	return true;
}

/* -X and -m. */
static int row_of_many(struct each_sources *s, struct each_row *row)
{
	struct rows_kept full = { 0 };
	int is;

	if (!s->share) {
		is = rows_fill(s, &full);
		if (is > 0 || (is == 0 && full.count && s->o->slots < 2)) {
			bool fine = rows_join(&full, SIZE_MAX, row);

			rows_clear(&full);
			return fine ? 1 : -1;
		}
		if (is < 0 || !full.count) {
			rows_clear(&full);
			return is;
		}
		/* these are the last ones */
		s->share = (full.count + s->o->slots - 1) / s->o->slots;
		rows_clear(&s->records);
		s->records = full;
	}
	if (s->records.at == s->records.count)
		return 0;
	return rows_join(&s->records, s->share, row) ? 1 : -1;
}

/* --max-args alone. */
static int row_of_some(struct each_sources *s, struct each_row *row)
{
	struct rows_kept full = { 0 };
	int is = rows_fill(s, &full);
	bool some = full.count > 0;

	if (is >= 0 && some && !rows_join(&full, SIZE_MAX, row))
		is = -1;
	rows_clear(&full);
	return is < 0 ? is : some;
}

static int row_next(struct each_sources *s, struct each_row *row)
{
	int is;

	*row = (struct each_row) { 0 };
	if (s->o->many_spread)
		return row_of_many(s, row);
	if (s->o->max_args > 1)
		return row_of_some(s, row);
	is = record_next(s, row);
	if (is > 0 && s->o->no_args)
		each_row_free(row);
	return is;
}

/* --------------------------------------------------------------------- sources --- */

struct each_sources *each_sources_open(const struct each_options *o)
{
	struct each_sources *s = calloc(1, sizeof(*s));
	char why[200] = "no memory";

	if (s) {
		s->o = o;
		if (o->colsep)
			s->columns = each_columns_create(o->colsep, why,
							 sizeof(why));
	}
	if (!s || (o->colsep && !s->columns)) {
		run_say("--colsep %s: %s", o->colsep ? o->colsep : "", why);
		free(s);
		return NULL;
	}
	s->product = each_product_open(o);
	if (s->product)
		return s;
	each_sources_close(s);
	return NULL;
}

int each_sources_next(struct each_sources *s, struct each_row *row)
{
	if (rows_pop(&s->rows, row))
		return 1;
	return s->counted ? 0 : row_next(s, row);
}

uint64_t each_sources_total(const struct each_sources *s)
{
	uint64_t records = each_product_total(s->product);

	if (s->o->many_spread || s->o->max_args > 1)
		return 0;
	return records;
}

int64_t each_sources_count(struct each_sources *s)
{
	struct each_row row;
	int is;

	while (!s->counted && (is = row_next(s, &row)) > 0)
		if (!rows_push(&s->rows, &row))
			return -1;
	if (!s->counted && is < 0)
		return -1;
	s->counted = true;
	return (int64_t) (s->rows.count - s->rows.at);
}

void each_sources_close(struct each_sources *s)
{
	if (!s)
		return;
	rows_clear(&s->rows);
	rows_clear(&s->records);
	each_product_close(s->product);
	each_columns_destroy(s->columns);
	free(s);
}
