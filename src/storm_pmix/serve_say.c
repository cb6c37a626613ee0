/*
 * serve_say.c - what the launcher is told.  See serve.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "serve.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_launcher/run_sock.h"

struct serve serve = { .lock = PTHREAD_MUTEX_INITIALIZER };

void serve_send_frame(enum px_kind kind, const uint8_t *body, size_t len)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	uint8_t head[RUN_FRAME_HEADER];

	run_frame_head(head, (enum run_kind) kind, len);
	pthread_mutex_lock(&one);
	/* the loop sees the launcher's end */
	if (!run_sock_send(serve.launcher, head, sizeof(head), NULL))
		run_sock_send(serve.launcher, body, len, NULL);
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

struct served_run *serve_run_numbered(uint64_t number)
{
	struct served_run *run = serve.runs;

	while (run && run->number != number)
		run = run->next;
	return run;
}

struct served_run *serve_run_of(const pmix_proc_t *p)
{
	struct served_run *run = serve.runs;

	while (run && !PMIX_CHECK_NSPACE(run->space, p->nspace))
		run = run->next;
	return run;
}
