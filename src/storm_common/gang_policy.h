/*
 * gang_policy.h - the policies by which jobs that share cores take turns: their
 * words in storm.conf, and their numbers in the map.
 *
 * What a policy does in slurmctld and in the strober is in
 * src/gang/policy.h, by these numbers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_POLICY_H
#define STORM_GANG_POLICY_H

/* The numbers are the map's format.  A node may get one that it does not know, from a
 * strober of a later version: it takes that for GANG, so jobs take strict turns there. */
enum gang_policy {
	GANG_POLICY_GANG = 0,	  /* a job has its turns to itself */
	GANG_POLICY_FLEXIBLE = 1, /* others fill the gaps of one that sleeps */
	GANG_POLICY_YIELD = 2,	  /* jobs out of turn give way, and go on */
	GANG_POLICIES
};

/* A policy's word: "gang", "flexible", "yield"; NULL for others. */
const char *gang_policy_name(unsigned int policy);
/* The inverse, in upper or lower case; GANG_POLICIES: there is no such word. */
enum gang_policy gang_policy_find(const char *name);

#endif
