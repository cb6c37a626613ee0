/*
 * check_image.c - see check_image.h.  The file is not loaded: its symbols are
 * those of a program of Slurm, and its constructors would run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_image.h"
#include "src/storm_common/slurm_build.h"

struct image {
	const char *at;
	size_t len;
};

/* size bytes of the file at `from`, or NULL: it is shorter. */
static const void *image_part(const struct image *f, uint64_t from,
			      uint64_t size)
{
	return from <= f->len && size <= f->len - from ? f->at + from : NULL;
}

static const ElfW(Shdr) * image_section(const struct image *f, uint32_t n)
{
	const ElfW(Ehdr) *e = image_part(f, 0, sizeof(*e));

	return e && n < e->e_shnum ?
		       image_part(f, e->e_shoff + n * sizeof(ElfW(Shdr)),
				  sizeof(ElfW(Shdr))) :
		       NULL;
}

static bool image_is_elf(const struct image *f)
{
	const ElfW(Ehdr) *e = image_part(f, 0, sizeof(*e));

	return e && !memcmp(e->e_ident, ELFMAG, SELFMAG) &&
	       e->e_shentsize == sizeof(ElfW(Shdr)) &&
	       e->e_ident[EI_CLASS] ==
		       (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
}

static const ElfW(Shdr) * image_named(const struct image *f, const char *name)
{
	const ElfW(Ehdr) *e = image_part(f, 0, sizeof(*e));
	const ElfW(Shdr) *names = image_section(f, e->e_shstrndx), *s;
	size_t size = strlen(name) + 1;

	for (uint32_t i = 0; names && (s = image_section(f, i)); i++) {
		const char *its =
			image_part(f, names->sh_offset + s->sh_name, size);

		if (its && !memcmp(its, name, size))
			return s;
	}
	return NULL;
}

/* The number that a symbol names, by the section that it is in. */
static const uint32_t *image_number(const struct image *f,
				    const ElfW(Sym) * sym)
{
	const ElfW(Shdr) *in = image_section(f, sym->st_shndx);

	return in && sym->st_value >= in->sh_addr ?
		       image_part(f,
				  sym->st_value - in->sh_addr + in->sh_offset,
				  sizeof(uint32_t)) :
		       NULL;
}

static const uint32_t *image_find_in(const struct image *f,
				     const ElfW(Shdr) * table, const char *name)
{
	const ElfW(Shdr) *strings = image_section(f, table->sh_link);
	const ElfW(Sym) *sym = image_part(f, table->sh_offset, table->sh_size);
	size_t size = strlen(name) + 1;

	for (size_t i = 0; sym && strings && i < table->sh_size / sizeof(*sym);
	     i++) {
		const char *its = image_part(
			f, strings->sh_offset + sym[i].st_name, size);

		if (its && !memcmp(its, name, size))
			return image_number(f, &sym[i]);
	}
	return NULL;
}

static const uint32_t *image_find(const struct image *f, const char *name)
{
	const ElfW(Shdr) * s;

	for (uint32_t i = 0; (s = image_section(f, i)); i++)
		if (s->sh_type == SHT_DYNSYM)
			return image_find_in(f, s, name);
	return NULL;
}

/* The file stays mapped until the end of this process.  -1: errno is set, 0 if it is
 * no program or library for this machine. */
static int image_open(struct image *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -1;
	f->len = st.st_size;
	f->at = f->len ? mmap(NULL, f->len, PROT_READ, MAP_PRIVATE, fd, 0) :
			 MAP_FAILED;
	close(fd);
	errno = 0;
	return f->at != MAP_FAILED && image_is_elf(f) ? 0 : -1;
}

int image_plugin_version(const char *path, char *out, size_t size)
{
	const uint32_t *version = NULL;
	struct image f;
	uint32_t n;

	if (!image_open(&f, path)) {
		version = image_find(&f, "plugin_version");
	} else if (errno) {
		snprintf(out, size, "%s", strerror(errno));
		return 1;
	}
	if (!version) {
		snprintf(out, size, "no plugin of Slurm's for this machine");
		return 1;
	}
	memcpy(&n, version, sizeof(n)); /* it may be unaligned */
	snprintf(out, size, "%02u.%02u.%u", n >> 16, n >> 8 & 0xff, n & 0xff);
	return 0;
}

int image_record(const char *path, char *revision, char *id, size_t size)
{
	const ElfW(Shdr) * s;
	struct image f;
	const char *text, *line;

	if (image_open(&f, path) || !(s = image_named(&f, SLURM_BUILD_SECTION)))
		return 1;
	text = image_part(&f, s->sh_offset, s->sh_size);
	if (!text || !s->sh_size || text[s->sh_size - 1] ||
	    !(line = strchr(text, '\n')))
		return 1;
	snprintf(revision, size, "%.*s", (int) (line - text), text);
	snprintf(id, size, "%s", line + 1);
	return 0;
}

int image_build_id(const char *path, char *out, size_t size)
{
	const size_t before = sizeof(ElfW(Nhdr)) + sizeof(ELF_NOTE_GNU);
	const ElfW(Shdr) * s;
	const ElfW(Nhdr) * note;
	const uint8_t *id;
	struct image f;

	if (image_open(&f, path) ||
	    !(s = image_named(&f, ".note.gnu.build-id")))
		return 1;
	note = image_part(&f, s->sh_offset, sizeof(*note));
	id = note ? image_part(&f, s->sh_offset + before, note->n_descsz) :
		    NULL;
	if (!id || 2 * (size_t) note->n_descsz >= size)
		return 1;
	for (size_t i = 0; i < note->n_descsz; i++)
		snprintf(out + 2 * i, size - 2 * i, "%02x", id[i]);
	return 0;
}
