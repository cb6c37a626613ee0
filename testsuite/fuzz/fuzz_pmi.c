/*
 * fuzz_pmi.c - lines of PMI-1 that ranks send, pairs of other nodes, and what launchers and
 * the head tell each other of fences.
 *
 *   u8 which: lines, each with a u8 that says whose it is; pairs; a pmi_msg; a pmi_fenced
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_launcher/pmi1.h"
#include "src/storm_launcher/pmi1_pairs.h"
#include "src/storm_launcher/pmi_wire.h"

#define HERE 3

/* ----------------------------------------------------------------------- lines --- */

/* Whatever it says, the answer is one line, or none. */
static void must_be_answer(const struct pmi1_said *said)
{
	size_t len = strnlen(said->answer, sizeof(said->answer));

	must(len < sizeof(said->answer));
	must(!len || (said->answer[len - 1] == '\n' &&
		      strchr(said->answer, '\n') == said->answer + len - 1));
	must(memchr(said->text, '\0', sizeof(said->text)));
}

/* All have come: what they put is there. */
static void release(struct pmi1 *p)
{
	size_t len, left;
	const uint8_t *fresh = pmi1_fresh(p, &len);

	must(len <= PMI1_FRESH);
	must(pmi1_release(p, fresh, len));
	pmi1_fresh(p, &left);
	must(!left && !pmi1_any_waits(p));
}

static void lines_read(const uint8_t *buf, size_t len)
{
	struct pmi1 *p = pmi1_create(HERE, HERE, "(vector,(0,1,3))");
	struct storm_in i = { buf, buf + len, false };

	must(p);
	while (i.p < i.end) {
		uint32_t k = storm_get8(&i) % HERE;
		const uint8_t *end = memchr(i.p, '\n', (size_t) (i.end - i.p));
		size_t n = (size_t) ((end ? end : i.end) - i.p);
		size_t room = storm_min(n, PMI1_LINE - 1);
		char *line = malloc(room + 1); /* its end is written */
		struct pmi1_said said;

		must(line);
		memcpy(line, i.p, room);
		pmi1_take(p, k, line, room, &said);
		must_be_answer(&said);
		if (said.news == PMI1_BARRIER)
			must(pmi1_waits(p, k));
		if (pmi1_all_wait(p))
			release(p);
		free(line);
		i.p += n + (end != NULL);
	}
	pmi1_destroy(p);
}

static void pairs_read(const uint8_t *buf, size_t len)
{
	struct pmi1_pairs p = { 0 };
	const char *key = (const char *) buf, *value;

	if (pmi1_pairs_add_all(&p, buf, len) && len) {
		value = pmi1_pairs_find(&p, key);
		must(value && strlen(value) < PMI1_VALUE &&
		     strlen(key) < PMI1_KEY);
		must(p.bytes <= len && p.slots >= 2 * p.count);
	}
	pmi1_pairs_clear(&p);
}

/* ----------------------------------------------------------------------- messages --- */

static uint8_t *msg_read(const uint8_t *buf, size_t len, size_t *out)
{
	struct storm_in i = { buf, buf + len, false };
	struct pmi_msg m;
	struct storm_out o;
	uint8_t *again;

	if (!pmi_msg_get(&i, &m))
		return NULL;
	must_be_set(&m.ranks, UINT32_MAX - 1);
	must(m.len <= len);
	*out = pmi_msg_len(&m);
	again = malloc(*out);
	must(again);
	o = (struct storm_out) { again, again + *out, false };
	pmi_msg_put(&o, &m);
	must(!o.bad && o.p == o.end);
	pmi_msg_free(&m);
	return again;
}

static uint8_t *fenced_read(const uint8_t *buf, size_t len, size_t *out)
{
	struct storm_in i = { buf, buf + len, false };
	struct pmi_fenced f;
	struct storm_out o;
	uint8_t *again;

	if (!pmi_fenced_get(&i, &f))
		return NULL;
	must_be_set(&f.ranks, UINT32_MAX - 1);
	must(f.all <= PMI_FENCE_MAX && (uint64_t) f.at + f.len <= f.all);
	*out = pmi_fenced_len(&f);
	again = malloc(*out);
	must(again);
	o = (struct storm_out) { again, again + *out, false };
	pmi_fenced_put(&o, &f);
	must(!o.bad && o.p == o.end);
	pmi_fenced_free(&f);
	return again;
}

static void message_read(uint8_t *(*read)(const uint8_t *, size_t, size_t *),
			 const uint8_t *buf, size_t len)
{
	size_t n, m;
	uint8_t *first = read(buf, len, &n), *again;

	if (!first)
		return;
	/* there are several ways to write a set */
	must(n <= len);
	again = read(first, n, &m);
	must(again && m == n && !memcmp(first, again, n));
	free(first);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *buf;

	if (!size)
		return 0;
	buf = exact(data + 1, size - 1);
	if (data[0] % 4 == 0)
		lines_read(buf, size - 1);
	else if (data[0] % 4 == 1)
		pairs_read(buf, size - 1);
	else
		message_read(data[0] % 4 == 2 ? msg_read : fenced_read, buf,
			     size - 1);
	free(buf);
	return 0;
}
