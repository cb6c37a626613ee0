/*
 * deaf.c - see deaf.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "deaf.h"
#include "src/libstorm/base/idset.h"

#define QUESTIONS 100 /* in a look */

/* What was found of some nodes. */
struct deaf_found {
	struct storm_idset no;	    /* the relation is false there */
	struct storm_idset mute;    /* have not answered */
	struct storm_idset unknown; /* no question was left for them */
};

static void deaf_found_clear(struct deaf_found *f)
{
	storm_idset_clear(&f->no);
	storm_idset_clear(&f->mute);
	storm_idset_clear(&f->unknown);
}

/* Of which nodes of P is it false? */
static int deaf_ask(const struct deaf_view *v, const struct storm_idset *P,
		    enum storm_relation rel, uint64_t number,
		    unsigned int questions, struct deaf_found *f,
		    unsigned int *asked)
{
	struct questions q = { .ask = v->ask,
			       .arg = v->arg,
			       .left = questions };
	struct storm_idset work = { 0 };
	int err = storm_idset_union(&work, P);

	if (!err && work.count)
		err = questions_find(&q, &work, rel, number, &f->no,
				     &f->unknown);
	storm_idset_clear(&work);
	f->mute = q.mute;
	*asked += q.asked;
	return err;
}

/* Into *to, instead of what it has, and leave *from empty. */
static void deaf_move(struct storm_idset *to, struct storm_idset *from)
{
	storm_idset_clear(to);
	*to = *from;
	memset(from, 0, sizeof(*from));
}

void deaf_clear(struct deaf *d)
{
	storm_idset_clear(&d->suspects);
	storm_idset_clear(&d->is);
	storm_idset_clear(&d->mute);
	d->mark = 0;
}

void deaf_news_clear(struct deaf_news *news)
{
	storm_idset_clear(&news->deaf);
	storm_idset_clear(&news->back);
	storm_idset_clear(&news->mute);
	storm_idset_clear(&news->gone);
}

void deaf_suspect(struct deaf *d, const struct storm_idset *mute)
{
	storm_idset_union(&d->suspects, mute);
}

/*
 * Those in doubt: is it so, or is it over?  As most of them are deaf, the question is
 * whether all have not taken the strobe.
 */
static void deaf_look_again(struct deaf *d, const struct deaf_view *v,
			    uint64_t mark, struct deaf_news *news,
			    unsigned int *asked)
{
	struct storm_idset P = { 0 }, sure = { 0 };
	struct deaf_found f = { 0 };

	if (storm_idset_union(&P, &d->suspects) ||
	    storm_idset_union(&P, &d->is) ||
	    deaf_ask(v, &P, STORM_LT, mark, QUESTIONS, &f, asked) ||
	    storm_idset_drop(&P, &f.no) || storm_idset_drop(&P, &f.unknown) ||
	    storm_idset_union(&sure, &d->is) || storm_idset_union(&sure, &P) ||
	    storm_idset_drop(&sure, &f.no) ||
	    storm_idset_minus(&P, &f.mute, &news->deaf) ||
	    storm_idset_minus(&P, &news->deaf, &news->mute))
		goto out; /* no memory: it is found later */
	deaf_move(&news->back, &f.no);
	deaf_move(&d->is, &sure);
	deaf_move(&d->mute, &f.mute);
	storm_idset_clear(&d->suspects);
	storm_idset_minus(&f.unknown, &d->is, &d->suspects);
out:
	storm_idset_clear(&P);
	storm_idset_clear(&sure);
	deaf_found_clear(&f);
}

/* All that are not in doubt. */
static void deaf_look_at_all(struct deaf *d, const struct deaf_view *v,
			     uint64_t mark, unsigned int *asked)
{
	struct deaf_found f = { 0 }, none = { 0 };
	struct storm_idset P = { 0 };

	if (storm_idset_union(&P, v->in) ||
	    storm_idset_drop(&P, &d->suspects) || storm_idset_drop(&P, &d->is))
		goto out;
	deaf_ask(v, &P, STORM_GE, mark, QUESTIONS, &f, asked);
	storm_idset_union(&d->suspects, &f.no);
	storm_idset_union(&d->suspects, &f.mute);
	/* so many: is it all that are left? */
	if (f.unknown.count &&
	    !deaf_ask(v, &f.unknown, STORM_LT, mark, 1, &none, asked) &&
	    !none.unknown.count && !none.no.count)
		storm_idset_union(&d->suspects, &f.unknown);
out:
	storm_idset_clear(&P);
	deaf_found_clear(&f);
	deaf_found_clear(&none);
}

/* No strobe tells deaf nodes from others: those that give no answer, twice.  Every
 * node has as much as nothing, so any answer is a yes. */
static void deaf_look_for_answers(struct deaf *d, const struct deaf_view *v,
				  struct deaf_news *news, unsigned int *asked)
{
	struct storm_idset sure = { 0 };
	struct deaf_found f = { 0 };

	if (deaf_ask(v, v->in, STORM_GE, 0, QUESTIONS, &f, asked) ||
	    storm_idset_union(&d->suspects, &d->is) ||
	    storm_idset_union(&sure, &f.mute) ||
	    storm_idset_keep(&sure, &d->suspects) ||
	    storm_idset_minus(&d->is, &sure, &news->back) ||
	    storm_idset_union(&news->mute, &sure))
		goto out; /* no memory: it is found later */
	storm_idset_clear(&d->mute);
	storm_idset_union(&d->mute, &sure);
	deaf_move(&d->is, &sure);
	deaf_move(&d->suspects, &f.mute);
	storm_idset_drop(&d->suspects, &d->is);
out:
	storm_idset_clear(&sure);
	deaf_found_clear(&f);
}

/* Another part knows of those that have left, and nothing is known of them when they
 * return.  0 or an error. */
static int deaf_keep(struct deaf *d, const struct storm_idset *in,
		     struct deaf_news *news)
{
	int err = storm_idset_minus(&d->is, in, &news->gone);

	if (!err)
		err = storm_idset_keep(&d->suspects, in);
	if (!err)
		err = storm_idset_keep(&d->is, in);
	if (!err)
		err = storm_idset_keep(&d->mute, in);
	return err;
}

unsigned int deaf_look(struct deaf *d, const struct deaf_view *v,
		       struct deaf_news *news)
{
	uint64_t mark = d->mark;
	unsigned int asked = 0;

	d->mark = v->number;
	if (!v->number && !v->waits) {
		/* it is asked about them first when there are strobes again */
		storm_idset_union(&d->suspects, &d->is);
		deaf_move(&news->back, &d->is);
		storm_idset_clear(&d->mute);
		return 0;
	}
	if (deaf_keep(d, v->in, news))
		return 0;
	if (!v->number) {
		deaf_look_for_answers(d, v, news, &asked);
		return asked;
	}
	/* numbers restart in an epoch, and a node that has joined in it has none
	 * of those before */
	if (!mark || mark >> 32 != v->number >> 32) {
		storm_idset_clear(&d->mute); /* they are not asked now */
		return 0;
	}
	if (d->suspects.count || d->is.count)
		deaf_look_again(d, v, mark, news, &asked);
	if (v->all)
		deaf_look_at_all(d, v, mark, &asked);
	return asked;
}
