/*
 * fuzz_report_parts.c - the parts of a REPORT, in any order, of any version.
 *
 *   {u16 length, part} until the end
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/wire/reports.h"

static void count_ids(void *arg, uint8_t kind, uint32_t code,
		      const struct storm_idset *ids)
{
	(void) kind;
	(void) code;
	*(uint64_t *) arg += storm_idset_size(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	struct storm_report_rx x = { 0 };

	while (i.p < i.end && !i.bad) {
		uint64_t done = x.done, ids = 0;
		size_t len, total = SIZE_MAX;
		uint8_t kinds = 0, *part = some(&i, STORM_DATAGRAM_MAX, &len);
		int got =
			storm_report_rx_part(&x, part, len, UINT64_MAX, &total);

		free(part);
		must(x.done == done && x.have <= x.parts);
		must((got == 1) == (total != SIZE_MAX));
		if (got != 1)
			continue;
		must(total <= STORM_REPORTS_MAX + 2 * STORM_DATAGRAM_MAX);
		must(x.version > done);
		storm_reports_unpack(x.buf, total, &kinds, count_ids, &ids);
		storm_report_rx_done(&x);
		must(x.done > done && !x.buf);
	}
	storm_report_rx_reset(&x);
	return 0;
}
