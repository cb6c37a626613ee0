/*
 * schedule.c - see schedule.h: how a schedule is made.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/wire/open.h"

/* Most domains are small, so that there can be many of them. */
static uint32_t how_many_nodes(uint64_t *c)
{
	uint64_t kind = storm_chance_below(c, 100);

	if (kind < 55)
		return (uint32_t) (2 + storm_chance_below(c, 8));
	if (kind < 85)
		return (uint32_t) (2 + storm_chance_below(c, 40));
	if (kind < 97)
		return (uint32_t) (2 + storm_chance_below(c, 100));
	return (uint32_t) (2 + storm_chance_below(c, 255));
}

static void make_network(struct schedule *s, uint64_t *c)
{
	struct storm_sim_conf *conf = &s->conf;

	conf->seed = s->seed;
	conf->nodes = s->small ? (uint32_t) (2 + storm_chance_below(c, 3)) :
				 how_many_nodes(c);
	storm_settings_default(&conf->set);
	conf->set.radix = (uint32_t) (2 + storm_chance_below(c, 8));
	conf->set.window = 64u << (10 + storm_chance_below(c, 3));
	conf->set.dead_timeout = (2 + 2 * storm_chance_below(c, 2)) * STORM_SEC;
	conf->set.heartbeat = STORM_SEC / 2;
	conf->set.multicast = storm_chance_percent(c, 75);
	conf->set.group.ip[15] = (uint8_t) s->seed;
	conf->set.socket_buffer = 4096u << storm_chance_below(c, 10);
	conf->latency = 20 * STORM_US + storm_chance_below(c, 300 * STORM_US);
	conf->jitter = storm_chance_below(c, 500 * STORM_US);
	conf->bandwidth = 125e6;
	conf->disk_jitter = storm_chance_below(c, STORM_MS);
	conf->multicast = storm_chance_percent(c, 85);
	conf->mtu = 1472;
	conf->room = STORM_WINDOW_MIN << s->seed % 3;
	if (storm_chance_percent(c, 40))
		conf->cluster = s->seed + 1;
}

/* Some nodes; mostly all. */
static void choose_nodes(struct schedule *s, uint64_t *c,
			 struct storm_idset *to)
{
	uint32_t n = s->conf.nodes, first;

	if (storm_chance_percent(c, 40))
		return;
	first = (uint32_t) storm_chance_below(c, n);
	storm_idset_add(to, first,
			first + (uint32_t) storm_chance_below(c, n - first));
	/* a second range: sets travel in each STATUS */
	first = (uint32_t) storm_chance_below(c, n);
	if (storm_chance_percent(c, 50))
		storm_idset_add(to, first, first);
}

static uint64_t how_big(uint64_t *c, bool file)
{
	if (storm_chance_percent(c, 10))
		return storm_chance_below(c, 3);
	if (storm_chance_percent(c, 60))
		return storm_chance_below(c, 3000);
	return storm_chance_below(c, file ? 300000 : 40000);
}

static void make_step(struct schedule *s, uint64_t *c, struct step *t)
{
	static const enum step_kind some[] = {
		STEP_SEGMENT, STEP_COMPARE, STEP_READ, STEP_COMPARE, STEP_READ,
	};

	t->kind = s->small ? some[storm_chance_below(c, 5)] :
			     (enum step_kind) storm_chance_below(c, STEP_KINDS);
	/* reports are a step's */
	if (s->conf.cluster && t->kind == STEP_REPORT)
		t->kind = STEP_READ;
	t->after =
		storm_chance_below(c, 3 * STORM_MS << storm_chance_below(c, 8));
	t->wait = storm_chance_percent(c, 40);
	switch (t->kind) {
	case STEP_FILE:
	case STEP_MESSAGE:
		t->size = how_big(c, t->kind == STEP_FILE);
		break;
	case STEP_SEGMENT:
		t->target = (uint32_t) storm_chance_below(
			c, s->small ? 1 : RECORDER_SEGMENTS);
		t->size = recorder_segment_len(t->target);
		break;
	case STEP_COMPARE:
	case STEP_COMPARE_OWN:
	case STEP_OWN_TO_GLOBAL:
		t->var = (uint32_t) storm_chance_below(
			c, s->small ? 2 : SCHEDULE_GLOBALS);
		t->target = (uint32_t) storm_chance_below(
			c, s->small ? 2 : SCHEDULE_GLOBALS);
		t->rel = (enum storm_relation) storm_chance_below(c, 4);
		t->operand = storm_chance_below(c, 10);
		t->writes = t->kind == STEP_OWN_TO_GLOBAL ||
			    (t->kind == STEP_COMPARE &&
			     storm_chance_percent(c, 75));
		break;
	default:
		break;
	}
	if (t->kind < STEP_RAISE)
		choose_nodes(s, c, &t->to);
	t->forget = t->kind <= STEP_SEGMENT && !s->small &&
		    storm_chance_percent(c, 8);
	t->forget_after = storm_chance_below(c, 15 * STORM_MS);
}

void schedule_make(struct schedule *s, uint64_t seed)
{
	uint64_t *c = &s->chance;
	uint64_t during = 0;

	memset(s, 0, sizeof(*s));
	s->seed = seed;
	*c = seed * 7919 + 1;
	s->small = storm_chance_percent(c, 25);
	make_network(s, c);
	s->rides = storm_chance_percent(c, 30);
	s->steps = s->small ? 3 + (uint32_t) storm_chance_below(c, 6) :
			      3 + (uint32_t) storm_chance_below(c, 14);
	s->step = calloc(s->steps, sizeof(*s->step));
	if (!s->step)
		abort();
	for (uint32_t i = 0; i < s->steps; i++) {
		make_step(s, c, &s->step[i]);
		during += s->step[i].after;
	}
	if (s->rides && s->step[0].kind <= STEP_MESSAGE)
		s->step[0].forget = false;
	s->early = storm_chance_percent(c, 10);
	/* some are left in peace: there messages are counted */
	if (storm_chance_percent(c, 50))
		s->conf.jitter = 0;
	if (!storm_chance_percent(c, 12))
		faults_make(&s->faults, c, &s->conf,
			    during + 30 * STORM_MS +
				    storm_chance_below(c, 500 * STORM_MS));
}

void schedule_free(struct schedule *s)
{
	for (uint32_t i = 0; i < s->steps; i++)
		storm_idset_clear(&s->step[i].to);
	free(s->step);
	faults_free(&s->faults);
}

void schedule_print(const struct schedule *s)
{
	static const char *const name[] = {
		"file",		 "message", "segment", "compare", "compare own",
		"own to global", "raise",   "report",  "read",
	};
	const struct storm_sim_conf *c = &s->conf;

	fprintf(stderr,
		"seed %llu: %s, %u nodes, radix %u, multicast %d/%d, loss %u, twice %u, late %u%s%s%s\n",
		(unsigned long long) s->seed, c->cluster ? "cluster" : "step",
		c->nodes, c->set.radix, c->set.multicast, c->multicast,
		c->loss_ppm, c->dup_ppm, c->late_ppm,
		s->early ? ", faults before OPEN" : "",
		s->rides ? ", first with OPEN" : "", s->small ? ", small" : "");
	for (uint32_t i = 0; i < s->steps; i++) {
		const struct step *t = &s->step[i];

		fprintf(stderr,
			"step %u: %s to %u ranges, size %llu, target %u, var %u, rel %d, operand %llu%s%s%s, after %.6f\n",
			i + 1, name[t->kind], t->to.count,
			(unsigned long long) t->size, t->target, t->var, t->rel,
			(unsigned long long) t->operand,
			t->writes ? ", writes" : "", t->wait ? ", waits" : "",
			t->forget ? ", forgotten" : "",
			(double) t->after / 1e9);
	}
	faults_print(&s->faults);
}
