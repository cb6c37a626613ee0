/*
 * test_run_fold.c - storm run --fold: equal lines of many tasks are shown once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_launcher/run_fold.h"
#include "unit.h"

#define WAIT 200

static void add(struct run_fold *f, uint32_t first, uint32_t last,
		const char *text, uint64_t now)
{
	struct storm_range r = { first, last };

	must(run_fold_add(f, &(struct storm_idset) { &r, 1, 1 }, text,
			  strlen(text), now));
}

/* The first line as it is shown, if it is due. */
static const char *due(struct run_fold *f, uint64_t now)
{
	static char text[200];
	size_t len;
	char *t;

	if (run_fold_left(f, now, WAIT))
		return "";
	t = run_folded_text(run_fold_first(f), 2, &len);
	must(t && len < sizeof(text) && t[0] == 2);
	memcpy(text, t + 1, len - 1);
	text[len - 1] = '\0';
	free(t);
	run_fold_drop(f);
	return text;
}

START_TEST(test_folds)
{
	struct run_fold *f = run_fold_create(4, 4);

	must(run_fold_left(f, 0, WAIT) == UINT64_MAX && !run_fold_first(f));
	add(f, 4, 4, "one", 10);
	must(run_fold_left(f, 10, WAIT) == WAIT && run_fold_has(f, 4));
	add(f, 4, 4, "two", 20);
	add(f, 6, 7, "one", 30);
	/* those that wait for the first line wait as long as it does */
	ck_assert_str_eq(due(f, 209), "");
	ck_assert_str_eq(due(f, 210), "[4,6-7]: one\n");
	must(!run_fold_has(f, 6) && run_fold_has(f, 4));
	/* too late for the first line, and not for the next */
	add(f, 5, 5, "one", 211);
	add(f, 5, 7, "two", 212);
	ck_assert_str_eq(due(f, 219), "");
	ck_assert_str_eq(due(f, 220), "[4,6-7]: two\n");
	ck_assert_str_eq(due(f, 411), "[5]: one\n");
	ck_assert_str_eq(due(f, 412), "[5]: two\n");
	/* all have said it */
	add(f, 4, 6, "", 500);
	ck_assert_str_eq(due(f, 500), "");
	add(f, 7, 7, "", 500);
	ck_assert_str_eq(due(f, 500), "[4-7]: \n");
	/* one says the same again and again */
	for (int k = 0; k < 3; k++)
		add(f, 4, 4, "same", 600);
	for (int k = 0; k < 2; k++)
		add(f, 5, 7, "same", 600);
	ck_assert_str_eq(due(f, 600), "[4-7]: same\n");
	ck_assert_str_eq(due(f, 600), "[4-7]: same\n");
	ck_assert_str_eq(due(f, 800), "[4]: same\n");
	ck_assert_str_eq(due(f, 900), "");
	add(f, 4, 5, "left behind", 1000);
	run_fold_destroy(f);
	run_fold_destroy(NULL);
}
END_TEST

/* So much of what differs waits, and no more; then the oldest is due. */
START_TEST(test_full)
{
	static char text[8192];
	struct run_fold *f = run_fold_create(0, 2);
	size_t lines = 0, bytes;

	for (; !run_fold_is_full(f); lines++) {
		snprintf(text, sizeof(text), "%zu", lines);
		must(lines < 2000);
		must(run_fold_left(f, 0, WAIT) == (lines ? WAIT : UINT64_MAX));
		add(f, 0, 0, text, 0);
	}
	must(!run_fold_left(f, 0, WAIT));
	ck_assert_str_eq(due(f, 0), "[0]: 0\n");
	must(!run_fold_is_full(f));
	while (run_fold_first(f))
		run_fold_drop(f);
	memset(text, 'x', sizeof(text) - 1);
	for (bytes = 0; !run_fold_is_full(f); bytes += sizeof(text))
		add(f, 0, 0, text, 0);
	must(bytes > 1 << 20 && bytes < 4 << 20);
	run_fold_destroy(f);
}
END_TEST

/* ------------------------------------------------------------- by chance ------- */

#define NODES 5
#define EACH 7
#define TASKS (NODES * EACH)
#define SAYS 60

/* What each task says, how far it is, and what was shown of it. */
struct said {
	char text[SAYS][8];
	uint32_t at, shown;
};

static struct said task[TASKS];

/* Most say what all say; some have lines of their own, or say less. */
static uint32_t tasks_speak(struct rnd *x)
{
	uint32_t words = 1 + below(x, 4), own = below(x, 100), lines = 0;
	char all[SAYS][8];

	for (uint32_t n = 0; n < SAYS; n++)
		snprintf(all[n], sizeof(all[n]), "%u",
			 below(x, 3) ? below(x, words) : n);
	for (uint32_t k = 0; k < TASKS; k++) {
		task[k].at = below(x, 4) ? 0 : below(x, SAYS);
		task[k].shown = task[k].at;
		for (uint32_t n = 0; n < SAYS; n++)
			if (below(x, 100) < own / (1 + k % 3))
				snprintf(task[k].text[n], 8, "%u",
					 below(x, words + 2));
			else
				memcpy(task[k].text[n], all[n], 8);
		lines += SAYS - task[k].at;
	}
	return lines;
}

/* A line as it is shown: its tasks have said it next. */
static uint32_t must_be_next(const struct run_folded *line)
{
	size_t len, n;
	char *text = run_folded_text(line, 1, &len), *at = text + 2;
	char *said = strstr(text, "]: ") + 3;
	uint32_t ranks = 0;

	must(text[0] == 1 && text[1] == '[' && text[len - 1] == '\n');
	n = (size_t) (text + len - said);
	for (; *at != ']'; at += *at == ',') {
		unsigned long first = strtoul(at, &at, 10), last = first;

		if (*at == '-')
			last = strtoul(at + 1, &at, 10);
		for (; first <= last; first++, ranks++) {
			struct said *t = &task[first];

			must(first < TASKS && t->shown < t->at);
			must(strlen(t->text[t->shown]) == n - 1 &&
			     !memcmp(t->text[t->shown], said, n - 1));
			t->shown++;
		}
	}
	free(text);
	return ranks;
}

/* Each node folds what its tasks say, and the head what nodes do.  Every line of every task
 * is shown once, in its order. */
START_TEST(test_two_floors)
{
	struct rnd x = rnd_of(_i);
	struct run_fold *head = run_fold_create(0, TASKS), *node[NODES];
	uint32_t left = tasks_speak(&x), shown = 0, lines = left, rows = 0;
	uint64_t now = 1, step = 1 + below(&x, 40);

	for (uint32_t k = 0; k < NODES; k++)
		node[k] = run_fold_create(k * EACH, EACH);
	while (shown < lines) {
		uint32_t who = below(&x, TASKS), n = who / EACH;
		struct said *t = &task[who];

		now += left ? below(&x, 2) * step : step;
		if (t->at < SAYS && !run_fold_is_full(node[n])) {
			add(node[n], who, who, t->text[t->at++], now);
			left--;
		}
		n = below(&x, NODES);
		if (!run_fold_left(node[n], now, WAIT / 10)) {
			const struct run_folded *f = run_fold_first(node[n]);

			must(run_fold_add(head, &f->ranks, f->text, f->len,
					  now));
			run_fold_drop(node[n]);
		}
		while (!run_fold_left(head, now, WAIT)) {
			shown += must_be_next(run_fold_first(head));
			run_fold_drop(head);
			rows++;
		}
	}
	for (uint32_t k = 0; k < TASKS; k++)
		must(task[k].shown == SAYS && !run_fold_has(head, k));
	must(rows && rows <= lines);
	for (uint32_t k = 0; k < NODES; k++)
		run_fold_destroy(node[k]);
	run_fold_destroy(head);
}
END_TEST

/* Many tasks that say the same at their own pace: one row for each line. */
START_TEST(test_all_alike)
{
	enum { MANY = 4096, ROWS = 20 };
	struct run_fold *f = run_fold_create(0, MANY);
	static uint8_t at[MANY];
	struct rnd x = rnd_of(0);
	uint32_t rows = 0;
	char text[8];

	for (uint32_t left = MANY * ROWS; left;) {
		uint32_t k = below(&x, MANY);

		while (at[k] == ROWS)
			k = (k + 1) % MANY;
		snprintf(text, sizeof(text), "%u", at[k]++ / 2);
		add(f, k, k, text, 0);
		left--;
		while (!run_fold_left(f, 0, WAIT)) {
			const struct run_folded *line = run_fold_first(f);

			must(line->ranks.count == 1 &&
			     line->ranks.r[0].last == MANY - 1);
			run_fold_drop(f);
			rows++;
		}
	}
	must(rows == ROWS && !run_fold_first(f));
	run_fold_destroy(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("run_fold");
	TCase *t = tcase_create("fold");

	tcase_add_test(t, test_folds);
	tcase_add_test(t, test_full);
	tcase_add_loop_test(t, test_two_floors, 0, unit_runs(100));
	tcase_add_test(t, test_all_alike);
	suite_add_tcase(s, t);
	return unit_main(s);
}
