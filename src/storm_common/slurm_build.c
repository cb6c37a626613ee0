/*
 * slurm_build.c - whether the Slurm that runs is the one STORM was built for:
 * see slurm_build.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "slurm/slurm.h"
#include "storm_config.h"

#include "slurm_build.h"

#define LIBRARY "libslurmfull.so"
#define ID_MAX 64		       /* bytes; GNU ld's have 20 */
#define BUILD_ID_TEXT (2 * ID_MAX + 1) /* in hex */

/* In a section of its own, where storm check finds it in the file. */
#define RECORD __attribute__((used, section(SLURM_BUILD_SECTION)))
static const char record[] RECORD = STORM_SLURM_REVISION
	"\n" STORM_SLURM_BUILD_ID;

/* The compiler must read it there, and not put its bytes into code: a test changes
 * the file. */
static const char *const volatile recorded =
	record + sizeof(STORM_SLURM_REVISION);

/* Found once. */
static struct {
	pthread_once_t once;
	char id[BUILD_ID_TEXT]; /* of the library here */
	char refusal[512];
	char described[512];
} here = { .once = PTHREAD_ONCE_INIT };

size_t slurm_build_note(const uint8_t *notes, size_t len, size_t align,
			const uint8_t **id)
{
	while (len >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) head;
		size_t name, desc, at, next;

		memcpy(&head, notes, sizeof(head));
		name = head.n_namesz;
		desc = head.n_descsz;
		at = (sizeof(head) + name + align - 1) / align * align;
		if (name > len || at > len || desc > len - at)
			return 0;
		if (head.n_type == NT_GNU_BUILD_ID &&
		    name == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes + sizeof(head), ELF_NOTE_GNU, name)) {
			*id = notes + at;
			return desc;
		}
		next = (at + desc + align - 1) / align * align;
		if (next > len)
			return 0;
		notes += next;
		len -= next;
	}
	return 0;
}

static bool slurm_build_is_library(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && !strncmp(slash + 1, LIBRARY, strlen(LIBRARY));
}

/* For dl_iterate_phdr(): writes the build-id of libslurmfull.so. */
static int slurm_build_look(struct dl_phdr_info *info, size_t size, void *arg)
{
	char(*out)[BUILD_ID_TEXT] = arg;

	(void) size;
	if (!slurm_build_is_library(info->dlpi_name))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = info->dlpi_phdr + i;
		const uint8_t *id;
		size_t n;

		if (p->p_type != PT_NOTE)
			continue;
		n = slurm_build_note((const uint8_t *) info->dlpi_addr +
					     p->p_vaddr,
				     p->p_memsz, p->p_align == 8 ? 8 : 4, &id);
		for (size_t k = 0; k < n && n <= ID_MAX; k++)
			snprintf(*out + 2 * k, sizeof(*out) - 2 * k, "%02x",
				 id[k]);
		if (n)
			break;
	}
	return 1;
}

/* What the library is to be called in messages. */
static const char *slurm_build_name(const char *id)
{
	return id[0] ? id : "without a build-id";
}

static void slurm_build_find(void)
{
	const char *built = slurm_build_name(recorded), *is;
	bool same;

	dl_iterate_phdr(slurm_build_look, &here.id);
	is = slurm_build_name(here.id);
	/* a library without a build-id is known by its release alone */
	same = !strcmp(is, built) && slurm_api_version() == SLURM_API_VERSION;
	if (!same)
		snprintf(
			here.refusal, sizeof(here.refusal),
			"this host's libslurmfull.so is %s, but STORM was built for that of Slurm %s, %s: install STORM for this Slurm, or build it again",
			is, STORM_SLURM_REVISION, built);
	snprintf(
		here.described, sizeof(here.described),
		"built for Slurm %s, libslurmfull.so %s\n%s here: libslurmfull.so %s",
		STORM_SLURM_REVISION, built, same ? "the same" : "ANOTHER", is);
}

const char *slurm_build_refusal(void)
{
	pthread_once(&here.once, slurm_build_find);
	return here.refusal[0] ? here.refusal : NULL;
}

const char *slurm_build_describe(void)
{
	pthread_once(&here.once, slurm_build_find);
	return here.described;
}
