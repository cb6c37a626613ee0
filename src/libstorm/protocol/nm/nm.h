/*
 * nm.h - a node's side of the protocol: the Node Manager of the paper
 * (section 2.2) as a state machine without I/O.
 *
 * One struct storm_nm serves all the domains that a node is a member of.  Its
 * host (the node agent, or the simulator) feeds it datagrams, streams and the
 * time, and does for it what needs the operating system, through
 * struct storm_nm_ops.  Not thread-safe: one thread calls in; the asynchronous
 * operations are answered by that thread too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NM_H
#define STORM_NM_H

#include "src/libstorm/storm.h"
#include "src/libstorm/transport/transport.h"

struct storm_nm;
struct storm_gate;	 /* strobe.h */
struct storm_pulse_gate; /* pulser.h */
struct storm_gather_own; /* gather.h */
struct storm_open;	 /* open.h */
struct storm_open_info;

struct storm_nm_ops {
	/*
	 * A stream holds an OPEN.  Check its credential off this thread, with
	 * storm_open_verify(), and whatever the host wants to know of the
	 * authority; then call storm_nm_admit() with the ticket.  from: the
	 * sender of the stream, all zeroes if it is unknown.  buf is the host's
	 * to free().
	 */
	void (*authenticate)(void *host, uint64_t ticket,
			     const struct storm_addr *from, void *buf,
			     size_t len);
	/* Is this the address of the node of this name?  STORM_OK: it is.
	 * STORM_EBUSY: not known yet; any error: nothing is sent to it now.
	 * Never blocks.  NULL: the owner's list is believed. */
	int (*route)(void *host, const char *name,
		     const struct storm_addr *addr);
	/* May a session begin here now?  STORM_OK, or the reason why not, which
	 * may be a STORM_REFUSAL().  NULL: it may. */
	int (*ready)(void *host, const struct storm_open_info *info);
	/* A session begins.  The calls below get *ctx, the host's own. */
	void (*session_open)(void *host, uint64_t session,
			     const struct storm_open_info *info, void **ctx);
	/* The session is over: closed, lost or idle too long.  This is the last
	 * call with ctx. */
	void (*session_close)(void *host, void *ctx);
	/*
	 * A file is announced.  Open a temporary beside it as the session's
	 * user, check everything that can be checked now, then call
	 * storm_nm_begun().  *file is the host's own.
	 */
	void (*file_begin)(void *host, void *ctx, uint64_t session, uint64_t op,
			   const struct storm_target *to, uint64_t size,
			   void **file);
	/* Does this file, which is being opened, wait because other files are
	 * under way here?  That is no fault.  NULL: none does. */
	bool (*file_waits)(void *host, void *file);
	/*
	 * Returns room for the next run of data, *size bytes, at least
	 * STORM_DATAGRAM_MAX.  It stays valid until file_write() takes it, or
	 * file_end().  NULL: there is none now, and data that come are dropped
	 * and requested again later.
	 */
	uint8_t *(*file_room)(void *host, void *file, size_t *size);
	/* Take the first len bytes of the room, and write them at offset off.
	 * Then call storm_nm_written().  Never waits for the file system.  With
	 * these, all bytes below `below` were given to be written. */
	void (*file_write)(void *host, void *file, uint64_t off, size_t len,
			   uint64_t below);
	/* Read back len bytes from off on, after all writes so far, for a node
	 * that lacks them; then call storm_nm_read().  One at a time.  False:
	 * not now. */
	bool (*file_read)(void *host, void *file, uint64_t off, size_t len);
	/* After all writes so far: verify size and digest (NULL: the file is
	 * empty), set group, mode and times, do all that can fail.  Then call
	 * storm_nm_staged(), with the error of a write if one failed.  The
	 * digest is valid during the call. */
	void (*file_stage)(void *host, void *file, uint64_t session,
			   uint64_t op, const uint8_t *digest);
	/* Rename the file to its final name; then call storm_nm_applied(). */
	void (*file_commit)(void *host, void *file, uint64_t session,
			    uint64_t op);
	/* Forget the file: unlink its temporary, if it was not committed, and
	 * free everything.  The last call with `file`, in any case. */
	void (*file_end)(void *host, void *file);
	/* A transfer is committed: signal its remote_event, once (of a file
	 * only if that is not 0).  buf, len: the data, valid during the call;
	 * with a segment their place in it; with a file NULL. */
	void (*event)(void *host, void *ctx, uint64_t session,
		      uint32_t remote_event, const void *buf, size_t len);
	/* A strobe, of a higher number than all before; rx is the datagram and
	 * buf what was sealed, both valid during the call.  May be NULL. */
	void (*strobe)(void *host, void *ctx, uint64_t session, uint64_t number,
		       const struct storm_rx *rx, const void *buf, size_t len);
	/*
	 * The owner gathers: put what the session's user may see of this node.
	 * True: it is put.  False: storm_nm_gathered() brings it later, and own
	 * and query are valid during the call alone.  NULL: this node has
	 * nothing.
	 */
	bool (*gather)(void *host, void *ctx, uint64_t session, uint64_t id,
		       const void *query, size_t len,
		       struct storm_gather_own *own);
	/* An operation that this node asked for has ended; out is the callee's
	 * to clear.  A transfer's result is TRUE if it is DONE, else FAILED.
	 * May be NULL in a host that asks for none. */
	void (*requested)(void *host, void *ctx, void *token,
			  enum storm_compare result, struct storm_outcome *out);
	/* Is this a uid that has no limit of a user's, such as root?  NULL:
	 * only 0 is. */
	bool (*trusted)(void *host, uint32_t uid);
	/* The owner itself has acknowledged the reports of these ids of this
	 * kind. */
	void (*acked)(void *host, void *ctx, uint8_t kind,
		      const struct storm_idset *ids);
};

/* Create a Node Manager.  set and ops are copied; t must outlive it.  host:
 * handed to each operation.  NULL and *err (enum storm_err) on failure. */
struct storm_nm *storm_nm_create(const struct storm_settings *set,
				 struct storm_transport *t,
				 const struct storm_nm_ops *ops, void *host,
				 int *err);
void storm_nm_destroy(struct storm_nm *nm); /* closes every session */

/* This node is stopped and continued together with its owners: they are not silent
 * while it stands.  Before its first session. */
void storm_nm_stands(struct storm_nm *nm);

/* Input: the calls of struct storm_net_handler.  now: monotonic ns. */
void storm_nm_datagrams(struct storm_nm *nm, struct storm_rx *rx, size_t n,
			uint64_t now);
void storm_nm_stream(struct storm_nm *nm, uint64_t stream, const void *buf,
		     size_t len, uint64_t now);
void storm_nm_stream_failed(struct storm_nm *nm, uint64_t session,
			    uint32_t node, enum storm_err why, int sys,
			    uint64_t now);
/* Run timers; returns when to call again at the latest (monotonic ns). */
uint64_t storm_nm_tick(struct storm_nm *nm, uint64_t now);

/*
 * Answers to the asynchronous operations.  err: enum storm_err; sys: its errno,
 * or 0.
 *
 * admit takes o.  With an err, o may be NULL: then the sender gets
 * STORM_EVERSION, or no answer.  Or o is authentic but refused: then the sender
 * gets err, and nothing of the OPEN is kept.  Returns the verdict.
 */
int storm_nm_admit(struct storm_nm *nm, uint64_t ticket, struct storm_open *o,
		   int err, uint64_t now);
void storm_nm_begun(struct storm_nm *nm, uint64_t session, uint64_t op, int err,
		    int sys, uint64_t now);
/* With an err the file has failed, whatever off and len are. */
void storm_nm_written(struct storm_nm *nm, uint64_t session, uint64_t op,
		      uint64_t off, size_t len, int err, int sys, uint64_t now);
/* What this node has for the gather id; it stays the caller's. */
void storm_nm_gathered(struct storm_nm *nm, uint64_t session, uint64_t id,
		       const struct storm_gather_own *own, uint64_t now);
/* buf is valid during the call; NULL: it could not be read. */
void storm_nm_read(struct storm_nm *nm, uint64_t session, uint64_t op,
		   uint64_t off, const void *buf, size_t len);
void storm_nm_staged(struct storm_nm *nm, uint64_t session, uint64_t op,
		     int err, int sys, uint64_t now);
void storm_nm_applied(struct storm_nm *nm, uint64_t session, uint64_t op,
		      int err, int sys, uint64_t now);

/* This node will report `count` ids of that kind, in all.  A subtree that has
 * all ids that it expects reports at once; one that lacks some may wait for
 * them (nm_report.c).  So the owner gets the reports of a thousand nodes in a
 * handful of datagrams.  Without this call they are reported a little later.
 * STORM_OK, ENOENT or EINVAL. */
int storm_nm_expect(struct storm_nm *nm, uint64_t session, uint8_t kind,
		    uint32_t count);

/* A report that is not complete waits for others of the subtree, so long (ns) at
 * most; without this call 100 ms.  STORM_ENOENT: no session. */
int storm_nm_report_hold(struct storm_nm *nm, uint64_t session, uint64_t most);

/* These ids of a kind are over, here and in the subtree: they are sent no more, and
 * count as acknowledged.  Not for a kind with storm_nm_expect(), which counts all.
 * STORM_ENOENT: no session; STORM_EINVAL: no such kind; STORM_ENOMEM: some stay. */
int storm_nm_report_forget(struct storm_nm *nm, uint64_t session, uint8_t kind,
			   const struct storm_idset *ids);

/* Report ids of this node.  They join the cumulative report, which is
 * retransmitted until the owner acknowledges it.  One with a code other than 0
 * does not wait for others.  STORM_ENOENT: no such session. */
int storm_nm_report(struct storm_nm *nm, uint64_t session, uint8_t kind,
		    uint32_t code, const struct storm_idset *ids, uint64_t now);

/* Register global memory: len bytes at base are segment number `segment` of
 * this node, in every session.  They remain the host's, which may read them
 * between its calls.  They must stay until the segment is registered anew, with
 * base NULL or another, while no transfer to it is under way.  STORM_EINVAL:
 * segment is out of range. */
int storm_nm_segment(struct storm_nm *nm, uint32_t segment, void *base,
		     size_t len);

/* The host wants to hold so many bytes more (or less, if below 0) on behalf of
 * the session.  STORM_OK; STORM_EBUSY: the owner's user may not have so many,
 * do not take them; STORM_ENOENT. */
int storm_nm_hold(struct storm_nm *nm, uint64_t session, int64_t bytes);

/* Leave the cluster domain: storm_nm_tick() closes the session.  The owner is told the
 * reason once.  If that is lost, it finds the node silent.  A later OPEN of the same
 * owner is a new session, if the host is ready for it.  STORM_ENOENT. */
int storm_nm_leave(struct storm_nm *nm, uint64_t session, enum storm_err why,
		   int sys, uint64_t now);

/* Set *self to this node's number in the session's domain.  A new owner may
 * have changed it.  STORM_ENOENT. */
int storm_nm_self(struct storm_nm *nm, uint64_t session, uint32_t *self);

/* Set *epoch to the latest one of the session's domain that this node has heard of, and
 * *outside: the owner has excluded this node, which waits to be let in again.
 * STORM_ENOENT. */
int storm_nm_epoch(struct storm_nm *nm, uint64_t session, uint32_t *epoch,
		   bool *outside);
/* Is the owner of this session silent?  Only a cluster domain's session stays then, for the
 * next owner.  False also if there is no such session. */
bool storm_nm_owner_is_silent(struct storm_nm *nm, uint64_t session);

/* Set *value to an own variable of this node, or to its copy of a global one,
 * as far as it has heard.  STORM_OK, STORM_ENOENT or STORM_EINVAL: no such
 * variable. */
int storm_nm_variable(struct storm_nm *nm, uint64_t session, uint32_t var,
		      uint64_t *value);

/*
 * XFER-AND-SIGNAL and COMPARE-AND-WRITE by this node, as
 * storm_xfer_and_signal() and storm_compare_and_write().  The owner orders them
 * among the session's operations, each comparison, too.  A transfer is not to a
 * file, and fits into a datagram; buf is copied.  STORM_OK: requested(token) is
 * called when it has ended.  STORM_ENOENT, ECLOSED (the node is not a member),
 * EINVAL, ETOOBIG, ENOMEM: it is not called.
 */
int storm_nm_xfer(struct storm_nm *nm, uint64_t session,
		  const struct storm_idset *P, const struct storm_target *to,
		  const void *buf, size_t len, void *token);
int storm_nm_compare(struct storm_nm *nm, uint64_t session,
		     const struct storm_idset *P, uint32_t var,
		     enum storm_relation rel, uint64_t value,
		     const struct storm_assign *write, void *token);

/*
 * Write a note of this session, which is one of a cluster domain, for the
 * process that follows this one.  Keep it where that process finds it.  It has
 * the domain's key, so others must not be able to read it.  It changes when
 * another owner takes over.  Returns its length; 0: none is to be kept.
 */
#define STORM_NOTE_MAX 128
size_t storm_nm_note(struct storm_nm *nm, uint64_t session,
		     uint8_t buf[static STORM_NOTE_MAX]);
/* Use the note of the process before: for a while, ask the owner for a new
 * OPEN.  Without that the node is outside until the owner has missed it.
 * STORM_OK, ENOMEM or EINVAL: this is no note. */
int storm_nm_return(struct storm_nm *nm, const void *note, size_t len,
		    uint64_t now);

/* Raise an own variable; a lower value changes nothing.  STORM_OK, STORM_ENOENT
 * or STORM_EINVAL: no such variable. */
int storm_nm_own_set(struct storm_nm *nm, uint64_t session,
		     enum storm_own_var var, uint64_t value);

/*
 * Another thread may take strobes without waiting for this one, by strobe.h.
 * Set *out to the gate, which is what that thread must know of the session.
 * False: it must take none, because the owner is to be obeyed no more, or its
 * incarnation is not known yet.
 */
bool storm_nm_gate(struct storm_nm *nm, uint64_t session,
		   struct storm_gate *out);
/* The thread that has the gate has taken `count` strobes since the last call.
 * The last one has this number, and came at `at` (monotonic ns). */
void storm_nm_strobed(struct storm_nm *nm, uint64_t session, uint64_t count,
		      uint64_t number, uint64_t at);

/* Signs of life (pulser.h) are another thread's from now on, until the end. */
void storm_nm_pulse_elsewhere(struct storm_nm *nm);
/* Set *out to what that thread must know of the session.  False: it must give
 * no signs. */
bool storm_nm_pulse_gate(struct storm_nm *nm, uint64_t session,
			 struct storm_pulse_gate *out);

/* When this node is to say that it hears nothing of the owner, monotonic ns, if
 * nothing comes until then.  STORM_NEVER: there is no such session. */
uint64_t storm_nm_pulse_deaf_at(struct storm_nm *nm, uint64_t session);

/* Write at most max of the sessions' numbers, as datagrams have them.  Returns
 * how many sessions there are. */
size_t storm_nm_sessions(const struct storm_nm *nm, uint64_t *session,
			 size_t max);
/* How many datagrams have come so far that no member has sent. */
uint64_t storm_nm_refused(const struct storm_nm *nm);

/* The number of the session that is open for this step; 0: none. */
uint64_t storm_nm_find_step(struct storm_nm *nm, uint32_t job_id,
			    uint32_t step_id, uint32_t step_het);

struct storm_nm_stats {
	uint64_t sessions, sessions_total;
	uint64_t rx_datagrams, rx_bytes, tx_datagrams, tx_bytes;
	uint64_t data_new, data_dup, repaired, nacks_sent, nacks_served;
	uint64_t joined_again; /* times: no multicast came */
	uint64_t data_moved;   /* bytes copied, once unsealed, in memory */
	uint64_t data_dropped; /* chunks for which the host had no room */
	uint64_t relayed, strobes;
	uint64_t bad_seal, bad_wire, bad_session, replayed, fenced;
	uint64_t opens_refused;
};
void storm_nm_stats(const struct storm_nm *nm, struct storm_nm_stats *out);

#endif
