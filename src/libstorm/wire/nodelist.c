/*
 * nodelist.c - see nodelist.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>

#include "nodelist.h"

#define DIGITS_MAX 9 /* digits of a name that are its number */
#define RUN_HEAD 5   /* u32 nodes, u8 l */

struct storm_nodes_run {
	uint32_t first; /* node */
	uint32_t at;	/* of the run in bytes */
};

/* A run, read. */
struct nodes_run {
	uint32_t first, count;
	const char *name; /* of its first node, without a NUL */
	size_t len;
	struct storm_addr addr;
};

/* Digits at the end of a name that are its number. */
static size_t nodes_digits(const char *name, size_t len)
{
	size_t n = 0;

	while (n < len && n < DIGITS_MAX && name[len - n - 1] >= '0' &&
	       name[len - n - 1] <= '9')
		n++;
	return n;
}

/* The name with its number plus k, zero-padded to the same width.  False: it has
 * no number, or the result is too long. */
static bool nodes_count_name(const char *name, size_t len, uint32_t k,
			     char (*out)[STORM_NAME_MAX + 1])
{
	size_t digits = nodes_digits(name, len);
	unsigned long n = 0;
	int l;

	if (!digits && k)
		return false;
	for (size_t i = len - digits; i < len; i++)
		n = 10 * n + (unsigned long) (name[i] - '0');
	if (digits)
		l = snprintf(*out, sizeof(*out), "%.*s%0*lu",
			     (int) (len - digits), name, (int) digits, n + k);
	else
		l = snprintf(*out, sizeof(*out), "%.*s", (int) len, name);
	return l > 0 && l <= STORM_NAME_MAX;
}

static struct storm_addr nodes_count_addr(struct storm_addr a, uint32_t k)
{
	for (int i = 15; i >= 0 && k; i--) {
		k += a.ip[i];
		a.ip[i] = (uint8_t) k;
		k >>= 8;
	}
	return a;
}

/* How far apart are these addresses?  True: b is a plus *k. */
static bool nodes_distance(const uint8_t a[STORM_ADDR_LEN],
			   const uint8_t b[STORM_ADDR_LEN], uint32_t *k)
{
	uint8_t d[STORM_ADDR_LEN];
	int borrow = 0;

	for (int i = STORM_ADDR_LEN - 1; i >= 0; i--) {
		int v = b[i] - a[i] - borrow;

		borrow = v < 0;
		d[i] = (uint8_t) v;
	}
	for (int i = 0; i < STORM_ADDR_LEN - 4; i++)
		if (d[i])
			return false;
	*k = (uint32_t) d[12] << 24 | (uint32_t) d[13] << 16 |
	     (uint32_t) d[14] << 8 | d[15];
	return true;
}

/* ------------------------------------------------------------------ making --- */

static bool nodes_follow(const struct storm_node *a, const struct storm_node *b)
{
	char name[STORM_NAME_MAX + 1];
	uint32_t k;

	return a->addr.port == b->addr.port &&
	       nodes_distance(a->addr.ip, b->addr.ip, &k) && k == 1 &&
	       nodes_count_name(a->name, strlen(a->name), 1, &name) &&
	       !strcmp(name, b->name);
}

static void nodes_pack(struct storm_out *o, const struct storm_node *nodes,
		       uint32_t count)
{
	storm_put32(o, count);
	for (uint32_t i = 0, end; i < count; i = end) {
		size_t l = strlen(nodes[i].name);

		if (!l || l > STORM_NAME_MAX) {
			o->bad = true;
			return;
		}
		for (end = i + 1; end < count; end++)
			if (!nodes_follow(&nodes[end - 1], &nodes[end]))
				break;
		storm_put32(o, end - i);
		storm_put8(o, (uint8_t) l);
		storm_put(o, nodes[i].name, l);
		storm_put_addr(o, &nodes[i].addr);
	}
}

int storm_nodes_make(struct storm_nodes *l, const struct storm_node *nodes,
		     uint32_t count)
{
	size_t max = 4, len;
	struct storm_out o;
	struct storm_in in;
	uint8_t *buf, *less;
	int err;

	memset(l, 0, sizeof(*l));
	for (uint32_t i = 0; i < count; i++)
		max += RUN_HEAD + strlen(nodes[i].name) + STORM_ADDR_LEN + 2;
	buf = malloc(max);
	if (!buf)
		return STORM_ENOMEM;
	o = (struct storm_out) { buf, buf + max, false };
	nodes_pack(&o, nodes, count);
	if (o.bad) {
		free(buf);
		return STORM_EINVAL;
	}
	len = (size_t) (o.p - buf);
	less = realloc(buf, len);
	if (less)
		buf = less;
	in = (struct storm_in) { buf, buf + len, false };
	err = storm_nodes_get(l, &in);
	if (err)
		free(buf);
	else
		l->own = buf;
	return err;
}

/* ----------------------------------------------------------------- reading --- */

/* Names are logged, so they must not contain spaces or control characters. */
static bool nodes_good_name(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] <= ' ' || p[i] > '~')
			return false;
	return n > 0;
}

static bool nodes_read_run(struct storm_in *i, struct nodes_run *r)
{
	uint8_t l;

	r->count = storm_get32(i);
	l = storm_get8(i);
	r->name = (const char *) storm_get(i, l);
	r->len = l;
	storm_get_addr(i, &r->addr);
	return !i->bad;
}

/* Every name of the run is good if its first and its last one are. */
static bool nodes_good_run(const struct nodes_run *r, uint32_t room)
{
	char last[STORM_NAME_MAX + 1];

	return r->count && r->count <= room &&
	       nodes_good_name(r->name, r->len) &&
	       nodes_count_name(r->name, r->len, r->count - 1, &last);
}

static int nodes_add_run(struct storm_nodes *l, uint32_t *room, uint32_t first,
			 uint32_t at)
{
	if (l->runs == *room) {
		uint32_t more = *room ? 2 * *room : 2;
		struct storm_nodes_run *p =
			realloc(l->run, more * sizeof(*l->run));

		if (!p)
			return STORM_ENOMEM;
		l->run = p;
		*room = more;
	}
	l->run[l->runs++] = (struct storm_nodes_run) { first, at };
	return STORM_OK;
}

int storm_nodes_get(struct storm_nodes *l, struct storm_in *i)
{
	const uint8_t *bytes = i->p;
	uint32_t n = 0, room = 0;
	int err = STORM_OK;

	memset(l, 0, sizeof(*l));
	l->count = storm_get32(i);
	if (i->bad || !l->count || l->count > STORM_NODES_MAX)
		return STORM_EINVAL;
	while (!err && n < l->count) {
		uint32_t at = (uint32_t) (i->p - bytes);
		struct nodes_run r;

		if (!nodes_read_run(i, &r) || !nodes_good_run(&r, l->count - n))
			err = STORM_EINVAL;
		else
			err = nodes_add_run(l, &room, n, at);
		n += err ? 0 : r.count;
	}
	if (err) {
		storm_nodes_free(l);
		return err;
	}
	l->bytes = bytes;
	l->len = (size_t) (i->p - bytes);
	return STORM_OK;
}

void storm_nodes_put(struct storm_out *o, const struct storm_nodes *l)
{
	storm_put(o, l->bytes, l->len);
}

void storm_nodes_free(struct storm_nodes *l)
{
	free(l->run);
	free(l->own);
	memset(l, 0, sizeof(*l));
}

static void nodes_run_at(const struct storm_nodes *l, uint32_t k,
			 struct nodes_run *r)
{
	struct storm_in i = { l->bytes + l->run[k].at, l->bytes + l->len,
			      false };

	nodes_read_run(&i, r);
	r->first = l->run[k].first;
}

/* The run that has node i. */
static void nodes_run_of(const struct storm_nodes *l, uint32_t i,
			 struct nodes_run *r)
{
	uint32_t lo = 0, hi = l->runs - 1;

	while (lo < hi) {
		uint32_t mid = hi - (hi - lo) / 2;

		if (l->run[mid].first <= i)
			lo = mid;
		else
			hi = mid - 1;
	}
	nodes_run_at(l, lo, r);
}

struct storm_addr storm_nodes_addr(const struct storm_nodes *l, uint32_t i)
{
	struct nodes_run r;

	nodes_run_of(l, i, &r);
	return nodes_count_addr(r.addr, i - r.first);
}

const char *storm_nodes_name(const struct storm_nodes *l, uint32_t i,
			     char (*out)[STORM_NAME_MAX + 1])
{
	struct nodes_run r;

	nodes_run_of(l, i, &r);
	nodes_count_name(r.name, r.len, i - r.first, out);
	return *out;
}

uint32_t storm_nodes_find(const struct storm_nodes *l,
			  const uint8_t ip[STORM_ADDR_LEN])
{
	for (uint32_t k = 0; k < l->runs; k++) {
		struct nodes_run r;
		uint32_t n;

		nodes_run_at(l, k, &r);
		if (nodes_distance(r.addr.ip, ip, &n) && n < r.count)
			return r.first + n;
	}
	return STORM_NO_NODE;
}

size_t storm_nodes_bytes(const struct storm_nodes *l)
{
	return 2 * l->runs * sizeof(*l->run) + (l->own ? l->len : 0);
}
