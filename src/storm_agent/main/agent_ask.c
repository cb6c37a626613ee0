/*
 * agent_ask.c - see agent_ask.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent_ask.h"
#include "src/gang/gang_page.h"
#include "src/libstorm/base/clock.h"
#include "src/storm_common/local/local.h"

#define SOCKETS STORM_RUNDIR "/*/agent.sock"

/* The node of an agent's socket, in a static buffer. */
static const char *agent_ask_name(const char *path)
{
	static char node[NAME_MAX + 1];

	sscanf(path, STORM_RUNDIR "/%255[^/]", node);
	return node;
}

/* The only node that has an agent here; NULL, and the reason was printed. */
static const char *agent_ask_node(void)
{
	const char *node = NULL;
	glob_t g;

	if (glob(SOCKETS, 0, NULL, &g)) {
		fputs("storm_agent: no agent runs on this host: there is no " SOCKETS
		      "; is slurmd running?\n",
		      stderr);
		return NULL;
	}
	if (g.gl_pathc == 1) {
		node = agent_ask_name(g.gl_pathv[0]);
	} else {
		fputs("storm_agent: several nodes have an agent here; give --node NAME, one of:",
		      stderr);
		for (size_t i = 0; i < g.gl_pathc; i++)
			fprintf(stderr, " %s", agent_ask_name(g.gl_pathv[i]));
		fputc('\n', stderr);
	}
	globfree(&g);
	return node;
}

/* Send f to the agent of node, print the answer.  The exit status. */
static int agent_ask_frame(const char *node, struct local_frame *f,
			   enum local_type expected)
{
	static char text[LOCAL_FRAME_MAX];
	enum local_type type;
	int sock, rc;

	if (!node)
		node = agent_ask_node();
	if (!node)
		return 1;
	sock = local_connect(NULL, node, NULL);
	if (sock < 0) {
		fprintf(stderr,
			"storm_agent: cannot connect to the agent of node %s: %s\n",
			node, strerror(errno));
		return 1;
	}
	rc = local_send(sock, f, -1) ? -1 : local_recv(sock, f, &type);
	if (rc != 1 || type != expected) {
		fprintf(stderr,
			"storm_agent: no answer from the agent of node %s: %s\n",
			node,
			rc < 0 ? strerror(errno) :
			rc     ? "it is of another version" :
				 "it closed the connection");
		return 1;
	}
	if (expected == LOCAL_STATS_IS) {
		local_get_str(f, text, sizeof(text));
		fputs(text, stdout);
	}
	close(sock);
	return local_end(f) ? 0 : 1;
}

int agent_ask_drop(const char *node, const char *percent, const char *seed)
{
	static struct local_frame f;
	char *end;
	double d = strtod(percent, &end);
	uint64_t n = 1;

	if (*end || !(d >= 0 && d <= 100)) {
		fprintf(stderr,
			"storm_agent: --drop %s: not a percentage from 0 to 100\n",
			percent);
		return 2;
	}
	if (seed) {
		errno = 0;
		n = strtoull(seed, &end, 10);
		if (*end || errno || *seed == '-') {
			fprintf(stderr,
				"storm_agent: --drop: the seed %s is not a number\n",
				seed);
			return 2;
		}
	}
	local_begin(&f, LOCAL_DROP);
	local_put32(&f, d * 10000 + 0.5);
	local_put64(&f, n);
	return agent_ask_frame(node, &f, LOCAL_DROP_IS);
}

int agent_ask_stats(const char *node)
{
	static struct local_frame f;

	local_begin(&f, LOCAL_STATS);
	return agent_ask_frame(node, &f, LOCAL_STATS_IS);
}

/* The wall clock minus the trace's clock.  Read in this order it is never too
 * small, so no event is printed with too early a time. */
static uint64_t agent_ask_wall_ahead(void)
{
	uint64_t at = storm_now();
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t) ts.tv_sec * STORM_SEC + (uint64_t) ts.tv_nsec - at;
}

/* The format of Slurm's logs, with the offset to UTC. */
static void agent_ask_print_time(uint64_t wall)
{
	uint64_t us = wall % STORM_SEC / STORM_US;
	time_t sec = wall / STORM_SEC;
	char date[32], zone[8];
	struct tm tm;

	if (!localtime_r(&sec, &tm))
		return;
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	strftime(zone, sizeof(zone), "%z", &tm);
	printf(", \"time\": \"%s.%06" PRIu64 "%s\"", date, us, zone);
}

static void agent_ask_print_event(uint64_t i, const struct gang_event *e,
				  uint64_t ahead)
{
	const char *what = gang_what_name(e->what);

	printf("{\"n\": %" PRIu64 ", \"at\": %" PRIu64, i, e->at);
	agent_ask_print_time(e->at + ahead);
	printf(", \"what\": \"%s\"", what ? what : "unknown");
	if (e->slot != UINT32_MAX)
		printf(", \"slot\": %u, \"version\": %" PRIu64
		       ", \"strobe\": %" PRIu64,
		       e->slot, e->version, e->sequence);
	else if (e->what == GANG_MAP || e->what == GANG_JOB)
		printf(", \"version\": %" PRIu64, e->version);
	if (e->what == GANG_JOB)
		printf(", \"job\": %u", e->job);
	else if (e->job)
		printf(", \"job\": %u, \"step\": %u", e->job, e->step);
	if (e->what == GANG_CONTINUE || e->what == GANG_OPEN ||
	    e->what == GANG_START)
		printf(", \"why\": \"%s\"", gang_why_name(e->a) ?: "unknown");
	if (e->what == GANG_START)
		printf(", \"b\": %u", e->b);
	else if (e->what != GANG_CONTINUE && e->what != GANG_OPEN)
		printf(", \"a\": %u, \"b\": %u", e->a, e->b);
	puts("}");
}

int agent_ask_trace(const char *node, const char *from)
{
	const struct gang_trace *t;
	struct gang_event e;
	uint64_t i = 0, end, ahead;
	char *rest;

	if (from) {
		errno = 0;
		i = strtoull(from, &rest, 10);
		if (*rest || errno || !*from || *from == '-') {
			fprintf(stderr,
				"storm_agent: --trace %s: not the number of an event\n",
				from);
			return 2;
		}
	}
	if (!node)
		node = agent_ask_node();
	if (!node)
		return 1;
	t = gang_trace_open(NULL, node);
	if (!t) {
		fprintf(stderr,
			"storm_agent: cannot open the trace of node %s: %s\n",
			node, strerror(errno));
		return 1;
	}
	end = t->count;
	ahead = agent_ask_wall_ahead();
	if (end > GANG_TRACE_EVENTS && i < end - GANG_TRACE_EVENTS)
		i = end - GANG_TRACE_EVENTS;
	for (; i < end; i++)
		if (gang_trace_get(t, i, &e))
			agent_ask_print_event(i, &e, ahead);
	gang_trace_close(t);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
