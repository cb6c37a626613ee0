/*
 * pmi1.c - see pmi1.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "pmi1.h"
#include "pmi1_pairs.h"

#define KVS "storm"

struct pmi1_rank {
	bool waits;    /* in the barrier */
	bool spawning; /* lines up to endcmd are of a spawn */
};

struct pmi1 {
	uint32_t size, here, waiting;
	struct pmi1_rank *rank;
	struct pmi1_pairs pairs;
	uint8_t *fresh; /* pairs as bytes */
	size_t have, room;
};

/* ----------------------------------------------------------------------- life --- */

struct pmi1 *pmi1_create(uint32_t size, uint32_t here, const char *mapping)
{
	struct pmi1 *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->size = size;
	p->here = here;
	p->rank = calloc(here, sizeof(*p->rank));
	if (p->rank &&
	    (!*mapping ||
	     pmi1_pairs_add(&p->pairs, "PMI_process_mapping", mapping)))
		return p;
	pmi1_destroy(p);
	return NULL;
}

void pmi1_destroy(struct pmi1 *p)
{
	if (!p)
		return;
	pmi1_pairs_clear(&p->pairs);
	free(p->fresh);
	free(p->rank);
	free(p);
}

void pmi1_mapping(const uint32_t *rank, uint32_t nodes, char (*out)[PMI1_VALUE])
{
	size_t len = (size_t) snprintf(*out, sizeof(*out), "(vector");

	for (uint32_t k = 0, n; k < nodes && len < sizeof(*out); k += n) {
		uint32_t each = rank[k + 1] - rank[k];

		for (n = 1; k + n < nodes; n++)
			if (rank[k + n + 1] - rank[k + n] != each)
				break;
		len += (size_t) snprintf(*out + len, sizeof(*out) - len,
					 ",(%u,%u,%u)", k, n, each);
	}
	if (len < sizeof(*out))
		len += (size_t) snprintf(*out + len, sizeof(*out) - len, ")");
	if (len >= sizeof(*out))
		**out = '\0';
}

/* ---------------------------------------------------------------------- lines --- */

/* A field of a line, whose value is the last one in its line if it may have blanks.
 * False: it is not there, or is too long. */
static bool pmi1_field(const char *line, const char *name, bool blanks,
		       char *out, size_t size)
{
	size_t n = strlen(name);

	for (const char *at = line; (at = strstr(at, name)); at++) {
		size_t len;

		if ((at > line && at[-1] != ' ') || at[n] != '=')
			continue;
		at += n + 1;
		len = blanks ? strlen(at) : strcspn(at, " ");
		if (len >= size)
			return false;
		memcpy(out, at, len);
		out[len] = '\0';
		return true;
	}
	return false;
}

__attribute__((format(printf, 2, 3))) static void
pmi1_answer(struct pmi1_said *said, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said->answer, sizeof(said->answer), fmt, ap);
	va_end(ap);
}

/* No more of this rank's lines counts. */
static void pmi1_bad(struct pmi1_said *said, const char *what)
{
	said->news = PMI1_BAD;
	snprintf(said->text, sizeof(said->text), "%s", what);
}

/* --------------------------------------------------------------------- commands --- */

static void pmi1_put(struct pmi1 *p, const char *line, struct pmi1_said *said)
{
	char key[PMI1_KEY], value[PMI1_VALUE];

	if (!pmi1_field(line, "key", false, key, sizeof(key)) || !*key ||
	    !pmi1_field(line, "value", true, value, sizeof(value)))
		pmi1_answer(said, "cmd=put_result rc=-1 msg=too_long\n");
	else if (p->have + pmi1_pair_len(key, value) > PMI1_FRESH ||
		 p->pairs.bytes > PMI1_KEPT)
		pmi1_answer(said, "cmd=put_result rc=-1 msg=too_much\n");
	else if (!pmi1_pair_put(&p->fresh, &p->have, &p->room, key, value))
		pmi1_answer(said, "cmd=put_result rc=-1 msg=no_memory\n");
	else
		pmi1_answer(said, "cmd=put_result rc=0 msg=success\n");
}

static void pmi1_get(struct pmi1 *p, const char *line, struct pmi1_said *said)
{
	char key[PMI1_KEY];
	const char *value = NULL;

	if (pmi1_field(line, "key", false, key, sizeof(key)))
		value = pmi1_pairs_find(&p->pairs, key);
	if (value)
		pmi1_answer(said, "cmd=get_result rc=0 msg=success value=%s\n",
			    value);
	else
		pmi1_answer(
			said,
			"cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
}

static void pmi1_init(struct pmi1 *p, const char *line, struct pmi1_said *said)
{
	char version[16] = "";

	(void) p;
	pmi1_field(line, "pmi_version", false, version, sizeof(version));
	if (strcmp(version, "1") != 0) {
		pmi1_bad(said, "it asks for another PMI than version 1");
		pmi1_answer(said, "cmd=response_to_init rc=-1 pmi_version=1 "
				  "pmi_subversion=1\n");
		return;
	}
	said->news = PMI1_JOINED;
	pmi1_answer(said, "cmd=response_to_init rc=0 pmi_version=1 "
			  "pmi_subversion=1\n");
}

static void pmi1_abort(struct pmi1 *p, const char *line, struct pmi1_said *said)
{
	char code[16] = "1";

	(void) p;
	pmi1_field(line, "exitcode", false, code, sizeof(code));
	pmi1_field(line, "message", true, said->text, sizeof(said->text));
	said->news = PMI1_ABORT;
	said->code = (int) strtol(code, NULL, 10);
}

static void pmi1_maxes(struct pmi1 *p, const char *line, struct pmi1_said *said)
{
	(void) p;
	(void) line;
	pmi1_answer(
		said,
		"cmd=maxes rc=0 kvsname_max=64 keylen_max=%d vallen_max=%d\n",
		PMI1_KEY, PMI1_VALUE);
}

static void pmi1_appnum(struct pmi1 *p, const char *line,
			struct pmi1_said *said)
{
	(void) p;
	(void) line;
	pmi1_answer(said, "cmd=appnum rc=0 appnum=0\n");
}

static void pmi1_kvsname(struct pmi1 *p, const char *line,
			 struct pmi1_said *said)
{
	(void) p;
	(void) line;
	pmi1_answer(said, "cmd=my_kvsname rc=0 kvsname=" KVS "\n");
}

static void pmi1_universe(struct pmi1 *p, const char *line,
			  struct pmi1_said *said)
{
	(void) line;
	pmi1_answer(said, "cmd=universe_size rc=0 size=%u\n", p->size);
}

static void pmi1_finalize(struct pmi1 *p, const char *line,
			  struct pmi1_said *said)
{
	(void) p;
	(void) line;
	said->news = PMI1_LEFT;
	pmi1_answer(said, "cmd=finalize_ack rc=0\n");
}

/* What the server cannot do: names for other programs. */
static void pmi1_refuse(const char *cmd, struct pmi1_said *said)
{
	static const char *const pairs[][2] = {
		{ "publish_name", "publish_result" },
		{ "unpublish_name", "unpublish_result" },
		{ "lookup_name", "lookup_result" },
	};
	const char *name = cmd;

	for (size_t k = 0; k < sizeof(pairs) / sizeof(*pairs); k++)
		if (!strcmp(cmd, pairs[k][0]))
			name = pairs[k][1];
	pmi1_answer(said, "cmd=%s rc=-1 msg=storm_run_does_not_have_it\n",
		    name);
}

static const struct {
	const char *cmd;
	void (*take)(struct pmi1 *p, const char *line, struct pmi1_said *said);
} pmi1_commands[] = {
	{ "init", pmi1_init },
	{ "get_maxes", pmi1_maxes },
	{ "get_appnum", pmi1_appnum },
	{ "get_my_kvsname", pmi1_kvsname },
	{ "get_universe_size", pmi1_universe },
	{ "put", pmi1_put },
	{ "get", pmi1_get },
	{ "abort", pmi1_abort },
	{ "finalize", pmi1_finalize },
};

static void pmi1_command(struct pmi1 *p, struct pmi1_rank *rank,
			 const char *line, struct pmi1_said *said)
{
	char cmd[32];

	if (!pmi1_field(line, "cmd", false, cmd, sizeof(cmd))) {
		pmi1_bad(said, "a line without a command");
		return;
	}
	if (!strcmp(cmd, "barrier_in")) {
		p->waiting += !rank->waits;
		rank->waits = true;
		said->news = PMI1_BARRIER;
		return;
	}
	for (size_t k = 0; k < sizeof(pmi1_commands) / sizeof(*pmi1_commands);
	     k++)
		if (!strcmp(cmd, pmi1_commands[k].cmd)) {
			pmi1_commands[k].take(p, line, said);
			return;
		}
	pmi1_refuse(cmd, said);
}

void pmi1_take(struct pmi1 *p, uint32_t k, char *line, size_t len,
	       struct pmi1_said *said)
{
	struct pmi1_rank *rank = &p->rank[k];

	said->news = PMI1_NOTHING;
	*said->text = *said->answer = '\0';
	if (memchr(line, '\0', len)) {
		pmi1_bad(said, "a zero in a line");
		return;
	}
	line[len] = '\0';
	if (rank->spawning && strcmp(line, "endcmd") != 0)
		return;
	if (rank->spawning) {
		rank->spawning = false;
		said->news = PMI1_SPAWN;
		pmi1_answer(said, "cmd=spawn_result rc=-1 "
				  "msg=storm_run_does_not_have_it\n");
		return;
	}
	if (!strcmp(line, "mcmd=spawn")) {
		rank->spawning = true;
		return;
	}
	pmi1_command(p, rank, line, said);
}

/* --------------------------------------------------------------------- barriers --- */

bool pmi1_all_wait(const struct pmi1 *p)
{
	return p->waiting == p->here;
}

bool pmi1_any_waits(const struct pmi1 *p)
{
	return p->waiting > 0;
}

bool pmi1_waits(const struct pmi1 *p, uint32_t k)
{
	return p->rank[k].waits;
}

const uint8_t *pmi1_fresh(const struct pmi1 *p, size_t *len)
{
	*len = p->have;
	return p->fresh;
}

bool pmi1_release(struct pmi1 *p, const uint8_t *pairs, size_t len)
{
	if (!pmi1_pairs_add_all(&p->pairs, pairs, len))
		return false;
	for (uint32_t k = 0; k < p->here; k++)
		p->rank[k].waits = false;
	p->waiting = 0;
	p->have = 0;
	return true;
}
