/*
 * local.h - the node agent's local socket, for slurmd's plugin, slurmstepd's
 * step hooks and `storm_agent --stats` on the agent's node.  Root only: the
 * directory and the socket belong to root, and each side checks the other's
 * uid.
 *
 * A frame is one record of a SOCK_SEQPACKET socket: head {magic, version,
 * type, length of the whole frame}, then the type's fields, in host byte order
 * (both ends are on one machine) and without padding.  A frame may carry a file
 * descriptor.  A frame with another version, with a wrong length or with bytes
 * left over is refused as a whole.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LOCAL_H
#define STORM_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifndef STORM_RUNDIR
#define STORM_RUNDIR "/run/slurm-storm"
#endif

#define LOCAL_VERSION 1
#define LOCAL_FRAME_MAX 65536
/* A REPORT or ACK of more ids is split into several. */
#define LOCAL_IDS_MAX 8192

enum local_type {
	/* slurmd's plugin: {u32 slurmd's port}, fd: the agent's new log.  The
	 * agent ends some time after this connection is closed.
	 * Answer: {str build, str stamp of its storm.conf}. */
	LOCAL_HELLO = 1,
	LOCAL_HELLO_IS = 2,
	/* slurmstepd: {u32 job, u32 step, u32 het component, u32 uid, u32
	 * tasks it starts, u32 the node's number in the step}: did STORM launch
	 * this step?  Answer: {u64 session}; 0: it did not. */
	LOCAL_STEP = 3,
	LOCAL_STEP_IS = 4,
	/* slurmstepd, for a session: {u8 kind, u32 code, u32 n, n * u32 id} */
	LOCAL_REPORT = 5,
	/* to slurmstepd: acknowledged {u8 kind, u32 n, n * u32 id} */
	LOCAL_ACK = 6,
	/* 7 is not used */
	/* to slurmstepd: the session has ended, send no reports: {} */
	LOCAL_CLOSED = 8,
	/* the administrator: {}; answer: {str JSON} */
	LOCAL_STATS = 9,
	LOCAL_STATS_IS = 10,
	/* tests: drop datagrams on receipt {u32 per million, u64 seed};
	 * answer: {} */
	LOCAL_DROP = 11,
	LOCAL_DROP_IS = 12,
	/* slurmd's plugin: {u8 0 UDP, 1 TCP}: give back the socket of the port.
	 * Answer: {}, fd: the socket, if the agent has it from slurmd */
	LOCAL_PORT = 13,
	LOCAL_PORT_IS = 14,
	/* slurmd's plugin: {}: does the main loop run?  Answer: {} */
	LOCAL_PING = 15,
	LOCAL_PING_IS = 16,
	/* slurmstepd: {u32 job, u32 step, u32 het component, u32 uid}, fd: the
	 * agent's end of its tasks' door (step_door.h); no answer */
	LOCAL_DOOR = 17,
	/* slurmstepd: {}: the records of steps have changed (gang_step.h); no
	 * answer */
	LOCAL_STEPS = 18,
	/* to slurmd's plugin: {}: look at the page now (gang_page.h) */
	LOCAL_LOOK = 19,
	/* slurmstepd: as LOCAL_DOOR, fd: the account of how the step's tasks
	 * wait (src/storm_wait/wait_page.h) */
	LOCAL_ACCOUNT = 20,
	/* slurmstepd: {u32 job, u32 step, u32 het component, u32 uid, u32 cause,
	 * str reason}: why Slurm launched this step (fallback_word.h), whose
	 * node is to keep it; no answer */
	LOCAL_FALLBACK = 21,
};

struct local_frame {
	uint8_t buf[LOCAL_FRAME_MAX];
	size_t len; /* written so far, or received */
	size_t pos; /* read so far */
	bool bad;   /* a put found no room or a get no bytes */
	int fd;	    /* received, or -1; the receiver owns it */
};

/* Build a frame.  A put without room marks it bad. */
void local_begin(struct local_frame *f, enum local_type type);
void local_put8(struct local_frame *f, uint8_t v);
void local_put32(struct local_frame *f, uint32_t v);
void local_put64(struct local_frame *f, uint64_t v);
void local_put_str(struct local_frame *f, const char *s);
/* Send the frame, with fd unless that is -1; the sender keeps fd.  0, or -1 and
 * errno; EMSGSIZE: a put found no room. */
int local_send(int sock, struct local_frame *f, int fd);

/* Receive a frame.  1 and *type; 0: the other side has closed; -1 and errno;
 * EAGAIN: there is nothing to read; EPROTO: it is no frame of this version, and
 * is discarded. */
int local_recv(int sock, struct local_frame *f, enum local_type *type);
uint8_t local_get8(struct local_frame *f);
uint32_t local_get32(struct local_frame *f);
uint64_t local_get64(struct local_frame *f);
/* Get a string, of size bytes at most with its NUL; a longer one is bad. */
void local_get_str(struct local_frame *f, char *out, size_t size);
/* Did every get find its bytes, and are none left? */
bool local_end(const struct local_frame *f);

/* Write the path of a node's socket to out.  0 or ENAMETOOLONG.  rundir NULL:
 * STORM_RUNDIR, here and below. */
int local_path(const char *rundir, const char *node, char *out, size_t size);

/* Make the directory of a node (root's, 0755); refuse one that others can
 * write.  0 or an errno. */
int local_make_dir(const char *rundir, const char *node);

/*
 * Listen.  Makes the directory as local_make_dir() does.  Replaces a socket
 * without a server; EADDRINUSE: one has a server.  Returns a non-blocking
 * descriptor, or -1 and errno.
 */
int local_listen(const char *rundir, const char *node);

/* Connect, and refuse a server of another uid.  Returns a blocking socket whose
 * sends and receives return EAGAIN after 5 s, or -1 and errno.  *pid (may be
 * NULL) is the server's process. */
int local_connect(const char *rundir, const char *node, pid_t *pid);

/* Send the agent a frame that has no answer, with fd unless that is -1.
 * Waits for nothing.  0 or an errno; EAGAIN: the agent does not take
 * connections now. */
int local_tell(const char *rundir, const char *node, struct local_frame *f,
	       int fd);

/* Set *uid and *pid to those of the process at the other end.  0, or -1 and
 * errno. */
int local_peer(int sock, uid_t *uid, pid_t *pid);

#endif
