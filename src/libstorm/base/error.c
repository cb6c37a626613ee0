/*
 * error.c - the text of each enum storm_err.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/storm.h"

static const char *const text[] = {
	[STORM_OK] = "success",
	[STORM_EINVAL] = "malformed or out of range",
	[STORM_ENOMEM] = "out of memory",
	[STORM_ESYS] = "system error",
	[STORM_ETIME] = "no answer in time",
	[STORM_ENOAGENT] = "no node agent listens at this address",
	[STORM_EVERSION] = "node agent speaks another protocol version",
	[STORM_EAUTH] = "credential refused",
	[STORM_EACCES] = "not allowed",
	[STORM_EBUSY] =
		"node agent has reached its limit of sessions or memory",
	[STORM_EEXIST] = "file exists",
	[STORM_EPATH] = "not a usable destination",
	[STORM_EVERIFY] = "what arrived is not what was sent",
	[STORM_EABORTED] = "aborted",
	[STORM_ELOST] = "node was lost",
	[STORM_ECLOSED] = "domain is closed",
	[STORM_ENOENT] = "no such session, operation or segment",
	[STORM_ETOOBIG] = "too large",
	[STORM_ESUPERSEDED] = "another owner has taken over the domain",
	[STORM_ESOURCE] = "what is sent cannot be read to its end",
	[STORM_EHUNG] = "the file system does not answer",
};

const char *storm_strerror(int err)
{
	if (err < 0 || err >= STORM_ERROR_END || !text[err])
		return "unknown error";
	return text[err];
}
