/*
 * request.c - see request.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "request.h"

size_t storm_request_pack(const struct storm_begin *b, const void *data,
			  size_t len, uint8_t *buf, size_t max)
{
	struct storm_out o = { buf, buf + max, false };
	size_t n;

	if (max < 2)
		return 0;
	n = storm_begin_pack(b, buf + 2, max - 2);
	storm_put16(&o, (uint16_t) n);
	o.p += n;
	storm_put(&o, data, len);
	return n && !o.bad ? (size_t) (o.p - buf) : 0;
}

int storm_request_unpack(struct storm_begin *b, const uint8_t **data,
			 size_t *len, const uint8_t *buf, size_t max,
			 uint32_t count)
{
	struct storm_in i = { buf, buf + max, false };
	size_t n = storm_get16(&i);
	const uint8_t *begin = storm_get(&i, n);

	if (i.bad)
		return STORM_EINVAL;
	*data = i.p;
	*len = (size_t) (i.end - i.p);
	return storm_begin_unpack(b, begin, n, count);
}

size_t storm_result_pack(enum storm_compare result,
			 const struct storm_outcome *out, uint8_t *buf,
			 size_t max)
{
	struct storm_out o = { buf, buf + max, false };
	uint32_t n = out->faults_kept < STORM_RESULT_FAULTS ?
			     out->faults_kept :
			     STORM_RESULT_FAULTS;

	storm_put8(&o, (uint8_t) result);
	storm_put8(&o, (uint8_t) out->state);
	storm_put32(&o, out->nfaults);
	storm_put16(&o, (uint16_t) n);
	for (uint32_t i = 0; i < n; i++) {
		storm_put32(&o, out->faults[i].node);
		storm_put8(&o, (uint8_t) out->faults[i].why);
		storm_put32(&o, (uint32_t) out->faults[i].sys);
	}
	return o.bad ? 0 : (size_t) (o.p - buf);
}

int storm_result_unpack(enum storm_compare *result, struct storm_outcome *out,
			const uint8_t *buf, size_t len)
{
	struct storm_in i = { buf, buf + len, false };
	uint32_t n;

	memset(out, 0, sizeof(*out));
	*result = storm_get8(&i);
	out->state = storm_get8(&i);
	out->nfaults = storm_get32(&i);
	n = storm_get16(&i);
	if (i.bad || *result > STORM_FAILED || out->state == STORM_PENDING ||
	    out->state > STORM_UNKNOWN || n > STORM_RESULT_FAULTS ||
	    n > out->nfaults)
		return STORM_EINVAL;
	out->faults = n ? calloc(n, sizeof(*out->faults)) : NULL;
	if (n && !out->faults)
		return STORM_ENOMEM;
	out->faults_kept = n;
	for (uint32_t k = 0; k < n; k++) {
		out->faults[k].node = storm_get32(&i);
		out->faults[k].why = storm_get8(&i);
		out->faults[k].sys = (int) storm_get32(&i);
		i.bad |= !out->faults[k].why ||
			 out->faults[k].why >= STORM_ERROR_END;
	}
	if (storm_in_done(&i))
		return STORM_OK;
	storm_outcome_clear(out);
	return STORM_EINVAL;
}
