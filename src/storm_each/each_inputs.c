/*
 * each_inputs.c - see each_inputs.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "each_inputs.h"

static bool inputs_add(struct each_options *o, const struct each_input *input)
{
	struct each_input *more =
		reallocarray(o->inputs, o->input_count + 1, sizeof(*more));

	if (!more) {
		run_say("no memory");
		return false;
	}
	o->inputs = more;
	more[o->input_count++] = *input;
	return true;
}

bool each_inputs_file(struct each_parsing *p, const char *path)
{
	char **word = malloc(sizeof(*word));

	if (!word) {
		run_say("no memory");
		return false;
	}
	*word = (char *) path;
	if (inputs_add(p->o, &(struct each_input) { .files = true,
						    .words = word,
						    .count = 1 }))
		return true;
	free(word);
	return false;
}

/* Is the word a separator, with a plus behind it or without? */
static bool is_separator(const char *word, const char *separator, bool *linked)
{
	size_t len = strlen(separator);

	if (strncmp(word, separator, len) != 0)
		return false;
	*linked = word[len] == '+' && !word[len + 1];
	return *linked || !word[len];
}

static bool inputs_begin(const struct each_parsing *p, const char *word,
			 struct each_input *out)
{
	*out = (struct each_input) { 0 };
	if (is_separator(word, p->arg_sep, &out->linked))
		return true;
	out->files = true;
	return is_separator(word, p->file_sep, &out->linked);
}

bool each_inputs_split(struct each_parsing *p, char **words)
{
	struct each_input next, input = { 0 };
	size_t at = 0;

	while (words[at] && !inputs_begin(p, words[at], &input))
		at++;
	p->o->command = words;
	p->o->command_words = at;
	while (words[at]) {
		input.words = words + ++at;
		while (words[at] && !inputs_begin(p, words[at], &next))
			at++;
		input.count = (size_t) (words + at - input.words);
		if (!inputs_add(p->o, &input))
			return false;
		input = next;
	}
	return true;
}
