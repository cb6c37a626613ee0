/*
 * slurm_build.h - tells whether the Slurm that runs is the one STORM was built
 * for.
 *
 * STORM uses structures of Slurm that a security update may change.  Slurm's
 * plugin loader compares version numbers alone.  So configure records the GNU
 * build-id of libslurmfull.so, Slurm's internal library, and each part of STORM
 * compares it with that of the library in its process before it does anything.
 * A part that is refused uses no structure of Slurm, only functions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_BUILD_H
#define STORM_SLURM_BUILD_H

#include <stddef.h>
#include <stdint.h>

/* The section of each of STORM's files that says what it was built for: the
 * revision and, in the next line, the build-id, as text with a NUL. */
#define SLURM_BUILD_SECTION ".storm.slurm"

/*
 * Find the build-id among the notes of an object (PT_NOTE), whose alignment is
 * 4 or 8.  Returns its length, and *id points into the notes; 0: there is none.
 */
size_t slurm_build_note(const uint8_t *notes, size_t len, size_t align,
			const uint8_t **id);

/* NULL if the Slurm in this process is the one that STORM was built for; else a
 * sentence that names both and the remedy.  Every call returns the same. */
const char *slurm_build_refusal(void);

/* Two lines for --version: what STORM was built for, and what is here. */
const char *slurm_build_describe(void);

#endif
