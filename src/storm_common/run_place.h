/*
 * run_place.h - where a job's launchers can be reached on a host: the name of their
 * socket there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_PLACE_H
#define STORM_RUN_PLACE_H

#include <string.h>
#include <unistd.h>

/* Formats.  The directory is the user's; the host's name is the part before a dot. */
#define RUN_PLACE_DIR "/tmp/storm-%u"
#define RUN_PLACE_SOCKET RUN_PLACE_DIR "/%s.%.*s.sock"
/* What they print: the job's number as text, and the host's name. */
#define RUN_PLACE_ARGS(job, host) \
	(unsigned int) geteuid(), (job), (int) strcspn(host, "."), (host)

#endif
