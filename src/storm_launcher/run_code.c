/*
 * run_code.c - see run_code.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "run_code.h"

#define CODE_SHIFT 16

uint32_t run_code(enum run_cause cause, int value)
{
	return (uint32_t) cause << CODE_SHIFT | ((uint32_t) value & 0xffff);
}

bool run_code_read(uint32_t code, enum run_cause *cause, int *value)
{
	if (code >> CODE_SHIFT >= RUN_CAUSES)
		return false;
	*cause = (enum run_cause)(code >> CODE_SHIFT);
	*value = (int) (code & 0xffff);
	return true;
}

int run_code_status(uint32_t code)
{
	enum run_cause cause;
	int value;

	if (!run_code_read(code, &cause, &value))
		return 1;
	if (cause == RUN_OUTPUT_LOST || cause == RUN_INPUT_LOST ||
	    cause == RUN_NO_MEMORY || cause == RUN_NODE_LOST ||
	    cause == RUN_PMI_LOST || cause == RUN_NO_PMIX ||
	    cause == RUN_NO_HWLOC)
		return 1;
	if (cause == RUN_SIGNALED)
		return 128 + (value & 0x7f);
	return value & 0xff;
}

bool run_code_is_signal(uint32_t code)
{
	return code >> CODE_SHIFT == RUN_SIGNALED;
}
