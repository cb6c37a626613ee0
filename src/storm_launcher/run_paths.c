/*
 * run_paths.c - see run_paths.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "run_paths.h"

#define WIDTH_MAX 10
#define DIGITS "0123456789"

/* Behind a %: the letter of what is meant, after a width. */
static char run_path_letter(const char *percent, int *width, size_t *len)
{
	size_t digits = strspn(percent + 1, DIGITS);
	unsigned long w = digits ? strtoul(percent + 1, NULL, 10) : 0;

	*width = w > WIDTH_MAX ? WIDTH_MAX : (int) w;
	*len = 1 + digits + (percent[1 + digits] != '\0');
	return percent[1 + digits];
}

bool run_path_has(const char *text, const char *letters)
{
	int width;
	size_t len;

	if (strchr(text, '\\'))
		return false;
	for (; (text = strchr(text, '%')); text += len) {
		char letter = run_path_letter(text, &width, &len);

		if (letter && strchr(letters, letter))
			return true;
	}
	return false;
}

enum run_stream run_stream_of(const char *text, uint32_t *task)
{
	if (!*text || !strcasecmp(text, "all") || !strcmp(text, "-"))
		return RUN_CLIENTS;
	if (!strcasecmp(text, "none"))
		return RUN_NOTHING;
	if (strlen(text) < 10 && strspn(text, DIGITS) == strlen(text)) {
		*task = (uint32_t) strtoul(text, NULL, 10);
		return RUN_ONE_TASK;
	}
	return run_path_has(text, "tnNu") ? RUN_MANY_FILES : RUN_ONE_FILE;
}

struct run_path_to {
	char *out;
	size_t size, len;
};

__attribute__((format(printf, 2, 3))) static void
run_path_add(struct run_path_to *to, const char *fmt, ...)
{
	bool fits = to->len < to->size;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(fits ? to->out + to->len : NULL,
		      fits ? to->size - to->len : 0, fmt, ap);
	va_end(ap);
	to->len += n > 0 ? (size_t) n : 0;
}

/* A number that is text, with zeros before it. */
static void run_path_number(struct run_path_to *to, const char *text, int width)
{
	if (!text)
		text = "4294967294"; /* as srun has it where there is none */
	for (int k = (int) strlen(text); k < width; k++)
		run_path_add(to, "0");
	run_path_add(to, "%s", text);
}

static void run_path_text(struct run_path_to *to, const char *text)
{
	run_path_add(to, "%s", text ? text : "");
}

static void run_path_run(struct run_path_to *to, const struct run_path_of *of)
{
	run_path_add(to, "%s.%llu", of->step ? of->step : "0",
		     (unsigned long long) of->run);
}

/* False: this letter has no meaning. */
static bool run_path_meaning(struct run_path_to *to, char letter, int width,
			     const struct run_path_of *of)
{
	switch (letter) {
	case '%':
		run_path_add(to, "%%");
		return true;
	case 'j':
		run_path_number(to, of->job, width);
		return true;
	case 'J':
		run_path_number(to, of->job, width);
		run_path_add(to, ".");
		run_path_run(to, of);
		return true;
	case 's':
		run_path_run(to, of);
		return true;
	case 'A':
		run_path_number(to, of->array_job ? of->array_job : of->job,
				width);
		return true;
	case 'a':
		run_path_number(to, of->array_task, width);
		return true;
	case 'x':
		run_path_text(to, of->job_name);
		return true;
	case 'u':
		run_path_text(to, of->user);
		return true;
	case 'N':
		run_path_text(to, of->node);
		return true;
	case 'n':
		run_path_add(to, "%0*u", width, of->nth);
		return true;
	case 't':
		run_path_add(to, "%0*u", width, of->task);
		return true;
	default:
		return false;
	}
}

/* With a backslash nothing in it has a meaning, and no backslash stays. */
static void run_path_plain(struct run_path_to *to, const char *text)
{
	for (; *text; text++)
		if (*text != '\\')
			run_path_add(to, "%c", *text);
}

bool run_path(char *out, size_t size, const char *text,
	      const struct run_path_of *of)
{
	struct run_path_to to = { out, size, 0 };
	size_t len;
	int width;

	if (strchr(text, '\\')) {
		run_path_plain(&to, text);
		return to.len < size;
	}
	for (; *text; text += len) {
		char letter;

		len = strcspn(text, "%");
		if (len) {
			run_path_add(&to, "%.*s", (int) len, text);
			continue;
		}
		letter = run_path_letter(text, &width, &len);
		if (!run_path_meaning(&to, letter, width, of))
			run_path_add(&to, "%.*s", (int) len, text);
	}
	return to.len < size;
}
