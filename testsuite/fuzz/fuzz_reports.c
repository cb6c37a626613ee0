/*
 * fuzz_reports.c - the sets of ids that nodes report, as a child's parts have
 * brought them together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/wire/reports.h"

static void add(void *arg, uint8_t kind, uint32_t code,
		const struct storm_idset *ids)
{
	struct storm_idset fresh = { 0 };
	int err = storm_reports_add(arg, kind, code, ids, &fresh);

	must(!err || err == STORM_ETOOBIG);
	must_be_set(ids, UINT32_MAX - 1);
	must(storm_idset_covers(ids, &fresh));
	storm_idset_clear(&fresh);
}

static void same(const struct storm_reports *a, const struct storm_reports *b)
{
	must(a->count == b->count);
	for (uint32_t i = 0; i < a->count; i++)
		must(a->e[i].kind == b->e[i].kind &&
		     a->e[i].code == b->e[i].code &&
		     same_set(&a->e[i].ids, &b->e[i].ids));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_reports r = { 0 }, again = { 0 };
	uint8_t kinds = 0, got = 0, *buf;
	size_t len = 0;
	int err = storm_reports_unpack(data, size, &kinds, add, &r);

	must(r.count <= STORM_REPORT_CODES);
	must(err || kinds == data[0]);
	for (uint32_t i = 0; i < r.count; i++)
		must_be_set(&r.e[i].ids, UINT32_MAX - 1);
	buf = storm_reports_pack(&r, kinds, &len);
	must(buf || len > STORM_REPORTS_MAX);
	if (buf) {
		must(!storm_reports_unpack(buf, len, &got, add, &again));
		must(got == kinds);
		same(&r, &again);
	}
	free(buf);
	storm_reports_clear(&r);
	storm_reports_clear(&again);
	return 0;
}
