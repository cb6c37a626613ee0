/*
 * slurm_conf_kept.c - see slurm_conf_kept.h.
 *
 * Slurm ends a process that cannot parse slurm.conf, and so a child tries first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "child_limit.h"
#include "slurm_conf_kept.h"
#include "whole_file.h"

#define KEPT "slurm_conf"
#define INCLUDE "include"
#define LIMIT 4 /* s: slurm.conf's file system may not answer */

/* 0: it can be read.  EBADMSG: it cannot, and what the child says is shown, because
 * this process says the same.  ETIMEDOUT: there was no end within LIMIT.  Another one:
 * there was no child. */
static int slurm_conf_try(void)
{
	int said = memfd_create("slurm.conf", MFD_CLOEXEC), status = -1, err;
	pid_t pid = fork();
	bool late = false;
	off_t from = 0;

	err = pid < 0 ? errno : 0;
	if (!pid) {
		if (said >= 0)
			dup2(said, STDERR_FILENO);
		_exit(slurm_conf_init(NULL) != SLURM_SUCCESS);
	}
	if (pid > 0)
		status = child_limit(pid, LIMIT * 1000, &late);
	while (status && said >= 0 &&
	       sendfile(STDERR_FILENO, said, &from, 65536) > 0)
		;
	if (said >= 0)
		close(said);
	return err ? err : !status ? 0 : late ? ETIMEDOUT : EBADMSG;
}

static void slurm_conf_tell_kept(int err)
{
	if (err == ETIMEDOUT)
		error("slurm.conf does not come within %d s, and the last one that could be read counts until the next start: is its file system slow, or does it hang?",
		      LIMIT);
	else if (err == EBADMSG)
		error("slurm.conf cannot be read, and the last one that could counts until the next start: correct it");
	else
		error("no process could be started to try slurm.conf, and the last one that could be read counts until the next start: %s",
		      strerror(err));
}

/* The file as it can be read from another directory. */
static char *slurm_conf_text(const char *path)
{
	const char *slash = strrchr(path, '/');
	int dir = slash ? (int) (slash + 1 - path) : 0;
	FILE *in = fopen(path, "re"), *out;
	char *line = NULL, *text = NULL, *name;
	size_t room = 0, size;

	if (!in)
		return NULL;
	out = open_memstream(&text, &size);
	while (out && getline(&line, &room, in) > 0) {
		name = line + strlen(INCLUDE);
		if (!strncasecmp(line, INCLUDE, strlen(INCLUDE)) &&
		    isspace((unsigned char) *name) &&
		    *(name += strspn(name, " \t")) != '/')
			fprintf(out, INCLUDE " %.*s%s", dir, path, name);
		else
			fputs(line, out);
	}
	free(line);
	fclose(in);
	if (out && fclose(out)) {
		free(text);
		text = NULL;
	}
	return text;
}

char *slurm_conf_kept_init(const char *dir)
{
	char *path = xstrdup(getenv("SLURM_CONF")), *kept, *text = NULL;
	int err;

	if (!path) {
		slurm_conf_init(NULL);
		return NULL;
	}
	kept = xstrdup_printf("%s/" KEPT, dir);
	err = slurm_conf_try();
	if (!err) {
		/* between the two: what is kept was good */
		text = slurm_conf_text(path);
		slurm_conf_init(NULL);
	} else {
		setenv("SLURM_CONF", kept, 1);
		if (access(kept, R_OK) || slurm_conf_try())
			setenv("SLURM_CONF", path, 1);
		else
			slurm_conf_tell_kept(err);
		slurm_conf_init(NULL);
		/* the other files are where they were */
		setenv("SLURM_CONF", path, 1);
		xfree(slurm_conf.slurm_conf);
		slurm_conf.slurm_conf = path;
		path = NULL;
	}
	xfree(path);
	xfree(kept);
	return text;
}

void slurm_conf_kept_save(const char *dir, char *text)
{
	int err = text ? whole_file_write(dir, KEPT, text, strlen(text)) : 0;

	if (err)
		info("warning: storm: cannot keep a copy of slurm.conf in %s: %s: a wrong line would count at the next start",
		     dir, strerror(err));
	free(text);
}
