/*
 * test_metrics.c - storm metrics: what agents say becomes series that are bounded, and
 * counters that never count too much.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/units.h"
#include "src/storm_common/state_keys.h"
#include "src/storm_metrics/metrics_count.h"
#include "src/storm_metrics/metrics_text.h"
#include "unit.h"

#define HOSTILE "\033[31m\"} 1\nevil{a=\"\\\xe2\x80\xae"
#define PRINTED "?[31m\\\"} 1?evil{a=\\\"\\\\???"
#define MANY 40

static struct status_node node[4] = { { .name = (char *) "n2" },
				      { .name = (char *) "n10" },
				      { .name = (char *) "n1" },
				      { .name = (char *) "n3" } };
static const struct status_nodes nodes = { node, 4 };
static struct storm_range one = { 0, 0 }, two = { 0, 1 }, all = { 0, 3 };

static struct storm_gather_entry
metric_value(const char *key, const char *value, struct storm_range *r)
{
	struct storm_gather_entry e = { .kind = STORM_GATHER_VALUE };

	e.key_len = (uint8_t) strlen(key);
	e.value_len = (uint8_t) strlen(value);
	memcpy(e.key, key, e.key_len);
	memcpy(e.value, value, e.value_len);
	e.nodes = (struct storm_idset) { r, 1, 1 };
	return e;
}

static struct storm_gather_entry metric_sum(const char *key, uint64_t sum,
					    uint64_t count)
{
	struct storm_gather_entry e = metric_value(key, "", NULL);

	e.kind = STORM_GATHER_COUNTER;
	e.nodes = (struct storm_idset) { 0 };
	e.sum = e.max = sum;
	e.count = count;
	return e;
}

static struct metrics metrics_of(struct storm_gather_entry *e, uint32_t n)
{
	const struct status_answer a = { .table = { .entry = e, .count = n } };
	struct metrics m = { 0 };

	metrics_read(&nodes, &a, &m);
	return m;
}

static char *metrics_told(const struct metrics *m, enum metrics_form form)
{
	const uint64_t gaps = 3;
	const struct metrics_shown s = { m, m->counter, &gaps };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	metrics_text(f, &s, form);
	fclose(f);
	return text;
}

/* What each agent counts, as all four have it. */
#define BASE(n)                                                       \
	metric_sum(STATE_AGE, 400, n), metric_sum(STATE_STEPS, 7, n), \
		metric_sum(STATE_LAUNCHES, 20, n),                    \
		metric_sum(STATE_LAUNCHES_FAILED, 2, n),              \
		metric_sum(STATE_FILES, 4, n),                        \
		metric_sum(STATE_FILES_FAILED, 1, n),                 \
		metric_sum(STATE_BYTES, 4096, n),                     \
		metric_sum(STATE_SIGNALS, 5, n),                      \
		metric_sum(STATE_REPAIRED, 6, n)

START_TEST(test_hostile)
{
	struct storm_gather_entry e[] = {
		metric_value(STATE_BUILD, HOSTILE, &one),
		metric_value(STATE_HEALTH, HOSTILE, &one),
		metric_value(STATE_HEALTH, "unknown", &one),
		metric_value(STATE_GANG, HOSTILE, &two),
		metric_value(STATE_QUANTUM, "nan", &two),
		metric_value(STATE_EPOCH, HOSTILE, &two),
		metric_sum(STATE_FALLBACK HOSTILE, 9, 4),
		metric_sum(STATE_FALLBACK "busy", 1, 1),
		metric_sum(HOSTILE, 9, 4),
		BASE(4),
	};
	struct metrics m = metrics_of(e, sizeof(e) / sizeof(*e));
	char *text = metrics_told(&m, METRICS_OPEN);

	must(strstr(text, "storm_build_info{version=\"" PRINTED
			  "\",slurm=\"unknown\"} 1\n"));
	for (const char *c = text; *c; c++)
		must(*c == '\n' || (*c >= ' ' && *c <= '~'));
	must(!strstr(text, "\nevil"));
	must(strstr(text, "storm_agents_health{health=\"other\"} 2\n"));
	must(strstr(text, "storm_agents_gang{state=\"lacking\"} 2\n"));
	must(strstr(text, "reason=\"other\"} 9\n"));
	must(strstr(text, "reason=\"busy\"} 1\n"));
	must(strstr(text, "storm_strober_epoch 0\n"));
	must(strstr(text, "storm_turns_quantum_seconds 0.000000\n"));
	free(text);
}
END_TEST

START_TEST(test_label)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	metrics_label(f, HOSTILE);
	fclose(f);
	must(!strcmp(text, "\"" PRINTED "\""));
	free(text);
}
END_TEST

/* No line has the same name and labels as another one. */
static void each_is_there_once(const char *text)
{
	for (const char *x = text; *x; x = strchr(x, '\n') + 1) {
		size_t len = (size_t) (strchr(x, '\n') - x);

		while (*x != '#' && x[--len] != ' ')
			;
		for (const char *y = strchr(x, '\n') + 1; *x != '#' && *y;
		     y = strchr(y, '\n') + 1)
			must(strncmp(x, y, len + 1));
	}
}

/* Builds that differ in what is not printed, and more of them than are told apart. */
START_TEST(test_builds)
{
	struct storm_gather_entry e[MANY + 3] = {
		metric_value(STATE_BUILD, "1\001 for Slurm 2", &one),
		metric_value(STATE_BUILD, "1\002 for Slurm 2", &two),
		metric_value(STATE_BUILD, "more than 16 for Slurm ", &one),
	};
	struct metrics m;
	char text[64], *told;

	for (int i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), "v%d for Slurm 2", i);
		e[i + 3] = metric_value(STATE_BUILD, text, &one);
	}
	m = metrics_of(e, MANY + 3);
	must(m.builds == METRICS_BUILDS && m.build[0].agents == 3);
	must(!strcmp(m.build[1].slurm, "unknown"));
	must(m.other_builds == MANY + 2 - METRICS_BUILDS);
	must(!m.shown); /* PrivateData: builds alone */
	told = metrics_told(&m, METRICS_PLAIN);
	each_is_there_once(told);
	must(!strstr(told, "storm_strober_up"));
	must(strstr(told, "storm_build_info{version=\"1?\",slurm=\"2\"} 1\n"));
	must(strstr(told, "# TYPE storm_build_info gauge\n"));
	free(told);
}
END_TEST

START_TEST(test_told)
{
	struct storm_gather_entry e[] = {
		metric_value(STATE_BUILD, "0.1.0 for Slurm 22.05.8", &all),
		metric_value(STATE_EPOCH, "7", &one),
		metric_value(STATE_EPOCH, "9", &two),
		metric_value(STATE_EPOCH, "8", &one),
		metric_value(STATE_QUANTUM, "50 ms", &two),
		BASE(2),
		metric_sum(STATE_TOOK "1", 3, 1),
		metric_sum(STATE_TOOK "9", 1, 1),
		metric_sum(STATE_TOOK "10", 7, 1),
		metric_sum(STATE_TOOK_SUM, 61250000, 1),
	};
	struct metrics m;
	char *text;

	node[1].silent = node[3].silent = true;
	node[1].got.why = STORM_ENOAGENT;
	node[3].got.why = STORM_ETIME;
	m = metrics_of(e, sizeof(e) / sizeof(*e));
	must(m.up == 2 && m.shown && m.whole);
	must(m.epoch == 9 && m.behind == 2);
	m.took = 1500000000;
	m.at = 12345;
	text = metrics_told(&m, METRICS_OPEN);
	each_is_there_once(text);
	must(strstr(text, "storm_agents{state=\"up\"} 2\n"));
	must(strstr(text, "storm_agents{state=\"down\"} 1\n"));
	must(strstr(text, "storm_agents{state=\"silent\"} 1\n"));
	must(strstr(text, "unanswered{reason=\"no-answer\"} 1\n"));
	must(strstr(text, "duration_seconds 1.500000\n"));
	must(strstr(text, "timestamp_seconds 12.345000\n"));
	must(strstr(text, "quantum_seconds 0.050000\n"));
	must(strstr(text, "# TYPE storm_launches counter\n"));
	must(strstr(text,
		    "launches_total{result=\"storm\",reason=\"none\"} 7\n"));
	must(strstr(text, "duration_seconds_bucket{le=\"0.05\"} 0\n"));
	must(strstr(text, "duration_seconds_bucket{le=\"0.1\"} 3\n"));
	must(strstr(text, "duration_seconds_bucket{le=\"1.0\"} 3\n"));
	must(strstr(text, "duration_seconds_bucket{le=\"30.0\"} 3\n"));
	must(strstr(text, "duration_seconds_bucket{le=\"+Inf\"} 4\n"));
	must(strstr(text, "launch_duration_seconds_count 4\n"));
	must(strstr(text, "launch_duration_seconds_sum 61.250000\n"));
	must(strstr(text, "node_launches_total{result=\"done\"} 18\n"));
	must(strstr(text, "node_launches_total{result=\"failed\"} 2\n"));
	must(strstr(text, "storm_count_gaps_total 3\n"));
	must(!strcmp(text + strlen(text) - 6, "# EOF\n"));
	free(text);
	text = metrics_told(&m, METRICS_PLAIN);
	must(strstr(text, "# TYPE storm_launches_total counter\n"));
	must(!strstr(text, "# EOF") && !strstr(text, "# UNIT"));
	free(text);
	/* one of them has no room left for its counters */
	e[5].count = 1;
	m = metrics_of(e, sizeof(e) / sizeof(*e));
	must(m.shown && !m.whole);
	node[1].silent = node[3].silent = false;
}
END_TEST

START_TEST(test_names)
{
	char *names = metrics_names(&nodes);

	must(!strcmp(names, "n1\nn10\nn2\nn3\n"));
	free(names);
	node[2].silent = true;
	names = metrics_names(&nodes);
	must(!strcmp(names, "n10\nn2\nn3\n"));
	free(names);
	node[2].silent = false;
}
END_TEST

/* ----------------------------------------------------------------- counting on --- */

static void counted(struct metrics_count *c, uint64_t steps, uint64_t age,
		    const char *names)
{
	struct metrics m = { .answered = true, .shown = true, .whole = true };

	m.counter[METRICS_STEPS] = steps;
	m.age = age;
	m.at = c->at + 10000;
	for (const char *p = names; *p; p++)
		m.up += *p == '\n';
	metrics_count_add(c, &m, strdup(names));
}

START_TEST(test_counts)
{
	struct metrics_count c = { 0 };
	const uint64_t *total = &c.total[METRICS_STEPS];

	counted(&c, 1000, 200, "n1\nn10\nn2\n");
	must(*total == 0 && c.gaps == 0);
	counted(&c, 1005, 230, "n1\nn10\nn2\n");
	must(*total == 5 && c.gaps == 0);
	/* n10 has begun anew, and others have launched meanwhile */
	counted(&c, 905, 150, "n1\nn10\nn2\n");
	must(*total == 5 && c.gaps == 1);
	counted(&c, 908, 180, "n1\nn10\nn2\n");
	must(*total == 8 && c.gaps == 1);
	/* it has begun anew and has launched more than it had */
	counted(&c, 909, 100, "n1\nn10\nn2\n");
	must(*total == 9 && c.gaps == 2);
	/* n1 does not answer, and is back */
	counted(&c, 500, 90, "n10\nn2\n");
	must(*total == 9 && c.gaps == 3);
	counted(&c, 501, 110, "n10\nn2\n");
	must(*total == 10 && c.gaps == 3);
	counted(&c, 1101, 300, "n1\nn10\nn2\n");
	must(*total == 10 && c.gaps == 4);
	/* one for another one, and one whose name begins alike */
	counted(&c, 2000, 400, "n1\nn10\nn3\n");
	must(*total == 10);
	counted(&c, 3000, 500, "n1\nn10\n");
	must(*total == 1010);
	counted(&c, 4000, 600, "n1\nn100\n");
	must(*total == 1010);
	metrics_count_clear(&c);
}
END_TEST

/* An agent that begins anew is seen by the sum of the ages, but none is that only answers
 * sooner than the last time. */
START_TEST(test_counts_young)
{
	struct metrics m = { .answered = true,
			     .shown = true,
			     .whole = true,
			     .up = 4,
			     .at = 20000,
			     .took = STORM_SEC / 2 };
	struct metrics_count c = { 0 };

	metrics_count_add(&c, &m, strdup("n1\nn2\nn3\nn4\n"));
	m.at += 10000;
	m.age = 4 * 8;
	metrics_count_add(&c, &m, strdup("n1\nn2\nn3\nn4\n"));
	must(c.gaps == 0);
	m.at += 10000;
	m.age += 4 * 8 - 1;
	metrics_count_add(&c, &m, strdup("n1\nn2\nn3\nn4\n"));
	must(c.gaps == 1);
	/* a question of 5 s */
	m.at += 10000;
	m.took = 5 * STORM_SEC;
	m.age += 4 * 4;
	metrics_count_add(&c, &m, strdup("n1\nn2\nn3\nn4\n"));
	must(c.gaps == 1);
	metrics_count_clear(&c);
}
END_TEST

/* A query that failed, or has told only a part, counts nothing and loses nothing. */
START_TEST(test_counts_not)
{
	struct metrics m = { .answered = true, .shown = true };
	struct metrics_count c = { 0 };

	counted(&c, 10, 20, "n1\n");
	counted(&c, 12, 30, "n1\n");
	m.answered = false;
	metrics_count_add(&c, &m, NULL);
	must(c.total[METRICS_STEPS] == 2 && c.gaps == 0);
	counted(&c, 13, 40, "n1\n");
	must(c.total[METRICS_STEPS] == 3 && c.gaps == 0);
	m.answered = true;
	metrics_count_add(&c, &m, strdup("n1\n"));
	must(c.total[METRICS_STEPS] == 3 && c.gaps == 1);
	counted(&c, 99, 50, "n1\n");
	must(c.total[METRICS_STEPS] == 3 && c.gaps == 1);
	metrics_count_clear(&c);
}
END_TEST

START_TEST(test_kept)
{
	struct metrics_count c = { 0 }, d;
	char *text, *again;

	counted(&c, UINT64_MAX - 1, 20, "n1\nn2\n");
	counted(&c, UINT64_MAX, 60, "n1\nn2\n");
	text = metrics_count_text(&c);
	must(metrics_count_read(text, &d));
	again = metrics_count_text(&d);
	must(!strcmp(text, again));
	must(d.total[METRICS_STEPS] == 1 && !strcmp(d.names, "n1\nn2\n"));
	metrics_count_clear(&d);
	free(again);
	/* none of its beginnings is one, until the names begin */
	for (size_t len = (size_t) (strstr(text, "nodes\n") - text) + 6;
	     len--;) {
		text[len] = '\0';
		must(!metrics_count_read(text, &d) && !d.names && !d.at);
	}
	free(text);
	metrics_count_clear(&c);
	text = metrics_count_text(&c);
	must(metrics_count_read(text, &d) && !d.names);
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("metrics");
	TCase *t = tcase_create("metrics");

	tcase_add_test(t, test_hostile);
	tcase_add_test(t, test_label);
	tcase_add_test(t, test_builds);
	tcase_add_test(t, test_told);
	tcase_add_test(t, test_names);
	tcase_add_test(t, test_counts);
	tcase_add_test(t, test_counts_young);
	tcase_add_test(t, test_counts_not);
	tcase_add_test(t, test_kept);
	suite_add_tcase(s, t);
	return unit_main(s);
}
