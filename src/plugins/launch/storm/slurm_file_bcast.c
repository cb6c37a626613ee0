/*
 * slurm_file_bcast.c - Slurm's own file_bcast.c, compiled unmodified from the
 * tree that configure was given, with its messages sent to bcast.c.
 *
 * It maps the source, and copies or compresses block after block of the map.  A
 * file that becomes shorter, or whose disk fails, would end the process by SIGBUS.
 * So nothing is mapped here: `src` is a place that stands for the begin of the
 * file, and what is to be copied from there is read.
 *
 * srun has global variables of the same names (src, fd, ...).  The plugin's
 * objects are built with hidden visibility, so it uses these.
 *
 * This file and bcast.c call each other by intent: bcast.c calls Slurm's
 * bcast_file(), which sends each block through bcast.c, which gets the source
 * from here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bcast.h"
#include "src/common/log.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

static struct {
	char path[PATH_MAX];
	char begin;
	bool failed; /* it could not be read, which was logged */
} source;

static int stock_bcast_open(const char *path, int flags)
{
	snprintf(source.path, sizeof(source.path), "%s", path);
	source.failed = false;
	return open(path, flags);
}

static void *stock_bcast_no_map(const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return &source.begin;
	errno = ENODEV; /* as of a directory */
	return MAP_FAILED;
}

static void stock_bcast_read(void *to, const void *from, size_t len);
#ifdef SLURM_FILE_BCAST_BY_PLUGIN
static ssize_t stock_bcast_block(int type, char **from, ssize_t size, char **to,
				 ssize_t room, ssize_t *left);
#endif

/* Slurm logs a line for each node, also of a failure that was logged with its
 * reason and all nodes. */
#define error(...)                                       \
	do {                                             \
		if (storm_bcast_told() || source.failed) \
			verbose(__VA_ARGS__);            \
		else                                     \
			error(__VA_ARGS__);              \
	} while (0)
#define slurm_send_recv_msgs storm_bcast_send
#define bcast_file stock_bcast_file
#define bcast_decompress_data stock_bcast_decompress_data
#define open(path, flags) stock_bcast_open(path, flags)
#define mmap(...) stock_bcast_no_map(&f_stat)
#define memcpy(to, from, len) stock_bcast_read(to, from, len)
#define compress_g_comp_block stock_bcast_block

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpointer-arith"
#include SLURM_FILE_BCAST_C
#pragma GCC diagnostic pop

#undef error
#undef compress_g_comp_block

void stock_bcast_source_error(int sys)
{
	error("storm: %s: %s", source.path,
	      sys ? strerror(sys) : "it became shorter while it was sent");
}

bool stock_bcast_source_failed(void)
{
	return source.failed;
}

/* What STORM sends it reads itself.  But it sends no block that Slurm's own
 * broadcast has to: the first, before that is known, and all of a fallback. */
static void stock_bcast_read(void *to, const void *from, size_t len)
{
	off_t off = (const char *) from - (const char *) src;

	if (storm_bcast_sends() || source.failed)
		return;
	while (len) {
		ssize_t n = pread(fd, to, len, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			source.failed = true;
			stock_bcast_source_error(n ? errno : 0);
			return;
		}
		to = (char *) to + n;
		off += n;
		len -= (size_t) n;
	}
}

#ifdef SLURM_FILE_BCAST_BY_PLUGIN
/* The plugin takes at most ten times as much as a block has room for. */
static ssize_t stock_bcast_block(int type, char **from, ssize_t size, char **to,
				 ssize_t room, ssize_t *left)
{
	ssize_t most = type == COMPRESS_OFF ? room : room * 10, n, rest = 0;
	char *read, *at;

	n = most = MIN(most, *left);
	if (!storm_bcast_sends()) {
		rest = most;
		read = at = xmalloc(most);
		stock_bcast_read(read, *from, most);
		n = compress_g_comp_block(type, &at, size, to, room, &rest);
		xfree(read);
	}
	*from += most - rest;
	*left -= most - rest;
	return n;
}
#endif

int stock_bcast_fd(void)
{
	return fd;
}

uint64_t stock_bcast_size(void)
{
	return f_stat.st_size;
}

sbcast_cred_t *stock_bcast_cred(void)
{
	return sbcast_cred->sbcast_cred;
}

uint32_t stock_bcast_job(void)
{
	return file_bcast_job(sbcast_cred);
}
