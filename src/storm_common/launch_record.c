/*
 * launch_record.c - see launch_record.h.
 *
 *	version: 1 | nodes: 4 | tasks: 4 |
 *	start: 4 | took: 4 | ... for each part
 *	n: 1 | part: 1 | wait: 1 | len: 1 | name: len | ... n times
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "launch_record.h"
#include "src/libstorm/storm.h"
#include "src/libstorm/wire/wire.h"

#define FORMAT 1
#define TASKS_MAX (1u << 24)

const char *launch_part_word(enum launch_part part)
{
	static const char *const word[LAUNCH_PARTS] = {
		[LAUNCH_STEP_CREATE] = "step_create",
		[LAUNCH_OPEN] = "open",
		[LAUNCH_SEND] = "send",
		[LAUNCH_REPAIR] = "repair",
		[LAUNCH_WRITE] = "write",
		[LAUNCH_VERIFY] = "verify",
		[LAUNCH_EXEC] = "exec",
		[LAUNCH_SLOT] = "slot",
	};

	return word[part];
}

const char *launch_wait_word(enum launch_wait wait)
{
	static const char *const word[LAUNCH_WAITS] = {
		[LAUNCH_WAIT_BYTES] = "the transfer",
		[LAUNCH_WAIT_SLURMD] = "its slurmd",
		[LAUNCH_WAIT_STEPD] = "its slurmstepd",
		[LAUNCH_WAIT_TURN] = "its job's turn",
		[LAUNCH_WAIT_RESENT] = "Slurm's message",
	};

	return word[wait];
}

size_t launch_record_pack(const struct launch_record *r,
			  uint8_t buf[static LAUNCH_RECORD])
{
	struct storm_out o = { buf, buf + LAUNCH_RECORD, false };
	struct launch_record same;
	size_t len;

	storm_put8(&o, FORMAT);
	storm_put32(&o, r->nodes);
	storm_put32(&o, r->tasks);
	for (int i = 0; i < LAUNCH_PARTS; i++) {
		storm_put32(&o, r->part[i].start);
		storm_put32(&o, r->part[i].took);
	}
	storm_put8(&o, (uint8_t) r->slows);
	for (unsigned int i = 0; i < r->slows && i < LAUNCH_SLOW; i++) {
		const struct launch_slow *s = &r->slow[i];
		size_t name = strnlen(s->name, sizeof(s->name));

		storm_put8(&o, (uint8_t) s->part);
		storm_put8(&o, (uint8_t) s->wait);
		storm_put8(&o, (uint8_t) name);
		storm_put(&o, s->name, name);
	}
	len = (size_t) (o.p - buf);
	return !o.bad && launch_record_unpack(&same, buf, len) ? len : 0;
}

/* Did it happen, within what is believed? */
static bool record_part(struct storm_in *i, struct launch_record *r, int part)
{
	uint32_t start = storm_get32(i), took = storm_get32(i);

	r->part[part].start = start;
	r->part[part].took = took;
	if (took == LAUNCH_NONE)
		return !start;
	return start <= LAUNCH_LONGEST && took <= LAUNCH_LONGEST - start;
}

static bool record_slow(struct storm_in *i, struct launch_record *r)
{
	struct launch_slow *s = &r->slow[r->slows];
	uint8_t part = storm_get8(i), wait = storm_get8(i), len = storm_get8(i);
	const uint8_t *name;

	if (i->bad || part >= LAUNCH_PARTS || wait >= LAUNCH_WAITS || !len ||
	    len >= LAUNCH_NAME || r->part[part].took == LAUNCH_NONE ||
	    launch_record_slow(r, part) || !(name = storm_get(i, len)))
		return false;
	*s = (struct launch_slow) { .part = part, .wait = wait };
	for (uint8_t k = 0; k < len; k++) {
		/* as names of hosts, folded */
		if (name[k] <= ' ' || name[k] > '~')
			return false;
		s->name[k] = (char) name[k];
	}
	r->slows++;
	return true;
}

bool launch_record_unpack(struct launch_record *out, const uint8_t *buf,
			  size_t len)
{
	struct storm_in i = { buf, buf + len, false };
	uint8_t n;

	*out = (struct launch_record) { 0 };
	if (len > LAUNCH_RECORD || storm_get8(&i) != FORMAT)
		return false;
	out->nodes = storm_get32(&i);
	out->tasks = storm_get32(&i);
	if (!out->nodes || out->nodes > STORM_NODES_MAX || !out->tasks ||
	    out->tasks > TASKS_MAX)
		return false;
	for (int part = 0; part < LAUNCH_PARTS; part++)
		if (!record_part(&i, out, part))
			return false;
	n = storm_get8(&i);
	if (i.bad || n > LAUNCH_SLOW ||
	    out->part[LAUNCH_EXEC].took == LAUNCH_NONE)
		return false;
	while (n--)
		if (!record_slow(&i, out))
			return false;
	return storm_in_done(&i);
}

uint32_t launch_record_took(const struct launch_record *r)
{
	uint32_t end = 0;

	for (int i = 0; i < LAUNCH_PARTS; i++)
		if (r->part[i].took != LAUNCH_NONE &&
		    r->part[i].start + r->part[i].took > end)
			end = r->part[i].start + r->part[i].took;
	return end;
}

const struct launch_slow *launch_record_slow(const struct launch_record *r,
					     enum launch_part part)
{
	for (unsigned int i = 0; i < r->slows; i++)
		if (r->slow[i].part == part)
			return &r->slow[i];
	return NULL;
}
