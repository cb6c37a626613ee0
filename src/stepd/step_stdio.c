/*
 * step_stdio.c - make sure that the last bytes of a step's output reach srun.
 *
 * slurmstepd closes its stdio by exiting, while its last output may still be in
 * the socket.  If the socket has unread input (end of srun's stdin is enough),
 * the close resets the connection, and the output is lost.  Also, when srun
 * learns that the last task was killed, or that all have ended, it stops
 * reading.
 *
 * So the last exits wait until srun has read the output: srun closes its end of
 * the connection when it has the end of every stream.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/eio.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/slurm_protocol_api.h"
#include "src/slurm/io_hdr.h"

#include "src/libstorm/base/clock.h"
#include "src/slurm/stepd.h"
#include "step_stdio.h"

/* A slower srun is probably stopped, or its output is.  It then gets the exits
 * as from stock Slurm.  slurmstepd waits MessageTimeout for an answer, 10 s by
 * default. */
#define STEP_STDIO_WAIT (2 * STORM_SEC)
#define ROOM_POLL 5 /* ms */

/* The connection that slurmstepd opened to srun itself, not a sattach's. */
static int step_stdio_is_sruns(void *x, void *arg)
{
	const eio_obj_t *obj = x;
	const srun_info_t *srun = arg;
	slurm_addr_t peer;
	socklen_t len = sizeof(peer);

	return obj->fd >= 0 &&
	       !getpeername(obj->fd, (struct sockaddr *) &peer, &len) &&
	       slurm_get_port(&peer) ==
		       slurm_get_port((slurm_addr_t *) &srun->ioaddr);
}

static int step_stdio_sruns_socket(const stepd_step_rec_t *job)
{
	srun_info_t *srun = list_peek(job->sruns);
	eio_obj_t *obj = NULL;

	/* Without a stream srun reads nothing and never closes. */
	if (!stepd_had_io(job) || !srun || !job->clients ||
	    (!(job->stdout_eio_objs && list_count(job->stdout_eio_objs)) &&
	     !(job->stderr_eio_objs && list_count(job->stderr_eio_objs))))
		return -1;
	obj = list_find_first(job->clients, step_stdio_is_sruns, srun);
	return obj ? obj->fd : -1;
}

/* slurmstepd has shut down its side for reading, so recv() and poll() return
 * end of file in any case.  Only the TCP state shows what srun did. */
static bool step_stdio_closed(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return true;
	return info.tcpi_state != TCP_ESTABLISHED;
}

/* Discard unread input; true if there was some. */
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
 * A socket that is shut down for reading does not announce new room to its
 * peer, and srun's end of file waits behind input that found no room.  Any data
 * sent announces the room.  srun ignores an answer to a connection test that it
 * has not sent.  False: not now, because output is under way and half a message
 * would do harm.
 */
static bool step_stdio_wake_peer(int fd)
{
	io_hdr_t header = { .type = SLURM_IO_CONNECTION_TEST };
	buf_t *msg;
	int unsent;

	if (ioctl(fd, SIOCOUTQ, &unsent) || unsent)
		return false;
	msg = init_buf(IO_HDR_PACKET_BYTES);
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
		/* no event shows that the last output has arrived */
		epoll_wait(ep, &event, 1,
			   room ? ROOM_POLL : (limit - now) / STORM_MS + 1);
	}
}

void step_stdio_linger(const stepd_step_rec_t *job)
{
	uint64_t limit = storm_now() + STEP_STDIO_WAIT;
	/* By edges: after the shutdown it is always ready. */
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET };
	int fd = step_stdio_sruns_socket(job), ep, one = 1;

	if (fd < 0)
		return;
	/* The end of stderr would wait for srun's acknowledgement of the end of
	 * stdout, which TCP delays by 40 ms. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
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
