/*
 * otherjob.c - preloaded into srun: the launch message names the job after its
 * own, and the credential stays as slurmctld made it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#define VERSION_24_11 (42 << 8)

/* Slurm's buf_t, as far as it is needed here */
struct buffer {
	uint32_t magic;
	char *head;
	uint32_t size, processed;
};

/* In a launch message the ids of the step are first, then the credential.  From
 * 24.11 on a number for the whole federation stands before the job's. */
void slurm_cred_pack(void *cred, struct buffer *buf, uint16_t version)
{
	void (*real)(void *cred, struct buffer *buf, uint16_t version);
	void *found = dlsym(RTLD_NEXT, "slurm_cred_pack");
	char *at =
		buf->head + (version >= VERSION_24_11 ? sizeof(uint64_t) : 0);
	uint32_t job;

	memcpy(&job, at, sizeof(job));
	job = htonl(ntohl(job) + 1);
	memcpy(at, &job, sizeof(job));
	memcpy(&real, &found, sizeof(real));
	real(cred, buf, version);
}
