/*
 * request.h - REQUEST, an operation that a node asks of the owner, and RESULT,
 * how it ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_REQUEST_H
#define STORM_REQUEST_H

#include "open.h"

#define STORM_RESULT_FAULTS 16
#define STORM_RESULT_MAX (8 + 9 * STORM_RESULT_FAULTS)

/* Pack an operation and its data.  Returns the bytes written to buf; 0: more
 * than max. */
size_t storm_request_pack(const struct storm_begin *b, const void *data,
			  size_t len, uint8_t *buf, size_t max);
/* Unpack max bytes; count: nodes in the domain.  STORM_OK: the caller frees b
 * by storm_begin_free(), and *data points into buf.  EINVAL or ENOMEM: nothing
 * to free. */
int storm_request_unpack(struct storm_begin *b, const uint8_t **data,
			 size_t *len, const uint8_t *buf, size_t max,
			 uint32_t count);

/* Pack the number of an outcome's faults, and the first of them.  Returns the
 * bytes written; 0: more than max. */
size_t storm_result_pack(enum storm_compare result,
			 const struct storm_outcome *out, uint8_t *buf,
			 size_t max);
/* STORM_OK: the caller frees out by storm_outcome_clear().  EINVAL or ENOMEM:
 * nothing to free. */
int storm_result_unpack(enum storm_compare *result, struct storm_outcome *out,
			const uint8_t *buf, size_t len);

#endif
