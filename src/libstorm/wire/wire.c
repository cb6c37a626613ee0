/*
 * wire.c - see wire.h.  Parsers check the type before the body and lengths
 * before use, and accept no trailing bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "wire.h"
#include "src/libstorm/base/idset.h"

static bool wire_has_room(struct storm_out *o, size_t n)
{
	if (o->bad || (size_t) (o->end - o->p) < n) {
		o->bad = true;
		return false;
	}
	return true;
}

static void wire_put(struct storm_out *o, uint64_t v, size_t n)
{
	if (!wire_has_room(o, n))
		return;
	for (size_t i = n; i-- > 0; v >>= 8)
		o->p[i] = (uint8_t) v;
	o->p += n;
}

void storm_put8(struct storm_out *o, uint8_t v)
{
	wire_put(o, v, 1);
}
void storm_put16(struct storm_out *o, uint16_t v)
{
	wire_put(o, v, 2);
}
void storm_put32(struct storm_out *o, uint32_t v)
{
	wire_put(o, v, 4);
}
void storm_put64(struct storm_out *o, uint64_t v)
{
	wire_put(o, v, 8);
}

void storm_put(struct storm_out *o, const void *buf, size_t len)
{
	if (!wire_has_room(o, len))
		return;
	if (len)
		memcpy(o->p, buf, len);
	o->p += len;
}

void storm_put_addr(struct storm_out *o, const struct storm_addr *a)
{
	storm_put(o, a->ip, sizeof(a->ip));
	storm_put16(o, a->port);
}

void storm_put_idset(struct storm_out *o, const struct storm_idset *s)
{
	storm_put32(o, s->count);
	for (uint32_t i = 0; i < s->count; i++) {
		storm_put32(o, s->r[i].first);
		storm_put32(o, s->r[i].last);
	}
}

static uint64_t wire_get(struct storm_in *in, size_t n)
{
	const uint8_t *p = storm_get(in, n);
	uint64_t v = 0;

	if (p)
		for (size_t i = 0; i < n; i++)
			v = v << 8 | p[i];
	return v;
}

uint8_t storm_get8(struct storm_in *i)
{
	return (uint8_t) wire_get(i, 1);
}
uint16_t storm_get16(struct storm_in *i)
{
	return (uint16_t) wire_get(i, 2);
}
uint32_t storm_get32(struct storm_in *i)
{
	return (uint32_t) wire_get(i, 4);
}
uint64_t storm_get64(struct storm_in *i)
{
	return wire_get(i, 8);
}

const uint8_t *storm_get(struct storm_in *i, size_t len)
{
	const uint8_t *p = i->p;

	if (i->bad || (size_t) (i->end - i->p) < len) {
		i->bad = true;
		return NULL;
	}
	i->p += len;
	return p;
}

void storm_get_addr(struct storm_in *i, struct storm_addr *a)
{
	const uint8_t *p = storm_get(i, sizeof(a->ip));

	memset(a, 0, sizeof(*a));
	if (p)
		memcpy(a->ip, p, sizeof(a->ip));
	a->port = storm_get16(i);
}

void storm_get_idset(struct storm_in *i, struct storm_idset *s, uint32_t max)
{
	uint32_t n = storm_get32(i);
	uint64_t least = 0;

	if (i->bad || n > (size_t) (i->end - i->p) / 8) {
		i->bad = true;
		return;
	}
	for (; n; n--) {
		uint32_t first = storm_get32(i), last = storm_get32(i);

		if (first < least || last < first || last > max ||
		    storm_idset_add(s, first, last)) {
			i->bad = true;
			return;
		}
		least = (uint64_t) last + 1;
	}
}

static void wire_put_number(struct storm_out *o, uint32_t v)
{
	for (; v >= 0x80; v >>= 7)
		storm_put8(o, (uint8_t) (v | 0x80));
	storm_put8(o, (uint8_t) v);
}

/* A number has one encoding: no superfluous zero bytes, and at most 32 bits. */
static uint32_t wire_get_number(struct storm_in *i)
{
	uint32_t v = 0;

	for (unsigned int shift = 0; shift < 35; shift += 7) {
		uint8_t b = storm_get8(i);

		if ((shift == 28 && b > 0xf) || (shift && !b))
			break;
		v |= (uint32_t) (b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	i->bad = true;
	return 0;
}

void storm_put_set(struct storm_out *o, const struct storm_idset *s)
{
	wire_put_number(o, s->count);
	for (uint32_t k = 0; k < s->count; k++) {
		/* ranges never touch, so the gap is at least 1 */
		wire_put_number(o, k ? s->r[k].first - s->r[k - 1].last - 2 :
				       s->r[k].first);
		wire_put_number(o, s->r[k].last - s->r[k].first);
	}
}

static size_t wire_number_len(uint32_t v)
{
	size_t n = 1;

	for (; v >= 0x80; v >>= 7)
		n++;
	return n;
}

size_t storm_set_len(const struct storm_idset *s)
{
	size_t n = wire_number_len(s->count);

	for (uint32_t k = 0; k < s->count; k++)
		n += wire_number_len(k ? s->r[k].first - s->r[k - 1].last - 2 :
					 s->r[k].first) +
		     wire_number_len(s->r[k].last - s->r[k].first);
	return n;
}

void storm_get_set(struct storm_in *i, struct storm_idset *s, uint32_t max)
{
	uint32_t n = wire_get_number(i);
	uint64_t at = 0;

	for (; n && !i->bad; n--) {
		uint64_t first = at + wire_get_number(i);
		uint64_t last = first + wire_get_number(i);

		if (i->bad || last > max ||
		    storm_idset_add(s, (uint32_t) first, (uint32_t) last)) {
			i->bad = true;
			return;
		}
		at = last + 2;
	}
}

void storm_header_pack(const struct storm_header *h,
		       uint8_t out[static STORM_HEADER_LEN])
{
	struct storm_out o = { out, out + STORM_HEADER_LEN, false };

	storm_put8(&o, STORM_WIRE_VERSION);
	storm_put8(&o, h->type);
	storm_put16(&o, h->flags);
	storm_put32(&o, h->epoch);
	storm_put64(&o, h->session);
	storm_put(&o, h->incarnation, sizeof(h->incarnation));
	storm_put32(&o, h->sender);
	storm_put64(&o, h->sequence);
	storm_put64(&o, h->op);
}

int storm_header_unpack(struct storm_header *h, const uint8_t *buf, size_t len)
{
	struct storm_in i = { buf, buf + len, false };
	const uint8_t *inc;

	if (len < STORM_DATAGRAM_MIN || len > STORM_DATAGRAM_MAX)
		return STORM_EINVAL;
	if (storm_get8(&i) != STORM_WIRE_VERSION)
		return STORM_EVERSION;
	h->type = storm_get8(&i);
	h->flags = storm_get16(&i);
	h->epoch = storm_get32(&i);
	h->session = storm_get64(&i);
	inc = storm_get(&i, sizeof(h->incarnation));
	memcpy(h->incarnation, inc, sizeof(h->incarnation));
	h->sender = storm_get32(&i);
	h->sequence = storm_get64(&i);
	h->op = storm_get64(&i);
	if (!h->type || h->type >= STORM_MSG_MAX ||
	    (h->flags & ~STORM_HDR_FLAGS))
		return STORM_EINVAL;
	return STORM_OK;
}

int storm_protocol_version(void)
{
	return STORM_WIRE_VERSION;
}

void storm_refusal_pack(enum storm_err why,
			uint8_t out[static STORM_REFUSAL_LEN])
{
	struct storm_out o = { out, out + STORM_REFUSAL_LEN, false };

	storm_put32(&o, STORM_WIRE_MAGIC);
	storm_put16(&o, STORM_WIRE_VERSION);
	storm_put16(&o, (uint16_t) why);
}

bool storm_refusal_unpack(const uint8_t *buf, size_t len, enum storm_err *why,
			  int *sys)
{
	struct storm_in i = { buf, buf + len, false };
	uint32_t magic = storm_get32(&i);
	uint16_t version = storm_get16(&i), err = storm_get16(&i);

	if (!storm_in_done(&i) || magic != STORM_WIRE_MAGIC || !err)
		return false;
	/* another version may have other reasons */
	if (err == STORM_EVERSION || version != STORM_WIRE_VERSION) {
		*why = STORM_EVERSION;
		*sys = version;
	} else {
		*why = STORM_REFUSAL_WHY(err);
		*sys = STORM_REFUSAL_SYS(err);
		if (!*why || *why >= STORM_ERROR_END) {
			*why = STORM_EINVAL;
			*sys = 0;
		}
	}
	return true;
}
