/*
 * agent_state.c - see agent_state.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/macros.h"
#include "src/common/read_config.h"

#include "agent_state.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/wire/wire.h"
#include "src/storm_agent/agent.h"
#include "src/storm_agent/agent_session.h"
#include "src/storm_agent/turns/agent_gang.h"
#include "src/storm_common/agent_contract.h"
#include "src/storm_common/health_word.h"
#include "src/storm_common/no_gang.h"
#include "src/storm_common/state_keys.h"

static void agent_state_value(storm_gather_t *own, const char *key,
			      const char *value)
{
	storm_gather_value(own, key, strlen(key), value, strlen(value));
}

static void agent_state_count(storm_gather_t *own, const char *key, uint64_t n)
{
	storm_gather_count(own, key, strlen(key), n);
}

/* The cluster domain's; NULL: this node is not in it. */
static const struct agent_session *agent_state_cluster(const struct agent *a)
{
	const struct agent_session *s = a->sessions;

	while (s && !s->cluster)
		s = s->next;
	return s;
}

static void agent_state_gang(struct agent *a, storm_gather_t *own)
{
	const struct agent_session *s = agent_state_cluster(a);
	bool in = false, outside = false, silent = false;
	char text[NO_GANG_WORD];
	uint64_t quantum;
	uint32_t epoch;

	if (s && !storm_nm_epoch(a->nm, s->id, &epoch, &outside)) {
		in = !outside;
		silent = storm_nm_owner_is_silent(a->nm, s->id);
		snprintf(text, sizeof(text), "%u", epoch);
		agent_state_value(own, STATE_EPOCH, text);
	}
	if ((quantum = agent_gang_quantum(a))) {
		snprintf(text, sizeof(text), "%.3g ms",
			 (double) quantum / STORM_MS);
		agent_state_value(own, STATE_QUANTUM, text);
	}
	if (a->gang_lacks)
		no_gang_word(a->gang_lacks, &text);
	agent_state_value(own, STATE_GANG,
			  a->gang_lacks ? text :
			  outside	? STATE_GANG_EXCLUDED :
			  silent	? STATE_GANG_SILENT :
			  in		? STATE_GANG_IN :
					  STATE_GANG_OUT);
}

static void agent_state_health(const struct agent *a, storm_gather_t *own)
{
	const char *word = health_word(health_cause_of(a->health.value));

	agent_state_value(own, STATE_HEALTH, word ? word : STATE_WELL);
	if (!a->slurmd.lifelines)
		agent_state_value(own, STATE_SLURMD, STATE_GONE);
}

static void agent_state_counters(struct agent *a, storm_gather_t *own)
{
	const struct agent_count c = agent_gang_count(a);
	struct storm_nm_stats n;

	storm_nm_stats(a->nm, &n);
	agent_state_count(own, STATE_AGE,
			  (storm_now() - a->began_at) / STORM_SEC);
	agent_state_count(own, STATE_SESSIONS, n.sessions);
	agent_state_count(own, STATE_LAUNCHES, c.launches);
	agent_state_count(own, STATE_LAUNCHES_FAILED, c.launches_failed);
	agent_state_count(own, STATE_FILES, c.files);
	agent_state_count(own, STATE_FILES_FAILED, c.files_failed);
	agent_state_count(own, STATE_BYTES, c.bytes);
	agent_state_count(own, STATE_SIGNALS, c.signals);
	agent_state_count(own, STATE_REPAIRED, n.repaired);
}

static void agent_state_fallbacks(const struct agent *a, storm_gather_t *own)
{
	char key[STORM_GATHER_KEY + 1];

	agent_state_count(own, STATE_STEPS, a->count.steps_first);
	for (unsigned int i = 0; i < FALLBACK_CAUSES; i++) {
		if (!a->fallbacks.count[i])
			continue;
		snprintf(key, sizeof(key), STATE_FALLBACK "%s",
			 fallback_word(i));
		agent_state_count(own, key, a->fallbacks.count[i]);
	}
}

static void agent_state_took(const struct agent *a, storm_gather_t *own)
{
	char key[STORM_GATHER_KEY + 1];

	for (unsigned int i = 0; i < LAUNCH_TOOKS; i++) {
		if (!a->launches.took[i])
			continue;
		snprintf(key, sizeof(key), STATE_TOOK "%u", i);
		agent_state_count(own, key, a->launches.took[i]);
	}
	if (a->launches.took_us)
		agent_state_count(own, STATE_TOOK_SUM, a->launches.took_us);
}

/* May this user know what is another's? */
static bool agent_state_is_root(uint32_t uid)
{
	return !uid || uid == slurm_conf.slurm_user_id;
}

struct state_key {
	char text[STORM_GATHER_KEY + 1];
};

static struct state_key agent_state_step(uint32_t job, uint32_t step,
					 uint32_t het)
{
	struct state_key key;
	int len = snprintf(key.text, sizeof(key.text), "%u.%u", job, step);

	if (het != NO_VAL)
		snprintf(key.text + len, sizeof(key.text) - len, "+%u", het);
	return key;
}

static void agent_state_why(const struct agent *a, uint32_t uid,
			    const char *which, storm_gather_t *own)
{
	struct agent_fallback_want want = {
		.all_users = agent_state_is_root(uid),
		.uid = uid,
	};
	const struct agent_fallback *f[STATE_WHY_MOST];
	unsigned int n;

	if (!fallback_parse(which, &want.which))
		return;
	n = agent_fallback_find(&a->fallbacks, &want, f, STATE_WHY_MOST);
	for (unsigned int i = 0; i < n; i++) {
		const struct state_key key =
			agent_state_step(f[i]->job, f[i]->step, f[i]->het);
		char value[STORM_GATHER_DATA];

		snprintf(value, sizeof(value), "%" PRIu64 " %s %s",
			 (uint64_t) f[i]->at, fallback_word(f[i]->cause),
			 f[i]->text);
		agent_state_value(own, key.text, value);
	}
}

static void agent_state_launch(const struct agent_launched *l,
			       storm_gather_t *own)
{
	const struct state_key key = agent_state_step(l->job, l->step, l->het);
	uint8_t value[STORM_GATHER_DATA];
	struct storm_out o = { value, value + sizeof(value), false };

	storm_put64(&o, (uint64_t) l->at);
	storm_put32(&o, l->uid);
	storm_put(&o, l->record, l->len);
	storm_gather_value(own, key.text, strlen(key.text), value,
			   (size_t) (o.p - value));
}

/* The last ones of these, at most max. */
static void agent_state_launches(const struct agent *a, uint32_t uid,
				 struct fallback_which which, unsigned int max,
				 storm_gather_t *own)
{
	const struct agent_launched_want want = {
		.all_users = agent_state_is_root(uid),
		.uid = uid,
		.which = which,
	};
	const struct agent_launched *l[STATE_LAUNCHED_MOST];
	unsigned int n = agent_launched_find(&a->launches, &want, l,
					     MIN(max, STATE_LAUNCHED_MOST));

	for (unsigned int i = 0; i < n; i++)
		agent_state_launch(l[i], own);
}

static void agent_state_launched(const struct agent *a, uint32_t uid,
				 const char *text, storm_gather_t *own)
{
	struct fallback_which which;

	if (fallback_parse(text, &which))
		agent_state_launches(a, uid, which, STATE_WHY_MOST, own);
}

static void agent_state_last(const struct agent *a, uint32_t uid,
			     const char *text, storm_gather_t *own)
{
	const struct fallback_which any = { .any_step = true };
	unsigned int most;

	if (sscanf(text, "%4u", &most) == 1)
		agent_state_launches(a, uid, any, most, own);
}

/* What follows in the question after this word: "", or after a space.  NULL: it is
 * another question. */
static const char *agent_state_after(const char *text, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(text, word, len) || (text[len] && text[len] != ' '))
		return NULL;
	return text + len + (text[len] == ' ');
}

void agent_state(struct agent *a, const struct agent_session *s,
		 const void *query, size_t len, storm_gather_t *own)
{
	uint32_t uid = s->step.uid;
	char text[STORM_GATHER_QUERY + 1];
	const char *which;

	snprintf(text, sizeof(text), "%.*s", (int) len, (const char *) query);
	if ((which = agent_state_after(text, STATE_WHY)))
		agent_state_why(a, uid, which, own);
	if ((which = agent_state_after(text, STATE_LAUNCHED)))
		agent_state_launched(a, uid, which, own);
	if ((which = agent_state_after(text, STATE_LAUNCHED_LAST)))
		agent_state_last(a, uid, which, own);
	if (strcmp(text, STATE_QUERY))
		return;
	agent_state_value(own, STATE_BUILD, AGENT_BUILD);
	/* as scontrol show node then says nothing to them */
	if (slurm_conf.private_data & PRIVATE_DATA_NODES &&
	    !agent_state_is_root(uid))
		return;
	agent_state_gang(a, own);
	agent_state_health(a, own);
	agent_state_counters(a, own);
	agent_state_fallbacks(a, own);
	agent_state_took(a, own);
}
