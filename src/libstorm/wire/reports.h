/*
 * reports.h - REPORT, from nodes about a step: cumulative sets of ids by (kind,
 * code), merged on the way up the tree.  Termination detection (Algorithms 8
 * and 9) is built on them.  The owner receives each distinct status in O(radix)
 * messages, however many nodes there are.  As reports are cumulative, they may
 * be lost, duplicated and reordered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_REPORTS_H
#define STORM_REPORTS_H

#include "wire.h"

struct storm_report_entry {
	uint8_t kind;
	uint32_t code;
	struct storm_idset ids;
};
struct storm_reports {
	struct storm_report_entry *e;
	uint32_t count, room;
	struct storm_idset forgotten[STORM_REPORT_KINDS];
};
#define STORM_REPORTS_MAX (4u << 20) /* bytes packed */
/* Limit of distinct (kind, code): more than there are exit statuses, and few
 * enough for a linear search, even if a sender forges them. */
#define STORM_REPORT_CODES 4096
/* So many more for values and terminations (kinds from STORM_REPORT_VALUE on): a program that
 * reports too many codes still learns how many ids these were of, and when it was all. */
#define STORM_REPORT_CODES_MORE 256

/* Add ids to (kind, code).  fresh: NULL, or an empty set that receives those
 * that are new there.  STORM_OK, ENOMEM, or ETOOBIG: no room for another
 * code. */
int storm_reports_add(struct storm_reports *r, uint8_t kind, uint32_t code,
		      const struct storm_idset *ids, struct storm_idset *fresh);
/* Add the ids of a kind, of any code, to s.  STORM_OK or ENOMEM. */
int storm_reports_of(const struct storm_reports *r, uint8_t kind,
		     struct storm_idset *s);
/* Forget these ids of a kind, also those that have not come; they are not new when
 * they come.  What is remembered of them is their ranges, so callers that give ids
 * out in ascending order forget ranges that touch.  any: NULL, or it is set if some
 * of them were there.  STORM_OK, EINVAL: no such kind; ENOMEM: some stay. */
int storm_reports_forget(struct storm_reports *r, uint8_t kind,
			 const struct storm_idset *ids, bool *any);
void storm_reports_clear(struct storm_reports *r);
size_t storm_reports_bytes(const struct storm_reports *r); /* of memory */

/* Has it STORM_REPORTS_MAX bytes at most, packed?  */
bool storm_reports_fit(const struct storm_reports *r);
/* Pack r into *len bytes, malloc()ed; NULL: no memory, or it does not fit.
 * complete: a bit for each kind of which no more is expected. */
uint8_t *storm_reports_pack(const struct storm_reports *r, uint8_t complete,
			    size_t *len);
/* Unpack: call add for each entry; ids are valid during the call.  STORM_OK and
 * *complete; or EINVAL: malformed, and add may have been called for the first
 * entries. */
typedef void (*storm_report_fn)(void *arg, uint8_t kind, uint32_t code,
				const struct storm_idset *ids);
int storm_reports_unpack(const uint8_t *buf, size_t len, uint8_t *complete,
			 storm_report_fn add, void *arg);

/* A sender repeats all parts of a version, hop by hop, until the next hop
 * acknowledges it.  A version is the same bytes, cut in the same way, each time: the
 * receiver joins parts of several attempts. */
#define STORM_REPORT_PART_HEADER 16
/* A receiver's side, one for each child. */
struct storm_report_rx {
	uint64_t version; /* the one that is being assembled */
	uint64_t done;	  /* the last one that was merged */
	uint16_t parts, have;
	uint32_t part_len, last_len;
	uint8_t *buf, *seen;
};
/* Take a part.  1: the version is complete, x->buf has *total bytes; 0: parts
 * are missing, or all of them would take more than max bytes; 2: it is of a
 * version that was merged, acknowledge it again; -1: malformed. */
int storm_report_rx_part(struct storm_report_rx *x, const uint8_t *body,
			 size_t len, uint64_t max, size_t *total);
/* Bytes of memory that it takes. */
size_t storm_report_rx_bytes(const struct storm_report_rx *x);
/* The version could not be merged: free it, and await it again. */
void storm_report_rx_drop(struct storm_report_rx *x);
/* The complete version was merged: free it, and remember its number. */
void storm_report_rx_done(struct storm_report_rx *x);
/* Free it and forget all numbers. */
void storm_report_rx_reset(struct storm_report_rx *x);

#endif
