/*
 * request.h - an operation that a node asks the owner for, and how it ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_REQUEST_H
#define STORM_REQUEST_H

#include "open.h"

#define STORM_RESULT_FAULTS 16
#define STORM_RESULT_MAX (8 + 9 * STORM_RESULT_FAULTS)

/* The operation and its data; 0: more than max bytes. */
size_t storm_request_pack(const struct storm_begin *b, const void *data,
			  size_t len, uint8_t *buf, size_t max);
/* b is to be freed, data points into buf.  count: nodes in the domain. */
int storm_request_unpack(struct storm_begin *b, const uint8_t **data,
			 size_t *len, const uint8_t *buf, size_t max,
			 uint32_t count);

/* The first faults of an outcome travel, and their number. */
size_t storm_result_pack(enum storm_compare result,
			 const struct storm_outcome *out, uint8_t *buf,
			 size_t max);
/* out is to be cleared. */
int storm_result_unpack(enum storm_compare *result, struct storm_outcome *out,
			const uint8_t *buf, size_t len);

#endif
