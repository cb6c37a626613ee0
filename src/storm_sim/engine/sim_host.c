/*
 * sim_host.c - the host of a simulated node: credentials, disk, remote events.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_private.h"
#include "src/libstorm/base/minmax.h"

/*
 * A file being written.  Every write is compared with the source
 * (storm_sim_source()).  While all are equal, only the written ranges are
 * stored.  The first byte that differs gives the file data of its own.
 */
struct sim_file {
	uint64_t session, op;
	char *path;
	uint8_t *data; /* NULL: the source's, where written */
	const uint8_t *source;
	struct storm_idset written; /* bytes */
	uint64_t size;
};

#define UNWRITTEN 0xee
#define ROOM_SIZE (256u << 10) /* of one run */
#define ROOM_ALL (4u << 20)    /* of all that is not written yet */

/* -------------------------------------------------------------- credentials --- */

/* This credential hides nothing, but detects a forgery. */
#define PROOF 8

static void sim_cred_prove(const uint8_t *payload, size_t len,
			   uint8_t proof[static PROOF])
{
	uint8_t sum[32];

	storm_sha256(payload, len, sum);
	memcpy(proof, sum, PROOF);
}

static int sim_cred_encode(uint32_t agent_uid, const void *payload, size_t len,
			   char **cred)
{
	uint8_t proof[PROOF];
	size_t room = 2 * (len + PROOF) + 1;
	char *p;

	(void) agent_uid;
	*cred = p = malloc(room);
	if (!p)
		return STORM_ENOMEM;
	sim_cred_prove(payload, len, proof);
	for (size_t i = 0; i < len + PROOF; i++, p += 2, room -= 2)
		snprintf(p, room, "%02x",
			 i < len ? ((const uint8_t *) payload)[i] :
				   proof[i - len]);
	return STORM_OK;
}

static bool sim_cred_unhex(const char *hex, uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned int b;

		if (sscanf(hex + 2 * i, "%2x", &b) != 1)
			return false;
		out[i] = (uint8_t) b;
	}
	return true;
}

static int sim_cred_decode(const char *cred, void **payload, size_t *len,
			   uint32_t *uid, uint32_t *gid)
{
	size_t n = strlen(cred) / 2;
	uint8_t *p = malloc(n + 1), proof[PROOF];

	if (!p)
		return STORM_ENOMEM;
	if (n >= PROOF && sim_cred_unhex(cred, p, n)) {
		sim_cred_prove(p, n - PROOF, proof);
		if (!memcmp(proof, p + n - PROOF, PROOF)) {
			*payload = p;
			*len = n - PROOF;
			*uid = *gid = 1000;
			return STORM_OK;
		}
	}
	free(p);
	return STORM_EAUTH;
}

const struct storm_credential_ops storm_sim_credential = { sim_cred_encode,
							   sim_cred_decode };

/* -------------------------------------------------------------- nodes' hosts --- */

void storm_sim_forget_open(struct storm_sim *sim)
{
	storm_open_free(sim->verified);
	free(sim->verified_buf);
	sim->verified = NULL;
	sim->verified_buf = NULL;
}

/* The same OPEN for another node.  What is large is shared: there is one list of nodes,
 * not thousands.  Without that the launch of
 * testsuite/sim/scenarios/launch-16384.json takes 17 GB, not 0.4, and 85 s of CPU, not
 * 20.  NULL: no memory, or there is no such node. */
static struct storm_open *sim_host_share_open(struct storm_open *o,
					      uint32_t node)
{
	struct storm_open *other;

	if (node >= o->count)
		return NULL;
	if (!o->shared) {
		o->shared = malloc(sizeof(*o->shared));
		if (!o->shared)
			return NULL;
		*o->shared = 1;
	}
	other = malloc(sizeof(*other));
	if (!other)
		return NULL;
	*other = *o;
	other->self = node;
	other->begin.to.path = NULL;
	memset(&other->begin.p, 0, sizeof(other->begin.p));
	if (o->begin.to.path)
		other->begin.to.path = strdup(o->begin.to.path);
	if ((o->begin.to.path && !other->begin.to.path) ||
	    storm_idset_union(&other->begin.p, &o->begin.p)) {
		storm_begin_free(&other->begin);
		free(other);
		return NULL;
	}
	++*o->shared;
	return other;
}

int storm_sim_verify(struct storm_sim *sim, const void *buf, size_t len,
		     struct storm_open **out)
{
	int err;

	/* only an OPEN of this version and length has its node field there */
	if (sim->verified && len == sim->verified_len &&
	    !memcmp(buf, sim->verified_buf, STORM_OPEN_SAME - 4) &&
	    !memcmp((const uint8_t *) buf + STORM_OPEN_SAME,
		    sim->verified_buf + STORM_OPEN_SAME,
		    len - STORM_OPEN_SAME)) {
		*out = sim_host_share_open(sim->verified, storm_open_node(buf));
		return *out ? STORM_OK : STORM_EINVAL;
	}
	err = storm_open_verify(buf, len, out);
	if (err)
		return err;
	storm_sim_forget_open(sim);
	sim->verified_buf = malloc(len);
	if (!sim->verified_buf)
		abort();
	memcpy(sim->verified_buf, buf, len);
	sim->verified_len = len;
	sim->verified = sim_host_share_open(*out, (*out)->self);
	return STORM_OK;
}

static void sim_host_later(struct endpoint *ep, struct event e)
{
	e.at = ep->sim->now +
	       storm_sim_upto(ep->sim, ep->sim->conf.disk_jitter) +
	       storm_sim_upto(ep->sim, ep->disk_slow);
	if (e.kind != EV_AUTH) {
		if (ep->disk_hung) {
			e.at = ep->sim->now + STORM_SIM_HUNG;
			e.err = STORM_EHUNG;
		}
		e.at = ep->disk_until = storm_max(e.at, ep->disk_until);
	}
	e.from = STORM_SIM_NOBODY;
	e.to = ep->index;
	e.life = ep->life;
	storm_sim_push(ep->sim, e);
}

static void sim_host_authenticate(void *host, uint64_t ticket,
				  const struct storm_addr *from_addr, void *buf,
				  size_t len)
{
	(void) from_addr;
	sim_host_later(host, (struct event) { .kind = EV_AUTH,
					      .ticket = ticket,
					      .buf = buf,
					      .len = len });
}

static void sim_host_session_open(void *host, uint64_t session,
				  const struct storm_open_info *info,
				  void **ctx)
{
	struct endpoint *ep = host;

	(void) info;
	ep->session = session;
	*ctx = NULL;
}

static void sim_host_session_close(void *host, void *ctx)
{
	(void) ctx;
	((struct endpoint *) host)->session = 0;
}

/* Give the file data of its own. */
static void sim_file_materialise(struct sim_file *f)
{
	f->data = malloc(f->size + 1);
	if (!f->data)
		abort();
	memset(f->data, UNWRITTEN, f->size);
	for (uint32_t i = 0; i < f->written.count; i++) {
		const struct storm_range *r = &f->written.r[i];

		memcpy(f->data + r->first, f->source + r->first,
		       (size_t) r->last - r->first + 1);
	}
	storm_idset_clear(&f->written);
	f->source = NULL;
}

static void sim_host_begin(void *host, void *ctx, uint64_t session, uint64_t op,
			   const struct storm_target *to, uint64_t size,
			   void **out)
{
	struct endpoint *ep = host;
	struct sim_file *f = calloc(1, sizeof(*f));

	(void) ctx;
	if (!f)
		abort();
	f->session = session;
	f->op = op;
	f->path = strdup(to->path);
	f->size = size;
	if (!f->path)
		abort();
	if (size == ep->sim->source_size && size < UINT32_MAX)
		f->source = ep->sim->source;
	if (!f->source)
		sim_file_materialise(f);
	ep->temporaries++;
	*out = f;
	ep->disk_until = storm_max(ep->disk_until, ep->disk_turn);
	sim_host_later(ep, (struct event) { .kind = EV_BEGUN,
					    .session = session,
					    .op = op });
}

static bool sim_host_waits(void *host, void *file)
{
	struct endpoint *ep = host;

	(void) file;
	return ep->sim->now < ep->disk_turn;
}

static uint8_t *sim_host_room(void *host, void *file, size_t *size)
{
	struct endpoint *ep = host;
	struct storm_sim *sim = ep->sim;

	(void) file;
	if (ep->disk_bytes + ROOM_SIZE > ROOM_ALL)
		return NULL;
	if (!sim->disk_room)
		sim->disk_room = malloc(ROOM_SIZE);
	if (!sim->disk_room)
		abort();
	*size = ROOM_SIZE;
	return sim->disk_room;
}

static int sim_file_write(struct endpoint *ep, struct sim_file *f, uint64_t off,
			  const void *buf, size_t len)
{
	if (ep->disk_error)
		return ep->disk_error;
	if (off > f->size || len > f->size - off)
		return EFBIG;
	if (f->source && len && !memcmp(f->source + off, buf, len)) {
		if (storm_idset_add(&f->written, (uint32_t) off,
				    (uint32_t) (off + len - 1)))
			abort();
		return 0;
	}
	if (f->source)
		sim_file_materialise(f);
	memcpy(f->data + off, buf, len);
	return 0;
}

/* The bytes are in the file at once; the answer takes the disk's time. */
static void sim_host_write(void *host, void *file, uint64_t off, size_t len,
			   uint64_t below)
{
	struct endpoint *ep = host;
	struct sim_file *f = file;
	int sys = sim_file_write(ep, f, off, ep->sim->disk_room, len);

	(void) below;

	ep->disk_bytes += len;
	sim_host_later(ep, (struct event) { .kind = EV_WRITTEN,
					    .session = f->session,
					    .op = f->op,
					    .off = off,
					    .len = len,
					    .err = sys ? STORM_ESYS : 0,
					    .sys = sys });
}

static bool sim_host_read(void *host, void *file, uint64_t off, size_t len)
{
	struct sim_file *f = file;
	struct storm_range r = { (uint32_t) off, (uint32_t) (off + len - 1) };
	struct storm_idset want = { &r, 1, 1 };
	struct event e = { .kind = EV_READ,
			   .session = f->session,
			   .op = f->op,
			   .off = off,
			   .len = len };

	if (f->source && !storm_idset_covers(&f->written, &want))
		sim_file_materialise(f);
	e.buf = malloc(len);
	if (!e.buf)
		abort();
	memcpy(e.buf, (f->source ? f->source : f->data) + off, len);
	sim_host_later(host, e);
	return true;
}

/* The source's digest is computed once: thousands of nodes have the same. */
static bool sim_file_is_genuine(struct storm_sim *sim, const struct sim_file *f,
				const uint8_t *digest)
{
	uint8_t own[32];

	if (!f->size)
		return true;
	if (!f->source) {
		storm_sha256(f->data, f->size, own);
		return !memcmp(own, digest, sizeof(own));
	}
	if (!sim->source_hashed)
		storm_sha256(f->source, f->size, sim->source_digest);
	sim->source_hashed = true;
	return !memcmp(sim->source_digest, digest, sizeof(own));
}

static void sim_host_stage(void *host, void *file, uint64_t session,
			   uint64_t op, const uint8_t *digest)
{
	struct endpoint *ep = host;

	sim_host_later(host, (struct event) {
				     .kind = EV_STAGED,
				     .session = session,
				     .op = op,
				     .err = sim_file_is_genuine(ep->sim, file,
								digest) ?
						    STORM_OK :
						    STORM_EVERIFY,
			     });
}

static void sim_host_commit(void *host, void *file, uint64_t session,
			    uint64_t op)
{
	struct endpoint *ep = host;
	struct sim_file *f = file;
	struct storm_sim_file *s;

	ep->files = realloc(ep->files, (ep->nfiles + 1) * sizeof(*ep->files));
	if (!ep->files)
		abort();
	s = &ep->files[ep->nfiles++];
	s->path = strdup(f->path);
	s->size = f->size;
	if (f->source && storm_idset_size(&f->written) < f->size)
		sim_file_materialise(f);
	s->shared = f->source != NULL;
	if (s->shared) {
		s->data = f->source;
	} else {
		uint8_t *copy = malloc(f->size + 1);

		if (!copy)
			abort();
		memcpy(copy, f->data, f->size);
		s->data = copy;
	}
	sim_host_later(ep, (struct event) { .kind = EV_APPLIED,
					    .session = session,
					    .op = op });
}

static void sim_host_end(void *host, void *file)
{
	struct endpoint *ep = host;
	struct sim_file *f = file;

	ep->temporaries--;
	storm_idset_clear(&f->written);
	free(f->path);
	free(f->data);
	free(f);
}

static void sim_host_event(void *host, void *ctx, uint64_t session,
			   uint32_t event, const void *buf, size_t len)
{
	struct endpoint *ep = host;
	struct storm_sim_seen *s;

	(void) ctx;
	(void) session;
	ep->seen = realloc(ep->seen, (ep->nseen + 1) * sizeof(*ep->seen));
	if (!ep->seen)
		abort();
	s = &ep->seen[ep->nseen++];
	s->event = event;
	s->len = len;
	s->data = malloc(len + 1);
	if (!s->data)
		abort();
	if (len)
		memcpy(s->data, buf, len);
}

static void sim_host_requested(void *host, void *ctx, void *token,
			       enum storm_compare result,
			       struct storm_outcome *out)
{
	struct endpoint *ep = host;
	const struct storm_sim_watch *w = &ep->sim->watch;

	(void) ctx;
	if (w->requested)
		w->requested(w->arg, ep->index, token, result, out);
	storm_outcome_clear(out);
}

static bool sim_host_gather(void *host, void *ctx, uint64_t session,
			    uint64_t id, const void *query, size_t len,
			    struct storm_gather_own *own)
{
	struct endpoint *ep = host;
	const struct storm_sim_watch *w = &ep->sim->watch;

	(void) ctx;
	(void) session;
	(void) id;
	if (w->gather)
		w->gather(w->arg, ep->index, query, len, own);
	return true;
}

static void sim_host_acked(void *host, void *ctx, uint8_t kind,
			   const struct storm_idset *ids)
{
	struct endpoint *ep = host;

	(void) ctx;
	storm_idset_union(&ep->acked[kind], ids);
}

static const struct storm_nm_ops sim_host_ops = {
	.authenticate = sim_host_authenticate,
	.session_open = sim_host_session_open,
	.session_close = sim_host_session_close,
	.file_begin = sim_host_begin,
	.file_waits = sim_host_waits,
	.file_room = sim_host_room,
	.file_write = sim_host_write,
	.file_read = sim_host_read,
	.file_stage = sim_host_stage,
	.file_commit = sim_host_commit,
	.file_end = sim_host_end,
	.event = sim_host_event,
	.acked = sim_host_acked,
	.requested = sim_host_requested,
	.gather = sim_host_gather,
};

void storm_sim_node_start(struct endpoint *ep)
{
	int err;

	ep->nm = storm_nm_create(&ep->sim->conf.set, &ep->t, &sim_host_ops, ep,
				 &err);
	if (!ep->nm)
		abort();
}

void storm_sim_source(struct storm_sim *sim, const void *data, uint64_t size)
{
	sim->source = data;
	sim->source_hashed = false;
	sim->source_size = size;
}

void storm_sim_host_clear(struct endpoint *ep)
{
	for (uint32_t k = 0; k < ep->nfiles; k++) {
		free(ep->files[k].path);
		if (!ep->files[k].shared)
			free((void *) ep->files[k].data);
	}
	for (uint32_t k = 0; k < ep->nseen; k++)
		free(ep->seen[k].data);
	for (int k = 0; k < STORM_REPORT_KINDS; k++)
		storm_idset_clear(&ep->acked[k]);
	free(ep->files);
	free(ep->seen);
}

const struct storm_sim_file *storm_sim_files(const struct storm_sim *sim,
					     uint32_t node, uint32_t *count)
{
	*count = sim->ep[node].nfiles;
	return sim->ep[node].files;
}

uint32_t storm_sim_temporaries(const struct storm_sim *sim, uint32_t node)
{
	return sim->ep[node].temporaries;
}

const struct storm_sim_seen *storm_sim_events(const struct storm_sim *sim,
					      uint32_t node, uint32_t *count)
{
	*count = sim->ep[node].nseen;
	return sim->ep[node].seen;
}

const struct storm_idset *storm_sim_acked(const struct storm_sim *sim,
					  uint32_t node, uint8_t kind)
{
	return &sim->ep[node].acked[kind];
}
