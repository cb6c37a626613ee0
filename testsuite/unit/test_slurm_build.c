/*
 * test_slurm_build.c - the build-id among an object's notes, and that of the
 * library in this process.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <elf.h>
#include <link.h>

#include "src/storm_common/slurm_build.h"
#include "storm_config.h"
#include "unit.h"

struct notes {
	uint8_t bytes[256];
	size_t len;
};

/* Append a note as a linker does; the last one may lack its padding. */
static void add(struct notes *n, size_t align, uint32_t type, const char *name,
		const char *desc)
{
	const ElfW(Nhdr) head = { .n_namesz = strlen(name) + 1,
				  .n_descsz = strlen(desc),
				  .n_type = type };

	n->len = (n->len + align - 1) / align * align;
	memcpy(n->bytes + n->len, &head, sizeof(head));
	n->len += sizeof(head);
	memcpy(n->bytes + n->len, name, head.n_namesz);
	n->len = (n->len + head.n_namesz + align - 1) / align * align;
	memcpy(n->bytes + n->len, desc, head.n_descsz);
	n->len += head.n_descsz;
}

static const size_t aligns[] = { 4, 8 };

/* Also behind others: of another type, of another owner, with odd lengths. */
START_TEST(test_found)
{
	static const char want[] = "an id of 20 bytes...";
	struct notes n = { .len = 0 };
	const uint8_t *id = NULL;
	const size_t align = aligns[_i];

	add(&n, align, NT_GNU_ABI_TAG, "GNU", "16 bytes of tags");
	add(&n, align, NT_GNU_BUILD_ID, "stapsdt", "not GNU");
	add(&n, align, NT_GNU_BUILD_ID, "GN", "odd");
	must(!slurm_build_note(n.bytes, n.len, align, &id) && !id);
	add(&n, align, NT_GNU_BUILD_ID, "GNU", want);
	must(slurm_build_note(n.bytes, n.len, align, &id) == strlen(want));
	must(!memcmp(id, want, strlen(want)));
}
END_TEST

/* Cut anywhere, and with lengths that lie, nothing is found and nothing read
 * beyond the end: each copy has its own allocation. */
START_TEST(test_torn)
{
	struct notes n = { .len = 0 };
	const uint8_t *id = NULL;
	const size_t align = aligns[_i];

	add(&n, align, NT_GNU_ABI_TAG, "GNU", "16 bytes of tags");
	add(&n, align, NT_GNU_BUILD_ID, "GNU", "an id of 20 bytes...");
	for (size_t len = 0; len < n.len; len++) {
		uint8_t *copy = exact(n.bytes, len);

		must(!slurm_build_note(copy, len, align, &id));
		free(copy);
	}
	for (size_t at = 0; at < 8; at++) {
		uint8_t *copy = exact(n.bytes, n.len);

		copy[at] = 0xff;
		slurm_build_note(copy, n.len, align, &id);
		memset(copy + at / 4 * 4, 0xff, 4);
		must(!slurm_build_note(copy, n.len, align, &id));
		free(copy);
	}
}
END_TEST

/* This test is linked with what configure has found. */
START_TEST(test_here)
{
	must(!slurm_build_refusal());
	must(strstr(slurm_build_describe(), STORM_SLURM_REVISION));
	must(strstr(slurm_build_describe(), STORM_SLURM_BUILD_ID));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("slurm_build");
	TCase *t = tcase_create("slurm_build");

	tcase_add_loop_test(t, test_found, 0, 2);
	tcase_add_loop_test(t, test_torn, 0, 2);
	tcase_add_test(t, test_here);
	suite_add_tcase(s, t);
	return unit_main(s);
}
