/*
 * maps.c - which map goes to the nodes next: see maps.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "maps.h"

static void maps_drop(struct map_bytes *b)
{
	free(b->buf);
	memset(b, 0, sizeof(*b));
}

static void maps_move(struct map_bytes *to, struct map_bytes *from)
{
	maps_drop(to);
	*to = *from;
	memset(from, 0, sizeof(*from));
}

void maps_clear(struct maps *m)
{
	maps_drop(&m->wanted);
	maps_drop(&m->moving);
	maps_drop(&m->shown);
	m->joined = false;
}

void maps_take(struct maps *m, void *buf, size_t len)
{
	struct map_bytes b = { buf, len };

	maps_move(&m->wanted, &b);
}

void maps_join(struct maps *m)
{
	m->joined = true;
}

bool maps_due(const struct maps *m)
{
	return !m->moving.buf && (m->wanted.buf || (m->joined && m->shown.buf));
}

/* Nodes that have joined also get this map.  One that joins later may be too
 * late for it. */
const struct map_bytes *maps_begin(struct maps *m)
{
	if (!maps_due(m))
		return NULL;
	maps_move(&m->moving, m->wanted.buf ? &m->wanted : &m->shown);
	m->joined = false;
	return &m->moving;
}

void maps_done(struct maps *m)
{
	maps_move(&m->shown, &m->moving);
}

void maps_refused(struct maps *m)
{
	if (m->wanted.buf)
		maps_drop(&m->moving);
	else
		maps_move(&m->wanted, &m->moving);
}

void maps_unneeded(struct maps *m)
{
	maps_drop(&m->moving);
	maps_drop(&m->shown);
}
