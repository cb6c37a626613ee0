/*
 * metrics_http.h - as much of HTTP as GET /metrics needs.  Without I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_METRICS_HTTP_H
#define STORM_METRICS_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "metrics_text.h"

#define METRICS_REQUEST 8192 /* bytes of a request's head, at most */
#define METRICS_HEAD 256     /* bytes of an answer's head, with its NUL */

enum metrics_status {
	METRICS_MORE = 0, /* the request is not whole */
	METRICS_FINE = 200,
	METRICS_BAD = 400,
	METRICS_NO_PATH = 404,
	METRICS_NO_METHOD = 405,
	METRICS_TOO_LONG = 431,
	METRICS_NOT_YET = 503
};

/* What to answer to the len bytes that have come.  *form: that of a METRICS_FINE. */
enum metrics_status metrics_http_judge(const char *request, size_t len,
				       enum metrics_form *form);

/* The head of an answer with a body of len bytes.  status is not METRICS_MORE. */
void metrics_http_head(enum metrics_status status, enum metrics_form form,
		       size_t len, char (*out)[METRICS_HEAD]);
/* What the body of an answer but METRICS_FINE says, constant. */
const char *metrics_http_says(enum metrics_status status);

/* Read "PORT", "ADDRESS:PORT" or "[ADDRESS]:PORT"; a port alone is 127.0.0.1's.  NULL, or
 * what is wrong: the address must be this host's loopback. */
const char *metrics_http_address(const char *text, struct sockaddr_storage *out,
				 socklen_t *len);

#endif
