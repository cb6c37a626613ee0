/*
 * otherstep.c - preloaded into srun: while there is the file FORGE_WHILE, what it
 * sends names the step FORGE_STEP (JOB.STEP) in the place of its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION_24_11 (42 << 8)

/* Slurm's buf_t, as far as it is needed here */
struct buffer {
	uint32_t magic;
	char *head;
	uint32_t size, processed;
};

void pack_step_id(void *id, struct buffer *buf, uint16_t version)
{
	void (*real)(void *id, struct buffer *buf, uint16_t version);
	void *found = dlsym(RTLD_NEXT, "pack_step_id");
	uint32_t at = buf->processed, job, step;
	const char *forge = getenv("FORGE_STEP"), *file = getenv("FORGE_WHILE");

	memcpy(&real, &found, sizeof(real));
	real(id, buf, version);
	if (!file || access(file, F_OK) || !forge ||
	    sscanf(forge, "%u.%u", &job, &step) != 2)
		return;
	at += version >= VERSION_24_11 ? sizeof(uint64_t) : 0;
	job = htonl(job);
	step = htonl(step);
	memcpy(buf->head + at, &job, sizeof(job));
	memcpy(buf->head + at + sizeof(job), &step, sizeof(step));
}
