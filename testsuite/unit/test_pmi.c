/*
 * test_pmi.c - storm run --mpi: what ranks of PMI-1 say and are answered, fences of many
 * nodes, and both as bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/storm_launcher/gather.h"
#include "src/storm_launcher/pmi1.h"
#include "src/storm_launcher/pmi1_pairs.h"
#include "src/storm_launcher/pmi_wire.h"
#include "src/storm_launcher/runs.h"
#include "unit.h"

/* -------------------------------------------------------------------- its lines --- */

static struct pmi1_said said;

static enum pmi1_news say(struct pmi1 *p, uint32_t k, const char *text)
{
	char line[PMI1_LINE];
	size_t len = strlen(text);

	must(len < sizeof(line));
	memcpy(line, text, len + 1);
	pmi1_take(p, k, line, len, &said);
	return said.news;
}

#define answers(p, k, text, expected)                    \
	do {                                             \
		say(p, k, text);                         \
		ck_assert_str_eq(said.answer, expected); \
	} while (0)

START_TEST(test_begin)
{
	struct pmi1 *p = pmi1_create(6, 2, "(vector,(0,3,2))");

	must(say(p, 0, "cmd=init pmi_version=1 pmi_subversion=1") ==
	     PMI1_JOINED);
	ck_assert_str_eq(said.answer, "cmd=response_to_init rc=0 pmi_version=1 "
				      "pmi_subversion=1\n");
	must(say(p, 0, "cmd=init pmi_version=2 pmi_subversion=0") == PMI1_BAD);
	must(strstr(said.answer, "rc=-1"));
	answers(p, 1, "cmd=get_maxes",
		"cmd=maxes rc=0 kvsname_max=64 "
		"keylen_max=64 vallen_max=1024\n");
	answers(p, 1, "cmd=get_universe_size",
		"cmd=universe_size rc=0 size=6\n");
	answers(p, 1, "cmd=get kvsname=storm key=PMI_process_mapping",
		"cmd=get_result rc=0 msg=success value=(vector,(0,3,2))\n");
	answers(p, 0, "cmd=get kvsname=storm key=no",
		"cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
	must(say(p, 0, "cmd=finalize") == PMI1_LEFT);
	must(say(p, 0, "cmd=abort exitcode=7 message=out of luck") ==
		     PMI1_ABORT &&
	     said.code == 7);
	ck_assert_str_eq(said.text, "out of luck");
	must(say(p, 0, "cmd=abort") == PMI1_ABORT && said.code == 1);
	/* a key within a value is none */
	must(say(p, 0, "xcmd=abort") == PMI1_BAD);
	must(say(p, 0, "") == PMI1_BAD);
	pmi1_destroy(p);
}
END_TEST

/* What each node has put, all ranks get after the barrier, and not before. */
START_TEST(test_barrier)
{
	struct pmi1 *node[2] = { pmi1_create(4, 2, ""), pmi1_create(4, 2, "") };
	uint8_t all[4096];
	size_t len = 0;

	for (uint32_t n = 0; n < 2; n++) {
		char line[64];
		const uint8_t *fresh;
		size_t have;

		must(!pmi1_any_waits(node[n]));
		for (uint32_t k = 0; k < 2; k++) {
			must(!pmi1_all_wait(node[n]));
			snprintf(line, sizeof(line),
				 "cmd=put kvsname=storm key=P%u value=at %u",
				 2 * n + k, k);
			answers(node[n], k, line,
				"cmd=put_result rc=0 msg=success\n");
			must(say(node[n], k, "cmd=barrier_in") ==
				     PMI1_BARRIER &&
			     !*said.answer && pmi1_waits(node[n], k));
			/* twice is once */
			say(node[n], k, "cmd=barrier_in");
		}
		must(pmi1_all_wait(node[n]) && pmi1_any_waits(node[n]));
		fresh = pmi1_fresh(node[n], &have);
		memcpy(all + len, fresh, have);
		len += have;
	}
	answers(node[0], 0, "cmd=get kvsname=storm key=P3",
		"cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
	for (uint32_t n = 0; n < 2; n++) {
		size_t have;

		must(pmi1_release(node[n], all, len));
		must(!pmi1_any_waits(node[n]) && !pmi1_waits(node[n], 1));
		pmi1_fresh(node[n], &have);
		must(!have);
		answers(node[n], 1, "cmd=get kvsname=storm key=P3",
			"cmd=get_result rc=0 msg=success value=at 1\n");
	}
	/* a text without its end, a key without a value */
	must(!pmi1_release(node[0], all, len - 1));
	must(!pmi1_release(node[0], (const uint8_t *) "key", 4));
	for (uint32_t n = 0; n < 2; n++)
		pmi1_destroy(node[n]);
}
END_TEST

START_TEST(test_refusals)
{
	struct pmi1 *p = pmi1_create(1, 1, "");
	char line[PMI1_LINE], zero[] = "cmd=get\0key=x";

	must(say(p, 0, "mcmd=spawn") == PMI1_NOTHING && !*said.answer);
	must(say(p, 0, "nprocs=2") == PMI1_NOTHING && !*said.answer);
	must(say(p, 0, "cmd=abort") == PMI1_NOTHING);
	must(say(p, 0, "endcmd") == PMI1_SPAWN);
	must(strstr(said.answer, "cmd=spawn_result rc=-1 "));
	say(p, 0, "cmd=publish_name service=x port=y");
	must(strstr(said.answer, "cmd=publish_result rc=-1 "));
	say(p, 0, "cmd=what_is_this");
	must(strstr(said.answer, "cmd=what_is_this rc=-1 "));
	pmi1_take(p, 0, zero, sizeof(zero) - 1, &said);
	must(said.news == PMI1_BAD);
	/* too long: a key, a value */
	snprintf(line, sizeof(line), "cmd=put key=%064d value=x", 0);
	answers(p, 0, line, "cmd=put_result rc=-1 msg=too_long\n");
	snprintf(line, sizeof(line), "cmd=put key=x value=%01024d", 0);
	answers(p, 0, line, "cmd=put_result rc=-1 msg=too_long\n");
	answers(p, 0, "cmd=put value=x", "cmd=put_result rc=-1 msg=too_long\n");
	/* and too many of them */
	snprintf(line, sizeof(line), "cmd=put key=x value=%01023d", 0);
	for (size_t n = 0; n < PMI1_FRESH / 1026; n++)
		answers(p, 0, line, "cmd=put_result rc=0 msg=success\n");
	answers(p, 0, line, "cmd=put_result rc=-1 msg=too_much\n");
	pmi1_destroy(p);
}
END_TEST

START_TEST(test_mapping)
{
	static const uint32_t even[] = { 0, 2, 4, 6 }, one[] = { 0, 5 };
	static const uint32_t mixed[] = { 0, 3, 5, 7, 8 };
	uint32_t many[1001] = { 0 };
	char text[PMI1_VALUE];

	pmi1_mapping(even, 3, &text);
	ck_assert_str_eq(text, "(vector,(0,3,2))");
	pmi1_mapping(one, 1, &text);
	ck_assert_str_eq(text, "(vector,(0,1,5))");
	pmi1_mapping(mixed, 4, &text);
	ck_assert_str_eq(text, "(vector,(0,1,3),(1,2,2),(3,1,1))");
	/* longer than a value may be */
	for (uint32_t k = 0; k < 1000; k++)
		many[k + 1] = many[k] + 1 + k % 2;
	pmi1_mapping(many, 1000, &text);
	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(test_pairs)
{
	struct pmi1_pairs p = { 0 };
	char key[32], value[32];

	must(!pmi1_pairs_find(&p, "k"));
	for (int round = 0; round < 2; round++)
		for (int k = 0; k < 1000; k++) {
			snprintf(key, sizeof(key), "key-%d", k);
			snprintf(value, sizeof(value), "%d", k + round);
			must(pmi1_pairs_add(&p, key, value));
		}
	must(p.count == 1000 && p.slots >= 2000);
	ck_assert_str_eq(pmi1_pairs_find(&p, "key-999"), "1000");
	ck_assert_str_eq(pmi1_pairs_find(&p, "key-0"), "1");
	must(!pmi1_pairs_find(&p, "key-1000"));
	pmi1_pairs_clear(&p);
	must(!p.bytes && !pmi1_pairs_find(&p, "key-0"));
}
END_TEST

/* -------------------------------------------------------------------------- fences --- */

static struct storm_idset ranks(uint32_t first, uint32_t last)
{
	struct storm_idset s = { 0 };

	must(!storm_idset_add(&s, first, last));
	return s;
}

START_TEST(test_gather)
{
	static const uint32_t rank[] = { 0, 2, 4, 5 };
	struct storm_idset all = ranks(0, 4), some = ranks(1, 2),
			   over = ranks(0, 5), gone = ranks(4, 4);
	struct gathers g = { 0 };
	struct gather *one = NULL;
	uint32_t which = 0;

	must(gather_add(&g, rank, 3, 2, &all, (const uint8_t *) "c", 1, 9,
			&one) == GATHER_WAITS);
	/* one of fewer ranks beside it, which the last node has not */
	must(gather_add(&g, rank, 3, 1, &some, NULL, 0, 9, &one) ==
	     GATHER_WAITS);
	must(gather_add(&g, rank, 3, 2, &some, NULL, 0, 9, &one) == GATHER_BAD);
	must(g.count == 2);
	must(gather_add(&g, rank, 3, 0, &some, NULL, 0, 9, &one) ==
	     GATHER_WHOLE);
	must(one->len == 0 && g.count == 1);
	gather_free(one);
	/* twice, a rank and a node that the run has not */
	must(gather_add(&g, rank, 3, 2, &all, NULL, 0, 9, &one) == GATHER_BAD);
	must(gather_add(&g, rank, 3, 0, &over, NULL, 0, 9, &one) == GATHER_BAD);
	must(gather_add(&g, rank, 3, UINT32_MAX, &all, NULL, 0, 9, &one) ==
	     GATHER_BAD);
	/* rank 4 has come and may end; others may not */
	must(!gather_is_vain(&g, rank, 3, &gone, &which));
	must(!storm_idset_add(&gone, 3, 3));
	must(gather_is_vain(&g, rank, 3, &gone, &which) && which == 3);
	must(gather_add(&g, rank, 3, 0, &all, (const uint8_t *) "aaaa", 4, 4,
			&one) == GATHER_BIG);
	must(gather_add(&g, rank, 3, 0, &all, (const uint8_t *) "a", 1, 4,
			&one) == GATHER_WAITS);
	must(gather_add(&g, rank, 3, 1, &all, (const uint8_t *) "b", 1, 4,
			&one) == GATHER_WHOLE);
	must(one->len == 3 && !memcmp(one->data, "cab", 3) && !g.first);
	gather_free(one);
	/* the next one of the same ranks */
	must(gather_add(&g, rank, 3, 1, &all, NULL, 0, 4, &one) ==
	     GATHER_WAITS);
	gathers_clear(&g);
	must(!g.first && !g.count);
	storm_idset_clear(&all);
	storm_idset_clear(&some);
	storm_idset_clear(&over);
	storm_idset_clear(&gone);
}
END_TEST

START_TEST(test_many_fences)
{
	static const uint32_t rank[] = { 0, 2000, 2001 };
	struct gathers g = { 0 };
	struct gather *one = NULL;

	for (uint32_t k = 0; k <= GATHERS_MAX; k++) {
		struct storm_idset s = ranks(k, 2000);

		must(gather_add(&g, rank, 2, 0, &s, NULL, 0, 9, &one) ==
		     (k < GATHERS_MAX ? GATHER_WAITS : GATHER_BAD));
		storm_idset_clear(&s);
	}
	gathers_clear(&g);
}
END_TEST

/* --------------------------------------------------------------------------- bytes --- */

START_TEST(test_msg)
{
	uint8_t buf[256];
	struct pmi_msg m = { .kind = PMI_FENCE, .ranks = ranks(0, 7) }, back;
	struct storm_out o = { buf, buf + sizeof(buf), false };
	struct storm_in i = { buf, buf, false };
	size_t len;

	m.data = (const uint8_t *) "hello";
	m.len = 5;
	pmi_msg_put(&o, &m);
	len = (size_t) (o.p - buf);
	must(!o.bad && len == pmi_msg_len(&m));
	i.end = buf + len;
	must(pmi_msg_get(&i, &back) && back.len == 5 &&
	     !memcmp(back.data, "hello", 5) && back.ranks.count == 1 &&
	     back.ranks.r[0].last == 7);
	pmi_msg_free(&back);
	/* only a fence has ranks; a kind that is none */
	buf[0] = PMI_END;
	i = (struct storm_in) { buf, buf + len, false };
	must(!pmi_msg_get(&i, &back));
	buf[0] = PMI_KINDS;
	i = (struct storm_in) { buf, buf + len, false };
	must(!pmi_msg_get(&i, &back));
	buf[0] = 0;
	i = (struct storm_in) { buf, buf + len, false };
	must(!pmi_msg_get(&i, &back));
	pmi_msg_free(&m);
}
END_TEST

START_TEST(test_fenced)
{
	uint8_t buf[256];
	struct pmi_fenced f = { .run = 7,
				.ranks = ranks(2, 3),
				.all = 10,
				.at = 6,
				.data = (const uint8_t *) "last",
				.len = 4 },
			  back;
	struct storm_out o = { buf, buf + sizeof(buf), false };
	struct storm_in i = { buf, buf, false };

	pmi_fenced_put(&o, &f);
	must(!o.bad && (size_t) (o.p - buf) == pmi_fenced_len(&f));
	i.end = o.p;
	must(pmi_fenced_get(&i, &back) && back.run == 7 && back.at == 6 &&
	     back.len == 4 && !memcmp(back.data, "last", 4));
	pmi_fenced_free(&back);
	/* beyond the end of what was announced */
	f.at = 7;
	o = (struct storm_out) { buf, buf + sizeof(buf), false };
	pmi_fenced_put(&o, &f);
	i = (struct storm_in) { buf, o.p, false };
	must(!pmi_fenced_get(&i, &back));
	f.at = 11;
	o = (struct storm_out) { buf, buf + sizeof(buf), false };
	pmi_fenced_put(&o, &f);
	i = (struct storm_in) { buf, o.p, false };
	must(!pmi_fenced_get(&i, &back));
	pmi_fenced_free(&f);
}
END_TEST

/* A rank that aborts decides the run's status, whatever the others' ends are. */
START_TEST(test_status)
{
	struct run_ended killed = { .code = run_code(RUN_SIGNALED, 9) };
	struct user_run run = { .ended = &killed };

	must(run_status(&run) == 128 + 9);
	run.aborted = 7;
	must(run_status(&run) == 7);
	must(!run_has_cause(&run, RUN_PMI_LOST));
	killed.code = run_code(RUN_PMI_LOST, 5);
	must(run_has_cause(&run, RUN_PMI_LOST) &&
	     run_code_status(killed.code) == 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pmi");
	TCase *l = tcase_create("lines"), *f = tcase_create("fences");

	tcase_add_test(l, test_begin);
	tcase_add_test(l, test_barrier);
	tcase_add_test(l, test_refusals);
	tcase_add_test(l, test_mapping);
	tcase_add_test(l, test_pairs);
	suite_add_tcase(s, l);
	tcase_add_test(f, test_gather);
	tcase_add_test(f, test_many_fences);
	tcase_add_test(f, test_msg);
	tcase_add_test(f, test_fenced);
	tcase_add_test(f, test_status);
	suite_add_tcase(s, f);
	return unit_main(s);
}
