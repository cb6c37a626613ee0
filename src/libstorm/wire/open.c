/*
 * open.c - see open.h.  A stream is
 *
 *   u32 magic, u16 version, u16 late, u32 node addressed,
 *   u32 n, n bytes of credential, u32 m, m bytes of body
 *
 * and the credential's payload is {session key, SHA-256(body)}.  So the user
 * that made the credential also wrote the body, and only the agent's user can
 * read the key.  This frame is the same in every version: an agent can
 * authenticate a sender of another version, and report the mismatch to it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <openssl/crypto.h>
#include <stdlib.h>

#include "credential.h"
#include "open.h"
#include "src/libstorm/base/auth_reason.h"
#include "src/libstorm/base/log_limit.h"

#define OPEN_MULTICAST 0x1
#define OPEN_BEGIN 0x2
#define OPEN_FOUNDING 0x4
/* ns; the upper limit bounds how long a domain outlives its owner */
#define TIME_MIN 1000000ULL
#define TIME_MAX 3600000000000ULL

bool storm_var_known(uint32_t var)
{
	return var < STORM_VARS ||
	       (var >= STORM_GLOBAL(0) && var < STORM_GLOBAL(STORM_GLOBALS));
}

bool storm_relation_holds(uint64_t a, enum storm_relation rel, uint64_t b)
{
	switch (rel) {
	case STORM_GE:
		return a >= b;
	case STORM_LT:
		return a < b;
	case STORM_EQ:
		return a == b;
	case STORM_NE:
		return a != b;
	}
	return false;
}

static void target_put(struct storm_out *o, const struct storm_target *to)
{
	size_t n = to->path ? strlen(to->path) : 0;

	storm_put32(o, to->remote_event);
	storm_put32(o, to->flags);
	storm_put32(o, to->mode);
	storm_put64(o, (uint64_t) to->atime);
	storm_put64(o, (uint64_t) to->mtime);
	storm_put32(o, to->segment);
	storm_put64(o, to->offset);
	storm_put16(o, (uint16_t) n);
	storm_put(o, to->path, n);
}

static void comparison_put(struct storm_out *o,
			   const struct storm_comparison *c)
{
	storm_put32(o, c->var);
	storm_put8(o, (uint8_t) c->rel);
	storm_put64(o, c->value);
	storm_put8(o, c->writes);
	storm_put32(o, c->write.var);
	storm_put64(o, c->write.value);
}

size_t storm_begin_pack(const struct storm_begin *b, uint8_t *buf, size_t max)
{
	struct storm_out o = { buf, buf + max, false };

	if (b->to.path && strlen(b->to.path) >= STORM_PATH_MAX)
		return 0;
	storm_put64(&o, b->op);
	storm_put64(&o, b->size);
	storm_put_set(&o, &b->p);
	storm_put8(&o, (uint8_t) b->to.kind);
	if ((int) b->to.kind == STORM_KIND_COMPARE)
		comparison_put(&o, &b->cmp);
	else
		target_put(&o, &b->to);
	return o.bad ? 0 : (size_t) (o.p - buf);
}

static int target_get(struct storm_in *i, struct storm_target *to)
{
	const uint8_t *path;
	uint16_t n;

	to->remote_event = storm_get32(i);
	to->flags = storm_get32(i);
	to->mode = storm_get32(i);
	to->atime = (int64_t) storm_get64(i);
	to->mtime = (int64_t) storm_get64(i);
	to->segment = storm_get32(i);
	to->offset = storm_get64(i);
	n = storm_get16(i);
	path = storm_get(i, n);
	if (!storm_in_done(i) || n >= STORM_PATH_MAX ||
	    (to->flags & ~STORM_FILE_FLAGS) || (to->mode & ~STORM_FILE_MODE) ||
	    to->segment >= STORM_SEGMENTS || (n && memchr(path, 0, n)) ||
	    (to->kind == STORM_TARGET_FILE) != (n > 0))
		return STORM_EINVAL;
	if (n) {
		char *s = malloc((size_t) n + 1);

		if (!s)
			return STORM_ENOMEM;
		memcpy(s, path, n);
		s[n] = 0;
		to->path = s;
	}
	return STORM_OK;
}

static int comparison_get(struct storm_in *i, struct storm_comparison *c)
{
	uint8_t writes;

	c->var = storm_get32(i);
	c->rel = storm_get8(i);
	c->value = storm_get64(i);
	writes = storm_get8(i);
	c->write.var = storm_get32(i);
	c->write.value = storm_get64(i);
	c->writes = writes;
	/* without a write its fields must be zero */
	return storm_in_done(i) && storm_var_known(c->var) &&
			       c->rel <= STORM_NE && writes <= 1 &&
			       (writes ? c->write.var >= STORM_VARS &&
						 storm_var_known(c->write.var) :
					 !c->write.var && !c->write.value) ?
		       STORM_OK :
		       STORM_EINVAL;
}

int storm_begin_unpack(struct storm_begin *b, const uint8_t *buf, size_t len,
		       uint32_t count)
{
	struct storm_in i = { buf, buf + len, false };
	int err = STORM_EINVAL;

	memset(b, 0, sizeof(*b));
	b->op = storm_get64(&i);
	b->size = storm_get64(&i);
	storm_get_set(&i, &b->p, count - 1);
	b->to.kind = storm_get8(&i);
	if (!i.bad && b->op && b->size <= INT64_MAX &&
	    b->p.count <= STORM_SET_RANGES) {
		if ((int) b->to.kind == STORM_KIND_COMPARE && !b->size)
			err = comparison_get(&i, &b->cmp);
		else if (b->to.kind >= STORM_TARGET_MEMORY &&
			 b->to.kind <= STORM_TARGET_SEGMENT)
			err = target_get(&i, &b->to);
	}
	if (err)
		storm_begin_free(b);
	return err;
}

int storm_begin_check_set(const struct storm_idset *P, uint32_t count)
{
	if (!P->count || P->r[P->count - 1].last >= count)
		return STORM_EINVAL;
	return P->count > STORM_SET_RANGES ? STORM_ETOOBIG : STORM_OK;
}

void storm_begin_free(struct storm_begin *b)
{
	free((char *) b->to.path);
	b->to.path = NULL;
	storm_idset_clear(&b->p);
}

static size_t open_body_room(const struct storm_open *o)
{
	return 256 + o->authority_len + STORM_BEGIN_MAX +
	       10 * (size_t) o->excluded.count + o->nodes.len;
}

static int open_body_pack(struct storm_open *o)
{
	size_t max = open_body_room(o);
	uint8_t *buf = malloc(max), begin[STORM_BEGIN_MAX];
	struct storm_out b = { buf, buf + max, false };
	size_t n = 0;

	if (!buf)
		return STORM_ENOMEM;
	if (o->has_begin)
		n = storm_begin_pack(&o->begin, begin, sizeof(begin));
	if (o->has_begin && !n) {
		free(buf);
		return STORM_ETOOBIG;
	}
	storm_put(&b, o->nonce, sizeof(o->nonce));
	storm_put32(&b, o->job_id);
	storm_put32(&b, o->step_id);
	storm_put32(&b, o->step_het);
	storm_put_addr(&b, &o->owner);
	storm_put_addr(&b, &o->group);
	storm_put8(&b, (o->multicast ? OPEN_MULTICAST : 0) |
			       (o->has_begin ? OPEN_BEGIN : 0) |
			       (o->founding ? OPEN_FOUNDING : 0));
	storm_put32(&b, o->radix);
	storm_put32(&b, o->mtu);
	storm_put64(&b, o->window);
	storm_put64(&b, o->dead_timeout);
	storm_put64(&b, o->op_timeout);
	storm_put64(&b, o->heartbeat);
	storm_put64(&b, o->cluster);
	storm_put32(&b, o->epoch);
	storm_put16(&b, (uint16_t) n);
	storm_put(&b, begin, n);
	storm_put32(&b, (uint32_t) o->authority_len);
	storm_put(&b, o->authority, o->authority_len);
	storm_nodes_put(&b, &o->nodes);
	storm_put_set(&b, &o->excluded);
	if (b.bad ||
	    (size_t) (b.p - buf) > STORM_OPEN_MAX - STORM_CRED_MAX - 64) {
		free(buf);
		return STORM_ETOOBIG;
	}
	o->body = buf;
	o->body_len = (size_t) (b.p - buf);
	return STORM_OK;
}

static uint64_t open_session_of(const uint8_t *body, size_t len,
				uint8_t sha[static 32])
{
	struct storm_in i = { sha, sha + 32, false };

	storm_sha256(body, len, sha);
	return storm_get64(&i);
}

static int open_make_cred(struct storm_open *o, uint32_t agent_uid)
{
	uint8_t payload[STORM_KEY_LEN + 32];
	char *cred;
	int err;

	memcpy(payload, o->key, STORM_KEY_LEN);
	o->session =
		open_session_of(o->body, o->body_len, payload + STORM_KEY_LEN);
	err = storm_credential_encode(agent_uid, payload, sizeof(payload),
				      &cred);
	OPENSSL_cleanse(payload, sizeof(payload));
	if (err)
		return err;
	free(o->cred);
	o->cred = cred;
	return STORM_OK;
}

int storm_open_seal(struct storm_open *o, uint32_t agent_uid)
{
	int err = open_body_pack(o);

	if (!err)
		err = storm_random(o->key, sizeof(o->key));
	o->cred = NULL;
	return err ? err : open_make_cred(o, agent_uid);
}

int storm_open_renew(struct storm_open *o, uint32_t agent_uid)
{
	return open_make_cred(o, agent_uid);
}

uint8_t *storm_open_stream(const struct storm_open *o, uint32_t node,
			   size_t *len)
{
	size_t cl = strlen(o->cred);
	uint8_t *buf = malloc(20 + cl + o->body_len);
	struct storm_out b = { buf, buf + 20 + cl + o->body_len, false };

	if (!buf)
		return NULL;
	storm_put32(&b, STORM_WIRE_MAGIC);
	storm_put16(&b, STORM_WIRE_VERSION);
	storm_put16(&b, o->late);
	storm_put32(&b, node);
	storm_put32(&b, (uint32_t) cl);
	storm_put(&b, o->cred, cl);
	storm_put32(&b, (uint32_t) o->body_len);
	storm_put(&b, o->body, o->body_len);
	*len = 20 + cl + o->body_len;
	return buf;
}

struct open_frame {
	uint16_t version, late;
	uint32_t self;
	const uint8_t *cred, *body;
	size_t cred_len, body_len;
};

static int open_frame_parse(struct open_frame *f, const void *buf, size_t len)
{
	struct storm_in i = { buf, (const uint8_t *) buf + len, false };

	if (storm_get32(&i) != STORM_WIRE_MAGIC)
		return STORM_EINVAL;
	f->version = storm_get16(&i);
	f->late = storm_get16(&i);
	if (f->late > 1)
		return STORM_EINVAL;
	f->self = storm_get32(&i);
	f->cred_len = storm_get32(&i);
	if (f->cred_len > STORM_CRED_MAX)
		return STORM_ETOOBIG;
	f->cred = storm_get(&i, f->cred_len);
	f->body_len = storm_get32(&i);
	f->body = storm_get(&i, f->body_len);
	return storm_in_done(&i) ? STORM_OK : STORM_EINVAL;
}

int storm_open_peek(const void *buf, size_t len, uint64_t *session)
{
	struct open_frame f;
	uint8_t sha[32];
	int err = open_frame_parse(&f, buf, len);

	if (!err)
		*session = open_session_of(f.body, f.body_len, sha);
	return err;
}

uint32_t storm_open_node(const void *buf)
{
	const uint8_t *p = buf;
	struct storm_in i = { p + STORM_OPEN_SAME - 4, p + STORM_OPEN_SAME,
			      false };

	return storm_get32(&i);
}

static int open_body_unpack(struct storm_open *o)
{
	struct storm_in i = { o->body, o->body + o->body_len, false };
	const uint8_t *p, *begin;
	uint8_t flags;
	uint32_t n, begin_len;
	int err;

	p = storm_get(&i, sizeof(o->nonce));
	if (p)
		memcpy(o->nonce, p, sizeof(o->nonce));
	o->job_id = storm_get32(&i);
	o->step_id = storm_get32(&i);
	o->step_het = storm_get32(&i);
	storm_get_addr(&i, &o->owner);
	storm_get_addr(&i, &o->group);
	flags = storm_get8(&i);
	o->multicast = flags & OPEN_MULTICAST;
	o->founding = flags & OPEN_FOUNDING;
	o->radix = storm_get32(&i);
	o->mtu = storm_get32(&i);
	o->window = storm_get64(&i);
	o->dead_timeout = storm_get64(&i);
	o->op_timeout = storm_get64(&i);
	o->heartbeat = storm_get64(&i);
	o->cluster = storm_get64(&i);
	o->epoch = storm_get32(&i);
	n = storm_get16(&i);
	p = storm_get(&i, n);
	if (i.bad || (flags & ~(OPEN_MULTICAST | OPEN_BEGIN | OPEN_FOUNDING)) ||
	    o->radix < 2 || o->radix > 64 || o->mtu < STORM_MTU_MIN ||
	    o->mtu > STORM_DATAGRAM_MAX || o->window < STORM_WINDOW_MIN ||
	    o->dead_timeout < TIME_MIN || o->dead_timeout > TIME_MAX ||
	    o->heartbeat < TIME_MIN || o->heartbeat > TIME_MAX || !o->epoch ||
	    (o->founding && !o->cluster))
		return STORM_EINVAL;
	if (!!(flags & OPEN_BEGIN) != (n > 0))
		return STORM_EINVAL;
	begin = p;
	begin_len = n;
	n = storm_get32(&i);
	p = storm_get(&i, n);
	if (i.bad)
		return STORM_EINVAL;
	if (n) {
		o->authority = malloc(n);
		if (!o->authority)
			return STORM_ENOMEM;
		memcpy(o->authority, p, n);
		o->authority_len = n;
	}
	err = storm_nodes_get(&o->nodes, &i);
	if (err)
		return err;
	o->count = o->nodes.count;
	storm_get_set(&i, &o->excluded, o->count - 1);
	if (!storm_in_done(&i) || o->self >= o->count ||
	    (o->excluded.count && !o->cluster))
		return STORM_EINVAL;
	if (begin_len) {
		err = storm_begin_unpack(&o->begin, begin, begin_len, o->count);
		o->has_begin = !err;
	}
	return err;
}

/* The payload must have the body's digest, or another user wrote the body. */
static int open_check_author(const struct storm_open *o, const uint8_t *payload,
			     size_t len, const struct open_frame *f,
			     const uint8_t sha[32])
{
	struct storm_log_source from = storm_log_uid(o->uid);
	bool ours = f->version == STORM_WIRE_VERSION;

	/* another version's payload may be longer */
	if ((ours ? len != STORM_KEY_LEN + 32 : len < STORM_KEY_LEN + 32) ||
	    CRYPTO_memcmp(payload + STORM_KEY_LEN, sha, 32))
		return STORM_EAUTH;
	if (ours)
		return STORM_OK;
	storm_log_from(
		&from, STORM_LOG_WARN,
		"uid %u opens a session in protocol "
		"version %u, but this is version %u: install the same STORM "
		"on all hosts",
		o->uid, f->version, STORM_WIRE_VERSION);
	return STORM_EVERSION;
}

/* MUNGE refuses the credential.  The sender learns that the clocks differ only
 * if it made the credential and wrote the body.  That holds for all answers. */
static int open_refused(struct storm_open *o, int err,
			const struct open_frame *f)
{
	uint8_t sha[32], *payload = NULL;
	size_t len = 0;

	if (!storm_auth_is_clock(STORM_REFUSAL_SYS(err)))
		return err;
	open_session_of(o->body, o->body_len, sha);
	if (storm_credential_decode_stale(o->cred, (void **) &payload, &len,
					  &o->uid, &o->gid))
		return STORM_EAUTH;
	if (open_check_author(o, payload, len, f, sha))
		err = STORM_EAUTH;
	OPENSSL_cleanse(payload, len);
	free(payload);
	return err;
}

int storm_open_verify(const void *buf, size_t len, struct storm_open **out)
{
	struct storm_open *o = NULL;
	uint8_t sha[32], *payload = NULL;
	size_t payload_len = 0;
	struct open_frame f;
	int err = open_frame_parse(&f, buf, len);

	if (err)
		return err;
	o = calloc(1, sizeof(*o));
	if (!o)
		return STORM_ENOMEM;
	err = STORM_ENOMEM;
	o->self = f.self;
	o->late = f.late;
	o->cred = malloc(f.cred_len + 1);
	o->body = malloc(f.body_len);
	if (!o->cred || !o->body)
		goto fail;
	memcpy(o->cred, f.cred, f.cred_len);
	o->cred[f.cred_len] = 0;
	memcpy(o->body, f.body, f.body_len);
	o->body_len = f.body_len;
	err = storm_credential_decode(o->cred, (void **) &payload, &payload_len,
				      &o->uid, &o->gid);
	if (err) {
		err = open_refused(o, err, &f);
		goto fail;
	}
	o->session = open_session_of(o->body, o->body_len, sha);
	err = open_check_author(o, payload, payload_len, &f, sha);
	if (err)
		goto fail;
	memcpy(o->key, payload, STORM_KEY_LEN);
	err = open_body_unpack(o);
	if (err)
		goto fail;
	OPENSSL_cleanse(payload, payload_len);
	free(payload);
	*out = o;
	return STORM_OK;
fail:
	if (payload)
		OPENSSL_cleanse(payload, payload_len);
	free(payload);
	storm_open_free(o);
	return err;
}

void storm_open_free(struct storm_open *o)
{
	if (!o)
		return;
	OPENSSL_cleanse(o->key, sizeof(o->key));
	storm_begin_free(&o->begin);
	if (!o->shared || !--*o->shared) {
		storm_nodes_free(&o->nodes);
		storm_idset_clear(&o->excluded);
		free(o->authority);
		free(o->cred);
		free(o->body);
		free(o->shared);
	}
	free(o);
}

void storm_open_info(const struct storm_open *o, struct storm_open_info *out)
{
	*out = (struct storm_open_info) {
		.uid = o->uid,
		.gid = o->gid,
		.job_id = o->job_id,
		.step_id = o->step_id,
		.step_het = o->step_het,
		.cluster = o->cluster,
		.authority = o->authority,
		.authority_len = o->authority_len,
		.count = o->count,
		.self = o->self,
	};
	storm_nodes_name(&o->nodes, o->self, &out->self_name);
}
