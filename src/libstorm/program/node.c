/*
 * node.c - the nodes' side of storm.h: a Node Manager (nm.h), a network and the
 * thread that runs them, for a program that serves as a node without Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_private.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/wire/credential.h"

/* ----------------------------------------------------------------- thread --- */

static void node_datagrams(void *arg, struct storm_rx *rx, size_t count)
{
	storm_node_t *n = arg;

	storm_nm_datagrams(n->nm, rx, count, storm_shared_now(n->sh));
}

static void node_stream(void *arg, uint64_t number, const void *buf, size_t len)
{
	storm_node_t *n = arg;

	storm_nm_stream(n->nm, number, buf, len, storm_shared_now(n->sh));
}

static void node_stream_failed(void *arg, uint64_t session, uint32_t node,
			       enum storm_err why, int sys)
{
	storm_node_t *n = arg;

	storm_nm_stream_failed(n->nm, session, node, why, sys,
			       storm_shared_now(n->sh));
}

static uint64_t node_tick(void *arg, uint64_t now)
{
	storm_node_t *n = arg;

	node_host_admit(n);
	node_host_answer(n);
	return storm_nm_tick(n->nm, now);
}

static void node_notify(void *arg)
{
	node_host_notify(arg);
}

static const struct storm_runner_ops runner_ops = {
	.tick = node_tick,
	.tell = node_notify,
};

/* ------------------------------------------------------------------- node --- */

static int node_open_root(storm_node_t *n, const char *path)
{
	n->root = -1;
	if (!path)
		return STORM_OK;
	n->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (n->root >= 0)
		return STORM_OK;
	storm_log(STORM_LOG_ERROR, "%s: %m", path);
	return STORM_ESYS;
}

/* On failure each of these undoes its own work; storm_node_create() undoes the
 * rest. */
static int node_start_network(storm_node_t *n, const struct storm_settings *set)
{
	struct storm_net_handler h = {
		.datagrams = node_datagrams,
		.stream = node_stream,
		.stream_failed = node_stream_failed,
		.arg = n,
	};
	int err;

	n->net = n->driver->create(set, STORM_ROLE_NODE, NULL, &h, &err);
	if (!n->net)
		return err;
	n->nm = storm_nm_create(set, n->driver->transport(n->net),
				&node_host_ops, n, &err);
	if (!n->nm)
		n->driver->destroy(n->net);
	else if (n->conf.stands)
		storm_nm_stands(n->nm);
	return err;
}

static void node_stop_worker(storm_node_t *n)
{
	if (!n->driver->now)
		storm_worker_stop(&n->auth, n);
	else
		node_host_admit(n);
}

static int node_start_threads(storm_node_t *n)
{
	int rc;

	if (!n->driver->now &&
	    storm_worker_start(&n->auth, "storm_auth", OPENS_WAITING))
		return STORM_ESYS;
	if (!storm_runner_init(&n->runner, n->sh, &runner_ops, n)) {
		storm_runner_net(&n->runner, n->net);
		if (!n->driver->now)
			storm_runner_watch(&n->runner, n->auth.fd);
		pthread_mutex_lock(&n->sh->lock);
		rc = storm_runner_start(&n->runner, "storm_node");
		pthread_mutex_unlock(&n->sh->lock);
		if (!rc)
			return STORM_OK;
		storm_runner_clear(&n->runner);
	}
	node_stop_worker(n);
	return STORM_ESYS;
}

storm_node_t *storm_node_create(const struct storm_node_conf *conf, int *err)
{
	storm_node_t *n;

	*err = STORM_EINVAL;
	if (!conf->name || !*conf->name || strlen(conf->name) > STORM_NAME_MAX)
		return NULL;
	*err = STORM_ENOMEM;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->told_end = &n->told;
	n->conf = *conf;
	n->conf.name = strdup(conf->name);
	n->sh = storm_shared_create(&conf->set);
	if (!n->conf.name || !n->sh)
		goto no_shared;
	n->driver = n->sh->driver;
	*err = node_open_root(n, conf->root);
	if (*err)
		goto no_shared;
	*err = node_start_network(n, &conf->set);
	if (*err)
		goto no_network;
	*err = node_start_threads(n);
	if (!*err) {
		storm_credential_share(1);
		return n;
	}
	storm_nm_destroy(n->nm);
	n->driver->destroy(n->net);
no_network:
	if (n->root >= 0)
		close(n->root);
no_shared:
	if (n->sh) {
		pthread_mutex_lock(&n->sh->lock);
		storm_shared_leave(n->sh);
	}
	free((char *) n->conf.name);
	free(n->room);
	free(n);
	return NULL;
}

void storm_node_destroy(storm_node_t *n)
{
	if (!n)
		return;
	storm_runner_stop(&n->runner);
	storm_credential_share(-1);
	pthread_mutex_lock(&n->sh->lock);
	node_stop_worker(n);
	storm_nm_destroy(n->nm);
	node_host_notify(n);
	storm_runner_clear(&n->runner);
	n->driver->destroy(n->net);
	if (n->root >= 0)
		close(n->root);
	storm_shared_leave(n->sh);
	free((char *) n->conf.name);
	free(n->room);
	free(n);
}

void storm_node_address(const storm_node_t *n, struct storm_addr *out)
{
	n->driver->self(n->net, out);
}

int storm_node_segment(storm_node_t *n, uint32_t segment, void *base,
		       size_t len)
{
	int err;

	pthread_mutex_lock(&n->sh->lock);
	err = storm_nm_segment(n->nm, segment, base, len);
	if (!err)
		n->segment[segment] =
			(struct node_segment) { base, base ? len : 0 };
	pthread_mutex_unlock(&n->sh->lock);
	return err;
}

storm_member_t *storm_node_accept(storm_node_t *n, bool block,
				  uint64_t deadline)
{
	struct storm_member *m;

	pthread_mutex_lock(&n->sh->lock);
	for (;;) {
		for (m = n->members; m && m->accepted; m = m->next)
			;
		if (m || !block || !storm_shared_wait(n->sh, deadline))
			break;
	}
	if (m) {
		m->accepted = true;
		m->users++;
	}
	pthread_mutex_unlock(&n->sh->lock);
	return m;
}
