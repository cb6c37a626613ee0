/*
 * fuzz_open.c - an OPEN.  With the first byte 0 what follows is the stream as
 * anybody could send it; else it is made of
 *
 *   u32 the node addressed, with VERSION a u16, with PAYLOAD a u16 length and
 *   what the credential holds, then the body
 *
 * and without PAYLOAD the credential is the right one: MUNGE is replaced, as in
 * the simulator.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/wire/credential.h"
#include "src/libstorm/wire/open.h"

#define KNOWN "fuzz"
#define PAYLOAD 0x2
#define VERSION 0x4
#define FIXED \
	(STORM_NONCE_LEN + 101) /* bytes of a body before the BEGIN's length */
#define ENOUGH 128		/* nodes */

static uint8_t payload_is[256];
static size_t payload_len;

static int encode(uint32_t uid, const void *payload, size_t len, char **cred)
{
	(void) uid;
	must(len == STORM_KEY_LEN + 32);
	memcpy(payload_is, payload, len);
	payload_len = len;
	*cred = strdup(KNOWN);
	must(*cred);
	return STORM_OK;
}

static int decode(const char *cred, void **payload, size_t *len, uint32_t *uid,
		  uint32_t *gid)
{
	if (strcmp(cred, KNOWN))
		return STORM_EAUTH;
	*payload = exact(payload_is, payload_len);
	*len = payload_len;
	*uid = *gid = 1000;
	return STORM_OK;
}

static const struct storm_credential_ops ours = { encode, decode };

static void quiet(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

/* The number of nodes in its header: fuzz_nodelist covers long lists. */
static uint32_t nodes_named(const uint8_t *body, size_t len)
{
	struct storm_in i = { body, body + len, false };

	storm_get(&i, FIXED);
	storm_get(&i, storm_get16(&i));
	storm_get(&i, storm_get32(&i));
	return storm_get32(&i);
}

static void must_be_open(const struct storm_open *o)
{
	char name[STORM_NAME_MAX + 1];
	struct storm_open_info info;

	must(o->count && o->count <= STORM_NODES_MAX && o->self < o->count);
	must(o->radix >= 2 && o->radix <= 64);
	must(o->mtu >= STORM_MTU_MIN && o->mtu <= STORM_DATAGRAM_MAX);
	must(!o->has_begin == !o->begin.op);
	must(!o->authority == !o->authority_len);
	must(nodes_named(o->body, o->body_len) == o->count);
	storm_open_info(o, &info);
	must(*info.self_name && strlen(info.self_name) <= STORM_NAME_MAX);
	for (uint32_t i = 0; i < o->count; i++)
		must(*storm_nodes_name(&o->nodes, i, &name));
}

static void same_begin(const struct storm_begin *a, const struct storm_begin *b)
{
	must(a->op == b->op && a->size == b->size);
	must(a->to.kind == b->to.kind && a->to.flags == b->to.flags &&
	     a->to.mode == b->to.mode && a->to.atime == b->to.atime &&
	     a->to.mtime == b->to.mtime &&
	     a->to.remote_event == b->to.remote_event);
	must(a->to.segment == b->to.segment && a->to.offset == b->to.offset);
	must(same_set(&a->p, &b->p));
	must(!a->to.path == !b->to.path);
	must(!a->to.path || !strcmp(a->to.path, b->to.path));
}

static bool same_addr(const struct storm_addr *a, const struct storm_addr *b)
{
	return a->port == b->port && !memcmp(a->ip, b->ip, STORM_ADDR_LEN);
}

static void same(const struct storm_open *a, const struct storm_open *b)
{
	must(!memcmp(a->nonce, b->nonce, STORM_NONCE_LEN));
	must(a->job_id == b->job_id && a->step_id == b->step_id &&
	     a->step_het == b->step_het);
	must(same_addr(&a->owner, &b->owner) &&
	     same_addr(&a->group, &b->group));
	must(a->multicast == b->multicast && a->radix == b->radix &&
	     a->mtu == b->mtu && a->window == b->window);
	must(a->dead_timeout == b->dead_timeout &&
	     a->op_timeout == b->op_timeout && a->heartbeat == b->heartbeat);
	must(a->authority_len == b->authority_len &&
	     (!a->authority ||
	      !memcmp(a->authority, b->authority, a->authority_len)));
	must(a->has_begin == b->has_begin && a->count == b->count);
	if (a->has_begin)
		same_begin(&a->begin, &b->begin);
	for (uint32_t i = 0; i < a->count; i++) {
		struct storm_addr x = storm_nodes_addr(&a->nodes, i);
		struct storm_addr y = storm_nodes_addr(&b->nodes, i);
		char m[STORM_NAME_MAX + 1], n[STORM_NAME_MAX + 1];

		must(!strcmp(storm_nodes_name(&a->nodes, i, &m),
			     storm_nodes_name(&b->nodes, i, &n)) &&
		     same_addr(&x, &y));
	}
}

static void same_again(const struct storm_open *o)
{
	struct storm_open sealed = *o, *got;
	uint8_t *p;
	size_t len;

	must(!storm_open_seal(&sealed, 0));
	must(sealed.body_len <= o->body_len);
	p = storm_open_stream(&sealed, o->self, &len);
	must(p && !storm_open_verify(p, len, &got));
	must(got->session == sealed.session && got->self == o->self);
	same(o, got);
	storm_open_free(got);
	free(p);
	free(sealed.body);
	free(sealed.cred);
}

/* The error that came of it. */
static int stream(const uint8_t *data, size_t size)
{
	struct storm_open *o = NULL;
	uint64_t session = 0;
	int bad = storm_open_peek(data, size, &session);
	int err = storm_open_verify(data, size, &o);

	must(!bad || err);
	must(!err == (o != NULL));
	if (err)
		return err;
	must(o->session == session);
	must_be_open(o);
	/* what the children get is what came */
	for (uint32_t node = 0; node < o->count && node < 2; node++) {
		size_t len;
		uint8_t *p = storm_open_stream(o, node, &len);

		must(p && len == size && !memcmp(p, data, 8));
		must(!memcmp(p + 12, data + 12, size - 12));
		free(p);
	}
	same_again(o);
	storm_open_free(o);
	return STORM_OK;
}

static void raw(const uint8_t *buf, size_t len)
{
	uint8_t *p = exact(buf, len);

	stream(p, len);
	free(p);
}

/* What the credential holds; whether it is right. */
static bool payload(struct storm_in *i, uint8_t how, uint8_t sha[32])
{
	size_t len;
	uint8_t *p;

	if (!(how & PAYLOAD)) {
		memcpy(payload_is + STORM_KEY_LEN, sha, 32);
		payload_len = STORM_KEY_LEN + 32;
		return true;
	}
	p = some(i, sizeof(payload_is), &len);
	memcpy(payload_is, p, len);
	payload_len = len;
	free(p);
	return len == STORM_KEY_LEN + 32 &&
	       !memcmp(payload_is + STORM_KEY_LEN, sha, 32);
}

static void made(struct storm_in *i, uint8_t how)
{
	char cred[] = KNOWN;
	struct storm_open o = { .cred = cred };
	uint32_t self = storm_get32(i);
	uint16_t version = how & VERSION ? storm_get16(i) : STORM_WIRE_VERSION;
	uint8_t sha[32], *p;
	struct storm_in rest = *i;
	bool right;
	size_t len;

	/* the digest is of what follows the payload */
	if (how & PAYLOAD)
		free(some(&rest, sizeof(payload_is), &len));
	o.body = (uint8_t *) rest.p;
	o.body_len = (size_t) (rest.end - rest.p);
	if (nodes_named(o.body, o.body_len) > ENOUGH)
		return;
	storm_sha256(o.body, o.body_len, sha);
	right = payload(i, how, sha);
	p = storm_open_stream(&o, self, &len);
	must(p);
	p[4] = (uint8_t) (version >> 8);
	p[5] = (uint8_t) version;
	if (stream(p, len) == STORM_OK)
		must(right && version == STORM_WIRE_VERSION);
	free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	uint8_t how;

	storm_log_set(quiet);
	storm_credential_use(&ours);
	memset(payload_is, 0, sizeof(payload_is));
	payload_len = 0;
	how = storm_get8(&i);
	if (how)
		made(&i, how);
	else
		raw(i.p, (size_t) (i.end - i.p));
	return 0;
}
