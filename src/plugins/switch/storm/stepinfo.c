/*
 * stepinfo.c - see stepinfo.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/pack.h"
#include "src/common/run_in_daemon.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "src/plugins/switch/storm/context/context_ctld.h"
#include "src/plugins/switch/storm/context/context_step.h"
#include "stepinfo.h"

/* A version and that version's bytes.  Version 1 has no context.  The bytes of a
 * later version are passed on unread. */
#define CONTEXT_NONE 1
#define CONTEXT_VERSION 2

struct stepinfo {
	uint16_t version;
	uint32_t len;
	char *bytes; /* as received */
	/* In slurmctld the step's lease, in slurmstepd the verified context;
	 * unset elsewhere. */
	bool known;
	bool refused; /* slurmstepd: it is not slurmctld's */
	struct context context;
	bool leaves; /* slurmctld: for srun, and so to be signed */
	char *cred;  /* slurmctld: signed already */
};

struct stepinfo *stepinfo_create(void)
{
	struct stepinfo *s = xmalloc(sizeof(*s));

	s->version = CONTEXT_NONE;
	return s;
}

void stepinfo_free(struct stepinfo *s)
{
	if (!s)
		return;
	xfree(s->bytes);
	xfree(s->cred);
	explicit_bzero(&s->context, sizeof(s->context));
	xfree(s);
}

struct stepinfo *stepinfo_copy(const struct stepinfo *from)
{
	struct stepinfo *s = stepinfo_create();

	if (!from)
		return s;
	*s = *from;
	s->bytes = NULL;
	s->cred = xstrdup(from->cred);
	if (s->len) { /* xmalloc(0) is NULL */
		s->bytes = xmalloc(s->len);
		memcpy(s->bytes, from->bytes, s->len);
	}
	return s;
}

/* ------------------------------------------------------------ in slurmctld --- */

void stepinfo_lease(struct stepinfo *s, step_record_t *step)
{
	enum context_left left = context_ctld_lease(step, &s->context);

	s->known = left == CONTEXT_LEASED;
	s->version = s->known ? CONTEXT_VERSION : CONTEXT_NONE;
	if (!s->known && left != CONTEXT_DISABLED) {
		s->bytes = xmalloc(1);
		s->bytes[0] = left;
		s->len = 1;
	}
}

void stepinfo_sign(struct stepinfo *s)
{
	char *cred;

	if (!s->known)
		return;
	cred = context_ctld_sign(&s->context);
	s->cred = xstrdup(cred);
	free(cred);
}

void stepinfo_sign_later(struct stepinfo *s)
{
	s->leaves = true;
}

const struct context *stepinfo_leased(const struct stepinfo *s)
{
	return s && s->known ? &s->context : NULL;
}

void stepinfo_recover(struct stepinfo *s)
{
	char cred[CONTEXT_CRED_MAX + 1];

	if (s->version != CONTEXT_VERSION || !s->len)
		return;
	s->known = context_unpack(s->bytes, s->len, &s->context, &cred);
	if (!s->known)
		error("storm: cannot read a network context in slurmctld's saved state");
}

/* ----------------------------------------------------------------- the bytes --- */

/* slurmctld's saved state needs the lease alone, the step also the credential. */
static void stepinfo_pack_lease(const struct stepinfo *s, buf_t *buffer)
{
	uint8_t bytes[CONTEXT_BYTES_MAX];
	char *cred = s->leaves && !s->cred ? context_ctld_sign(&s->context) :
					     NULL;

	pack16(CONTEXT_VERSION, buffer);
	packmem((char *) bytes,
		context_pack(&s->context, s->cred ? s->cred : cred, bytes),
		buffer);
	free(cred);
}

void stepinfo_pack(const struct stepinfo *s, buf_t *buffer)
{
	if (s && s->known && running_in_slurmctld()) {
		stepinfo_pack_lease(s, buffer);
		return;
	}
	pack16(s ? s->version : CONTEXT_NONE, buffer);
	packmem(s ? s->bytes : NULL, s ? s->len : 0, buffer);
}

struct stepinfo *stepinfo_unpack(buf_t *buffer)
{
	struct stepinfo *s = stepinfo_create();

	safe_unpack16(&s->version, buffer);
	safe_unpackmem_xmalloc(&s->bytes, &s->len, buffer);
	return s;
unpack_error:
	stepinfo_free(s);
	return NULL;
}

void stepinfo_tell(const struct stepinfo *s)
{
	if (s->version != CONTEXT_NONE || s->len != 1)
		return;
	if (s->bytes[0] == CONTEXT_QUOTA)
		verbose("storm: the step runs without a network context: this user's steps have as many as ContextsPerUser in storm.conf allows");
	else
		verbose("storm: the step runs without a network context: all are leased to other steps (ContextCount in storm.conf)");
}

/* ----------------------------------------------------------- in slurmstepd --- */

/* A step has no context if it is older than contexts, or if storm.conf disables
 * them. */
void stepinfo_verify(struct stepinfo *s, const stepd_step_rec_t *step)
{
	if (!s || s->version == CONTEXT_NONE)
		return;
	if (s->version != CONTEXT_VERSION) {
		info("storm: %ps has a network context of version %u, which this node does not support: its tasks get none",
		     &step->step_id, s->version);
		return;
	}
	s->known = context_step_verify(step, s->bytes, s->len, &s->context);
	s->refused = !s->known;
}

bool stepinfo_export(const struct stepinfo *s, bool first, char ***env)
{
	if (s && s->refused) {
		if (first)
			context_step_refusal();
		return false;
	}
	context_step_export(s && s->known ? &s->context : NULL, env);
	return true;
}
