/*
 * each_halt.c - see each_halt.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "each_halt.h"

enum { MOST_FAILED = 101 }; /* the exit status has no more */

/* Numbers that stand for rules, as they did before rules had words. */
static bool halt_of_old(const char *text, struct each_halt_rule *out)
{
	static const struct {
		const char *text;
		struct each_halt_rule rule;
	} old[] = {
		{ "never", { EACH_NEVER, EACH_GO_ON, false, 0 } },
		{ "0", { EACH_NEVER, EACH_GO_ON, false, 0 } },
		{ "1", { EACH_FAIL, EACH_SOON, false, 1 } },
		{ "2", { EACH_FAIL, EACH_NOW, false, 1 } },
		{ "-1", { EACH_SUCCESS, EACH_SOON, false, 1 } },
		{ "-2", { EACH_SUCCESS, EACH_NOW, false, 1 } },
	};

	for (size_t k = 0; k < sizeof(old) / sizeof(*old); k++)
		if (!strcmp(text, old[k].text)) {
			*out = old[k].rule;
			return true;
		}
	return false;
}

/* Does the text begin with the word?  Then it goes on behind it. */
static bool halt_word(const char **text, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*text, word, len) != 0)
		return false;
	*text += len;
	return true;
}

/* N or N%, and nothing else. */
static bool halt_number(const char *text, struct each_halt_rule *out)
{
	char *end;
	unsigned long number;

	if (*text < '0' || *text > '9')
		return false;
	number = strtoul(text, &end, 10);
	out->percent = *end == '%';
	out->number = (uint32_t) number;
	return number > 0 && number < UINT32_MAX && !end[out->percent] &&
	       (!out->percent || number <= 100);
}

bool each_halt_parse(const char *text, struct each_halt_rule *out)
{
	struct each_halt_rule rule = { EACH_FAIL, EACH_SOON, false, 0 };

	if (halt_of_old(text, out))
		return true;
	if (halt_number(text, &rule) && rule.percent) {
		*out = rule;
		return true;
	}
	if (halt_word(&text, "now,"))
		rule.then = EACH_NOW;
	else if (!halt_word(&text, "soon,"))
		return false;
	if (halt_word(&text, "success="))
		rule.why = EACH_SUCCESS;
	else if (halt_word(&text, "done="))
		rule.why = EACH_DONE;
	else if (!halt_word(&text, "fail="))
		return false;
	if (!halt_number(text, &rule))
		return false;
	*out = rule;
	return true;
}

void each_halt_init(struct each_halt *h, const struct each_halt_rule *rule,
		    uint64_t total)
{
	*h = (struct each_halt) { .rule = *rule, .total = total };
}

/* How many of those that the rule counts there are. */
static uint64_t halt_count(const struct each_halt *h)
{
	switch (h->rule.why) {
	case EACH_FAIL:
		return h->failed;
	case EACH_SUCCESS:
		return h->succeeded;
	case EACH_DONE:
		return h->failed + h->succeeded;
	case EACH_NEVER:
		break;
	}
	return 0;
}

static bool halt_holds(const struct each_halt *h)
{
	if (h->rule.why == EACH_NEVER)
		return false;
	if (!h->rule.percent)
		return halt_count(h) >= h->rule.number;
	return h->total && halt_count(h) * 100 >= h->total * h->rule.number;
}

enum each_verdict each_halt_ended(struct each_halt *h, int status, int signal)
{
	if (status || signal) {
		h->failed++;
		h->last_status = signal ? 128 + signal : status;
		if (h->last_status < 0 || h->last_status > 255)
			h->last_status = 255;
	} else {
		h->succeeded++;
	}
	if (halt_holds(h))
		h->verdict = h->rule.then;
	return h->verdict;
}

int each_halt_exit(const struct each_halt *h)
{
	bool halted = h->verdict != EACH_GO_ON;

	if (halted && h->rule.why == EACH_SUCCESS)
		return 0;
	/* The share of those that failed, upwards: one of a thousand is 1. */
	if (h->rule.why != EACH_NEVER && h->rule.percent && h->total)
		return (int) ((h->failed * 100 + h->total - 1) / h->total);
	if (halted && h->rule.why == EACH_FAIL && h->rule.number == 1)
		return h->last_status;
	return h->failed < MOST_FAILED ? (int) h->failed : MOST_FAILED;
}
