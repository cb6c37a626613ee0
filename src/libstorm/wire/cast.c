/*
 * cast.c - see cast.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "cast.h"
#include "src/libstorm/base/idset.h"

void storm_cast_free(struct storm_cast *c)
{
	storm_idset_clear(&c->p);
	storm_idset_clear(&c->cmp_p);
	storm_idset_clear(&c->excluded);
}

size_t storm_cast_pack(const struct storm_cast *c, uint8_t *buf, size_t max)
{
	static const struct storm_idset none;
	struct storm_out o = { buf, buf + max, false };

	storm_put8(&o, STORM_CAST_STATE);
	storm_put64(&o, c->version);
	storm_put8(&o, (uint8_t) (c->flags |
				  (c->has_digest ? STORM_CAST_DIGEST : 0)));
	storm_put64(&o, c->op);
	storm_put64(&o, c->size);
	storm_put32(&o, c->chunk);
	storm_put64(&o, c->sent);
	storm_put64(&o, c->floor);
	storm_put8(&o, c->decision);
	storm_put64(&o, c->cmp);
	storm_put8(&o, c->cmp_var);
	storm_put8(&o, c->cmp_rel);
	storm_put64(&o, c->cmp_value);
	if (c->has_digest)
		storm_put(&o, c->digest, sizeof(c->digest));
	storm_put_set(&o, &c->p);
	storm_put_set(&o, &c->cmp_p);
	storm_put_set(&o, c->flags & STORM_CAST_PARTS ? &none : &c->excluded);
	return o.bad ? 0 : (size_t) (o.p - buf);
}

int storm_cast_unpack(struct storm_cast *c, const uint8_t *buf, size_t len,
		      uint32_t count)
{
	struct storm_in i = { buf, buf + len, false };
	const uint8_t *digest;

	memset(c, 0, sizeof(*c));
	c->version = storm_get64(&i);
	c->flags = storm_get8(&i);
	c->has_digest = c->flags & STORM_CAST_DIGEST;
	c->flags &= (uint8_t) ~STORM_CAST_DIGEST;
	c->op = storm_get64(&i);
	c->size = storm_get64(&i);
	c->chunk = storm_get32(&i);
	c->sent = storm_get64(&i);
	c->floor = storm_get64(&i);
	c->decision = storm_get8(&i);
	c->cmp = storm_get64(&i);
	c->cmp_var = storm_get8(&i);
	c->cmp_rel = storm_get8(&i);
	c->cmp_value = storm_get64(&i);
	digest = c->has_digest ? storm_get(&i, sizeof(c->digest)) : NULL;
	if (digest)
		memcpy(c->digest, digest, sizeof(c->digest));
	storm_get_set(&i, &c->p, count - 1);
	storm_get_set(&i, &c->cmp_p, count - 1);
	storm_get_set(&i, &c->excluded, count - 1);
	if (storm_in_done(&i) && !(c->flags & ~STORM_CAST_FLAGS) &&
	    !(c->flags & STORM_CAST_PARTS && c->excluded.count) &&
	    c->decision <= STORM_ABORT && c->cmp_var < STORM_VARS &&
	    c->cmp_rel <= STORM_NE && c->sent <= c->size &&
	    (!c->chunk ||
	     (c->chunk >= STORM_CHUNK_MIN && c->chunk <= STORM_DATAGRAM_MAX)))
		return STORM_OK;
	storm_cast_free(c);
	return STORM_EINVAL;
}
