/*
 * fuzz_turns.c - whose turn it is on a node (turns.h): maps, strobes, steps, what is
 * seen of them, freezers that fail, guards, and time, in any order.
 *
 *   commands to the end: u8, then what it needs; see commands[]
 *
 * After each, what the engine says and does is judged by played_node.c.  In the end
 * freezers work again, the domain closes, and everything runs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "testsuite/sim/played_node.h"

#define MAPS 24
#define JOBS 6
#define COMMANDS 400
#define NODES 4
#define SELF 1

static struct played_node p;
static struct played_map maps[MAPS];
static uint32_t nmaps;
static uint64_t number;
static bool slurmd;

void played_wrong(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

static struct played_step *one(struct storm_in *in)
{
	struct played_step *s = &p.step[storm_get8(in) % PLAYED_STEPS];

	return s->s ? s : NULL;
}

/* ------------------------------------------------------------------- steps --- */

static void add(struct storm_in *in)
{
	uint8_t job = storm_get8(in), flags = storm_get8(in);
	struct turns_step_info is = {
		.job = 1 + job % (JOBS + 1),
		.script = flags & 1,
		.can_fill = flags & 2,
		.measured = flags & 4,
		.yields = job & 128,
		.starting = flags & 8,
		.has_srun = flags & 16,
	};
	struct played_step *s = played_add(&p, is);

	if (!s)
		return;
	s->past_exec = flags & 32;
	if (flags & 64)
		played_door(&p, s);
	if (flags & 128)
		played_threads(&p, s, true, false);
}

static void gone(struct storm_in *in)
{
	struct played_step *s = one(in);

	if (s)
		played_gone(&p, s);
}

static void door(struct storm_in *in)
{
	struct played_step *s = one(in);

	if (s && s->door == PLAYED_WAITS)
		played_met(&p, s);
	else if (s)
		played_door_gone(&p, s);
}

/* What the kernel does with it. */
static void nature(struct storm_in *in)
{
	struct played_step *s = one(in);
	uint8_t flags = storm_get8(in), more = storm_get8(in);

	if (!s)
		return;
	s->broken = flags & 1;
	s->exact = flags & 2;
	s->past_exec = flags & 4;
	s->refuses = flags & 32;
	s->asleep = more % 101;
	if (flags & 8)
		s->stop_cost = more * 20 * STORM_US;
	if (flags & 16)
		s->used += more * STORM_MS;
}

static void seen(struct storm_in *in)
{
	struct played_step *s = one(in);
	uint8_t what = storm_get8(in);

	if (!s)
		return;
	switch (what % 6) {
	case 0:
		played_signal(&p, s);
		break;
	case 1:
		played_tracer(&p, s, what & 8, what & 16, what & 32);
		break;
	case 2:
		played_srun(&p, s, what & 8);
		break;
	case 3:
		played_doubt(&p, s, what & 8);
		break;
	case 4:
		played_threads(&p, s, what & 8, what & 16);
		break;
	case 5:
		played_waits(&p, s, what >> 4, 20 * STORM_MS);
		break;
	}
}

/* ---------------------------------------------------------- maps and strobes --- */

static void map(struct storm_in *in)
{
	static const uint64_t quantum[] = { 2 * STORM_MS, 10 * STORM_MS,
					    200 * STORM_MS, 70 * STORM_SEC };
	uint8_t how = storm_get8(in), rows = 1 + how % 4, bits;
	struct played_map *m = &maps[nmaps];

	if (nmaps == MAPS)
		return;
	nmaps++;
	m->map = (struct gang_map) { .version = nmaps / 2, .nodes = NODES };
	m->map.zones = calloc(2, sizeof(*m->map.zones));
	m->map.jobs = calloc(JOBS, sizeof(*m->map.jobs));
	must(m->map.zones && m->map.jobs);
	m->map.nzones = 2;
	for (uint32_t z = 0; z < 2; z++) {
		m->map.zones[z].rows = rows;
		m->map.zones[z].quantum = quantum[how / 4 % 4];
		m->map.zones[z].policy = how / 16 % (GANG_POLICIES + 1);
		must(!storm_idset_add(&m->map.zones[z].nodes, 2 * z,
				      2 * z + 1));
	}
	for (uint32_t i = 0; i < JOBS; i++) {
		struct gang_job *j = &m->map.jobs[m->map.njobs];

		bits = storm_get8(in);
		if (bits & 64)
			continue;
		j->job_id = i + 1;
		j->zone = bits >> 7;
		must(!storm_idset_add(&j->nodes, 2 * j->zone + !!(bits & 32),
				      2 * j->zone + 1));
		for (uint32_t r = 0; r < rows; r++)
			if (bits >> r & 1)
				must(!storm_idset_add(&j->rows, r, r));
		/* one that is held is so beside others */
		if (!j->rows.count && rows == 1)
			must(!storm_idset_add(&j->rows, 0, 0));
		m->map.njobs++;
	}
	played_map_pack(m);
	played_map(&p, m);
}

/* Its strober's clock is the node's, or far from it. */
static void send(uint8_t how, uint8_t slot, uint8_t next)
{
	static const struct played_map nowhere = { .digest = 1 };
	const struct played_map *m = &nowhere;
	uint64_t apart = (number >> 32) % 3 * 500 * STORM_SEC;
	struct gang_strobe st;

	if (how % 16 < nmaps)
		m = &maps[nmaps - 1 - how % 16];
	st = (struct gang_strobe) {
		.slot = slot == 255 ? GANG_SLOT_ALL : slot % 8,
		.version = m->map.version,
		.digest = m->digest,
		.sent = p.now + apart,
	};
	if (how & 16)
		st.at = st.sent + STORM_MS;
	if (how & 32) {
		st.next = next % 8;
		st.next_at = st.sent + 11 * STORM_MS;
	}
	played_strobe(&p, number, &st, p.now, slurmd);
}

static void strobe(struct storm_in *in)
{
	uint8_t how = storm_get8(in), slot = storm_get8(in);
	uint8_t next = storm_get8(in);

	number += 1 + (slot >> 3) % 4;
	if (slot >> 5 == 7) /* another strober */
		number = ((number >> 32) + 1) << 32;
	send(how, slot, next);
}

/* So many turns of an agent that does its part. */
static void turns(struct storm_in *in)
{
	uint32_t n = storm_get8(in) % 130;
	uint8_t how = storm_get8(in);
	uint64_t due, end;

	for (uint32_t i = 0; i < n; i++) {
		number++;
		end = p.now + 10 * STORM_MS;
		send(how, i % 2, (i + 1) % 2);
		while ((due = gang_agreed_due(turns_agreed_time(p.t))) < end) {
			p.now = due > p.now ? due : p.now;
			played_agreed(&p, slurmd);
		}
		p.now = end;
		played_late(&p, slurmd);
	}
}

static void passes(struct storm_in *in)
{
	p.now += storm_get16(in) * 20 * STORM_US;
}

static void acts(struct storm_in *in)
{
	uint8_t what = storm_get8(in);

	slurmd = what & 0xf0;
	switch (what % 16) {
	case 0:
		played_returned(&p);
		break;
	case 1:
		played_open(&p);
		break;
	case 2:
		played_close(&p);
		break;
	case 3:
	case 4:
		played_guard(&p);
		break;
	case 5:
	case 6:
		played_decide(&p);
		break;
	default:
		played_agreed(&p, slurmd);
		played_late(&p, slurmd);
	}
}

static void (*const commands[])(struct storm_in *in) = {
	add, gone, door, nature, seen, map, strobe, turns, passes, acts,
};

/* -------------------------------------------------------------------- the end --- */

static void end(void)
{
	for (struct played_step *s = p.step; s < p.step + PLAYED_STEPS; s++)
		s->broken = false;
	played_close(&p);
	must(!played_standing(&p));
	for (struct played_step *s = p.step; s < p.step + PLAYED_STEPS; s++)
		if (s->s)
			played_gone(&p, s);
	played_end(&p);
	for (uint32_t i = 0; i < nmaps; i++)
		played_map_free(&maps[i]);
	nmaps = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *buf = exact(data, size);
	struct storm_in in = { buf, buf + size, false };

	played_begin(&p, SELF, 1000 * STORM_SEC);
	number = 3ull << 32;
	slurmd = true;
	for (int i = 0; i < COMMANDS && in.p < in.end; i++)
		commands[storm_get8(&in) %
			 (sizeof(commands) / sizeof(commands[0]))](&in);
	end();
	free(buf);
	return 0;
}
