/*
 * each_halt.h - when storm each starts no more tasks, when it kills those that run, and
 * with which exit status it ends: --halt.  Nothing here does input or output.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_HALT_H
#define STORM_EACH_HALT_H

#include <stdbool.h>
#include <stdint.h>

/* What to do now; each is more than the one before. */
enum each_verdict {
	EACH_GO_ON,
	EACH_SOON, /* start no more; those that run may end */
	EACH_NOW,  /* kill those that run */
};

enum each_halt_why { EACH_NEVER, EACH_FAIL, EACH_SUCCESS, EACH_DONE };

struct each_halt_rule {
	enum each_halt_why why;
	enum each_verdict then;
	bool percent;
	uint32_t number;
};

/* --halt's value.  False: it is none. */
bool each_halt_parse(const char *text, struct each_halt_rule *out);

struct each_halt {
	struct each_halt_rule rule;
	uint64_t total; /* of all tasks; 0: not known */
	uint64_t failed, succeeded;
	int last_status; /* of the last one that failed; 128 and more: a signal */
	enum each_verdict verdict;
};

/* A rule with a percentage needs the total: each_sources_count(). */
void each_halt_init(struct each_halt *h, const struct each_halt_rule *rule,
		    uint64_t total);

/* A task has ended for good, also one that was killed or given up.  What holds from now
 * on. */
enum each_verdict each_halt_ended(struct each_halt *h, int status, int signal);

/* The exit status of storm each, if nothing else is wrong. */
int each_halt_exit(const struct each_halt *h);

#endif
