/*
 * reports.h - what nodes say of a step: cumulative sets of ids by (kind,
 * code), merged on the way up.  Termination detection (Algorithms 8 and 9)
 * stands on them: however many nodes, the owner hears of each distinct status
 * in O(radix) messages, and being cumulative they may be lost, doubled and
 * reordered.
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
};
#define STORM_REPORTS_MAX (4u << 20)	/* bytes packed */
/* Distinct (kind, code) in one set: more than there are statuses to exit with,
 * few enough to look through, whoever makes them up. */
#define STORM_REPORT_CODES 4096

/* Adds ids; *fresh (may be NULL, empty before) gets those that are new to
 * (kind, code).  0, ENOMEM, or ETOOBIG: no room for another code. */
int storm_reports_add(struct storm_reports *r, uint8_t kind, uint32_t code,
		      const struct storm_idset *ids,
		      struct storm_idset *fresh);
/* Ids of a kind, whatever the code, added to s. */
int storm_reports_of(const struct storm_reports *r, uint8_t kind,
		     struct storm_idset *s);
void storm_reports_clear(struct storm_reports *r);

/* malloc()ed, NULL: no memory or too big.  complete: the kinds of which
 * nothing more is expected, a bit each. */
uint8_t *storm_reports_pack(const struct storm_reports *r, uint8_t complete,
			    size_t *len);
/* Calls add for each entry; *complete is set if all is well. */
typedef void (*storm_report_fn)(void *arg, uint8_t kind, uint32_t code,
				const struct storm_idset *ids);
int storm_reports_unpack(const uint8_t *buf, size_t len, uint8_t *complete,
			 storm_report_fn add, void *arg);

/* A sender's side of REPORT, hop by hop: all parts until that version is
 * acknowledged. */
#define STORM_REPORT_PART_HEADER 16
struct storm_report_rx {	/* a receiver's side, one for each child */
	uint64_t version;	/* being assembled */
	uint64_t done;		/* last one taken */
	uint16_t parts, have;
	uint32_t part_len, last_len;
	uint8_t *buf, *seen;
};
/* 1: complete, buf and *len hold it; 0: not yet; 2: old, acknowledge again;
 * -1: malformed. */
int storm_report_rx_part(struct storm_report_rx *x, const uint8_t *body,
			 size_t len, size_t *total);
void storm_report_rx_done(struct storm_report_rx *x);
void storm_report_rx_reset(struct storm_report_rx *x);	/* frees */

#endif
