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

void child_log_wanted(enum storm_conf_log wanted, uint16_t daemon)
{
	static const log_level_t levels[] = {
		[CONF_LOG_ERROR] = LOG_LEVEL_ERROR,
		[CONF_LOG_INFO] = LOG_LEVEL_INFO,
		[CONF_LOG_DEBUG] = LOG_LEVEL_DEBUG,
	};
	log_options_t opts = LOG_OPTS_STDERR_ONLY;

	if (wanted != CONF_LOG_SLURM)
		opts.stderr_level = levels[wanted];
	else if (daemon > LOG_LEVEL_INFO)
		opts.stderr_level = daemon;
	log_alter(opts, 0, NULL);
}

void child_log_start(struct child_log *l)
{
	l->before = l->now;
	l->now.count = 0;
	l->serves = false;
}

void child_log_serves(struct child_log *l)
{
	l->before.count = l->now.count = 0;
	l->serves = true;
}

bool child_log_again(struct child_log *l, const char *text)
{
	uint32_t hash = 2166136261; /* FNV-1a */

	if (l->serves)
		return false;
	for (const char *p = text; *p; p++)
		hash = (hash ^ (uint8_t) *p) * 16777619;
	if (l->now.count < sizeof(l->now.hash) / sizeof(l->now.hash[0]))
		l->now.hash[l->now.count++] = hash;
	for (unsigned i = 0; i < l->before.count; i++)
		if (l->before.hash[i] == hash)
			return true;
	return false;
}

static void child_log_error(struct child_log *l, const char *name,
			    const char *text)
{
	if (child_log_again(l, text))
		verbose("%s: %s", name, text);
	else
		error("%s: %s", name, text);
}

static void child_log_line(struct child_log *l, const char *name)
{
	size_t n = strlen(name);
	const char *s = l->line, *text;

	if (!strncmp(s, name, n) && !strncmp(s + n, ": ", 2))
		s += n + 2;
	if (!strncmp(s, "error: ", 7) || !strncmp(s, "fatal: ", 7))
		child_log_error(l, name, s + 7);
	else if (!strncmp(s, "debug", 5) && (text = strchr(s, ':')) &&
		 !(l->all && get_log_level() < LOG_LEVEL_DEBUG))
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
			child_log_line(l, name);
		}
	}
}
