/*
 * srun_words.c - see srun_words.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <string.h>

#include "src/libstorm/base/minmax.h"
#include "srun_words.h"

#define SRUN_ERROR "srun: error: "

/* "srun: error: NODE: task 2: Killed", or "tasks 2-3: ..." */
static bool words_of_task(const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);

	if (!colon)
		return false;
	len -= (size_t) (colon - line);
	return (len > 7 && !strncmp(colon, ": task ", 7)) ||
	       (len > 8 && !strncmp(colon, ": tasks ", 8));
}

static bool words_are_error(const char *line, size_t len)
{
	const size_t head = strlen(SRUN_ERROR);

	return len > head && !strncmp(line, SRUN_ERROR, head) &&
	       !words_of_task(line + head, len - head);
}

bool srun_errors(const char *text, char *out, size_t size)
{
	size_t at = 0, len;

	*out = '\0';
	for (; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		if (!words_are_error(text, len))
			continue;
		if (at && at + 1 + len >= size)
			break;
		at += (size_t) snprintf(out + at, size - at, "%s%.*s",
					at ? "|" : "",
					(int) storm_min(len, size - 1 - at),
					text);
	}
	return at;
}

bool srun_has_lost(const char *errors)
{
	static const char *const words[] = { "launch for ", "launch failed",
					     "Node failure on ",
					     "Timed out waiting for job step" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(errors, words[i]))
			return true;
	return false;
}

void srun_last_words(const char *text, char *out, size_t size)
{
	size_t len = strlen(text);
	const char *from;

	while (len && text[len - 1] == '\n')
		len--;
	from = text + len - storm_min(len, size - 1);
	/* a line that begins before what fits is left out, unless it is all */
	if (from > text && from[-1] != '\n') {
		const char *next =
			memchr(from, '\n', (size_t) (text + len - from));

		from = next ? next + 1 : from;
	}
	len -= (size_t) (from - text);
	memcpy(out, from, len);
	out[len] = '\0';
	for (char *p = out; (p = strchr(p, '\n')); p++)
		*p = '|';
}
