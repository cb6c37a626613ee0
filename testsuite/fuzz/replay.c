/*
 * replay.c - gives every file that is named, or that lies in a folder that is
 * named, to the harness it is linked with: where there is no libFuzzer the
 * corpus is still a test.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned long replayed;

static void die(const char *path)
{
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	exit(EXIT_FAILURE);
}

static void replay_file(const char *path, size_t size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *buf = malloc(size ? size : 1);

	if (!f || !buf || fread(buf, 1, size, f) != size)
		die(path);
	fclose(f);
	/* the last line names the culprit if it is the end */
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(buf, size);
	free(buf);
	replayed++;
}

static void replay(const char *path)
{
	struct dirent *e;
	struct stat st;
	DIR *d;

	if (stat(path, &st))
		die(path);
	if (!S_ISDIR(st.st_mode)) {
		replay_file(path, (size_t) st.st_size);
		return;
	}
	d = opendir(path);
	if (!d)
		die(path);
	while ((e = readdir(d))) {
		char *name;

		if (e->d_name[0] == '.')
			continue;
		if (asprintf(&name, "%s/%s", path, e->d_name) < 0)
			die(path);
		replay(name);
		free(name);
	}
	closedir(d);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("%lu inputs\n", replayed);
	return replayed ? EXIT_SUCCESS : EXIT_FAILURE;
}
