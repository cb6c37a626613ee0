/*
 * agent_session.h - what the agent knows of a session: a domain that this node is a
 * member of, opened by a command for one step, or by the strober for the cluster.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_SESSION_H
#define STORM_AGENT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "file_child.h"

struct agent;
struct agent_child;
struct agent_file;
struct agent_launch;
struct storm_open_info;

/* What an authority allows: files, as this user. */
struct agent_creds {
	struct file_user user;		/* gids belong to us */
	uint32_t job_id, step_id;
};
void agent_creds_destroy(struct agent_creds *c);	/* NULL is fine */

/* Whose it is, by the owner's OPEN; its uid is authentic. */
struct agent_step {
	uint32_t uid, job_id, step_id, het;
};

struct agent_session {
	struct agent_session *next;
	struct agent *a;
	uint64_t id;
	uint64_t cluster;		/* 0: a step's */
	uint32_t self;			/* this node's number in it */
	struct agent_step step;
	/* agent_file.c */
	struct agent_creds *creds;	/* NULL: it may not send files */
	struct agent_child *child;	/* the process for its files */
	struct agent_file *files;
	/* agent_launch.c */
	bool launched;			/* a LAUNCH has come */
	struct agent_launch *launches;
};

/* A new one in the agent's list; creds are its own from now on. */
struct agent_session *agent_session_create(struct agent *a, uint64_t id,
					   const struct storm_open_info *info,
					   struct agent_creds *creds);
/* The parts that serve it have let go of it. */
void agent_session_destroy(struct agent_session *s);

/* The session by which storm launched this step, or NULL. */
struct agent_session *agent_session_of_step(struct agent *a,
					    const struct agent_step *step);

#endif
