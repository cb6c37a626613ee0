/*
 * step_give.c - see step_give.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>

#include "step_give.h"

/* Begin a frame of a step, which the caller frees; NULL and errno. */
static struct local_frame *step_give_begin(enum local_type type,
					   const struct step_owner *o)
{
	struct local_frame *f = malloc(sizeof(*f));

	if (!f)
		return NULL;
	local_begin(f, type);
	local_put32(f, o->job);
	local_put32(f, o->step);
	local_put32(f, o->het);
	local_put32(f, o->uid);
	return f;
}

int step_give(const char *rundir, const char *node, enum local_type type,
	      const struct step_owner *o, int fd)
{
	struct local_frame *f = step_give_begin(type, o);
	int err;

	if (!f)
		return errno;
	err = local_tell(rundir, node, f, fd);
	free(f);
	return err;
}

int step_tell_fallback(const char *rundir, const char *node,
		       const struct step_owner *o,
		       const struct fallback_told *told)
{
	struct local_frame *f = step_give_begin(LOCAL_FALLBACK, o);
	int err;

	if (!f)
		return errno;
	local_put32(f, told->cause);
	local_put_str(f, told->text);
	err = local_tell(rundir, node, f, -1);
	free(f);
	return err;
}
