/*
 * no_gang.c - see no_gang.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>

#include "no_gang.h"

/* storm-gang(7) explains each. */
static const char *no_gang_lacks(int err)
{
	switch (err) {
	case EMFILE:
	case ENFILE:
		return "descriptors";
	case ENOMEM:
	case ENOBUFS:
		return "memory";
	case EAGAIN:
		return "threads";
	case ENOSPC:
	case EDQUOT:
		return "disk";
	case EACCES:
	case EPERM:
	case EROFS:
		return "rights";
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return "groups";
	case NO_GANG_SLURMD:
		return "slurmd";
	default:
		return NULL;
	}
}

bool no_gang_passes(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM ||
	       err == ENOBUFS || err == EAGAIN;
}

void no_gang_word(int err, char (*out)[NO_GANG_WORD])
{
	const char *lacks = no_gang_lacks(err);

	if (lacks)
		snprintf(*out, sizeof(*out), "no-gang(%s)", lacks);
	else
		snprintf(*out, sizeof(*out), "no-gang(errno-%d)", err);
}
