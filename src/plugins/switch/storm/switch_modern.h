/*
 * switch_modern.h - what the operations of Slurm 24.11 and later have in
 * common.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SWITCH_MODERN_H
#define STORM_SWITCH_MODERN_H

#include <stdbool.h>

#include "src/common/pack.h"
#include "src/slurmctld/slurmctld.h"

#include "stepinfo.h"

#pragma GCC visibility push(default)
int init(void);
int fini(void);
int switch_p_save(void);
int switch_p_restore(bool recover);
void switch_p_job_complete(job_record_t *job);
#pragma GCC visibility pop

struct stepinfo *switch_modern_build(step_record_t *step);
/* NULL: malformed. */
struct stepinfo *switch_modern_unpack(buf_t *buffer);

#endif
