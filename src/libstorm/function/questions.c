/*
 * questions.c - see questions.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "questions.h"
#include "src/libstorm/base/idset.h"

int questions_is_so(struct questions *q, struct storm_idset *P,
		    enum storm_relation rel, uint64_t value)
{
	while (P->count && q->left) {
		struct storm_outcome out = { 0 };
		enum storm_compare c;
		uint64_t had = storm_idset_size(P);

		q->left--;
		q->asked++;
		c = q->ask(q->arg, P, rel, value, &out);
		for (uint32_t i = 0; c == STORM_FAILED && i < out.faults_kept;
		     i++)
			storm_idset_add(&q->mute, out.faults[i].node,
					out.faults[i].node);
		storm_outcome_clear(&out);
		if (c != STORM_FAILED)
			return c == STORM_TRUE;
		if (storm_idset_drop(P, &q->mute))
			return -1;
		if (storm_idset_size(P) == had)
			return -1; /* it failed, and names no node */
	}
	return -1;
}

int questions_half(const struct storm_idset *P, bool second,
		   struct storm_idset *out)
{
	uint64_t size = storm_idset_size(P), n = 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < P->count; i++)
		for (uint32_t k = P->r[i].first; !err && k <= P->r[i].last;
		     k++, n++)
			if ((n >= (size + 1) / 2) == second)
				err = storm_idset_add(out, k, k);
	return err;
}

int questions_find(struct questions *q, struct storm_idset *P,
		   enum storm_relation rel, uint64_t value,
		   struct storm_idset * not, struct storm_idset *unknown)
{
	struct storm_idset part = { 0 };
	int yes = questions_is_so(q, P, rel, value), err = 0;

	if (yes > 0)
		return 0;
	if (yes < 0)
		return storm_idset_union(unknown, P);
	if (storm_idset_size(P) == 1)
		return storm_idset_union(not, P);
	for (int second = 0; second < 2 && !err; second++) {
		err = questions_half(P, second, &part);
		if (!err)
			err = questions_find(q, &part, rel, value, not,
					     unknown);
		storm_idset_clear(&part);
	}
	return err;
}
