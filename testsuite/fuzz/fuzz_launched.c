/*
 * fuzz_launched.c - srun's record of a launch (launch_record.h), which an agent keeps
 * and storm why reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "fuzz.h"

#include "src/storm_common/launch_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *buf, again[LAUNCH_RECORD];
	struct launch_record r;

	if (!size)
		return 0;
	buf = exact(data, size);
	if (launch_record_unpack(&r, buf, size)) {
		must(size <= LAUNCH_RECORD && r.nodes && r.tasks);
		must(r.slows <= LAUNCH_SLOW);
		must(launch_record_took(&r) <= LAUNCH_LONGEST);
		for (int i = 0; i < LAUNCH_PARTS; i++)
			must(r.part[i].took == LAUNCH_NONE ||
			     r.part[i].took <= LAUNCH_LONGEST);
		for (unsigned int i = 0; i < r.slows; i++) {
			const struct launch_slow *s = &r.slow[i];

			must(launch_record_slow(&r, s->part) == s);
			must(*launch_wait_word(s->wait) &&
			     *launch_part_word(s->part));
			must(*s->name && strlen(s->name) < LAUNCH_NAME);
			for (const char *c = s->name; *c; c++)
				must(*c > ' ' && *c <= '~');
		}
		/* one record, one encoding */
		must(launch_record_pack(&r, again) == size);
		must(!memcmp(again, buf, size));
	}
	free(buf);
	return 0;
}
