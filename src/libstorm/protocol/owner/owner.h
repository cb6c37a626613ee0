/*
 * owner.h - the owner of a step domain as a state machine without I/O: it alone
 * orders operations, decides them, and determines which nodes are members.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_OWNER_H
#define STORM_OWNER_H

#include "src/libstorm/storm.h"
#include "src/libstorm/transport/transport.h"

struct storm_owner;

/* Callbacks, from within the calls below.  The callee clears outcomes. */
struct storm_owner_ops {
	/* All nodes have answered OPEN; or it has failed: not DONE, and out has
	 * the faults. */
	void (*opened)(void *arg, struct storm_outcome *out);
	void (*xfer_done)(void *arg, void *token, struct storm_outcome *out);
	void (*compare_done)(void *arg, void *token, enum storm_compare result,
			     struct storm_outcome *out);
	/* A gather has ended; the callee clears table and out, too.  May be
	 * NULL for an owner that gathers nothing. */
	void (*gathered)(void *arg, void *token, struct storm_gathered *table,
			 struct storm_outcome *out);
	void (*report)(void *arg, const struct storm_report *r);
	void (*fault)(void *arg, const struct storm_fault *f);
	/* Cluster domain: a node is a member again.  May be NULL. */
	void (*joined)(void *arg, uint32_t node);
	/* A member is overdue (see detector.h), or back from that.  May be
	 * NULL. */
	void (*overdue)(void *arg, uint32_t node, bool back);
	/* Cluster domain with signs of life: see storm.h.  May be NULL. */
	void (*finding)(void *arg, const struct storm_finding *f);
};

/* Where the bytes of a transfer are. */
struct storm_bytes {
	const uint8_t *buf; /* in memory; NULL: at() has them */
	/* Returns len bytes from off on, which stay until the next call.  NULL:
	 * they cannot be read; *sys is an errno, or 0 if there are fewer. */
	const void *(*at)(void *arg, uint64_t off, size_t len, int *sys);
	void *arg;
};

/* Create an owner.  conf is copied; t must outlive it.  self: the owner's
 * address, as nodes are to see it.  NULL and *err (enum storm_err) on failure.
 * Not thread-safe: one thread at a time calls, with now in monotonic ns. */
struct storm_owner *storm_owner_create(const struct storm_domain_conf *conf,
				       struct storm_transport *t,
				       const struct storm_addr *self,
				       const struct storm_owner_ops *ops,
				       void *arg, int *err);
void storm_owner_destroy(struct storm_owner *o);

/* Send OPEN; ends with opened().  STORM_OK or an error, as
 * storm_domain_open(). */
int storm_owner_open(struct storm_owner *o, uint64_t now);
/* Queue a transfer to P, which is copied (NULL: all members).  buf must stay
 * until xfer_done(token); token is not NULL. */
int storm_owner_xfer(struct storm_owner *o, const struct storm_idset *P,
		     const struct storm_target *to, const void *buf,
		     uint64_t len, void *token, uint64_t now);
/* Queue a transfer of bytes that are fetched when they are sent, and once more
 * if they are lost. */
int storm_owner_xfer_from(struct storm_owner *o, const struct storm_idset *P,
			  const struct storm_target *to,
			  const struct storm_bytes *from, uint64_t len,
			  void *token, uint64_t now);
/* The caller does not wait for this transfer any more.  If it is not decided
 * yet, it aborts.  Its bytes are not read again, and xfer_done() is not called
 * for it. */
void storm_owner_forget(struct storm_owner *o, void *token, uint64_t now);
/* If this transfer is not decided yet, it aborts.  True: it has, or will; its
 * xfer_done() is called as usual, and its bytes must stay until then.  False: it
 * is decided otherwise, or has ended. */
bool storm_owner_cancel(struct storm_owner *o, const void *token, uint64_t now);
/* These ids of a kind are over: they are not reported any more, and are
 * acknowledged in as few ranges as they have together.  STORM_EINVAL: no such kind;
 * STORM_ENOMEM. */
int storm_owner_report_forget(struct storm_owner *o, uint8_t kind,
			      const struct storm_idset *ids);
/* Compare; ends with compare_done(token).  A comparison of an own variable
 * without a write waits only for others like it.  Any other one is queued with
 * the transfers. */
int storm_owner_compare(struct storm_owner *o, const struct storm_idset *P,
			uint32_t var, enum storm_relation rel, uint64_t value,
			const struct storm_assign *write, void *token,
			uint64_t now);
/* Compare an own variable, without a write.  limit: ns after which it fails at
 * the latest. */
int storm_owner_compare_within(struct storm_owner *o,
			       const struct storm_idset *P, uint32_t var,
			       enum storm_relation rel, uint64_t value,
			       uint64_t limit, void *token, uint64_t now);
/* Gather; ends with gathered(token).  limit: ns after which it ends at the
 * latest, from its turn on. */
int storm_owner_gather(struct storm_owner *o, const struct storm_idset *P,
		       const void *query, size_t len, uint64_t limit,
		       void *token, uint64_t now);
/*
 * These nodes of a cluster domain have not answered questions.  If one of them
 * still sends signs of life, no datagram reaches it: exclude it, unless its
 * parent in the tree is one of them, too.  relays: only if it is above others.  It
 * keeps from these what goes down the tree, and from the owner what goes up.
 * STORM_OK; STORM_ENOENT: there is none such; or why that could not be done.
 */
int storm_owner_cut(struct storm_owner *o, const struct storm_idset *nodes,
		    bool relays, uint64_t now);
/* Copy P (NULL: all members) to out, which must be empty. */
int storm_owner_nodes(const struct storm_owner *o, const struct storm_idset *P,
		      struct storm_idset *out);
/* Send a strobe to all members at once.  Returns its number, see
 * storm_strobe().  0: the domain is not open, or len is greater than
 * STORM_STROBE_MAX. */
uint64_t storm_owner_strobe(struct storm_owner *o, const void *body,
			    size_t len);
/* See storm_domain_confirm(). */
int storm_owner_confirm(struct storm_owner *o, uint64_t now);
/* The session's number, as datagrams have it; 0: it was not opened. */
uint64_t storm_owner_session(const struct storm_owner *o);
/* Send CLOSE to all; pending operations end.  Only destroy may follow. */
void storm_owner_close(struct storm_owner *o, uint64_t now);

/* Input: the calls of struct storm_net_handler. */
void storm_owner_datagrams(struct storm_owner *o, struct storm_rx *rx, size_t n,
			   uint64_t now);
void storm_owner_stream_failed(struct storm_owner *o, uint64_t session,
			       uint32_t node, enum storm_err why, int sys,
			       uint64_t now);
/* Another thread takes PULSE, with the same lock, from now on.  Its calls: a
 * datagram has come (false: it is refused), and run timers, which returns the
 * latest time of the next call. */
void storm_owner_pulse_elsewhere(struct storm_owner *o);
bool storm_owner_pulse(struct storm_owner *o, const uint8_t *buf, size_t len,
		       uint64_t now);
uint64_t storm_owner_pulse_tick(struct storm_owner *o, uint64_t now);
/* Run timers and send bulk data.  Returns the latest time of the next call. */
uint64_t storm_owner_tick(struct storm_owner *o, uint64_t now);

/* Bytes of this transfer that all nodes have written; 0 if it has ended. */
uint64_t storm_owner_progress(const struct storm_owner *o, const void *token);
/* Add to out the nodes that this operation waits for.  False: none is known, or
 * it is not under way. */
bool storm_owner_behind(const struct storm_owner *o, const void *token,
			struct storm_idset *out);
void storm_owner_timeline(const struct storm_owner *o,
			  struct storm_timeline *out);
void storm_owner_stats(const struct storm_owner *o, struct storm_stats *out);

#endif
