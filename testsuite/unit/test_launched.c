/*
 * test_launched.c - how long a launch has taken: srun's record, what an agent keeps of
 * it, and how it is shown.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/wire/gather.h"
#include "src/libstorm/wire/wire.h"
#include "src/storm_agent/agent_launched.h"
#include "src/storm_common/launch_record.h"
#include "src/storm_common/state_keys.h"
#include "src/storm_status/why_launch.h"
#include "unit.h"

/* ----------------------------------------------------------------- the record --- */

#define PARTS_AT 9 /* where the parts begin */
#define SLOWS_AT (PARTS_AT + 8 * LAUNCH_PARTS)

/* Parts of so many us, one after the other; nothing was repaired, and no turn
 * awaited. */
static struct launch_record record(uint32_t us)
{
	struct launch_record r = { .nodes = 8, .tasks = 16 };

	for (int i = 0; i < LAUNCH_PARTS; i++)
		if (i == LAUNCH_REPAIR || i == LAUNCH_SLOT) {
			r.part[i].took = LAUNCH_NONE;
		} else {
			r.part[i].start = (uint32_t) i * us;
			r.part[i].took = us;
		}
	return r;
}

static void slow(struct launch_record *r, enum launch_part part,
		 enum launch_wait wait, const char *name)
{
	struct launch_slow *s = &r->slow[r->slows++];

	s->part = part;
	s->wait = wait;
	snprintf(s->name, sizeof(s->name), "%s", name);
}

START_TEST(test_record)
{
	struct launch_record r = record(1000), got;
	uint8_t buf[LAUNCH_RECORD];
	size_t len;

	slow(&r, LAUNCH_EXEC, LAUNCH_WAIT_SLURMD, "n7");
	slow(&r, LAUNCH_OPEN, LAUNCH_WAIT_BYTES, "n[1-4]");
	slow(&r, LAUNCH_SEND, LAUNCH_WAIT_TURN,
	     "a-name-of-thirty-one-characters");
	len = launch_record_pack(&r, buf);
	must(len && len <= LAUNCH_RECORD);
	must(launch_record_unpack(&got, buf, len));
	must(got.nodes == 8 && got.tasks == 16 && got.slows == 3);
	must(!memcmp(got.part, r.part, sizeof(r.part)));
	must(launch_record_took(&got) == 7000);
	must(!strcmp(launch_record_slow(&got, LAUNCH_EXEC)->name, "n7"));
	must(launch_record_slow(&got, LAUNCH_EXEC)->wait == LAUNCH_WAIT_SLURMD);
	must(!launch_record_slow(&got, LAUNCH_VERIFY));
	/* all of it, and no more */
	for (size_t i = 0; i < len; i++)
		must(!launch_record_unpack(&got, buf, i));
	must(!launch_record_unpack(&got, buf, len + 1));
	must(*launch_part_word(LAUNCH_SLOT) &&
	     *launch_wait_word(LAUNCH_WAIT_RESENT));
}
END_TEST

static void put32(uint8_t *at, uint32_t v)
{
	struct storm_out o = { at, at + 4, false };

	storm_put32(&o, v);
}

/* A user's srun may send anything. */
START_TEST(test_record_of_others)
{
	const struct {
		size_t at;
		uint32_t value;
	} bad[] = {
		{ 1, 0 }, /* nodes */
		{ 1, STORM_NODES_MAX + 1 },
		{ 5, 0 }, /* tasks */
		{ 5, UINT32_MAX },
		{ PARTS_AT, LAUNCH_LONGEST + 1 },
		{ PARTS_AT + 4, LAUNCH_LONGEST + 1 },
		{ PARTS_AT + 12, LAUNCH_LONGEST },   /* ends later */
		{ PARTS_AT + 8 * LAUNCH_REPAIR, 1 }, /* it was not */
		{ PARTS_AT + 8 * LAUNCH_EXEC + 4, LAUNCH_NONE },
	};
	struct launch_record r = record(1000), got;
	uint8_t buf[LAUNCH_RECORD], other[LAUNCH_RECORD];
	size_t len;

	slow(&r, LAUNCH_EXEC, LAUNCH_WAIT_SLURMD, "n7");
	len = launch_record_pack(&r, buf);
	must(launch_record_unpack(&got, buf, len));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		memcpy(other, buf, len);
		put32(other + bad[i].at, bad[i].value);
		must(!launch_record_unpack(&got, other, len));
	}
	memcpy(other, buf, len); /* a sum that is too great for its type */
	put32(other + PARTS_AT, LAUNCH_LONGEST);
	put32(other + PARTS_AT + 4, LAUNCH_LONGEST);
	must(!launch_record_unpack(&got, other, len));
	for (int c = 0; c < 256; c++) {
		memcpy(other, buf, len);
		other[len - 1] = (uint8_t) c; /* "n?" */
		must(launch_record_unpack(&got, other, len) ==
		     (c > ' ' && c <= '~'));
	}
	for (size_t at = SLOWS_AT; at < SLOWS_AT + 4; at++) {
		memcpy(other, buf, len);
		other[at] = 200; /* slow ones, part, wait, length */
		must(!launch_record_unpack(&got, other, len));
	}
	memcpy(other, buf, len);
	other[0] = 2; /* of a later version */
	must(!launch_record_unpack(&got, other, len));
	/* one for a part, which happened */
	slow(&r, LAUNCH_EXEC, LAUNCH_WAIT_TURN, "n8");
	must(!launch_record_pack(&r, buf));
	r.slow[1].part = LAUNCH_SLOT;
	must(!launch_record_pack(&r, buf));
}
END_TEST

/* --------------------------------------------------------------- what is kept --- */

static struct agent_launches all;

#define TOOK 100001 /* us */

static void add(uint32_t job, uint32_t step, uint32_t uid, uint8_t len)
{
	const struct agent_launched l = {
		.uid = uid, .job = job, .step = step, .len = len
	};

	agent_launched_add(&all, &l, TOOK);
}

/* How many of a user's are found; *first: the first one. */
static unsigned int found(const char *which, uint32_t uid,
			  struct agent_launched *first)
{
	struct agent_launched_want want = { .all_users = !uid, .uid = uid };
	const struct agent_launched *l[100];
	unsigned int n;

	must(fallback_parse(which, &want.which));
	n = agent_launched_find(&all, &want, l, 100);
	*first = n ? *l[0] : (struct agent_launched) { 0 };
	return n;
}

/* Each once: a bucket ends with its bound. */
START_TEST(test_took)
{
	static const uint32_t us[] = { 0,	 50000,	   50001,
				       30000000, 30000001, LAUNCH_LONGEST };
	static struct agent_launches timed;
	struct agent_launched l = { .job = 1 };

	for (size_t i = 0; i < sizeof(us) / sizeof(*us); i++) {
		l.step = (uint32_t) i;
		agent_launched_add(&timed, &l, us[i]);
		agent_launched_add(&timed, &l, us[i]); /* the same step */
	}
	must(timed.took[0] == 2 && timed.took[1] == 1);
	must(timed.took[LAUNCH_TOOKS - 2] == 1);
	must(timed.took[LAUNCH_TOOKS - 1] == 2);
	must(timed.took_us == 3660100002u);
}
END_TEST

START_TEST(test_kept)
{
	struct agent_launched l;

	must(!found("", 0, &l));
	add(7, 0, 1000, 1);
	add(7, 1, 1000, 2);
	add(8, 1, 1001, 3);
	must(found("", 0, &l) == 3 && l.job == 8);
	must(found("", 1000, &l) == 2 && l.step == 1);
	must(found("7", 0, &l) == 2 && found("7.0", 0, &l) == 1);
	must(!found("8", 1000, &l)); /* another's */
	/* a step has one */
	add(7, 0, 1000, 4);
	must(found("7.0", 0, &l) == 1 && l.len == 4);
	must(found("", 0, &l) == 3 && l.len == 4); /* it is the newest */
	must(found("7", 0, &l) == 2 && l.len == 4);
	must(found("7.1", 0, &l) == 1 && l.len == 2);
	must(found("8", 0, &l) == 1 && l.len == 3);
	for (uint32_t i = 0; i < 1000; i++)
		add(100 + i, 0, 1000, 5);
	must(found("", 0, &l) == 100 && l.job == 1099);
	must(found("844", 0, &l) == 1 && !found("843", 0, &l));
	add(1099, 0, 1000, 6);
	must(found("", 0, &l) == 100 && l.job == 1099 && l.len == 6);
	must(found("844", 0, &l) == 1); /* none was lost for it */
	add(844, 0, 1000, 7); /* the oldest, where the ring begins anew */
	must(found("", 0, &l) == 100 && l.job == 844 && l.len == 7);
	must(found("1099", 0, &l) == 1 && l.len == 6);
	add(2000, 0, 1000, 8);
	must(found("844", 0, &l) == 1 && !found("845", 0, &l));
	must(found("846", 0, &l) == 1);
}
END_TEST

/* ------------------------------------------------------------------- as shown --- */

static struct storm_range first = { 0, 0 };

static struct storm_gather_entry entry(const char *key, uint64_t at,
				       const struct launch_record *r)
{
	struct storm_gather_entry e = { .kind = STORM_GATHER_VALUE };
	struct storm_out o = { e.value, e.value + sizeof(e.value), false };
	uint8_t buf[LAUNCH_RECORD];
	size_t len = launch_record_pack(r, buf);

	must(len);
	storm_put64(&o, at);
	storm_put32(&o, 4000000000u); /* a uid without a name */
	storm_put(&o, buf, len);
	must(!o.bad);
	e.value_len = (uint8_t) (o.p - e.value);
	e.key_len = (uint8_t) strlen(key);
	memcpy(e.key, key, e.key_len);
	e.nodes = (struct storm_idset) { &first, 1, 1 };
	return e;
}

static struct why_launches read_all(struct storm_gather_entry *e,
				    uint32_t count)
{
	static struct status_node node = { .name = (char *) "n1" };
	static const struct status_nodes nodes = { &node, 1 };
	static uint32_t asked;
	struct status_answer a = { .table = { .entry = e, .count = count },
				   .asked = &asked,
				   .count = 1 };

	return why_launches_read(&nodes, &a, &(struct status_answer) { 0 });
}

/* Nodes give so many that none is left out; a job's own are beside them, and once. */
START_TEST(test_room)
{
	static struct storm_gathered last;
	struct launch_record r = record(1000);
	struct storm_gather_entry own[] = { entry("1.0", 5, &r),
					    entry("2.0", 9, &r) };
	static struct status_node node = { .name = (char *) "n1" };
	static const struct status_nodes nodes = { &node, 1 };
	static uint32_t asked;
	struct status_answer a = { .table = { .entry = own, .count = 1 },
				   .asked = &asked,
				   .count = 1 };
	struct status_answer b = a;
	struct why_launches l;

	slow(&r, LAUNCH_EXEC, LAUNCH_WAIT_SLURMD, "node00001");
	for (uint32_t n = 1; n <= 100; n++) {
		uint32_t each = why_launches_each(n);
		struct storm_gather_entry e;
		struct storm_gather_own of;
		char key[32];

		must(each >= 4 && each <= STATE_LAUNCHED_MOST);
		if (n != 1 && n != 5 && n != 100)
			continue;
		for (uint32_t i = 0; i < n * each; i++) {
			snprintf(key, sizeof(key), "%u.%u", 1000000 + i, i);
			e = entry(key, 2000 + i, &r);
			of = (struct storm_gather_own) { .self = i / each };
			storm_gather_value(&of, key, strlen(key), e.value,
					   e.value_len);
			must(!storm_gathered_merge(&last, &of.t));
			storm_gathered_clear(&of.t);
		}
		for (uint32_t i = 0; i < last.count; i++)
			must(last.entry[i].kind == STORM_GATHER_VALUE);
		must(last.count == n * each);
		storm_gathered_clear(&last);
	}
	must(why_launches_each(0) && why_launches_each(16384) == 4);
	b.table.entry = own;
	b.table.count = 2;
	l = why_launches_read(&nodes, &a, &b);
	must(l.count == 2 && l.of == 2 && l.one[0].at == 9);
	why_launches_clear(&l);
}
END_TEST

START_TEST(test_medians)
{
	enum { MANY = 150 };
	static struct storm_gather_entry e[MANY + 50];
	struct launch_record r;
	struct why_launches l;
	char key[32];

	/* the older ones took long */
	for (uint32_t i = 0; i < MANY; i++) {
		r = record(i < 50 ? 900000 : i < 90 ? 1000 : 3000);
		snprintf(key, sizeof(key), "%u.0", i + 1);
		e[i] = entry(key, 1000 + i, &r);
	}
	l = read_all(e, MANY);
	must(l.count == MANY && l.of == WHY_LAST);
	must(!strcmp(l.one[0].step.text, "150.0"));
	must(l.median[LAUNCH_EXEC] == 3000 && l.median[LAUNCH_PARTS] == 21000);
	must(!l.median[LAUNCH_REPAIR]);
	why_launches_clear(&l);
	/* 50 nodes have one step, as of a job that began anew: one sample, the newest */
	for (uint32_t i = 0; i < 50; i++) {
		r = record(i + 1);
		e[MANY + i] = entry("150.0", 2000 + i, &r);
	}
	l = read_all(e, MANY + 50);
	must(l.count == MANY && l.median[LAUNCH_EXEC] == 3000);
	must(l.one[0].at == 2049 && l.one[0].r.part[LAUNCH_EXEC].took == 50);
	why_launches_clear(&l);
	l = read_all(e + 88, 4); /* 1, 1, 3, 3 ms */
	must(l.of == 4 && l.median[LAUNCH_EXEC] == 2000);
	why_launches_clear(&l);
	l = read_all(e, 0);
	must(!l.of && !l.median[LAUNCH_PARTS]);
	why_launches_clear(&l);
}
END_TEST

/* Lines of at most 80 printable characters. */
static char *text_of(const struct why_launches *l, const char *which,
		     uint32_t count)
{
	struct fallback_which w;
	char *text = NULL;
	size_t len, column = 0;
	FILE *f = open_memstream(&text, &len);

	setenv("TZ", "UTC", 1);
	must(fallback_parse(which, &w));
	must(why_launches_text(f, l, &w) == count);
	fclose(f);
	for (const char *c = text; *c; c++) {
		must(*c == '\n' || (*c >= ' ' && *c <= '~'));
		must(*c == '\n' || ++column <= 80);
		if (*c == '\n')
			column = 0;
	}
	return text;
}

START_TEST(test_shown)
{
	struct launch_record r = record(1000), quick = record(200);
	struct storm_gather_entry e[] = {
		entry("7.0", 2000, &r), entry("7.1+2", 1000, &quick),
		entry("7\033[31m\xe2\x80\xae.2", 1, &r), entry("70.0", 3000, &r)
	};
	struct why_launches l;
	struct fallback_which w;
	json_object *list, *one, *phases, *o;
	char *text;

	r.part[LAUNCH_EXEC].took = LAUNCH_LONGEST - r.part[LAUNCH_EXEC].start;
	r.nodes = 16384;
	r.tasks = 1u << 24;
	slow(&r, LAUNCH_EXEC, LAUNCH_WAIT_RESENT,
	     "</script>\"\\-of-31-characters-xx");
	e[0] = entry("7.0", 2000, &r);
	l = read_all(e, 4);
	must(l.count == 4);
	free(text_of(&l, "", 4));
	free(text_of(&l, "8", 0));
	free(text_of(&l, "7", 2));
	text = text_of(&l, "7.1", 1);
	must(!strncmp(text, "7.1+2  1970-01-01T00:16:40  storm: 1.4 ms\n", 42));
	free(text);
	text = text_of(&l, "7.0", 1);
	must(strstr(text, "reported by srun of uid 4000000000\n"));
	must(strstr(text, "    create step          1.0         1.0  #\n"));
	must(strstr(
		text,
		"slowest: </script>\"\\-of-31-characters-xx, by Slurm's message\n"));
	must(strstr(text, "  of the last 4 known\n") && !strstr(text, "turn"));
	free(text);
	list = json_object_new_array();
	must(fallback_parse("7.0", &w));
	must(why_launches_json(list, &l, &w) == 1);
	text = strdup(json_object_to_json_string(list));
	json_object_put(list);
	must((list = json_tokener_parse(text)));
	one = json_object_array_get_idx(list, 0);
	must(json_object_object_get_ex(one, "phases", &phases));
	must(json_object_array_length(phases) == LAUNCH_PARTS - 2);
	must(json_object_object_get_ex(json_object_array_get_idx(phases, 5),
				       "slowest", &o));
	must(!strcmp(json_object_get_string(o), r.slow[0].name));
	json_object_put(list);
	free(text);
	why_launches_clear(&l);
}
END_TEST

/* srun waited for busy nodes. */
START_TEST(test_shown_late)
{
	struct launch_record r = record(1000);
	struct storm_gather_entry e;
	struct why_launches l;
	char *text;

	r.part[LAUNCH_STEP_CREATE].took = LAUNCH_NONE;
	e = entry("7.0", 2000, &r);
	l = read_all(&e, 1);
	text = text_of(&l, "7", 1);
	must(strstr(
		text,
		"create step            -         0.0  more than 5 s: not counted\n"));
	free(text);
	why_launches_clear(&l);
}
END_TEST

/* Agents of another version, and values that are none. */
START_TEST(test_answers_of_others)
{
	struct launch_record r = record(1000);
	struct storm_gather_entry e[3];
	struct why_launches l;

	for (int i = 0; i < 3; i++)
		e[i] = entry("7.0", 1, &r);
	e[0].value_len = STATE_LAUNCHED_HEAD - 1;
	e[1].kind = STORM_GATHER_REST;
	e[2].value[STATE_LAUNCHED_HEAD] ^= 1;
	l = read_all(e, 3);
	must(!l.count && !l.of);
	why_launches_clear(&l);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("launched");
	TCase *t = tcase_create("launched");

	tcase_add_test(t, test_record);
	tcase_add_test(t, test_record_of_others);
	tcase_add_test(t, test_took);
	tcase_add_test(t, test_kept);
	tcase_add_test(t, test_room);
	tcase_add_test(t, test_medians);
	tcase_add_test(t, test_shown);
	tcase_add_test(t, test_shown_late);
	tcase_add_test(t, test_answers_of_others);
	suite_add_tcase(s, t);
	return unit_main(s);
}
