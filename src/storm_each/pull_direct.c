/*
 * pull_direct.c - see pull_direct.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "pull_direct.h"

/* A word of others may be more than itself: a pattern, a quote, a variable, a list of
 * commands.  '=' may make an assignment, '~' is a directory, '{' a list. */
#define PULL_PLAIN                                                             \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+," \
	":@%"
#define PULL_BLANK " \t"

static const char *const pull_own_words[] = {
	".",	    ":",       "alias",	   "bg",     "bind",	  "break",
	"builtin",  "caller",  "case",	   "cd",     "command",	  "compgen",
	"complete", "compopt", "continue", "coproc", "declare",	  "dirs",
	"disown",   "do",      "done",	   "echo",   "elif",	  "else",
	"enable",   "esac",    "eval",	   "exec",   "exit",	  "export",
	"fc",	    "fg",      "fi",	   "for",    "function",  "getopts",
	"hash",	    "help",    "history",  "if",     "in",	  "jobs",
	"kill",	    "let",     "local",	   "logout", "mapfile",	  "popd",
	"printf",   "pushd",   "pwd",	   "read",   "readarray", "readonly",
	"return",   "select",  "set",	   "shift",  "shopt",	  "source",
	"suspend",  "test",    "then",	   "time",   "times",	  "trap",
	"type",	    "typeset", "ulimit",   "umask",  "unalias",	  "unset",
	"until",    "wait",    "while",
};

static bool pull_is_own_word(const char *word)
{
	for (size_t k = 0; k < sizeof(pull_own_words) / sizeof(char *); k++)
		if (!strcmp(word, pull_own_words[k]))
			return true;
	return false;
}

bool pull_direct_shell(const char *shell, char *const *env)
{
	const char *slash = strrchr(shell, '/');
	const char *name = slash ? slash + 1 : shell;

	if (strcmp(name, "sh") && strcmp(name, "dash") && strcmp(name, "bash"))
		return false;
	for (; *env; env++)
		/* functions, and a file of more of them */
		if (!strncmp(*env, "BASH_FUNC_", 10) ||
		    !strncmp(*env, "BASH_ENV=", 9))
			return false;
	return true;
}

char **pull_direct(const char *text)
{
	size_t len = strlen(text), words = 0, at = 0;
	char **out, *copy;

	if (strspn(text, PULL_PLAIN PULL_BLANK) != len)
		return NULL;
	/* a word has a character and a blank at least */
	out = malloc((len / 2 + 2) * sizeof(*out) + len + 1);
	if (!out)
		return NULL;
	copy = (char *) (out + len / 2 + 2);
	memcpy(copy, text, len + 1);
	while (copy[at += strspn(copy + at, PULL_BLANK)]) {
		out[words++] = copy + at;
		at += strcspn(copy + at, PULL_BLANK);
		if (copy[at])
			copy[at++] = '\0';
	}
	out[words] = NULL;
	if (words && !pull_is_own_word(out[0]))
		return out;
	free(out);
	return NULL;
}
