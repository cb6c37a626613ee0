/*
 * test_jobs.c - storm jobs: who shares cores with whom, and how that is printed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <json-c/json.h>

#include "src/libstorm/base/idset.h"
#include "src/storm_jobs/jobs_show.h"
#include "unit.h"

#define WORD \
	"site storm:turns=1/2,quantum=20ms,had=3s,waited=1s,slot=0/2,missed=7"

static uint32_t job(struct jobs *j, const char *id, const char *comment)
{
	struct jobs_job *one = jobs_add(j);

	must(one);
	one->id = strdup(id);
	one->name = strdup("job\033[31m\n</script>\"\xe2\x80\xae\xe5\xb1\xb1");
	one->number = 7000 + j->count;
	one->user = strdup("mary\033[31m</script>\"\n");
	one->partition = strdup("gang");
	one->nodes = strdup("n[1-2]");
	one->takes_turns = turns_word_read(comment, &one->turns);
	one->held = held_word_read(comment, &one->hold);
	return j->count - 1;
}

static void cores(struct jobs *j, uint32_t of, uint32_t node, uint32_t first,
		  uint32_t last)
{
	must(jobs_add_cores(j, &(struct jobs_cores) { of, node, first, last }));
}

/* ------------------------------------------------------------- the word --- */

START_TEST(test_word)
{
	struct turns_word t;

	must(turns_word_read(WORD, &t));
	must(t.have == 1 && t.of == 2 && t.missed == 7 && t.round == 2);
	must(t.quantum > 0.0199 && t.quantum < 0.0201);
	must(t.had == 3 && t.waited == 1 && !*t.out);
	must(turns_word_read(WORD ",out=n[1,3],held=1/2,loose=n1 more", &t));
	must(!strcmp(t.out, "n[1,3]"));
}
END_TEST

START_TEST(test_no_word)
{
	static const char *const bad[] = {
		"",
		"storm:hold",
		"xstorm:turns=1/2",
		"storm:turns=1/2",
		"storm:turns=1/0,quantum=20ms,had=3s,waited=1s,slot=0/2,missed=7",
		"storm:turns=1/2,quantum=x,had=3s,waited=1s,slot=0/2,missed=7",
	};
	struct turns_word t;

	must(!turns_word_read(NULL, &t));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		must(!turns_word_read(bad[i], &t) && !t.of);
}
END_TEST

/* ------------------------------------------------------------- who shares --- */

START_TEST(test_shares)
{
	struct jobs j = { 0 };
	uint32_t a = job(&j, "1", ""), b = job(&j, "2", ""),
		 c = job(&j, "3", ""), d = job(&j, "4", "");

	cores(&j, a, 0, 0, 7);
	cores(&j, a, 1, 0, 3);
	cores(&j, b, 1, 3, 5); /* one core of a's */
	cores(&j, c, 0, 8, 9); /* beside a */
	cores(&j, c, 2, 0, 0);
	cores(&j, d, 0, 0, 0); /* inside of a, before others begin */
	must(jobs_share(&j));
	must(storm_idset_size(&j.job[a].with) == 2);
	must(storm_idset_has(&j.job[a].with, b));
	must(storm_idset_has(&j.job[a].with, d));
	must(storm_idset_has(&j.job[b].with, a));
	must(storm_idset_size(&j.job[b].with) == 1);
	must(!j.job[c].with.count && !jobs_has_part(&j.job[c]));
	must(storm_idset_has(&j.job[d].with, a));
	jobs_clear(&j);
}
END_TEST

/* A job with parts on one node does not share with itself. */
START_TEST(test_alone)
{
	struct jobs j = { 0 };
	uint32_t a = job(&j, "1", "");

	cores(&j, a, 0, 0, 3);
	cores(&j, a, 0, 2, 5);
	must(jobs_share(&j) && !j.job[a].with.count);
	jobs_clear(&j);
	must(jobs_share(&j)); /* none */
}
END_TEST

/* ------------------------------------------------------------- as printed --- */

static char *printed(const struct jobs *j, const struct jobs_wish *w, bool json,
		     uint32_t *shown, bool *wrong)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	*wrong = json ? jobs_show_json(f, j, w, shown) :
			jobs_show_text(f, j, w, shown);
	fclose(f);
	return text;
}

START_TEST(test_table)
{
	struct jobs j = { 0 };
	uint32_t a = job(&j, "80", WORD), b = job(&j, "81_3", ""), shown;
	char *which[] = { (char *) "81" };
	struct jobs_wish w = { 0 };
	bool wrong;
	char *text;

	job(&j, "82", "");
	cores(&j, a, 0, 0, 1);
	cores(&j, b, 0, 1, 1);
	must(jobs_share(&j));
	text = printed(&j, &w, false, &shown, &wrong);
	must(shown == 2 && !wrong);
	for (const char *c = text; *c; c++)
		must(*c == '\n' || (*c >= ' ' && *c <= '~'));
	must(strstr(text, "1/2    20ms     3.0s  1.0s    75/50%   81_3\n"));
	must(strstr(text, "\n81_3 ") && !strstr(text, "\n82 "));
	free(text);
	w.all = true;
	free(printed(&j, &w, false, &shown, &wrong));
	must(shown == 3);
	w.ids = which;
	w.nids = 1;
	free(printed(&j, &w, true, &shown, &wrong));
	must(shown == 1); /* of an array by its job's number */
	which[0] = (char *) "7002";
	free(printed(&j, &w, true, &shown, &wrong));
	must(shown == 1); /* by the task's own */
	which[0] = (char *) "8";
	free(printed(&j, &w, true, &shown, &wrong));
	must(!shown);
	jobs_clear(&j);
}
END_TEST

START_TEST(test_wrong)
{
	struct jobs_wish w = { 0 };
	uint32_t shown;
	bool wrong;
	struct jobs j = { 0 };
	char *text;

	job(&j, "1", WORD ",out=n2");
	text = printed(&j, &w, false, &shown, &wrong);
	must(wrong && strstr(text, "runs all the time on n2"));
	free(text);
	jobs_clear(&j);
	job(&j, "1", WORD ",held=2/2");
	text = printed(&j, &w, false, &shown, &wrong);
	must(!wrong && strstr(text, "held: stands on 2 of 2 nodes\n"));
	free(text);
	jobs_clear(&j);
	job(&j, "1", WORD ",held=1/2,loose=n2");
	text = printed(&j, &w, false, &shown, &wrong);
	must(wrong && strstr(text, "stands on 1 of 2 nodes, not on n2\n"));
	free(text);
	jobs_clear(&j);
}
END_TEST

START_TEST(test_json)
{
	struct jobs j = { 0 };
	uint32_t a = job(&j, "1", WORD), b = job(&j, "2", WORD), shown;
	struct jobs_wish w = { 0 };
	json_object *list, *value;
	bool wrong;
	char *text;

	cores(&j, a, 0, 0, 1);
	cores(&j, b, 0, 1, 1);
	must(jobs_share(&j));
	text = printed(&j, &w, true, &shown, &wrong);
	must((list = json_tokener_parse(text)));
	must(json_object_object_get_ex(json_object_array_get_idx(list, 0),
				       "got", &value));
	must(json_object_get_double(value) == 0.75);
	must(json_object_object_get_ex(json_object_array_get_idx(list, 0),
				       "name", &value));
	must(!strcmp(json_object_get_string(value),
		     "job?[31m?</script>\"??????"));
	must(json_object_object_get_ex(json_object_array_get_idx(list, 0),
				       "with", &value));
	must(!strcmp(json_object_get_string(json_object_array_get_idx(value, 0)),
		     "2"));
	json_object_put(list);
	free(text);
	jobs_clear(&j);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("jobs");
	TCase *t = tcase_create("jobs");

	tcase_add_test(t, test_word);
	tcase_add_test(t, test_no_word);
	tcase_add_test(t, test_shares);
	tcase_add_test(t, test_alone);
	tcase_add_test(t, test_table);
	tcase_add_test(t, test_wrong);
	tcase_add_test(t, test_json);
	suite_add_tcase(s, t);
	return unit_main(s);
}
