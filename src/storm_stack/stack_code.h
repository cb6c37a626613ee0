/*
 * stack_code.h - stacks as reports of the asker's domain: equal ones have one code, by which
 * reports combine up the tree.  A node tells the text of a code when it is asked.  No I/O.  One
 * thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STACK_CODE_H
#define STORM_STACK_CODE_H

#include "src/libstorm/wire/reports.h"
#include "stack_line.h"

#define STACK_CODES 1024 /* that a node reports; the rest is counted */

/* Kinds of reports.  Ids are ranks, but nodes of the domain with the last two. */
enum stack_report {
	REPORT_MAIN = 0,
	REPORT_THREAD = 1,
	REPORT_FAULT = 2,
	REPORT_NO_RANK = 3,
	/* up to STACK_REPORTS a code is a stack */
	REPORT_SUM = STORM_REPORT_VALUE
};

/* ------------------------------------------------------------------- sums --- */

/* Numbers of nodes, which the tree adds up: a code stands for a bit of a number, and its ids
 * are nodes whose number has this bit.  So nodes with equal numbers take a range. */
enum stack_sum {
	SUM_DONE, /* 1: all of this node has been reported */
	SUM_PROCESSES,
	SUM_THREADS,
	SUM_UNSEEN_THREADS, /* that were not looked at */
	SUM_UNSEEN_PROCESSES,
	SUMS
};
#define SUM_BITS 32
#define SUM_CODE(what, bit) ((uint32_t) ((what) *SUM_BITS + (bit)))

/* ---------------------------------------------------------- on the nodes --- */

/* That so many threads of a rank have a stack. */
struct stack_tally {
	const struct stack_one *one;
	uint32_t rank, count;
};
/* All zeroes: empty. */
struct stack_tallies {
	struct stack_tally *all;
	uint32_t count, room;
	uint32_t process; /* the first one of this process */
};

/* The next ones are of another process. */
void stack_tally_next(struct stack_tallies *t);
/* One more thread.  STORM_OK or STORM_ENOMEM: the rest has it. */
int stack_tally_add(struct stack_tallies *t, const struct stack_one *one,
		    uint32_t rank);
void stack_tallies_clear(struct stack_tallies *t);

/* A stack that each of these ids has so many times. */
struct stack_code {
	uint8_t kind;
	uint32_t code;
	const struct stack_one *one;
	uint32_t each;
	struct storm_idset ids;
};
struct stack_codes {
	struct stack_code *all;
	uint32_t count;
};
/* Set *out, which the caller clears in each case, to what this node reports: at most
 * STACK_CODES, those that most threads have.  The rarer of two with one code is left out.  It
 * sorts t.  STORM_OK or STORM_ENOMEM. */
int stack_codes_make(struct stack_tallies *t, uint32_t node,
		     struct stack_codes *out);
void stack_codes_clear(struct stack_codes *c);

/* The line for a text: T REPORT-KIND KIND LABEL PROGRAM EACH TEXT. */
void stack_text_put(char (*out)[STACK_LINE], const struct stack_code *c);

/* ------------------------------------------------------------ questions --- */

/* The node that has this id with this code is to tell its text. */
struct stack_want {
	uint8_t kind;
	uint32_t code, id;
};
#define STACK_WANTS 240 /* in a message */
#define STACK_WANTS_BYTES (1 + 9 * STACK_WANTS)
/* Put them into out, big-endian: u8 last, then u8 kind, u32 code, u32 id each.  last: no
 * more is asked.  Returns the length. */
size_t stack_wants_put(uint8_t (*out)[STACK_WANTS_BYTES], bool last,
		       const struct stack_want *w, uint32_t count);
/* The contrary.  w has room for STACK_WANTS.  False: it is malformed. */
bool stack_wants_read(const void *buf, size_t len, bool *last,
		      struct stack_want *w, uint32_t *count);

/* --------------------------------------------------------- at the asker --- */

/* What has come, and what of it was asked and told.  All zeroes: nothing. */
struct stack_heard {
	struct storm_reports got;
	struct storm_idset sums[SUMS][SUM_BITS];
	uint32_t *order; /* entries of got, those with most ids first */
	bool *told;	 /* by entry */
	uint32_t asked;	 /* of order */
	uint32_t open;	 /* that were asked, and not told */
	size_t bytes;	 /* of lines of texts */
	uint64_t kept;	 /* threads whose text has come */
};
/* A report.  What has no room is part of the rest. */
void stack_heard_add(struct stack_heard *h, uint8_t kind, uint32_t code,
		     const struct storm_idset *ids);
/* The sum of a number over all nodes. */
uint64_t stack_heard_sum(const struct stack_heard *h, enum stack_sum what);
/* Set w to what is to be asked next: no more than is sure to fit into STACK_ALL bytes.
 * Returns how many; *last: there is no more, or no room.  0 and not *last: no memory. */
uint32_t stack_heard_next(struct stack_heard *h,
			  struct stack_want (*w)[STACK_WANTS], bool *last);
/* A text has come (LINE_TEXT), by a line of so many bytes.  It goes into the set, if it was asked.
 * STORM_OK or STORM_ENOMEM. */
int stack_heard_text(struct stack_heard *h, struct stack_said *said, size_t len,
		     struct stack_set *to);
void stack_heard_clear(struct stack_heard *h);

#endif
