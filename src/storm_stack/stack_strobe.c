/*
 * stack_strobe.c - see stack_strobe.h.  The strobe is the paper's (TC'06 section 2.4.2): it says what
 * is to be, and is repeated.  COMPARE-AND-WRITE proves that it is so on all nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "stack_gather.h"
#include "stack_settings.h"
#include "stack_strobe.h"

#define STAND_LIMIT STORM_SEC

/* Nobody else is told of a session that lasts half a second. */
static void strobe_log(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

/* Send the order until all nodes have come so far. */
static bool strobe_until(storm_domain_t *d, char order, enum stack_stage stage,
			 struct storm_outcome *out)
{
	const struct timespec pause = { .tv_nsec = STORM_MS };
	uint64_t until = storm_now() + STAND_LIMIT, next = 0;
	enum storm_compare rc = STORM_FALSE;

	while (rc == STORM_FALSE && storm_now() < until) {
		if (storm_now() >= next) {
			storm_strobe(d, &order, 1);
			next = storm_now() + STACK_EVERY;
		}
		nanosleep(&pause, NULL);
		rc = storm_compare_and_write(d, NULL, STACK_VARIABLE, STORM_GE,
					     stage, NULL, out);
	}
	return rc == STORM_TRUE;
}

static void strobe_why(const struct storm_node *nodes, const char *what,
		       const struct storm_outcome *out, char *why, size_t size)
{
	if (out->faults_kept)
		snprintf(why, size, "%s: node %s: %s", what,
			 nodes[out->faults[0].node].name,
			 storm_strerror(out->faults[0].why));
	else
		snprintf(why, size, "%s", what);
}

bool stack_strobe(const struct storm_node *nodes, uint32_t count, uint32_t job,
		  struct stack_gather *g, char *why, size_t size)
{
	struct storm_domain_conf conf = { .nodes = nodes,
					  .count = count,
					  .agent_uid = geteuid(),
					  .job_id = job,
					  .on_report = stack_gather_on_report,
					  .arg = g };
	struct storm_outcome out = { 0 };
	const char *what = "no session";
	uint16_t first, last;
	storm_domain_t *d;
	bool well;
	int err;

	storm_log_set(strobe_log);
	stack_settings(&conf.set, &first, &last);
	conf.set.port = nodes[0].addr.port;
	d = storm_domain_create(&conf, &err);
	well = d && !(err = storm_domain_open(d)) &&
	       !(err = storm_domain_wait_open(d, &out));
	if (!well && !out.faults_kept)
		what = storm_strerror(err);
	if (well) {
		what = "they did not stand within a second";
		well = strobe_until(d, STACK_STOP, STAGE_STANDS, &out);
	}
	if (well) {
		what = "they did not hear that all stand";
		well = strobe_until(d, STACK_WALK, STAGE_WALKS, &out);
	}
	if (well) {
		stack_gather_begin(g, d, count);
	} else {
		strobe_why(nodes, what, &out, why, size);
		storm_domain_destroy(d);
	}
	storm_outcome_clear(&out);
	return well;
}
