/*
 * timeline.c - the phases of a launch (paper section 4.2.1, which separates
 * send and execution times, and has both begin with a time slice), for -vv and for
 * STORM_TIMELINE.  "slot" is the part of exec and run in which all tasks of a node
 * waited for their job's turn, on the node where that was longest; null: on none.
 *
 * The JSON object:
 *	command, job, step, step_het (both null if none), nodes, tasks,
 *	launch		"storm" or "slurm", which launched the tasks; or null
 *	fallback	null, or the reason for a fallback to Slurm
 *	odd		null, or nodes to which Slurm's own messages went
 *	multicast	true; false: the relay was used; null: no domain
 *	resent		number of nodes whose launch message was resent by TCP
 *	phases		{name: null or {start, ms}}, start in ms since the
 *			first phase began
 *	transfers	[{path (null: the launch message), bytes, and phases}]
 *	counters	{name: number}, struct storm_stats of storm.h
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <json-c/json.h>

#include "src/common/slurm_xlator.h"

#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "timeline.h"

struct storm_transfer {
	struct storm_transfer *next;
	char *path;
	uint64_t bytes;
	struct storm_timeline t;
};

static const char *const phase_name[LAUNCH_PHASES] = {
	[LAUNCH_PHASE_STEP_CREATE] = "step_create",
	[LAUNCH_PHASE_OPEN] = "open",
	[LAUNCH_PHASE_SEND] = "send",
	[LAUNCH_PHASE_REPAIR] = "repair",
	[LAUNCH_PHASE_WRITE] = "write",
	[LAUNCH_PHASE_VERIFY] = "verify",
	[LAUNCH_PHASE_EXEC] = "exec",
	[LAUNCH_PHASE_SLOT] = "slot",
	[LAUNCH_PHASE_RUN] = "run",
	[LAUNCH_PHASE_EXIT] = "exit",
};

void storm_record_init(struct storm_record *rec, const char *command)
{
	memset(rec, 0, sizeof(*rec));
	rec->command = command;
	rec->step_het = NO_VAL;
	rec->transfers_end = &rec->transfers;
}

void storm_record_clear(struct storm_record *rec)
{
	struct storm_transfer *t;

	while ((t = rec->transfers)) {
		rec->transfers = t->next;
		xfree(t->path);
		xfree(t);
	}
	rec->transfers_end = &rec->transfers;
	xfree(rec->fallback);
	xfree(rec->odd);
}

static struct storm_span timeline_span(uint64_t start, uint64_t end)
{
	struct storm_span s = { 0, 0 };

	if (start && end >= start) {
		s.start = start;
		s.end = end;
	}
	return s;
}

/* The phases that one transfer has. */
static void
timeline_transfer_phases(const struct storm_timeline *t,
			 struct storm_span phase[static LAUNCH_PHASES])
{
	phase[LAUNCH_PHASE_OPEN] = timeline_span(t->open_sent, t->opened);
	phase[LAUNCH_PHASE_SEND] = timeline_span(t->first_byte, t->last_byte);
	phase[LAUNCH_PHASE_REPAIR] =
		timeline_span(t->repair_first, t->repair_last);
	phase[LAUNCH_PHASE_WRITE] = timeline_span(t->first_byte, t->written);
	/* An empty file has nothing to write, yet it is verified. */
	phase[LAUNCH_PHASE_VERIFY] =
		timeline_span(t->written ? t->written : t->opened, t->applied);
}

void storm_record_transfer(struct storm_record *rec, const char *path,
			   uint64_t bytes, const storm_domain_t *d)
{
	struct storm_transfer *t = xmalloc(sizeof(*t));

	t->path = xstrdup(path);
	t->bytes = bytes;
	storm_domain_timeline((storm_domain_t *) d, &t->t);
	if (!rec->transfers) {
		rec->file = path != NULL;
		timeline_transfer_phases(&t->t, rec->phase);
		/* Phases do not overlap: exec begins when the launch message
		 * has arrived. */
		if (!path && rec->phase[LAUNCH_PHASE_EXEC].start)
			rec->phase[LAUNCH_PHASE_EXEC].start = t->t.applied;
	}
	*rec->transfers_end = t;
	rec->transfers_end = &t->next;
}

void storm_record_slow(struct storm_record *rec, const char *nodes)
{
	if (!rec->transfers &&
	    (size_t) snprintf(rec->slow, sizeof(rec->slow), "%s", nodes) >=
		    sizeof(rec->slow))
		rec->slow[0] = '\0';
}

void storm_record_domain(struct storm_record *rec, const storm_domain_t *d)
{
	struct storm_stats s, *sum = &rec->stats;

	if (!d)
		return;
	storm_domain_stats((storm_domain_t *) d, &s);
	rec->any_domain = true;
	sum->tx_datagrams += s.tx_datagrams;
	sum->tx_bytes += s.tx_bytes;
	sum->rx_datagrams += s.rx_datagrams;
	sum->rx_bytes += s.rx_bytes;
	sum->tx_data += s.tx_data;
	sum->tx_repair += s.tx_repair;
	sum->nacks += s.nacks;
	sum->repaired += s.repaired;
	sum->bad_seal += s.bad_seal;
	sum->bad_wire += s.bad_wire;
	sum->bad_session += s.bad_session;
	sum->replayed += s.replayed;
	sum->fenced += s.fenced;
	sum->dropped_by_test += s.dropped_by_test;
	sum->epoch = s.epoch;
	sum->multicast = s.multicast;
}

static double timeline_ms(uint64_t ns)
{
	return ns / 1e6;
}

char *storm_record_line(const struct storm_record *rec)
{
	char *line = NULL;
	int i;

	for (i = 0; i < LAUNCH_PHASES; i++) {
		const struct storm_span *s = &rec->phase[i];
		char name[16], *c;

		if (!s->start)
			continue;
		snprintf(name, sizeof(name), "%s", phase_name[i]);
		if ((c = strchr(name, '_')))
			*c = ' ';
		xstrfmtcat(line, "%s%s %.1f", line ? ", " : "", name,
			   timeline_ms(s->end - s->start));
	}
	if (line)
		xstrcat(line, " ms");
	return line;
}

static json_object *timeline_json_ms(double v)
{
	char s[32];

	snprintf(s, sizeof(s), "%.3f", v);
	return json_object_new_double_s(v, s);
}

static json_object *timeline_json_phases(const struct storm_span *phase,
					 uint64_t t0, int first, int last)
{
	json_object *o = json_object_new_object(), *p;
	int i;

	for (i = first; i <= last; i++) {
		p = NULL;
		if (phase[i].start) {
			uint64_t ns = phase[i].end - phase[i].start;
			double start = ((double) phase[i].start - t0) / 1e6;

			p = json_object_new_object();
			json_object_object_add(p, "start",
					       timeline_json_ms(start));
			json_object_object_add(
				p, "ms", timeline_json_ms(timeline_ms(ns)));
		}
		json_object_object_add(o, phase_name[i], p);
	}
	return o;
}

static json_object *timeline_json_string(const char *s)
{
	return s ? json_object_new_string(s) : NULL;
}

static json_object *timeline_json_id(uint32_t id)
{
	return id == NO_VAL ? NULL : json_object_new_int64(id);
}

static json_object *timeline_json_counters(const struct storm_stats *s)
{
	json_object *o = json_object_new_object();

#define COUNTER(name) \
	json_object_object_add(o, #name, json_object_new_int64(s->name))
	COUNTER(tx_datagrams);
	COUNTER(tx_bytes);
	COUNTER(rx_datagrams);
	COUNTER(rx_bytes);
	COUNTER(tx_data);
	COUNTER(tx_repair);
	COUNTER(nacks);
	COUNTER(repaired);
	COUNTER(bad_seal);
	COUNTER(bad_wire);
	COUNTER(bad_session);
	COUNTER(replayed);
	COUNTER(fenced);
	COUNTER(dropped_by_test);
	COUNTER(epoch);
#undef COUNTER
	return o;
}

static json_object *timeline_json_record(const struct storm_record *rec)
{
	json_object *o = json_object_new_object();
	json_object *list = json_object_new_array(), *e;
	const struct storm_transfer *t;
	uint64_t t0 = 0;
	int i;

	for (i = 0; i < LAUNCH_PHASES; i++)
		if (rec->phase[i].start && (!t0 || rec->phase[i].start < t0))
			t0 = rec->phase[i].start;

	json_object_object_add(o, "command",
			       timeline_json_string(rec->command));
	json_object_object_add(o, "job", json_object_new_int64(rec->job_id));
	json_object_object_add(o, "step", timeline_json_id(rec->step_id));
	json_object_object_add(o, "step_het", timeline_json_id(rec->step_het));
	json_object_object_add(o, "nodes", json_object_new_int64(rec->nodes));
	json_object_object_add(o, "tasks", json_object_new_int64(rec->tasks));
	json_object_object_add(
		o, "launch",
		!rec->tasks ? NULL :
			      timeline_json_string(rec->launched ? "storm" :
								   "slurm"));
	json_object_object_add(o, "fallback",
			       timeline_json_string(rec->fallback));
	json_object_object_add(o, "odd", timeline_json_string(rec->odd));
	json_object_object_add(
		o, "multicast",
		!rec->any_domain ?
			NULL :
			json_object_new_boolean(rec->stats.multicast));
	json_object_object_add(o, "resent", json_object_new_int64(rec->resent));
	json_object_object_add(o, "phases",
			       timeline_json_phases(rec->phase, t0, 0,
						    LAUNCH_PHASES - 1));
	for (t = rec->transfers; t; t = t->next) {
		struct storm_span phase[LAUNCH_PHASES] = { { 0, 0 } };

		timeline_transfer_phases(&t->t, phase);
		e = timeline_json_phases(phase, t0, LAUNCH_PHASE_SEND,
					 LAUNCH_PHASE_VERIFY);
		json_object_object_add(e, "path",
				       timeline_json_string(t->path));
		json_object_object_add(e, "bytes",
				       json_object_new_int64(t->bytes));
		json_object_array_add(list, e);
	}
	json_object_object_add(o, "transfers", list);
	json_object_object_add(o, "counters",
			       timeline_json_counters(&rec->stats));
	return o;
}

void storm_record_write(const struct storm_record *rec)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static json_object *steps;
	const char *path = getenv("STORM_TIMELINE");
	json_object *o;

	if (!path || !path[0])
		return;
	slurm_mutex_lock(&lock);
	if (!steps)
		steps = json_object_new_array();
	json_object_array_add(steps, timeline_json_record(rec));
	if (json_object_array_length(steps) == 1) {
		o = json_object_get(json_object_array_get_idx(steps, 0));
	} else {
		o = json_object_new_object();
		json_object_object_add(o, "steps", json_object_get(steps));
	}
	/* the library's own words name its function, and end in a newline */
	errno = 0;
	if (json_object_to_file_ext((char *) path, o, JSON_C_TO_STRING_PRETTY))
		error("storm: cannot write STORM_TIMELINE=%s: %s", path,
		      errno ? strerror(errno) : "out of memory");
	json_object_put(o);
	slurm_mutex_unlock(&lock);
}
