/*
 * state_keys.h - what agents answer to storm status: keys of a gather
 * (storm_gather()), which one question for all nodes combines.  No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STATE_KEYS_H
#define STORM_STATE_KEYS_H

/* The question.  An agent that does not know one answers with nothing. */
#define STATE_QUERY "state"

/* This question, and "", " JOB" or " JOB.STEP": which steps of the asker's has Slurm
 * launched, and why?  root and SlurmUser are told of all.  A node answers with its last
 * STATE_WHY_MOST of them: key JOB.STEP, or JOB.STEP+COMPONENT; value "TIME WORD
 * TEXT". */
#define STATE_WHY "why"
#define STATE_WHY_MOST 20

/* This question, and "", " JOB" or " JOB.STEP": how long have the phases of launches by
 * STORM taken?  The asker is told of the same steps as by STATE_WHY: key as there; value
 * {u64 seconds since 1970, u32 uid, a record of launch_record.h}, in network byte order.
 * The last STATE_WHY_MOST. */
#define STATE_LAUNCHED "launched"
#define STATE_LAUNCHED_HEAD 12

/* This question and " N": the last N, at most STATE_LAUNCHED_MOST, of any job.  It is
 * another question, as these may leave no room in a table for a job's own. */
#define STATE_LAUNCHED_LAST "launched-last"
#define STATE_LAUNCHED_MOST 100

/* Values, of few words each, so that equal nodes become one entry. */
#define STATE_BUILD "build"   /* AGENT_BUILD of agent_contract.h */
#define STATE_HEALTH "health" /* health_word(), or STATE_WELL */
#define STATE_WELL "well"
#define STATE_GANG "gang" /* no_gang_word(), or one of these */
#define STATE_GANG_IN "member"
#define STATE_GANG_OUT "no member"
#define STATE_GANG_EXCLUDED "excluded by the strober"
#define STATE_GANG_SILENT "strober silent" /* a member that hears it no more */
#define STATE_EPOCH "epoch" /* of the cluster domain, as the node has heard */
#define STATE_QUANTUM "quantum" /* of the turns that the node takes, "50 ms" */
#define STATE_SLURMD "slurmd"	/* of a node whose agent has none: STATE_GONE */
#define STATE_GONE "gone"

/* Counters, since the agent began. */
#define STATE_AGE "age" /* s since then */
#define STATE_SESSIONS "sessions"
/* Steps: those of STORM, on the first node of each, and those that Slurm launched in
 * its place, by cause (fallback_word.h), on one node of each. */
#define STATE_STEPS "steps"
#define STATE_FALLBACK "fallback " /* and the cause's word */
/* Steps among these whose srun has told how long they took (launch_record.h): how many,
 * by bucket of launch_took.h, and us in all. */
#define STATE_TOOK "took " /* and the bucket's number, from 0 */
#define STATE_TOOK_SUM "took us"
#define STATE_LAUNCHES "launches"
#define STATE_LAUNCHES_FAILED "launches failed"
#define STATE_FILES "files"
#define STATE_FILES_FAILED "files failed"
#define STATE_BYTES "bytes"
#define STATE_SIGNALS "signals"
#define STATE_REPAIRED \
	"repaired" /* chunks that were sent again for this node */

#endif
