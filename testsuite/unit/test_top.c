/*
 * test_top.c - what storm top shows: columns of equal nodes, rates, and lines that fit any
 * screen and are harmless on it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <json-c/json.h>

#include "src/libstorm/base/idset.h"
#include "src/storm_common/state_keys.h"
#include "src/storm_top/top_json.h"
#include "src/storm_top/top_matrix.h"
#include "unit.h"

/* ESC, line ends, a right-to-left mark, wide characters, and bytes that are no UTF-8 */
#define HOSTILE                                                            \
	"\033[2J\033]0;x\007</script>\r\n\"\\\xe2\x80\xae\xe5\xb1\xb1\xff" \
	"\xc2\x9b"

#define WORD \
	"storm:turns=1/%u,quantum=20ms,had=3s,waited=1s,slot=%u/%u,missed=7"

/* A cluster, as slurmctld and the agents describe it. */
struct cluster {
	struct status_node *node;
	struct status_nodes nodes;
	struct status_answer answer;
	struct storm_gather_entry entry[20];
	struct storm_range all;
	struct jobs jobs;
	struct top_view view;
};

static void cluster_init(struct cluster *c, uint32_t n)
{
	memset(c, 0, sizeof(*c));
	c->node = calloc(n, sizeof(*c->node));
	c->nodes = (struct status_nodes) { c->node, n };
	c->answer.asked = calloc(n, sizeof(uint32_t));
	c->answer.count = n;
	c->answer.table.entry = c->entry;
	c->all = (struct storm_range) { 0, n - 1 };
	for (uint32_t i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", i + 1);
		c->node[i].name = strdup(name);
		c->answer.asked[i] = i;
		must(jobs_add_node(&c->jobs, strdup(name)));
	}
	c->view = (struct top_view) { .time = "12:00:00",
				      .nodes = &c->nodes,
				      .answer = &c->answer,
				      .jobs = &c->jobs };
}

static void cluster_fini(struct cluster *c)
{
	for (uint32_t i = 0; i < c->nodes.count; i++)
		free(c->node[i].name);
	free(c->node);
	free(c->answer.asked);
	jobs_clear(&c->jobs);
}

static void say(struct cluster *c, enum storm_gather_kind kind, const char *key,
		const char *value, uint64_t sum)
{
	struct storm_gather_entry *e = &c->entry[c->answer.table.count++];

	memset(e, 0, sizeof(*e));
	e->kind = kind;
	e->key_len = (uint8_t) strlen(key);
	memcpy(e->key, key, e->key_len);
	e->value_len = (uint8_t) strlen(value);
	memcpy(e->value, value, e->value_len);
	e->sum = e->max = sum;
	e->nodes = (struct storm_idset) { &c->all, 1, 1 };
	top_counts_of(&c->nodes, &c->answer, c->view.counts.at,
		      c->view.counts.at, &c->view.counts);
}

static void say_all(struct cluster *c)
{
	say(c, STORM_GATHER_COUNTER, STATE_AGE, "", 100);
	say(c, STORM_GATHER_COUNTER, STATE_LAUNCHES, "", 5120);
	say(c, STORM_GATHER_COUNTER, STATE_BYTES, "", 1200000000);
	say(c, STORM_GATHER_COUNTER, STATE_FALLBACK "option", "", 2);
	say(c, STORM_GATHER_COUNTER, STATE_FALLBACK "no-agent", "", 3);
	say(c, STORM_GATHER_VALUE, STATE_GANG, STATE_GANG_IN, 0);
	say(c, STORM_GATHER_VALUE, STATE_EPOCH, "65539", 0);
	say(c, STORM_GATHER_VALUE, STATE_QUANTUM, "50 ms", 0);
}

/* A job on four cores of nodes first to last; of 0: it takes no turns. */
static struct jobs_job *run(struct cluster *c, const char *id, uint32_t first,
			    uint32_t last, uint32_t slot, uint32_t of)
{
	struct jobs_job *job = jobs_add(&c->jobs);
	char word[160];

	must(job);
	job->id = strdup(id);
	job->name = strdup(HOSTILE);
	job->user = strdup("mary");
	job->partition = strdup("gang");
	job->nodes = strdup("n[1-2]");
	snprintf(word, sizeof(word), WORD, of, slot, of);
	job->takes_turns = of && turns_word_read(word, &job->turns);
	must(job->takes_turns == !!of);
	for (uint32_t i = first; i <= last; i++)
		must(jobs_add_cores(&c->jobs,
				    &(struct jobs_cores) { c->jobs.count - 1, i,
							   0, 3 }));
	return job;
}

static struct top_text lines(const struct cluster *c, unsigned int columns)
{
	struct top_text t = { .columns = columns };

	top_layout(&c->view, &t);
	must(!t.failed && t.count);
	for (uint32_t i = 0; i < t.count; i++) {
		must(strlen(t.line[i].text) <= columns);
		for (const char *p = t.line[i].text; *p; p++)
			must(*p >= ' ' && *p <= '~');
	}
	return t;
}

static bool has_line(const struct top_text *t, const char *line)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (!strcmp(t->line[i].text, line))
			return true;
	return false;
}

static bool has_part(const struct top_text *t, const char *part)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (strstr(t->line[i].text, part))
			return true;
	return false;
}

/* ---------------------------------------------------------------- the matrix --- */

START_TEST(test_eight)
{
	static const unsigned int columns[] = { 80, 200 };
	struct cluster c;

	cluster_init(&c, 8);
	say_all(&c);
	run(&c, "80", 0, 7, 0, 2);
	run(&c, "81", 0, 3, 1, 2);
	run(&c, "82", 4, 6, 1, 2)->suspended = true;
	run(&c, "83", 7, 7, 0, 0);
	c.node[7].silent = true;
	c.node[7].got.why = STORM_EBUSY;
	must(jobs_share(&c.jobs));
	for (size_t i = 0; i < 2; i++) {
		struct top_text t = lines(&c, columns[i]);

		must(has_line(&t,
			      "SLOT  n1  n2  n3  n4  n5    n6    n7    n8!"));
		must(has_line(&t,
			      "   0  80  80  80  80  80    80    80    80"));
		must(has_line(&t, "   1  81  81  81  81  (82)  (82)  (82)  ."));
		must(has_line(&t,
			      "all   .   .   .   .   .     .     .     83"));
		must(has_part(&t, "7 of 8 agents answer"));
		must(has_part(&t, "no answer n8: "));
		must(has_part(&t, "steps     0, by Slurm in STORM's place 5"));
		must(has_part(&t, "1.2 GB"));
		must(has_part(&t, "epoch 65539, 8 members, quantum 50 ms on"));
		must(has_part(&t, "\\x1b[2J\\x1b]0") == (columns[i] == 200));
		must(has_part(&t, "NODES") == (columns[i] == 200));
		top_text_clear(&t);
	}
	must(top_is_wrong(&c.view));
	cluster_fini(&c);
}
END_TEST

/* Nodes that are the same are one column, wherever they stand. */
START_TEST(test_folded)
{
	struct cluster c;
	struct top_text t;

	cluster_init(&c, 64);
	say_all(&c);
	run(&c, "80", 0, 63, 0, 2);
	run(&c, "81", 0, 31, 1, 2);
	run(&c, "82", 33, 63, 1, 2);
	must(jobs_share(&c.jobs));
	t = lines(&c, 80);
	must(has_line(&t, "SLOT  n[1-32]  n33  n[34-64]"));
	must(has_line(&t, "      32       1    31"));
	must(has_line(&t, "   0  80       80   80"));
	must(has_line(&t, "   1  81       .    82"));
	must(!top_is_wrong(&c.view));
	top_text_clear(&t);
	c.node[5].silent = true; /* and it is none of them */
	c.node[5].got.why = STORM_EBUSY;
	t = lines(&c, 80);
	must(has_line(&t, "SLOT  n[1-5,7-32]  n6!  n33  n[34-64]"));
	must(has_line(&t, "      31           1    1    31"));
	top_text_clear(&t);
	t = lines(&c, 400);
	must(has_part(&t, "n63  n64"));
	top_text_clear(&t);
	cluster_fini(&c);
}
END_TEST

/* 4,000 nodes, in blocks of jobs: less than a screen.  Each with jobs of its own: all are
 * there, below each other. */
START_TEST(test_thousands)
{
	struct cluster c;
	struct top_text t;
	uint32_t heads = 0;

	cluster_init(&c, 4000);
	say_all(&c);
	run(&c, "100", 0, 3999, 0, 2);
	for (uint32_t i = 0; i < 4; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%u", 200 + i);
		run(&c, id, 1000 * i, 1000 * i + 999, 1, 2);
	}
	must(jobs_share(&c.jobs));
	t = lines(&c, 80);
	must(t.count <= 22);
	must(has_part(&t,
		      "n[1-1000]  n[1001-2000]  n[2001-3000]  n[3001-4000]"));
	top_text_clear(&t);
	for (uint32_t i = 0; i < 4000; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%u", 10000 + i);
		run(&c, id, i, i, 0, 0);
	}
	must(jobs_share(&c.jobs));
	t = lines(&c, 80);
	for (uint32_t i = 0; i < t.count; i++)
		heads += !strncmp(t.line[i].text, "SLOT  n", 7);
	must(heads > 350 && has_part(&t, "n4000") && has_part(&t, "13999"));
	top_text_clear(&t);
	cluster_fini(&c);
}
END_TEST

/* Jobs on nodes that were not asked, slots that are no row numbers, many in a cell. */
START_TEST(test_odd)
{
	struct cluster c;
	struct top_text t;

	cluster_init(&c, 2);
	must(jobs_add_node(&c.jobs, strdup("elsewhere")));
	run(&c, "80", 0, 2, 4000000000, 4000000001);
	run(&c, "70", 2, 2, 5, 6);
	for (uint32_t i = 0; i < 6; i++)
		run(&c, "9", 1, 1, 0, 0);
	must(jobs_share(&c.jobs));
	t = lines(&c, 80);
	must(has_part(&t, "4000000000  80") || has_part(&t, "400000000080"));
	must(has_line(&t, "all   .   9,9,9,9+2"));
	must(!has_part(&t, "elsewhere") && !has_part(&t, "   5  "));
	top_text_clear(&t);
	cluster_fini(&c);
	cluster_init(&c, 3);
	c.view.jobs_why = "it hangs";
	c.view.jobs_old = 12;
	t = lines(&c, 80);
	must(has_part(&t, "jobs: it hangs; what follows is 12 s old"));
	must(has_part(&t, "not to be seen: PrivateData"));
	must(has_part(&t, "no job runs that you may see"));
	must(has_part(&t, "no jobs share cores"));
	top_text_clear(&t);
	c.view.jobs = NULL;
	c.view.answer = NULL;
	c.view.jobs_why = NULL;
	c.view.agents_why = HOSTILE;
	t = lines(&c, 80);
	must(has_part(&t, "jobs: no answer yet, for 12 s"));
	must(has_part(&t, "the agents cannot be asked: "));
	must(!has_part(&t, "SLOT") && top_is_wrong(&c.view));
	top_text_clear(&t);
	cluster_fini(&c);
}
END_TEST

/* No screen is too small. */
START_TEST(test_small)
{
	struct cluster c;

	cluster_init(&c, 8);
	say_all(&c);
	run(&c, "80", 0, 7, 0, 2);
	run(&c, "81_1234567", 0, 6, 1, 2)->held = true;
	c.node[7].silent = true;
	c.node[7].got.why = STORM_ETIME;
	must(jobs_share(&c.jobs));
	for (unsigned int columns = 1; columns <= 90; columns++) {
		struct top_text t = lines(&c, columns);

		must(has_part(&t, "81") || columns < 8);
		top_text_clear(&t);
	}
	cluster_fini(&c);
}
END_TEST

/* What needs a look. */
START_TEST(test_look)
{
	struct cluster c;
	struct top_text t;

	cluster_init(&c, 8);
	say_all(&c);
	t = lines(&c, 80);
	for (uint32_t i = 0; i < t.count; i++)
		must(t.line[i].look != TOP_BAD);
	top_text_clear(&t);
	say(&c, STORM_GATHER_VALUE, STATE_EPOCH, "65538", 0);
	say(&c, STORM_GATHER_VALUE, STATE_HEALTH, HOSTILE, 0);
	say(&c, STORM_GATHER_VALUE, STATE_BUILD, "1", 0);
	t = lines(&c, 80);
	must(has_line(&t, "epoch     n[1-8]: 65538"));
	must(has_part(&t, "health    n[1-8]: ?[2J?]0;x?</script>"));
	must(!has_part(&t, "build "));
	top_text_clear(&t);
	say(&c, STORM_GATHER_VALUE, STATE_BUILD, "2", 0);
	t = lines(&c, 80);
	must(has_line(&t, "build     n[1-8]: 1"));
	must(has_line(&t, "build     n[1-8]: 2"));
	top_text_clear(&t);
	cluster_fini(&c);
}
END_TEST

/* -------------------------------------------------------------------- rates --- */

START_TEST(test_rates)
{
	struct top_counts a = {
		.seen = true, .at = 1000000000, .agents = 2, .age = 50
	};
	struct top_counts b = { .seen = true,
				.began = 2900000000,
				.at = 3000000000,
				.agents = 2,
				.age = 54 };
	struct top_counts was = b;
	struct top_rates r;

	a.sum[TOP_BYTES] = 1000;
	b.sum[TOP_BYTES] = 5000;
	top_rates_of(&a, &b, &r);
	must(r.known && r.per_second[TOP_BYTES] == 2000);
	must(r.per_second[TOP_STEPS] == 0);
	was = b;
	was.who = 7; /* of other agents */
	top_rates_of(&a, &was, &r);
	must(!r.known);
	was = b;
	was.age = 49; /* one has begun anew */
	top_rates_of(&a, &was, &r);
	must(!r.known);
	was = b; /* so young that the sum does not fall */
	was.began = 11000000000;
	was.at = 11100000000;
	was.age = 50 + 2 * 9;
	top_rates_of(&a, &was, &r);
	must(r.known);
	was.age--;
	top_rates_of(&a, &was, &r);
	must(!r.known);
	was.began = 10000000000; /* and they may have answered sooner */
	top_rates_of(&a, &was, &r);
	must(r.known);
	was.agents = 1;
	top_rates_of(&a, &was, &r);
	must(!r.known);
	was = b;
	was.sum[TOP_BYTES] = 999;
	top_rates_of(&a, &was, &r);
	must(!r.known);
	was = b;
	was.at = a.at;
	top_rates_of(&a, &was, &r);
	must(!r.known);
	was.seen = false;
	was.at = b.at;
	top_rates_of(&a, &was, &r);
	must(!r.known);
}
END_TEST

/* As another node is silent, who answers is another set. */
START_TEST(test_who)
{
	struct top_counts before;
	struct cluster c;

	cluster_init(&c, 8);
	say_all(&c);
	before = c.view.counts;
	must(before.seen && before.sum[TOP_FALLBACKS] == 5);
	must(before.sum[TOP_LAUNCHES] == 5120 && before.age == 100);
	c.node[3].silent = true;
	top_counts_of(&c.nodes, &c.answer, 1, 1, &c.view.counts);
	must(before.who != c.view.counts.who);
	c.node[3].silent = false;
	c.node[4].silent = true;
	before = c.view.counts;
	top_counts_of(&c.nodes, &c.answer, 1, 1, &c.view.counts);
	must(before.who != c.view.counts.who);
	cluster_fini(&c);
}
END_TEST

/* --------------------------------------------------------------------- JSON --- */

static json_object *member(json_object *o, const char *key)
{
	json_object *value;

	must(json_object_object_get_ex(o, key, &value));
	return value;
}

START_TEST(test_json)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	json_object *all, *column, *slots;
	struct cluster c;

	cluster_init(&c, 8);
	say_all(&c);
	run(&c, "80", 0, 7, 0, 2);
	run(&c, "81", 0, 3, 1, 2);
	run(&c, "82", 2, 3, 0, 0);
	must(jobs_share(&c.jobs));
	c.view.rates.known = true;
	c.view.rates.per_second[TOP_BYTES] = 1.5;
	must(top_json(f, &c.view));
	fclose(f);
	must((all = json_tokener_parse(text)));
	must(json_object_array_length(member(all, "matrix")) == 3);
	column = json_object_array_get_idx(member(all, "matrix"), 1);
	must(!strcmp(json_object_get_string(member(column, "nodes")),
		     "n[3-4]"));
	slots = member(column, "slots");
	must(json_object_array_length(slots) == 3);
	must(!member(json_object_array_get_idx(slots, 2), "slot"));
	must(json_object_get_double(member(member(all, "rates"), "bytes")) ==
	     1.5);
	must(json_object_array_length(member(all, "jobs")) == 3);
	must(!member(all, "jobs_error"));
	json_object_put(all);
	free(text);
	cluster_fini(&c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("top");
	TCase *t = tcase_create("top");

	tcase_add_test(t, test_eight);
	tcase_add_test(t, test_folded);
	tcase_add_test(t, test_thousands);
	tcase_add_test(t, test_odd);
	tcase_add_test(t, test_small);
	tcase_add_test(t, test_look);
	tcase_add_test(t, test_rates);
	tcase_add_test(t, test_who);
	tcase_add_test(t, test_json);
	suite_add_tcase(s, t);
	return unit_main(s);
}
