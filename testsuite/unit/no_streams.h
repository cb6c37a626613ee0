/*
 * no_streams.h - handlers of an end that is sent datagrams alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef NO_STREAMS_H
#define NO_STREAMS_H

#include "src/libstorm/transport/transport.h"

static inline void no_stream(void *arg, uint64_t stream, const void *buf,
			     size_t len)
{
	(void) arg;
	(void) stream;
	(void) buf;
	(void) len;
}

static inline void no_stream_failed(void *arg, uint64_t session, uint32_t node,
				    enum storm_err why, int sys)
{
	(void) arg;
	(void) session;
	(void) node;
	(void) why;
	(void) sys;
}

#endif
