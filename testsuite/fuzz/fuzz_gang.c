/*
 * fuzz_gang.c - what the strober sends: the map of whose turn it is, and the
 * strobe that names a slot.
 *
 *   u8: a strobe, if it is odd; the rest are the bytes of the one or the other
 *
 * What is let through is within bounds, is packed again to an equal map, and is
 * looked up by job and by node; a rota that is made of it strobes slots that are
 * there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/storm_common/gang_map.h"
#include "src/storm_strober/rota.h"

static void must_be_map(const struct gang_map *m)
{
	must(!gang_map_check(m));
	must(m->nodes <= STORM_NODES_MAX);
	must(m->nzones <= GANG_ZONES_MAX && m->njobs <= GANG_JOBS_MAX);
	for (uint32_t i = 0; i < m->nzones; i++) {
		const struct gang_zone *z = &m->zones[i];

		must(z->rows <= GANG_ROWS_MAX);
		must(z->quantum >= GANG_QUANTUM_MIN &&
		     z->quantum <= GANG_QUANTUM_MAX);
		must(z->policy <= UINT8_MAX);
		must(z->nodes.count);
		must_be_set(&z->nodes, m->nodes - 1);
		must(gang_map_zone(m, z->nodes.r[0].first) == i);
	}
	must(gang_map_zone(m, m->nodes) == UINT32_MAX);
	for (uint32_t i = 0; i < m->njobs; i++) {
		const struct gang_job *j = &m->jobs[i];

		must(gang_map_job(m, j->job_id) == j);
		must(j->zone < m->nzones && j->nodes.count);
		must(!gang_job_held(j) || m->zones[j->zone].rows > 1);
		must_be_set(&j->rows, m->zones[j->zone].rows - 1);
		must_be_set(&j->nodes, m->nodes - 1);
	}
}

static void must_be_same(const struct gang_map *a, const struct gang_map *b)
{
	must(a->version == b->version && a->nodes == b->nodes);
	must(a->nzones == b->nzones && a->njobs == b->njobs);
	for (uint32_t i = 0; i < a->nzones; i++)
		must(a->zones[i].rows == b->zones[i].rows &&
		     a->zones[i].quantum == b->zones[i].quantum &&
		     a->zones[i].policy == b->zones[i].policy &&
		     same_set(&a->zones[i].nodes, &b->zones[i].nodes));
	for (uint32_t i = 0; i < a->njobs; i++)
		must(a->jobs[i].job_id == b->jobs[i].job_id &&
		     a->jobs[i].zone == b->jobs[i].zone &&
		     same_set(&a->jobs[i].rows, &b->jobs[i].rows) &&
		     same_set(&a->jobs[i].nodes, &b->jobs[i].nodes));
}

/* There may be several ways to write a set: the second time it is this one. */
static void same_again(const struct gang_map *m)
{
	struct gang_map back;
	void *buf, *again;
	size_t len, len2;

	must(!gang_map_pack(m, &buf, &len));
	must(!gang_map_unpack(buf, len, &back));
	must_be_same(m, &back);
	must(!gang_map_pack(&back, &again, &len2));
	must(len == len2 && !memcmp(buf, again, len));
	must(gang_map_digest(buf, len) == gang_map_digest(again, len2));
	gang_map_clear(&back);
	free(buf);
	free(again);
}

/* The map is taken over.  Strobes of a few turns, a pause, and of another rota
 * that comes after it. */
static void play(struct gang_map *m)
{
	struct rota *r = rota_create(m, 1, NULL, STORM_SEC);
	struct gang_strobe s;

	must(r);
	for (int i = 0; i < 20 && rota_due(r) != STORM_NEVER; i++) {
		uint64_t now = rota_due(r);

		must(rota_next(r, now, &s));
		must(s.slot == GANG_SLOT_ALL ||
		     s.slot < rota_map(r)->zones[s.zone].rows);
		if (i == 10)
			rota_pause(r, now);
		if (i == 15)
			rota_continue(r, now);
	}
	rota_destroy(r);
}

static void map(const uint8_t *buf, size_t len)
{
	struct gang_map m;

	if (gang_map_unpack(buf, len, &m))
		return;
	must_be_map(&m);
	same_again(&m);
	play(&m);
	gang_map_clear(&m);
}

static void strobe(const uint8_t *buf, size_t len)
{
	uint8_t again[GANG_STROBE_LEN];
	struct gang_strobe s;

	if (gang_strobe_unpack(&s, buf, len))
		return;
	must(s.slot < GANG_ROWS_MAX || s.slot == GANG_SLOT_ALL);
	must(s.next < GANG_ROWS_MAX && (s.next_at || !s.next));
	must(len == GANG_STROBE_LEN);
	gang_strobe_pack(&s, again);
	must(!memcmp(again, buf, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *buf;

	if (!size)
		return 0;
	buf = exact(data + 1, size - 1);
	if (data[0] & 1)
		strobe(buf, size - 1);
	else
		map(buf, size - 1);
	free(buf);
	return 0;
}
