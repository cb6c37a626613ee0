/*
 * agent_note.c - saves the cluster domain for the next agent, in
 * STORM_RUNDIR/NODE/domain.  The note holds the domain's key.  Only root can
 * read it, and root has MUNGE's key, too.  A reboot removes it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "agent_note.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/storm_agent/agent.h"
#include "src/storm_common/local/local.h"
#include "src/storm_common/whole_file.h"

#define NOTE "domain"

static int agent_note_dir(const struct agent *a, char (*out)[PATH_MAX])
{
	int n = snprintf(*out, sizeof(*out), "%s/%s", STORM_RUNDIR, a->node);

	return n < 0 || (size_t) n >= sizeof(*out) ? ENAMETOOLONG : 0;
}

void agent_note_keep(struct agent *a, uint64_t session)
{
	static uint8_t kept[STORM_NOTE_MAX];
	static size_t kept_len;
	uint8_t note[STORM_NOTE_MAX];
	char dir[PATH_MAX];
	size_t len = storm_nm_note(a->nm, session, note);
	int err;

	if (!len || (len == kept_len && !memcmp(note, kept, len)))
		return;
	err = agent_note_dir(a, &dir);
	if (!err)
		err = whole_file_save(dir, NOTE, note, len);
	if (err) {
		info("gang: cannot save the cluster domain for the next agent in %s/%s/" NOTE
		     ": %s",
		     STORM_RUNDIR, a->node, strerror(err));
		return;
	}
	memcpy(kept, note, len);
	kept_len = len;
}

void agent_note_find(struct agent *a)
{
	char dir[PATH_MAX], *note = NULL;
	size_t len = 0;
	int err = agent_note_dir(a, &dir);

	if (!err)
		err = whole_file_load(dir, NOTE, &note, &len);
	if (!err && storm_nm_return(a->nm, (uint8_t *) note, len, storm_now()))
		err = EBADMSG;
	if (err && err != ENOENT)
		info("gang: cannot use %s/%s/" NOTE
		     ", so this node waits until the strober finds it: %s",
		     STORM_RUNDIR, a->node, strerror(err));
	free(note);
}

void agent_note_forget(const struct agent *a)
{
	char dir[PATH_MAX];

	if (!agent_note_dir(a, &dir))
		whole_file_remove(dir, NOTE);
}
