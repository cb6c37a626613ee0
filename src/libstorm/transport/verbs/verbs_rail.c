/*
 * verbs_rail.c - the life of a rail: create, up, down, retry, destroy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/wire/seal.h"
#include "verbs_private.h"

/* ------------------------------------------------------------- up and down */

void storm_verbs_down(struct storm_verbs *v)
{
	storm_verbs_peers_close(v);
	storm_verbs_groups_close(v);
	storm_verbs_cm_close(v);
	storm_verbs_queues_close(v);
	storm_verbs_port_close(v);
	storm_verbs_drop_waiting(v);
	v->up = v->broken = v->port_down = false;
}

int storm_verbs_up(struct storm_verbs *v)
{
	int rc = storm_verbs_cm_open(v), keep_errno;

	if (!rc)
		rc = storm_verbs_port_open(v, v->listener);
	if (!rc)
		rc = storm_verbs_queues_open(v);
	if (!rc)
		rc = storm_verbs_cm_listen(v);
	if (!rc)
		rc = storm_verbs_groups_open(v);
	keep_errno = errno;
	if (rc)
		storm_verbs_down(v);
	errno = keep_errno;
	v->up = !rc;
	if (rc)
		return rc;
	storm_verbs_timer(v);
	storm_verbs_again(v); /* the queues are not armed yet */
	return STORM_OK;
}

void storm_verbs_wait_for_joins(struct storm_verbs *v)
{
	uint64_t end = storm_now() + VERBS_JOIN_TIME;
	struct pollfd p = { .events = POLLIN };

	while (v->joins && !v->broken && (v->now = storm_now()) < end) {
		p.fd = v->cm->fd;
		if (poll(&p, 1, 100) > 0)
			storm_verbs_cm_events(v);
	}
	if (v->joins)
		storm_log(STORM_LOG_WARN,
			  "%u multicast groups are not joined "
			  "yet on RDMA device %s: is there a subnet manager?",
			  v->joins, v->port.device);
}

void storm_verbs_without(struct storm_verbs *v)
{
	v->up_again = v->now + VERBS_UP_AGAIN;
	if (!v->retrying && v->data)
		storm_log(STORM_LOG_WARN,
			  "the strobe rail does not work here: "
			  "the data rail is used for everything");
	else if (!v->retrying)
		storm_log(STORM_LOG_WARN, "verbs do not work here: %s",
			  v->set.transport_fallback ?
				  "UDP is used" :
				  "nothing is sent until they do");
	v->retrying = true;
	storm_verbs_timer(v);
}

void storm_verbs_try_again(struct storm_verbs *v)
{
	if (v->up || !v->up_again || v->now < v->up_again)
		return;
	storm_verbs_cm_forget();
	if (storm_verbs_up(v)) {
		storm_verbs_without(v);
		return;
	}
	v->retrying = false;
	v->up_again = 0;
	storm_log(STORM_LOG_INFO, "RDMA device %s works: verbs are used",
		  v->port.device);
}

/* --------------------------------------------------------- create, destroy */

/* Not by if_nametoindex(): for an unknown name the kernel runs modprobe
 * twice. */
static bool verbs_is_interface(const char *name)
{
	char path[sizeof("/sys/class/net/") + IF_NAMESIZE];

	if (!name[0] || strlen(name) >= IF_NAMESIZE || strchr(name, '/'))
		return false;
	snprintf(path, sizeof(path), "/sys/class/net/%s", name);
	return !access(path, F_OK);
}

void storm_verbs_interface_for_device(struct storm_verbs *v)
{
	if (!verbs_is_interface(v->set.device))
		return;
	strcpy(v->set.interface, v->set.device);
	v->set.device[0] = 0;
}

int storm_verbs_open_fds(struct storm_verbs *v)
{
	v->epfd = epoll_create1(EPOLL_CLOEXEC);
	v->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	v->again = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (v->epfd < 0 || v->timer < 0 || v->again < 0 ||
	    storm_verbs_watch(v, v->timer, VERBS_FD_TIMER) ||
	    storm_verbs_watch(v, v->again, VERBS_FD_AGAIN)) {
		storm_log(STORM_LOG_ERROR, "cannot create an epoll, timer or "
					   "event descriptor: %m");
		return STORM_ESYS;
	}
	return STORM_OK;
}

struct storm_verbs *storm_verbs_alloc(const struct storm_settings *set,
				      enum storm_role role,
				      const struct storm_net_handler *h)
{
	struct storm_verbs *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	/* An agent forks, and Linux before 5.12 would then give it copies of
	 * pages that the device writes.  Later kernels do not need the call.
	 * If it comes too late it does nothing. */
	ibv_fork_init();
	v->set = *set;
	v->role = role;
	v->h = *h;
	v->epfd = v->timer = v->again = -1;
	v->now = storm_now();
	v->drop = (struct storm_drop) { .ppm = set->drop_ppm,
					.state = set->drop_seed };
	TAILQ_INIT(&v->ready);
	TAILQ_INIT(&v->send[STORM_CONTROL].rests);
	TAILQ_INIT(&v->send[STORM_BULK].rests);
	/* an agent relays, and cannot make its sender wait */
	if (role == STORM_ROLE_NODE)
		v->send[STORM_BULK].room = set->window;
	if (storm_random(&v->qkey, sizeof(v->qkey))) {
		free(v);
		return NULL;
	}
	v->qkey &= 0x7fffffff; /* the others need privileges */
	return v;
}

static void verbs_close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void storm_verbs_destroy(struct storm_verbs *v)
{
	int keep_errno = errno;

	if (!v)
		return;
	storm_verbs_destroy(v->strobe);
	storm_verbs_down(v);
	storm_verbs_groups_free(v);
	storm_udp_destroy(v->udp);
	verbs_close_fd(v->again);
	verbs_close_fd(v->timer);
	verbs_close_fd(v->epfd);
	free(v);
	errno = keep_errno;
}
