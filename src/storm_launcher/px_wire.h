/*
 * px_wire.h - what a launcher and its storm_pmix tell each other, as bodies of frames
 * (run_wire.h).  Both are of one build and one user.  doc/launchers.md says who sends what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PX_WIRE_H
#define STORM_PX_WIRE_H

#include "pmi_wire.h"

#define PX_NAMESPACE 64	 /* bytes of a name of a run for PMIx, with its zero */
#define PX_DIR 108	 /* likewise, of its directory */
#define PX_RANKS 1048576 /* of a run */
#define PX_VARIABLES 256 /* of a rank */

enum px_kind {
	/* launcher -> storm_pmix */
	PX_REGISTER = 80, /* struct px_register; ENV comes back */
	PX_FENCED = 81,	  /* struct pmi_fenced, as the head has sent it */
	PX_DROP = 82,	  /* a px_msg: the run is over here */
	/* storm_pmix -> launcher */
	PX_ENV = 83,	/* struct px_env */
	PX_JOINED = 84, /* a px_msg: `rank` has begun with PMIx */
	PX_LEFT = 85,	/* likewise: it has ended with it */
	PX_ABORT =
		86, /* likewise: all are to end with `code`; data: why, or nothing */
	PX_FENCE =
		87, /* likewise: `ranks` that are here wait for all others; data:
			 * what they bring */
	PX_SPAWN =
		88, /* likewise: `rank` asked for processes, and was refused */
	PX_FAULT =
		89, /* likewise: it cannot go on; data: why.  run 0: with none */
	/* likewise: a rank here waits for data of `rank` on another node; code: a
	 * number of storm_pmix's */
	PX_WANT = 90,
	/* launcher -> storm_pmix, a px_msg: the node in `ranks` waits for data of
	 * `rank`, which is here; code: its number.  GIVEN comes back */
	PX_WANTED = 91,
	/* both ways, a px_msg: data that was wanted, of this number: u8 1 and bytes, or
	 * u8 0.  rank: the node that wants it, to the launcher */
	PX_GIVEN = 92
};

/* It is of one run; what a kind does not need is 0. */
struct px_msg {
	uint64_t run;
	uint32_t rank, code;
	struct storm_idset ranks;
	const uint8_t *data; /* the buffer's that it was read from */
	size_t len;
};

size_t px_msg_len(const struct px_msg *m);
void px_msg_put(struct storm_out *o, const struct px_msg *m);
/* px_msg_free() frees what it makes.  False: it is malformed, or there is no memory;
 * nothing needs to be freed. */
bool px_msg_get(struct storm_in *i, struct px_msg *m);
void px_msg_free(struct px_msg *m);

/* A run with ranks here.  Strings are the buffer's that it was read from. */
struct px_register {
	uint64_t run;
	const char *space;    /* its name */
	const char *names;    /* its nodes, as a list */
	uint32_t nodes, nth;  /* this one is the nth of them */
	const uint32_t *rank; /* run_layout()'s: of each node, and the end */
};

size_t px_register_len(const struct px_register *r);
void px_register_put(struct storm_out *o, const struct px_register *r);
/* Likewise: px_register_free(). */
bool px_register_get(struct storm_in *i, struct px_register *r);
void px_register_free(struct px_register *r);

/* Variables of the ranks here, each "NAME=VALUE".  They are alike but for a few: the
 * first rank has all, and another one those that differ. */
struct px_env {
	uint64_t run;
	uint32_t count; /* ranks */
	const char *
		*text; /* those of the first, and behind them those of others */
	uint32_t *at;  /* where those of each begin, and the end */
};

/* env[k] ends with NULL, and so has each of them. */
size_t px_env_len(char *const *const *env, uint32_t count);
void px_env_put(struct storm_out *o, uint64_t run, char *const *const *env,
		uint32_t count);
/* Likewise: px_env_free(). */
bool px_env_get(struct storm_in *i, struct px_env *e);
void px_env_free(struct px_env *e);
/* All variables of the kth rank, with NULL at the end, which the caller frees; the
 * strings are the buffer's.  NULL: no memory. */
char **px_env_of(const struct px_env *e, uint32_t k);

#endif
