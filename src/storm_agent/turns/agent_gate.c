/*
 * agent_gate.c - tells the thread that takes strobes whose count, and the
 * kernel which datagrams these are (agent_strobe.h).  All of it is the main
 * loop's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <string.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "agent_gang.h"
#include "agent_strobe.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/storm_agent/agent_session.h"

#define DISTRUST_TIME (10 * STORM_SEC)

static void agent_gate_steer(struct agent_strobe *s, bool on)
{
	if (s->fd < 0 || (!on && !s->steered))
		return;
	s->steered = on;
	s->ops->steer(s->a->net.net, on ? &s->match : NULL);
}

/* Strobes come from there, as the seal shows. */
static void agent_gate_learn(struct agent_strobe *s, const struct storm_rx *rx)
{
	struct storm_strobe_match *m = &s->match;
	bool known = m->len == rx->len;

	if (s->fd < 0 || !rx->from.port || storm_now() < s->trust_at)
		return;
	m->len = rx->len;
	for (uint32_t i = 0; i < m->sources; i++)
		if (!memcmp(&m->source[i], &rx->from, sizeof(rx->from))) {
			if (!known || !s->steered)
				agent_gate_steer(s, s->taker.seal);
			return;
		}
	if (m->sources == STORM_STROBE_SOURCES) /* the oldest one */
		memmove(&m->source[0], &m->source[1],
			--m->sources * sizeof(m->source[0]));
	m->source[m->sources++] = rx->from;
	agent_gate_steer(s, s->taker.seal);
}

void agent_gang_strobe(struct agent *a, struct agent_session *session,
		       uint64_t number, const struct storm_rx *rx,
		       const void *buf, size_t len)
{
	struct agent_gang *g = a->gang;
	bool is_new;

	if (!g || session != g->session)
		return;
	agent_gang_lock(g);
	is_new = storm_strobes_number(&g->strobe->taker, number);
	if (is_new && !agent_is_back(a))
		agent_gang_obey(g, number, buf, len, storm_now());
	agent_gang_unlock(g);
	if (!is_new)
		return;
	agent_gang_signal(g->strobe->wake); /* the silence ends later */
	agent_gate_learn(g->strobe, rx);
}

/* Tell the thread whose strobes count. */
static void agent_gate_set(struct agent_gang *g)
{
	struct agent_strobe *s = g->strobe;
	struct storm_strobe_match *m = &s->match;
	struct storm_gate gate;
	bool on = g->session && storm_nm_gate(g->a->nm, g->session->id, &gate);

	if (on ? storm_strobes_same(&s->taker, &gate) : !s->taker.seal)
		return;
	/* Another owner sends from elsewhere. */
	if (!on || gate.session != m->session)
		m->sources = 0;
	agent_gang_lock(g);
	if (!on)
		storm_strobes_close(&s->taker);
	else if (storm_strobes_open(&s->taker, &gate))
		on = false;
	agent_gang_unlock(g);
	if (on) {
		m->session = gate.session;
		m->group = gate.group;
		memcpy(m->incarnation, gate.incarnation,
		       sizeof(m->incarnation));
	}
	agent_gate_steer(s, on && m->sources);
}

void agent_gate_close(struct agent_gang *g)
{
	storm_strobes_close(&g->strobe->taker);
	g->strobe->match.sources = 0;
	agent_gate_steer(g->strobe, false);
}

/* For a while no strobe is the thread's. */
static void agent_gate_distrust(struct agent_strobe *s)
{
	info("gang: somebody sends strobes that are not from the cluster domain, from an address that strobes come from: they may be late for the next %llu s",
	     DISTRUST_TIME / STORM_SEC);
	s->match.sources = 0;
	s->trust_at = storm_now() + DISTRUST_TIME;
	agent_gate_steer(s, false);
}

void agent_gang_exchange(struct agent *a)
{
	struct agent_gang *g = a->gang;
	struct agent_strobe *s;
	uint64_t taken, number, at;
	bool muted;

	if (!g)
		return;
	s = g->strobe;
	agent_gang_lock(g);
	taken = s->taken;
	number = s->number;
	at = s->at;
	muted = s->muted;
	s->taken = 0;
	s->muted = false;
	agent_gang_unlock(g);
	if (taken && g->session)
		storm_nm_strobed(a->nm, g->session->id, taken, number, at);
	if (a->count.gang_missed != g->told_missed)
		agent_gang_report_missed(g);
	if (muted)
		agent_gate_distrust(s);
	agent_gate_set(g);
}

void agent_gang_returned(struct agent *a)
{
	if (a->gang)
		agent_gang_signal(a->gang->strobe->wake);
}

struct agent_count agent_gang_count(struct agent *a)
{
	struct agent_count c;

	if (!a->gang)
		return a->count;
	agent_gang_lock(a->gang);
	c = a->count;
	agent_gang_unlock(a->gang);
	return c;
}

uint64_t agent_gang_quantum(struct agent *a)
{
	uint64_t quantum;

	if (!a->gang)
		return 0;
	agent_gang_lock(a->gang);
	quantum = turns_alternates(a->gang->turns) ?
			  turns_quantum(a->gang->turns) :
			  0;
	agent_gang_unlock(a->gang);
	return quantum;
}
