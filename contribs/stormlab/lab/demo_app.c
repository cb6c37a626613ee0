/*
 * demo_app.c - the program that the demonstration broadcasts and runs. It has
 * exactly 12,000,000 bytes and checks that it arrived undamaged.
 *
 *	demo_app --make FILE	write a padded copy of the program to FILE
 *	FILE			check the padding; print task, host and path
 *
 * The padding begins at PAD_START. It is a sequence of numbers that the program
 * can compute, so that it finds a damaged or displaced byte.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_SIZE 12000000
#define PAD_START 1000000
#define PAD_WORDS ((FILE_SIZE - PAD_START) / sizeof(uint64_t))

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int make(const char *path)
{
	static char self[PAD_START];
	uint64_t x = 88172645463325252U, word;
	FILE *in = fopen("/proc/self/exe", "rb"), *out = fopen(path, "wb");
	size_t i;

	if (!in || !out)
		die(path);
	fread(self, 1, sizeof(self), in);
	if (!feof(in)) {
		fprintf(stderr, "the program is larger than %d bytes\n",
			PAD_START);
		return 1;
	}
	fwrite(self, 1, sizeof(self), out);
	for (i = 0; i < PAD_WORDS; i++) {
		word = next(&x);
		fwrite(&word, sizeof(word), 1, out);
	}
	if (ferror(in) || ferror(out) || fclose(out))
		die(path);
	return 0;
}

int main(int argc, char **argv)
{
	static uint64_t pad[PAD_WORDS];
	uint64_t x = 88172645463325252U;
	const char *rank = getenv("SLURM_PROCID"), *n = getenv("SLURM_NTASKS");
	char host[64] = "", path[4096] = "";
	FILE *in;
	size_t i;

	if (argc == 3 && !strcmp(argv[1], "--make"))
		return make(argv[2]);
	in = fopen("/proc/self/exe", "rb");
	if (!in || fseek(in, PAD_START, SEEK_SET))
		die("/proc/self/exe");
	if (fread(pad, sizeof(*pad), PAD_WORDS, in) != PAD_WORDS ||
	    fgetc(in) != EOF) {
		fprintf(stderr, "/proc/self/exe: not of %d bytes\n", FILE_SIZE);
		return 2;
	}
	for (i = 0; i < PAD_WORDS; i++)
		if (pad[i] != next(&x)) {
			fprintf(stderr, "/proc/self/exe: damaged at byte %zu\n",
				PAD_START + i * sizeof(*pad));
			return 3;
		}
	gethostname(host, sizeof(host) - 1);
	readlink("/proc/self/exe", path, sizeof(path) - 1);
	printf("task %s of %s on %s: %s, %d bytes, whole\n", rank ? rank : "?",
	       n ? n : "?", host, path, FILE_SIZE);
	return 0;
}
