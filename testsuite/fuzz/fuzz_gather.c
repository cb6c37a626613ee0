/*
 * fuzz_gather.c - the question of a gather, and the table that a child sends for
 * these nodes of its subtree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/wire/gather.h"

#define COUNT 200 /* nodes */

static void ask(const uint8_t *data, size_t size)
{
	uint8_t buf[STORM_DATAGRAM_MAX];
	struct storm_gather_ask a;

	if (storm_gather_ask_unpack(&a, data, size, COUNT))
		return;
	must(a.len <= STORM_GATHER_QUERY && a.slice);
	must(a.root < COUNT || a.root == STORM_NO_NODE);
	must_be_set(&a.p, COUNT - 1);
	if (size <= sizeof(buf)) {
		must(storm_gather_ask_pack(&a, buf, sizeof(buf)) == size);
		must(!memcmp(buf, data, size));
	}
	must(!storm_gather_ask_pack(&a, buf, size ? size - 1 : 0));
	storm_idset_clear(&a.p);
}

static void is_table(const struct storm_gathered *t,
		     const struct storm_idset *nodes)
{
	must(t->count <= STORM_GATHER_ENTRIES + STORM_GATHER_RESTS + 1);
	must(t->bytes <= STORM_GATHER_BYTES);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct storm_gather_entry *e = &t->entry[i];

		must(e->key_len || e->kind == STORM_GATHER_REST);
		must(e->key_len <= STORM_GATHER_KEY &&
		     e->value_len <= STORM_GATHER_DATA);
		must_be_set(&e->nodes, STORM_NODES_MAX - 1);
		must(storm_idset_covers(nodes, &e->nodes));
		must(e->kind != STORM_GATHER_VALUE || e->nodes.count);
		must(e->kind != STORM_GATHER_COUNTER ||
		     (storm_idset_has(nodes, e->max_node) && e->count &&
		      e->max <= e->sum));
	}
}

/* What is accepted packs to the same bytes, and merges with what is empty, and with
 * itself, to a table that is accepted again. */
static void table(const struct storm_idset *asked, const uint8_t *data,
		  size_t size)
{
	struct storm_gathered t, sum = { 0 };
	struct storm_idset nodes = { 0 };
	uint8_t *buf;
	size_t len;

	if (storm_gathered_unpack(&t, asked, data, size))
		return;
	must(!storm_idset_minus(asked, &t.missing, &nodes));
	is_table(&t, &nodes);
	buf = storm_gathered_pack(&t, &nodes, &len);
	must(buf && len == size && !memcmp(buf, data, len) &&
	     len <= STORM_GATHERED_MAX);
	free(buf);
	must(!storm_gathered_merge(&sum, &t));
	must(sum.count == t.count && sum.bytes == t.bytes);
	must(!storm_gathered_merge(&sum, &t));
	must(sum.bytes <= STORM_GATHER_BYTES);
	storm_gathered_clear(&sum);
	storm_gathered_clear(&t);
	storm_idset_clear(&nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	struct storm_idset asked = { 0 };
	uint8_t *rest;

	ask(data, size);
	storm_get_set(&i, &asked, STORM_NODES_MAX - 1);
	if (!i.bad) {
		rest = exact(i.p, (size_t) (i.end - i.p));
		table(&asked, rest, (size_t) (i.end - i.p));
		free(rest);
	}
	storm_idset_clear(&asked);
	return 0;
}
