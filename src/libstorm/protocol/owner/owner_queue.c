/*
 * owner_queue.c - what is asked of XFER-AND-SIGNAL is looked at and queued.
 * owner_xfer.c takes one operation after the other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "owner_private.h"
#include "src/libstorm/base/idset.h"

int owner_set_copy(const struct storm_owner *o, const struct storm_idset *P,
		   struct storm_idset *out)
{
	int err;

	memset(out, 0, sizeof(*out));
	if (!P)
		return STORM_OK;
	err = storm_begin_check_set(P, o->conf.count);
	if (!err && !owner_cast_fits(o, P))
		err = STORM_ETOOBIG;
	return err ? err : storm_idset_union(out, P);
}

int owner_xfer_queue(struct storm_owner *o, struct storm_begin *b,
		     const struct storm_bytes *from, void *token, bool each,
		     owner_ended_fn ended)
{
	struct owner_xfer *x = calloc(1, sizeof(*x));

	if (x && b->size)
		x->digest = storm_digest_create();
	if (!x || (b->size && !x->digest)) {
		storm_begin_free(b);
		free(x);
		return STORM_ENOMEM;
	}
	x->begin = *b;
	x->from = *from;
	x->token = token;
	x->ended = ended;
	x->each.on = each;
	*o->operations.tail = x;
	o->operations.tail = &x->next;
	return STORM_OK;
}

static void owner_xfer_ended(struct storm_owner *o, void *token,
			     enum storm_compare result,
			     struct storm_outcome *out)
{
	(void) result;
	o->ops.xfer_done(o->arg, token, out);
}

int owner_xfer_queue_target(struct storm_owner *o, const struct storm_idset *P,
			    const struct storm_target *to,
			    const struct storm_bytes *from, uint64_t len,
			    void *token)
{
	struct storm_begin b = { .size = len, .to = *to };
	int err;

	b.to.path = NULL;
	b.to.flags &= STORM_FILE_FLAGS;
	if (o->phase == OWNER_FAILED || o->phase == OWNER_CLOSED)
		return STORM_ECLOSED;
	if (to->kind == STORM_TARGET_FILE &&
	    (!to->path || !*to->path || strlen(to->path) >= STORM_PATH_MAX))
		return STORM_EPATH;
	if (to->kind < STORM_TARGET_MEMORY || to->kind > STORM_TARGET_SEGMENT ||
	    (to->flags & STORM_FILE_EACH &&
	     (to->kind != STORM_TARGET_FILE || o->conf.cluster)) ||
	    (to->flags & ~(STORM_FILE_FLAGS | STORM_FILE_EACH)) ||
	    (to->mode & ~STORM_FILE_MODE) || to->segment >= STORM_SEGMENTS)
		return STORM_EINVAL;
	err = owner_set_copy(o, P, &b.p);
	if (err)
		return err;
	if (to->kind == STORM_TARGET_FILE) {
		o->send.files = true;
		b.to.path = strdup(to->path);
		if (!b.to.path) {
			storm_begin_free(&b);
			return STORM_ENOMEM;
		}
	}
	return owner_xfer_queue(o, &b, from, token, to->flags & STORM_FILE_EACH,
				owner_xfer_ended);
}
