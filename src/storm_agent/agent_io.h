/*
 * agent_io.h - the descriptors that the agent's main loop serves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_IO_H
#define STORM_AGENT_IO_H

#include <signal.h>
#include <stdint.h>

struct agent;

/* The first member of each struct that a descriptor serves. */
struct agent_io {
	int fd; /* -1: closed */
	void (*ready)(struct agent *a, struct agent_io *io, uint32_t events);
	/* Frees the struct after agent_io_close(), once no event can refer to
	 * it.  NULL: it is not on the heap. */
	void (*release)(struct agent_io *io);
	struct agent_io *next_dead;
};

struct agent_ios {
	int epoll;
	struct agent_io *dead; /* closed, not released yet */
};

/* Make the epoll descriptor.  0, or -1 and errno. */
int agent_io_init(struct agent_ios *s);

/* Serve io->fd; io->ready gets the events (EPOLL*).  0, or -1 and errno: the
 * caller keeps the descriptor. */
int agent_io_add(struct agent_ios *s, struct agent_io *io, uint32_t events);
void agent_io_change(struct agent_ios *s, struct agent_io *io, uint32_t events);
/* Close the descriptor; agent_io_bury() releases the rest.  A second call does
 * nothing. */
void agent_io_close(struct agent_ios *s, struct agent_io *io);

/* A child has ended, of which io has the pidfd: reap it, and close io.  *si: its end.
 * Returns how it came, constant: "ended with status" or "was killed by signal". */
const char *agent_io_reap(struct agent_ios *s, struct agent_io *io,
			  siginfo_t *si);

/* Wait at most ms (-1: for ever), then call ready() of each descriptor that is
 * ready.  0, or -1 and errno: none was served. */
int agent_io_serve(struct agent_ios *s, struct agent *a, int ms);
/* Release the structs whose descriptors are closed.  Not from inside
 * ready(). */
void agent_io_bury(struct agent_ios *s);

#endif
