/*
 * policy.h - what the policies of time sharing differ in, as a table of
 * operations (paper section 2.1: policies as plug-ins of the Machine Manager).
 * The matrix and the rota ask it three things: a new job's row, which job gets
 * columns that are idle in a slot, and which slot is next.
 *
 * To add a policy:
 * - write a file with its table; declare the table here, and list it in
 *   policy.c and Makefile.am;
 * - add its number to src/storm_common/gang_policy.h, which the map carries,
 *   and its word to gang_policy.c;
 * - add that word to the texts of conf_partition.c and conf_keys.c, and to
 *   storm.conf(5), storm-gang(7), gang-scheduling.md and NEWS;
 * - try it on a thousand nodes: test_gang_mix --policy WORD;
 * - add the word where tests and benches have lists of their own:
 *   test_storm_conf.c, mixes and test_mixes.py, test_kills.py, test_layouts.py,
 *   seeds.c of the fuzzer; kills.py, policy.py and switch.py of the benches.
 * It may give any answer that the comments below allow: matrix and rota see to
 * it that no two jobs have a column at once.
 *
 * A node does what a table has no operation for: who runs beside a turn.  It
 * asks for the number by name in storm_agent/turns: turns_ask.c, which
 * turns_fill.c and turns_apply.c obey.  A number that is not named there has
 * strict turns.  So has one of a later version (gang_policy.h): upgrade nodes
 * before it is used, and say so in NEWS.  If two partitions that overlap differ
 * in it, both are gang (snapshot_join_policy()).
 *
 * Pure, as matrix.h.  The same question has the same answer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_POLICY_H
#define STORM_POLICY_H

#include <stdint.h>

#include "src/libstorm/storm.h"
#include "src/storm_common/gang_policy.h"

#define POLICY_NONE UINT32_MAX

/* How a new job's row is chosen among those where its columns are free. */
enum matrix_packing {
	MATRIX_FIRST_FIT, /* the first one */
	/* The paper's buddy tree (by Feitelson and Rudolph).  A job's buddy
	 * block is the smallest aligned block of 2^n columns around it.  Take
	 * that row, among those where it is free, in which it breaks up the
	 * smallest free block.  If there is none, take the first row where the
	 * job fits. */
	MATRIX_BUDDY
};

/* The rows as they are when a job comes (rows.h). */
struct policy_rows {
	uint64_t *const *row;
	uint32_t rows, columns;
	enum matrix_packing packing;
};

/* A job that may have idle columns of a row. */
struct policy_job {
	uint64_t id;
	const struct storm_idset *columns;
	uint32_t given; /* slots of the round that it has by now */
	uint32_t weight;
};

struct policy_slot {
	uint64_t given; /* ns, without the present turn */
	uint64_t last;	/* end of its last turn; 0: none by this map */
	uint32_t runs;	/* its jobs that run when the map comes */
};

/* A turn that ends. */
struct policy_turn {
	uint32_t now; /* whose turn it was; POLICY_NONE: nobody's */
	/* Just after a change of the map, a slot of the job that has waited
	 * longest, else POLICY_NONE. */
	uint32_t longest;
	const struct policy_slot *slot; /* by number */
	uint32_t slots;
};

struct policy {
	/* The row of a new job: one where all of its columns are free, or
	 * POLICY_NONE for one more row. */
	uint32_t (*choose_row)(const struct policy_rows *r,
			       const struct storm_idset *columns);
	/* Which of two jobs is tried first in the idle columns of a row?  Below
	 * 0: a; above 0: b; 0: the older one. */
	int (*fill)(const struct policy_job *a, const struct policy_job *b);
	/* The next slot, below t->slots.  Each slot must come again within a
	 * bounded time, and t->longest at once, so that no job starves. */
	uint32_t (*next_slot)(const struct policy_turn *t);
};

extern const struct policy policy_gang;

/* The table of a policy; that of gang for a number of a later version. */
const struct policy *policy_of(enum gang_policy which);

#endif
