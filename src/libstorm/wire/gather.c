/*
 * gather.c - see gather.h.  A set of nodes goes relative to the nodes whose
 * values are in the table, which both sides know: a value that all of them have
 * takes the same few bytes, whichever nodes are dead.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "gather.h"
#include "src/libstorm/base/idset.h"

size_t storm_gather_ask_pack(const struct storm_gather_ask *a, uint8_t *buf,
			     size_t max)
{
	struct storm_out o = { buf, buf + max, false };

	storm_put32(&o, a->root);
	storm_put8(&o, a->flags);
	storm_put64(&o, a->slice);
	storm_put16(&o, a->len);
	storm_put(&o, a->query, a->len);
	storm_put_set(&o, &a->p);
	return o.bad ? 0 : (size_t) (o.p - buf);
}

int storm_gather_ask_unpack(struct storm_gather_ask *a, const uint8_t *buf,
			    size_t len, uint32_t count)
{
	struct storm_in i = { buf, buf + len, false };

	memset(a, 0, sizeof(*a));
	a->root = storm_get32(&i);
	a->flags = storm_get8(&i);
	a->slice = storm_get64(&i);
	a->len = storm_get16(&i);
	a->query = storm_get(&i, a->len);
	storm_get_set(&i, &a->p, count - 1);
	if (storm_in_done(&i) && !(a->flags & ~STORM_GATHER_ALONE) &&
	    a->len <= STORM_GATHER_QUERY && a->slice &&
	    a->slice <= UINT32_MAX &&
	    (a->root == STORM_NO_NODE ? !a->flags : a->root < count))
		return STORM_OK;
	storm_idset_clear(&a->p);
	return STORM_EINVAL;
}

/* -------------------------------------------------------------------- entries --- */

static size_t entry_cost(const struct storm_gather_entry *e)
{
	switch (e->kind) {
	case STORM_GATHER_VALUE:
		return 3u + e->key_len + e->value_len +
		       storm_set_len(&e->nodes);
	case STORM_GATHER_COUNTER:
		return 2u + e->key_len + 24;
	default:
		return 0; /* they have room of their own */
	}
}

static int entry_bytes(const uint8_t *a, size_t n, const uint8_t *b, size_t m)
{
	int c = memcmp(a, b, n < m ? n : m);

	return c ? c : (n > m) - (n < m);
}

static int entry_order(const struct storm_gather_entry *a,
		       const struct storm_gather_entry *b)
{
	int c = entry_bytes(a->key, a->key_len, b->key, b->key_len);

	if (!c)
		c = (int) a->kind - (int) b->kind;
	return c ? c :
		   entry_bytes(a->value, a->value_len, b->value, b->value_len);
}

/* Where it is (true), or would be. */
static bool table_find(const struct storm_gathered *t,
		       const struct storm_gather_entry *e, uint32_t *at)
{
	uint32_t low = 0, high = t->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int c = entry_order(&t->entry[mid], e);

		if (!c) {
			*at = mid;
			return true;
		}
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*at = low;
	return false;
}

static int table_insert(struct storm_gathered *t, uint32_t at,
			const struct storm_gather_entry *e)
{
	struct storm_gather_entry new = *e;

	memset(&new.nodes, 0, sizeof(new.nodes));
	if (storm_idset_union(&new.nodes, &e->nodes))
		return STORM_ENOMEM;
	if (t->count == t->room) {
		uint32_t room = t->room ? 2 * t->room : 8;
		void *p = realloc(t->entry, room * sizeof(*t->entry));

		if (!p) {
			storm_idset_clear(&new.nodes);
			return STORM_ENOMEM;
		}
		t->entry = p;
		t->room = room;
	}
	memmove(&t->entry[at + 1], &t->entry[at],
		(t->count - at) * sizeof(*t->entry));
	t->entry[at] = new;
	t->count++;
	t->bytes += (uint32_t) entry_cost(&new);
	return STORM_OK;
}

static uint32_t table_rests(const struct storm_gathered *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->count; i++)
		n += t->entry[i].kind == STORM_GATHER_REST;
	return n;
}

static uint64_t no_more_than_all(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* So many nodes have something of this key for which there is no room. */
static int table_rest(struct storm_gathered *t,
		      const struct storm_gather_entry *of, uint64_t nodes)
{
	struct storm_gather_entry e = { .kind = STORM_GATHER_REST,
					.key_len = of->key_len,
					.count = nodes };
	uint32_t at;

	memcpy(e.key, of->key, of->key_len);
	if (!table_find(t, &e, &at)) {
		if (table_rests(t) < STORM_GATHER_RESTS)
			return table_insert(t, at, &e);
		e.key_len = 0;
		if (!table_find(t, &e, &at))
			return table_insert(t, at, &e);
	}
	t->entry[at].count = no_more_than_all(t->entry[at].count, nodes);
	return STORM_OK;
}

/* More nodes have a value that is there; their set may have no room. */
static int table_widen(struct storm_gathered *t, struct storm_gather_entry *e,
		       const struct storm_gather_entry *more)
{
	struct storm_idset fresh = { 0 };
	size_t was = entry_cost(e);
	int err = storm_idset_minus(&more->nodes, &e->nodes, &fresh);

	if (!err)
		err = storm_idset_union(&e->nodes, &fresh);
	if (!err && t->bytes - was + entry_cost(e) > STORM_GATHER_BYTES) {
		err = storm_idset_drop(&e->nodes, &fresh);
		t->bytes += (uint32_t) (entry_cost(e) - was);
		if (!err)
			err = table_rest(t, more, storm_idset_size(&fresh));
	} else if (!err) {
		t->bytes += (uint32_t) (entry_cost(e) - was);
	}
	storm_idset_clear(&fresh);
	return err;
}

static void entry_count(struct storm_gather_entry *e,
			const struct storm_gather_entry *more)
{
	e->sum = no_more_than_all(e->sum, more->sum);
	e->count += more->count;
	if (more->max > e->max ||
	    (more->max == e->max && more->max_node < e->max_node)) {
		e->max = more->max;
		e->max_node = more->max_node;
	}
}

static int table_add(struct storm_gathered *t,
		     const struct storm_gather_entry *e)
{
	uint32_t at;

	if (e->kind == STORM_GATHER_REST)
		return table_rest(t, e, e->count);
	if (table_find(t, e, &at)) {
		if (e->kind == STORM_GATHER_VALUE)
			return table_widen(t, &t->entry[at], e);
		entry_count(&t->entry[at], e);
		return STORM_OK;
	}
	if (t->count - table_rests(t) >= STORM_GATHER_ENTRIES ||
	    t->bytes + entry_cost(e) > STORM_GATHER_BYTES)
		return table_rest(t, e,
				  e->kind == STORM_GATHER_VALUE ?
					  storm_idset_size(&e->nodes) :
					  e->count);
	return table_insert(t, at, e);
}

/* --------------------------------------------------------------------- tables --- */

void storm_gathered_clear(struct storm_gathered *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		storm_idset_clear(&t->entry[i].nodes);
	storm_idset_clear(&t->missing);
	free(t->entry);
	memset(t, 0, sizeof(*t));
}

size_t storm_gathered_bytes(const struct storm_gathered *t)
{
	size_t n = t->room * sizeof(*t->entry) +
		   t->missing.room * sizeof(*t->missing.r);

	for (uint32_t i = 0; i < t->count; i++)
		n += t->entry[i].nodes.room * sizeof(*t->missing.r);
	return n;
}

int storm_gathered_merge(struct storm_gathered *into,
			 const struct storm_gathered *from)
{
	int err = STORM_OK;

	for (uint32_t i = 0; !err && i < from->count; i++)
		err = table_add(into, &from->entry[i]);
	return err;
}

static int own_add(storm_gather_t *g, struct storm_gather_entry *e,
		   const void *key, size_t key_len, const void *value,
		   size_t len)
{
	int err;

	if (!key_len || key_len > STORM_GATHER_KEY || len > STORM_GATHER_DATA)
		return STORM_EINVAL;
	e->key_len = (uint8_t) key_len;
	e->value_len = (uint8_t) len;
	memcpy(e->key, key, key_len);
	if (len)
		memcpy(e->value, value, len);
	err = table_add(&g->t, e);
	return err;
}

int storm_gather_value(storm_gather_t *g, const void *key, size_t key_len,
		       const void *value, size_t len)
{
	struct storm_range self = { g->self, g->self };
	struct storm_gather_entry e = { .kind = STORM_GATHER_VALUE,
					.nodes = { &self, 1, 1 } };

	return own_add(g, &e, key, key_len, value, len);
}

/* A node counts once, however often it adds to a counter. */
int storm_gather_count(storm_gather_t *g, const void *key, size_t key_len,
		       uint64_t n)
{
	struct storm_gather_entry e = { .kind = STORM_GATHER_COUNTER,
					.sum = n,
					.max = n,
					.max_node = g->self,
					.count = 1 };
	uint32_t at;
	int err = own_add(g, &e, key, key_len, NULL, 0);

	if (!err && table_find(&g->t, &e, &at)) {
		g->t.entry[at].max = g->t.entry[at].sum;
		g->t.entry[at].count = 1;
	}
	return err;
}

/* ----------------------------------------------------------------------- wire --- */

int storm_set_fill(const struct storm_idset *s, const struct storm_idset *of,
		   struct storm_idset *out)
{
	struct storm_idset other = { 0 };
	int err = storm_idset_minus(of, s, &other);

	for (uint32_t i = 0, k = 0; !err && i < s->count; i++) {
		uint32_t first = s->r[i].first;

		while (k < other.count && i &&
		       other.r[k].last < s->r[i - 1].last)
			k++;
		if (i && (k == other.count || other.r[k].first > first))
			first = s->r[i - 1].last;
		err = storm_idset_add(out, first, s->r[i].last);
	}
	storm_idset_clear(&other);
	if (err)
		storm_idset_clear(out);
	return err ? STORM_ENOMEM : STORM_OK;
}

static void entry_put(struct storm_out *o, const struct storm_gather_entry *e,
		      const struct storm_idset *nodes)
{
	struct storm_idset wide = { 0 };

	storm_put8(o, (uint8_t) e->kind);
	storm_put8(o, e->key_len);
	storm_put(o, e->key, e->key_len);
	switch (e->kind) {
	case STORM_GATHER_VALUE:
		storm_put8(o, e->value_len);
		storm_put(o, e->value, e->value_len);
		o->bad |= storm_set_fill(&e->nodes, nodes, &wide) != STORM_OK;
		storm_put_set(o, &wide);
		storm_idset_clear(&wide);
		return;
	case STORM_GATHER_COUNTER:
		storm_put64(o, e->sum);
		storm_put64(o, e->max);
		storm_put32(o, e->max_node);
		storm_put32(o, (uint32_t) e->count);
		return;
	default:
		storm_put64(o, e->count);
	}
}

uint8_t *storm_gathered_pack(const struct storm_gathered *t,
			     const struct storm_idset *nodes, size_t *len)
{
	size_t max = storm_set_len(&t->missing) + t->bytes +
		     (STORM_GATHER_RESTS + 1) * (2 + STORM_GATHER_KEY + 8);
	uint8_t *buf = malloc(max);
	struct storm_out o = { buf, buf + max, false };

	if (!buf)
		return NULL;
	storm_put_set(&o, &t->missing);
	for (uint32_t i = 0; i < t->count; i++)
		entry_put(&o, &t->entry[i], nodes);
	if (o.bad) {
		free(buf);
		return NULL;
	}
	*len = (size_t) (o.p - buf);
	return buf;
}

/* The nodes of a value: only those in the table, and in their one encoding. */
static void entry_get_nodes(struct storm_in *i, struct storm_gather_entry *e,
			    const struct storm_idset *nodes)
{
	struct storm_idset wide = { 0 }, again = { 0 };

	storm_get_set(i, &wide, STORM_NODES_MAX - 1);
	if (!i->bad && !storm_idset_union(&e->nodes, &wide) &&
	    !storm_idset_keep(&e->nodes, nodes) && e->nodes.count &&
	    !storm_set_fill(&e->nodes, nodes, &again) &&
	    again.count == wide.count)
		i->bad = memcmp(again.r, wide.r,
				wide.count * sizeof(*wide.r)) != 0;
	else
		i->bad = true;
	storm_idset_clear(&wide);
	storm_idset_clear(&again);
}

static void entry_get(struct storm_in *i, struct storm_gather_entry *e,
		      const struct storm_idset *nodes)
{
	uint8_t kind = storm_get8(i);
	const uint8_t *p;

	e->key_len = storm_get8(i);
	i->bad |= kind > STORM_GATHER_REST || e->key_len > STORM_GATHER_KEY ||
		  (!e->key_len && kind != STORM_GATHER_REST);
	e->kind = i->bad ? STORM_GATHER_REST : (enum storm_gather_kind) kind;
	p = i->bad ? NULL : storm_get(i, e->key_len);
	if (p)
		memcpy(e->key, p, e->key_len);
	switch (e->kind) {
	case STORM_GATHER_VALUE:
		e->value_len = storm_get8(i);
		i->bad |= e->value_len > STORM_GATHER_DATA;
		p = i->bad ? NULL : storm_get(i, e->value_len);
		if (p)
			memcpy(e->value, p, e->value_len);
		if (!i->bad)
			entry_get_nodes(i, e, nodes);
		return;
	case STORM_GATHER_COUNTER:
		e->sum = storm_get64(i);
		e->max = storm_get64(i);
		e->max_node = storm_get32(i);
		e->count = storm_get32(i);
		i->bad |= e->max > e->sum || !e->count ||
			  e->count > storm_idset_size(nodes) ||
			  !storm_idset_has(nodes, e->max_node);
		return;
	default:
		e->count = storm_get64(i);
		i->bad |= !e->count;
	}
}

static void table_get(struct storm_in *i, struct storm_gathered *t,
		      const struct storm_idset *nodes)
{
	while (!i->bad && i->p < i->end) {
		struct storm_gather_entry e = { 0 };

		entry_get(i, &e, nodes);
		i->bad |= t->count &&
			  entry_order(&t->entry[t->count - 1], &e) >= 0;
		i->bad |= t->count ==
			  STORM_GATHER_ENTRIES + STORM_GATHER_RESTS + 1;
		if (!i->bad && table_insert(t, t->count, &e))
			i->bad = true;
		storm_idset_clear(&e.nodes);
	}
	i->bad |= t->bytes > STORM_GATHER_BYTES ||
		  table_rests(t) > STORM_GATHER_RESTS + 1 ||
		  t->count - table_rests(t) > STORM_GATHER_ENTRIES;
}

int storm_gathered_unpack(struct storm_gathered *t,
			  const struct storm_idset *asked, const uint8_t *buf,
			  size_t len)
{
	struct storm_in i = { buf, buf + len, false };
	struct storm_idset nodes = { 0 };

	memset(t, 0, sizeof(*t));
	storm_get_set(&i, &t->missing, STORM_NODES_MAX - 1);
	i.bad |= !storm_idset_covers(asked, &t->missing);
	if (!i.bad && storm_idset_minus(asked, &t->missing, &nodes))
		i.bad = true;
	table_get(&i, t, &nodes);
	storm_idset_clear(&nodes);
	if (storm_in_done(&i))
		return STORM_OK;
	storm_gathered_clear(t);
	return STORM_EINVAL;
}
