/*
 * step_give.c - see step_give.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>

#include "step_give.h"

int step_give(const char *rundir, const char *node, enum local_type type,
	      const struct step_owner *o, int fd)
{
	struct local_frame *f = malloc(sizeof(*f));
	int err;

	if (!f)
		return errno;
	local_begin(f, type);
	local_put32(f, o->job);
	local_put32(f, o->step);
	local_put32(f, o->het);
	local_put32(f, o->uid);
	err = local_tell(rundir, node, f, fd);
	free(f);
	return err;
}
