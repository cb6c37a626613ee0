/*
 * pmi_wire.c - see pmi_wire.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "pmi_wire.h"
#include "src/libstorm/base/idset.h"

/* All that is left of a message. */
static const uint8_t *pmi_rest(struct storm_in *i, size_t *len)
{
	*len = i->bad ? 0 : (size_t) (i->end - i->p);
	return storm_get(i, *len);
}

size_t pmi_msg_len(const struct pmi_msg *m)
{
	return 1 + 4 + 4 + storm_set_len(&m->ranks) + m->len;
}

void pmi_msg_put(struct storm_out *o, const struct pmi_msg *m)
{
	storm_put8(o, (uint8_t) m->kind);
	storm_put32(o, m->rank);
	storm_put32(o, m->code);
	storm_put_set(o, &m->ranks);
	storm_put(o, m->data, m->len);
}

bool pmi_msg_get(struct storm_in *i, struct pmi_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->kind = (enum pmi_kind) storm_get8(i);
	m->rank = storm_get32(i);
	m->code = storm_get32(i);
	storm_get_set(i, &m->ranks, UINT32_MAX - 1);
	m->data = pmi_rest(i, &m->len);
	if (storm_in_done(i) && m->kind && m->kind < PMI_KINDS &&
	    m->len <= PMI_DATA_MAX &&
	    (m->kind == PMI_FENCE) == (m->ranks.count > 0))
		return true;
	pmi_msg_free(m);
	return false;
}

void pmi_msg_free(struct pmi_msg *m)
{
	storm_idset_clear(&m->ranks);
}

size_t pmi_fenced_len(const struct pmi_fenced *f)
{
	return 8 + storm_set_len(&f->ranks) + 4 + 4 + f->len;
}

void pmi_fenced_put(struct storm_out *o, const struct pmi_fenced *f)
{
	storm_put64(o, f->run);
	storm_put_set(o, &f->ranks);
	storm_put32(o, f->all);
	storm_put32(o, f->at);
	storm_put(o, f->data, f->len);
}

bool pmi_fenced_get(struct storm_in *i, struct pmi_fenced *f)
{
	memset(f, 0, sizeof(*f));
	f->run = storm_get64(i);
	storm_get_set(i, &f->ranks, UINT32_MAX - 1);
	f->all = storm_get32(i);
	f->at = storm_get32(i);
	f->data = pmi_rest(i, &f->len);
	if (storm_in_done(i) && f->ranks.count && f->all <= PMI_FENCE_MAX &&
	    f->at <= f->all && f->len <= f->all - f->at)
		return true;
	pmi_fenced_free(f);
	return false;
}

void pmi_fenced_free(struct pmi_fenced *f)
{
	storm_idset_clear(&f->ranks);
}
