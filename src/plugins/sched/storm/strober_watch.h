/*
 * strober_watch.h - slurmctld's side of the strober: runs it, watches it, and
 * sends it the nodes and the newest map.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STROBER_WATCH_H
#define STORM_STROBER_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/storm_common/strober_protocol.h"

/* Start the thread that runs the strober.  SLURM_SUCCESS or SLURM_ERROR, which
 * is logged. */
int strober_watch_start(void);
/* Stop the thread and the strober, and wait for both.  The strober first orders
 * the nodes to let everything run. */
void strober_watch_stop(void);

/* LogLevel=debug: what the strober says is shown at slurmctld's level info. */
void strober_watch_log_all(bool all);

/* storm.conf was read again: start a strober that has refused it at once.  changed:
 * replace one that runs, as it has read other values. */
void strober_watch_retry(bool changed);

/*
 * Send the strober the names and places of the domain's nodes, each with its
 * NUL, and a packed map of these nodes.  Both are xmalloc()ed and taken over.
 * names NULL: the nodes have not changed.  Any thread; never waits for the
 * strober.
 */
void strober_watch_tell(char *names, size_t names_len, void *map,
			size_t map_len);

/* Send the strober StrobeLead, in ns.  Any thread, between start and stop. */
void strober_watch_lead(uint64_t lead);

/* Take each job's account that the strober has reported since the last call,
 * including jobs that have left the map.  *given is ascending by job_id; the
 * caller frees it with xfree().  Returns how many.  Any thread. */
uint32_t strober_watch_given(struct strober_given **given);

/* The strobes that each node has missed since its agent started; out[] of other
 * nodes is left as it is.  False: the strober has not reported any counts.  Any
 * thread. */
bool strober_watch_missed(uint64_t *out, uint32_t nodes);

/*
 * Set *out to the nodes that are out of gang scheduling, ascending, in a domain
 * of so many; the caller frees it with xfree().  Returns how many there are.
 * *mute: the strober has not reported for a while, so all nodes are out.  Any
 * thread.
 */
uint32_t strober_watch_outside(struct strober_outside **out, uint32_t nodes,
			       bool *mute);

/*
 * Get what the strober knows of held jobs (STROBER_HELD), in a domain of so
 * many nodes.  *force, *proof: both are 0 if there is no strober, or it is
 * silent.  loose[], by node: false before the call; set for nodes where held
 * jobs may run.  Any thread.
 */
void strober_watch_held(uint64_t *force, uint64_t *proof, bool *loose,
			uint32_t nodes);

/* A function that is called when STROBER_FAILED has news, by the thread: it must not
 * wait.  NULL: none.  Call it while the thread does not run. */
void strober_watch_on_failed(void (*news)(void));

/* Set *out to the nodes with which something is wrong, ascending, in a domain of so
 * many; the caller frees it with xfree().  Returns how many there are; -1: it is not
 * known, and *out is NULL.  Any thread. */
int strober_watch_failed(struct strober_failed **out, uint32_t nodes);

#endif
