/*
 * fuzz_request.c - what a node asks the owner for, and how it ended.
 *
 *   u8 0: a RESULT follows; else u16 nodes less one, and a REQUEST
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/wire/request.h"

static void request(struct storm_in *i)
{
	uint32_t count = storm_get16(i) + 1u;
	size_t size = (size_t) (i->end - i->p), len;
	uint8_t *buf = exact(i->p, size), *again = malloc(size + 1);
	const uint8_t *data = NULL;
	struct storm_begin b;

	must(again);
	if (!storm_request_unpack(&b, &data, &len, buf, size, count)) {
		must(data >= buf && data + len == buf + size);
		must_be_set(&b.p, count - 1);
		must(storm_request_pack(&b, data, len, again, size) == size);
		must(!memcmp(again, buf, size));
		must(!storm_request_pack(&b, data, len, again, size - 1));
		storm_begin_free(&b);
	}
	free(again);
	free(buf);
}

static void result(struct storm_in *i)
{
	size_t size = (size_t) (i->end - i->p);
	uint8_t *buf = exact(i->p, size), again[STORM_RESULT_MAX];
	struct storm_outcome out;
	enum storm_compare how;

	if (storm_result_unpack(&how, &out, buf, size)) {
		must(!out.faults);
		free(buf);
		return;
	}
	must(how <= STORM_FAILED && out.state != STORM_PENDING);
	must(out.faults_kept <= STORM_RESULT_FAULTS &&
	     out.faults_kept <= out.nfaults);
	must(storm_result_pack(how, &out, again, sizeof(again)) == size);
	must(!memcmp(again, buf, size));
	storm_outcome_clear(&out);
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };

	if (storm_get8(&i))
		request(&i);
	else
		result(&i);
	return 0;
}
