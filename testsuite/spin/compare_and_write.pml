/*
 * compare_and_write.pml - ordered COMPARE-AND-WRITE with retries: two operations
 * of two initiators over overlapping node sets, in one owner's queue.  The
 * model of the owner follows owner_xfer.c, that of the node nm_xfer.c.  Names
 * are those of the C code.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 *
 * One is over nodes 0 and 1: if the global variable is 0, write 1.  The other is
 * over nodes 1 and 2: if it is 1, write 2.  Node 2 has 1 from the start, or 0;
 * the initiators' calls come in either order.
 *
 * BEGIN and the decision may be received late, repeatedly, never, in any
 * order; so may a copy that is as old as the domain.  FAULTS nodes fail at any
 * point, or are only slow and are considered dead.  They are excluded, and the
 * model ignores their later actions.  staged_commit.pml models take-over.
 *
 * The reference is a single memory to which the owner's operations are applied
 * in order.  Each -D named in "run" plants a bug that must be found.
 */

#ifndef FAULTS
#define FAULTS 1
#endif

#define NODES 3
#define BIT(n) (1 << (n))
#define IN(n, set) (((set) >> (n)) & 1)

/* enum storm_phase, storm_decision, storm_compare */
#define STORM_PHASE_NONE 0
#define STORM_PHASE_STAGED 2
#define STORM_PHASE_ENDED 3
#define STORM_UNDECIDED 0
#define STORM_COMMIT 1
#define STORM_ABORT 2
#define STORM_PENDING 0
#define STORM_FALSE 1
#define STORM_TRUE 2
#define STORM_FAILED 3

/* By operation id, from 1: the node set, what is compared and written. */
#define OPS 2
byte P[OPS + 1], value[OPS + 1], assign[OPS + 1];

/* What the owner has sent to the nodes and reported to the initiators. */
bool begun[OPS + 1];
byte decided[OPS + 1], result[OPS + 1];
byte excluded, faults = FAULTS;

/* A node: its variable and its last operation. */
byte var[NODES], op[NODES], phase[NODES];
bool no[NODES], dead[NODES], fenced[NODES];

/* The state of the reference. */
byte memory[NODES], applied[NODES];

/* ------------------------------------------------------------------- node --- */

inline apply(n, o)
{
	assert(!IN(o, applied[n]));		/* never executed twice */
	assert(!(applied[n] >> (o + 1)));	/* one order everywhere */
	applied[n] = applied[n] | BIT(o);
	var[n] = assign[o]
}

/* A retry finds its number used: it is answered, never executed again. */
#ifdef RETRY_EXECUTED_AGAIN
#define IS_NEW(n, o) (o > op[n] || (o == op[n] && phase[n] == STORM_PHASE_ENDED))
#else
#define IS_NEW(n, o) (o > op[n])
#endif

/* nm_xfer_begin(): the comparison is made here, and the answer is kept. */
inline hear_begin(n, o)
{
	op[n] = o;
	no[n] = (var[n] != value[o]);
	phase[n] = STORM_PHASE_STAGED;
#ifdef WRITES_AT_BEGIN
	if
	:: !no[n] -> apply(n, o)
	:: else
	fi
#endif
}

/* nm_xfer_decide() */
inline hear_decision(n, o)
{
	if
#ifndef WRITES_AT_BEGIN
	:: decided[o] == STORM_COMMIT -> apply(n, o)
#endif
	:: else
	fi;
	phase[n] = STORM_PHASE_ENDED
}

#define HEAR(n, o) \
	:: atomic { !dead[n] && !fenced[n] && begun[o] && IN(n, P[o]) && \
		    IS_NEW(n, o) -> \
		    hear_begin(n, o) } \
	:: atomic { !dead[n] && !fenced[n] && decided[o] && op[n] == o && \
		    phase[n] == STORM_PHASE_STAGED -> \
		    hear_decision(n, o) }

active [NODES] proctype node()
{
end:	do
	HEAR(_pid, 1)
	HEAR(_pid, 2)
	:: atomic { IN(_pid, excluded) && !fenced[_pid] ->
		    fenced[_pid] = true }
	:: atomic { faults && !dead[_pid] ->
		    faults--;
		    dead[_pid] = true }
	od
}

/* ------------------------------------------------------------------ owner --- */

#define WAITS_FOR(o) (P[o] & ~excluded)

/* STATUS of the operation under way; NO is a flag in it. */
#define TAKE_STAGED(n) \
	:: atomic { IN(n, WAITS_FOR(o) & ~heard) && op[n] == o && \
		    phase[n] >= STORM_PHASE_STAGED -> \
		    heard = heard | BIT(n); \
		    refused = refused || no[n] }
#define TAKE_ENDED(n) \
	:: atomic { IN(n, WAITS_FOR(o) & ~heard) && op[n] == o && \
		    phase[n] == STORM_PHASE_ENDED -> \
		    heard = heard | BIT(n) }

/* Dead, or slow for too long. The owner waits only for nodes in P. */
#define EXCLUDE(n) \
	:: atomic { IN(n, WAITS_FOR(o)) && (dead[n] || faults) -> \
		    if \
		    :: dead[n] \
		    :: else -> faults-- \
		    fi; \
		    excluded = excluded | BIT(n); \
		    fault = true }

#ifdef SILENCE_IS_FALSE
#define OUTCOME (refused || fault -> STORM_FALSE : STORM_TRUE)
#else
#define OUTCOME (fault -> STORM_FAILED : (refused -> STORM_FALSE : STORM_TRUE))
#endif

/* The result in the reference memory: over all of P, members or not. */
#define HOLDS(n) (!IN(n, P[o]) || memory[n] == value[o])
#define WRITES(n) memory[n] = (IN(n, P[o]) -> assign[o] : memory[n])

inline judge(o)
{
	assert(result[o] != STORM_TRUE ||
	       (HOLDS(0) && HOLDS(1) && HOLDS(2)));
	/* never a FALSE for silence */
	assert(result[o] != STORM_FALSE ||
	       !(HOLDS(0) && HOLDS(1) && HOLDS(2)));
	assert(result[o] != STORM_FAILED || (P[o] & excluded));
	if
	:: result[o] == STORM_TRUE -> WRITES(0); WRITES(1); WRITES(2)
	:: else
	fi
}

inline run_op()
{
	atomic {
		heard = 0;
		refused = false;
		/* a node that is not a member cannot answer */
		fault = ((P[o] & excluded) != 0);
		begun[o] = true
	}
	do
	TAKE_STAGED(0)
	TAKE_STAGED(1)
	TAKE_STAGED(2)
	EXCLUDE(0)
	EXCLUDE(1)
	EXCLUDE(2)
	:: atomic { fault || !(WAITS_FOR(o) & ~heard) ->
		    result[o] = OUTCOME;
		    judge(o);
		    decided[o] = (result[o] == STORM_TRUE -> STORM_COMMIT :
							     STORM_ABORT);
		    heard = 0;
		    break }
	od;
	/* Not done before every member has ended it. */
	do
#ifdef NEXT_BEFORE_ENDED
	:: break
#endif
	TAKE_ENDED(0)
	TAKE_ENDED(1)
	TAKE_ENDED(2)
	EXCLUDE(0)
	EXCLUDE(1)
	EXCLUDE(2)
	:: atomic { !(WAITS_FOR(o) & ~heard) -> break }
	od
}

byte ready;

#ifdef ORDER_PER_NODE_SET
/* Two queues: operations over different sets of nodes pass each other. */
active [2] proctype owner()
{
	byte o = _pid - NODES + 1, heard;
	bool refused, fault;

	ready >= 1;
	run_op();
	ready = ready + 1
}
#define OWNERS 2
#else
active proctype owner()
{
	byte o = 1, heard;
	bool refused, fault;

	ready >= 1;
	run_op();
	atomic { o = 2 };
	run_op();
	ready = ready + 1
}
#define OWNERS 1
#endif

#define AS_IN_MEMORY(n) (IN(n, excluded) || dead[n] || var[n] == memory[n])

init {
	atomic {
		if
		:: P[1] = 3; value[1] = 0; assign[1] = 1;
		   P[2] = 6; value[2] = 1; assign[2] = 2
		:: P[2] = 3; value[2] = 0; assign[2] = 1;
		   P[1] = 6; value[1] = 1; assign[1] = 2
		fi;
		if
		:: var[2] = 1
		:: var[2] = 0
		fi;
		memory[2] = var[2];
		ready = 1
	}
	/* It always ends, and local reads are correct. */
	atomic {
		ready == 1 + OWNERS ->
		assert(AS_IN_MEMORY(0));
		assert(AS_IN_MEMORY(1));
		assert(AS_IN_MEMORY(2))
	}
}
