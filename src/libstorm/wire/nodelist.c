/*
 * nodelist.c - see nodelist.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>

#include "nodelist.h"

#define DIGITS_MAX 9 /* digits of a name that are its number */

/* The name with its trailing number plus one, zero-padded to the same width.
 * False: it has no number, or the result is too long. */
static bool nodes_next_name(const char *name, char out[STORM_NAME_MAX + 1])
{
	size_t len = strlen(name), digits = 0;
	unsigned long n;
	int l;

	while (digits < len && digits < DIGITS_MAX &&
	       name[len - digits - 1] >= '0' && name[len - digits - 1] <= '9')
		digits++;
	if (!digits)
		return false;
	n = strtoul(name + len - digits, NULL, 10) + 1;
	l = snprintf(out, STORM_NAME_MAX + 1, "%.*s%0*lu", (int) (len - digits),
		     name, (int) digits, n);
	return l > 0 && l <= STORM_NAME_MAX;
}

static struct storm_addr nodes_next_addr(struct storm_addr a)
{
	for (int i = 15; i >= 0 && !++a.ip[i]; i--)
		;
	return a;
}

static bool nodes_follow(const struct storm_node *a, const struct storm_node *b)
{
	struct storm_addr next = nodes_next_addr(a->addr);
	char name[STORM_NAME_MAX + 1];

	return next.port == b->addr.port &&
	       !memcmp(next.ip, b->addr.ip, sizeof(next.ip)) &&
	       nodes_next_name(a->name, name) && !strcmp(name, b->name);
}

size_t storm_nodes_room(const struct storm_node *nodes, uint32_t count)
{
	size_t n = 4;

	for (uint32_t i = 0; i < count; i++)
		n += 4 + 1 + strlen(nodes[i].name) + STORM_ADDR_LEN + 2;
	return n;
}

void storm_put_nodes(struct storm_out *o, const struct storm_node *nodes,
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

static int nodes_add(struct storm_node *n, const char *name, size_t len,
		     const struct storm_addr *addr)
{
	char *s = malloc(len + 1);

	if (!s)
		return STORM_ENOMEM;
	memcpy(s, name, len);
	s[len] = 0;
	n->name = s;
	n->addr = *addr;
	return STORM_OK;
}

/* Names are logged, so they must not contain spaces or control characters. */
static bool nodes_good_name(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] <= ' ' || p[i] > '~')
			return false;
	return n > 0;
}

/* Read one run into n[0 .. room); *count: nodes that need to be freed. */
static int nodes_get_run(struct storm_in *i, struct storm_node *n,
			 uint32_t room, uint32_t *count)
{
	uint32_t run = storm_get32(i);
	uint8_t l = storm_get8(i);
	const char *p = (const char *) storm_get(i, l);
	struct storm_addr addr;
	int err;

	storm_get_addr(i, &addr);
	if (i->bad || !run || run > room || !nodes_good_name(p, l))
		return STORM_EINVAL;
	err = nodes_add(&n[0], p, l, &addr);
	for (uint32_t k = 1; !err && k < run; k++) {
		char name[STORM_NAME_MAX + 1];

		*count = k;
		if (!nodes_next_name(n[k - 1].name, name))
			return STORM_EINVAL;
		addr = nodes_next_addr(addr);
		err = nodes_add(&n[k], name, strlen(name), &addr);
	}
	if (!err)
		*count = run;
	return err;
}

int storm_get_nodes(struct storm_in *i, struct storm_node **nodes,
		    uint32_t *count)
{
	uint32_t want = storm_get32(i);
	int err = STORM_OK;

	*count = 0;
	*nodes = NULL;
	if (i->bad || !want || want > STORM_NODES_MAX)
		return STORM_EINVAL;
	*nodes = calloc(want, sizeof(**nodes));
	if (!*nodes)
		return STORM_ENOMEM;
	while (!err && *count < want) {
		uint32_t n = 0;

		err = nodes_get_run(i, *nodes + *count, want - *count, &n);
		*count += n;
	}
	return err;
}

void storm_nodes_free(struct storm_node *nodes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free((char *) nodes[i].name);
	free(nodes);
}
