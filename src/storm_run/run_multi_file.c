/*
 * run_multi_file.c - see run_multi_file.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_multi.h"
#include "run_multi_file.h"
#include "run_say.h"

/* All of it.  It may be a pipe, as a shell's <(command) is.  NULL, with errno. */
static char *multi_file_read(const char *path, size_t *len)
{
	const size_t room = RUN_FRAME_MAX;
	char *text = malloc(room);
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	ssize_t n = text && fd >= 0 ? 1 : -1;

	*len = 0;
	while (n > 0 || (n < 0 && text && fd >= 0 && errno == EINTR)) {
		n = read(fd, text + *len, room - *len);
		*len += n > 0 ? (size_t) n : 0;
	}
	err = errno;
	if (!n && *len == room) {
		n = -1;
		err = EFBIG;
	}
	if (fd >= 0)
		close(fd);
	if (!n)
		return text;
	free(text);
	errno = err;
	return NULL;
}

bool run_multi_file(char *const *argv, struct run_ask *ask,
		    struct run_programs *out)
{
	char why[RUN_MULTI_WHY];
	size_t len;
	char *text = multi_file_read(argv[0], &len);
	uint32_t missing;
	bool good;

	if (!text) {
		run_say("--multi-prog: %s: %s", argv[0], strerror(errno));
		return false;
	}
	good = run_multi_read(text, len, argv + 1, ask->tasks, out, &why);
	free(text);
	if (!good) {
		run_say("%s: %s", argv[0], why);
		return false;
	}
	if (ask->tasks)
		return true;
	ask->tasks = run_programs_tasks(out);
	if (run_programs_cover(out, ask->tasks, &missing))
		return true;
	run_say("%s: task %u has no program", argv[0], missing);
	run_programs_free(out);
	return false;
}
