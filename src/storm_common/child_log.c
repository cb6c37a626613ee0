/*
 * child_log.c - pass a child's log on: see child_log.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "child_log.h"

void child_log(enum storm_log_level level, const char *msg)
{
	switch (level) {
	case STORM_LOG_ERROR:
		error("%s", msg);
		break;
	case STORM_LOG_WARN:
	case STORM_LOG_INFO:
		info("%s", msg);
		break;
	case STORM_LOG_DEBUG:
		debug("%s", msg);
		break;
	}
}

static void child_log_line(const char *s, const char *name)
{
	size_t n = strlen(name);
	const char *text;

	if (!strncmp(s, name, n) && !strncmp(s + n, ": ", 2))
		s += n + 2;
	if (!strncmp(s, "error: ", 7) || !strncmp(s, "fatal: ", 7))
		error("%s: %s", name, s + 7);
	else if (!strncmp(s, "debug", 5) && (text = strchr(s, ':')))
		debug("%s: %s", name, text + 1 + strspn(text + 1, " "));
	else if (*s)
		info("%s: %s", name, s);
}

void child_log_drain(struct child_log *l, int fd, const char *name)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] != '\n' && l->len < sizeof(l->line) - 1) {
				l->line[l->len++] = buf[i];
				continue;
			}
			l->line[l->len] = '\0';
			l->len = 0;
			child_log_line(l->line, name);
		}
	}
}
