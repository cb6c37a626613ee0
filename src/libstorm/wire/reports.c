/*
 * reports.c - see reports.h.  A part of a REPORT is
 *
 *   u64 version, u16 part, u16 parts, u32 bytes of every part but the last,
 *   then the bytes
 *
 * and all parts together are {u8 complete kinds}, then any number of {u8 kind,
 * u32 code, idset}.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "reports.h"
#include "src/libstorm/base/idset.h"

static int reports_entry(struct storm_reports *r, uint8_t kind, uint32_t code,
			 struct storm_report_entry **out)
{
	struct storm_report_entry *e;
	uint32_t most = STORM_REPORT_CODES;

	if (kind >= STORM_REPORT_VALUE)
		most += STORM_REPORT_CODES_MORE;
	for (uint32_t i = 0; i < r->count; i++)
		if (r->e[i].kind == kind && r->e[i].code == code) {
			*out = &r->e[i];
			return STORM_OK;
		}
	if (r->count >= most)
		return STORM_ETOOBIG;
	if (r->count == r->room) {
		uint32_t room = r->room ? r->room * 2 : 4;

		e = realloc(r->e, room * sizeof(*e));
		if (!e)
			return STORM_ENOMEM;
		r->e = e;
		r->room = room;
	}
	e = &r->e[r->count++];
	*e = (struct storm_report_entry) { .kind = kind, .code = code };
	*out = e;
	return STORM_OK;
}

static int reports_add(struct storm_reports *r, uint8_t kind, uint32_t code,
		       const struct storm_idset *ids, struct storm_idset *fresh)
{
	struct storm_report_entry *e;
	int err = reports_entry(r, kind, code, &e);

	if (err)
		return err;
	if (fresh) {
		err = storm_idset_minus(ids, &e->ids, fresh);
		if (err)
			return err;
	}
	return storm_idset_union(&e->ids, ids);
}

int storm_reports_add(struct storm_reports *r, uint8_t kind, uint32_t code,
		      const struct storm_idset *ids, struct storm_idset *fresh)
{
	static const struct storm_idset none;
	const struct storm_idset *gone =
		kind < STORM_REPORT_KINDS ? &r->forgotten[kind] : &none;
	struct storm_idset kept = { 0 };
	int err;

	if (!ids->count || !gone->count ||
	    ids->r[0].first > gone->r[gone->count - 1].last)
		return reports_add(r, kind, code, ids, fresh);
	err = storm_idset_minus(ids, gone, &kept);
	if (!err && kept.count)
		err = reports_add(r, kind, code, &kept, fresh);
	storm_idset_clear(&kept);
	return err;
}

int storm_reports_forget(struct storm_reports *r, uint8_t kind,
			 const struct storm_idset *ids, bool *any)
{
	int err;

	if (kind >= STORM_REPORT_KINDS)
		return STORM_EINVAL;
	/* first, as what is dropped and comes again would be new */
	err = storm_idset_union(&r->forgotten[kind], ids);
	for (uint32_t i = 0; !err && i < r->count;) {
		struct storm_report_entry *e = &r->e[i];
		uint64_t before = storm_idset_size(&e->ids);

		if (e->kind == kind)
			err = storm_idset_drop(&e->ids, &r->forgotten[kind]);
		if (any && storm_idset_size(&e->ids) != before)
			*any = true;
		if (e->ids.count) {
			i++;
			continue;
		}
		storm_idset_clear(&e->ids);
		*e = r->e[--r->count];
	}
	return err;
}

int storm_reports_of(const struct storm_reports *r, uint8_t kind,
		     struct storm_idset *s)
{
	for (uint32_t i = 0; i < r->count; i++) {
		int err = r->e[i].kind == kind ?
				  storm_idset_union(s, &r->e[i].ids) :
				  0;
		if (err)
			return err;
	}
	return STORM_OK;
}

void storm_reports_clear(struct storm_reports *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		storm_idset_clear(&r->e[i].ids);
	for (int k = 0; k < STORM_REPORT_KINDS; k++)
		storm_idset_clear(&r->forgotten[k]);
	free(r->e);
	memset(r, 0, sizeof(*r));
}

size_t storm_reports_bytes(const struct storm_reports *r)
{
	size_t n = r->room * sizeof(*r->e);

	for (uint32_t i = 0; i < r->count; i++)
		n += r->e[i].ids.room * sizeof(*r->e[i].ids.r);
	for (int k = 0; k < STORM_REPORT_KINDS; k++)
		n += r->forgotten[k].room * sizeof(*r->forgotten[k].r);
	return n;
}

static size_t reports_len(const struct storm_reports *r)
{
	size_t n = 1;

	for (uint32_t i = 0; i < r->count; i++)
		n += 9 + 8 * (size_t) r->e[i].ids.count;
	return n;
}

bool storm_reports_fit(const struct storm_reports *r)
{
	return reports_len(r) <= STORM_REPORTS_MAX;
}

uint8_t *storm_reports_pack(const struct storm_reports *r, uint8_t complete,
			    size_t *len)
{
	size_t n = reports_len(r);
	uint8_t *buf;
	struct storm_out o;

	if (n > STORM_REPORTS_MAX)
		return NULL;
	buf = malloc(n);
	if (!buf)
		return NULL;
	o = (struct storm_out) { buf, buf + n, false };
	storm_put8(&o, complete);
	for (uint32_t i = 0; i < r->count; i++) {
		storm_put8(&o, r->e[i].kind);
		storm_put32(&o, r->e[i].code);
		storm_put_idset(&o, &r->e[i].ids);
	}
	*len = n;
	return buf;
}

int storm_reports_unpack(const uint8_t *buf, size_t len, uint8_t *complete,
			 storm_report_fn add, void *arg)
{
	struct storm_in i = { buf, buf + len, false };
	uint8_t kinds = storm_get8(&i);

	while (i.p < i.end && !i.bad) {
		struct storm_idset ids = { 0 };
		uint8_t kind = storm_get8(&i);
		uint32_t code = storm_get32(&i);

		storm_get_idset(&i, &ids, UINT32_MAX - 1);
		if (!i.bad)
			add(arg, kind, code, &ids);
		storm_idset_clear(&ids);
	}
	if (i.bad)
		return STORM_EINVAL;
	*complete = kinds;
	return STORM_OK;
}

void storm_report_rx_reset(struct storm_report_rx *x)
{
	free(x->buf);
	free(x->seen);
	memset(x, 0, sizeof(*x));
}

void storm_report_rx_drop(struct storm_report_rx *x)
{
	uint64_t done = x->done;

	storm_report_rx_reset(x);
	x->done = done;
}

void storm_report_rx_done(struct storm_report_rx *x)
{
	x->done = x->version;
	storm_report_rx_drop(x);
}

size_t storm_report_rx_bytes(const struct storm_report_rx *x)
{
	return x->buf ? (size_t) x->parts * (x->part_len + 1) : 0;
}

int storm_report_rx_part(struct storm_report_rx *x, const uint8_t *body,
			 size_t len, uint64_t max, size_t *total)
{
	struct storm_in i = { body, body + len, false };
	uint64_t version = storm_get64(&i);
	uint16_t part = storm_get16(&i), parts = storm_get16(&i);
	uint32_t each = storm_get32(&i);
	size_t n = (size_t) (i.end - i.p);

	if (i.bad || !parts || part >= parts || each > STORM_DATAGRAM_MAX ||
	    (size_t) parts * each > STORM_REPORTS_MAX + STORM_DATAGRAM_MAX ||
	    (part + 1 < parts && n != each) || n > each)
		return -1;
	if (version <= x->done)
		return 2;
	if (version < x->version)
		return 0;
	if (version > x->version) {
		if ((uint64_t) parts * (each + 1) > max)
			return 0;

		storm_report_rx_drop(x);
		x->buf = malloc((size_t) parts * each + 1);
		x->seen = calloc(parts, 1);
		if (!x->buf || !x->seen) {
			storm_report_rx_drop(x);
			return 0;
		}
		x->version = version;
		x->parts = parts;
		x->part_len = each;
	}
	if (parts != x->parts || each != x->part_len)
		return -1;
	if (!x->seen[part]) {
		x->seen[part] = 1;
		x->have++;
		memcpy(x->buf + (size_t) part * each, i.p, n);
		if (part + 1 == parts)
			x->last_len = (uint32_t) n;
	}
	if (x->have < x->parts)
		return 0;
	*total = (size_t) (parts - 1) * each + x->last_len;
	return 1;
}
