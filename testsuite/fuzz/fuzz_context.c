/*
 * fuzz_context.c - a step's network context, as a node finds it in the jobinfo, and
 * what slurmctld finds in the one that it has saved.
 *
 *   u8: the uid of the credential's maker; u16 length, the
 *   credential's payload; then the jobinfo's bytes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/wire/credential.h"
#include "src/plugins/switch/storm/context/context.h"

static struct {
	uint8_t *payload;
	size_t len;
	uint32_t uid;
} said;

/* The result of MUNGE, whatever the credential. */
static int decode(const char *cred, void **payload, size_t *len, uint32_t *uid,
		  uint32_t *gid)
{
	must(cred[0] && strlen(cred) <= CONTEXT_CRED_MAX);
	*uid = *gid = said.uid;
	*len = said.len;
	*payload = exact(said.payload, said.len);
	return STORM_OK;
}

static int encode(uint32_t uid, const void *payload, size_t len, char **cred)
{
	must(uid == 7 && len == said.len);
	must(!memcmp(payload, said.payload, len));
	*cred = strdup("again");
	return STORM_OK;
}

static void must_be_context(const struct context *c)
{
	must(c->id && c->id <= CONTEXT_COUNT_MAX);
	must(c->holder.job && c->holder.part < CONTEXT_PARTS);
	must(c->group >> 28 == 0xe);
}

/* Slurmctld makes the very same payload of it. */
static void verified(const struct context *c, const char *cluster)
{
	char *cred;

	must_be_context(c);
	must(said.uid == 0 || said.uid == 64);
	cred = context_sign(c, cluster, 7);
	must(cred);
	free(cred);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct storm_credential_ops ours = { encode, decode };
	const struct context_expected e = {
		12, 3, 0xfffffffe, 1000, 64, "zeta"
	};
	struct storm_in i = { data, data + size, false };
	char cred[CONTEXT_CRED_MAX + 1], why[CONTEXT_WHY_MAX] = "";
	uint8_t again[CONTEXT_BYTES_MAX];
	struct context c;
	uint8_t *bytes;
	size_t len;

	storm_credential_use(&ours);
	said.uid = storm_get8(&i);
	said.payload = some(&i, 512, &said.len);
	len = (size_t) (i.end - i.p);
	bytes = exact(i.p, len);
	if (context_unpack(bytes, len, &c, &cred)) {
		must_be_context(&c);
		must(context_pack(&c, cred, again) == len);
		must(!memcmp(again, bytes, len));
	}
	if (context_verify(bytes, len, &e, &c, &why))
		verified(&c, e.cluster);
	else
		must(why[0] && !c.id && !c.key[0]);
	free(bytes);
	free(said.payload);
	return 0;
}
