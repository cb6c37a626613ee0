/*
 * deaf.h - finds members of the cluster domain that do not hear strobes,
 * because a firewall keeps strobes from them but lets their own signs of life
 * pass.  A node of any release has the number of the last strobe that it has
 * taken in an own variable.  So COMPARE-AND-WRITE with a number that was sent a
 * while ago finds such nodes (paper section 2.4.3).
 *
 * A strobe, or its repeat, is sent at least four times in what a node takes for
 * silence (gang_silence(), a second at most).  So a node that has not taken one
 * of a second ago lets everything run by its own rule.  It counts as deaf after
 * two such looks.
 *
 * While nothing is strobed no node is deaf.  But the first map can wait for a node that
 * hears nothing.  So while it waits, a node that answers no question at two looks is
 * mute.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DEAF_H
#define STORM_DEAF_H

#include "src/libstorm/function/questions.h"

#define DEAF_LOOK STORM_SEC /* between two looks, at least */

/* Initialize it to zeroes. */
struct deaf {
	struct storm_idset suspects; /* without strobe or answer, last look */
	struct storm_idset is;	     /* deaf nodes */
	struct storm_idset mute;     /* of `is`: without answer, last look */
	uint64_t mark;		     /* the last strobe's number then */
};

struct deaf_view {
	const struct storm_idset *in; /* the members that are not silent */
	uint64_t number;	      /* of the last strobe; 0: none is sent */
	bool all;	      /* ask all of them, not only those in doubt */
	bool waits;	      /* no strobe is sent, and a map waits for nodes */
	questions_ask_fn ask; /* compares STORM_VAR_HEARTBEAT */
	void *arg;
};

/* Initialize it to zeroes, and clear it by deaf_news_clear().  Each look that
 * asks names all deaf nodes anew, because one that has joined since the last
 * look counts as one that hears. */
struct deaf_news {
	struct storm_idset deaf; /* hear no strobe, and answer */
	struct storm_idset mute; /* neither hear one nor answer */
	struct storm_idset back; /* hear them, or none is sent */
	struct storm_idset gone; /* were deaf, and are silent or no members */
};

/* Look once, and fill *news.  Returns how many questions were asked.  Without
 * memory something is only found later. */
unsigned int deaf_look(struct deaf *d, const struct deaf_view *v,
		       struct deaf_news *news);
/* Suspect these nodes, which did not answer another question. */
void deaf_suspect(struct deaf *d, const struct storm_idset *mute);
void deaf_news_clear(struct deaf_news *news);
void deaf_clear(struct deaf *d);

#endif
