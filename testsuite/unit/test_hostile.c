/*
 * test_hostile.c - a Node Manager under an owner that holds the key and seals
 * nonsense with it, and under neighbours that do.  The session key is the
 * user's: whatever he seals, the agent, which is root's and everybody's, lives
 * on, keeps its bounds, and serves the next session.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "cast.h"
#include "clock.h"
#include "credential.h"
#include "idset.h"
#include "open.h"
#include "reports.h"
#include "status.h"
#include "unit.h"

#define NODES 20
#define FILE_MAX 200000

/* ------------------------------------------------------------ the world --- */

struct host_file {
	uint64_t op, size;
	uint8_t *data;
	int waits;	/* for storm_nm_begun, _staged, _applied: 1, 2, 3 */
	struct host_file *next;
};

struct world {
	struct storm_transport transport;
	struct storm_nm *nm;
	struct rnd r;
	uint64_t now, session;
	struct storm_open *open;	/* the owner's, with the key */
	uint32_t self;
	uint64_t ticket;
	void *stream;
	size_t stream_len;
	uint64_t waits, streams;	/* the stream without a verdict; all */
	enum storm_err verdict;
	bool hung_up;			/* its sender */
	struct host_file *files;
	int open_sessions, contexts;
	uint64_t sent;
	/* senders: the owner is the last one */
	uint8_t incarnation[STORM_INCARNATION_LEN];
	struct storm_seal *seal[NODES + 1][STORM_LANES];
	uint64_t sequence;
	uint64_t op, version;
};

static int net_send(struct storm_transport *t, enum storm_class c,
		    const struct storm_addr *to, const void *buf, size_t len,
		    size_t seg)
{
	struct world *w = (struct world *) t;
	const uint8_t *p = buf;

	(void) c;
	must(to->port && len && seg);
	for (size_t at = 0; at < len; at += seg) {	/* all are datagrams */
		struct storm_header h;

		must(!storm_header_unpack(&h, p + at, len - at < seg ?
					  len - at : seg));
		must(h.session == w->session);
	}
	w->sent++;
	return below(&w->r, 20) ? 0 : -11;
}

static int net_stream(struct storm_transport *t, const struct storm_addr *to,
		      uint64_t session, uint32_t node, const void *buf,
		      size_t len)
{
	(void) t;
	(void) to;
	must(session && node < NODES && buf && len);
	return 0;
}

static void net_end_stream(struct storm_transport *t, uint64_t stream,
			   enum storm_err err)
{
	struct world *w = (struct world *) t;

	must(stream && stream == w->waits);	/* once for each */
	w->waits = 0;
	w->verdict = err;
}

static bool net_stream_waits(struct storm_transport *t, uint64_t stream)
{
	struct world *w = (struct world *) t;

	must(stream && stream == w->waits);
	return !w->hung_up;
}

static void net_drop_streams(struct storm_transport *t, uint64_t session)
{
	must(session && session == ((struct world *) t)->session);
}

static size_t net_mtu(struct storm_transport *t)
{
	(void) t;
	return 1472;
}

static const struct storm_transport_ops net = {
	.name = "test", .send = net_send, .send_stream = net_stream,
	.end_stream = net_end_stream, .stream_waits = net_stream_waits,
	.drop_streams = net_drop_streams, .mtu = net_mtu,
};

/* ------------------------------------------------------------- the host --- */

static void authenticate(void *host, uint64_t ticket, void *buf, size_t len)
{
	struct world *w = host;

	w->ticket = ticket;
	w->stream = buf;
	w->stream_len = len;
}

static void session_open(void *host, uint64_t session,
			 const struct storm_open_info *info, void **ctx)
{
	struct world *w = host;

	must(session == w->session && info->self == w->self);
	*ctx = malloc(1);	/* the sanitizers see it kept or used too long */
	must(*ctx);
	w->open_sessions++;
}

static void session_close(void *host, void *ctx)
{
	free(ctx);
	((struct world *) host)->open_sessions--;
}

static void file_begin(void *host, void *ctx, uint64_t session, uint64_t op,
		       const struct storm_target *to, uint64_t size,
		       void **file)
{
	struct world *w = host;
	struct host_file *f = calloc(1, sizeof(*f));

	must(f && ctx && session == w->session && op && to->path);
	f->op = op;
	f->size = size;
	f->data = size <= FILE_MAX ? malloc(size + 1) : NULL;
	f->waits = 1;
	f->next = w->files;
	w->files = f;
	*file = f;
}

static int file_write(void *host, void *file, uint64_t off, const void *buf,
		      size_t len)
{
	struct host_file *f = file;

	must(host && len && len <= f->size && off <= f->size - len);
	if (f->data)
		memcpy(f->data + off, buf, len);
	return below(&((struct world *) host)->r, 200) ? 0 : 28;
}

static int file_read(void *host, void *file, uint64_t off, void *buf,
		     size_t len)
{
	struct host_file *f = file;

	must(host && len && len <= f->size && off <= f->size - len);
	if (f->data)
		memcpy(buf, f->data + off, len);
	else
		memset(buf, 0, len);
	return 0;
}

static void file_stage(void *host, void *file, uint64_t session, uint64_t op)
{
	struct host_file *f = file;

	must(host && session && f->op == op);
	f->waits = 2;
}

static void file_commit(void *host, void *file, uint64_t session, uint64_t op)
{
	struct host_file *f = file;

	/* a commit without all of its data staged would show a torn file */
	must(host && session && f->op == op && f->waits == 0);
	f->waits = 3;
}

static void file_end(void *host, void *file)
{
	struct world *w = host;
	struct host_file **p = &w->files, *f = file;

	while (*p != f) {
		must(*p);
		p = &(*p)->next;
	}
	*p = f->next;
	free(f->data);
	free(f);
}

static void event(void *host, void *ctx, uint64_t session, uint32_t number,
		  const void *buf, size_t len)
{
	uint32_t sum = 0;

	(void) number;
	must(host && ctx && session);
	for (size_t i = 0; i < len; i++)
		sum += ((const uint8_t *) buf)[i];
	must(sum < UINT32_MAX);
}

static void acked(void *host, void *ctx, uint8_t kind,
		  const struct storm_idset *ids)
{
	must(host && ctx && kind < 8 && ids);
}

static const struct storm_nm_ops host_ops = {
	.authenticate = authenticate,
	.session_open = session_open, .session_close = session_close,
	.file_begin = file_begin, .file_write = file_write,
	.file_read = file_read, .file_stage = file_stage,
	.file_commit = file_commit, .file_end = file_end,
	.event = event, .acked = acked,
};

/* The host answers when it likes. */
static void host_answers(struct world *w)
{
	for (struct host_file *f = w->files; f; f = f->next) {
		int waits = f->waits, err = below(&w->r, 10) ? 0 : STORM_ESYS;

		if (!waits || below(&w->r, 4))
			continue;
		f->waits = 0;
		if (waits == 1)
			storm_nm_begun(w->nm, w->session, f->op, err, 0,
				       w->now);
		else if (waits == 2)
			storm_nm_staged(w->nm, w->session, f->op, err, 0,
					w->now);
		else
			storm_nm_applied(w->nm, w->session, f->op, err, 0,
					 w->now);
		return;		/* f may be gone */
	}
}

/* ----------------------------------------------------------------- OPEN --- */

/* One process is all there is: the payload need not hide. */
static uint8_t payload_kept[STORM_KEY_LEN + 32];

static int keep(uint32_t uid, const void *payload, size_t len, char **cred)
{
	(void) uid;
	must(len == sizeof(payload_kept));
	memcpy(payload_kept, payload, len);
	*cred = strdup("kept");
	return STORM_OK;
}

static int give(const char *cred, void **payload, size_t *len, uint32_t *uid,
		uint32_t *gid)
{
	if (strcmp(cred, "kept"))
		return STORM_EAUTH;
	*payload = exact(payload_kept, sizeof(payload_kept));
	*len = sizeof(payload_kept);
	*uid = *gid = 1000;
	return STORM_OK;
}

static const struct storm_credential_ops pair = { keep, give };

static void begin_random(struct world *w, struct storm_begin *b)
{
	bool file = below(&w->r, 3);
	uint64_t size = below(&w->r, 20000);

	if (!below(&w->r, 10))
		size = below(&w->r, 2) ? 0 : rnd64(&w->r) >> 1 >>
					     below(&w->r, 40);
	memset(b, 0, sizeof(*b));
	b->op = ++w->op;
	b->size = size;
	b->to.kind = file ? STORM_TARGET_FILE : STORM_TARGET_MEMORY;
	b->to.path = file ? "/tmp/x" : NULL;
}

static void world_open(struct world *w)
{
	struct storm_open *o = calloc(1, sizeof(*o)), *got = NULL;
	uint8_t *stream;
	size_t len;

	must(o);
	w->open = o;
	w->op = w->version = w->sequence = 0;
	o->job_id = (uint32_t) rnd64(&w->r);	/* each session is another */
	o->owner.port = o->group.port = 8383;
	o->multicast = below(&w->r, 2);
	o->radix = 2 + below(&w->r, 4);
	o->mtu = below(&w->r, 3) ? 1472 : STORM_MTU_MIN;
	o->window = 65536;
	o->dead_timeout = 5 * STORM_SEC;
	o->heartbeat = STORM_SEC;
	o->epoch = 1;
	o->count = NODES;
	o->nodes = calloc(NODES, sizeof(*o->nodes));
	must(o->nodes);
	for (uint32_t i = 0; i < NODES; i++) {
		o->nodes[i].name = strdup("n");
		o->nodes[i].addr.port = 8383;
	}
	o->has_begin = below(&w->r, 2);
	if (o->has_begin) {
		begin_random(w, &o->begin);
		if (o->begin.to.path)
			o->begin.to.path = strdup(o->begin.to.path);
	}
	must(!storm_open_seal(o, 0));
	w->session = o->session;
	w->self = below(&w->r, NODES);
	rnd_fill(&w->r, w->incarnation, sizeof(w->incarnation));
	for (uint32_t i = 0; i <= NODES; i++)
		for (int lane = 0; lane < STORM_LANES; lane++) {
			w->seal[i][lane] = storm_seal_create(o->key,
				w->incarnation, o->session,
				i == NODES ? STORM_NO_NODE : i,
				(enum storm_lane) lane);
			must(w->seal[i][lane]);
		}
	stream = storm_open_stream(o, w->self, &len);
	must(stream);
	w->waits = ++w->streams;
	storm_nm_stream(w->nm, w->waits, stream, len, w->now);
	free(stream);
	must(w->waits && w->stream &&
	     !storm_open_verify(w->stream, w->stream_len, &got));
	free(w->stream);
	w->stream = NULL;
	storm_nm_admit(w->nm, w->ticket, got, STORM_OK, w->now);
	must(w->open_sessions == !w->hung_up && !w->waits);
	must(!w->verdict == !w->hung_up);
}

static void world_close(struct world *w)
{
	for (uint32_t i = 0; i <= NODES; i++)
		for (int lane = 0; lane < STORM_LANES; lane++)
			storm_seal_destroy(w->seal[i][lane]);
	storm_open_free(w->open);
}

/* -------------------------------------------------------------- nonsense --- */

static void set_random(struct world *w, struct storm_idset *s, uint32_t max)
{
	for (uint32_t n = below(&w->r, 4); n; n--) {
		uint32_t first = below(&w->r, max);

		must(!storm_idset_add(s, first, first));
	}
}

static size_t cast_random(struct world *w, uint8_t *buf, size_t max)
{
	struct storm_out o = { buf, buf + max, false };
	struct storm_cast c = { 0 };
	struct storm_idset ids = { 0 };
	struct storm_begin b;
	uint8_t whole[256];
	size_t len, part;

	switch (below(&w->r, 4)) {
	case 0:
		begin_random(w, &b);
		len = storm_begin_pack(&b, whole, sizeof(whole));
		part = below(&w->r, 2) ? len : 1 + below(&w->r, 100);
		storm_put8(&o, STORM_CAST_BEGIN);
		storm_put16(&o, 0);
		storm_put16(&o, (uint16_t) (below(&w->r, 2) ? 1 :
				below(&w->r, 40)));
		storm_put(&o, whole, part < len ? part : len);
		break;
	case 1:
		storm_put8(&o, STORM_CAST_ACKED);
		storm_put8(&o, (uint8_t) below(&w->r, 10));
		set_random(w, &ids, 1000);
		storm_put_idset(&o, &ids);
		storm_idset_clear(&ids);
		break;
	default:
		c.version = w->version += below(&w->r, 3);
		c.flags = (uint8_t) below(&w->r, 8) & ~STORM_CAST_CLOSING;
		c.heartbeat = below(&w->r, 100);
		c.op = w->op ? w->op - below(&w->r, 10) / 9 : 0;
		c.size = w->open->begin.size;
		c.chunk = below(&w->r, 8) ? 256 + below(&w->r, 8) * 100 : 0;
		if (below(&w->r, 4) == 0)
			c.size = below(&w->r, 20000);
		c.sent = below(&w->r, 2) ? c.size : 0;
		c.decision = (uint8_t) (below(&w->r, 6) / 4 *
					(1 + below(&w->r, 2)));
		c.cmp = below(&w->r, 5);
		c.cmp_var = (uint8_t) below(&w->r, 8);
		c.cmp_rel = (uint8_t) below(&w->r, 4);
		if (below(&w->r, 10) == 0)
			set_random(w, &c.excluded, NODES);
		len = storm_cast_pack(&c, buf, max);
		storm_cast_free(&c);
		return len;
	}
	return (size_t) (o.p - buf);
}

static size_t data_random(struct world *w, uint8_t *buf, size_t max)
{
	struct storm_out o = { buf, buf + max, false };
	static const size_t lens[] = { 0, 1, 255, 256, 356, 456, 556, 1000 };
	size_t len = lens[below(&w->r, 8)];
	uint64_t off = below(&w->r, 60) * (len ? len : 256);

	if (!below(&w->r, 10))
		off = rnd64(&w->r) >> below(&w->r, 64);
	storm_put64(&o, off);
	memset(o.p, 0x77, len);
	return 8 + len;
}

static size_t status_random(struct world *w, uint8_t *buf, size_t max)
{
	struct storm_status s = {
		.version = below(&w->r, 1000), .op = w->op,
		.phase = (uint8_t) below(&w->r, 4),
		.flags = (uint8_t) below(&w->r, 5),
		.progress = rnd64(&w->r) >> below(&w->r, 64),
		.cmp = below(&w->r, 5), .mtu = 332 + below(&w->r, 1500),
		.seen = below(&w->r, 20),
	};
	size_t len;

	set_random(w, &s.missing, NODES);
	for (uint32_t n = below(&w->r, 40); n; n--)
		storm_status_fault(&s, below(&w->r, NODES),
				   1 + below(&w->r, 17), 5);
	len = storm_status_pack(&s, buf, max);
	storm_status_free(&s);
	return len;
}

static size_t other_random(struct world *w, uint8_t type, uint8_t *buf,
			   size_t max)
{
	struct storm_out o = { buf, buf + max, false };
	struct storm_idset ids = { 0 };
	uint32_t n;

	switch (type) {
	case STORM_MSG_NACK:
		n = below(&w->r, 6);
		storm_put32(&o, below(&w->r, 5) ? n : (uint32_t) rnd64(&w->r));
		for (; n; n--) {
			uint64_t first = below(&w->r, 80);

			storm_put64(&o, first);
			storm_put64(&o, below(&w->r, 9) ? first +
				    below(&w->r, 80) : rnd64(&w->r));
		}
		break;
	case STORM_MSG_REPORT:
		n = below(&w->r, 3);
		storm_put64(&o, below(&w->r, 50));
		storm_put16(&o, (uint16_t) (n ? 0 : below(&w->r, 4)));
		storm_put16(&o, (uint16_t) (n ? 1 : below(&w->r, 5)));
		storm_put32(&o, n ? 200 : below(&w->r, 300));
		for (n = below(&w->r, 4); n; n--) {
			storm_put8(&o, (uint8_t) below(&w->r, 10));
			storm_put32(&o, below(&w->r, 5));
			set_random(w, &ids, 1000);
			storm_put_idset(&o, &ids);
			storm_idset_clear(&ids);
		}
		break;
	default:
		storm_put64(&o, below(&w->r, 60));
	}
	return (size_t) (o.p - buf);
}

/* Sealed by this node, or by the owner (NODES). */
static void send_as(struct world *w, uint32_t who, uint8_t type,
		    uint32_t epoch, uint64_t op, const void *body, size_t len)
{
	enum storm_lane lane = type == STORM_MSG_DATA ? STORM_LANE_DATA :
							STORM_LANE_CONTROL;
	uint8_t *buf = malloc(STORM_HEADER_LEN + len + STORM_TAG_LEN);
	struct storm_header h = {
		.type = type, .epoch = epoch, .session = w->session,
		.sender = who == NODES ? STORM_NO_NODE : who,
		.sequence = ++w->sequence, .op = op,
	};
	struct storm_rx rx = { buf, STORM_HEADER_LEN + len + STORM_TAG_LEN,
			       false };

	must(buf);
	memcpy(h.incarnation, w->incarnation, sizeof(h.incarnation));
	storm_header_pack(&h, buf);
	must(!storm_seal_seal(w->seal[who][lane], buf, h.sequence, body, len,
			      buf + STORM_HEADER_LEN));
	storm_nm_datagrams(w->nm, &rx, 1, w->now);
	free(buf);
}

static void send_random(struct world *w)
{
	uint8_t *buf = malloc(STORM_DATAGRAM_MAX);
	uint8_t *body = buf + STORM_HEADER_LEN, *rxbuf;
	size_t max = 1300, len;
	uint8_t type = (uint8_t) (1 + below(&w->r, 6));
	enum storm_lane lane = type == STORM_MSG_DATA ? STORM_LANE_DATA :
							STORM_LANE_CONTROL;
	uint32_t who = type <= STORM_MSG_DATA && below(&w->r, 10) ? NODES :
		       below(&w->r, NODES + 1);
	struct storm_header h = {
		.type = type, .flags = (uint16_t) (below(&w->r, 4) == 0),
		.epoch = below(&w->r, 20) ? 1 : below(&w->r, 4),
		.session = w->session,
		.sender = who == NODES ? STORM_NO_NODE : who,
		.sequence = ++w->sequence,
		.op = below(&w->r, 20) ? w->op : rnd64(&w->r),
	};
	struct storm_rx rx;

	must(buf);
	memcpy(h.incarnation, w->incarnation, sizeof(h.incarnation));
	len = type == STORM_MSG_CAST ? cast_random(w, body, max) :
	      type == STORM_MSG_DATA ? data_random(w, body, max) :
	      type == STORM_MSG_STATUS ? status_random(w, body, max) :
					 other_random(w, type, body, max);
	must(len);
	if (!below(&w->r, 6))		/* bits, lengths */
		for (uint32_t n = 1 + below(&w->r, 3); n; n--)
			body[below(&w->r, (uint32_t) len)] =
				(uint8_t) rnd64(&w->r);
	if (!below(&w->r, 12))
		len = below(&w->r, (uint32_t) len + 1);
	storm_header_pack(&h, buf);
	must(!storm_seal_seal(w->seal[who][lane], buf, h.sequence, body, len,
			      body));
	rx.len = STORM_HEADER_LEN + len + STORM_TAG_LEN;
	rx.buf = rxbuf = exact(buf, rx.len);
	rx.group = below(&w->r, 2);
	storm_nm_datagrams(w->nm, &rx, 1, w->now);
	free(rxbuf);
	free(buf);
}

/* An owner that is gone before it is let in: no session is made, for nobody
 * would ever close it. */
static void world_hang_up(struct world *w)
{
	w->hung_up = true;
	world_open(w);
	w->hung_up = false;
	world_close(w);
}

static void quiet(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

START_TEST(test_nonsense)
{
	struct world w = { .transport.ops = &net, .now = 1000 * STORM_SEC,
			   .r = rnd_of(_i) };
	struct storm_settings set;
	struct storm_nm_stats st;
	int err;

	storm_log_set(quiet);
	storm_credential_use(&pair);
	storm_settings_default(&set);
	w.nm = storm_nm_create(&set, &w.transport, &host_ops, &w, &err);
	must(w.nm);
	for (int session = 0; session < 3; session++) {
		world_hang_up(&w);
		world_open(&w);
		for (int i = 0; i < 1500 && w.open_sessions; i++) {
			struct storm_idset ids = { 0 };

			send_random(&w);
			host_answers(&w);
			if (!below(&w.r, 20)) {
				set_random(&w, &ids, 100);
				storm_nm_report(w.nm, w.session,
						(uint8_t) below(&w.r, 9), 0,
						&ids, w.now);
				storm_idset_clear(&ids);
			}
			w.now += below(&w.r, 10) ? below(&w.r, 5 * STORM_MS) :
				 below(&w.r, 200 * STORM_MS);
			if (!below(&w.r, 3))
				must(storm_nm_tick(w.nm, w.now) > 0);
		}
		/* the owner is gone: so is its session, soon */
		for (int i = 0; i < 200 && w.open_sessions; i++) {
			w.now += STORM_SEC / 10;
			storm_nm_tick(w.nm, w.now);
		}
		must(!w.open_sessions && !w.files);
		storm_nm_stats(w.nm, &st);
		must(st.sessions == 0 && st.sessions_total ==
		     (uint64_t) session + 1);
		must(st.rx_datagrams && !st.bad_seal);
		world_close(&w);
	}
	must(w.sent);
	storm_nm_destroy(w.nm);
}
END_TEST

/* What a stream is answered; the host checks it if it is asked to. */
static enum storm_err offer(struct world *w, const uint8_t *buf, size_t len)
{
	struct storm_open *got = NULL;
	int err;

	w->stream = NULL;
	w->verdict = STORM_ERANGE_;
	w->waits = ++w->streams;
	storm_nm_stream(w->nm, w->waits, buf, len, w->now);
	if (!w->stream) {
		must(!w->waits);
		return w->verdict;
	}
	err = storm_open_verify(w->stream, w->stream_len, &got);
	free(w->stream);
	must(w->waits);
	storm_nm_admit(w->nm, w->ticket, got, err, w->now);
	must(!w->waits);
	return w->verdict;
}

/* Of another version: told so if it is known who asks, and only then. */
START_TEST(test_version)
{
	struct world w = { .transport.ops = &net, .now = 1000 * STORM_SEC,
			   .r = rnd_of(1) };
	struct storm_settings set;
	struct storm_nm_stats st;
	uint8_t *p;
	size_t len;
	int err;

	storm_log_set(quiet);
	storm_credential_use(&pair);
	storm_settings_default(&set);
	w.nm = storm_nm_create(&set, &w.transport, &host_ops, &w, &err);
	must(w.nm);
	world_open(&w);
	p = storm_open_stream(w.open, 1, &len);
	must(p);
	ck_assert_int_eq(offer(&w, p, len), STORM_OK);	/* the same again */
	p[len - 1] ^= 1;		/* another body: not what was signed */
	ck_assert_int_eq(offer(&w, p, len), STORM_EAUTH);
	p[5] = STORM_WIRE_VERSION + 1;
	ck_assert_int_eq(offer(&w, p, len), STORM_EAUTH);
	p[16] ^= 1;			/* a credential that nobody made */
	ck_assert_int_eq(offer(&w, p, len), STORM_EAUTH);
	p[16] ^= 1;
	ck_assert_int_eq(offer(&w, p, len - 1), STORM_EAUTH);
	ck_assert_int_eq(offer(&w, p, 6), STORM_EAUTH);
	ck_assert_int_eq(offer(&w, (const uint8_t *) "GET /", 5),
			 STORM_EAUTH);
	storm_nm_stats(w.nm, &st);
	ck_assert_uint_eq(st.sessions_total, 1);
	ck_assert_uint_eq(st.opens_refused, 6);
	free(p);
	world_close(&w);

	/* rightly signed */
	w.open = NULL;
	for (int version = 0; version < 300; version += 1 + version / 4) {
		char cred[] = "kept";
		struct storm_open o = { .count = 1, .cred = cred };
		uint8_t body[40] = "whatever that version has here";

		if (version == STORM_WIRE_VERSION)
			continue;
		body[39] = (uint8_t) version;
		o.body = body;
		o.body_len = sizeof(body);
		storm_sha256(body, sizeof(body), payload_kept + STORM_KEY_LEN);
		p = storm_open_stream(&o, 0, &len);
		must(p);
		p[4] = (uint8_t) (version >> 8);
		p[5] = (uint8_t) version;
		ck_assert_int_eq(offer(&w, p, len), STORM_EVERSION);
		/* and again: it is not taken for one that is known */
		ck_assert_int_eq(offer(&w, p, len), STORM_EVERSION);
		free(p);
	}
	storm_nm_destroy(w.nm);
	ck_assert_int_eq(w.open_sessions, 0);
}
END_TEST

/* The owner says its state of the operation 1, of two chunks of 1000 bytes. */
static void say_state(struct world *w, uint32_t epoch, uint32_t without)
{
	struct storm_cast c = { .version = ++w->version, .op = 1,
				.size = 2000, .chunk = 1000, .sent = 2000 };
	uint8_t body[200];
	size_t len;

	if (without < NODES)
		must(!storm_idset_add(&c.excluded, without, without));
	len = storm_cast_pack(&c, body, sizeof(body));
	must(len);
	send_as(w, NODES, STORM_MSG_CAST, epoch, 1, body, len);
	storm_cast_free(&c);
}

static void say_begin(struct world *w)
{
	struct storm_begin b = { .op = 1, .size = 2000, .to = { .kind = STORM_TARGET_MEMORY } };
	uint8_t body[200];
	struct storm_out o = { body, body + sizeof(body), false };

	storm_put8(&o, STORM_CAST_BEGIN);
	storm_put16(&o, 0);
	storm_put16(&o, 1);
	o.p += storm_begin_pack(&b, o.p, sizeof(body) - 5);
	send_as(w, NODES, STORM_MSG_CAST, 1, 1, body, (size_t) (o.p - body));
}

static void say_data(struct world *w, uint32_t who, uint64_t off)
{
	uint8_t body[8 + 1000] = { 0 };
	struct storm_out o = { body, body + 8, false };

	storm_put64(&o, off);
	send_as(w, who, STORM_MSG_DATA, 1, 1, body, sizeof(body));
}

/* Who is excluded repairs nobody. */
START_TEST(test_excluded)
{
	struct world w = { .transport.ops = &net, .now = 1000 * STORM_SEC,
			   .r = rnd_of(1) };
	struct storm_settings set;
	struct storm_nm_stats st;
	uint32_t other;
	int err;

	storm_log_set(quiet);
	storm_credential_use(&pair);
	storm_settings_default(&set);
	w.nm = storm_nm_create(&set, &w.transport, &host_ops, &w, &err);
	must(w.nm);
	do {			/* until an OPEN without a BEGIN */
		if (w.open) {
			storm_nm_destroy(w.nm);
			w.nm = storm_nm_create(&set, &w.transport, &host_ops,
					       &w, &err);
			must(w.nm);
			world_close(&w);
		}
		world_open(&w);
	} while (w.open->has_begin);
	other = (w.self + 1) % NODES;
	say_begin(&w);
	say_state(&w, 1, NODES);
	say_data(&w, other, 0);
	storm_nm_stats(w.nm, &st);
	ck_assert_uint_eq(st.data_new, 1);
	say_state(&w, 2, other);
	say_data(&w, other, 1000);
	storm_nm_stats(w.nm, &st);
	ck_assert_uint_eq(st.data_new, 1);
	ck_assert_uint_eq(st.fenced, 1);
	say_data(&w, (other + 1) % NODES == w.self ? NODES :
		 (other + 1) % NODES, 1000);
	storm_nm_stats(w.nm, &st);
	ck_assert_uint_eq(st.data_new, 2);
	storm_nm_destroy(w.nm);
	world_close(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hostile");
	TCase *t = tcase_create("hostile");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_version);
	tcase_add_test(t, test_excluded);
	tcase_add_loop_test(t, test_nonsense, 0, unit_runs(40));
	suite_add_tcase(s, t);
	return unit_main(s);
}
