/*
 * gang_map.c - pack and unpack the map and the strobe: see gang_map.h.
 *
 * The map, integers in network byte order, sets as storm_put_set() writes them:
 *
 *	u32 "GANG", u8 format, u8[3] 0, u64 version, u32 nodes, u32 zones,
 *	u32 jobs;
 *	each zone: u32 rows, u64 quantum, u8 policy, set of nodes;
 *	each job: u32 job id, u32 zone, set of rows (empty: held), set of nodes
 *
 * The strobe: u8 format, u8 0, u16 zone, u32 slot, u64 version, u64 digest,
 * u64 sent, u64 at, u64 next_at, u32 next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "gang_map.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/sorted.h"
#include "src/libstorm/wire/wire.h"

#define MAGIC 0x47414e47u
#define MAP_FORMAT 3
#define STROBE_FORMAT 2
_Static_assert(GANG_STROBE_LEN <= STORM_STROBE_MAX, "too long");
#define HEAD 28
/* the fewest bytes of a zone and of a job: a set of nodes has at least one range */
#define ZONE_MIN (4 + 8 + 1 + 3)
#define JOB_MIN (4 + 4 + 1 + 3)
/* the most bytes of a set */
#define SET_MAX(s) (5 + 10 * (size_t) (s)->count)

void gang_map_clear(struct gang_map *m)
{
	for (uint32_t i = 0; i < m->nzones; i++)
		storm_idset_clear(&m->zones[i].nodes);
	for (uint32_t i = 0; i < m->njobs; i++) {
		storm_idset_clear(&m->jobs[i].rows);
		storm_idset_clear(&m->jobs[i].nodes);
	}
	free(m->zones);
	free(m->jobs);
	memset(m, 0, sizeof(*m));
}

/* Not empty, and below n? */
static bool gang_map_set_within(const struct storm_idset *s, uint32_t n)
{
	return s->count && s->r[s->count - 1].last < n;
}

/* Zones share no node: the union has as many nodes as the sum of all. */
static int gang_map_check_zones(const struct gang_map *m)
{
	struct storm_idset all = { 0 };
	uint64_t sum = 0;
	int err = STORM_OK;

	for (uint32_t i = 0; i < m->nzones && !err; i++) {
		const struct gang_zone *z = &m->zones[i];

		if (!gang_map_set_within(&z->nodes, m->nodes) ||
		    z->rows > GANG_ROWS_MAX || z->quantum < GANG_QUANTUM_MIN ||
		    z->quantum > GANG_QUANTUM_MAX || z->policy > UINT8_MAX)
			err = STORM_EINVAL;
		else
			err = storm_idset_union(&all, &z->nodes);
		sum += storm_idset_size(&z->nodes);
	}
	if (!err && storm_idset_size(&all) != sum)
		err = STORM_EINVAL;
	storm_idset_clear(&all);
	return err;
}

static bool gang_map_job_fits(const struct gang_map *m,
			      const struct gang_job *j)
{
	const struct gang_zone *z;

	if (j->zone >= m->nzones)
		return false;
	z = &m->zones[j->zone];
	/* a held job stands by strobes, which there are if there are rows */
	if (gang_job_held(j) ? z->rows < 2 :
			       !gang_map_set_within(&j->rows, z->rows))
		return false;
	return gang_map_set_within(&j->nodes, m->nodes) &&
	       storm_idset_covers(&z->nodes, &j->nodes);
}

int gang_map_check(const struct gang_map *m)
{
	if (m->nodes > STORM_NODES_MAX || m->nzones > GANG_ZONES_MAX ||
	    m->njobs > GANG_JOBS_MAX)
		return STORM_EINVAL;
	for (uint32_t i = 0; i < m->njobs; i++) {
		if (!gang_map_job_fits(m, &m->jobs[i]) ||
		    (i && m->jobs[i].job_id <= m->jobs[i - 1].job_id))
			return STORM_EINVAL;
	}
	return gang_map_check_zones(m);
}

/* An upper bound of the packed size. */
static size_t gang_map_room(const struct gang_map *m)
{
	size_t n = HEAD;

	for (uint32_t i = 0; i < m->nzones; i++)
		n += 13 + SET_MAX(&m->zones[i].nodes);
	for (uint32_t i = 0; i < m->njobs; i++)
		n += 8 + SET_MAX(&m->jobs[i].rows) + SET_MAX(&m->jobs[i].nodes);
	return n;
}

static void gang_map_put_head(struct storm_out *o, const struct gang_map *m)
{
	storm_put32(o, MAGIC);
	storm_put8(o, MAP_FORMAT);
	for (int i = 0; i < 3; i++)
		storm_put8(o, 0);
	storm_put64(o, m->version);
	storm_put32(o, m->nodes);
	storm_put32(o, m->nzones);
	storm_put32(o, m->njobs);
}

int gang_map_pack(const struct gang_map *m, void **buf, size_t *len)
{
	int err = gang_map_check(m);
	struct storm_out o;
	uint8_t *p;
	size_t n;

	if (err)
		return err;
	n = gang_map_room(m);
	p = malloc(n);
	if (!p)
		return STORM_ENOMEM;
	o = (struct storm_out) { p, p + n, false };
	gang_map_put_head(&o, m);
	for (uint32_t i = 0; i < m->nzones; i++) {
		storm_put32(&o, m->zones[i].rows);
		storm_put64(&o, m->zones[i].quantum);
		storm_put8(&o, (uint8_t) m->zones[i].policy);
		storm_put_set(&o, &m->zones[i].nodes);
	}
	for (uint32_t i = 0; i < m->njobs; i++) {
		storm_put32(&o, m->jobs[i].job_id);
		storm_put32(&o, m->jobs[i].zone);
		storm_put_set(&o, &m->jobs[i].rows);
		storm_put_set(&o, &m->jobs[i].nodes);
	}
	n = (size_t) (o.p - p);
	if (o.bad || n > GANG_MAP_BYTES_MAX) {
		free(p);
		return STORM_ETOOBIG;
	}
	*buf = p;
	*len = n;
	return STORM_OK;
}

static int gang_map_get_head(struct storm_in *in, struct gang_map *m,
			     uint32_t *zones, uint32_t *jobs)
{
	uint8_t zero = 0;

	if (storm_get32(in) != MAGIC)
		return STORM_EINVAL;
	if (storm_get8(in) != MAP_FORMAT)
		return STORM_EVERSION;
	for (int i = 0; i < 3; i++)
		zero |= storm_get8(in);
	m->version = storm_get64(in);
	m->nodes = storm_get32(in);
	*zones = storm_get32(in);
	*jobs = storm_get32(in);
	/* check the counts against the length before allocating */
	if (in->bad || zero || m->nodes > STORM_NODES_MAX ||
	    *zones > GANG_ZONES_MAX || *jobs > GANG_JOBS_MAX ||
	    (size_t) *zones * ZONE_MIN + (size_t) *jobs * JOB_MIN >
		    (size_t) (in->end - in->p))
		return STORM_EINVAL;
	return STORM_OK;
}

static void gang_map_get_zones(struct storm_in *in, struct gang_map *m,
			       uint32_t n)
{
	for (; m->nzones < n && !in->bad; m->nzones++) {
		struct gang_zone *z = &m->zones[m->nzones];

		z->rows = storm_get32(in);
		z->quantum = storm_get64(in);
		z->policy = (enum gang_policy) storm_get8(in);
		storm_get_set(in, &z->nodes, STORM_NODES_MAX);
	}
}

static void gang_map_get_jobs(struct storm_in *in, struct gang_map *m,
			      uint32_t n)
{
	for (; m->njobs < n && !in->bad; m->njobs++) {
		struct gang_job *j = &m->jobs[m->njobs];

		j->job_id = storm_get32(in);
		j->zone = storm_get32(in);
		storm_get_set(in, &j->rows, GANG_ROWS_MAX);
		storm_get_set(in, &j->nodes, STORM_NODES_MAX);
	}
}

int gang_map_unpack(const void *buf, size_t len, struct gang_map *out)
{
	struct storm_in in = { buf, (const uint8_t *) buf + len, false };
	struct gang_map m = { 0 };
	uint32_t zones, jobs;
	int err;

	if (len > GANG_MAP_BYTES_MAX)
		return STORM_EINVAL;
	err = gang_map_get_head(&in, &m, &zones, &jobs);
	if (err)
		return err;
	m.zones = calloc(zones + 1, sizeof(*m.zones));
	m.jobs = calloc(jobs + 1, sizeof(*m.jobs));
	if (!m.zones || !m.jobs) {
		err = STORM_ENOMEM;
	} else {
		gang_map_get_zones(&in, &m, zones);
		gang_map_get_jobs(&in, &m, jobs);
		err = storm_in_done(&in) ? gang_map_check(&m) : STORM_EINVAL;
	}
	if (err)
		gang_map_clear(&m);
	else
		*out = m;
	return err;
}

/* FNV-1a */
static uint64_t gang_map_hash(uint64_t h, const void *buf, size_t len)
{
	for (const uint8_t *p = buf; len--; p++)
		h = (h ^ *p) * 0x100000001b3ULL;
	return h;
}

#define HASH_BEGIN 0xcbf29ce484222325ULL

uint64_t gang_map_digest(const void *buf, size_t len)
{
	return gang_map_hash(HASH_BEGIN, buf, len);
}

uint64_t gang_cluster_number(const char *name)
{
	static const char kind[] = "storm gang/";
	uint64_t h = gang_map_hash(HASH_BEGIN, kind, sizeof(kind) - 1);

	h = gang_map_hash(h, name, strlen(name));
	return h ? h : 1;
}

static uint64_t gang_map_job_id(const void *job)
{
	return ((const struct gang_job *) job)->job_id;
}

const struct gang_job *gang_map_job(const struct gang_map *m, uint32_t job_id)
{
	uint32_t at = storm_sorted_at(m->jobs, m->njobs, sizeof(*m->jobs),
				      job_id, gang_map_job_id);

	return at < m->njobs && m->jobs[at].job_id == job_id ? &m->jobs[at] :
							       NULL;
}

uint32_t gang_map_zone(const struct gang_map *m, uint32_t node)
{
	for (uint32_t i = 0; i < m->nzones; i++)
		if (storm_idset_has(&m->zones[i].nodes, node))
			return i;
	return UINT32_MAX;
}

void gang_strobe_pack(const struct gang_strobe *s,
		      uint8_t out[static GANG_STROBE_LEN])
{
	struct storm_out o = { out, out + GANG_STROBE_LEN, false };

	storm_put8(&o, STROBE_FORMAT);
	storm_put8(&o, 0);
	storm_put16(&o, s->zone);
	storm_put32(&o, s->slot);
	storm_put64(&o, s->version);
	storm_put64(&o, s->digest);
	storm_put64(&o, s->sent);
	storm_put64(&o, s->at);
	storm_put64(&o, s->next_at);
	storm_put32(&o, s->next);
}

int gang_strobe_unpack(struct gang_strobe *s, const void *buf, size_t len)
{
	struct storm_in in = { buf, (const uint8_t *) buf + len, false };
	uint8_t format = storm_get8(&in), zero = storm_get8(&in);
	struct gang_strobe t;

	t.zone = storm_get16(&in);
	t.slot = storm_get32(&in);
	t.version = storm_get64(&in);
	t.digest = storm_get64(&in);
	t.sent = storm_get64(&in);
	t.at = storm_get64(&in);
	t.next_at = storm_get64(&in);
	t.next = storm_get32(&in);
	if (!in.bad && format != STROBE_FORMAT)
		return STORM_EVERSION;
	if (!storm_in_done(&in) || zero ||
	    (t.slot >= GANG_ROWS_MAX && t.slot != GANG_SLOT_ALL) ||
	    t.next >= GANG_ROWS_MAX || (t.next && !t.next_at))
		return STORM_EINVAL;
	*s = t;
	return STORM_OK;
}
