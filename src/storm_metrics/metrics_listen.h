/*
 * metrics_listen.h - answer Prometheus' GET /metrics on loopback.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_METRICS_LISTEN_H
#define STORM_METRICS_LISTEN_H

/* Listen at this address (metrics_http_address()), and ask the nodes of the list each so
 * many seconds, until SIGTERM or SIGINT.  Returns the program's exit code; what is wrong
 * was said. */
int metrics_listen(const char *address, const char *list,
		   unsigned int interval);

#endif
