/*
 * agent_child.h - the process that touches a session's files (file_child.h), as
 * the agent sees it: a socket, a process, and how long it has not answered.
 * The agent never waits for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_CHILD_H
#define STORM_AGENT_CHILD_H

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct agent_session;
struct file_reply;
struct file_request;

struct agent_child_ops {
	void (*reply)(struct agent_session *s, const struct file_reply *rep);
	/* The process has ended; after this the child is closed. */
	void (*gone)(struct agent_session *s);
};

/* Start a child for the session's user, unless the session has one.  0, or -1
 * and errno; EBUSY: too many of that user's children do not end. */
int agent_child_start(struct agent_session *s,
		      const struct agent_child_ops *ops);
/* Send a request, with fd unless that is -1.  answers: the child answers it.
 * 0, or -1 and errno. */
int agent_child_ask(struct agent_session *s, const struct file_request *req,
		    int fd, bool answers);
/* Has the session's child not answered for too long? */
bool agent_child_hangs(const struct agent_session *s, uint64_t now);
/* Does the child wait to be started until another one has ended? */
bool agent_child_waits(const struct agent_session *s, uint64_t now);
/* The child has work.  libdir: it made a directory for libraries, which may
 * follow. */
void agent_child_busy(struct agent_session *s, bool libdir);
/* The child has no work now.  It ends soon, to make room for another one of its
 * user. */
void agent_child_rest(struct agent_session *s);
/* Close the child.  It removes what was not committed, and ends.  If it does
 * not end it is killed; if it does not die then, the log names it. */
void agent_child_close(struct agent_session *s);

/* Run the timers of all children.  Returns when the next one is due. */
uint64_t agent_child_tick(struct agent *a, uint64_t now);

#endif
