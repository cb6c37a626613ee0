/*
 * log_limit.h - a message that somebody else can cause comes once a minute for
 * each source, with the number of those that were left out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LOG_LIMIT_H
#define STORM_LOG_LIMIT_H

#include "src/libstorm/storm.h"

/* What causes the message: a user, a host, or both of them. */
struct storm_log_source {
	uint32_t uid;
	uint8_t host[STORM_ADDR_LEN];
};

/* May a message of this cause and source be logged at `now` (storm_now(),
 * ns)?  At most `most` are, in a minute.  *left: how many were left out
 * before this one. cause: a constant string, whose address tells causes
 * apart.  Any thread. */
bool storm_log_due(const char *cause, const struct storm_log_source *from,
		   uint32_t most, uint64_t now, uint32_t *left);

/* As storm_log(), once a minute for each source.  The format is the cause.  Any
 * thread. */
void storm_log_from(const struct storm_log_source *from,
		    enum storm_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static inline struct storm_log_source storm_log_uid(uint32_t uid)
{
	return (struct storm_log_source) { .uid = uid };
}

#endif
