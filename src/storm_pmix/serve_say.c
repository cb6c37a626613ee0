/*
 * serve_say.c - what the launcher is told.  See serve.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "serve.h"
#include "src/libstorm/base/minmax.h"

struct serve serve = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool serve_write(const void *buf, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = send(serve.launcher, (const char *) buf + at,
				 len - at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (size_t) n;
	}
	return true;
}

void serve_send_frame(enum px_kind kind, const uint8_t *body, size_t len)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	uint8_t head[RUN_FRAME_HEADER];

	run_frame_head(head, (enum run_kind) kind, len);
	pthread_mutex_lock(&one);
	/* the loop sees the launcher's end */
	if (serve_write(head, sizeof(head)))
		serve_write(body, len);
	pthread_mutex_unlock(&one);
}

void serve_send(enum px_kind kind, const struct px_msg *m)
{
	size_t len = px_msg_len(m);
	uint8_t *body = malloc(len);
	struct storm_out o = { body, body ? body + len : NULL, false };

	if (!body)
		abort(); /* ranks would wait for ever: the launcher ends their runs */
	px_msg_put(&o, m);
	serve_send_frame(kind, body, len);
	free(body);
}

void serve_fault(uint64_t run, const char *fmt, ...)
{
	char text[PMI_TEXT_MAX];
	struct px_msg m = { .run = run, .data = (const uint8_t *) text };
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	m.len = storm_min(n > 0 ? (size_t) n : 0, sizeof(text) - 1);
	serve_send(PX_FAULT, &m);
}

struct served_run *serve_run_of(const pmix_proc_t *p)
{
	struct served_run *run = serve.runs;

	while (run && !PMIX_CHECK_NSPACE(run->space, p->nspace))
		run = run->next;
	return run;
}
