/*
 * test_stack_code.c - storm stack: stacks that are merged up the tree by codes, and texts that are
 * asked for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_stack/stack_code.h"
#include "unit.h"

#define NODES 40
#define RANKS 400
#define TEXTS 12

/* What a node has. */
struct one_node {
	struct stack_set set;
	struct stack_tallies tallies;
	struct stack_codes codes;
	struct storm_reports up; /* with those below it */
	uint32_t threads;
};
static struct one_node nodes[NODES];
static struct stack_heard heard; /* large */

static void node_thread(struct one_node *n, uint32_t rank, const char *text,
			enum stack_kind kind)
{
	static struct stack_rec rec; /* large */
	struct storm_range only = { rank, rank };
	const struct stack_one *kept;

	rec.kind = kind;
	strcpy(rec.label, "0");
	strcpy(rec.program, "a.out");
	snprintf(rec.text, sizeof(rec.text), "%s", text);
	rec.count = 1;
	rec.ranks = (struct storm_idset) { &only, 1, 1 };
	must(!stack_set_keep(&n->set, &rec, &kept));
	n->threads++;
	if (kept)
		must(!stack_tally_add(&n->tallies, kept, rank));
}

static void reports_put(struct storm_reports *r, uint8_t kind, uint32_t code,
			const struct storm_idset *ids)
{
	int err = storm_reports_add(r, kind, code, ids, NULL);

	must(!err || err == STORM_ETOOBIG);
}

static void node_sum(uint32_t k, enum stack_sum what, uint32_t v)
{
	struct storm_range only = { k, k };
	const struct storm_idset ids = { &only, 1, 1 };

	for (unsigned int bit = 0; bit < SUM_BITS; bit++)
		if (v >> bit & 1)
			reports_put(&nodes[k].up, REPORT_SUM,
				    SUM_CODE(what, bit), &ids);
}

/* What a node reports. */
static void node_report(uint32_t k)
{
	struct one_node *n = &nodes[k];

	must(!stack_codes_make(&n->tallies, k, &n->codes));
	node_sum(k, SUM_THREADS, n->threads);
	node_sum(k, SUM_PROCESSES, k);
	node_sum(k, SUM_UNSEEN_THREADS, 3 * k);
	node_sum(k, SUM_UNSEEN_PROCESSES, 5 * k);
	for (uint32_t i = 0; i < n->codes.count; i++)
		reports_put(&n->up, n->codes.all[i].kind, n->codes.all[i].code,
			    &n->codes.all[i].ids);
	node_sum(k, SUM_DONE, 1);
}

/* Each to one before it, and the first one to the asker. */
static void nodes_report(uint32_t count)
{
	memset(&heard, 0, sizeof(heard));
	for (uint32_t k = count; k-- > 0;)
		node_report(k);
	for (uint32_t k = count - 1; k > 0; k--) {
		struct storm_reports *to = &nodes[(uint32_t) random() % k].up;

		for (uint32_t i = 0; i < nodes[k].up.count; i++)
			reports_put(to, nodes[k].up.e[i].kind,
				    nodes[k].up.e[i].code,
				    &nodes[k].up.e[i].ids);
	}
	for (uint32_t i = 0; i < nodes[0].up.count; i++)
		stack_heard_add(&heard, nodes[0].up.e[i].kind,
				nodes[0].up.e[i].code, &nodes[0].up.e[i].ids);
}

/* The node that is asked tells.  Returns the bytes of its line. */
static size_t nodes_tell(uint32_t count, const struct stack_want *w,
			 struct stack_set *to)
{
	static struct stack_said said; /* large */
	char line[STACK_LINE];
	size_t bytes = 0;

	for (uint32_t k = 0; k < count; k++)
		for (uint32_t i = 0; i < nodes[k].codes.count; i++) {
			const struct stack_code *c = &nodes[k].codes.all[i];

			if (c->kind != w->kind || c->code != w->code ||
			    !storm_idset_has(&c->ids, w->id))
				continue;
			stack_text_put(&line, c);
			must(stack_line_read(line, &said) == LINE_TEXT);
			bytes += strlen(line);
			must(!stack_heard_text(&heard, &said, strlen(line),
					       to));
			/* once more is once too often */
			must(stack_line_read(line, &said) == LINE_TEXT);
			must(!stack_heard_text(&heard, &said, strlen(line),
					       to));
		}
	must(bytes);
	return bytes;
}

/* Ask for all.  Returns the bytes that came. */
static size_t nodes_ask(uint32_t count, struct stack_set *to)
{
	uint8_t message[STACK_WANTS_BYTES];
	struct stack_want w[STACK_WANTS], got[STACK_WANTS];
	size_t bytes = 0, len;
	bool last = false, told;
	uint32_t n, m;

	while (!last) {
		n = stack_heard_next(&heard, &w, &last);
		must(n || last);
		len = stack_wants_put(&message, last, w, n);
		must(stack_wants_read(message, len, &told, got, &m));
		must(told == last && m == n);
		must(!memcmp(w, got, n * sizeof(*w)));
		if (n)
			must(!stack_wants_read(message, len - 1, &told, got,
					       &m));
		must(stack_wants_read(message, len, &told, got, &m));
		for (uint32_t k = 0; k < n; k++)
			bytes += nodes_tell(count, &got[k], to);
		ck_assert_uint_eq(heard.open, 0);
	}
	return bytes;
}

static void nodes_clear(uint32_t count)
{
	for (uint32_t k = 0; k < count; k++) {
		stack_codes_clear(&nodes[k].codes);
		stack_tallies_clear(&nodes[k].tallies);
		stack_set_clear(&nodes[k].set);
		storm_reports_clear(&nodes[k].up);
		nodes[k].threads = 0;
	}
	stack_heard_clear(&heard);
}

static const struct stack_one *set_find(const struct stack_set *s,
					const char *text)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (!strcmp(s->all[i]->text, text))
			return s->all[i];
	return NULL;
}

/* Random threads on random trees: what the asker has is what a plain table has, however often a
 * rank has a stack. */
START_TEST(test_trees)
{
	static bool has[TEXTS][RANKS];
	static uint64_t count[TEXTS];
	struct stack_set all = { 0 };
	uint64_t threads = 0;
	char text[32];

	srandom((unsigned int) _i);
	memset(has, 0, sizeof(has));
	memset(count, 0, sizeof(count));
	for (int k = 0; k < 2000; k++) {
		uint32_t rank = (uint32_t) random() % RANKS;
		unsigned int what =
			(unsigned int) (random() % TEXTS * (random() % TEXTS)) %
			TEXTS;
		struct one_node *n = &nodes[rank % NODES];

		if (random() % 3)
			stack_tally_next(&n->tallies);
		snprintf(text, sizeof(text), "f%u < main", what);
		node_thread(n, rank, text,
			    what % 3 ? STACK_MAIN : STACK_THREAD);
		has[what][rank] = true;
		count[what]++;
		threads++;
	}
	nodes_report(NODES);
	ck_assert_uint_eq(stack_heard_sum(&heard, SUM_DONE), NODES);
	ck_assert_uint_eq(stack_heard_sum(&heard, SUM_THREADS), threads);
	ck_assert_uint_eq(stack_heard_sum(&heard, SUM_PROCESSES),
			  NODES * (NODES - 1) / 2);
	ck_assert_uint_eq(stack_heard_sum(&heard, SUM_UNSEEN_THREADS),
			  3 * NODES * (NODES - 1) / 2);
	ck_assert_uint_eq(stack_heard_sum(&heard, SUM_UNSEEN_PROCESSES),
			  5 * NODES * (NODES - 1) / 2);
	nodes_ask(NODES, &all);
	ck_assert_uint_eq(heard.kept, threads);
	for (unsigned int what = 0; what < TEXTS; what++) {
		const struct stack_one *one;

		snprintf(text, sizeof(text), "f%u < main", what);
		one = set_find(&all, text);
		must(one || !count[what]);
		if (!one)
			continue;
		ck_assert_uint_eq(one->count, count[what]);
		for (uint32_t r = 0; r < RANKS; r++)
			must(storm_idset_has(&one->ranks, r) == has[what][r]);
	}
	stack_set_clear(&all);
	nodes_clear(NODES);
}
END_TEST

/* Two stacks on all nodes are two texts, whatever the number of nodes. */
START_TEST(test_bytes)
{
	size_t bytes[2];

	for (int k = 0; k < 2; k++) {
		uint32_t count = k ? NODES : 4;
		struct stack_set all = { 0 };

		for (uint32_t rank = 0; rank < 8 * count; rank++)
			node_thread(&nodes[rank / 8], rank,
				    rank == 5 ? "odd < main" : "solve < main",
				    STACK_MAIN);
		nodes_report(count);
		bytes[k] = nodes_ask(count, &all);
		ck_assert_uint_eq(all.count, 2);
		nodes_clear(count);
		stack_set_clear(&all);
	}
	ck_assert_uint_eq(bytes[0], bytes[1]);
}
END_TEST

/* Where no rank is known, nodes are ids. */
START_TEST(test_no_rank)
{
	struct stack_set all = { 0 };

	for (uint32_t k = 0; k < NODES; k++)
		for (uint32_t n = 0; n < 2 + k % 2; n++) {
			stack_tally_next(&nodes[k].tallies);
			node_thread(&nodes[k], STACK_NO_RANK, "it hides",
				    STACK_FAULT);
		}
	nodes_report(NODES);
	ck_assert_uint_eq(heard.got.count, 2);
	nodes_ask(NODES, &all);
	ck_assert_uint_eq(all.count, 1);
	ck_assert_uint_eq(all.all[0]->count, NODES * 5 / 2);
	ck_assert_uint_eq(storm_idset_size(&all.all[0]->ranks), 1);
	must(storm_idset_has(&all.all[0]->ranks, STACK_NO_RANK));
	stack_set_clear(&all);
	nodes_clear(NODES);
}
END_TEST

/* More stacks than a node reports, and than the tree's tables hold.  What is left out is counted, and
 * what each node says of itself comes through. */
START_TEST(test_rest)
{
	struct stack_set all = { 0 };
	uint64_t threads = 0;
	char text[64];

	for (uint32_t k = 0; k < 8; k++)
		for (uint32_t n = 0; n < 1500; n++) {
			snprintf(text, sizeof(text), "n%u f%u < main", k, n);
			for (int twice = n % 2; twice >= 0; twice--)
				node_thread(&nodes[k], k, text, STACK_THREAD);
			threads += 1 + n % 2;
		}
	nodes_report(8);
	for (uint32_t k = 0; k < 8; k++) {
		const struct stack_codes *c = &nodes[k].codes;

		ck_assert_uint_eq(c->count, STACK_CODES);
		/* those that most threads have */
		ck_assert_uint_eq(c->all[0].each, 2);
		ck_assert_uint_eq(c->all[749].each, 2);
		ck_assert_uint_eq(c->all[750].each, 1);
	}
	ck_assert_uint_eq(stack_heard_sum(&heard, SUM_DONE), 8);
	ck_assert_uint_eq(stack_heard_sum(&heard, SUM_THREADS), threads);
	ck_assert_uint_le(heard.got.count, STORM_REPORT_CODES);
	ck_assert_uint_gt(heard.got.count, STORM_REPORT_CODES / 2);
	nodes_ask(8, &all);
	ck_assert_uint_eq(all.count, heard.got.count);
	ck_assert_uint_eq(stack_set_threads(&all), heard.kept);
	must(heard.kept < threads);
	stack_set_clear(&all);
	nodes_clear(8);
}
END_TEST

/* Long texts are asked for as long as they fit into 1 MB. */
START_TEST(test_long_texts)
{
	static char text[STACK_TEXT + 1];
	struct stack_set all = { 0 };
	size_t bytes;

	memset(text, 'a', STACK_TEXT);
	for (uint32_t n = 0; n < 900; n++) {
		snprintf(text, sizeof(text), "%04u", n);
		text[4] = 'a';
		node_thread(&nodes[n % 8], n, text, STACK_MAIN);
	}
	nodes_report(8);
	ck_assert_uint_eq(heard.got.count, 900);
	bytes = nodes_ask(8, &all);
	ck_assert_uint_le(bytes, STACK_ALL);
	ck_assert_uint_gt(bytes, STACK_ALL - 2 * STACK_TEXT_LINE);
	ck_assert_uint_eq(stack_set_threads(&all), heard.kept);
	ck_assert_uint_lt(all.count, 260);
	stack_set_clear(&all);
	nodes_clear(8);
}
END_TEST

static int text_by_code(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;

	return (*a > *b) - (*a < *b);
}

static uint32_t text_code(const char *text)
{
	uint32_t code;

	node_thread(&nodes[0], 0, text, STACK_MAIN);
	must(!stack_codes_make(&nodes[0].tallies, 0, &nodes[0].codes));
	code = nodes[0].codes.all[0].code;
	nodes_clear(1);
	return code;
}

#define MANY 300000

static void same_text(uint32_t k, char (*out)[32])
{
	snprintf(*out, sizeof(*out), "f%08x < main %u", k * 2654435761u, k);
}

/* Two stacks of a node with one code: the rarer one is left out, and counted. */
START_TEST(test_same_code)
{
	uint64_t *codes = calloc(MANY, sizeof(*codes));
	struct stack_set all = { 0 };
	char a[32] = "", b[32] = "";

	must(codes);
	for (uint32_t k = 0; k < MANY; k++) {
		same_text(k, &a);
		codes[k] = (uint64_t) text_code(a) << 32 | k;
	}
	qsort(codes, MANY, sizeof(*codes), text_by_code);
	*b = '\0';
	for (uint32_t k = 1; k < MANY && !*b; k++)
		if (codes[k] >> 32 == codes[k - 1] >> 32) {
			same_text((uint32_t) codes[k], &a);
			same_text((uint32_t) codes[k - 1], &b);
		}
	free(codes);
	must(*b); /* by chance there are some ten */
	for (uint32_t rank = 0; rank < 3; rank++)
		node_thread(&nodes[0], rank, rank == 1 ? a : b, STACK_MAIN);
	nodes_report(1);
	ck_assert_uint_eq(heard.got.count, 1);
	nodes_ask(1, &all);
	ck_assert_uint_eq(all.count, 1);
	ck_assert_str_eq(all.all[0]->text, b);
	ck_assert_uint_eq(heard.kept, 2);
	ck_assert_uint_eq(stack_heard_sum(&heard, SUM_THREADS), 3);
	stack_set_clear(&all);
	nodes_clear(1);
}
END_TEST

START_TEST(test_bad)
{
	static const char *const bad[] = {
		"T\t4\tm\t0\ta.out\t1\tf",	    "T\t0\tx\t0\ta.out\t1\tf",
		"T\t0\tm\t0\ta.out\t-1\tf",	    "T\t0\tm\t0\ta.out\t1\t",
		"T\t0\tm\t0\ta.out\t1\tf\tg",	    "T\t0\tm\t0\ta.out\t1",
		"T\t0\tm\t0\ta.out\t4294967296\tf", "T",
	};
	static struct stack_said said; /* large */
	struct stack_want w[STACK_WANTS];
	uint8_t message[STACK_WANTS_BYTES + 9] = { 0 };
	struct stack_set all = { 0 };
	uint32_t n;
	bool last;

	for (size_t k = 0; k < sizeof(bad) / sizeof(*bad); k++)
		if (stack_line_read(bad[k], &said) != LINE_NONE)
			ck_abort_msg("%s", bad[k]);
	/* a text that nobody has asked for */
	must(stack_line_read("T\t0\tm\t0\ta.out\t1\tf", &said) == LINE_TEXT);
	memset(&heard, 0, sizeof(heard));
	must(!stack_heard_text(&heard, &said, 20, &all));
	must(!all.count && !heard.kept && !heard.bytes);
	must(!stack_wants_read(message, 0, &last, w, &n));
	must(stack_wants_read(message, 1, &last, w, &n) && !last && !n);
	must(!stack_wants_read(message, 2, &last, w, &n));
	must(stack_wants_read(message, STACK_WANTS_BYTES, &last, w, &n));
	ck_assert_uint_eq(n, STACK_WANTS);
	must(!stack_wants_read(message, sizeof(message), &last, w, &n));
	*message = 2;
	must(!stack_wants_read(message, 1, &last, w, &n));
	stack_heard_clear(&heard);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stack_code");
	TCase *t = tcase_create("stack_code");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_trees, 0, 20);
	tcase_add_test(t, test_bytes);
	tcase_add_test(t, test_no_rank);
	tcase_add_test(t, test_rest);
	tcase_add_test(t, test_long_texts);
	tcase_add_test(t, test_same_code);
	tcase_add_test(t, test_bad);
	suite_add_tcase(s, t);
	return unit_main(s);
}
