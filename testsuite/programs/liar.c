/*
 * liar.c - preloaded into a user's srun: what it shows agents of where nodes are
 * has the user's signature in the place of slurmctld's.  All else is as it was.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The function of Slurm's with this name, behind ours. */
static void *next(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	return f ? f : dlsym(RTLD_DEFAULT, name);
}

#if LIAR_VERSION < 39 << 8
/* Slurm 22.05: the step's credential. */
static void *own(void *cred, uint16_t version)
{
	static void *mine;
	void *(*args)(void *) = next("slurm_cred_get_args");
	void *(*maker)(const char *) = next("slurm_cred_creator_ctx_create");
	void *(*create)(void *, void *, bool, uint16_t) =
		next("slurm_cred_create");
	void (*unlock)(void *) = next("slurm_cred_unlock_args");

	if (!mine) {
		mine = create(maker(NULL), args(cred), true, version);
		unlock(cred);
		fprintf(stderr, "liar: signed\n");
	}
	return mine;
}

static uint16_t last_version = 38 << 8; /* 22.05's */

void slurm_cred_pack(void *cred, void *buf, uint16_t version)
{
	void (*real)(void *, void *, uint16_t) = next("slurm_cred_pack");

	last_version = version;
	real(own(cred, version), buf, version);
}

int slurm_cred_get_signature(void *cred, char **data, uint32_t *len)
{
	int (*real)(void *, char **, uint32_t *) =
		next("slurm_cred_get_signature");

	return real(own(cred, last_version), data, len);
}

#else
/* Later releases: a MUNGE credential alone. */
void slurm_packmem(void *data, uint32_t len, void *buf)
{
	void (*real)(void *, uint32_t, void *) = next("packmem");
	void *(*extract)(char *, uint16_t) = next("extract_net_cred");
	char *(*create)(void *, uint16_t) = next("create_net_cred");
	const uint16_t version = LIAR_VERSION;
	static bool done; /* what goes to slurmds is later */
	char *text = data;
	void *addrs;

	if (!done && len > 6 && !strncmp(text, "MUNGE:", 6) && extract &&
	    (addrs = extract(text, version))) {
		done = true;
		text = create(addrs, version);
		len = strlen(text) + 1;
		fprintf(stderr, "liar: signed\n");
	}
	real(text, len, buf);
}
#endif
