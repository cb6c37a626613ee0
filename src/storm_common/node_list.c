/*
 * node_list.c - see node_list.h.
 *
 * The child writes a line "NAME ADDRESS" for each node, and then END.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/hostlist.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "child_limit.h"
#include "child_spawn.h"
#include "node_list.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/log_limit.h"

#define TO_PARENT 3
#define END "."
#define LIMIT 5 /* s: slurm.conf's file system may not answer */
#define BYTES_MAX (64 << 20)

/* ------------------------------------------------------------------ the child --- */

/* The next of a list.  The last one is for all that follow. */
static void node_list_next(struct hostlist *list, char **now)
{
	char *next = list ? hostlist_shift(list) : NULL;

	if (!next)
		return;
	free(*now);
	*now = next;
}

static void node_list_print(FILE *out, const slurm_conf_node_t *n)
{
	const char *where = n->bcast_addresses ? n->bcast_addresses :
			    n->addresses       ? n->addresses :
			    n->hostnames       ? n->hostnames :
						 n->nodenames;
	struct hostlist *names = hostlist_create(n->nodenames);
	struct hostlist *addrs = hostlist_create(where);
	char *name, *addr = NULL;

	while (names && (name = hostlist_shift(names))) {
		node_list_next(addrs, &addr);
		fprintf(out, "%s %s\n", name, addr ? addr : name);
		free(name);
	}
	free(addr);
	if (names)
		hostlist_destroy(names);
	if (addrs)
		hostlist_destroy(addrs);
}

void node_list_run(void)
{
	log_options_t opts = LOG_OPTS_STDERR_ONLY;
	FILE *out = fdopen(TO_PARENT, "w");
	slurm_conf_node_t **nodes;
	int n;

	log_init("slurm.conf", opts, 0, NULL);
	slurm_conf_init(NULL);
	n = slurm_conf_nodename_array(&nodes);
	for (int i = 0; out && i < n; i++)
		node_list_print(out, nodes[i]);
	exit(!out || fputs(END "\n", out) < 0 || fclose(out));
}

/* ----------------------------------------------------------------- the parent --- */

struct node_entry {
	const char *name, *address; /* in `text` */
};

static struct {
	pthread_mutex_t lock;
	char *text;		 /* NULL: there is no list */
	struct node_entry *node; /* in the order of their names */
	size_t nodes;
	pid_t left; /* a child that hangs; 0: none */
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int node_entry_compare(const void *a, const void *b)
{
	return strcmp(((const struct node_entry *) a)->name,
		      ((const struct node_entry *) b)->name);
}

/* Take the text, which is xmalloc()ed, if it is a whole list. */
static bool node_list_take(char *text)
{
	size_t lines = 0, n = 0, len = strlen(text);
	struct node_entry *node;
	char *line, *rest = NULL;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	if (len < 2 || strcmp(text + len - 2, END "\n") ||
	    (len > 2 && text[len - 3] != '\n'))
		return false;
	node = xcalloc(lines, sizeof(*node));
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *blank = strchr(line, ' ');

		if (!blank)
			break; /* END */
		*blank = 0;
		node[n++] = (struct node_entry) { line, blank + 1 };
	}
	qsort(node, n, sizeof(*node), node_entry_compare);
	pthread_mutex_lock(&table.lock);
	xfree(table.text);
	xfree(table.node);
	table.text = text;
	table.node = node;
	table.nodes = n;
	pthread_mutex_unlock(&table.lock);
	return true;
}

/* All that comes until the end, or NULL. */
static char *node_list_hear(int fd, uint64_t limit)
{
	size_t len = 0, room = 4096;
	char *text = xmalloc(room);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t now;
	ssize_t n = -1;

	while ((now = storm_now()) < limit && room < BYTES_MAX) {
		if (poll(&p, 1, (int) ((limit - now) / STORM_MS + 1)) < 1)
			continue;
		n = read(fd, text + len, room - len - 1);
		if (n <= 0)
			break;
		len += (size_t) n;
		text[len] = 0;
		if (room - len < 2) {
			room *= 2;
			xrealloc(text, room);
		}
		n = -1;
	}
	if (!n)
		return text;
	xfree(text);
	return NULL;
}

/* Wait for the child's end.  One that hangs in its file system stays: no other is
 * started meanwhile. */
static void node_list_bury(pid_t pid, uint64_t limit)
{
	uint64_t now = storm_now();

	if (child_limit(pid, now < limit ? (int) ((limit - now) / STORM_MS) : 0,
			NULL) < 0)
		table.left = pid;
}

/* The child's words, or NULL and why: EBADMSG, they are not whole; ETIMEDOUT, there
 * was no end within LIMIT; another errno, there was no child. */
static char *node_list_ask(int *why)
{
	char *argv[] = { "storm_nodes", "--nodes", NULL }, *text;
	uint64_t limit = storm_now() + LIMIT * STORM_SEC;
	int pair[2], to, rc;
	struct child_fds fds = { .in = -1, .log = STDERR_FILENO };
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC)) {
		*why = errno;
		return NULL;
	}
	/* child_spawn() wants it above its own number there */
	to = fcntl(pair[1], F_DUPFD_CLOEXEC, TO_PARENT + 1);
	rc = to < 0 ? errno : 0;
	close(pair[1]);
	fds.more = &to;
	fds.nmore = 1;
	if (!rc)
		rc = child_spawn("/proc/self/exe", argv, NULL, &fds, &pid);
	if (to >= 0)
		close(to);
	text = rc ? NULL : node_list_hear(pair[0], limit);
	*why = rc ? rc : !text && storm_now() >= limit ? ETIMEDOUT : EBADMSG;
	close(pair[0]);
	if (!rc)
		node_list_bury(pid, limit);
	return text;
}

static void node_list_tell(int why)
{
	const struct storm_log_source all = { 0 };

	if (why == ETIMEDOUT)
		storm_log_from(
			&all, STORM_LOG_ERROR,
			"slurm.conf does not come within %d s, and the nodes stay those of before: is its file system slow, or does it hang?",
			LIMIT);
	else if (why == EBADMSG)
		storm_log_from(
			&all, STORM_LOG_ERROR,
			"slurm.conf cannot be read again, and the nodes stay those of before: correct it, and it is read by itself");
	else
		storm_log_from(
			&all, STORM_LOG_ERROR,
			"no process could be started to read slurm.conf again, and the nodes stay those of before: %s",
			strerror(why));
}

bool node_list_renew(void)
{
	int why = ETIMEDOUT;
	char *text = NULL;

	if (table.left && waitpid(table.left, NULL, WNOHANG))
		table.left = 0;
	if (!table.left)
		text = node_list_ask(&why);
	if (text && node_list_take(text))
		return true;
	xfree(text);
	node_list_tell(why);
	return false;
}

/* Locked. */
static const struct node_entry *node_list_find(const char *name)
{
	const struct node_entry key = { .name = name };

	return table.nodes ? bsearch(&key, table.node, table.nodes, sizeof(key),
				     node_entry_compare) :
			     NULL;
}

bool node_list_lacks(const char *name)
{
	bool lacks;

	pthread_mutex_lock(&table.lock);
	lacks = table.text && !node_list_find(name);
	pthread_mutex_unlock(&table.lock);
	return lacks;
}

char *node_list_address(const char *name)
{
	const struct node_entry *e;
	char *address;

	pthread_mutex_lock(&table.lock);
	e = node_list_find(name);
	address = e ? xstrdup(e->address) : NULL;
	pthread_mutex_unlock(&table.lock);
	return address;
}
