/*
 * run_request.c - see run_request.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_options.h"
#include "run_request.h"

bool run_request_cwd(const char *chdir, char (*out)[PATH_MAX])
{
	size_t n = 0;

	if (!chdir || *chdir != '/') {
		if (!getcwd(*out, sizeof(*out))) {
			run_say("the current directory: %s", strerror(errno));
			return false;
		}
		n = strlen(*out);
	}
	if (chdir &&
	    (size_t) snprintf(*out + n, sizeof(*out) - n, "%s%s", n ? "/" : "",
			      chdir) >= sizeof(*out) - n) {
		run_say("%s: %s", chdir, strerror(ENAMETOOLONG));
		return false;
	}
	return true;
}

static void run_request_own(struct run_what *w)
{
	extern char **environ;

	if (!w->env)
		w->env = environ;
	w->umask = umask(0);
	umask((mode_t) w->umask);
	for (int k = 0; k < RUN_LIMITS; k++) {
		struct rlimit l = { RLIM_INFINITY, RLIM_INFINITY };

		getrlimit(k, &l);
		w->limit[k] = l.rlim_cur;
	}
}

int run_request_send(int sock, const struct run_ask *ask, struct run_what *what,
		     const int fd[RUN_SOCK_FDS])
{
	size_t len;
	uint8_t *buf;
	struct storm_out o;
	int rc;

	run_request_own(what);
	len = run_ask_len(ask) + run_what_len(what);
	if (len > RUN_FRAME_MAX) {
		run_say("arguments and environment have %zu bytes, %u are possible",
			len, RUN_FRAME_MAX);
		return RUN_FAILED;
	}
	buf = malloc(RUN_FRAME_HEADER + len);
	if (!buf) {
		run_say("no memory");
		return RUN_FAILED;
	}
	run_frame_head(buf, RUN_ASK, len);
	o = (struct storm_out) { buf + RUN_FRAME_HEADER,
				 buf + RUN_FRAME_HEADER + len, false };
	run_ask_put(&o, ask);
	run_what_put(&o, what);
	rc = run_sock_send(sock, buf, RUN_FRAME_HEADER + len, fd);
	free(buf);
	return rc && errno != EPIPE && errno != ECONNRESET ? RUN_FAILED : 0;
}
