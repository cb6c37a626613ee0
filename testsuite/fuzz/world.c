/*
 * world.c - see world.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <sys/random.h>

#include "src/libstorm/protocol/nm/nm_private.h"
#include "src/libstorm/wire/credential.h"
#include "src/libstorm/wire/gather.h"
#include "world.h"

#define SEGMENT 5000 /* bytes of one, kept as long as its Node Manager */
#define DATA_MAX 1500
#define FILE_KEPT 200000 /* of a larger one the bytes are not kept */

/* ------------------------------------------------------------------ sealing --- */

/* In place of the C library's. */
ssize_t getrandom(void *buf, size_t len, unsigned int flags)
{
	(void) flags;
	memset(buf, 0x5a, len);
	return (ssize_t) len;
}

uint8_t world_payload[STORM_KEY_LEN + 32];
uint32_t world_uid = 1000;

static int encode(uint32_t uid, const void *payload, size_t len, char **cred)
{
	(void) uid;
	must(len == sizeof(world_payload));
	memcpy(world_payload, payload, len);
	*cred = strdup("fuzz");
	must(*cred);
	return STORM_OK;
}

static int decode(const char *cred, void **payload, size_t *len, uint32_t *uid,
		  uint32_t *gid)
{
	if (strcmp(cred, "fuzz"))
		return STORM_EAUTH;
	*payload = exact(world_payload, sizeof(world_payload));
	*len = sizeof(world_payload);
	*uid = *gid = world_uid;
	return STORM_OK;
}

static const struct storm_credential_ops ours = { encode, decode };

static void quiet(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

void world_init(void)
{
	storm_log_set(quiet);
	storm_credential_use(&ours);
}

void sealer_set(struct sealer *s, const uint8_t key[STORM_KEY_LEN],
		uint64_t session)
{
	s->sequence = 0;
	s->epoch = 1;
	if (s->session == session && !memcmp(s->key, key, STORM_KEY_LEN))
		return;
	for (int i = 0; i <= WORLD_NODES; i++)
		for (int k = 0; k < LIVES * STORM_LANES; k++)
			storm_seal_destroy(
				s->seal[i][k / STORM_LANES][k % STORM_LANES]);
	memset(s->seal, 0, sizeof(s->seal));
	memcpy(s->key, key, STORM_KEY_LEN);
	s->session = session;
}

void sealer_make(struct sealer *s, uint32_t sender, uint8_t how,
		 const struct storm_header *like, const uint8_t *body,
		 size_t len, struct storm_rx *rx)
{
	uint32_t at = sender < WORLD_NODES ? sender : WORLD_NODES;
	enum storm_lane lane = like->type == STORM_MSG_DATA ?
				       STORM_LANE_DATA :
				       STORM_LANE_CONTROL;
	int life = how & HOW_LIFE ? 1 : 0;
	struct storm_seal **seal = &s->seal[at][life][lane];
	struct storm_header h = *like;

	h.flags = how & HOW_RELAY ? STORM_HDR_RELAY : 0;
	h.session = s->session;
	h.sender = at < WORLD_NODES ? sender : STORM_NO_NODE;
	h.sequence = how & HOW_REPLAY ? s->sequence : ++s->sequence;
	memset(h.incarnation, 1 + life, sizeof(h.incarnation));
	rx->len = STORM_HEADER_LEN + len + STORM_TAG_LEN;
	rx->group = how & HOW_GROUP;
	rx->from = (struct storm_addr) { 0 };
	rx->buf = malloc(rx->len);
	must(rx->buf);
	storm_header_pack(&h, rx->buf);
	if (!*seal)
		*seal = storm_seal_create(s->key, h.incarnation, s->session,
					  h.sender, lane);
	must(*seal);
	must(!storm_seal_seal(*seal, rx->buf, h.sequence, body, len,
			      rx->buf + STORM_HEADER_LEN));
}

bool sealer_next(struct sealer *s, struct storm_in *script, uint32_t nodes,
		 struct storm_rx *rx)
{
	uint32_t sender = storm_get8(script);
	struct storm_header h = { .type = storm_get8(script) };
	uint8_t how = storm_get8(script), *body;
	size_t len;

	h.epoch = s->epoch + storm_get8(script) - 1;
	h.op = storm_get8(script);
	if (how & HOW_OP)
		h.op = storm_get64(script);
	body = some(script, STORM_DATAGRAM_MAX, &len);
	sealer_make(s, sender < nodes ? sender : WORLD_NODES, how, &h, body,
		    len, rx);
	free(body);
	return how & HOW_MORE;
}

void raw_next(struct storm_in *script, uint64_t session, struct storm_rx *rx)
{
	bool ours_too = storm_get8(script);

	rx->buf = some(script, STORM_DATAGRAM_MAX + 1, &rx->len);
	rx->group = false;
	if (ours_too && rx->len >= 16) {
		struct storm_out o = { rx->buf + 8, rx->buf + 16, false };

		storm_put64(&o, session);
	}
}

void must_be_datagrams(const void *buf, size_t len, size_t seg,
		       uint64_t session)
{
	const uint8_t *p = buf;

	must(len && seg);
	for (size_t at = 0; at < len; at += seg) {
		struct storm_header h;

		must(!storm_header_unpack(&h, p + at,
					  len - at < seg ? len - at : seg));
		must(h.session == session);
	}
}

/* An owner that was replaced still sends now and then. */
static bool is_of(const struct world *w, uint64_t session)
{
	for (int i = 0; i <= w->owners; i++)
		if (w->opened[i] == session)
			return true;
	return false;
}

static uint64_t session_of(const struct world *w, const uint8_t *datagram)
{
	struct storm_in i = { datagram + 8, datagram + 16, false };
	uint64_t session = storm_get64(&i);

	return is_of(w, session) ? session : w->session;
}

/* ---------------------------------------------------------------- transport --- */

static int net_send(struct storm_transport *t, enum storm_class c,
		    const struct storm_addr *to, const void *buf, size_t len,
		    size_t seg)
{
	struct world *w = (struct world *) t;

	(void) c;
	must(to->port);
	must_be_datagrams(buf, len, seg, session_of(w, buf));
	w->sent++;
	w->bytes_out += len;
	return w->sends_fail ? -EAGAIN : 0;
}

static int net_stream(struct storm_transport *t, const struct storm_addr *to,
		      uint64_t session, uint32_t node, const void *buf,
		      size_t len)
{
	must(is_of((struct world *) t, session));
	must(to->port && node < WORLD_NODES && buf && len);
	return ((struct world *) t)->alone ? -ECONNREFUSED : 0;
}

static void net_end_stream(struct storm_transport *t, uint64_t stream,
			   enum storm_err err)
{
	struct world *w = (struct world *) t;

	must(stream && stream <= w->streams && w->waiting > 0);
	w->waiting--;
	w->verdict = err;
}

static bool net_stream_waits(struct storm_transport *t, uint64_t stream)
{
	return stream && !((struct world *) t)->nobody_waits;
}

static enum storm_stream net_stream_state(struct storm_transport *t,
					  uint64_t session, uint32_t node)
{
	must(is_of((struct world *) t, session) && node < WORLD_NODES);
	return ((struct world *) t)->opens;
}

static void net_drop_streams(struct storm_transport *t, uint64_t session)
{
	must(is_of((struct world *) t, session));
}

static size_t net_mtu(struct storm_transport *t)
{
	(void) t;
	return 1472;
}

static const struct storm_transport_ops net = {
	.name = "fuzz",
	.send = net_send,
	.send_stream = net_stream,
	.end_stream = net_end_stream,
	.stream_waits = net_stream_waits,
	.stream_state = net_stream_state,
	.drop_streams = net_drop_streams,
	.mtu = net_mtu,
};

/* --------------------------------------------------------------------- host --- */

enum asked { ASKED_NOTHING, ASKED_BEGIN, ASKED_STAGE, ASKED_COMMIT };

/* Not answered yet: the oldest is answered first. */
struct world_piece {
	struct world_piece *next;
	uint64_t off;
	size_t len;
	uint8_t *read; /* NULL: written */
	int err;
};

struct world_file {
	struct world_file *next;
	struct world_piece *pieces;
	uint64_t op, size;
	uint8_t *data;
	bool staged;
	enum asked asked;
};

static void authenticate(void *host, uint64_t ticket,
			 const struct storm_addr *from, void *buf, size_t len)
{
	struct world *w = host;

	(void) from;

	free(w->stream);
	w->ticket = ticket;
	w->stream = buf;
	w->stream_len = len;
}

static void session_open(void *host, uint64_t session,
			 const struct storm_open_info *info, void **ctx)
{
	struct world *w = host;

	must(session == w->session && info->self == w->self);
	w->host_session = session;
	*ctx = malloc(1); /* the sanitizers see it kept or used too long */
	must(*ctx);
	w->sessions++;
	w->strobe = 0;
}

static void session_close(void *host, void *ctx)
{
	free(ctx);
	((struct world *) host)->sessions--;
}

static void file_begin(void *host, void *ctx, uint64_t session, uint64_t op,
		       const struct storm_target *to, uint64_t size,
		       void **file)
{
	struct world *w = host;
	struct world_file *f = calloc(1, sizeof(*f));

	must(f && ctx && session == w->host_session && op && to->path);
	if (w->begins)
		w->begins(w, op, to->path);
	f->op = op;
	f->size = size;
	f->data = size <= FILE_KEPT ? calloc(1, size + 1) : NULL;
	f->asked = ASKED_BEGIN;
	f->next = w->files;
	w->files = f;
	*file = f;
}

static uint8_t *file_room(void *host, void *file, size_t *size)
{
	struct world *w = host;

	must(file);
	*size = sizeof(w->room);
	return w->no_room ? NULL : w->room;
}

static void file_write(void *host, void *file, uint64_t off, size_t len,
		       uint64_t below)
{
	struct world *w = host;
	struct world_file *f = file;
	struct world_piece *p = calloc(1, sizeof(*p)), **end = &f->pieces;

	must(p && len && len <= sizeof(w->room) && len <= f->size &&
	     off <= f->size - len && !f->staged && below <= f->size);
	if (f->data)
		memcpy(f->data + off, w->room, len);
	p->off = off;
	p->len = len;
	p->err = w->writes_fail ? STORM_ESYS : STORM_OK;
	while (*end)
		end = &(*end)->next;
	*end = p;
}

static bool file_read(void *host, void *file, uint64_t off, size_t len)
{
	struct world *w = host;
	struct world_file *f = file;
	struct world_piece *p = calloc(1, sizeof(*p)), **end = &f->pieces;

	must(p && len && len <= f->size && off <= f->size - len);
	for (const struct world_piece *o = f->pieces; o; o = o->next)
		must(!o->read); /* one at a time */
	must(!w->nm->stage_of); /* it may be read to the room of that run */
	p->off = off;
	p->len = len;
	p->read = calloc(1, len);
	must(p->read);
	if (f->data)
		memcpy(p->read, f->data + off, len);
	p->err = w->writes_fail ? STORM_ESYS : STORM_OK;
	while (*end)
		end = &(*end)->next;
	*end = p;
	return true;
}

static void file_stage(void *host, void *file, uint64_t session, uint64_t op,
		       const uint8_t *digest)
{
	struct world_file *f = file;

	must(host && session && f->op == op && !f->asked && !f->staged);
	must(!f->size == !digest);
	f->asked = ASKED_STAGE;
}

static void file_commit(void *host, void *file, uint64_t session, uint64_t op)
{
	struct world_file *f = file;

	/* without all of its data staged it would show a torn file */
	must(host && session && f->op == op && !f->asked && f->staged);
	f->asked = ASKED_COMMIT;
}

static void file_end(void *host, void *file)
{
	struct world *w = host;
	struct world_file **p = &w->files, *f = file;

	while (*p != f) {
		must(*p);
		p = &(*p)->next;
	}
	*p = f->next;
	while (f->pieces) {
		struct world_piece *o = f->pieces;

		f->pieces = o->next;
		free(o->read);
		free(o);
	}
	free(f->data);
	free(f);
}

static void event(void *host, void *ctx, uint64_t session, uint32_t number,
		  const void *buf, size_t len)
{
	uint8_t *copy = exact(buf, len); /* all of it can be read */

	(void) number;
	must(host && ctx && session);
	free(copy);
}

static void strobe(void *host, void *ctx, uint64_t session, uint64_t number,
		   const struct storm_rx *rx, const void *buf, size_t len)
{
	struct world *w = host;
	uint8_t *copy = exact(buf, len);

	must(ctx && session && len <= STORM_STROBE_MAX && number > w->strobe);
	must(rx->len == STORM_DATAGRAM_MIN + len);
	w->strobe = number;
	free(copy);
}

static void acked(void *host, void *ctx, uint8_t kind,
		  const struct storm_idset *ids)
{
	must(host && ctx && kind < STORM_REPORT_KINDS);
	must_be_set(ids, UINT32_MAX - 1);
}

static void requested(void *host, void *ctx, void *token,
		      enum storm_compare result, struct storm_outcome *out)
{
	struct world *w = host;

	must(ctx && token == &w->asked && w->asked > 0);
	must(result <= STORM_FAILED && out->state != STORM_PENDING);
	w->asked--;
	storm_outcome_clear(out);
}

static bool gather(void *host, void *ctx, uint64_t session, uint64_t id,
		   const void *query, size_t len, struct storm_gather_own *own)
{
	(void) host;
	(void) ctx;
	(void) session;
	(void) id;
	must(len <= STORM_GATHER_QUERY);
	must(!storm_gather_count(own, "asked", 5, 1));
	must(!storm_gather_value(own, "what", 4, query,
				 len % STORM_GATHER_DATA));
	return true;
}

static const struct storm_nm_ops host_ops = {
	.authenticate = authenticate,
	.session_open = session_open,
	.session_close = session_close,
	.file_begin = file_begin,
	.file_room = file_room,
	.file_write = file_write,
	.file_read = file_read,
	.file_stage = file_stage,
	.file_commit = file_commit,
	.file_end = file_end,
	.event = event,
	.strobe = strobe,
	.acked = acked,
	.requested = requested,
	.gather = gather,
};

static void answer_piece(struct world *w, struct world_file *f)
{
	struct world_piece *p = f->pieces;

	f->pieces = p->next;
	if (p->read)
		storm_nm_read(w->nm, w->host_session, f->op, p->off,
			      p->err ? NULL : p->read, p->len);
	else
		storm_nm_written(w->nm, w->host_session, f->op, p->off, p->len,
				 p->err, 0, w->now);
	free(p->read);
	free(p);
}

/* What was asked last is answered first, which is no order to rely on. */
void world_answer(struct world *w, int err)
{
	struct world_file *f = w->files;
	enum asked asked;

	while (f && !f->asked && !f->pieces)
		f = f->next;
	if (!f)
		return;
	if (f->pieces) { /* they come before the end of the file */
		answer_piece(w, f);
		return;
	}
	asked = f->asked;
	f->asked = ASKED_NOTHING;
	f->staged = f->staged || (asked == ASKED_STAGE && !err);
	if (asked == ASKED_BEGIN)
		storm_nm_begun(w->nm, w->host_session, f->op, err, 0, w->now);
	else if (asked == ASKED_STAGE)
		storm_nm_staged(w->nm, w->host_session, f->op, err, 0, w->now);
	else
		storm_nm_applied(w->nm, w->host_session, f->op, err, 0, w->now);
}

/* --------------------------------------------------------------------- OPEN --- */

static void begin_of(struct storm_begin *b, uint8_t flags)
{
	*b = (struct storm_begin) { .op = 1, .size = 2000 };
	if (!(flags & NM_MEMORY)) {
		b->to.kind = STORM_TARGET_FILE;
		b->to.path = strdup("/tmp/x");
	} else if (!(flags & NM_FILE)) {
		b->to.kind = STORM_TARGET_MEMORY;
	} else {
		b->to.kind = STORM_TARGET_SEGMENT;
		b->to.segment = 1;
		b->to.offset = SEGMENT - b->size;
		must(!storm_idset_add(&b->p, 2, WORLD_NODES - 3));
	}
}

static struct storm_open *open_made(uint8_t radix, uint8_t flags)
{
	struct storm_open *o = calloc(1, sizeof(*o));
	struct storm_node list[WORLD_NODES] = { 0 };
	char name[WORLD_NODES][16];

	must(o);
	o->job_id = 7;
	o->owner.port = o->group.port = 8383;
	o->multicast = flags & NM_MULTICAST;
	o->radix = 2 + radix % 63u;
	o->mtu = flags & NM_NARROW ? STORM_MTU_MIN : 1472;
	o->window = 65536;
	o->dead_timeout = 5 * STORM_SEC;
	o->op_timeout = 30 * STORM_SEC;
	o->heartbeat = STORM_SEC;
	o->epoch = 1;
	o->count = WORLD_NODES;
	for (uint32_t i = 0; i < o->count; i++) {
		snprintf(name[i], sizeof(name[i]), "n%u", i + 1);
		list[i].name = name[i];
		list[i].addr.ip[15] = (uint8_t) i;
		list[i].addr.port = 8383;
	}
	must(!storm_nodes_make(&o->nodes, list, o->count));
	o->has_begin = flags & (NM_FILE | NM_MEMORY);
	if (o->has_begin)
		begin_of(&o->begin, flags);
	if (flags & NM_CLUSTER) {
		o->cluster = 5;
		o->founding = true;
	}
	return o;
}

/* An OPEN of this kind is made once: the same would come out again. */
static const struct storm_open *open_of(uint8_t radix, uint8_t flags)
{
	static struct made {
		struct storm_open *o;
		uint8_t payload[sizeof(world_payload)];
	} made[63][2 * NM_OPEN_FLAGS + 2];
	uint8_t which = (flags & NM_OPEN_FLAGS) |
			(flags & NM_CLUSTER ? NM_OPEN_FLAGS + 1 : 0);
	struct made *m = &made[radix % 63u][which];

	if (!m->o) {
		m->o = open_made(radix, flags);
		must(!storm_open_seal(m->o, 0));
		memcpy(m->payload, world_payload, sizeof(world_payload));
	}
	memcpy(world_payload, m->payload, sizeof(world_payload));
	return m->o;
}

/* One Node Manager serves one session after the other, but has no memory of
 * them: that is what it had when it was new. */
static struct storm_nm *manager, blank;

static uint8_t *segment(void)
{
	static uint8_t *bytes;

	if (!bytes)
		bytes = malloc(SEGMENT);
	must(bytes);
	return bytes;
}

static struct storm_nm *manager_of(struct world *w)
{
	struct storm_settings set;
	int err;

	if (!manager) {
		storm_settings_default(&set);
		manager = storm_nm_create(&set, &w->transport, &host_ops, w,
					  &err);
		must(manager);
		must(!storm_nm_segment(manager, 1, segment(), SEGMENT));
		blank = *manager;
	}
	*manager = blank;
	manager->t = &w->transport;
	manager->host = w;
	return manager;
}

/* It has nothing left but its counters. */
static void manager_rests(struct world *w)
{
	while (w->nm->pending)
		storm_nm_admit(w->nm, w->nm->pending->ticket, NULL,
			       STORM_ECLOSED, w->now);
	must(!w->nm->budget.bytes && !w->nm->budget.users);
	free(w->nm->budget.user);
	w->nm->budget.user = NULL;
	must(!w->nm->sessions && !w->nm->stage && !w->nm->stage_of &&
	     !w->nm->pass_of);
}

void world_create(struct world *w)
{
	static struct sealer sealer;

	world_init();
	memset(w, 0, sizeof(*w));
	w->transport.ops = &net;
	w->now = 1000 * STORM_SEC;
	w->sealer = &sealer;
	w->nm = manager_of(w);
}

void world_destroy(struct world *w)
{
	storm_nm_destroy(w->nm);
	manager = NULL;
	free(w->stream);
	must(!w->sessions && !w->files && !w->asked);
}

enum storm_err world_stream(struct world *w, const void *buf, size_t len,
			    int err)
{
	struct storm_open *got = NULL;
	uint64_t ticket = w->ticket;
	int wrong;

	w->verdict = STORM_ERROR_END;
	w->waiting++;
	storm_nm_stream(w->nm, ++w->streams, buf, len, w->now);
	if (w->ticket != ticket) {
		wrong = storm_open_verify(w->stream, w->stream_len, &got);
		storm_nm_admit(w->nm, w->ticket, got, wrong ? wrong : err,
			       w->now);
	}
	return w->verdict;
}

enum storm_err world_open(struct world *w, const struct storm_open *o,
			  uint32_t self, int err)
{
	uint64_t session = w->session;
	size_t len;
	uint8_t *stream = storm_open_stream(o, self, &len);

	must(stream);
	if (!w->sessions)
		w->host_session = o->session;
	w->opened[w->owners] = o->session;
	w->session = o->session;
	w->self = self;
	world_stream(w, stream, len, err);
	free(stream);
	if (w->verdict == STORM_ESUPERSEDED)
		w->session = session; /* it still serves the last session */
	sealer_set(w->sealer, o->key, w->session);
	w->sealer->epoch = w->epoch;
	return w->verdict;
}

void world_start(struct world *w, struct storm_in *head)
{
	uint32_t self = storm_get8(head) % WORLD_NODES;
	uint8_t radix = storm_get8(head), flags = storm_get8(head);
	bool refused = flags & NM_REFUSED;

	world_create(w);
	w->alone = flags & NM_ALONE;
	w->refused = refused;
	w->killed = flags & (NM_KILLED | NM_CLUSTER);
	w->cluster = flags & NM_CLUSTER;
	w->epoch = 1;
	must(world_open(w, open_of(radix, flags), self,
			refused ? STORM_EACCES : STORM_OK) ==
	     (refused ? STORM_EACCES : STORM_OK));
	must(w->sessions == !refused && !w->waiting);
}

/* The next owner of the cluster domain. */
static void take_over(struct world *w, uint8_t what)
{
	uint32_t epoch = w->epoch + !(what & 1) * 0x10000u;
	enum storm_err err;
	struct storm_open *o;

	if (!w->cluster || w->owners == WORLD_OWNERS)
		return;
	o = open_made(3, what & 8 ? NM_FILE : 0);
	o->cluster = 5;
	o->founding = what & 4;
	o->epoch = epoch;
	o->nonce[0] = ++w->owners;
	if (what & 2)
		must(!storm_idset_add(&o->excluded, w->self, w->self));
	must(!storm_open_seal(o, 0));
	w->epoch = epoch;
	err = world_open(w, o, w->self, what & 0x10 ? STORM_EACCES : STORM_OK);
	/* in the same epoch there may be no node left */
	must(!err || (what & 1 && err == STORM_ESUPERSEDED) ||
	     (what & 0x10 && err == STORM_EACCES));
	storm_open_free(o);
}

/* One more OPEN.  Never a second session: there is one key to seal with. */
static void open_again(struct world *w, uint8_t what)
{
	uint8_t *buf = exact(w->stream, w->stream_len);
	size_t len = w->stream_len;
	uint64_t ticket = w->ticket;

	if (what & 1)
		buf[len - 1] ^= what; /* the last port */
	w->waiting++;
	storm_nm_stream(w->nm, ++w->streams, buf, len, w->now);
	free(buf);
	w->nobody_waits = what & 2;
	if (w->ticket != ticket && what & 4)
		storm_nm_admit(w->nm, w->ticket, NULL,
			       what & 8 ? STORM_EVERSION : STORM_EAUTH, w->now);
	w->nobody_waits = false;
}

/* What was received together, one behind the other as in a socket's buffer. */
static void hand_over(struct world *w)
{
	size_t len = 0;
	uint8_t *buf, *p;

	if (!w->received)
		return;
	for (int i = 0; i < w->received; i++)
		len += w->rx[i].len;
	p = buf = malloc(len ? len : 1);
	must(buf);
	for (int i = 0; i < w->received; i++) {
		struct storm_rx *rx = &w->rx[i];

		memcpy(p, rx->buf, rx->len);
		free(rx->buf);
		w->bytes_in += rx->len;
		w->datagrams_in++;
		rx->buf = p;
		p += rx->len;
	}
	storm_nm_datagrams(w->nm, w->rx, (size_t) w->received, w->now);
	w->received = 0;
	free(buf);
}

void world_receive(struct world *w, struct storm_rx *rx)
{
	w->rx[w->received++] = *rx;
	hand_over(w);
}

/* Scripts would be long if the bytes were in them. */
static bool data_next(struct world *w, struct storm_in *script,
		      struct storm_rx *rx)
{
	uint8_t sender = storm_get8(script), how = storm_get8(script);
	struct storm_header h = { .type = STORM_MSG_DATA,
				  .epoch = w->sealer->epoch,
				  .op = storm_get8(script) };
	uint64_t off = storm_get16(script) * 10u;
	size_t len = storm_get16(script) % (DATA_MAX + 1u);
	uint8_t body[8 + DATA_MAX];
	struct storm_out o = { body, body + 8, false };

	storm_put64(&o, off);
	memset(body + 8, (int) off, len);
	sealer_make(w->sealer, sender < WORLD_NODES ? sender : WORLD_NODES, how,
		    &h, body, 8 + len, rx);
	return how & HOW_MORE;
}

static void datagram(struct world *w, struct storm_in *script, bool data)
{
	struct storm_rx *rx = &w->rx[w->received++];
	bool more = data ? data_next(w, script, rx) :
			   sealer_next(w->sealer, script, WORLD_NODES, rx);

	if (!more || w->received == WORLD_BATCH)
		hand_over(w);
}

static void report(struct world *w, struct storm_in *script)
{
	uint8_t kind = storm_get8(script), code = storm_get8(script);
	uint32_t first = storm_get8(script);
	struct storm_idset ids = { 0 };

	must(!storm_idset_add(&ids, first, first + storm_get8(script)));
	storm_nm_report(w->nm, w->host_session, kind, code, &ids, w->now);
	storm_idset_clear(&ids);
}

static void ask(struct world *w, uint8_t how, uint8_t n)
{
	struct storm_target to = { .kind = STORM_TARGET_SEGMENT, .segment = 1 };
	struct storm_assign write = { STORM_GLOBAL(n % 4), n };
	static const uint8_t bytes[255];
	struct storm_range r = { n % 20u, WORLD_NODES - 1 };
	struct storm_idset some = { &r, 1, 1 };
	struct storm_idset *p = how & 2 ? &some : NULL;
	int err;

	w->asked++;
	if (how & 1)
		err = storm_nm_xfer(w->nm, w->host_session, p, &to, bytes, n,
				    &w->asked);
	else
		err = storm_nm_compare(w->nm, w->host_session, p,
				       STORM_GLOBAL(0), n % (STORM_NE + 1u), n,
				       &write, &w->asked);
	w->asked -= err != STORM_OK;
}

void world_step(struct world *w, struct storm_in *script)
{
	uint8_t a, command = storm_get8(script) % NM_COMMANDS;

	if (command != NM_SEALED && command != NM_DATA)
		hand_over(w);
	switch (command) {
	case NM_SEALED:
		datagram(w, script, false);
		break;
	case NM_DATA:
		datagram(w, script, true);
		break;
	case NM_RAW:
		raw_next(script, w->session, &w->rx[w->received++]);
		hand_over(w);
		break;
	case NM_TIME:
		w->now += storm_get16(script) * STORM_MS;
		must(storm_nm_tick(w->nm, w->now) > 0);
		break;
	case NM_ANSWER:
		world_answer(w, storm_get8(script) % STORM_ERROR_END);
		break;
	case NM_REPORT:
		report(w, script);
		break;
	case NM_EXPECT:
		a = storm_get8(script);
		storm_nm_expect(w->nm, w->host_session, a, storm_get8(script));
		break;
	case NM_VAR:
		a = storm_get8(script);
		storm_nm_own_set(w->nm, w->host_session, a, storm_get8(script));
		break;
	case NM_FAILED:
		a = storm_get8(script);
		storm_nm_stream_failed(w->nm, w->session, a,
				       1 + storm_get8(script) %
						       (STORM_ERROR_END - 1),
				       0, w->now);
		break;
	case NM_TROUBLE:
		a = storm_get8(script);
		w->writes_fail = a & 1;
		w->no_room = a & 8;
		w->sends_fail = a & 2;
		break;
	case NM_OPEN:
		open_again(w, storm_get8(script));
		break;
	case NM_TAKE:
		take_over(w, storm_get8(script));
		break;
	case NM_ASK:
		a = storm_get8(script);
		ask(w, a, storm_get8(script));
	}
}

void world_end(struct world *w)
{
	struct storm_nm_stats st;

	hand_over(w);
	if (w->killed) {
		world_destroy(w);
		return;
	}
	for (int i = 0; i < 3; i++) {
		w->now += 10 * STORM_SEC;
		storm_nm_tick(w->nm, w->now);
	}
	must(!w->sessions && !w->files && !w->asked);
	free(w->stream);
	storm_nm_stats(w->nm, &st);
	/* OPENs that the host has not judged count; nothing is kept of one that
	 * it refused */
	must((int) st.sessions == w->waiting &&
	     st.sessions_total == !w->refused);
	manager_rests(w);
}
