/*
 * fuzz_multi.c - the file of --multi-prog, and what ranks execute by it, here and after
 * it was sent.
 *
 *   u8 the number of tasks, 0: not known; the text
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/storm_launcher/run_programs.h"
#include "src/storm_run/run_multi.h"

#define RANKS 300

static void must_be_same(char **a, char **b)
{
	size_t k = 0;

	must(!a == !b);
	for (; a && a[k]; k++)
		must(b[k] && !strcmp(a[k], b[k]));
	must(!a || (k && !b[k]));
	free(a);
	free(b);
}

/* Each rank has the same by what a launcher reads. */
static void must_be_sent(const struct run_programs *p)
{
	size_t len = run_programs_len(p);
	uint8_t *buf = malloc(len);
	struct storm_out o = { buf, buf + len, false };
	struct storm_in i = { buf, buf + len, false };
	struct run_programs sent;

	must(buf);
	run_programs_put(&o, p);
	must(!o.bad && o.p == o.end);
	must(run_programs_get(&i, &sent) && storm_in_done(&i));
	for (uint32_t rank = 0; rank < RANKS; rank++)
		must_be_same(run_programs_argv(p, rank),
			     run_programs_argv(&sent, rank));
	run_programs_free(&sent);
	free(buf);
}

/* No rank that is named is named twice. */
static void must_be_apart(const struct run_programs *p)
{
	struct storm_idset all = { 0 };
	uint64_t ranks = 0;

	for (uint32_t k = 0; k < p->count; k++) {
		must(p->list[k].count || k == p->count - 1);
		must(p->list[k].line && p->list[k].argv[0][0]);
		for (uint32_t r = 0; r < p->list[k].count; r++) {
			const struct storm_range *range = &p->list[k].ranks[r];

			must(range->first <= range->last);
			must(range->last < run_programs_tasks(p));
			ranks += range->last - range->first + 1;
			must(!storm_idset_add(&all, range->first, range->last));
		}
	}
	must(storm_idset_size(&all) == ranks);
	storm_idset_clear(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *const more[] = { "%t", "", NULL };
	char why[RUN_MULTI_WHY] = "";
	struct run_programs p;
	uint32_t tasks, missing;
	uint8_t *text;

	if (!size)
		return 0;
	tasks = data[0];
	text = exact(data + 1, size - 1);
	if (run_multi_read((char *) text, size - 1, more, tasks, &p, &why)) {
		must(p.count);
		must(!tasks || run_programs_tasks(&p) <= tasks);
		must(!tasks || run_programs_cover(&p, tasks, &missing));
		must_be_apart(&p);
		must_be_sent(&p);
		run_programs_free(&p);
	} else {
		must(*why && !p.count && !p.list && !p.text);
	}
	free(text);
	return 0;
}
