/*
 * px_link.h - a launcher's storm_pmix: the process, its directory, and frames to and from
 * it.  There is one for all runs, from the first that needs it until the launcher ends.
 * The launcher's loop calls all of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PX_LINK_H
#define STORM_PX_LINK_H

#include <sys/types.h>

#include "px_wire.h"

/* Start it, unless it is there.  node: as Slurm calls this one.  0, or an errno; ENOENT:
 * it is not installed. */
int px_link_start(const char *node);
/* Its number; 0: it is not there. */
pid_t px_link_pid(void);

/* Send it, now or later; what comes to one that has ended is lost. */
void px_link_register(const struct px_register *r);
void px_link_say(enum px_kind kind, const struct px_msg *m);
void px_link_fenced(const struct pmi_fenced *f);

/* For epoll(7): its descriptor, or -1, and whether something waits to be written. */
int px_link_fd(bool *writes);
/* Write what waits. */
void px_link_write(void);
/* The next frame that is there; its body is valid until the next call.  False: there is
 * none now. */
bool px_link_next(enum px_kind *kind, struct storm_in *body);
/* What it says cannot be read: it is killed, and px_link_ended() follows. */
void px_link_distrust(void);

/* waitpid(2) has brought its end, and its frames are read: nothing of it stays. */
void px_link_ended(void);
/* The launcher ends, and its tasks have: likewise. */
void px_link_stop(void);

#endif
