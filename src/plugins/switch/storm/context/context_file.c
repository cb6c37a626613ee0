/*
 * context_file.c - see context_file.h.
 *
 * Records of RECORD bytes.  The first one names the format; record n is of id
 * n.  Integers in network byte order, then zeroes:
 *
 *	u32 id, u32 job, u32 step, u32 group, u64 parts 0 to 63, u64 parts 64 to
 *	127, u8 closed, u64 serial, u8[32] key, u64 checksum of all this
 *
 * A record lies within one page, so a kill never leaves half of one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context_file.h"
#include "src/libstorm/wire/wire.h"
#include "src/storm_common/whole_file.h"

#define RECORD 128
#define AT_ONCE 512 /* records that are read with one call */
#define HEAD "STORM network contexts 2\n"

static void context_file_pack(const struct context_lease *l,
			      uint8_t buf[static RECORD])
{
	struct storm_out o = { buf, buf + RECORD, false };

	memset(buf, 0, RECORD);
	storm_put32(&o, l->id);
	storm_put32(&o, l->job);
	storm_put32(&o, l->step);
	storm_put32(&o, l->group);
	storm_put64(&o, l->held[0]);
	storm_put64(&o, l->held[1]);
	storm_put8(&o, l->closed);
	storm_put64(&o, l->serial);
	storm_put(&o, l->key, CONTEXT_KEY_LEN);
	storm_put64(&o, whole_file_sum(buf, (size_t) (o.p - buf)));
}

static bool context_file_unpack(const uint8_t *buf, struct context_lease *l)
{
	struct storm_in i = { buf, buf + RECORD, false };
	uint64_t sum;

	l->id = storm_get32(&i);
	l->job = storm_get32(&i);
	l->step = storm_get32(&i);
	l->group = storm_get32(&i);
	l->held[0] = storm_get64(&i);
	l->held[1] = storm_get64(&i);
	l->closed = storm_get8(&i);
	l->serial = storm_get64(&i);
	memcpy(l->key, storm_get(&i, CONTEXT_KEY_LEN), CONTEXT_KEY_LEN);
	sum = whole_file_sum(buf, (size_t) (i.p - buf));
	return storm_get64(&i) == sum;
}

static bool context_file_is_empty(const uint8_t *buf)
{
	static const uint8_t zeroes[RECORD];

	return !memcmp(buf, zeroes, RECORD);
}

static void context_file_load(const uint8_t *buf, size_t records,
			      uint32_t first, struct context_table *t,
			      uint32_t *damaged)
{
	for (uint32_t n = 0; n < records; n++, buf += RECORD) {
		struct context_lease l;

		if (context_file_is_empty(buf)) /* a hole: never leased */
			continue;
		if (!context_file_unpack(buf, &l) || l.id != first + n ||
		    context_table_load(t, &l))
			++*damaged;
	}
}

static bool context_file_head_right(int fd)
{
	uint8_t is[RECORD], shall[RECORD] = HEAD;

	return pread(fd, is, sizeof(is), 0) == RECORD &&
	       !memcmp(is, shall, RECORD);
}

/* Replace a file of another format: it has no usable lease. */
static int context_file_begin(int fd)
{
	uint8_t head[RECORD] = HEAD;

	if (ftruncate(fd, 0) || pwrite(fd, head, RECORD, 0) != RECORD)
		return -1;
	return 0;
}

static int context_file_load_all(int fd, struct context_table *t,
				 uint32_t *damaged)
{
	uint8_t buf[AT_ONCE * RECORD];
	uint32_t id = 1;
	ssize_t n;

	while ((n = pread(fd, buf, sizeof(buf), (off_t) id * RECORD)) > 0) {
		size_t records = (size_t) n / RECORD;

		*damaged += n % RECORD != 0; /* the last one is cut off */
		context_file_load(buf, records, id, t, damaged);
		if (n % RECORD)
			break;
		id += (uint32_t) records;
	}
	return n < 0 ? -1 : 0;
}

int context_file_open(const char *path, struct context_table *t,
		      uint32_t *damaged)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;
	int err;

	*damaged = 0;
	if (fd < 0)
		return -1;
	err = fstat(fd, &st);
	if (!err && !context_file_head_right(fd)) {
		*damaged = st.st_size != 0;
		err = context_file_begin(fd);
	}
	if (!err)
		err = context_file_load_all(fd, t, damaged);
	if (!err)
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

int context_file_put(int fd, const struct context_lease *l)
{
	uint8_t buf[RECORD];
	ssize_t n;

	context_file_pack(l, buf);
	n = pwrite(fd, buf, RECORD, (off_t) l->id * RECORD);
	if (n >= 0 && n != RECORD)
		errno = ENOSPC;
	return n == RECORD ? 0 : -1;
}
