/*
 * mute.c - see mute.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "mute.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/function/questions.h"

/* The next look has ended by then, unless this process was stopped. */
#define AGE_MAX (5 * QUESTIONS_PATIENCE)

static void mute_lists_forget(struct mute *m)
{
	storm_idset_clear(&m->now);
	storm_idset_clear(&m->twice);
}

void mute_look_begins(struct mute *m)
{
	storm_idset_clear(&m->moved);
	m->old = false;
}

void mute_look_ends(struct mute *m, const struct storm_idset *found,
		    uint64_t now)
{
	struct storm_idset is = { 0 };

	if (m->old || storm_idset_minus(found, &m->moved, &is) ||
	    storm_idset_keep(&m->now, &is)) {
		storm_idset_clear(&is);
		mute_lists_forget(m);
		return;
	}
	storm_idset_clear(&m->twice);
	m->twice = m->now;
	m->now = is;
	m->at = now;
}

void mute_node_moved(struct mute *m, uint32_t node)
{
	struct storm_range r = { node, node };
	const struct storm_idset one = { &r, 1, 1 };

	if (storm_idset_union(&m->moved, &one))
		m->old = true;
	if (storm_idset_drop(&m->now, &one) ||
	    storm_idset_drop(&m->twice, &one))
		mute_lists_forget(m);
}

void mute_epoch_begins(struct mute *m)
{
	m->old = true;
	mute_lists_forget(m);
}

void mute_nodes_get(const struct mute *m, bool twice, uint64_t now,
		    struct storm_idset *out)
{
	if (now <= m->at + AGE_MAX)
		storm_idset_union(out, twice ? &m->twice : &m->now);
}

void mute_list_clear(struct mute *m)
{
	mute_lists_forget(m);
	storm_idset_clear(&m->moved);
	memset(m, 0, sizeof(*m));
}
