/*
 * step_stdio.c - the last bytes of a step's output reach srun.
 *
 * slurmstepd ends its stdio by ending: what it has written may still be in its
 * socket then.  If input from srun has come meanwhile that nobody reads (the
 * end of srun's own stdin is enough), closing the socket resets the
 * connection, and what has not arrived is lost.  And srun, once it hears that
 * the last task was killed, or that all have ended, stops listening without
 * having accepted or read everything.
 *
 * So the last exits are held back for as long as srun reads: it closes its end
 * of the connection by itself when it has had the end of every stream.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <linux/sockios.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/eio.h"
#include "src/common/io_hdr.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/slurm_protocol_api.h"

#include "src/libstorm/base/clock.h"
#include "step_stdio.h"

/* A reader that is slower than this is likely to be stopped, or its output
 * is; the exits are told to it nevertheless, as by stock.  slurmstepd waits
 * for our answer MessageTimeout long, 10 s unless configured. */
#define STEP_STDIO_WAIT (2 * STORM_SEC)
#define ROOM_POLL 5		/* ms */

/* The connection that slurmstepd opened to srun itself, not a sattach's. */
static int step_stdio_is_sruns(void *x, void *arg)
{
	const eio_obj_t *obj = x;
	const srun_info_t *srun = arg;
	slurm_addr_t peer;
	socklen_t len = sizeof(peer);

	return obj->fd >= 0 &&
		!getpeername(obj->fd, (struct sockaddr *) &peer, &len) &&
		slurm_get_port(&peer) == slurm_get_port(
			(slurm_addr_t *) &srun->ioaddr);
}

static int step_stdio_sruns_socket(const stepd_step_rec_t *job)
{
	srun_info_t *srun = list_peek(job->sruns);
	eio_obj_t *obj = NULL;

	/* Without a stream srun has nothing to read, and never closes. */
	if (!job->ioid || !srun || !job->clients ||
	    (!(job->stdout_eio_objs && list_count(job->stdout_eio_objs)) &&
	     !(job->stderr_eio_objs && list_count(job->stderr_eio_objs))))
		return -1;
	obj = list_find_first(job->clients, step_stdio_is_sruns, srun);
	return obj ? obj->fd : -1;
}

/* slurmstepd has shut its side for reading, so the end of file that recv()
 * and poll() tell is its own: only the state says what srun did. */
static bool step_stdio_closed(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return true;
	return info.tcpi_state != TCP_ESTABLISHED;
}

/* Read what nobody wants; true if there was something. */
static bool step_stdio_discard_input(int fd)
{
	char buf[16384];
	bool any = false;
	ssize_t n;

	do {
		n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		any |= n > 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return any;
}

/*
 * A socket that is shut for reading does not tell its peer that there is room
 * again, and the end of srun's connection waits behind the input that found
 * none.  Whatever we send tells it; srun ignores an answer to a connection
 * test that it has not sent.  False: not now, for output is on its way and a
 * part of a message would be worse.
 */
static bool step_stdio_wake_peer(int fd)
{
	io_hdr_t header = { .type = SLURM_IO_CONNECTION_TEST };
	buf_t *msg;
	int unsent;

	if (ioctl(fd, SIOCOUTQ, &unsent) || unsent)
		return false;
	msg = init_buf(io_hdr_packed_size());
	io_hdr_pack(&header, msg);
	if (send(fd, get_buf_data(msg), get_buf_offset(msg),
		 MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		debug("storm: stdio: %m");
	free_buf(msg);
	return true;
}

static void step_stdio_wait_closed(int fd, int ep, uint64_t limit)
{
	struct epoll_event event;
	bool room = false;
	uint64_t now;

	while (!step_stdio_closed(fd) && (now = storm_now()) < limit) {
		room |= step_stdio_discard_input(fd);
		if (room && step_stdio_wake_peer(fd))
			room = false;
		/* nothing wakes us when the last output has arrived */
		epoll_wait(ep, &event, 1, room ? ROOM_POLL :
			   (limit - now) / STORM_MS + 1);
	}
}

void step_stdio_linger(const stepd_step_rec_t *job)
{
	uint64_t limit = storm_now() + STEP_STDIO_WAIT;
	/* By edges: after the shutdown it is always ready. */
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET };
	int fd = step_stdio_sruns_socket(job), ep;

	if (fd < 0)
		return;
	ep = epoll_create1(EPOLL_CLOEXEC);
	if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event))
		debug("storm: epoll: %m");
	else
		step_stdio_wait_closed(fd, ep, limit);
	if (!step_stdio_closed(fd)) {
		step_stdio_discard_input(fd);
		debug("storm: srun does not read the output of %ps",
		      &job->step_id);
	}
	if (ep >= 0)
		close(ep);
}
