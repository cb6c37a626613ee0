/*
 * context.c - see context.h.
 *
 * The jobinfo's bytes, integers in network byte order:
 *
 *	u32 job, u32 step, u32 het component, u32 holder's job, u32 its step, u32
 *	its part, u32 id, u64 serial number of the lease, address group, u16 length
 *	and the credential
 *
 * The credential's payload, which a node trusts:
 *
 *	u32 "SCTX", u8 format, u8[3] 0, u32 uid, the same up to the group, u8[32]
 *	key, u8 length and the cluster's name
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "src/libstorm/wire/credential.h"
#include "src/libstorm/wire/wire.h"

#define MAGIC 0x53435458u
#define FORMAT 1
#define CLUSTER_MAX 255
#define PAYLOAD_MAX (128 + CLUSTER_MAX)

static void context_put(struct storm_out *o, const struct context *c)
{
	struct storm_addr group;
	char text[CONTEXT_GROUP_TEXT];

	storm_put32(o, c->job);
	storm_put32(o, c->step);
	storm_put32(o, c->het);
	storm_put32(o, c->holder.job);
	storm_put32(o, c->holder.step);
	storm_put32(o, c->holder.part);
	storm_put32(o, c->id);
	storm_put64(o, c->serial);
	context_group_text(c->group, &text);
	storm_addr_set(&group, text, 0);
	storm_put_addr(o, &group);
}

static void context_get(struct storm_in *i, struct context *c)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct storm_addr group;

	memset(c, 0, sizeof(*c));
	c->job = storm_get32(i);
	c->step = storm_get32(i);
	c->het = storm_get32(i);
	c->holder.job = storm_get32(i);
	c->holder.step = storm_get32(i);
	c->holder.part = storm_get32(i);
	c->id = storm_get32(i);
	c->serial = storm_get64(i);
	storm_get_addr(i, &group);
	c->group = (uint32_t) group.ip[12] << 24 | group.ip[13] << 16 |
		   group.ip[14] << 8 | group.ip[15];
	/* IPv4 multicast, and nothing that could be written otherwise */
	if (memcmp(group.ip, mapped, sizeof(mapped)) || group.port ||
	    c->group >> 28 != 0xe || !c->id || c->id > CONTEXT_COUNT_MAX ||
	    !c->holder.job || c->holder.part >= CONTEXT_PARTS)
		i->bad = true;
}

size_t context_pack(const struct context *c, const char *cred,
		    uint8_t out[static CONTEXT_BYTES_MAX])
{
	struct storm_out o = { out, out + CONTEXT_BYTES_MAX, false };
	size_t len = cred ? strlen(cred) : 0;

	if (len > CONTEXT_CRED_MAX)
		return 0;
	context_put(&o, c);
	storm_put16(&o, (uint16_t) len);
	storm_put(&o, cred, len);
	return o.bad ? 0 : (size_t) (o.p - out);
}

bool context_unpack(const void *bytes, size_t len, struct context *c,
		    char (*cred)[CONTEXT_CRED_MAX + 1])
{
	struct storm_in i = { bytes, (const uint8_t *) bytes + len, false };
	const uint8_t *p;
	size_t n;

	context_get(&i, c);
	n = storm_get16(&i);
	if (n > CONTEXT_CRED_MAX)
		return false;
	p = storm_get(&i, n);
	if (!storm_in_done(&i) || memchr(p, '\0', n))
		return false;
	memcpy(*cred, p, n);
	(*cred)[n] = '\0';
	return true;
}

char *context_sign(const struct context *c, const char *cluster,
		   uint32_t node_uid)
{
	uint8_t buf[PAYLOAD_MAX];
	struct storm_out o = { buf, buf + sizeof(buf), false };
	size_t len = strlen(cluster);
	char *cred = NULL;

	if (len > CLUSTER_MAX)
		return NULL;
	storm_put32(&o, MAGIC);
	storm_put32(&o, (uint32_t) FORMAT << 24);
	storm_put32(&o, c->uid);
	context_put(&o, c);
	storm_put(&o, c->key, CONTEXT_KEY_LEN);
	storm_put8(&o, (uint8_t) len);
	storm_put(&o, cluster, len);
	if (o.bad ||
	    storm_credential_encode(node_uid, buf, (size_t) (o.p - buf), &cred))
		cred = NULL;
	explicit_bzero(buf, sizeof(buf));
	return cred;
}

static bool context_read_payload(const void *payload, size_t len,
				 struct context *c,
				 char (*cluster)[CLUSTER_MAX + 1])
{
	struct storm_in i = { payload, (const uint8_t *) payload + len, false };
	const uint8_t *key, *name;
	uint32_t uid;
	size_t n;

	if (storm_get32(&i) != MAGIC || storm_get32(&i) != FORMAT << 24)
		return false;
	uid = storm_get32(&i);
	context_get(&i, c);
	c->uid = uid;
	key = storm_get(&i, CONTEXT_KEY_LEN);
	n = storm_get8(&i);
	name = storm_get(&i, n);
	if (!storm_in_done(&i))
		return false;
	memcpy(c->key, key, CONTEXT_KEY_LEN);
	memcpy(*cluster, name, n);
	(*cluster)[n] = '\0';
	return true;
}

static bool context_same_in_open(const struct context *a,
				 const struct context *b)
{
	return a->job == b->job && a->step == b->step && a->het == b->het &&
	       a->holder.job == b->holder.job &&
	       a->holder.step == b->holder.step &&
	       a->holder.part == b->holder.part && a->id == b->id &&
	       a->serial == b->serial && a->group == b->group;
}

static bool context_is_for_step(const struct context *c, const char *cluster,
				const struct context_expected *e)
{
	return c->job == e->job && c->step == e->step && c->het == e->het &&
	       c->uid == e->uid && !strcmp(cluster, e->cluster);
}

static bool context_judge(const void *payload, size_t len, uint32_t maker,
			  const struct context *open,
			  const struct context_expected *e, struct context *c,
			  char (*why)[CONTEXT_WHY_MAX])
{
	char cluster[CLUSTER_MAX + 1];

	if (maker != e->ctld_uid && maker != 0)
		snprintf(
			*why, sizeof(*why),
			"uid %u has made its credential, but slurmctld is uid %u",
			maker, e->ctld_uid);
	else if (!context_read_payload(payload, len, c, &cluster))
		snprintf(*why, sizeof(*why),
			 "its credential is for something else");
	else if (!context_is_for_step(c, cluster, e))
		snprintf(
			*why, sizeof(*why),
			"it was given to step %u.%u of uid %u on cluster %.64s",
			c->job, c->step, c->uid, cluster);
	else if (!context_same_in_open(c, open))
		snprintf(*why, sizeof(*why), "it was changed on its way");
	else
		return true;
	return false;
}

bool context_verify(const void *bytes, size_t len,
		    const struct context_expected *e, struct context *c,
		    char (*why)[CONTEXT_WHY_MAX])
{
	char cred[CONTEXT_CRED_MAX + 1];
	struct context open;
	uint32_t uid, gid;
	void *payload;
	bool good = false;

	if (!context_unpack(bytes, len, &open, &cred)) {
		snprintf(*why, sizeof(*why), "it is malformed");
	} else if (!cred[0]) {
		snprintf(
			*why, sizeof(*why),
			"it has no credential of slurmctld's, whose log may have the reason");
	} else if (storm_credential_decode_stale(cred, &payload, &len, &uid,
						 &gid)) {
		snprintf(*why, sizeof(*why), "MUNGE does not vouch for it");
	} else {
		good = context_judge(payload, len, uid, &open, e, c, why);
		explicit_bzero(payload, len);
		free(payload);
	}
	if (!good)
		explicit_bzero(c, sizeof(*c));
	return good;
}

void context_group_text(uint32_t group, char (*out)[CONTEXT_GROUP_TEXT])
{
	snprintf(*out, sizeof(*out), "%u.%u.%u.%u", group >> 24,
		 group >> 16 & 255, group >> 8 & 255, group & 255);
}

void context_key_text(const uint8_t key[CONTEXT_KEY_LEN],
		      char (*out)[CONTEXT_KEY_TEXT])
{
	for (size_t n = 0; n < CONTEXT_KEY_LEN; n++)
		snprintf(*out + 2 * n, sizeof(*out) - 2 * n, "%02x", key[n]);
}
