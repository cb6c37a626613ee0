/*
 * agent_child.h - the process that touches a session's files, as the agent sees
 * it: a socket, a process, and how long it has not answered.  The agent never
 * waits for it.
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
	/* It has ended; the child is closed after this. */
	void (*gone)(struct agent_session *s);
};

/* If the session has none, start one for its user.  0, or -1 and errno: EBUSY if
 * too many of that user's do not end. */
int agent_child_start(struct agent_session *s,
		      const struct agent_child_ops *ops);
/* Send a request, with fd unless that is -1.  answers: it has one.  0, or -1 and
 * errno. */
int agent_child_ask(struct agent_session *s, const struct file_request *req,
		    int fd, bool answers);
/* It has not answered for too long. */
bool agent_child_hangs(const struct agent_session *s, uint64_t now);
/* It is to start when another one has ended. */
bool agent_child_waits(const struct agent_session *s, uint64_t now);
/* It has work.  libdir: a directory for the next files, too. */
void agent_child_busy(struct agent_session *s, bool libdir);
/* It has none now, and ends soon: it makes room for another one of its user. */
void agent_child_rest(struct agent_session *s);
/* Let it go.  It removes what was not committed, and ends.  If it does not end
 * it is killed; if it does not die either, the log names it. */
void agent_child_close(struct agent_session *s);

/* Run the timers of all.  Returns when the next one is due. */
uint64_t agent_child_tick(struct agent *a, uint64_t now);

#endif
