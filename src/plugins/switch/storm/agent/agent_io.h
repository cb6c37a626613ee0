/*
 * agent_io.h - the descriptors that the agent's main loop serves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_IO_H
#define STORM_AGENT_IO_H

#include <stdint.h>

struct agent;

/* Embedded first in what is served by a descriptor. */
struct agent_io {
	int fd;				/* -1: closed */
	void (*ready)(struct agent *a, struct agent_io *io, uint32_t events);
	/* called after the round of events in which it was closed; NULL: not on
	 * the heap */
	void (*release)(struct agent_io *io);
	struct agent_io *next_dead;
};

/* All of them. */
struct agent_ios {
	int epoll;
	struct agent_io *dead;		/* closed, not released yet */
};

/* 0, or -1 and errno. */
int agent_io_init(struct agent_ios *s);

/* 0, or -1 and errno (the descriptor is still the caller's). */
int agent_io_add(struct agent_ios *s, struct agent_io *io, uint32_t events);
void agent_io_change(struct agent_ios *s, struct agent_io *io,
		     uint32_t events);
/* Stop serving it, close the descriptor, release it later. */
void agent_io_close(struct agent_ios *s, struct agent_io *io);

/* Wait for at most ms, then serve what is ready.  0, or -1 and errno: nothing was
 * served. */
int agent_io_serve(struct agent_ios *s, struct agent *a, int ms);
/* Release what is closed. */
void agent_io_bury(struct agent_ios *s);

#endif
