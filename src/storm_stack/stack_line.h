/*
 * stack_line.h - the lines by which stacks travel: from the process that walks them to
 * storm_unwind of its node, and from there by srun's pipe to storm stack.
 *
 *	S KIND LABEL PROGRAM COUNT RANKS TEXT	a stack, or why there is none
 *	T REPORT KIND LABEL PROGRAM EACH TEXT	the text of a code (stack_code.h), which each of
 *						its ids has so many times
 *	O COUNT					threads of a node whose stacks it does not send
 *	U THREADS PROCESSES			so many more of a node, which were not looked at
 *	N NAME TASKS STOOD			a node is done: for how many us its tasks stood
 *	R NAME IP PORT			a node listens there for the strobe; PORT 0: it does not
 *	P NUMBER				this process is walked next
 *
 * with a TAB between two fields.  By srun's pipe such a line goes in pieces, since srun keeps
 * lines of at most 1,024 bytes whole: stack_piece_put().  What sends is a process of the
 * user's, so nothing of it is believed but its form.  No I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STACK_LINE_H
#define STORM_STACK_LINE_H

#include "stack_set.h"

#define STACK_LINE 16384 /* bytes of a line, with its end */
/* Bytes of the longest line for a text, in pieces. */
#define STACK_TEXT_LINE (STACK_TEXT + 512)
/* Bytes of a line of srun's, which Slurm cuts at 1,024. */
#define STACK_PIECE 960
#define STACK_PIECE_MARK "storm_stack"

/* Kinds of reports whose codes are stacks (stack_code.h). */
#define STACK_REPORTS 4

/* What was not looked at. */
struct stack_unseen {
	uint64_t threads; /* of processes that were looked at */
	uint64_t processes;
};

struct stack_node {
	char name[STACK_WORD + 1];
	uint32_t tasks;		    /* processes that were found */
	uint64_t stood_us;	    /* for how long the last of them stood */
	struct stack_unseen unseen; /* LINE_UNSEEN has it, not LINE_NODE */
};

/* Bytes that a terminal obeys, and those of no ASCII, become '?', and what is behind size - 1
 * bytes is left out. */
void stack_clean(char *out, size_t size, const char *text);

/* Put the next line of a stack into out, with as many ranges as fit: *from is the first
 * one, 0 at first, and is moved.  False: there are no more. */
/* at: NULL if it does not listen. */
void stack_ready_put(char (*out)[STACK_LINE], const char *name,
		     const struct storm_addr *at);
bool stack_line_put(char (*out)[STACK_LINE], const struct stack_one *one,
		    uint32_t *from);
void stack_node_put(char (*out)[STACK_LINE], const struct stack_node *node);

void stack_over_put(char (*out)[STACK_LINE], uint64_t count);
void stack_unseen_put(char (*out)[STACK_LINE], const struct stack_unseen *u);

enum stack_line {
	LINE_STACK,
	LINE_TEXT,
	LINE_OVER,
	LINE_UNSEEN,
	LINE_NODE,
	LINE_READY,
	LINE_NEXT,
	LINE_NONE
};

struct stack_said {
	struct stack_rec rec;	/* LINE_STACK; the caller clears its ranks.
				   LINE_TEXT: no ranks, and count is EACH */
	uint8_t report;		/* LINE_TEXT: the kind of its report */
	struct stack_node node; /* LINE_NODE; LINE_READY: its name alone */
	struct storm_addr
		at;    /* LINE_READY; its port is 0 if it does not listen */
	uint32_t next; /* LINE_NEXT */
	uint64_t over; /* LINE_OVER */
	struct stack_unseen unseen; /* LINE_UNSEEN */
};
/* Read a line without its end.  LINE_NONE: it is none of these, and nothing is to be
 * cleared. */
enum stack_line stack_line_read(const char *line, struct stack_said *out);

/* Bytes of pieces that each of so many nodes may send: all together some STACK_ALL, and
 * one at least a line. */
size_t stack_share(uint32_t nodes);

/* What is kept of all nodes' pieces. */
struct stack_desk {
	size_t room;	/* bytes that it may take more */
	uint64_t share; /* bytes that one node may send, with what is beside */
	uint64_t lost;	/* lines that were dropped: of no room, or beyond */
};
/* All zeroes but what is given. */
void stack_desk_init(struct stack_desk *d, uint32_t nodes);
/* From now on one node may send all that the others do not. */
void stack_desk_widen(struct stack_desk *d);

/* One node's pieces, until a line is whole. */
struct stack_pieces {
	char *line; /* len bytes of it, and room for an end; or NULL */
	size_t len;
	uint64_t bytes; /* that came */
	bool drop;	/* to the end of the line */
};
/* Put the next piece of a line of the nth node into out, with a line end: *from is its
 * first byte, and is moved.  Returns its length, or 0: there is no more. */
size_t stack_piece_put(char (*out)[STACK_PIECE + 1], uint32_t nth,
		       const char *line, size_t *from);
/* Whose is this line of srun's?  False: it is no piece, or of no node of `count`.
 * *body is in it, without the line's end. */
bool stack_piece_read(const char *line, uint32_t count, uint32_t *nth,
		      const char **body);
/* Add a body.  A whole line is returned, or NULL.  It lasts as long as body and until
 * stack_pieces_clear(), which the caller calls when it has read it.  A line that is too
 * long, or for which there is no room, is dropped and counted, and so is each one beyond
 * the node's share. */
const char *stack_piece_add(struct stack_desk *d, struct stack_pieces *p,
			    const char *body);
/* Free what is kept of a line.  Its bytes stay counted. */
void stack_pieces_clear(struct stack_desk *d, struct stack_pieces *p);

#endif
