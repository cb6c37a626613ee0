/*
 * staged_commit.pml - the staged commit in a cluster domain whose owner fails:
 * epochs, fencing, take-over, JOIN.  The model of the owner follows
 * owner_member.c, owner_open.c and owner_xfer.c, that of the node nm.c and
 * nm_xfer.c.  Names are those of the C code.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 *
 * Owner 0 has the domain.  The others take it over one after the other, at any
 * time.  An owner may stop permanently at any point, or be slow without limit.
 * A slow owner continues after others have taken over, and its messages arrive
 * then.  Every node can receive the messages of an owner (the arrays below) in
 * any order, any number of times, now, late or never.  This models loss,
 * duplicates, reordering and unbounded delay.  The owner reads the current
 * answer of a node: a slow owner models a late read.  Both refuse an answer of
 * another epoch.
 *
 * An epoch is (owner, minor): a take-over begins an epoch of a new owner,
 * exclusion and JOIN add one to minor.  The model omits the tree, the data, and
 * their repair: they are only transport.
 *
 * Faults: RESTARTS restarts of node 2 with loss of its state, PAUSES healthy
 * nodes considered dead.  Each -D named in "run" plants a bug that must be
 * found.
 */

#ifndef OWNERS
#define OWNERS 3
#endif
#ifndef OPS			/* owners below this number run a transfer */
#define OPS 2
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif
#ifndef PAUSES
#define PAUSES 1
#endif
#ifndef JOINS
#define JOINS 1
#endif

#define NODES 3
#define ALL 7
#define BIT(n) (1 << (n))

#define MINORS 4
#define EPOCH(owner, minor) ((owner) * MINORS + (minor) + 1)
#define OWNER(epoch) (((epoch) - 1) / MINORS)
#define EPOCHS (OWNERS * MINORS + 1)

/* enum storm_phase, enum storm_decision, enum storm_state */
#define STORM_PHASE_NONE 0
#define STORM_PHASE_BEGUN 1
#define STORM_PHASE_STAGED 2
#define STORM_PHASE_ENDED 3
#define STORM_UNDECIDED 0
#define STORM_COMMIT 1
#define STORM_ABORT 2
#define STORM_PENDING 0
#define STORM_DONE 1
#define STORM_ABORTED 2
#define STORM_UNKNOWN 3

/* The store: written by owner_epoch_save(). */
byte saved_epoch = EPOCH(0, 0);
byte saved_excluded;

/* The messages sent in each epoch; excluded belongs to STATE. */
#define STATE 1			/* the OPEN, too */
#define RECAST 2		/* the decision of the operation taken over */
#define BEGIN 4
#define DECISION 8		/* of the owner's own operation */
byte said[EPOCHS];
byte excluded[EPOCHS];
byte admitted[EPOCHS];	/* since the owner began; by incarnation */
/* An operation is identified by its number. For the invariants, *_by is the
 * owner that began it. */
byte recast_op[OWNERS], recast_by[OWNERS], recast_decision[OWNERS];
byte own_op[OWNERS], own_decision[OWNERS];
/* The nodes that have answered what the owner waits for. */
byte heard[OWNERS];
#define ANSWERS 1
#define RECASTING 2
#define STAGING 3
#define DECIDED 4
byte waits_for[OWNERS];
/* What they have reported about the last operation. */
byte fresh[OWNERS], high[OWNERS], high_by[OWNERS];
bool committed[OWNERS];
byte absent[OWNERS];		/* nodes that are not members in its epoch */

/* A node's session and its transfer x. */
#define MEMBER 0
#define FRESH 1			/* without the state: restarted or fenced */
#define JOINING 2		/* has answered JOIN in its epoch */
byte is[NODES];
byte epoch[NODES];
byte op[NODES], by[NODES], phase[NODES], decision[NODES];

byte restarts = RESTARTS, pauses = PAUSES, joins = JOINS;

/* For the invariants, sets of nodes for each operation. */
byte party[OWNERS];		/* were members when it began, and since */
byte staged[OWNERS], shown[OWNERS], gone[OWNERS], ever_shown[OWNERS];
byte told[OWNERS];

hidden byte i, m, e, what, who;

#define IS_MEMBER(n) (is[n] == MEMBER && !(saved_excluded & BIT(n)))

/* Nodes are interchangeable and idle between steps. Sorting them by state
 * merges six equivalent states into one. A trail (spin -t) is easier to read
 * without sorting: -DUNSORTED. */
#define KEY(n) (((((((((((((((epoch[n] << 2 | is[n]) << 2 | op[n]) << 2 | \
	by[n]) << 2 | phase[n]) << 2 | decision[n]) << 1 | \
	SET(saved_excluded, n)) << 1 | SET(heard[0], n)) << 1 | \
	SET(heard[1], n)) << 1 | SET(heard[OWNERS - 1], n)) << 1 | \
	SET(party[0], n)) << 1 | SET(party[1], n)) << 1 | \
	SET(staged[0], n)) << 1 | SET(staged[1], n)) << 1 | \
	SET(shown[0], n)) << 1 | SET(shown[1], n))
#define SET(s, n) ((s >> (n)) & 1)
#define SWAP_BITS(s, n) s = s ^ ((3 << (n)) * ((SET(s, n) + SET(s, n + 1)) & 1))
#define SWAP(a, n) m = a[n]; a[n] = a[n + 1]; a[n + 1] = m

inline sort_nodes(n)
{
	if
#ifndef UNSORTED
	:: KEY(n) > KEY(n + 1) ->
		SWAP(epoch, n); SWAP(is, n); SWAP(op, n); SWAP(by, n);
		SWAP(phase, n); SWAP(decision, n);
		SWAP_BITS(saved_excluded, n);
		i = 0;
		do
		:: i < EPOCHS ->
			SWAP_BITS(excluded[i], n);
			SWAP_BITS(admitted[i], n);
			i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < OWNERS ->
			SWAP_BITS(absent[i], n); SWAP_BITS(heard[i], n);
			SWAP_BITS(fresh[i], n); SWAP_BITS(party[i], n);
			SWAP_BITS(staged[i], n); SWAP_BITS(shown[i], n);
			SWAP_BITS(gone[i], n); SWAP_BITS(ever_shown[i], n);
			i++
		:: else -> break
		od
#endif
	:: else
	fi
}

inline check()
{
	d_step {
		m = 0; i = 0;
		do
		:: i < NODES ->
			m = m | (IS_MEMBER(i) -> BIT(i) : 0); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < OPS ->
			/* all or nothing, in every epoch */
			assert(!((shown[i] & m) && (gone[i] & m)));
			/* DONE: every member shows it, and continues to */
			assert(told[i] != STORM_DONE ||
			       !(party[i] & m & ~shown[i]));
			/* ABORTED: no node ever shows it */
			assert(told[i] != STORM_ABORTED || !ever_shown[i]);
			i++
		:: else -> break
		od;
		sort_nodes(0);
		sort_nodes(1);
		sort_nodes(0);
		i = 0; m = 0
	}
}

/* ------------------------------------------------------------------- node --- */

#define UNDECIDED(n) (phase[n] == STORM_PHASE_BEGUN || \
		      (phase[n] == STORM_PHASE_STAGED && \
		       decision[n] == STORM_UNDECIDED))

/* What is staged and not decided will never be shown. */
inline drop(n)
{
	if
	:: UNDECIDED(n) -> gone[by[n]] = gone[by[n]] | BIT(n)
	:: else
	fi
}

inline forget(n)
{
	d_step {
		op[n] = 0; by[n] = 0; phase[n] = STORM_PHASE_NONE;
		decision[n] = STORM_UNDECIDED;
		i = 0;
		do
		:: i < OPS ->
			shown[i] = shown[i] & ~BIT(n);
			gone[i] = gone[i] & ~BIT(n);
			i++
		:: else -> break
		od;
		/* another incarnation: what was said to the last one, is not
		 * said to this one */
		i = 0;
		do
		:: i < EPOCHS ->
			admitted[i] = admitted[i] & ~BIT(n);
			i++
		:: else -> break
		od;
		i = 0
	}
}

/* STATUS: the owner of the node's epoch receives it at once. The owner may act
 * on it late. */
inline tell_staged(n)
{
	if
	:: waits_for[OWNER(epoch[n])] == STAGING &&
	   own_op[OWNER(epoch[n])] == op[n] ->
		heard[OWNER(epoch[n])] = heard[OWNER(epoch[n])] | BIT(n)
	:: else
	fi
}

inline tell_ended(n)
{
	if
	:: (waits_for[OWNER(epoch[n])] == DECIDED &&
	    own_op[OWNER(epoch[n])] == op[n]) ||
	   (waits_for[OWNER(epoch[n])] == RECASTING &&
	    recast_op[OWNER(epoch[n])] == op[n]) ->
		heard[OWNER(epoch[n])] = heard[OWNER(epoch[n])] | BIT(n)
	:: else
	fi
}

inline enter(n, e)
{
	assert(e >= epoch[n]);		/* epochs never fall */
	epoch[n] = e
}

#ifdef REPORT_ENDED_ONLY
#define COMMITTED(n) (decision[n] == STORM_COMMIT && \
		      phase[n] == STORM_PHASE_ENDED)
#else
#define COMMITTED(n) (decision[n] == STORM_COMMIT)
#endif

/* The answer to a take-over's OPEN, merged into what its owner knows. */
inline answer(n, g)
{
	heard[g] = heard[g] | BIT(n);
	if
	:: is[n] == FRESH -> fresh[g] = fresh[g] | BIT(n)
	:: else ->
		/* one number, one operation */
		assert(!op[n] || op[n] != high[g] || by[n] == high_by[g]);
		if
		:: op[n] > high[g] ->
			high[g] = op[n];
			high_by[g] = by[n];
#ifdef COMMITTED_OF_ANY_OP
			committed[g] = committed[g] || COMMITTED(n)
#else
			committed[g] = COMMITTED(n)
#endif
		:: op[n] == high[g] ->
			committed[g] = committed[g] || COMMITTED(n)
		:: op[n] < high[g] ->
#ifdef COMMITTED_OF_ANY_OP
			committed[g] = committed[g] || COMMITTED(n)
#else
			skip
#endif
		fi
	fi
}

#ifdef FRESH_COUNTS
#define COMES_AS MEMBER
#else
#define COMES_AS FRESH
#endif

/* A take-over's OPEN, or the invitation of an excluded node. */
#define HEARS_OPEN(n, e) (said[e] & STATE && \
	((OWNER(e) > 0 && e == EPOCH(OWNER(e), 0) && e > epoch[n]) || \
	 (excluded[e] & BIT(n) && \
	  (e > epoch[n] || (e == epoch[n] && is[n] == FRESH)))))

inline hear_open(n, e)
{
	enter(n, e);
	if
	:: excluded[e] & BIT(n) ->
		is[n] = JOINING;
#ifndef JOIN_KEEPS_STATE
		forget(n)
#endif
	:: else ->
		if
		:: is[n] == FRESH -> is[n] = COMES_AS
		:: is[n] == JOINING -> is[n] = FRESH
		:: else
		fi;
		if
		:: waits_for[OWNER(e)] == ANSWERS -> answer(n, OWNER(e))
		:: else
		fi
	fi
}

#ifdef ADMIT_ANY_INCARNATION
#define ADMITTED(n, e) true
#else
#define ADMITTED(n, e) (admitted[e] & BIT(n))
#endif

/* nm_state_take() */
#define HEARS_STATE(n, e) (said[e] & STATE && e > epoch[n])

inline hear_state(n, e)
{
	enter(n, e);
	if
	:: excluded[e] & BIT(n) ->
		if
		:: is[n] == MEMBER -> is[n] = FRESH; forget(n)	/* fenced */
		:: else
		fi
	:: else ->
		if
		:: is[n] == JOINING && ADMITTED(n, e) -> is[n] = MEMBER
		:: else
		fi
	fi
}

/* nm_xfer_begin(): a retry finds its number used */
#define HEARS_BEGIN(n, e) (said[e] & BEGIN && is[n] == MEMBER && \
	e >= epoch[n] && own_op[OWNER(e)] > op[n])

inline hear_begin(n, e)
{
	drop(n);
	op[n] = own_op[OWNER(e)];
	by[n] = OWNER(e);
	phase[n] = STORM_PHASE_BEGUN;
	decision[n] = STORM_UNDECIDED
}

#ifdef ACCEPT_OLD_EPOCH
#define IN_TIME(n, e) true
#else
#define IN_TIME(n, e) ((e) >= epoch[n])
#endif

/* nm_xfer_decide() */
#define HEARS_DECISION(n, e, what, o, d) (said[e] & what && \
	is[n] == MEMBER && !(excluded[e] & BIT(n)) && IN_TIME(n, e) && \
	((o == op[n] && UNDECIDED(n) && \
	  (d == STORM_ABORT || phase[n] == STORM_PHASE_STAGED)) || \
	 UNHEARD_OF(n, o)))

/* A node that does not know the operation answers that it has ended. */
#ifdef UNHEARD_OF_IS_SILENT
#define UNHEARD_OF(n, o) false
#else
#define UNHEARD_OF(n, o) (o > op[n])
#endif

inline applied(n)
{
	phase[n] = STORM_PHASE_ENDED;
	/* nothing is shown before all have staged it */
	assert(!(party[by[n]] & ~staged[by[n]]));
	shown[by[n]] = shown[by[n]] | BIT(n);
	ever_shown[by[n]] = ever_shown[by[n]] | BIT(n);
	tell_ended(n)
}

inline hear_decision(n, e, o, b, d)
{
	if
	:: e > epoch[n] -> enter(n, e)
	:: else
	fi;
	if
	:: o > op[n] ->
		assert(d == STORM_ABORT || !(party[b] & BIT(n)));
		drop(n);
		op[n] = o;
		by[n] = b;
		phase[n] = STORM_PHASE_ENDED;
		decision[n] = d;
		gone[b] = gone[b] | (d == STORM_ABORT -> BIT(n) : 0);
		tell_ended(n)
	:: else ->
		decision[n] = d;
		if
		:: d == STORM_ABORT ->
			phase[n] = STORM_PHASE_ENDED;
			gone[b] = gone[b] | BIT(n);
			tell_ended(n)
		:: else ->
#ifndef HOST_IS_SLOW
			applied(n)
#else
			skip		/* the host is still working */
#endif
		fi
	fi
}

#define SESSION(n, minor) (OWNER(epoch[n]) * MINORS + (minor) + 1)

#define OPENS 16		/* what a node receives, besides the above */
#define STAGES 32
#define APPLIES 64
#define RESTARTED 128

#define HEAR_OPEN(n, x) :: HEARS_OPEN(n, x) -> what = OPENS; e = x
#define HEAR_DECISION(n, x) \
	:: HEARS_DECISION(n, x, RECAST, recast_op[OWNER(x)], \
			  recast_decision[OWNER(x)]) -> what = RECAST; e = x \
	:: HEARS_DECISION(n, x, DECISION, own_op[OWNER(x)], \
			  own_decision[OWNER(x)]) -> what = DECISION; e = x
#define HEAR(n, x) \
	:: epoch[n] && HEARS_STATE(n, x) -> what = STATE; e = x \
	:: epoch[n] && HEARS_BEGIN(n, x) -> what = BEGIN; e = x \
	HEAR_DECISION(n, x)

active [NODES] proctype node()
{
end:	do
	:: atomic {
		if
		HEAR_OPEN(_pid, EPOCH(0, 1))
		HEAR_OPEN(_pid, EPOCH(0, 2))
		HEAR_OPEN(_pid, EPOCH(0, 3))
		HEAR_OPEN(_pid, EPOCH(1, 0))
		HEAR_OPEN(_pid, EPOCH(1, 1))
		HEAR_OPEN(_pid, EPOCH(1, 2))
		HEAR_OPEN(_pid, EPOCH(1, 3))
#if OWNERS > 2
		HEAR_OPEN(_pid, EPOCH(2, 0))
		HEAR_OPEN(_pid, EPOCH(2, 1))
		HEAR_OPEN(_pid, EPOCH(2, 2))
		HEAR_OPEN(_pid, EPOCH(2, 3))
#endif
		HEAR(_pid, SESSION(_pid, 0))
		HEAR(_pid, SESSION(_pid, 1))
		HEAR(_pid, SESSION(_pid, 2))
		HEAR(_pid, SESSION(_pid, 3))
#ifdef ACCEPT_OLD_EPOCH
		HEAR_DECISION(_pid, EPOCH(0, 0))
		HEAR_DECISION(_pid, EPOCH(1, 0))
#endif
		:: is[_pid] == MEMBER && phase[_pid] == STORM_PHASE_BEGUN ->
			what = STAGES
		:: is[_pid] == MEMBER && phase[_pid] == STORM_PHASE_STAGED &&
		   decision[_pid] == STORM_COMMIT -> what = APPLIES
		:: restarts -> what = RESTARTED
		fi;
		if
		:: what == OPENS -> hear_open(_pid, e)
		:: what == STATE -> hear_state(_pid, e)
		:: what == BEGIN -> hear_begin(_pid, e)
		:: what == RECAST ->
			hear_decision(_pid, e, recast_op[OWNER(e)],
				      recast_by[OWNER(e)],
				      recast_decision[OWNER(e)])
		:: what == DECISION ->
			hear_decision(_pid, e, own_op[OWNER(e)], OWNER(e),
				      own_decision[OWNER(e)])
		:: what == STAGES ->
			phase[_pid] = STORM_PHASE_STAGED;
			staged[by[_pid]] = staged[by[_pid]] | BIT(_pid);
			tell_staged(_pid)
		:: what == APPLIES -> applied(_pid)
		:: what == RESTARTED ->
			restarts--;
			is[_pid] = FRESH;
			epoch[_pid] = 0;
			forget(_pid)
		fi;
		check()
	   }
	od
}

/* ------------------------------------------------------------------ owner --- */

#define MEMBERS (ALL & ~absent[g])

/* owner_epoch_save(): compare and save; an epoch is used only once it is saved. */
inline save(e, x)
{
	if
	:: saved_epoch == mine ->
		saved_epoch = e;
		saved_excluded = x;
		refused = false
	:: else -> refused = true
	fi
}

/* The next minor epoch: the current messages continue in it. */
inline say_epoch(x, admits)
{
	said[mine + 1] = STATE | (said[mine] & casting);
	absent[g] = x;
	excluded[mine + 1] = absent[g];
	admitted[mine + 1] = (admitted[mine] | admits) & ~absent[g];
	mine++
}

/* Dead, or slow, or it follows a newer owner. */
#ifdef SAVE_AFTER_USE
#define SILENT(n) (is[n] != MEMBER || pauses > 0)
#else
#define SILENT(n) (is[n] != MEMBER || saved_epoch != mine || pauses > 0)
#endif

/* owner_exclude(): goes to lost when the store has another owner */
#define EXCLUDES(n, unless) \
	:: (MEMBERS & ~(unless) & BIT(n)) && SILENT(n) -> who = n
#define EXCLUDE(unless, then) \
	:: atomic { \
		if \
		EXCLUDES(0, unless) \
		EXCLUDES(1, unless) \
		EXCLUDES(2, unless) \
		fi; \
		refused = false; \
		SAVE_EXCLUSION(mine + 1, absent[g] | BIT(who)); \
		if \
		:: refused || mine == EPOCH(g, MINORS - 1) -> goto lost \
		:: else \
		fi; \
		if \
		:: is[who] == MEMBER -> pauses-- \
		:: else \
		fi; \
		say_epoch(absent[g] | BIT(who), 0); \
		check(); \
		then }

#ifdef SAVE_AFTER_USE
#define SAVE_EXCLUSION(e, x) skip
#else
#define SAVE_EXCLUSION(e, x) save(e, x)
#endif

/* Also finds the nodes where the operation has already ended. */
inline ended_already(n)
{
	if
	:: is[n] == MEMBER && OWNER(epoch[n]) == g && op[n] == high[g] &&
	   phase[n] == STORM_PHASE_ENDED ->
		heard[g] = heard[g] | BIT(n)
	:: else
	fi
}

/* Between two operations. */
#define ADMITS(n) \
	:: joins && (absent[g] & BIT(n)) && is[n] == JOINING && \
	   epoch[n] == mine && mine < EPOCH(g, MINORS - 1) -> who = n
#define ADMIT \
	:: atomic { \
		if \
		ADMITS(0) \
		ADMITS(1) \
		ADMITS(2) \
		fi; \
		save(mine + 1, absent[g] & ~BIT(who)); \
		if \
		:: refused -> goto lost \
		:: else \
		fi; \
		joins--; \
		joined(who); \
		say_epoch(absent[g] & ~BIT(who), BIT(who)); \
		check() }

/* Earlier operations do not constrain it. */
inline joined(n)
{
	d_step {
		i = 0;
		do
		:: i < OPS -> party[i] = party[i] & ~BIT(n); i++
		:: else -> break
		od;
		i = 0
	}
}

#ifdef DECIDE_EARLY
#define ALL_STAGED (heard[g] != 0)
#else
#define ALL_STAGED (!(MEMBERS & ~heard[g]))
#endif
#define ALL_HEARD (!(MEMBERS & ~heard[g]))
#ifdef FRESH_COUNTS
#define NONE_FRESH true
#else
#define NONE_FRESH !(MEMBERS & fresh[g])
#endif

/* Stops permanently; the last owner does not. */
#ifdef CRASHES
#define CRASH :: g < OWNERS - 1 -> goto lost
#else
#define CRASH
#endif

proctype owner(byte g)
{
	byte mine, casting;
	bool refused;

	mine = EPOCH(g, 0);
	if
	:: g == 0 -> goto own
	:: else
	fi;

	/* Take-over: nothing of an epoch is used before it is saved, and it
	 * is saved in the place of what was read. */
#ifdef SAVE_BLIND
	atomic { saved_epoch < mine && OWNER(saved_epoch) == g - 1 ->
		 heard[g] = saved_excluded }
	atomic { saved_epoch < mine;
		 saved_epoch = mine;
		 saved_excluded = heard[g];
		 excluded[mine] = heard[g];
		 absent[g] = heard[g];
		 heard[g] = 0;
		 said[mine] = STATE;
		 waits_for[g] = ANSWERS;
		 check() }
#else
	atomic { saved_epoch < mine && OWNER(saved_epoch) == g - 1 ->
		 saved_epoch = mine;
		 excluded[mine] = saved_excluded;
		 absent[g] = saved_excluded;
		 said[mine] = STATE;
		 waits_for[g] = ANSWERS }
#endif
	do
	EXCLUDE(heard[g] & ~fresh[g], skip)
	:: atomic { ALL_HEARD && NONE_FRESH -> break }
	CRASH
	od;
	atomic {
		fresh[g] = 0;
		heard[g] = 0;
		waits_for[g] = 0;
		if
		:: high[g] == 0 -> goto own
		:: else
		fi;
		recast_op[g] = high[g];
		recast_by[g] = high_by[g];
#ifdef IGNORE_COMMITTED
		recast_decision[g] = STORM_ABORT;
#else
		recast_decision[g] = (committed[g] -> STORM_COMMIT : STORM_ABORT);
#endif
		committed[g] = false;
		high_by[g] = 0;
		casting = RECAST;
		waits_for[g] = RECASTING;
		ended_already(0);
		ended_already(1);
		ended_already(2);
		said[mine] = said[mine] | RECAST
	}
	do
	EXCLUDE(heard[g], skip)
	:: atomic { ALL_HEARD ->
		    heard[g] = 0; casting = 0; waits_for[g] = 0; break }
	CRASH
	od;
own:
	do
	ADMIT
	:: break
	od;
	if
	:: g >= OPS -> goto done
	:: else
	fi;
	atomic {
		own_op[g] = high[g] + 1;
		party[g] = MEMBERS;
		high[g] = 0;
		casting = BEGIN;
		waits_for[g] = STAGING;
		said[mine] = said[mine] | BEGIN
	}
	do
	EXCLUDE(0, own_decision[g] = STORM_ABORT; break)
	:: atomic { ALL_STAGED -> own_decision[g] = STORM_COMMIT; break }
	:: atomic { own_decision[g] = STORM_ABORT; break }
	CRASH
	od;
	atomic {
		heard[g] = 0;
		casting = DECISION;
		waits_for[g] = DECIDED;
		said[mine] = said[mine] | DECISION
	}
	do
	EXCLUDE(heard[g], skip)
	:: atomic { ALL_HEARD -> break }
#ifdef LAGGARD_STAYS
	:: atomic { heard[g] -> break }
#endif
	CRASH
	od;
	atomic {
		heard[g] = 0;
		casting = 0;
		waits_for[g] = 0;
		told[g] = own_decision[g];	/* DONE or ABORTED */
		check()
	}
	do
	ADMIT
	:: break
	od;
	goto done;
lost:
	atomic {
		/* the local event: UNKNOWN, if not yet reported */
		if
		:: g < OPS && told[g] == STORM_PENDING && own_op[g] ->
			told[g] = STORM_UNKNOWN
		:: else
		fi;
		/* no owner takes over from the last one */
		assert(g < OWNERS - 1 || mine == EPOCH(g, MINORS - 1));
	}
done:
	atomic {
	mine = 0; absent[g] = 0; heard[g] = 0; waits_for[g] = 0; fresh[g] = 0; casting = 0; high[g] = 0; high_by[g] = 0;
	committed[g] = false; refused = false
	}
}

init {
	atomic {
		i = 0;
		said[EPOCH(0, 0)] = STATE;
		do
		:: i < NODES -> epoch[i] = EPOCH(0, 0); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < OWNERS -> run owner(i); i++
		:: else -> break
		od;
		i = 0
	}
}
