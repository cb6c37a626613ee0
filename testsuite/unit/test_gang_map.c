/*
 * test_gang_map.c - the map and the strobe in bytes: decoding returns the
 * encoded value, each value has one encoding, and values out of bounds are
 * refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_common/gang_map.h"
#include "unit.h"

static void add(struct storm_idset *s, uint32_t first, uint32_t last)
{
	must(storm_idset_add(s, first, last) == STORM_OK);
}

static bool same_set(const struct storm_idset *a, const struct storm_idset *b)
{
	return a->count == b->count &&
	       (!a->count || !memcmp(a->r, b->r, a->count * sizeof(*a->r)));
}

static void same_map(const struct gang_map *a, const struct gang_map *b)
{
	must(a->version == b->version && a->nodes == b->nodes);
	must(a->nzones == b->nzones && a->njobs == b->njobs);
	for (uint32_t i = 0; i < a->nzones; i++) {
		must(a->zones[i].rows == b->zones[i].rows);
		must(a->zones[i].quantum == b->zones[i].quantum);
		must(a->zones[i].policy == b->zones[i].policy);
		must(same_set(&a->zones[i].nodes, &b->zones[i].nodes));
	}
	for (uint32_t i = 0; i < a->njobs; i++) {
		must(a->jobs[i].job_id == b->jobs[i].job_id);
		must(a->jobs[i].zone == b->jobs[i].zone);
		must(same_set(&a->jobs[i].rows, &b->jobs[i].rows));
		must(same_set(&a->jobs[i].nodes, &b->jobs[i].nodes));
	}
}

/* Zone z has nodes 50 z to 50 z + 39. */
static void random_map(struct gang_map *m, struct rnd *r)
{
	uint32_t id = 0;

	memset(m, 0, sizeof(*m));
	m->version = rnd64(r);
	m->nzones = below(r, 4);
	m->nodes = 50 * m->nzones + 1;
	m->njobs = m->nzones ? below(r, 30) : 0;
	m->zones = calloc(m->nzones + 1, sizeof(*m->zones));
	m->jobs = calloc(m->njobs + 1, sizeof(*m->jobs));
	must(m->zones && m->jobs);
	for (uint32_t i = 0; i < m->nzones; i++) {
		m->zones[i].rows = 1 + below(r, GANG_ROWS_MAX);
		m->zones[i].quantum = GANG_QUANTUM_MIN + below(r, 1u << 31);
		m->zones[i].policy = below(r, GANG_POLICIES + 2);
		add(&m->zones[i].nodes, 50 * i, 50 * i + 39);
	}
	for (uint32_t i = 0; i < m->njobs; i++) {
		struct gang_job *j = &m->jobs[i];
		uint32_t n = 1 + below(r, 5);
		bool held;

		j->job_id = id += 1 + below(r, 1000);
		j->zone = below(r, m->nzones);
		held = m->zones[j->zone].rows > 1 && !below(r, 4);
		while (n--) {
			uint32_t row = below(r, m->zones[j->zone].rows);
			uint32_t node = 50 * j->zone + below(r, 40);

			if (!held)
				add(&j->rows, row, row);
			add(&j->nodes, node, node);
		}
	}
}

START_TEST(test_round_trip)
{
	struct rnd r = rnd_of(_i);
	struct gang_map m, back;
	void *buf, *again;
	size_t len, len2;

	random_map(&m, &r);
	must(gang_map_pack(&m, &buf, &len) == STORM_OK);
	must(gang_map_unpack(buf, len, &back) == STORM_OK);
	same_map(&m, &back);
	must(gang_map_pack(&back, &again, &len2) == STORM_OK);
	must(len == len2 && !memcmp(buf, again, len));
	for (uint32_t i = 0; i < m.njobs; i++)
		must(gang_map_job(&back, m.jobs[i].job_id) == &back.jobs[i]);
	must(!gang_map_job(&back, 0));
	for (uint32_t i = 0; i < m.nzones; i++)
		must(gang_map_zone(&back, 50 * i + 39) == i);
	must(gang_map_zone(&back, 50 * m.nzones) == UINT32_MAX);
	gang_map_clear(&m);
	gang_map_clear(&back);
	free(buf);
	free(again);
}
END_TEST

/* Bytes that are changed, cut or added: refused, or a map within bounds. */
START_TEST(test_mutants)
{
	struct rnd r = rnd_of(_i);
	struct gang_map m, back;
	uint8_t *bytes;
	void *buf;
	size_t len;

	random_map(&m, &r);
	must(gang_map_pack(&m, &buf, &len) == STORM_OK);
	bytes = exact(buf, len);
	for (size_t i = 0; i < len; i++) {
		uint8_t was = bytes[i];

		bytes[i] ^= (uint8_t) (1 + below(&r, 255));
		must(gang_map_digest(bytes, len) != gang_map_digest(buf, len));
		if (!gang_map_unpack(bytes, len, &back)) {
			must(!gang_map_check(&back));
			gang_map_clear(&back);
		}
		bytes[i] = was;
	}
	free(bytes);
	for (size_t cut = 0; cut < len; cut++) {
		bytes = exact(buf, cut);
		must(gang_map_unpack(bytes, cut, &back) != STORM_OK);
		free(bytes);
	}
	bytes = malloc(len + 1);
	must(bytes);
	memcpy(bytes, buf, len);
	bytes[len] = 0;
	must(gang_map_unpack(bytes, len + 1, &back) == STORM_EINVAL);
	bytes[4]++;
	must(gang_map_unpack(bytes, len, &back) == STORM_EVERSION);
	free(bytes);
	free(buf);
	gang_map_clear(&m);
}
END_TEST

/* One zone of nodes 0 to 9 and one job; spoil() makes it wrong. */
static int spoiled(void (*spoil)(struct gang_map *m))
{
	struct gang_zone z[2] = { { .rows = 2, .quantum = STORM_MS },
				  { .rows = 2, .quantum = STORM_MS } };
	struct gang_job j[2] = { { .job_id = 7 }, { .job_id = 8, .zone = 1 } };
	struct gang_map m = { .version = 1,
			      .nodes = 20,
			      .zones = z,
			      .nzones = 2,
			      .jobs = j,
			      .njobs = 2 };
	void *buf = NULL;
	size_t len;
	int err;

	for (uint32_t i = 0; i < 2; i++) {
		add(&z[i].nodes, 10 * i, 10 * i + 9);
		add(&j[i].nodes, 10 * i, 10 * i);
		add(&j[i].rows, 0, 1);
	}
	spoil(&m);
	err = gang_map_pack(&m, &buf, &len);
	for (uint32_t i = 0; i < 2; i++) {
		storm_idset_clear(&z[i].nodes);
		storm_idset_clear(&j[i].nodes);
		storm_idset_clear(&j[i].rows);
	}
	free(buf);
	return err;
}

static void nothing(struct gang_map *m)
{
	(void) m;
}
static void few_nodes(struct gang_map *m)
{
	m->nodes = 19;
}
static void many_nodes(struct gang_map *m)
{
	m->nodes = STORM_NODES_MAX + 1;
}
static void short_quantum(struct gang_map *m)
{
	m->zones[0].quantum = 1;
}
static void no_quantum(struct gang_map *m)
{
	m->zones[1].quantum = 0;
}
static void strange_policy(struct gang_map *m)
{
	m->zones[1].policy = UINT8_MAX + 1;
}
/* One of a later version: the node's jobs take strict turns. */
static void later_policy(struct gang_map *m)
{
	m->zones[1].policy = UINT8_MAX;
}
static void many_rows(struct gang_map *m)
{
	m->zones[0].rows = 257;
}
static void overlap(struct gang_map *m)
{
	add(&m->zones[0].nodes, 10, 10);
}
static void row_beyond(struct gang_map *m)
{
	add(&m->jobs[0].rows, 2, 2);
}
static void node_beyond(struct gang_map *m)
{
	add(&m->jobs[0].nodes, 10, 10);
}
static void no_zone(struct gang_map *m)
{
	m->jobs[0].zone = 2;
}
static void twice(struct gang_map *m)
{
	m->jobs[1].job_id = 7;
}
static void descending(struct gang_map *m)
{
	m->jobs[1].job_id = 6;
}
static void held(struct gang_map *m)
{
	storm_idset_clear(&m->jobs[0].rows);
}
/* Without strobes nothing would stop it. */
static void held_alone(struct gang_map *m)
{
	held(m);
	m->zones[0].rows = 1;
}
static void nowhere(struct gang_map *m)
{
	storm_idset_clear(&m->jobs[0].nodes);
}

START_TEST(test_bounds)
{
	void (*const wrong[])(struct gang_map * m) = {
		few_nodes,  many_nodes, short_quantum, no_quantum,    many_rows,
		overlap,    row_beyond, node_beyond,   no_zone,	      twice,
		descending, held_alone, nowhere,       strange_policy
	};

	ck_assert_int_eq(spoiled(nothing), STORM_OK);
	ck_assert_int_eq(spoiled(held), STORM_OK);
	ck_assert_int_eq(spoiled(later_policy), STORM_OK);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_int_eq(spoiled(wrong[i]), STORM_EINVAL);
}
END_TEST

/* The layout is on the wire: it does not change by accident. */
START_TEST(test_golden)
{
	struct gang_zone z = { .rows = 2, .quantum = 10 * STORM_MS };
	struct gang_job j = { .job_id = 0x01020304 };
	struct gang_map m = { .version = 5,
			      .nodes = 4,
			      .zones = &z,
			      .nzones = 1,
			      .jobs = &j,
			      .njobs = 1 };
	const struct gang_strobe s = { .zone = 1,
				       .slot = 3,
				       .version = 5,
				       .digest = 0xa1a2a3a4a5a6a7a8,
				       .sent = 0x1112131415161718,
				       .at = 0x2122232425262728,
				       .next_at = 0x3132333435363738,
				       .next = 2 };
	uint8_t strobe[GANG_STROBE_LEN];
	void *buf;
	size_t len;

	add(&z.nodes, 0, 3);
	add(&j.nodes, 1, 1);
	add(&j.rows, 0, 0);
	must(gang_map_pack(&m, &buf, &len) == STORM_OK);
	same_hex(buf, len,
		 "47414e47"
		 "03000000"
		 "0000000000000005"
		 "00000004"
		 "00000001"
		 "00000001"
		 "00000002"
		 "0000000000989680"
		 "00"
		 "010003"
		 "01020304"
		 "00000000"
		 "010000"
		 "010100");
	free(buf);
	storm_idset_clear(&z.nodes);
	storm_idset_clear(&j.nodes);
	storm_idset_clear(&j.rows);
	gang_strobe_pack(&s, strobe);
	same_hex(strobe, sizeof(strobe),
		 "02000001"
		 "00000003"
		 "0000000000000005"
		 "a1a2a3a4a5a6a7a8"
		 "1112131415161718"
		 "2122232425262728"
		 "3132333435363738"
		 "00000002");
	ck_assert_uint_eq(gang_map_digest("a", 1), 0xaf63dc4c8601ec8cULL);
	must(gang_cluster_number("a") != gang_cluster_number("b"));
	must(gang_cluster_number("") != 0);
}
END_TEST

START_TEST(test_strobe)
{
	struct gang_strobe s = { .slot = GANG_SLOT_ALL }, t;
	uint8_t buf[GANG_STROBE_LEN + 1] = { 0 };

	gang_strobe_pack(&s, buf);
	must(gang_strobe_unpack(&t, buf, GANG_STROBE_LEN) == STORM_OK);
	must(t.slot == GANG_SLOT_ALL);
	for (size_t n = 0; n <= sizeof(buf); n++)
		must(n == GANG_STROBE_LEN ||
		     gang_strobe_unpack(&t, buf, n) == STORM_EINVAL);
	s.slot = GANG_ROWS_MAX;
	gang_strobe_pack(&s, buf);
	must(gang_strobe_unpack(&t, buf, GANG_STROBE_LEN) == STORM_EINVAL);
	s.slot--;
	gang_strobe_pack(&s, buf);
	must(gang_strobe_unpack(&t, buf, GANG_STROBE_LEN) == STORM_OK);
	s.next = 1; /* and no time */
	gang_strobe_pack(&s, buf);
	must(gang_strobe_unpack(&t, buf, GANG_STROBE_LEN) == STORM_EINVAL);
	s.next_at = 1;
	gang_strobe_pack(&s, buf);
	must(gang_strobe_unpack(&t, buf, GANG_STROBE_LEN) == STORM_OK);
	must(t.next == 1 && t.next_at == 1);
	s.next = GANG_ROWS_MAX;
	gang_strobe_pack(&s, buf);
	must(gang_strobe_unpack(&t, buf, GANG_STROBE_LEN) == STORM_EINVAL);
	s.next = 0;
	gang_strobe_pack(&s, buf);
	buf[1] = 1;
	must(gang_strobe_unpack(&t, buf, GANG_STROBE_LEN) == STORM_EINVAL);
	buf[0] = 1;
	must(gang_strobe_unpack(&t, buf, GANG_STROBE_LEN) == STORM_EVERSION);
}
END_TEST

/* Fail open (architecture: "Strobe"): max(100 ms, 2 quanta), at most 1 s. */
START_TEST(test_silence)
{
	ck_assert_uint_eq(gang_silence(GANG_QUANTUM_MIN), 100 * STORM_MS);
	ck_assert_uint_eq(gang_silence(60 * STORM_MS), 120 * STORM_MS);
	ck_assert_uint_eq(gang_silence(500 * STORM_MS), STORM_SEC);
	ck_assert_uint_eq(gang_silence(GANG_QUANTUM_MAX), STORM_SEC);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gang_map");
	TCase *t = tcase_create("gang_map");

	tcase_add_loop_test(t, test_round_trip, 0, unit_runs(100));
	tcase_add_loop_test(t, test_mutants, 0, unit_runs(20));
	tcase_add_test(t, test_bounds);
	tcase_add_test(t, test_golden);
	tcase_add_test(t, test_strobe);
	tcase_add_test(t, test_silence);
	suite_add_tcase(s, t);
	return unit_main(s);
}
