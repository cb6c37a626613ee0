/*
 * forger.c - a switch_storm.so of a user's own, before the real one: srun sends
 * what FORGE selects in the place of the step's network context.
 *
 *	flip:N	its byte N with another lowest bit (of the end: -N)
 *	cut:N	its first N bytes
 *	keep	as it is, and in the file FORGE_FILE, too
 *	swap	what is in FORGE_FILE
 *	none	what plugins sent before there were contexts
 *	later	of a version that no plugin knows
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

/* Slurm 22.05's buf_t, as far as it is needed here */
struct buffer {
	uint32_t magic;
	char *head;
	uint32_t size, processed;
};

#define HEAD 6 /* u16 version, u32 length */

static void flip(char *p, uint32_t len, int n)
{
	p[n < 0 ? (int) len + n : n] ^= 1;
}

static void put_file(const char *p, uint32_t len)
{
	FILE *f = fopen(getenv("FORGE_FILE"), "w");

	if (!f || fwrite(p, 1, len, f) != len || fclose(f))
		abort();
}

static uint32_t get_file(char *p)
{
	FILE *f = fopen(getenv("FORGE_FILE"), "r");
	uint32_t len = f ? fread(p, 1, 2048, f) : 0;

	if (f)
		fclose(f);
	return len;
}

int switch_p_pack_jobinfo(void *j, struct buffer *b, uint16_t protocol)
{
	int (*pack)(void *, struct buffer *, uint16_t) =
		dlsym(RTLD_NEXT, "switch_p_pack_jobinfo");
	const char *how = getenv("FORGE");
	uint32_t begin = b->processed, len, n;
	int rc = pack(j, b, protocol);
	char *p = b->head + begin;
	uint16_t version;

	len = b->processed - begin - HEAD;
	if (!how || rc)
		return rc;
	if (!strncmp(how, "flip:", 5))
		flip(p + HEAD, len, atoi(how + 5));
	else if (!strncmp(how, "cut:", 4))
		len = atoi(how + 4);
	else if (!strcmp(how, "keep"))
		put_file(p + HEAD, len);
	else if (!strcmp(how, "swap"))
		len = get_file(p + HEAD);
	else
		len = 0;
	version = htons(!strcmp(how, "none")  ? 1 :
			!strcmp(how, "later") ? 9 :
						2);
	memcpy(p, &version, sizeof(version));
	n = htonl(len);
	memcpy(p + 2, &n, sizeof(n));
	b->processed = begin + HEAD + len;
	return rc;
}
