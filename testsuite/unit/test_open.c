/*
 * test_open.c - OPEN: which users may open a domain, and that only data from a
 * verified credential are accepted.  A pair of functions stands in for MUNGE: a
 * credential yields its payload and its maker only if it was not changed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/auth_reason.h"
#include "src/libstorm/wire/credential.h"
#include "src/libstorm/wire/nodelist.h"
#include "src/libstorm/wire/open.h"
#include "unit.h"

#define AGENT_UID 64030
#define USER_UID 1000
#define USER_GID 100
#define SUM_LEN 8 /* of the stand-in's check sum */

/* ---------------------------------------------------------- credential --- */

static int credential_err; /* what decode answers */
static size_t payload_cut; /* bytes that decode leaves out */

static int test_encode(uint32_t agent_uid, const void *payload, size_t len,
		       char **cred)
{
	uint8_t *p = malloc(len + SUM_LEN), sum[32];

	must(agent_uid == AGENT_UID);
	storm_sha256(payload, len, sum);
	*cred = malloc(6 + 2 * (len + SUM_LEN) + 1);
	must(p && *cred);
	memcpy(p, payload, len);
	memcpy(p + len, sum, SUM_LEN);
	strcpy(*cred, "TEST1:");
	for (size_t i = 0; i < len + SUM_LEN; i++)
		sprintf(*cred + 6 + 2 * i, "%02x", p[i]);
	free(p);
	return STORM_OK;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
				      -1;
}

static int test_decode(const char *cred, void **payload, size_t *len,
		       uint32_t *uid, uint32_t *gid)
{
	size_t n = strlen(cred);
	uint8_t *p, sum[32];

	if (credential_err)
		return credential_err;
	if (n < 6 + 2 * SUM_LEN || strncmp(cred, "TEST1:", 6) || n % 2)
		return STORM_EAUTH;
	n = (n - 6) / 2;
	p = malloc(n + 1);
	must(p);
	for (size_t i = 0; i < n; i++) {
		int hi = digit(cred[6 + 2 * i]), lo = digit(cred[7 + 2 * i]);

		if (hi < 0 || lo < 0) {
			free(p);
			return STORM_EAUTH;
		}
		p[i] = (uint8_t) (hi << 4 | lo);
	}
	n -= SUM_LEN;
	storm_sha256(p, n, sum);
	if (memcmp(p + n, sum, SUM_LEN)) {
		free(p);
		return STORM_EAUTH;
	}
	*payload = p;
	*len = n > payload_cut ? n - payload_cut : 0;
	*uid = USER_UID;
	*gid = USER_GID;
	return STORM_OK;
}

static const struct storm_credential_ops test_pair = { test_encode,
						       test_decode };

static void setup(void)
{
	storm_credential_use(&test_pair);
}

/* --------------------------------------------------------------- OPENs --- */

static char *name_of(const char *s)
{
	char *p = strdup(s);

	must(p);
	return p;
}

/* 10.0.0.0 and on */
static void addr_of(struct storm_addr *a, uint32_t number, uint16_t port)
{
	memset(a, 0, sizeof(*a));
	memset(a->ip + 10, 0xff, 2);
	a->ip[12] = 10;
	a->ip[13] = (uint8_t) (number >> 16);
	a->ip[14] = (uint8_t) (number >> 8);
	a->ip[15] = (uint8_t) number;
	a->port = port;
}

static char *numbered(const char *prefix, int width, uint32_t number)
{
	char *p = NULL;

	must(asprintf(&p, "%s%0*u", prefix, width, number) > 0);
	return p;
}

static struct storm_open *known(void)
{
	struct storm_node node[2] = { { .name = "n0" }, { .name = "n1" } };
	struct storm_open *o = calloc(1, sizeof(*o));

	must(o);
	for (size_t i = 0; i < sizeof(o->nonce); i++)
		o->nonce[i] = (uint8_t) (0xf0 + i);
	o->job_id = 1234;
	o->step_id = 5;
	o->step_het = 0xfffffffe;
	addr_of(&o->owner, 1, 40000);
	addr_of(&o->group, 83, 8383);
	o->multicast = true;
	o->radix = 8;
	o->mtu = 1472;
	o->window = 16 << 20;
	o->dead_timeout = 5000000000;
	o->op_timeout = 20000000000;
	o->heartbeat = 1000000000;
	o->epoch = 1;
	o->authority = exact("\xab\xcd", 2);
	o->authority_len = 2;
	o->count = 2;
	addr_of(&node[0].addr, 2, 8383);
	addr_of(&node[1].addr, 3, 8383);
	must(!storm_nodes_make(&o->nodes, node, 2));
	o->has_begin = true;
	o->begin = (struct storm_begin) {
		.op = 1,
		.size = 0x12345,
		.to = { .kind = STORM_TARGET_FILE,
			.remote_event = 7,
			.flags = STORM_FILE_FORCE | STORM_FILE_TIMES,
			.mode = 0750,
			.atime = 1700000000,
			.mtime = -1,
			.path = name_of("/tmp/prog") },
	};
	return o;
}

#define BEGIN_HEX          \
	"0000000000000001" \
	"0000000000012345" \
	"00"               \
	"02"               \
	"00000007"         \
	"00000003"         \
	"000001e8"         \
	"000000006553f100" \
	"ffffffffffffffff" \
	"00000000"         \
	"0000000000000000" \
	"0009"             \
	"2f746d702f70726f67"
#define ADDR_HEX(last, port) "00000000000000000000ffff0a0000" last port
#define BODY_HEX                                                   \
	"f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"                         \
	"000004d2"                                                 \
	"00000005"                                                 \
	"fffffffe" ADDR_HEX("01", "9c40")                          \
		ADDR_HEX("53", "20bf") "03"                        \
				       "00000008"                  \
				       "000005c0"                  \
				       "0000000001000000"          \
				       "000000012a05f200"          \
				       "00000004a817c800"          \
				       "000000003b9aca00"          \
				       "0000000000000000"          \
				       "00000001"                  \
				       "0045" BEGIN_HEX "00000002" \
				       "abcd"                      \
				       "00000002"                  \
				       "00000002"                  \
				       "02"                        \
				       "6e30" ADDR_HEX("02", "20bf") "00"
/* the first 8 bytes of the body's SHA-256, by sha256sum */
#define SESSION 0x2a45a594a545c583ULL

static struct storm_open *random_open(struct rnd *r)
{
	struct storm_open *o = calloc(1, sizeof(*o));
	struct storm_node *node;

	must(o);
	rnd_fill(r, o->nonce, sizeof(o->nonce));
	o->job_id = (uint32_t) rnd64(r);
	o->step_id = (uint32_t) rnd64(r);
	o->step_het = (uint32_t) rnd64(r);
	rnd_fill(r, o->owner.ip, 16);
	o->owner.port = (uint16_t) rnd64(r);
	rnd_fill(r, o->group.ip, 16);
	o->group.port = (uint16_t) rnd64(r);
	o->multicast = below(r, 2);
	o->radix = 2 + below(r, 63);
	o->mtu = STORM_MTU_MIN +
		 below(r, STORM_DATAGRAM_MAX - STORM_MTU_MIN + 1);
	o->window = 65536 + (rnd64(r) >> 20);
	o->dead_timeout = 1000000 + rnd64(r) % 3599000000000;
	o->op_timeout = rnd64(r);
	o->heartbeat = 1000000 + rnd64(r) % 3599000000000;
	o->cluster = below(r, 2) ? rnd64(r) : 0;
	o->epoch = 1 + (uint32_t) (rnd64(r) >> 33);
	if (below(r, 2)) {
		o->authority_len = 1 + below(r, 300);
		o->authority = malloc(o->authority_len);
		must(o->authority);
		rnd_fill(r, o->authority, o->authority_len);
	}
	o->count = 1 + below(r, 30);
	node = calloc(o->count, sizeof(*node));
	must(node);
	for (uint32_t i = 0; i < o->count; i++) {
		size_t n = below(r, 5) ? 1 + below(r, 9) :
					 1 + below(r, STORM_NAME_MAX);
		char *name = malloc(n + 1);

		must(name);
		memset(name, 'a' + (int) below(r, 26), n);
		name[n] = 0;
		node[i].name = name;
		rnd_fill(r, &node[i].addr.ip, 16);
		node[i].addr.port = (uint16_t) rnd64(r);
	}
	/* numbered, as clusters are: some counted up, some not quite */
	for (uint32_t i = 0, k = below(r, 1000); i < o->count; i++, k++) {
		if (below(r, 4) == 0)
			continue;
		k += below(r, 4) == 0;
		free((char *) node[i].name);
		node[i].name = numbered(below(r, 9) ? "n" : "m",
					below(r, 9) ? 1 : 4, k);
		addr_of(&node[i].addr, k, 8383);
	}
	must(!storm_nodes_make(&o->nodes, node, o->count));
	for (uint32_t i = 0; i < o->count; i++)
		free((char *) node[i].name);
	free(node);
	o->has_begin = below(r, 3);
	if (o->has_begin) {
		bool file = below(r, 2);
		size_t n = 1 + below(r, below(r, 4) ? 60 : STORM_PATH_MAX - 1);
		char *path = NULL;

		if (file) {
			path = malloc(n + 1);
			must(path);
			memset(path, '/', n);
			path[n] = 0;
		}
		o->begin = (struct storm_begin) {
			.op = 1 + (rnd64(r) >> 1),
			.size = rnd64(r) >> 1,
			.to = { .kind = file ? STORM_TARGET_FILE :
					       STORM_TARGET_MEMORY,
				.remote_event = (uint32_t) rnd64(r),
				.flags = below(r, 16),
				.mode = below(r, 01000),
				.atime = (int64_t) rnd64(r),
				.mtime = (int64_t) rnd64(r),
				.path = path },
		};
	}
	return o;
}

static bool same_addr(const struct storm_addr *a, const struct storm_addr *b)
{
	return !memcmp(a->ip, b->ip, sizeof(a->ip)) && a->port == b->port;
}

static bool same_set(const struct storm_idset *a, const struct storm_idset *b)
{
	return a->count == b->count &&
	       (!a->count || !memcmp(a->r, b->r, a->count * sizeof(*a->r)));
}

static bool same_begin(const struct storm_begin *a, const struct storm_begin *b)
{
	return a->op == b->op && a->size == b->size &&
	       a->to.kind == b->to.kind &&
	       a->to.remote_event == b->to.remote_event &&
	       a->to.flags == b->to.flags && a->to.mode == b->to.mode &&
	       a->to.atime == b->to.atime && a->to.mtime == b->to.mtime &&
	       a->to.segment == b->to.segment && a->to.offset == b->to.offset &&
	       same_set(&a->p, &b->p) &&
	       !memcmp(&a->cmp, &b->cmp, sizeof(a->cmp)) &&
	       !a->to.path == !b->to.path &&
	       (!a->to.path || !strcmp(a->to.path, b->to.path));
}

static bool same_open(const struct storm_open *a, const struct storm_open *b)
{
	if (a->session != b->session ||
	    memcmp(a->key, b->key, sizeof(a->key)) ||
	    memcmp(a->nonce, b->nonce, sizeof(a->nonce)) ||
	    a->job_id != b->job_id || a->step_id != b->step_id ||
	    a->step_het != b->step_het || !same_addr(&a->owner, &b->owner) ||
	    !same_addr(&a->group, &b->group) || a->multicast != b->multicast ||
	    a->radix != b->radix || a->mtu != b->mtu ||
	    a->window != b->window || a->dead_timeout != b->dead_timeout ||
	    a->op_timeout != b->op_timeout || a->heartbeat != b->heartbeat ||
	    a->authority_len != b->authority_len || a->count != b->count ||
	    a->has_begin != b->has_begin ||
	    (a->has_begin && !same_begin(&a->begin, &b->begin)) ||
	    (a->authority_len &&
	     memcmp(a->authority, b->authority, a->authority_len)) ||
	    a->body_len != b->body_len || strcmp(a->cred, b->cred) ||
	    memcmp(a->body, b->body, a->body_len))
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		struct storm_addr x = storm_nodes_addr(&a->nodes, i);
		struct storm_addr y = storm_nodes_addr(&b->nodes, i);
		char m[STORM_NAME_MAX + 1], n[STORM_NAME_MAX + 1];

		if (strcmp(storm_nodes_name(&a->nodes, i, &m),
			   storm_nodes_name(&b->nodes, i, &n)) ||
		    !same_addr(&x, &y))
			return false;
	}
	return true;
}

static int verify(const void *buf, size_t len, struct storm_open **out)
{
	uint8_t *p = exact(buf, len);
	int err;

	*out = NULL;
	err = storm_open_verify(p, len, out);
	must(!err == !!*out); /* published on success alone */
	free(p);
	return err;
}

static int verdict(const void *buf, size_t len)
{
	struct storm_open *o;
	int err = verify(buf, len, &o);

	storm_open_free(o);
	return err;
}

/* A stream around this body, with a credential that is right for it. */
static uint8_t *stream_around(const uint8_t *body, size_t len, uint32_t node,
			      size_t *out_len)
{
	struct storm_open o = { .body = exact(body, len), .body_len = len };
	uint8_t payload[STORM_KEY_LEN + 32], *buf;

	memset(payload, 0x5a, STORM_KEY_LEN);
	storm_sha256(o.body, len, payload + STORM_KEY_LEN);
	must(!test_encode(AGENT_UID, payload, sizeof(payload), &o.cred));
	buf = storm_open_stream(&o, node, out_len);
	must(buf);
	free(o.cred);
	free(o.body);
	return buf;
}

static int body_verdict(const uint8_t *body, size_t len, uint32_t node)
{
	size_t n;
	uint8_t *p = stream_around(body, len, node, &n);
	int err = verdict(p, n);

	free(p);
	return err;
}

/* --------------------------------------------------------------- tests --- */

#define CRED_LEN (6 + 2 * (STORM_KEY_LEN + 32 + SUM_LEN))

START_TEST(test_golden)
{
	struct storm_open *o = known(), *got;
	uint8_t *p;
	size_t len;

	ck_assert_int_eq(storm_open_seal(o, AGENT_UID), STORM_OK);
	same_hex(o->body, o->body_len, BODY_HEX);
	ck_assert(o->session == SESSION);
	p = storm_open_stream(o, 1, &len);
	ck_assert_ptr_nonnull(p);
	/* magic, version, zero, node, length of the credential */
	same_hex(p, 22,
		 "5354524d"
		 "0002"
		 "0000"
		 "00000001"
		 "00000096"
		 "54455354313a");
	same_hex(p + 16 + CRED_LEN, 4, "000000e0");
	ck_assert_uint_eq(len, 16 + CRED_LEN + 4 + 224);
	ck_assert_int_eq(verify(p, len, &got), STORM_OK);
	ck_assert_uint_eq(got->self, 1);
	ck_assert(same_open(o, got));
	storm_open_free(got);
	storm_open_free(o);
	free(p);
}
END_TEST

START_TEST(test_roundtrip)
{
	struct rnd r = rnd_of(_i);
	struct storm_open *o = random_open(&r), *got;
	struct storm_open_info info;
	uint32_t node = below(&r, o->count);
	char name[STORM_NAME_MAX + 1];
	uint64_t session = 0;
	uint8_t *p, *again;
	size_t len, len2;

	must(!storm_open_seal(o, AGENT_UID));
	p = storm_open_stream(o, node, &len);
	must(p && !verify(p, len, &got));
	must(same_open(o, got) && got->self == node);
	must(got->uid == USER_UID && got->gid == USER_GID);
	must(!storm_open_peek(p, len, &session) && session == o->session);
	storm_open_info(got, &info);
	must(info.uid == USER_UID && info.gid == USER_GID);
	must(info.job_id == o->job_id && info.count == o->count);
	must(info.self == node &&
	     !strcmp(info.self_name, storm_nodes_name(&o->nodes, node, &name)));
	must(info.authority_len == o->authority_len);
	/* on to the children: the same but for the number */
	again = storm_open_stream(got, node, &len2);
	must(again && len2 == len && !memcmp(p, again, len));
	free(again);
	again = storm_open_stream(got, o->count, &len2);
	must(again && verdict(again, len2) == STORM_EINVAL);
	free(again);
	storm_open_free(got);
	storm_open_free(o);
	free(p);
}
END_TEST

/* A later node gets the same session with another credential. */
START_TEST(test_renew)
{
	struct storm_open *o = known(), *got;
	uint8_t *p;
	size_t len;

	must(!storm_open_seal(o, AGENT_UID) && !storm_open_renew(o, AGENT_UID));
	must(o->session == SESSION);
	p = storm_open_stream(o, 1, &len);
	must(p && !verify(p, len, &got));
	must(same_open(o, got));
	storm_open_free(got);
	storm_open_free(o);
	free(p);
}
END_TEST

/* Streams for different nodes differ in which node they are for alone. */
START_TEST(test_same)
{
	struct rnd r = rnd_of(_i);
	struct storm_open *o = random_open(&r);
	uint32_t node = below(&r, o->count);
	uint8_t *p, *q;
	size_t len, len2;

	must(!storm_open_seal(o, AGENT_UID));
	p = storm_open_stream(o, 0, &len);
	q = storm_open_stream(o, node, &len2);
	must(p && q && len2 == len);
	must(storm_open_node(p) == 0 && storm_open_node(q) == node);
	must(!memcmp(p, q, STORM_OPEN_SAME - 4) &&
	     !memcmp(p + STORM_OPEN_SAME, q + STORM_OPEN_SAME,
		     len - STORM_OPEN_SAME));
	storm_open_free(o);
	free(p);
	free(q);
}
END_TEST

/* Two OPENs of the same body have different keys. */
START_TEST(test_keys)
{
	struct storm_open *a = known(), *b = known();

	must(!storm_open_seal(a, AGENT_UID) && !storm_open_seal(b, AGENT_UID));
	ck_assert(a->session == b->session);
	ck_assert(memcmp(a->key, b->key, sizeof(a->key)));
	storm_open_free(a);
	storm_open_free(b);
	storm_open_free(NULL);
}
END_TEST

START_TEST(test_truncated)
{
	struct storm_open *o = known();
	uint64_t session;
	uint8_t *p;
	size_t len;

	must(!storm_open_seal(o, AGENT_UID));
	p = storm_open_stream(o, 0, &len);
	must(p);
	for (size_t n = 0; n < len; n++) {
		uint8_t *cut = exact(p, n);

		must(verdict(p, n) == STORM_EINVAL);
		must(storm_open_peek(cut, n, &session) == STORM_EINVAL);
		free(cut);
	}
	p = realloc(p, len + 1);
	must(p);
	p[len] = 0;
	must(verdict(p, len + 1) == STORM_EINVAL);
	must(verdict(p, len) == STORM_OK);
	/* every length inside the body as well, rightly sealed */
	for (size_t n = 0; n < o->body_len; n++)
		must(body_verdict(o->body, n, 0) == STORM_EINVAL);
	{
		uint8_t *more = malloc(o->body_len + 1);

		must(more);
		memcpy(more, o->body, o->body_len);
		more[o->body_len] = 0;
		must(body_verdict(more, o->body_len + 1, 0) == STORM_EINVAL);
		must(body_verdict(more, o->body_len, 0) == STORM_OK);
		free(more);
	}
	storm_open_free(o);
	free(p);
}
END_TEST

/* The body is what the credential's maker wrote, to the last bit. */
START_TEST(test_tampered)
{
	struct storm_open *o = known();
	size_t len, body, cred = 16;
	uint8_t *p;

	must(!storm_open_seal(o, AGENT_UID));
	p = storm_open_stream(o, 0, &len);
	must(p);
	body = len - o->body_len;
	for (size_t i = 0; i < len; i++) {
		int err;

		if (i >= 7 && i < 12)
			continue; /* late or not; the node addressed */
		p[i] ^= 1;
		err = verdict(p, len);
		must(err);
		if (i >= body || (i >= cred && i < body - 4))
			must(err == STORM_EAUTH);
		p[i] ^= 1;
	}
	/* another user's credential, valid in itself */
	{
		struct storm_open *other = known();
		char *mine = o->cred;
		uint8_t *q;

		other->job_id++;
		must(!storm_open_seal(other, AGENT_UID));
		o->cred = other->cred;
		q = storm_open_stream(o, 0, &len);
		must(q && verdict(q, len) == STORM_EAUTH);
		o->cred = mine;
		free(q);
		storm_open_free(other);
	}
	storm_open_free(o);
	free(p);
}
END_TEST

START_TEST(test_frame)
{
	struct storm_open *o = known();
	uint64_t session;
	size_t len;
	uint8_t *p;

	must(!storm_open_seal(o, AGENT_UID));
	p = storm_open_stream(o, 0, &len);
	must(p);
	for (int v = 0; v < 0x10000; v += v < 256 ? 1 : 251) {
		p[4] = (uint8_t) (v >> 8);
		p[5] = (uint8_t) v;
		/* the outline is that of all versions */
		session = 0;
		must(!storm_open_peek(p, len, &session) &&
		     session == o->session);
		must(storm_open_peek(p, len - 1, &session) == STORM_EINVAL);
	}
	/* and its maker may learn that it is another one */
	p[4] = 0;
	p[5] = STORM_WIRE_VERSION + 1;
	ck_assert_int_eq(verdict(p, len), STORM_EVERSION);
	p[len - 1] ^= 1;
	ck_assert_int_eq(verdict(p, len), STORM_EAUTH);
	p[len - 1] ^= 1;
	credential_err = STORM_EAUTH;
	ck_assert_int_eq(verdict(p, len), STORM_EAUTH);
	credential_err = 0;
	payload_cut = 1;
	ck_assert_int_eq(verdict(p, len), STORM_EAUTH);
	payload_cut = 0;
	p[5] = STORM_WIRE_VERSION;
	p[7] = 1;
	ck_assert_int_eq(verdict(p, len), STORM_OK);
	p[7] = 2;
	ck_assert_int_eq(verdict(p, len), STORM_EINVAL);
	p[7] = 0;
	p[0] = 'G';
	ck_assert_int_eq(verdict(p, len), STORM_EINVAL);
	p[0] = 0x53;
	memset(p + 12, 0xff, 4); /* a credential of 4 GiB */
	ck_assert_int_eq(verdict(p, len), STORM_ETOOBIG);
	free(p);
	storm_open_free(o);
	ck_assert_int_eq(verdict("GET / HTTP/1.1\r\n\r\n", 18), STORM_EINVAL);
	ck_assert_int_eq(verdict("", 0), STORM_EINVAL);
}
END_TEST

/* A reason is a byte: what it says of clocks, rounded. */
START_TEST(test_clocks_that_differ)
{
	static const struct {
		int64_t ahead;
		const char *says;
	} t[] = {
		{ 0, "0 min ahead of" },
		{ 29, "0 min ahead of" },
		{ -30, "1 min behind" },
		{ 400, "7 min ahead of" },
		{ -1000, "17 min behind" },
		{ 39 * 60 + 29, "39 min ahead of" },
		{ 39 * 60 + 30, "1 h ahead of" },
		{ -3600, "1 h behind" },
		{ 23 * 3600 + 1799, "23 h ahead of" },
		{ 23 * 3600 + 1800, "a day or more ahead of" },
		{ INT64_MIN, "a day or more behind" },
		{ INT64_MAX, "a day or more ahead of" },
	};
	char text[STORM_AUTH_TEXT], off[24];

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		int reason = storm_auth_clock(t[i].ahead);

		must(reason < 256 && storm_auth_is_clock(reason));
		must(storm_auth_clock_off(reason, off, sizeof(off)) ==
		     (t[i].ahead < -29));
		must(storm_auth_text(reason, text, sizeof(text)));
		ck_assert_ptr_eq(strstr(text, t[i].says),
				 text + strlen("its clock is "));
	}
	must(!storm_auth_is_clock(STORM_AUTH_NO_MUNGED));
	must(storm_auth_text(STORM_AUTH_NO_MUNGED, text, sizeof(text)));
	must(!storm_auth_text(0, text, sizeof(text)));
	must(!storm_auth_text(256, text, sizeof(text)));
}
END_TEST

START_TEST(test_credential)
{
	struct storm_open *o = known();
	size_t len;
	uint8_t *p;

	must(!storm_open_seal(o, AGENT_UID));
	p = storm_open_stream(o, 0, &len);
	must(p);
	ck_assert_int_eq(verdict(p, len), STORM_OK);
	credential_err = STORM_EAUTH;
	ck_assert_int_eq(verdict(p, len), STORM_EAUTH);
	credential_err = STORM_ENOMEM;
	ck_assert_int_eq(verdict(p, len), STORM_ENOMEM);
	/* its maker may know, but for what munged must have decoded */
	credential_err = STORM_REFUSAL(STORM_EAUTH, STORM_AUTH_NO_MUNGED);
	ck_assert_int_eq(verdict(p, len), credential_err);
	credential_err = STORM_REFUSAL(STORM_EAUTH, storm_auth_clock(400));
	ck_assert_int_eq(verdict(p, len), STORM_EAUTH);
	credential_err = 0;
	/* a payload that is not a key and a digest */
	for (payload_cut = 1; payload_cut <= STORM_KEY_LEN + 32; payload_cut++)
		must(verdict(p, len) == STORM_EAUTH);
	payload_cut = 0;
	ck_assert_int_eq(verdict(p, len), STORM_OK);
	free(p);
	storm_open_free(o);
}
END_TEST

#define REFUSED(change)                                                      \
	do {                                                                 \
		struct storm_open *o_ = known();                             \
		o_->change;                                                  \
		must(!storm_open_seal(o_, AGENT_UID));                       \
		if (body_verdict(o_->body, o_->body_len, 0) != STORM_EINVAL) \
			ck_abort_msg("taken: %s", #change);                  \
		storm_open_free(o_);                                         \
	} while (0)
#define TAKEN(change)                                         \
	do {                                                  \
		struct storm_open *o_ = known();              \
		o_->change;                                   \
		must(!storm_open_seal(o_, AGENT_UID));        \
		if (body_verdict(o_->body, o_->body_len, 0))  \
			ck_abort_msg("refused: %s", #change); \
		storm_open_free(o_);                          \
	} while (0)

START_TEST(test_refused)
{
	TAKEN(radix = 2);
	TAKEN(radix = 64);
	REFUSED(radix = 0);
	REFUSED(radix = 1);
	REFUSED(radix = 65);
	TAKEN(mtu = 548); /* a link of 576 bytes, the least of IPv4 */
	TAKEN(mtu = STORM_MTU_MIN);
	REFUSED(mtu = STORM_MTU_MIN - 1);
	REFUSED(mtu = 0);
	TAKEN(mtu = STORM_DATAGRAM_MAX);
	REFUSED(mtu = STORM_DATAGRAM_MAX + 1);
	REFUSED(mtu = UINT32_MAX);
	TAKEN(window = 65536);
	REFUSED(window = 65535);
	REFUSED(window = 0);
	REFUSED(dead_timeout = 0);
	REFUSED(dead_timeout = 999999);
	REFUSED(heartbeat = 0);
	REFUSED(heartbeat = 999999);
	/* a dead owner's session would stay, or its time wrap */
	TAKEN(dead_timeout = 600000000000);
	REFUSED(dead_timeout = 3600000000001);
	REFUSED(heartbeat = 3600000000001);
	REFUSED(dead_timeout = UINT64_MAX);
	REFUSED(heartbeat = UINT64_MAX / 2);
	REFUSED(begin.op = 0);
	REFUSED(begin.size = (uint64_t) INT64_MAX + 1);
	TAKEN(begin.size = 0);
	TAKEN(begin.to.flags = 0xf);
	REFUSED(begin.to.flags = 0x10);
	REFUSED(begin.to.flags = 0x80000001);
	TAKEN(begin.to.mode = 0777);
	REFUSED(begin.to.mode = 01000);
	REFUSED(begin.to.mode = 02755);
	REFUSED(begin.to.mode = 04755);
	REFUSED(begin.to.mode = 0100755); /* a type */
	REFUSED(begin.to.kind = (enum storm_target_kind) 0);
	REFUSED(begin.to.kind = (enum storm_target_kind) 3);
	REFUSED(begin.to.kind = STORM_TARGET_MEMORY); /* with a path */
	REFUSED(begin.to.path = (free((char *) o_->begin.to.path), NULL));
}
END_TEST

/* Nodes that are numbered without a gap are one run, whatever their number. */
START_TEST(test_runs)
{
	static const struct {
		const char *name[3];
		uint32_t ip[3];
		size_t runs;
	} list[] = {
		{ { "n8", "n9", "n10" }, { 1, 2, 3 }, 1 },
		{ { "n08", "n09", "n10" }, { 1, 2, 3 }, 1 },
		{ { "n98", "n99", "n100" }, { 254, 255, 256 }, 1 },
		{ { "7", "8", "9" }, { 65535, 65536, 65537 }, 1 },
		{ { "a999999999", "a1000000000", "a1000000001" },
		  { 1, 2, 3 },
		  1 },
		{ { "n1", "n2", "n4" }, { 1, 2, 3 }, 2 },
		{ { "n1", "n2", "n3" }, { 1, 2, 4 }, 2 },
		{ { "n1", "n02", "n3" }, { 1, 2, 3 }, 3 },
		{ { "n9", "m10", "m11" }, { 1, 2, 3 }, 2 },
		{ { "a", "b", "c" }, { 1, 2, 3 }, 3 },
		{ { "n3", "n2", "n1" }, { 3, 2, 1 }, 3 },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct storm_node in[3] = { 0 };
		struct storm_nodes list_in, out;
		char name[STORM_NAME_MAX + 1];
		uint8_t buf[200];
		struct storm_out o = { buf, buf + sizeof(buf), false };
		uint32_t n;

		for (int k = 0; k < 3; k++) {
			in[k].name = list[i].name[k];
			addr_of(&in[k].addr, list[i].ip[k], 8383);
		}
		must(!storm_nodes_make(&list_in, in, 3));
		storm_nodes_put(&o, &list_in);
		storm_nodes_free(&list_in);
		must(!o.bad);
		struct storm_in r = { buf, o.p, false };

		ck_assert_int_eq(storm_nodes_get(&out, &r), STORM_OK);
		must(storm_in_done(&r) && out.count == 3);
		for (uint32_t k = 0; k < 3; k++) {
			struct storm_addr a = storm_nodes_addr(&out, k);

			ck_assert_str_eq(storm_nodes_name(&out, k, &name),
					 in[k].name);
			must(same_addr(&a, &in[k].addr));
			ck_assert_uint_eq(storm_nodes_find(&out, a.ip), k);
		}
		ck_assert_uint_eq(out.runs, list[i].runs);
		storm_nodes_free(&out);
		r = (struct storm_in) { buf + 4, o.p, false };
		for (n = 0; r.p < r.end; n++) {
			must(storm_get32(&r));
			storm_get(&r, storm_get8(&r));
			storm_get(&r, STORM_ADDR_LEN + 2);
		}
		must(!r.bad);
		ck_assert_uint_eq(n, list[i].runs);
	}
}
END_TEST

START_TEST(test_many_nodes_are_short)
{
	struct storm_node *in = calloc(STORM_NODES_MAX, sizeof(*in));
	struct storm_nodes l, out;
	char name[STORM_NAME_MAX + 1];
	struct storm_addr a;
	struct storm_in r;

	must(in);
	for (uint32_t i = 0; i < STORM_NODES_MAX; i++) {
		in[i].name = numbered("node", 5, i);
		addr_of(&in[i].addr, i, 8383);
	}
	must(!storm_nodes_make(&l, in, STORM_NODES_MAX));
	/* neither what is sent nor what is kept grows with their number */
	ck_assert_uint_le(l.len, 64);
	ck_assert_uint_le(storm_nodes_bytes(&l), 128);
	r = (struct storm_in) { l.bytes, l.bytes + l.len, false };
	must(!storm_nodes_get(&out, &r) && out.count == STORM_NODES_MAX);
	for (uint32_t i = 0; i < STORM_NODES_MAX; i += 13) {
		a = storm_nodes_addr(&out, i);
		ck_assert_str_eq(storm_nodes_name(&out, i, &name), in[i].name);
		must(same_addr(&a, &in[i].addr));
		ck_assert_uint_eq(storm_nodes_find(&out, a.ip), i);
	}
	addr_of(&a, STORM_NODES_MAX, 8383);
	ck_assert_uint_eq(storm_nodes_find(&out, a.ip), STORM_NO_NODE);
	storm_nodes_free(&out);
	/* cut short */
	r = (struct storm_in) { l.bytes, l.bytes + l.len - 1, false };
	must(storm_nodes_get(&out, &r) == STORM_EINVAL);
	storm_nodes_free(&l);
	for (uint32_t i = 0; i < STORM_NODES_MAX; i++)
		free((char *) in[i].name);
	free(in);
}
END_TEST

/* Fields that a known OPEN's body has at known places. */
START_TEST(test_patched)
{
	static const struct {
		const char *what;
		size_t at, n;
		const char *bytes;
	} patch[] = {
		{ "unknown flag", 64, 1, "\x07" },
		{ "begin without its flag", 64, 1, "\x01" },
		{ "begin of no bytes", 117, 2, "\0\0" },
		{ "begin one byte short", 117, 2, "\0\x44" },
		{ "path longer than there is", 177, 2, "\0\x0a" },
		{ "NUL in the path", 181, 1, "\0" },
		{ "authority of 4 GiB", 188, 4, "\xff\xff\xff\xff" },
		{ "one more node", 194, 4, "\0\0\0\3" },
		{ "one node less", 194, 4, "\0\0\0\1" },
		{ "2^32-1 nodes", 194, 4, "\xff\xff\xff\xff" },
		{ "run of no node", 198, 4, "\0\0\0\0" },
		{ "run of one too many", 198, 4, "\0\0\0\3" },
		{ "run of one too few", 198, 4, "\0\0\0\1" },
		{ "nameless node", 202, 1, "\0" },
		{ "name to the end and beyond", 202, 1, "\xff" },
		{ "NUL in a name", 203, 1, "\0" },
		{ "name that cannot be counted up", 204, 1, "x" },
		{ "line feed in a name", 203, 1, "\n" },
		{ "space in a name", 203, 1, " " },
		{ "escape in a name", 203, 1, "\033" },
		{ "not ASCII", 203, 1, "\200" },
	};
	struct storm_open *o = known();

	must(!storm_open_seal(o, AGENT_UID));
	must(o->body[117] == 0 && o->body[118] == 0x45);
	must(o->body[202] == 2 && !memcmp(o->body + 203, "n0", 2));
	for (size_t i = 0; i < sizeof(patch) / sizeof(*patch); i++) {
		uint8_t *bad = exact(o->body, o->body_len);

		memcpy(bad + patch[i].at, patch[i].bytes, patch[i].n);
		if (!memcmp(bad, o->body, o->body_len) ||
		    body_verdict(bad, o->body_len, 0) != STORM_EINVAL)
			ck_abort_msg("taken: %s", patch[i].what);
		free(bad);
	}
	must(body_verdict(o->body, o->body_len, 1) == STORM_OK);
	must(body_verdict(o->body, o->body_len, 2) == STORM_EINVAL);
	must(body_verdict(o->body, o->body_len, STORM_NO_NODE) == STORM_EINVAL);
	storm_open_free(o);
}
END_TEST

/* A user may seal anything: each gets an answer. */
START_TEST(test_noise)
{
	struct rnd r = rnd_of(_i);
	struct storm_open *o = random_open(&r);

	must(!storm_open_seal(o, AGENT_UID));
	for (int i = 0; i < 100; i++) {
		uint8_t *bad = exact(o->body, o->body_len), *p;
		char name[STORM_NAME_MAX + 1];
		struct storm_open *got;
		size_t len;

		for (uint32_t n = 1 + below(&r, 4); n; n--)
			bad[below(&r, below(&r, 2) || o->body_len < 201 ?
					      (uint32_t) o->body_len :
					      201)] =
				below(&r, 3) ? (uint8_t) rnd64(&r) : 0xff;
		p = stream_around(bad, o->body_len, 0, &len);
		if (!verify(p, len, &got)) {
			must(got->count && got->count <= STORM_NODES_MAX);
			must(got->radix >= 2 && got->radix <= 64);
			must(got->mtu >= STORM_MTU_MIN);
			for (uint32_t k = 0; k < got->count; k++)
				must(*storm_nodes_name(&got->nodes, k, &name));
			if (got->has_begin)
				must(!got->begin.to.path ||
				     *got->begin.to.path);
			storm_open_free(got);
		}
		free(p);
		free(bad);
	}
	storm_open_free(o);
}
END_TEST

START_TEST(test_unsealable)
{
	struct storm_open *o = known();
	char *path = malloc(STORM_PATH_MAX + 1);

	must(path);
	memset(path, 'x', STORM_PATH_MAX);
	path[STORM_PATH_MAX] = 0;
	free((char *) o->begin.to.path);
	o->begin.to.path = path;
	ck_assert_int_eq(storm_open_seal(o, AGENT_UID), STORM_ETOOBIG);
	path[STORM_PATH_MAX - 1] = 0;
	ck_assert_int_eq(storm_open_seal(o, AGENT_UID), STORM_OK);
	storm_open_free(o);

	o = known();
	free(o->authority);
	o->authority_len = STORM_OPEN_MAX;
	o->authority = calloc(1, o->authority_len);
	must(o->authority);
	ck_assert_int_eq(storm_open_seal(o, AGENT_UID), STORM_ETOOBIG);
	storm_open_free(o);
}
END_TEST

START_TEST(test_begin)
{
	struct storm_open *o = known();
	uint8_t buf[STORM_BEGIN_MAX];
	struct storm_begin b;
	size_t len = storm_begin_pack(&o->begin, buf, sizeof(buf));

	same_hex(buf, len, BEGIN_HEX);
	ck_assert_int_eq(storm_begin_unpack(&b, buf, len, 2), STORM_OK);
	ck_assert(same_begin(&o->begin, &b));
	storm_begin_free(&b);
	ck_assert_ptr_null(b.to.path);
	storm_begin_free(&b);
	for (size_t n = 0; n < len; n++) {
		uint8_t *cut = exact(buf, n), small[64];

		must(storm_begin_unpack(&b, cut, n, 2) == STORM_EINVAL);
		must(!b.to.path);
		must(storm_begin_pack(&o->begin, small, n) == 0);
		free(cut);
	}
	buf[len] = 0;
	must(storm_begin_unpack(&b, buf, len + 1, 2) == STORM_EINVAL);
	storm_open_free(o);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("open");
	TCase *t = tcase_create("open");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_golden);
	tcase_add_loop_test(t, test_roundtrip, 0, unit_runs(50));
	tcase_add_loop_test(t, test_same, 0, unit_runs(20));
	tcase_add_test(t, test_renew);
	tcase_add_test(t, test_keys);
	tcase_add_test(t, test_truncated);
	tcase_add_test(t, test_tampered);
	tcase_add_test(t, test_frame);
	tcase_add_test(t, test_clocks_that_differ);
	tcase_add_test(t, test_credential);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_runs);
	tcase_add_test(t, test_many_nodes_are_short);
	tcase_add_test(t, test_patched);
	tcase_add_loop_test(t, test_noise, 0, unit_runs(30));
	tcase_add_test(t, test_unsealable);
	tcase_add_test(t, test_begin);
	suite_add_tcase(s, t);
	return unit_main(s);
}
