/*
 * cases.h - single stories, each of one thing that went wrong or might.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef CASES_H
#define CASES_H

#include <stdint.h>

/* Each exits with a message where something is not as it should be. */
void case_idle(void);		   /* an hour of nothing */
void case_quiet(void);		   /* what life costs where nothing is lost */
void case_long_start(void);	   /* nodes start one by one */
void case_values(void);		   /* reports of values cost little */
void case_reporting(void);	   /* reports hide no death */
void case_overdue(void);	   /* a node is slow, or dead */
void case_orphaned(void);	   /* OPEN fails, and a parent dies */
void case_two_dead(void);	   /* a parent and its child die at once */
void case_turn(void);		   /* a file waits for others */
void case_slow_link(void);	   /* much is lost, of datagrams of any size */
void case_long_up(void);	   /* only short ones come up */
void case_multicast_ends(void);	   /* in the middle of a transfer */
void case_long_by_the_group(void); /* long ones come by multicast alone */
void case_cut_paths(void);	   /* datagrams do not pass, or long ones */
void case_silent_owner(void);	   /* an OPEN, and nothing more */
void case_refused(uint64_t seed);  /* one node cannot be opened */

/* reports.c */
void case_forgotten_on_its_way(void); /* a part of a report is lost */
void case_too_many_reports(void);     /* for a message */
void case_forgetting(uint64_t seed);  /* ids go on and on */

#endif
