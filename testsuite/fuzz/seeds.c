/*
 * seeds.c - write well-formed inputs with the product's own encoders, as the
 * fuzzer's first corpus: seeds FOLDER makes FOLDER/<decoder>/<name>.  Every run
 * makes them again, so they have today's wire format.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <sys/stat.h>

#include "slurm/slurm.h"
#include "src/common/slurm_protocol_common.h"
#include "src/common/slurm_protocol_defs.h"

#include "src/libstorm/transport/verbs/verbs_wire.h"
#include "src/libstorm/wire/cast.h"
#include "src/libstorm/wire/credential.h"
#include "src/libstorm/wire/gather.h"
#include "src/libstorm/wire/nodelist.h"
#include "src/libstorm/wire/reports.h"
#include "src/libstorm/wire/request.h"
#include "src/libstorm/wire/status.h"
#include "src/plugins/switch/storm/context/context.h"
#include "src/storm_common/gang_map.h"
#include "src/storm_common/local/local.h"
#include "src/storm_each/each_joblog.h"
#include "src/storm_each/pull_wire.h"
#include "src/storm_launcher/call.h"
#include "src/storm_launcher/pmi_wire.h"
#include "src/storm_launcher/px_wire.h"
#include "src/storm_launcher/run_list.h"
#include "src/storm_launcher/run_wire.h"
#include "src/storm_stack/stack_code.h"
#include "world.h"

#define SEED_MAX (1 << 16)

static const char *top;

/* One seed being written: a buffer, and where it goes. */
static uint8_t buf[SEED_MAX];
static struct storm_out o;

static void begin(void)
{
	o = (struct storm_out) { buf, buf + sizeof(buf), false };
}

static void make(const char *path)
{
	if (mkdir(path, 0777) && errno != EEXIST) {
		perror(path);
		exit(EXIT_FAILURE);
	}
}

static void end(const char *decoder, const char *name)
{
	char path[4096];
	FILE *f;

	must(!o.bad);
	snprintf(path, sizeof(path), "%s/%s", top, decoder);
	make(path);
	snprintf(path, sizeof(path), "%s/%s/%s", top, decoder, name);
	f = fopen(path, "wb");
	if (!f ||
	    fwrite(buf, 1, (size_t) (o.p - buf), f) != (size_t) (o.p - buf) ||
	    fclose(f)) {
		perror(path);
		exit(EXIT_FAILURE);
	}
}

static void room_used(size_t len)
{
	must(len && len <= (size_t) (o.end - o.p));
	o.p += len;
}

static size_t room(void)
{
	return (size_t) (o.end - o.p);
}

/* What some() reads; what it is the length of follows. */
static uint8_t *length(void)
{
	uint8_t *at = o.p;

	storm_put16(&o, 0);
	return at;
}

static void length_is(uint8_t *at)
{
	size_t n = (size_t) (o.p - at) - 2;

	at[0] = (uint8_t) (n >> 8);
	at[1] = (uint8_t) n;
}

static struct storm_idset set_of(const uint32_t *pair, size_t pairs)
{
	struct storm_idset s = { 0 };

	for (size_t i = 0; i < pairs; i++)
		must(!storm_idset_add(&s, pair[2 * i], pair[2 * i + 1]));
	return s;
}

/* -------------------------------------------------------------- the small --- */

static void wire(void)
{
	static const struct {
		const char *name;
		uint8_t type;
	} types[] = {
		{ "cast", STORM_MSG_CAST },
		{ "data", STORM_MSG_DATA },
		{ "status", STORM_MSG_STATUS },
		{ "nack", STORM_MSG_NACK },
		{ "report", STORM_MSG_REPORT },
		{ "report-ack", STORM_MSG_REPORT_ACK },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct storm_header h = {
			.type = types[i].type,
			.flags = i & 1,
			.epoch = 1,
			.session = 0x0123456789abcdefULL,
			.sender = 5,
			.sequence = 9,
			.op = 3,
		};

		begin();
		storm_header_pack(&h, o.p);
		room_used(STORM_HEADER_LEN);
		storm_put(&o, types, STORM_TAG_LEN);
		end("wire", types[i].name);
	}
	begin();
	storm_refusal_pack(STORM_EVERSION, o.p);
	room_used(STORM_REFUSAL_LEN);
	end("wire", "refusal-version");
	begin();
	storm_refusal_pack(STORM_EBUSY, o.p);
	room_used(STORM_REFUSAL_LEN);
	end("wire", "refusal-busy");
}

static void verbs(void)
{
	const struct verbs_hello hello = {
		4096, 0x1234567, { 17, 18 }, 0x0a4e0001
	};

	begin();
	storm_verbs_hello_pack(&hello, o.p);
	room_used(VERBS_HELLO_LEN);
	end("verbs", "hello");
}

static void idset(void)
{
	static const uint32_t some_of[] = { 0, 3, 7, 7, 100, 4000 };
	struct storm_idset s = set_of(some_of, 3);

	begin();
	storm_put32(&o, 65535);
	storm_put_idset(&o, &s);
	for (uint32_t i = 5; i--;) {
		storm_put32(&o, 10 * i);
		storm_put32(&o, 10 * i + 8);
	}
	end("idset", "three-and-five");
	begin();
	storm_put32(&o, UINT32_MAX);
	storm_put32(&o, 1);
	storm_put32(&o, 0);
	storm_put32(&o, UINT32_MAX);
	storm_put32(&o, UINT32_MAX);
	storm_put32(&o, UINT32_MAX);
	end("idset", "to-the-last");
	storm_idset_clear(&s);
}

static struct storm_node *nodes_made(uint32_t count, const char *format)
{
	struct storm_node *n = calloc(count, sizeof(*n));

	must(n);
	for (uint32_t i = 0; i < count; i++) {
		char name[64];

		snprintf(name, sizeof(name), format, i + 1);
		n[i].name = strdup(name);
		memset(n[i].addr.ip + 10, 0xff, 2);
		n[i].addr.ip[12] = 10;
		n[i].addr.ip[14] = (uint8_t) (i >> 8);
		n[i].addr.ip[15] = (uint8_t) i;
		n[i].addr.port = 8383;
	}
	return n;
}

static void nodes_unmade(struct storm_node *n, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free((char *) n[i].name);
	free(n);
}

static void nodelist(void)
{
	static const struct {
		const char *name, *format;
		uint32_t count;
	} list[] = {
		{ "one", "head", 1 },
		{ "run", "n%u", 120 },
		{ "padded", "node%04u-ib0", 5 },
		{ "wide", "r%03u", 300 },
		{ "last-number", "%u", 11 },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct storm_node *n =
			nodes_made(list[i].count, list[i].format);
		struct storm_nodes l;

		begin();
		must(!storm_nodes_make(&l, n, list[i].count));
		storm_nodes_put(&o, &l);
		end("nodelist", list[i].name);
		storm_nodes_free(&l);
		nodes_unmade(n, list[i].count);
	}
}

static struct storm_cast cast_like(uint64_t op, uint64_t size)
{
	return (struct storm_cast) {
		.version = 7,
		.flags = STORM_CAST_ASK,
		.op = op,
		.size = size,
		.chunk = 1000,
		.sent = size,
	};
}

/* Of what say_data() has sent as chunks, when all is sent. */
static void digest_of(struct storm_cast *c)
{
	struct storm_digest *d = storm_digest_create();
	uint8_t chunk[1000];

	must(d && c->chunk == sizeof(chunk));
	for (uint64_t off = 0; off < c->size; off += sizeof(chunk)) {
		memset(chunk, (int) off, sizeof(chunk));
		storm_digest_add(d, chunk, sizeof(chunk));
	}
	c->has_digest = c->size && c->sent == c->size;
	must(storm_digest_end(d, c->digest));
	storm_digest_destroy(d);
}

static void cast_one(const char *name, const struct storm_cast *c)
{
	uint8_t packed[512];
	size_t len = storm_cast_pack(c, packed, sizeof(packed));

	must(len);
	begin();
	storm_put16(&o, 7);
	storm_put(&o, packed + 1, len - 1); /* less the u8 what */
	end("cast", name);
}

static void cast(void)
{
	static const uint32_t out[] = { 1, 1, 3, 5 };
	struct storm_cast c = cast_like(1, 5000);

	cast_one("data", &c);
	digest_of(&c);
	cast_one("digest", &c);
	c.decision = STORM_COMMIT;
	c.cmp = 4;
	c.cmp_rel = STORM_NE;
	c.cmp_value = 1;
	c.excluded = set_of(out, 2);
	cast_one("all", &c);
	storm_cast_free(&c);
}

static struct storm_status status_like(uint64_t op, uint8_t phase)
{
	return (struct storm_status) {
		.version = 5,
		.op = op,
		.phase = phase,
		.flags = STORM_STATUS_MCAST,
		.progress = 4000,
		.mtu = 1472,
		.seen = 7,
	};
}

static void status_put(struct storm_status *s)
{
	uint8_t *at = length();

	room_used(storm_status_pack(s, o.p, 1400));
	length_is(at);
}

static void status(void)
{
	static const uint32_t out[] = { 1, 1, 3, 5 };
	struct storm_status a = status_like(1, STORM_PHASE_BEGUN);
	struct storm_status b = status_like(1, STORM_PHASE_STAGED);

	begin();
	storm_put16(&o, 19);
	storm_put8(&o, 0);
	storm_put16(&o, 500);
	storm_put64(&o, 1);
	storm_put8(&o, STORM_PHASE_BEGUN);
	storm_put16(&o, 0);
	storm_put8(&o, 3);
	status_put(&a);
	status_put(&b);
	end("status", "two");
	b.behind = set_of(out, 2);
	b.overdue = set_of(out, 1);
	for (uint32_t i = 8; i < 14; i++)
		storm_status_fault(&b, i, i % 2 ? STORM_ELOST : STORM_ESYS, 5);
	b.cmp = 3;
	b.cmp_false = true;
	status_put(&b);
	end("status", "faults");
	storm_status_free(&b);
}

static struct storm_reports reports_made(uint32_t codes)
{
	static const uint32_t ids[] = { 0, 3, 9, 9, 20, 90 };
	struct storm_reports r = { 0 };

	for (uint32_t i = 0; i < codes; i++) {
		struct storm_idset s = set_of(ids, 1 + i % 3);

		must(!storm_reports_add(&r, (uint8_t) (1 + i % 3), i * 256, &s,
					NULL));
		storm_idset_clear(&s);
	}
	return r;
}

static void reports(void)
{
	struct storm_reports r = reports_made(6);
	size_t len;
	uint8_t *whole = storm_reports_pack(&r, 0x6, &len);

	must(whole);
	begin();
	storm_put(&o, whole, len);
	end("reports", "six");
	begin();
	for (uint32_t k = 0; k < 2; k++)
		for (size_t at = 0; at < len; at += 64) {
			size_t n = len - at < 64 ? len - at : 64;
			uint8_t *l = length();

			storm_put64(&o, k + 1);
			storm_put16(&o, (uint16_t) (at / 64));
			storm_put16(&o, (uint16_t) ((len + 63) / 64));
			storm_put32(&o, 64);
			storm_put(&o, whole + at, n);
			length_is(l);
		}
	end("report_parts", "two-versions");
	free(whole);
	storm_reports_clear(&r);
}

static struct storm_begin begin_like(uint64_t op, uint64_t size, bool file)
{
	struct storm_begin b = { .op = op, .size = size };

	b.to.kind = file ? STORM_TARGET_FILE : STORM_TARGET_MEMORY;
	b.to.path = file ? "/tmp/a.out" : NULL;
	b.to.mode = file ? 0755 : 0;
	b.to.flags = file ? STORM_FILE_FORCE | STORM_FILE_TIMES : 0;
	b.to.remote_event = file ? 0 : 1;
	return b;
}

static void begins(void)
{
	struct storm_begin b = begin_like(1, 5000, true);

	begin();
	storm_put16(&o, 9);
	room_used(storm_begin_pack(&b, o.p, room()));
	end("begin", "file");
	b = begin_like(2, 800, false);
	begin();
	storm_put16(&o, 9);
	room_used(storm_begin_pack(&b, o.p, room()));
	end("begin", "memory");
	b.to.kind = STORM_TARGET_SEGMENT;
	b.to.offset = 4096;
	must(!storm_idset_add(&b.p, 1, 3) && !storm_idset_add(&b.p, 5, 9));
	begin();
	storm_put16(&o, 9);
	room_used(storm_begin_pack(&b, o.p, room()));
	end("begin", "segment");
	storm_idset_clear(&b.p);
	b = (struct storm_begin) { .op = 3 };
	b.to.kind = (enum storm_target_kind) STORM_KIND_COMPARE;
	b.cmp = (struct storm_comparison) {
		STORM_GLOBAL(1), STORM_NE, 7, true, { STORM_GLOBAL(2), 8 }
	};
	begin();
	storm_put16(&o, 9);
	room_used(storm_begin_pack(&b, o.p, room()));
	end("begin", "compare");
}

static void chunkmap(void)
{
	begin();
	storm_put64(&o, 10 * 1000 + 1);
	storm_put16(&o, 999);
	storm_put8(&o, 0);
	for (uint64_t i = 0; i < 11; i++) {
		storm_put8(&o, 0);
		storm_put64(&o, i * 7 % 11 * 1000);
		storm_put16(&o, i * 7 % 11 == 10 ? 1 : 1000);
		storm_put8(&o, 1);
		storm_put16(&o, (uint16_t) (i % 3));
		storm_put16(&o, 20);
	}
	end("chunkmap", "all-of-eleven");
	begin();
	storm_put64(&o, 200 * 10);
	storm_put16(&o, 9);
	storm_put8(&o, 0);
	for (uint64_t i = 200; i--;) {
		storm_put8(&o, 0);
		storm_put64(&o, i * 10);
		storm_put16(&o, 10);
	}
	end("chunkmap", "backwards");
	begin();
	storm_put64(&o, 1ULL << 30);
	storm_put16(&o, 1403);
	storm_put8(&o, 1);
	storm_put8(&o, 0);
	storm_put64(&o, (1ULL << 30) / 1404 * 1404);
	storm_put16(&o, (1ULL << 30) % 1404);
	end("chunkmap", "last-of-a-gibibyte");
}

/* ------------------------------------------------------------------- OPEN --- */

static void open_one(const char *name, uint32_t count, bool file)
{
	char authority[] = "what an sbcast credential would be";
	struct storm_node *list;
	struct storm_open op = {
		.job_id = 4711,
		.step_het = UINT32_MAX - 1,
		.owner = { { [15] = 1 }, 40000 },
		.group = { { 239 }, 8383 },
		.multicast = true,
		.radix = 8,
		.mtu = 1472,
		.window = 1 << 24,
		.dead_timeout = 5 * STORM_SEC,
		.op_timeout = 30 * STORM_SEC,
		.heartbeat = STORM_SEC,
		.epoch = 1,
		.authority = (uint8_t *) authority,
		.authority_len = file ? sizeof(authority) : 0,
		.count = count,
		.has_begin = file,
		.begin = begin_like(1, 70000, true),
	};
	char other[64];
	uint8_t *stream;
	size_t len;

	list = nodes_made(count, "n%u");
	must(!storm_nodes_make(&op.nodes, list, count));
	nodes_unmade(list, count);
	must(!storm_open_seal(&op, 0));
	begin();
	storm_put8(&o, 1);
	storm_put32(&o, count - 1);
	storm_put(&o, op.body, op.body_len);
	end("open", name);
	begin();
	storm_put8(&o, 7);
	storm_put32(&o, 0);
	storm_put16(&o, STORM_WIRE_VERSION);
	storm_put16(&o, sizeof(world_payload));
	storm_put(&o, world_payload, sizeof(world_payload));
	storm_put(&o, op.body, op.body_len);
	snprintf(other, sizeof(other), "%s-payload", name);
	end("open", other);
	buf[9 + sizeof(world_payload) - 1] ^= 1; /* the digest's last byte */
	snprintf(other, sizeof(other), "%s-forged", name);
	end("open", other);
	stream = storm_open_stream(&op, 0, &len);
	must(stream);
	begin();
	storm_put8(&o, 0);
	storm_put(&o, stream, len);
	snprintf(other, sizeof(other), "%s-stream", name);
	end("open", other);
	free(stream);
	free(op.cred);
	free(op.body);
	storm_nodes_free(&op.nodes);
}

static void opens(void)
{
	open_one("one", 1, false);
	open_one("file", 12, true);
}

/* ---------------------------------------------------------------- scripts --- */

static uint8_t epoch = 1;

static uint8_t *sealed(uint8_t sender, uint8_t type, uint8_t how, uint8_t op)
{
	storm_put8(&o, 0); /* NM_SEALED, OWNED_SEALED */
	storm_put8(&o, sender);
	storm_put8(&o, type);
	storm_put8(&o, how);
	storm_put8(&o, epoch);
	storm_put8(&o, op);
	return length();
}

#define OWNER 255

static void time_goes(uint16_t ms)
{
	storm_put8(&o, 2); /* NM_TIME, OWNED_TIME */
	storm_put16(&o, ms);
}

static void say_operation(const struct storm_begin *b)
{
	uint8_t *l = sealed(OWNER, STORM_MSG_CAST, HOW_GROUP, (uint8_t) b->op);

	storm_put8(&o, STORM_CAST_BEGIN);
	storm_put16(&o, 0);
	storm_put16(&o, 1);
	room_used(storm_begin_pack(b, o.p, room()));
	length_is(l);
}

static void say_begin(uint8_t op, uint64_t size, bool file)
{
	struct storm_begin b = begin_like(op, size, file);

	say_operation(&b);
}

static struct storm_begin asked_for(void)
{
	struct storm_begin b = { .op = 1, .size = 3 };

	b.to.kind = STORM_TARGET_SEGMENT;
	b.to.segment = 1;
	return b;
}

static void say_request(uint8_t sender, uint8_t id)
{
	struct storm_begin b = asked_for();
	uint8_t *l = sealed(sender, STORM_MSG_REQUEST, 0, id);

	room_used(storm_request_pack(&b, "abc", 3, o.p, room()));
	length_is(l);
}

static void put_result(void)
{
	struct storm_fault f = { 3, STORM_ELOST, 0 };
	struct storm_outcome out = { STORM_ABORTED, &f, 1, 1 };

	room_used(storm_result_pack(STORM_FAILED, &out, o.p, room()));
}

static void requests(void)
{
	struct storm_begin b = asked_for();

	begin();
	storm_put8(&o, 1);
	storm_put16(&o, 9);
	room_used(storm_request_pack(&b, "abc", 3, o.p, room()));
	end("request", "asked");
	begin();
	storm_put8(&o, 0);
	put_result();
	end("request", "ended");
}

static void say_state(struct storm_cast *c)
{
	uint8_t *l;

	digest_of(c);
	l = sealed(OWNER, STORM_MSG_CAST,
		   c->version % 2 ? HOW_GROUP : HOW_RELAY, (uint8_t) c->op);

	c->version++;
	room_used(storm_cast_pack(c, o.p, room()));
	length_is(l);
}

static void say_data(uint8_t sender, uint8_t how, uint8_t op, uint64_t off,
		     uint16_t len)
{
	storm_put8(&o, NM_DATA);
	storm_put8(&o, sender);
	storm_put8(&o, how | (sender == OWNER && !how ? HOW_GROUP : 0));
	storm_put8(&o, op);
	storm_put16(&o, (uint16_t) (off / 10));
	storm_put16(&o, len);
}

static void say_status(uint8_t sender, uint8_t op, uint8_t phase)
{
	struct storm_status s = status_like(op, phase);
	uint8_t *l = sealed(sender, STORM_MSG_STATUS, 0, op);

	s.version += phase;
	room_used(storm_status_pack(&s, o.p, 1400));
	length_is(l);
}

static void say_nack(uint8_t sender, uint8_t op, uint64_t first, uint64_t last)
{
	uint8_t *l = sealed(sender, STORM_MSG_NACK, 0, op);

	storm_put32(&o, 1);
	storm_put64(&o, first);
	storm_put64(&o, last);
	length_is(l);
}

static void say_report(uint8_t sender)
{
	struct storm_reports r = reports_made(3);
	uint8_t *l = sealed(sender, STORM_MSG_REPORT, 0, 0);
	size_t len;
	uint8_t *whole = storm_reports_pack(&r, 0, &len);

	must(whole);
	storm_put64(&o, 1);
	storm_put16(&o, 0);
	storm_put16(&o, 1);
	storm_put32(&o, (uint32_t) len);
	storm_put(&o, whole, len);
	length_is(l);
	free(whole);
	storm_reports_clear(&r);
}

static void nm_head(uint8_t self, uint8_t radix, uint8_t flags)
{
	begin();
	storm_put8(&o, self);
	storm_put8(&o, radix - 2);
	storm_put8(&o, flags);
}

static void nm_answer(void)
{
	storm_put8(&o, NM_ANSWER);
	storm_put8(&o, STORM_OK);
}

/* A transfer from BEGIN to COMMIT, one chunk late and by a neighbour. */
static void nm_transfer(const char *name, uint8_t self, uint8_t flags,
			bool file)
{
	struct storm_cast c = cast_like(2, 5000);

	nm_head(self, 4, flags);
	say_begin(2, 5000, file);
	if (file)
		nm_answer();
	c.sent = 0;
	say_state(&c);
	for (uint64_t i = 0; i < 5; i++)
		if (i != 2)
			say_data(OWNER, 0, 2, i * 1000, 1000);
	c.sent = c.size;
	say_state(&c);
	time_goes(5);
	time_goes(60);
	say_nack(19, 2, 0, 3);
	say_data(1, 0, 2, 2000, 1000);
	for (int i = 0; file && i < 9; i++) /* writes, a read, STAGED */
		nm_answer();
	c.decision = STORM_COMMIT;
	say_state(&c);
	if (file)
		nm_answer();
	time_goes(100);
	end("nm", name);
}

/* To a segment of some, then a COMPARE-AND-WRITE that their subtrees receive.
 * */
static void nm_ordered(void)
{
	struct storm_begin b = { .op = 2 };
	struct storm_cast c = cast_like(1, 2000);

	nm_head(3, 3, NM_MULTICAST | NM_FILE | NM_MEMORY);
	c.sent = c.size;
	say_state(&c);
	say_data(OWNER, 0, 1, 0, 1000);
	say_data(OWNER, 0, 1, 1000, 1000);
	c.decision = STORM_COMMIT;
	say_state(&c);
	b.to.kind = (enum storm_target_kind) STORM_KIND_COMPARE;
	b.cmp = (struct storm_comparison) {
		STORM_GLOBAL(1), STORM_EQ, 0, true, { STORM_GLOBAL(2), 8 }
	};
	say_operation(&b);
	c.op = 2;
	c.size = c.sent = 0;
	c.decision = STORM_UNDECIDED;
	say_state(&c);
	say_status(10, 2, STORM_PHASE_STAGED);
	c.decision = STORM_COMMIT;
	say_state(&c);
	time_goes(100);
	end("nm", "ordered");
}

static void nm_take(uint8_t what)
{
	storm_put8(&o, NM_TAKE);
	storm_put8(&o, what);
}

/* Three owners: the second finds an operation undecided and goes on with it,
 * the third has this node excluded, and lets it in again. */
static void nm_cluster(void)
{
	struct storm_cast c = cast_like(1, 2000);

	nm_head(3, 3, NM_CLUSTER | NM_MULTICAST | NM_MEMORY);
	c.sent = c.size;
	say_state(&c);
	say_data(OWNER, 0, 1, 0, 1000);
	say_data(OWNER, 0, 1, 1000, 1000);
	nm_take(0x11); /* refused, twice */
	nm_take(0x10);
	nm_take(1);
	nm_take(0);
	say_state(&c);
	c.decision = STORM_COMMIT;
	say_state(&c);
	time_goes(100);
	nm_take(0x2);
	time_goes(500);
	c.op = c.size = c.sent = 0;
	c.decision = STORM_UNDECIDED;
	epoch = 2;
	say_state(&c);
	epoch = 1;
	time_goes(10);
	end("nm", "cluster");
}

static void nm_asks(void)
{
	uint8_t *l;

	nm_head(5, 3, NM_MULTICAST);
	for (uint8_t how = 0; how < 2; how++) {
		storm_put8(&o, NM_ASK);
		storm_put8(&o, how);
		storm_put8(&o, 3);
	}
	time_goes(100);
	l = sealed(OWNER, STORM_MSG_RESULT, 0, 1);
	put_result();
	length_is(l);
	time_goes(100);
	end("nm", "asks");
}

/* One of fuzz_insider.c's, see there: a transfer begins, and one kind of
 * message comes again and again. */
static void insider(const char *name, uint8_t self, uint8_t flags,
		    uint8_t command)
{
	static const uint8_t begins[] = { 0, 0, 0, 0, 4, 0, 0, 0, 0 },
			     answer[] = { 8, 0 },
			     state[] = { 1, 2, 0, 4, 0, 0, 0,
					 4, 0, 0, 0, 4, 0, 0 },
			     data[] = { 2, OWNER, 2, 0, 0, 4, 0, 250 },
			     nack[] = { 3, 3, 2, 0, 0, 0, 255, 250 },
			     report[] = { 4, 6, 1, 0, 0, 0,  9,
					  0, 0, 0, 1, 0, 250 },
			     ask[] = { 6, 7, 1, 200, 250 };

	nm_head(self, 3, flags);
	storm_put(&o, begins, sizeof(begins));
	storm_put(&o, answer, sizeof(answer));
	storm_put(&o, state, sizeof(state));
	storm_put(&o, data, sizeof(data));
	for (int i = 0; i < 4; i++) {
		if (command == 3)
			storm_put(&o, nack, sizeof(nack));
		else if (command == 4)
			storm_put(&o, report, sizeof(report));
		else if (command == 6)
			storm_put(&o, ask, sizeof(ask));
		storm_put8(&o, 7);
		storm_put8(&o, 50);
	}
	end("insider", name);
}

static void nm_strobes(void)
{
	nm_head(0, 3, NM_MEMORY);
	for (uint8_t number = 1; number < 4; number++) {
		uint8_t *l = sealed(OWNER, STORM_MSG_STROBE,
				    number % 2 ? HOW_RELAY : HOW_GROUP, number);

		storm_put32(&o, number);
		length_is(l);
		time_goes(1);
	}
	end("nm", "strobes");
}

static void nm_reports(void)
{
	uint8_t *l;

	nm_head(0, 3, NM_MEMORY);
	storm_put8(&o, NM_EXPECT);
	storm_put8(&o, 2);
	storm_put8(&o, 4);
	storm_put8(&o, NM_REPORT);
	storm_put8(&o, 2);
	storm_put8(&o, 0);
	storm_put8(&o, 0);
	storm_put8(&o, 3);
	for (uint8_t child = 3; child < 6; child++) {
		say_status(child, 1, STORM_PHASE_BEGUN);
		say_report(child);
	}
	time_goes(110);
	l = sealed(OWNER, STORM_MSG_REPORT_ACK, 0, 0);
	storm_put64(&o, 1);
	length_is(l);
	l = sealed(OWNER, STORM_MSG_CAST, HOW_RELAY, 0);
	storm_put8(&o, STORM_CAST_ACKED);
	storm_put8(&o, 2);
	storm_put32(&o, 1);
	storm_put32(&o, 0);
	storm_put32(&o, 3);
	length_is(l);
	time_goes(700);
	end("nm", "reports");
}

/* A node of which node is the child: v is 1.0 there. */
static void say_gathered(uint8_t sender, uint8_t id, uint32_t node)
{
	struct storm_gather_own own = { .self = node };
	struct storm_idset nodes = { 0 };
	uint8_t *l = sealed(sender, STORM_MSG_GATHERED, 0, id), *whole;
	size_t len;

	must(!storm_idset_add(&nodes, node, node));
	must(!storm_gather_value(&own, "v", 1, "1.0", 3));
	must(!storm_gather_count(&own, "x", 1, node));
	whole = storm_gathered_pack(&own.t, &nodes, &len);
	must(whole);
	storm_put64(&o, id);
	storm_put16(&o, 0);
	storm_put16(&o, 1);
	storm_put32(&o, (uint32_t) len);
	storm_put(&o, whole, len);
	length_is(l);
	free(whole);
	storm_gathered_clear(&own.t);
	storm_idset_clear(&nodes);
}

static void nm_gathers(void)
{
	struct storm_gather_ask a = { .root = STORM_NO_NODE,
				      .slice = 20 * STORM_MS,
				      .query = (const uint8_t *) "what",
				      .len = 4 };
	uint8_t *l;

	nm_head(0, 3, NM_MEMORY);
	for (uint8_t id = 1; id < 4; id++) {
		l = sealed(OWNER, STORM_MSG_GATHER,
			   id % 2 ? HOW_RELAY : HOW_GROUP, id);
		if (id == 3)
			a.flags = STORM_GATHER_ALONE;
		a.root = id == 1 ? STORM_NO_NODE : 0;
		room_used(storm_gather_ask_pack(&a, o.p, 400));
		length_is(l);
		for (uint8_t child = 3; child < 6; child++)
			say_gathered(child, id, child);
		time_goes(30);
		l = sealed(OWNER, STORM_MSG_GATHER_ACK, 0, id);
		length_is(l);
		time_goes(200);
	}
	end("nm", "gathers");
}

static void gathers(void)
{
	static const uint32_t asked[] = { 0, 3, 5, 9 }, have[] = { 0, 3, 7, 8 };
	struct storm_idset all = set_of(asked, 2), nodes = set_of(have, 2);
	struct storm_gather_own own = { 0 };
	struct storm_gather_ask a = { .root = 3,
				      .flags = STORM_GATHER_ALONE,
				      .slice = STORM_MS,
				      .query = (const uint8_t *) "what",
				      .len = 4,
				      .p = all };
	uint8_t *whole;
	size_t len;

	begin();
	room_used(storm_gather_ask_pack(&a, o.p, 400));
	end("gather", "ask");
	must(!storm_idset_minus(&all, &nodes, &own.t.missing));
	for (uint32_t k = 0; k < nodes.count; k++)
		for (uint32_t i = nodes.r[k].first; i <= nodes.r[k].last; i++) {
			own.self = i;
			must(!storm_gather_value(&own, "v", 1,
						 i % 3 ? "1.0" : "2", 1));
			must(!storm_gather_count(&own, "x", 1, i));
		}
	whole = storm_gathered_pack(&own.t, &nodes, &len);
	must(whole);
	begin();
	storm_put_set(&o, &all);
	storm_put(&o, whole, len);
	end("gather", "table");
	free(whole);
	storm_gathered_clear(&own.t);
	storm_idset_clear(&all);
	storm_idset_clear(&nodes);
}

static void nm_epochs(void)
{
	static const uint32_t out[] = { 1, 2 };
	struct storm_cast c = cast_like(0, 0);

	nm_head(5, 2, NM_MULTICAST);
	storm_put8(&o, NM_VAR);
	storm_put8(&o, STORM_VAR_TERMINATED);
	storm_put8(&o, 1);
	c.cmp = 1;
	c.cmp_value = 1;
	say_state(&c);
	storm_put8(&o, NM_FAILED);
	storm_put8(&o, 12);
	storm_put8(&o, STORM_ENOAGENT);
	c.excluded = set_of(out, 1);
	epoch = 2;
	say_state(&c);
	storm_put8(&o, NM_RAW);
	storm_put8(&o, 1);
	storm_put16(&o, 100);
	storm_put8(&o, STORM_WIRE_VERSION);
	storm_put(&o, out, sizeof(out));
	storm_cast_free(&c);
	c.flags = STORM_CAST_CLOSING;
	say_state(&c);
	epoch = 1;
	end("nm", "epochs");
}

/* Along the chain, several received together; no connection succeeds. */
static void nm_chain(void)
{
	struct storm_cast c = cast_like(2, 5000);

	nm_head(2, 2, NM_ALONE);
	say_begin(2, 5000, false);
	c.sent = 0;
	say_state(&c);
	say_data(OWNER, 0, 2, 0, 1000);
	say_data(OWNER, 0, 2, 4000, 1400); /* beyond the end */
	say_data(OWNER, 0, 2, 999, 1000);  /* where no chunk is */
	for (uint64_t i = 0; i < 5; i++)
		say_data(OWNER, HOW_RELAY | (i < 4 ? HOW_MORE : 0), 2, i * 1000,
			 1000);
	for (uint8_t what = 0; what < 8; what++) {
		storm_put8(&o, NM_OPEN);
		storm_put8(&o, what);
	}
	end("nm", "chain");
}

static void nm(void)
{
	nm_transfer("file", 3, NM_MULTICAST, true);
	nm_transfer("memory", 4, NM_NARROW | NM_FILE, false);
	nm_transfer("refused", 1, NM_FILE | NM_REFUSED, true);
	nm_chain();
	nm_ordered();
	nm_cluster();
	nm_asks();
	nm_strobes();
	insider("repairs", 0, NM_FILE, 3);
	insider("repairs-group", 5, NM_FILE | NM_MULTICAST, 3);
	insider("chain", 1, 0, 2);
	insider("reports", 2, NM_MULTICAST, 4);
	insider("asks", 2, 0, 6);
	nm_reports();
	nm_gathers();
	nm_epochs();
}

static void owner_well(uint8_t children, uint8_t phase)
{
	for (uint8_t c = 0; c < children; c++) {
		storm_put8(&o, OWNED_WELL);
		storm_put8(&o, c);
		storm_put8(&o, phase);
		storm_put8(&o, STORM_STATUS_MCAST);
	}
}

static void owner_ill(uint8_t child, uint8_t node, uint8_t err)
{
	storm_put8(&o, OWNED_ILL);
	storm_put8(&o, child);
	storm_put8(&o, STORM_PHASE_BEGUN);
	storm_put8(&o, STORM_STATUS_MCAST);
	storm_put8(&o, node);
	storm_put8(&o, (uint8_t) (err - 1));
	storm_put8(&o, 1);
	storm_put8(&o, 10);
}

static void owner_head(uint8_t nodes, uint8_t radix, uint8_t flags, uint8_t kib)
{
	begin();
	storm_put8(&o, nodes - 1);
	storm_put8(&o, radix - 2);
	storm_put8(&o, flags);
	storm_put8(&o, kib);
}

static void owner_transfer(const char *name, uint8_t flags, uint8_t kib)
{
	owner_head(8, 4, flags, kib);
	owner_well(4, STORM_PHASE_BEGUN);
	if (!kib) {
		storm_put8(&o, OWNED_XFER);
		storm_put8(&o, 1);
		storm_put16(&o, 30000);
		owner_well(4, STORM_PHASE_BEGUN);
	}
	time_goes(1);
	say_nack(5, 1, 0, 3);
	time_goes(30);
	owner_well(4, STORM_PHASE_STAGED);
	owner_well(4, STORM_PHASE_ENDED);
	time_goes(1000);
	end("owner", name);
}

/* A COMPARE-AND-WRITE of global variables, a transfer to segments of some. */
static void owner_ordered(void)
{
	owner_head(4, 2, OWNED_MULTICAST, 0);
	owner_well(2, 0);
	storm_put8(&o, OWNED_COMPARE);
	storm_put8(&o, STORM_EQ);
	storm_put8(&o, 0x3);
	storm_put8(&o, 0);
	storm_put8(&o, OWNED_XFER);
	storm_put8(&o, 0x26);
	storm_put16(&o, 3000);
	for (int ops = 0; ops < 2; ops++) {
		time_goes(5);
		owner_well(2, STORM_PHASE_STAGED);
		owner_well(2, STORM_PHASE_ENDED);
		time_goes(5);
	}
	end("owner", "ordered");
}

/* A member dies, and a node that knows nothing joins. */
static void owner_cluster(uint8_t flags)
{
	owner_head(4, 2, OWNED_CLUSTER | flags, 2);
	owner_well(2, STORM_PHASE_STAGED);
	time_goes(10);
	owner_ill(0, 2, STORM_ELOST);
	time_goes(6000);
	owner_well(2, STORM_PHASE_ENDED);
	time_goes(300);
	storm_put8(&o, OWNED_WELL);
	storm_put8(&o, 2);
	storm_put8(&o, 0);
	storm_put8(&o, STORM_STATUS_JOIN | 0x40);
	time_goes(300);
	owner_well(3, STORM_PHASE_ENDED);
}

static void owner_asked(void)
{
	owner_head(4, 2, OWNED_MULTICAST, 0);
	owner_well(2, 0);
	say_request(3, 1);
	say_request(3, 1);
	for (uint8_t phase = STORM_PHASE_STAGED; phase <= STORM_PHASE_ENDED;
	     phase++) {
		time_goes(5);
		owner_well(2, phase);
	}
	say_request(3, 1);
	say_request(2, 4);
	end("owner", "asked");
}

/* One is silent, and is asked by the owner itself. */
static void owner_gather(void)
{
	owner_head(7, 2, OWNED_MULTICAST, 0);
	owner_well(2, 0);
	storm_put8(&o, OWNED_COMPARE);
	storm_put8(&o, 250);
	storm_put8(&o, 4);
	storm_put8(&o, 100);
	say_gathered(0, 1, 0);
	time_goes(600);
	say_gathered(3, 2, 3);
	say_gathered(4, 2, 4);
	time_goes(600);
	end("owner", "gather");
}

static void owner(void)
{
	owner_gather();
	owner_transfer("multicast", OWNED_MULTICAST | OWNED_TO_FILE, 20);
	owner_transfer("chain", OWNED_NARROW, 0);
	owner_head(3, 2, 0, 0);
	owner_well(2, 0);
	storm_put8(&o, OWNED_COMPARE);
	storm_put8(&o, STORM_GE);
	storm_put8(&o, 0);
	storm_put8(&o, 1);
	time_goes(60);
	owner_well(2, 0);
	say_report(0);
	say_report(1);
	time_goes(120);
	say_status(1, 0, 0);
	time_goes(6000);
	time_goes(6000);
	end("owner", "compare-reports-silence");
	owner_ordered();
	owner_asked();
	owner_cluster(OWNED_MULTICAST);
	end("owner", "cluster");
	owner_cluster(OWNED_TAKES);
	end("owner", "takes-over");
	owner_head(9, 2, OWNED_RATE, 60);
	owner_well(2, STORM_PHASE_BEGUN);
	time_goes(5);
	owner_ill(0, 3, STORM_ELOST);
	time_goes(100);
	owner_ill(1, 1, STORM_ESYS);
	time_goes(6000);
	end("owner", "faults");
	owner_head(3, 2, 0, 0);
	owner_ill(1, 2, STORM_EBUSY);
	end("owner", "busy");
	owner_head(5, 2, OWNED_MULTICAST, 1);
	storm_put8(&o, OWNED_FAILED);
	storm_put8(&o, 1);
	storm_put8(&o, STORM_ENOAGENT);
	time_goes(10);
	end("owner", "nobody-there");
}

/* ------------------------------------------------------------ local, Slurm --- */

static uint8_t *local(uint8_t how, enum local_type type)
{
	storm_put8(&o, how | 1);
	storm_put8(&o, (uint8_t) type);
	return length();
}

static void local_u32(uint32_t v)
{
	storm_put(&o, &v, sizeof(v)); /* both ends are on one machine */
}

static void locals(void)
{
	static struct local_frame f;
	uint8_t *l;

	begin();
	l = local(0, LOCAL_STEP);
	local_u32(7);
	for (int i = 0; i < 5; i++)
		local_u32(4);
	length_is(l);
	l = local(0, LOCAL_REPORT);
	storm_put8(&o, 2);
	local_u32(0);
	local_u32(4);
	for (uint32_t i = 0; i < 4; i++)
		local_u32(i);
	length_is(l);
	length_is(local(0x8 | 0x2, LOCAL_STATS));
	end("local", "step");
	begin();
	l = local(0, LOCAL_HELLO);
	local_u32(6818);
	length_is(l);
	l = local(0, LOCAL_DROP);
	local_u32(100000);
	local_u32(1);
	local_u32(0);
	length_is(l);
	l = local(0, LOCAL_PORT);
	storm_put8(&o, 1);
	length_is(l);
	length_is(local(0, LOCAL_PING));
	local_begin(&f, LOCAL_STATS);
	storm_put8(&o, 0);
	l = length();
	storm_put(&o, f.buf, f.len);
	length_is(l);
	end("local", "hello");
	begin();
	l = local(0, LOCAL_FALLBACK);
	for (int i = 0; i < 4; i++)
		local_u32(4);
	local_u32(2); /* the cause */
	local_u32(5);
	storm_put(&o, "n3: x", 5);
	length_is(l);
	end("local", "fallback");
}

static void launch_signal(const char *name, int more, uint32_t job,
			  uint16_t flags)
{
	uint8_t *l;

	begin();
	l = length(); /* no answer */
	length_is(l);
	storm_put8(&o, 1);
	storm_put32(&o, 1); /* the order */
	storm_put32(&o, (uint32_t) (12 + 8 + more + 16));
	storm_put16(&o, SLURM_PROTOCOL_VERSION);
	storm_put16(&o, 0);
	storm_put16(&o, REQUEST_SIGNAL_TASKS);
	storm_put32(&o, (uint32_t) (more + 16));
	storm_put16(&o, 0);
	storm_put64(&o, 0); /* a credential */
	for (int i = 0; i < more; i++)
		storm_put8(&o, 0);
	storm_put32(&o, job);
	storm_put64(&o, 0);
	storm_put16(&o, flags);
	storm_put16(&o, 10);
	end("launch", name);
}

/* What an agent keeps of a launch; the first two are of fuzz_launch. */
static void launched(const char *harness, const char *name, uint8_t slows)
{
	begin();
	if (!strcmp(harness, "launch")) {
		length_is(length()); /* no answer */
		storm_put8(&o, 1);
	}
	storm_put8(&o, 1);
	storm_put32(&o, 8);
	storm_put32(&o, 16);
	for (uint32_t i = 0; i < 8; i++) {
		storm_put32(&o, i == 3 ? 0 : i * 1000);
		storm_put32(&o, i == 3 ? UINT32_MAX : 900);
	}
	storm_put8(&o, slows);
	for (uint8_t i = 0; i < slows; i++) {
		storm_put8(&o, (uint8_t) (6 - i));
		storm_put8(&o, i);
		storm_put8(&o, 6);
		storm_put(&o, "n[1-4]", 6);
	}
	end(harness, name);
}

static void launch(void)
{
	launched("launch", "told", 1);
	launched("launched", "whole", 3);
	launched("launched", "plain", 0);
	uint8_t *l;

	begin();
	l = length(); /* the answer: header, credential; code, text */
	storm_put32(&o, 10 + 8 + 8);
	storm_put16(&o, SLURM_PROTOCOL_VERSION);
	storm_put16(&o, 0);
	storm_put16(&o, RESPONSE_SLURM_RC_MSG);
	storm_put32(&o, 8);
	storm_put64(&o, 0);
	storm_put32(&o, ESLURMD_PROLOG_FAILED);
	storm_put32(&o, 0);
	length_is(l);
	storm_put8(&o, 1);
	storm_put16(&o, 0);
	storm_put32(&o, 32);
	storm_put16(&o, SLURM_PROTOCOL_VERSION);
	storm_put16(&o, 0);
	storm_put16(&o, REQUEST_LAUNCH_TASKS);
	storm_put32(&o, 20);
	storm_put16(&o, 0);
	storm_put(&o, "the rest is slurmd's", 20);
	end("launch", "one");
	launch_signal("signal", 0, 7, 0);
	launch_signal("signal_long", 8, 7, 0);
	launch_signal("signal_other", 0, 8, 0);
	launch_signal("signal_all", 0, 7, 1);
}

/* In the place of MUNGE: what a credential would be made of becomes its part of
 * the seed. */
static int into_seed(uint32_t uid, const void *payload, size_t len, char **cred)
{
	must(uid == 7);
	storm_put16(&o, (uint16_t) len);
	storm_put(&o, payload, len);
	*cred = strdup("MUNGE:as it said:");
	return STORM_OK;
}

/* The last one: there is no MUNGE after it. */
static void context(void)
{
	static const struct storm_credential_ops ops = { into_seed, NULL };
	struct context c = {
		.job = 12,
		.step = 3,
		.het = 0xfffffffe,
		.uid = 1000,
		.holder = { 12, 3, 0 },
		.id = 258,
		.serial = 4711,
		.group = 0xefc30101,
		.key = { 1, 2, 3 },
	};
	uint8_t bytes[CONTEXT_BYTES_MAX];
	char *cred;

	storm_credential_use(&ops);
	begin();
	storm_put8(&o, 64);
	cred = context_sign(&c, "zeta", 7);
	storm_put(&o, bytes, context_pack(&c, cred, bytes));
	end("context", "good");
	begin();
	storm_put8(&o, 0);
	storm_put16(&o, 0);
	storm_put(&o, bytes, context_pack(&c, NULL, bytes));
	end("context", "saved");
	free(cred);
}

static void conf(void)
{
	static const char *const text[] = {
		"# nothing\n",
		"Interface=eth1\nPort=9000\nMulticast=No\nGroupBase=239.1.2.3\n"
		"GroupCount=4\nTTL=3\nDSCP=10\nControlDSCP=40\nRadix=4\n",
		"Window=1M\nRate=2g\nSocketBuffer=128k\nMTU=9000\n"
		"OpenTimeout=2s\nDeadTimeout=700\nOpTimeout=900ms\n"
		"Heartbeat=300\nMaxSessions=5\nFallback=NEVER\n"
		"FailedLaunch=retry\n"
		"AgentLinger=0\nDropPercent=2.5\nDropSeed=18446744073709551615\n",
		"Transport=verbs\nTransportFallback=no\nDataRail=mlx5_0:1\n"
		"StrobeRail=ib1\nGidIndex=3\nStrobeGidIndex=0\nPKey=0x8001\n"
		"StrobePKey=2\nServiceLevel=1\nStrobeServiceLevel=2\n"
		"ReceiveQueue=64\nStrobeReceiveQueue=32768\nStrobeMTU=2048\n",
		"Base=builtin\nPacking=buddy\nQuantum=2.5ms\nGangAllow=gpus,"
		"licenses\nPartitionQuantum=a:100us,b:3s\n"
		"PartitionPolicy=b:flexible,d:Local\nQosWeight=high:3,low:1\nTimeLimitByTurns=a,b\nLocalPartitions=a,c\nFreezer=signals\nGangDebug=no\nAgentCPUs=0,2-3\n",
		"Partition=a Policy=flexible Quantum=10 LimitByTurns=yes\n"
		"Partition=\"b c\" Policy=local Qantum=5\nPartition=a\n"
		"PartitionQuantum=a:1,d:2.0005\nPartition=DEFAULT Quantum=1\n",
		"partition = e quantum = \"7us\" \\\n limitbyturns=no\n"
		"LocalPartitions=d,e\nTimeLimitByTurns=f\nPartition=f\n",
		"ContextCount=1000\nContextGroupBase=239.7.0.0\n",
		"Port = 80 # as\\\n  it was\n\nWindow=\"64K\"\n",
	};
	char name[] = "0";

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		begin();
		storm_put(&o, text[i], strlen(text[i]));
		name[0] = (char) ('1' + i);
		end("storm_conf", name);
	}
}

/* ---------------------------------------------------------- gang scheduling --- */

static void gang_strobes(void)
{
	struct gang_strobe s = { .zone = 1,
				 .slot = 3,
				 .version = 5,
				 .digest = 0xa1a2a3a4a5a6a7a8,
				 .sent = 1000 * STORM_SEC,
				 .at = 1000 * STORM_SEC + 500 * STORM_US,
				 .next_at = 1000 * STORM_SEC + 10 * STORM_MS,
				 .next = 2 };

	for (int all = 0; all < 2; all++) {
		begin();
		storm_put8(&o, 1);
		must(room() >= GANG_STROBE_LEN);
		gang_strobe_pack(&s, o.p);
		room_used(GANG_STROBE_LEN);
		end("gang", all ? "strobe-all" : "strobe");
		s.slot = GANG_SLOT_ALL;
	}
}

static void gang(void)
{
	static const uint32_t left[] = { 0, 7 }, right[] = { 8, 9, 12, 15 };
	static const uint32_t rows[] = { 0, 0, 2, 2 };
	struct gang_zone z[2] = { { .rows = 3,
				    .quantum = GANG_QUANTUM_MIN,
				    .nodes = set_of(left, 1) },
				  { .rows = 2,
				    .quantum = GANG_QUANTUM_MAX,
				    .policy = GANG_POLICY_FLEXIBLE,
				    .nodes = set_of(right, 2) } };
	struct gang_job j[3] = { { .job_id = 1,
				   .rows = set_of(rows, 2),
				   .nodes = set_of(left, 1) },
				 { .job_id = 7,
				   .rows = set_of(rows, 1),
				   .nodes = set_of(left, 1) },
				 { .job_id = 0x01020304,
				   .zone = 1,
				   .rows = set_of(rows, 1),
				   .nodes = set_of(right, 2) } };
	struct gang_map m = { .version = 5,
			      .nodes = 16,
			      .zones = z,
			      .nzones = 2,
			      .jobs = j,
			      .njobs = 3 };
	void *packed;
	size_t len;

	for (; m.njobs; m.njobs--) {
		char name[] = "map0";

		must(!gang_map_pack(&m, &packed, &len));
		begin();
		storm_put8(&o, 0);
		storm_put(&o, packed, len);
		free(packed);
		name[3] = (char) ('0' + m.njobs);
		end("gang", name);
	}
	m.njobs = 3;
	storm_idset_clear(&j[1].rows);
	must(!gang_map_pack(&m, &packed, &len));
	begin();
	storm_put8(&o, 0);
	storm_put(&o, packed, len);
	free(packed);
	end("gang", "map-held");
	gang_strobes();
	for (size_t i = 0; i < 3; i++) {
		storm_idset_clear(&j[i].rows);
		storm_idset_clear(&j[i].nodes);
	}
	storm_idset_clear(&z[0].nodes);
	storm_idset_clear(&z[1].nodes);
}

/* ----------------------------------------------------------------- the seal --- */

static void seal(void)
{
	static const uint8_t how[] = { 1, 1, 0x42, 5, 0x43, 0x81, 0xff, 0x40 };
	struct storm_header h = {
		.type = STORM_MSG_CAST, .session = 3, .sender = 4, .sequence = 9
	};

	begin();
	storm_put8(&o, sizeof(how));
	storm_put(&o, how, sizeof(how));
	must(room() >= STORM_HEADER_LEN);
	storm_header_pack(&h, o.p);
	room_used(STORM_HEADER_LEN);
	storm_put64(&o, h.sequence);
	storm_put16(&o, 8 * STORM_HEADER_LEN + 3);
	storm_put(&o, "a body", 6);
	end("seal", "one");
}

/* ---------------------------------------------------------- OPENs over TCP --- */

/* The commands by their numbers in fuzz_stream.c. */
static void stream_command(uint8_t command, uint8_t first)
{
	storm_put8(&o, command);
	storm_put8(&o, first);
}

static void stream_in(uint8_t piece, uint8_t flags)
{
	begin();
	storm_put8(&o, piece);
	storm_put8(&o, flags);
	stream_command(0, 1); /* a host connects */
	stream_command(1, 0); /* and sends */
	storm_put16(&o, 12);
	storm_put32(&o, 8);
	storm_put64(&o, 1);
	stream_command(6, 0); /* does it wait? */
	stream_command(5, 0); /* it is refused */
	storm_put8(&o, STORM_EBUSY);
	stream_command(0, 2); /* another, with more */
	stream_command(2, 0);
	storm_put8(&o, 2);
	storm_put16(&o, 0);
	storm_put8(&o, 255);
	stream_command(3, 0); /* which hangs up */
	storm_put8(&o, 0);
	stream_command(4, 0xff); /* much time */
	storm_put8(&o, 0);
}

static void stream_out(uint8_t flags)
{
	begin();
	storm_put8(&o, 255);
	storm_put8(&o, flags);
	for (uint8_t host = 0; host < 3; host++) {
		stream_command(7, host); /* an OPEN */
		storm_put16(&o, 500);
		stream_command(8, host); /* is taken */
		storm_put16(&o, 504);
	}
	stream_command(10, 0); /* a node closes */
	storm_put8(&o, 0);
	stream_command(9, 1); /* one reports why not */
	storm_put8(&o, STORM_REFUSAL_LEN);
	storm_put16(&o, STORM_REFUSAL_LEN);
	must(room() >= STORM_REFUSAL_LEN);
	storm_refusal_pack(STORM_EBUSY, o.p);
	room_used(STORM_REFUSAL_LEN);
	stream_command(10, 1);
	storm_put8(&o, 0);
	stream_command(11, 2); /* the last is given up */
	stream_command(4, 1);
	storm_put8(&o, 0);
}

static void streams(void)
{
	stream_in(255, 0);
	end("stream", "in");
	stream_in(2, 3);
	end("stream", "in-pieces");
	stream_out(0);
	end("stream", "out");
	stream_out(4);
	end("stream", "out-drops");
}

/* -------------------------------------------------------- turns of a node --- */

/* The commands by their numbers in fuzz_turns.c. */
static void turns_command(uint8_t command, uint8_t a, uint8_t b)
{
	storm_put8(&o, command);
	storm_put8(&o, a);
	storm_put8(&o, b);
}

/* Jobs 1 to 3 with a row each; the others are not there.  rows: of the third. */
static void turns_map(uint8_t how, uint8_t rows)
{
	static const uint8_t none = 64;

	turns_command(5, how, 1);
	storm_put8(&o, 2);
	storm_put8(&o, rows);
	for (int i = 0; i < 3; i++)
		storm_put8(&o, none);
}

/* Three steps by a map, of which the last one has these flags, and many turns. */
static void turns_begin(uint8_t how, uint8_t rows, uint8_t flags)
{
	begin();
	turns_command(0, 0, 2 | 4 | 128);
	turns_command(0, 1, 2 | 4 | 128);
	turns_command(0, 2, flags);
	turns_map(how, rows);
	turns_command(7, 12, 0);
}

/* Step i: what the kernel has of it. */
static void turns_nature(uint8_t i, uint8_t flags, uint8_t more)
{
	turns_command(3, i, flags);
	storm_put8(&o, more);
}

static void turns(void)
{
	turns_begin(1 | 4, 1, 4);
	turns_command(7, 129,
		      16 | 32);	   /* the clock is known, slots are planned */
	turns_command(9, 0xf7, 6); /* a strobe of another slot */
	storm_put8(&o, 0);
	storm_put8(&o, 1);
	storm_put8(&o, 0);
	turns_map(2 | 4, 2);
	turns_command(7, 5, 1 | 16);
	end("turns", "gang");

	turns_begin(1 | 4 | 16, 1, 2 | 4 | 128);
	turns_nature(0, 2, 80); /* it sleeps, exactly */
	turns_command(7, 40, 0);
	turns_command(4, 1, 4 | 8 | 16);
	turns_command(7, 40, 0);
	end("turns", "flexible");

	turns_begin(1 | 4, 0, 1 | 4 | 16); /* a script of one that is held */
	turns_command(4, 2, 2);
	turns_command(9, 0xf5, 4); /* decide; a signal */
	storm_put8(&o, 2);
	storm_put8(&o, 0);
	storm_put8(&o, 8); /* it is over */
	storm_put16(&o, 6000);
	turns_command(4, 2, 1 | 4 | 8 | 16 | 32); /* a debugger */
	turns_command(7, 20, 0);
	end("turns", "hold");

	turns_begin(1 | 4, 1, 4 | 8 | 64); /* its tasks wait at the door */
	turns_nature(1, 1, 0);		   /* this one cannot be continued */
	turns_command(7, 3, 0);
	turns_command(9, 0xf3, 2); /* a guard; the door */
	storm_put8(&o, 2);
	turns_command(7, 3, 0);
	turns_nature(1, 8 | 16, 200); /* it costs, and owes */
	turns_command(7, 100, 0);
	turns_command(9, 0xf0, 9); /* back from a stop; slurmd is gone */
	storm_put8(&o, 7);
	turns_command(1, 1, 7);
	storm_put8(&o, 9);
	storm_put8(&o, 0);
	end("turns", "guards");

	turns_begin(1 | 8 | 32, 1, 2 | 4); /* who is out of turn gives way */
	turns_nature(1, 32, 0);		   /* this one cannot any more */
	turns_command(7, 40, 0);
	turns_command(9, 0xf3, 7); /* a guard */
	storm_put8(&o, 7);
	storm_put8(&o, 0);
	turns_nature(0, 1, 0);
	turns_command(7, 40, 0);
	turns_command(0, 128 | 1, 2 | 4); /* by its wish, beside others */
	turns_map(1 | 8, 1);
	turns_command(7, 40, 0);
	end("turns", "yield");
}

/* {what, channel, length, bytes}, see fuzz_carrier.c; kind 0: no record. */
static void carrier_step(uint8_t what, uint8_t channel, uint8_t kind,
			 const char *body, size_t len)
{
	storm_put8(&o, what);
	storm_put8(&o, channel);
	storm_put16(&o, (uint16_t) (kind ? 5 + len : len));
	if (kind) {
		storm_put32(&o, channel);
		storm_put8(&o, kind);
	}
	storm_put(&o, body, len);
}

static void carrier(void)
{
	begin();
	storm_put8(&o, 0); /* the head */
	carrier_step(16, 0, 1, "", 0);
	carrier_step(16, 1, 2, "ask", 3);
	carrier_step(16 | 8, 2, 2, "ask more", 8);
	carrier_step(16 | 5, 1, 0, "123", 3);
	carrier_step(16 | 4, 1, 0, "ready", 5);
	carrier_step(16, 1, 3, "\0\0\0\5", 4);
	carrier_step(16, 2, 4, "", 0);
	carrier_step(16 | 6, 2, 0, "", 0);
	carrier_step(16 | 6, 1, 0, "", 0);
	carrier_step(16, 1, 2, "late", 4);
	carrier_step(16, 1, 4, "", 0);
	carrier_step(3, 0, 0, "noise", 5);
	end("carrier", "head");

	begin();
	storm_put8(&o, 1); /* the door */
	carrier_step(16, 0, 1, "", 0);
	carrier_step(16 | 7, 0, 0, "", 0);
	carrier_step(16 | 4, 1, 0, "ask", 3);
	carrier_step(16 | 8, 1, 2, "end", 3);
	carrier_step(16, 1, 4, "", 0);
	carrier_step(16 | 6, 1, 0, "", 0);
	end("carrier", "door");
}

/* The first byte says which, see fuzz_call.c. */
static void calls(void)
{
	const struct call c = { "of this start", "a secret", "a number" };
	char cred[2 + 2 * CALL_LEN] = "u", *p = cred + 1;
	uint8_t hidden[CALL_LEN], *frame;
	size_t len;

	call_hide(&c, &hidden);
	begin();
	storm_put8(&o, 0);
	storm_put8(&o, 0); /* its user's */
	storm_put(&o, hidden, CALL_LEN);
	end("call", "hidden");

	begin();
	storm_put8(&o, 1);
	storm_put8(&o, 0);
	storm_put(&o, hidden, CALL_SECRET + SEALED_RANDOM);
	storm_put16(&o, 50);
	storm_put8(&o, 0);
	end("call", "changed");

	for (size_t k = 0; k < CALL_LEN; k++)
		p += sprintf(p, "%02x", hidden[k]);
	frame = call_frame(cred, &len);
	must(frame);
	begin();
	storm_put8(&o, 2);
	storm_put(&o, frame + RUN_FRAME_HEADER, len - RUN_FRAME_HEADER);
	end("call", "body");

	begin();
	storm_put8(&o, 3);
	storm_put8(&o, 1); /* pieces of 17 bytes */
	storm_put(&o, frame, len);
	end("call", "stream");
	begin();
	storm_put8(&o, 3);
	storm_put8(&o, 255);
	storm_put(&o, frame, len);
	end("call", "whole");
	free(frame);
}

/* The first byte says which, see fuzz_run_wire.c. */
static void runs(void)
{
	const struct run_what what = {
		.umask = 022,
		.cwd = "/",
		.stream = { "", "out-%t", "" },
		.label = true,
		.fold = true,
		.pty = true,
		.window = { 24, 80, 640, 480 },
		.bind = RUN_BIND_MASK,
		.bind_list = "0x3,f0*2",
		.input = RUN_INPUT_EACH,
		.framed = true,
		.tells = true,
		.argv = (char *[]) { "true", "", NULL },
		.env = (char *[]) { "PATH=/bin", NULL },
	};
	struct run_what several = what;
	struct storm_range past[] = { { 0, 6 }, { 9, 9 } }, at[] = { { 0, 2 } };
	struct run_program programs[] = {
		{ past, 2, (char *[]) { "a", "%t%o%%", NULL }, 0 },
		{ NULL, 0, (char *[]) { "b", NULL }, 0 },
	};
	uint8_t head[RUN_FRAME_HEADER];
	uint32_t cpus[] = { 2, 1 }, gpus[] = { 1, 0 };
	uint64_t mem[] = { 1000, 0 };
	struct storm_node nodes[] = { { .name = "n1" }, { .name = "n2" } };

	begin();
	storm_put8(&o, 0);
	run_ask_put(&o, &(struct run_ask) { .nodes = 2,
					    .tasks = 3,
					    .cpus = 1,
					    .gpus = 1,
					    .mem = 100,
					    .limit = 60,
					    .wait = 5,
					    .kill = true,
					    .keep = true,
					    .with = "n[1-2]",
					    .without = "n9",
					    .journal = "/tmp/j" });
	run_what_put(&o, &what);
	end("run_wire", "ask");

	several.programs = (struct run_programs) { programs, 2, NULL };
	begin();
	storm_put8(&o, 0);
	run_ask_put(&o, &(struct run_ask) {
				.with = "", .without = "", .journal = "" });
	run_what_put(&o, &several);
	end("run_wire", "programs");

	begin();
	storm_put8(&o, 1);
	run_start_put(&o, &(struct run_start) {
				  .number = 4,
				  .first = 10,
				  .tasks = 4,
				  .past = { past, 2, 2 },
				  .names = "n[1-3]",
				  .nodes = { at, 1, 1 },
				  .rank = (uint32_t[]) { 0, 1, 2, 4 },
				  .local = 1,
			  });
	end("run_wire", "start");

	begin();
	storm_put8(&o, 2);
	run_step_put(&o, &(struct run_step) { .job = 7,
					      .count = 2,
					      .cpus = cpus,
					      .gpus = gpus,
					      .mem = mem,
					      .nodes = nodes });
	end("run_wire", "step");

	begin();
	storm_put8(&o, 4);
	run_listed_put(&o, &(struct run_listed) { 7, RUN_LIST_RUNS, 5, 4, 3, 2,
						  "n[1-4]", "true 1" });
	end("run_wire", "listed");

	begin();
	storm_put8(&o, 5);
	storm_put8(&o, 0);
	storm_put32(&o, 3);
	storm_put(&o, "input", 5);
	end("run_wire", "input");

	begin();
	storm_put8(&o, 5);
	storm_put8(&o, 4);
	storm_put8(&o, 1);
	storm_put_set(&o, &(struct storm_idset) { past, 2, 2 });
	storm_put(&o, "folded", 6);
	end("run_wire", "folded");

	for (int long_one = 0; long_one < 2; long_one++) {
		begin();
		storm_put8(&o, 3);
		storm_put8(&o, long_one ? 90 : 2);
		for (size_t n = 0; n < 3; n++) {
			size_t len = long_one ? n * 9000 : n;

			run_frame_head(head, RUN_OUTPUT, len);
			storm_put(&o, head, sizeof(head));
			for (; len; len--)
				storm_put8(&o, (uint8_t) len);
		}
		end("run_wire", long_one ? "long-frames" : "frames");
	}
}

static void each_frame(uint8_t which, struct pull_bytes *b, const char *name)
{
	begin();
	storm_put8(&o, which);
	storm_put(&o, b->buf + RUN_FRAME_HEADER, b->have - RUN_FRAME_HEADER);
	end("each", name);
	pull_bytes_fini(b);
}

static void each_log(uint8_t which, int lines, const char *name)
{
	begin();
	storm_put8(&o, which);
	if (lines > 1)
		storm_put(&o, each_joblog_header, strlen(each_joblog_header));
	for (int k = 1; k <= lines; k++) {
		size_t len;
		char *line = each_joblog_line(
			&(struct each_joblog_entry) {
				.seq = (uint64_t) k,
				.host = "n1",
				.start_us = 1795755400442000,
				.time_us = 1006000,
				.received = 4,
				.exitval = k % 2 ? 0 : -1,
				.signal = k % 2 ? 0 : 15,
				.command = "echo a b",
			},
			&len);

		must(line);
		storm_put(&o, line, len);
		free(line);
	}
	end("each", name);
}

/* The first byte says which, see fuzz_each.c. */
static void each(void)
{
	struct pull_bytes b = { 0 };

	pull_setup_put(&b, &(struct pull_setup) { 8, 16, 77, 1000000 });
	each_frame(0, &b, "setup");
	pull_end_put(&b, &(struct pull_end) { 9, 0, 15, true, true,
					      1795755400442000, 1006000 });
	each_frame(1, &b, "end");
	begin();
	storm_put8(&o, 2);
	storm_put64(&o, 9);
	storm_put32(&o, 4);
	storm_put(&o, "/tmpecho a\0b\0", 13);
	end("each", "task");
	each_log(3, 1, "line");
	each_log(4, 5, "log");
}

/* Lines as they are, and in pieces. */
static void stack(void)
{
	struct storm_range ranks[] = { { 0, 3 }, { 5, 5 }, { 7, 900 } };
	struct stack_one one = { .kind = STACK_MAIN,
				 .label = "0",
				 .program = "a.out",
				 .text = "read < solve < main",
				 .count = 3,
				 .ranks = { ranks, 3, 3 } };
	struct stack_code code = { .kind = REPORT_MAIN,
				   .one = &one,
				   .each = 2 };
	struct stack_want wants[] = { { REPORT_MAIN, 7, 3 },
				      { REPORT_NO_RANK, UINT32_MAX, 0 } };
	uint8_t question[STACK_WANTS_BYTES];
	char line[STACK_LINE], piece[STACK_PIECE + 1];
	uint32_t from = 0;
	size_t at = 0, len;

	must(stack_line_put(&line, &one, &from));
	begin();
	storm_put8(&o, 0);
	storm_put(&o, line, strlen(line));
	storm_put(&o, "\nP\t7\nN\tn1\t4\t1000\n", 18);
	storm_put(&o, "O\t7\nU\t9\t2\n", 10);
	stack_text_put(&line, &code);
	storm_put(&o, line, strlen(line));
	end("stack", "lines");
	begin();
	storm_put8(&o, 1);
	while ((len = stack_piece_put(&piece, 1, line, &at)))
		storm_put(&o, piece, len);
	end("stack", "pieces");
	begin();
	storm_put8(&o, 2);
	storm_put(&o, question, stack_wants_put(&question, true, wants, 2));
	end("stack", "question");
}

/* The first byte is the number of tasks. */
static void multi(void)
{
	static const char text[] =
		"# of srun(1)\n4-6 hostname\n1,7 echo task:%t\n\n"
		"0,2-3 sh -c 'echo \\\n%t' \\%off%o \\\n end\\ \\'\n* true\n";

	begin();
	storm_put8(&o, 9);
	storm_put(&o, text, sizeof(text) - 1);
	end("multi", "file");
	begin();
	storm_put8(&o, 0);
	storm_put(&o, "0-4294967294 a\n4-0 b", 20);
	end("multi", "bad");
}

/* The first byte says which, see fuzz_pmi.c; in lines the first one of each whose it is. */
static void pmi(void)
{
	static const char lines[] =
		"0cmd=init pmi_version=1 pmi_subversion=1\n0cmd=get_maxes\n"
		"0cmd=put kvsname=storm key=a value=x y\n0cmd=barrier_in\n"
		"1cmd=put kvsname=storm key=b value=z\n1cmd=barrier_in\n"
		"2cmd=barrier_in\n2cmd=get kvsname=storm key=a\n"
		"1mcmd=spawn\n1nprocs=2\n1endcmd\n0cmd=lookup_name service=s\n"
		"2cmd=get_universe_size\n2cmd=get_appnum\n2cmd=get_my_kvsname\n"
		"2cmd=finalize\n1cmd=abort exitcode=7 message=no luck\n";
	struct storm_range all = { 0, 3 };

	begin();
	storm_put8(&o, 0);
	storm_put(&o, lines, sizeof(lines) - 1);
	end("pmi", "lines");

	begin();
	storm_put8(&o, 1);
	storm_put(&o, "a\0x\0b\0y", sizeof("a\0x\0b\0y"));
	end("pmi", "pairs");

	begin();
	storm_put8(&o, 2);
	pmi_msg_put(&o, &(struct pmi_msg) { .kind = PMI_FENCE,
					    .ranks = { &all, 1, 1 },
					    .data = (const uint8_t *) "data",
					    .len = 4 });
	end("pmi", "fence");

	begin();
	storm_put8(&o, 3);
	pmi_fenced_put(&o,
		       &(struct pmi_fenced) { .run = 3,
					      .ranks = { &all, 1, 1 },
					      .all = 6,
					      .at = 2,
					      .data = (const uint8_t *) "data",
					      .len = 4 });
	end("pmi", "fenced");
}

/* Likewise. */
static void px(void)
{
	char *first[] = { "PMIX_NAMESPACE=storm.x.1", "PMIX_RANK=0", NULL };
	char *second[] = { "PMIX_NAMESPACE=storm.x.1", "PMIX_RANK=1", NULL };
	char **env[] = { first, second };
	struct storm_range all = { 0, 3 };

	begin();
	storm_put8(&o, 0);
	px_msg_put(&o, &(struct px_msg) { .run = 3,
					  .ranks = { &all, 1, 1 },
					  .data = (const uint8_t *) "data",
					  .len = 4 });
	end("px", "fence");

	begin();
	storm_put8(&o, 1);
	px_register_put(&o, &(struct px_register) {
				    .run = 3,
				    .space = "storm.x.1",
				    .names = "n[1-2],m",
				    .nodes = 3,
				    .nth = 1,
				    .rank = (uint32_t[]) { 0, 2, 3, 4 } });
	end("px", "register");

	begin();
	storm_put8(&o, 2);
	px_env_put(&o, 3, (char *const *const *) env, 2);
	end("px", "env");
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	top = argv[1];
	make(top);
	world_init();
	wire();
	carrier();
	calls();
	runs();
	each();
	stack();
	multi();
	pmi();
	px();
	verbs();
	idset();
	nodelist();
	cast();
	status();
	reports();
	gathers();
	begins();
	chunkmap();
	opens();
	nm();
	owner();
	locals();
	launch();
	conf();
	gang();
	seal();
	streams();
	requests();
	context();
	turns();
	return 0;
}
