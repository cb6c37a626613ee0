/*
 * agent_gang_private.h - the parts of a node's gang scheduling: agent_gang.c begins
 * and ends it, agent_gang_maps.c takes maps, agent_gang_steps.c knows this node's
 * steps, agent_gang_turns.c stops and continues them.  The first calls the others,
 * maps and steps call turns, and turns calls none of them: it finds all it needs
 * in struct agent_gang.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_GANG_PRIVATE_H
#define STORM_AGENT_GANG_PRIVATE_H

#include <limits.h>

#include "src/plugins/switch/storm/agent/agent.h"
#include "src/plugins/switch/storm/gang/gang_page.h"
#include "src/plugins/switch/storm/gang/gang_step.h"
#include "src/storm_common/gang_map.h"

struct gang_local {			/* a step on this node */
	struct agent_io io;		/* pidfd of its slurmstepd */
	struct gang_local *next;
	char name[GANG_STEP_NAME];
	struct gang_step step;
	struct freezer *f;
	struct gang_mark *mark;
	uint64_t stopped, looked;	/* when last */
	bool granted;			/* it runs until its slot is over */
	bool traced;			/* a debugger has hold of it */
	bool has_srun;
	bool starting;			/* not all tasks are past exec */
	bool listed;			/* in the look under way */
	bool told;			/* that it cannot be stopped */
	bool told_traced;
};

struct gang_known {			/* a map, as it came */
	bool there;
	struct gang_map map;
	uint64_t digest;
	uint32_t zone, self;
};

struct agent_gang {
	struct agent *a;
	struct gang_page *page;
	struct gang_trace *trace;
	struct freezer_host host;
	char dir[PATH_MAX];		/* of the records */
	struct agent_session *session;	/* the cluster domain */
	/* agent_gang_steps.c */
	struct agent_io *notify;	/* of changes of the records */
	struct gang_local *steps;
	bool traced;			/* some step is */
	/* agent_gang_maps.c */
	struct gang_known known[2];	/* the newest is the first */
	bool shared;			/* by the newest, jobs share this node */
	bool realtime, refused;
	/* agent_gang_turns.c */
	const struct gang_known *now;	/* the last strobe's; NULL: none */
	bool alone;			/* by the last strobe, nobody shares */
	uint32_t slot;
	uint64_t told_version;		/* in the trace, with the slot */
	uint32_t told_slot;
	uint64_t number, heard;		/* of the last strobe */
	uint64_t silence;		/* so long without one: none holds */
	uint64_t slurmd_at;
	bool slurmd_stands;
	bool was_away;			/* all strobes since are missed */
	uint32_t freed;			/* of the page, as last seen */
};

/* Has the job a part here, by this map? */
static inline bool agent_gang_is_here(const struct gang_known *k,
				      const struct gang_job *j)
{
	return j->zone == k->zone && storm_idset_has(&j->nodes, k->self);
}

/* agent_gang_turns.c */
/* Of this step; NULL: of the node. */
void agent_gang_trace(struct agent_gang *g, enum gang_what what,
		      const struct gang_local *l, uint32_t a, uint32_t b);
/* One that stands still already is stopped again, if that is asked for. */
void agent_gang_step_stop(struct agent_gang *g, struct gang_local *l,
			  bool again);
void agent_gang_step_continue(struct agent_gang *g, struct gang_local *l,
			      enum gang_why why);
/* Everything goes on; until the next strobe nothing stops. */
void agent_gang_open(struct agent_gang *g, enum gang_why why);
/* Bring all steps where the last strobe wants them. */
void agent_gang_apply(struct agent_gang *g);
bool agent_gang_job_has_steps(const struct agent_gang *g, uint32_t job);
/* The strober asks for it (src/plugins/sched/storm/strober/missed.h). */
void agent_gang_report_missed(struct agent_gang *g);
/* A sign of life is given.  Until when the last strobe counts; NEVER: none does, and
 * everything runs. */
uint64_t agent_gang_until(struct agent_gang *g, uint64_t now);
/* When slurmd is to be asked whether it has been stopped. */
uint64_t agent_gang_slurmd_due(const struct agent_gang *g);

/* agent_gang_steps.c */
/* Of all changes of the records we are told from now on; 0, or -1 and errno. */
int agent_gang_steps_watch(struct agent_gang *g);
/* The records have changed, or are read for the first time. */
void agent_gang_steps_list(struct agent_gang *g);
/* While steps stand still: a signal waits for one, a debugger comes or goes, a
 * srun has begun in a script.  When to look again. */
uint64_t agent_gang_steps_look(struct agent_gang *g, uint64_t now);
/* All of them, as this node takes part no more. */
void agent_gang_steps_end(struct agent_gang *g);
/* Below base, groups of steps that never became complete, or whose slurmstepd was
 * killed; "" is fine. */
void agent_gang_groups_clear(const char *base);

/* agent_gang_maps.c */
/* One has come. */
void agent_gang_map(struct agent_gang *g, const void *buf, size_t len);
/* A strobe may have said that nobody shares any more, of which no map comes, or that
 * they do again. */
void agent_gang_maps_bind(struct agent_gang *g);
/* Nobody shares this node any more. */
void agent_gang_maps_end(struct agent_gang *g);

#endif
