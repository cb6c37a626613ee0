/*
 * wait_page.h - the accounts of a step's tasks on a node: how long they compute
 * and how long they wait.  By them flexible coscheduling classes an MPI that
 * spins (paper section 3.2), because the kernel does not see that it waits.
 *
 * slurmstepd makes the page, the library in the tasks adds to it, and the
 * agent, to which slurmstepd gives it, reads it.  It is memory without a name.
 * Seals keep its size, so that a user can neither fill a file system nor harm a
 * reader.  What is in it is the user's word.  It lasts as long as a process has
 * it open.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WAIT_PAGE_H
#define STORM_WAIT_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/* "FD:INODE" in a task's environment: the descriptor, and what it must be. */
#define WAIT_PAGE_ENV "STORM_WAIT_PAGE"
#define WAIT_PAGE_TASKS 1024 /* at most; a step with more has no page */

/* What has been since the first wait.  Times are in ns, the sum of all
 * threads. */
struct wait_account {
	uint64_t waits;
	uint64_t computed, waited; /* between waits, and in them */
	uint64_t ran;		   /* CPU time of the threads that wait */
};

/* A task's account, in a cache line of its own. */
struct wait_slot {
	_Alignas(64) _Atomic uint64_t waits;
	_Atomic uint64_t computed, waited, ran;
};

/* Create a page for so many tasks.  Returns a descriptor with FD_CLOEXEC, or -1
 * and errno. */
int wait_page_create(uint32_t tasks);
/* Write the value of WAIT_PAGE_ENV for this page to out, size bytes.  False: fd
 * is no page. */
bool wait_page_name(int fd, char *out, unsigned long size);
/* Map a task's slot, by that value.  NULL: there is none. */
struct wait_slot *wait_page_map(const char *name, uint32_t task);
/* Set *out to the sum of all tasks.  False: fd is no such page, or cannot be
 * read. */
bool wait_page_sum(int fd, struct wait_account *out);

/* Load a slot.  Others may add to it meanwhile. */
struct wait_account wait_slot_load(const struct wait_slot *s);

#endif
