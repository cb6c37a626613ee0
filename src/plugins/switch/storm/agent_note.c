/*
 * agent_note.c - the note that an agent leaves for the one after it, of the cluster
 * domain that it is in: STORM_RUNDIR/NODE/domain.  It holds the domain's key and is
 * for the super-user's eyes only, who has MUNGE's key anyway.  It does not outlive
 * the host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "agent.h"
#include "src/libstorm/clock.h"

#define NOTE "domain"

static int _path(const struct agent *a, const char *prefix, char out[PATH_MAX])
{
	int n = snprintf(out, PATH_MAX, "%s/%s/%s" NOTE, STORM_RUNDIR, a->node,
			 prefix);

	return n < 0 || n >= PATH_MAX ? ENAMETOOLONG : 0;
}

static int _write(const char *path, const void *buf, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
		      O_NOFOLLOW, 0600), err;
	ssize_t n;

	if (fd < 0)
		return errno;
	n = write(fd, buf, len);
	err = n < 0 ? errno : (size_t) n < len ? ENOSPC : 0;
	close(fd);
	return err;
}

void agent_note_keep(struct agent *a, uint64_t session)
{
	static uint8_t kept[STORM_NOTE_MAX];
	static size_t kept_len;
	uint8_t note[STORM_NOTE_MAX];
	char path[PATH_MAX], new[PATH_MAX];
	size_t len = storm_nm_note(a->nm, session, note);
	int err;

	if (!len || (len == kept_len && !memcmp(note, kept, len)))
		return;
	err = _path(a, "", path);
	if (!err)
		err = _path(a, ".", new);
	if (!err)
		err = _write(new, note, len);
	if (!err && rename(new, path))
		err = errno;
	if (err) {
		info("gang: no note for the next agent: %s", strerror(err));
		return;
	}
	memcpy(kept, note, len);
	kept_len = len;
}

void agent_note_find(struct agent *a)
{
	uint8_t note[STORM_NOTE_MAX];
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	if (_path(a, "", path))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	n = read(fd, note, sizeof(note));
	close(fd);
	if (n > 0 && storm_nm_return(a->nm, note, n, storm_now()))
		debug("the note of the agent before is of no use");
}

void agent_note_forget(const struct agent *a)
{
	char path[PATH_MAX];

	if (!_path(a, "", path))
		unlink(path);
}
