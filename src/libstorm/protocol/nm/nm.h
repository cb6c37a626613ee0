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
struct storm_gate; /* strobe.h */
struct storm_open; /* open.h */
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
	/* Is this the address of the node?  Never blocks.  STORM_EBUSY: not
	 * known yet, so nothing is sent to it now.  NULL: the owner is
	 * believed. */
	int (*route)(void *host, const char *name,
		     const struct storm_addr *addr);
	/* May a session begin here now?  STORM_OK, or a reason, maybe of
	 * STORM_REFUSAL().  NULL: it may. */
	int (*ready)(void *host, const struct storm_open_info *info);
	/* A session begins; *ctx is the host's own, handed back below. */
	void (*session_open)(void *host, uint64_t session,
			     const struct storm_open_info *info, void **ctx);
	/* It is over: closed, lost or idle too long.  Last call with ctx. */
	void (*session_close)(void *host, void *ctx);
	/*
	 * A file is announced.  Open a temporary beside it as the session's
	 * user, check everything that can be checked now, then call
	 * storm_nm_begun().  *file is the host's own.
	 */
	void (*file_begin)(void *host, void *ctx, uint64_t session, uint64_t op,
			   const struct storm_target *to, uint64_t size,
			   void **file);
	/* A file that is being opened: does it wait because other files are
	 * under way here, which is no fault?  NULL: none does. */
	bool (*file_waits)(void *host, void *file);
	/*
	 * Room for the next run of data, of *size bytes, which is at least
	 * STORM_DATAGRAM_MAX.  It stays valid until file_write() takes it, or
	 * file_end().  NULL: there is none now.  What comes then is dropped,
	 * and requested again later.
	 */
	uint8_t *(*file_room)(void *host, void *file, size_t *size);
	/* Take the first len bytes of the room, and write them at offset.  Then
	 * call storm_nm_written().  Never waits for the file system.  below:
	 * with these all bytes below were given to be written. */
	void (*file_write)(void *host, void *file, uint64_t off, size_t len,
			   uint64_t below);
	/* Read back for a repair what was written, after all writes so far;
	 * then call storm_nm_read().  One at a time.  False: not now. */
	bool (*file_read)(void *host, void *file, uint64_t off, size_t len);
	/* After all writes so far: verify size and digest (NULL: of no bytes),
	 * set group, mode and times, do all that can fail; then
	 * storm_nm_staged(), with the error of a write, if one failed.  The
	 * digest is valid during the call. */
	void (*file_stage)(void *host, void *file, uint64_t session,
			   uint64_t op, const uint8_t *digest);
	/* Rename under the final name; then storm_nm_applied(). */
	void (*file_commit)(void *host, void *file, uint64_t session,
			    uint64_t op);
	/* Forget it: unlink the temporary, free everything.  Also called after
	 * a commit, to free. */
	void (*file_end)(void *host, void *file);
	/* A transfer was decided and its data are there: remote_event, to
	 * memory with them (valid during the call), to a segment with their
	 * place in it, of a file with none (and if its remote_event is not 0).
	 * Once, after the data. */
	void (*event)(void *host, void *ctx, uint64_t session,
		      uint32_t remote_event, const void *buf, size_t len);
	/* A strobe, of a higher number than all before; rx is the datagram and
	 * buf what was sealed, both valid during the call.  May be NULL. */
	void (*strobe)(void *host, void *ctx, uint64_t session, uint64_t number,
		       const struct storm_rx *rx, const void *buf, size_t len);
	/* An operation that this node asked for has ended; out is the callee's
	 * to clear.  A transfer's result is TRUE if it is DONE, else FAILED.
	 * May be NULL in a host that asks for none. */
	void (*requested)(void *host, void *ctx, void *token,
			  enum storm_compare result, struct storm_outcome *out);
	/* Is this uid root, or another that no limit of users concerns?
	 * NULL: only 0 is. */
	bool (*trusted)(void *host, uint32_t uid);
	/* The owner has these ids of (kind): end to end. */
	void (*acked)(void *host, void *ctx, uint8_t kind,
		      const struct storm_idset *ids);
};

/* settings and ops are copied; t must outlive the nm. */
struct storm_nm *storm_nm_create(const struct storm_settings *set,
				 struct storm_transport *t,
				 const struct storm_nm_ops *ops, void *host,
				 int *err);
void storm_nm_destroy(struct storm_nm *nm); /* closes every session */

/* Input.  now: monotonic ns. */
void storm_nm_datagrams(struct storm_nm *nm, struct storm_rx *rx, size_t n,
			uint64_t now);
void storm_nm_stream(struct storm_nm *nm, uint64_t stream, const void *buf,
		     size_t len, uint64_t now);
void storm_nm_stream_failed(struct storm_nm *nm, uint64_t session,
			    uint32_t node, enum storm_err why, int sys,
			    uint64_t now);
/* Run timers; returns when to call again at the latest (monotonic ns). */
uint64_t storm_nm_tick(struct storm_nm *nm, uint64_t now);

/* Answers to the asynchronous operations.  admit takes o.  With err, o is
 * NULL (the sender gets EVERSION or nothing), or authentic but refused (the sender
 * gets err, and nothing of the OPEN is kept).  Returns the verdict. */
int storm_nm_admit(struct storm_nm *nm, uint64_t ticket, struct storm_open *o,
		   int err, uint64_t now);
void storm_nm_begun(struct storm_nm *nm, uint64_t session, uint64_t op, int err,
		    int sys, uint64_t now);
/* err is not 0: the file has failed, whatever off and len are. */
void storm_nm_written(struct storm_nm *nm, uint64_t session, uint64_t op,
		      uint64_t off, size_t len, int err, int sys, uint64_t now);
/* buf is valid during the call; NULL: it could not be read. */
void storm_nm_read(struct storm_nm *nm, uint64_t session, uint64_t op,
		   uint64_t off, const void *buf, size_t len);
void storm_nm_staged(struct storm_nm *nm, uint64_t session, uint64_t op,
		     int err, int sys, uint64_t now);
void storm_nm_applied(struct storm_nm *nm, uint64_t session, uint64_t op,
		      int err, int sys, uint64_t now);

/* This node will report so many ids of that kind, in all.  A subtree that
 * knows everything expected reports at once; a part may wait for the rest
 * (nm_report.c).  So the owner gets the reports of a thousand nodes in a handful
 * of datagrams.  Without this call all is reported, a little later. */
int storm_nm_expect(struct storm_nm *nm, uint64_t session, uint8_t kind,
		    uint32_t count);

/* Report ids of this node: they join the cumulative report, which is
 * retransmitted until the owner acknowledges it.  A code other than 0 goes ahead.  STORM_ENOENT: no session. */
int storm_nm_report(struct storm_nm *nm, uint64_t session, uint8_t kind,
		    uint32_t code, const struct storm_idset *ids, uint64_t now);

/* Global memory: len bytes at base are segment number segment of this node, in
 * every session; they stay the host's, which may read them at any time between
 * its calls, and must be there until base is NULL or another, while no transfer
 * to it is under way.  STORM_EINVAL: segment is out of range. */
int storm_nm_segment(struct storm_nm *nm, uint32_t segment, void *base,
		     size_t len);

/* The host holds so many bytes more, or less, on behalf of the session.
 * STORM_EBUSY: they are more than its owner's user may have, do not take them.
 * STORM_ENOENT. */
int storm_nm_hold(struct storm_nm *nm, uint64_t session, int64_t bytes);

/* This node's number in the session's domain, which another owner may have
 * changed.  STORM_ENOENT. */
int storm_nm_self(struct storm_nm *nm, uint64_t session, uint32_t *self);

/* A variable as this node has it: its own one, or its copy of a global one as
 * far as it has heard. */
int storm_nm_variable(struct storm_nm *nm, uint64_t session, uint32_t var,
		      uint64_t *value);

/*
 * This node as the initiator of XFER-AND-SIGNAL and COMPARE-AND-WRITE, among the
 * ordered operations of the session: as storm_xfer_and_signal() and
 * storm_compare_and_write(), but no files, what is sent fits into a datagram,
 * and a comparison is always an ordered one.  buf is copied.  Ends with
 * requested(token).  ENOENT, ECLOSED (the node is outside), EINVAL, ETOOBIG,
 * ENOMEM: it does not.
 */
int storm_nm_xfer(struct storm_nm *nm, uint64_t session,
		  const struct storm_idset *P, const struct storm_target *to,
		  const void *buf, size_t len, void *token);
int storm_nm_compare(struct storm_nm *nm, uint64_t session,
		     const struct storm_idset *P, uint32_t var,
		     enum storm_relation rel, uint64_t value,
		     const struct storm_assign *write, void *token);

/*
 * For a node's next life, should it die: a note of the cluster domain of this
 * session.  Keep it where that life finds it, and where nobody reads it who must
 * not have the domain's key.
 * Changes when another owner takes over.  Its length; 0: none is to be kept.
 */
#define STORM_NOTE_MAX 128
size_t storm_nm_note(struct storm_nm *nm, uint64_t session,
		     uint8_t buf[static STORM_NOTE_MAX]);
/* The next life has found it: for a while ask the owner to be let in, which else
 * takes as long as the owner needs to miss a node.  STORM_EINVAL: it is no note. */
int storm_nm_return(struct storm_nm *nm, const void *note, size_t len,
		    uint64_t now);

/* Raise an own variable; a lower value changes nothing. */
int storm_nm_own_set(struct storm_nm *nm, uint64_t session,
		     enum storm_own_var var, uint64_t value);

/*
 * Strobes may also be taken in another thread, as strobe.h does, which need not
 * wait for this one.  The gate is what that thread must know of the session.
 * False: the owner's strobes are to be obeyed no more, or its incarnation is
 * not known yet.
 */
bool storm_nm_gate(struct storm_nm *nm, uint64_t session,
		   struct storm_gate *out);
/* That thread has taken so many strobes, the last one of this number at this
 * time. */
void storm_nm_strobed(struct storm_nm *nm, uint64_t session, uint64_t count,
		      uint64_t number, uint64_t at);

/* The sessions, by the number in datagrams: at most max; returns how many there
 * are. */
size_t storm_nm_sessions(const struct storm_nm *nm, uint64_t *session,
			 size_t max);
/* Datagrams that no member has sent, so far. */
uint64_t storm_nm_refused(const struct storm_nm *nm);

/* The session of a step, if one is open for launching; 0: none. */
uint64_t storm_nm_find_step(struct storm_nm *nm, uint32_t job_id,
			    uint32_t step_id, uint32_t step_het);

struct storm_nm_stats {
	uint64_t sessions, sessions_total;
	uint64_t rx_datagrams, rx_bytes, tx_datagrams, tx_bytes;
	uint64_t data_new, data_dup, repaired, nacks_sent, nacks_served;
	uint64_t data_moved;   /* bytes copied, once unsealed, in memory */
	uint64_t data_dropped; /* chunks for which the host had no room */
	uint64_t relayed, strobes;
	uint64_t bad_seal, bad_wire, bad_session, replayed, fenced;
	uint64_t opens_refused;
};
void storm_nm_stats(const struct storm_nm *nm, struct storm_nm_stats *out);

#endif
