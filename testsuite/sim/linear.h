/*
 * linear.h - the black box: are the results of a small history such as one
 * sequential order of its operations would have given?  The search of Wing and
 * Gong tries every order, and remembers what it has tried.  It checks for
 * sequential consistency: the operations of a process take effect in the order
 * in which the process issues them.  The search knows nothing of owners, epochs
 * or decisions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef LINEAR_H
#define LINEAR_H

#include "src/libstorm/storm.h"

#define LINEAR_OPS 12
#define LINEAR_NODES 5
#define LINEAR_PLACES 3

enum linear_kind { LINEAR_WRITE, LINEAR_COMPARE, LINEAR_READ };
enum linear_result {
	LINEAR_YES,	/* DONE, TRUE, or read `value` */
	LINEAR_NO,	/* FALSE: it did not hold on all */
	LINEAR_NOTHING, /* ABORTED, FAILED: no effect */
	LINEAR_MAYBE	/* UNKNOWN: no effect, or all of it, then or later */
};

struct linear_op {
	uint32_t process; /* its operations are in the order of the array */
	enum linear_kind kind;
	enum linear_result result;
	uint32_t nodes; /* a bit each: P, or of READ the node */
	uint32_t place; /* read or compared; of WRITE written */
	enum storm_relation rel;
	uint64_t value; /* written, compared with, or read */
	bool writes;	/* COMPARE: */
	uint32_t place_w;
	uint64_t value_w;
};

/* All places hold 0 at first.  Values that are written are not 0, and no two
 * are the same. */
bool linear_consistent(const struct linear_op *op, uint32_t count);

#endif
