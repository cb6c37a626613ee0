/*
 * pull_wire.h - what storm each and its pullers tell each other, as bytes.  A puller is a
 * task on each node: it reads frames from descriptor 0 and writes frames to descriptor 1.
 * Both ends are of one build and of one user; none trusts the other's lengths.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PULL_WIRE_H
#define STORM_PULL_WIRE_H

#include "src/storm_launcher/run_wire.h"

enum pull_kind {
	/* puller -> client */
	PULL_HELLO = 1,	 /* u32 CPUs; text: its node's name */
	PULL_BEGUN = 2,	 /* u64 task, u32 its slot */
	PULL_OUTPUT = 3, /* u64 task, u8 descriptor, bytes */
	PULL_ENDED = 4,	 /* struct pull_end; all of its output came before */
	PULL_BACK = 5,	 /* u64 task: recalled, it was not begun */
	/* client -> puller */
	PULL_SETUP = 10, /* struct pull_setup, before the first task */
	PULL_TASK =
		11, /* u64 task, u32 and its directory, text of the command */
	PULL_RECALL =
		12, /* u32: so many of those that wait, the last ones first */
	PULL_KILL = 13 /* end those that run */
};

/* What a puller has to say may wait so long, while each of its slots has another task: each
 * message goes through three processes, and many words cost them what one does. */
#define PULL_HOLD_US 20000

struct pull_setup {
	uint32_t slots, base; /* slot numbers begin behind base */
	uint32_t client;      /* its process number */
	uint64_t timeout_us;  /* 0: none */
};

struct pull_end {
	uint64_t seq;
	uint8_t status, signal; /* signal 0: it exited */
	bool killed;		/* by its puller, and why: */
	bool late;		/* the time-out */
	uint64_t start_us;	/* since 1970 */
	uint64_t time_us;
};

/* Bytes that wait to be sent; zero it. */
struct pull_bytes {
	uint8_t *buf;
	size_t at, have, room; /* those before at are sent */
	bool failed;	       /* no memory: some are missing */
};

/* Where the next len bytes belong, which count as there; NULL: no memory. */
uint8_t *pull_bytes_more(struct pull_bytes *b, size_t len);
size_t pull_bytes_wait(const struct pull_bytes *b);
/* Those that fd takes without waiting.  0, or -1 and errno. */
int pull_bytes_write(struct pull_bytes *b, int fd);
void pull_bytes_fini(struct pull_bytes *b);

/* A frame's body of so many bytes, to be filled. */
struct storm_out pull_frame(struct pull_bytes *b, enum pull_kind kind,
			    size_t len);
/* Frames that have a number alone. */
void pull_frame_seq(struct pull_bytes *b, enum pull_kind kind, uint64_t seq);

void pull_setup_put(struct pull_bytes *b, const struct pull_setup *s);
void pull_end_put(struct pull_bytes *b, const struct pull_end *e);
/* A frame's body.  False: it is malformed. */
bool pull_setup_get(struct storm_in *in, struct pull_setup *s);
bool pull_end_get(struct storm_in *in, struct pull_end *e);

#endif
