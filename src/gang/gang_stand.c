/*
 * gang_stand.c - see gang_stand.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>

#include "gang_stand.h"
#include "src/libstorm/base/clock.h"

#define TELL_EVERY (60 * STORM_SEC)

bool gang_refused(struct gang_refusals *r, enum gang_order order, int err,
		  uint64_t now)
{
	/* the group of a step that ends may be gone */
	if (err == ENODEV || err == ENOENT)
		return false;
	if (!err)
		r->told[order] = false;
	if (!err || r->told[order] || now < r->again_at[order])
		return false;
	r->told[order] = true;
	r->again_at[order] = now + TELL_EVERY;
	return true;
}

int gang_stand_stop(struct gang_page *p, struct gang_mark *m, struct freezer *f,
		    bool again)
{
	if (!freezer_held(f))
		p->stopped++;
	gang_mark_set(m, true);
	return freezer_stop(f, again);
}

static void gang_stand_ends(struct gang_page *p, struct gang_mark *m)
{
	gang_mark_set(m, false);
	p->stopped--;
}

int gang_stand_fill(struct gang_page *p, struct gang_mark *m, struct freezer *f)
{
	int err;

	if (!freezer_held(f))
		p->stopped++;
	gang_mark_set(m, true);
	err = freezer_fill(f);
	if (!freezer_held(f))
		gang_stand_ends(p, m);
	return err;
}

int gang_stand_continue(struct gang_page *p, struct gang_mark *m,
			struct freezer *f)
{
	int err;

	if (!freezer_held(f))
		return 0;
	err = freezer_continue(f, false);
	if (freezer_held(f))
		return err;
	gang_stand_ends(p, m);
	return err;
}
