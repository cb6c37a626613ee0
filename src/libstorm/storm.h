/*
 * storm.h - the public interface of libstorm.
 *
 * STORM reduces cluster resource management to three network primitives
 * (Frachtenberg et al., "STORM: Scalable Resource Management for Large-Scale
 * Parallel Computers", IEEE Trans. Computers 55(12), 2006, section 2.4.1):
 * XFER-AND-SIGNAL, TEST-EVENT and COMPARE-AND-WRITE.  A program that wants to
 * use them creates a *domain*, an ordered list of nodes, and becomes its
 * owner: it alone orders, decides and names members.  A program that wants to be
 * a node creates a storm_node_t, and is a member of every domain that opens with
 * it.
 *
 * Units: lengths and offsets in bytes, times in nanoseconds of a monotonic
 * clock, node numbers are positions in the domain's list and mean nothing
 * outside it.
 *
 * Where a comment does not say otherwise: any thread may call, and the call does
 * not wait for the network; pointers must not be NULL, what they point to stays
 * the caller's, and is copied where it is needed longer than the call takes;
 * errors are enum storm_err, outputs are written on success alone.  Sections and
 * algorithms are the paper's.  Each call has a page in section 3 of the manual,
 * libstorm(7) is about all of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_H
#define STORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* The library exports what stands here, and nothing else. */
#pragma GCC visibility push(default)

/* ------------------------------------------------------------- errors --- */

/* Stable numbers: they travel on the wire and serve as exit codes of tools. */
enum storm_err {
	STORM_OK = 0,
	STORM_EINVAL = 1,	/* an argument or a wire field is out of range */
	STORM_ENOMEM = 2,
	STORM_ESYS = 3,		/* a system call failed; see the errno beside */
	STORM_ETIME = 4,	/* no answer in time */
	STORM_ENOAGENT = 5,	/* nothing listens on the node's STORM port */
	STORM_EVERSION = 6,	/* the node's agent speaks another version */
	STORM_EAUTH = 7,	/* credential refused */
	STORM_EACCES = 8,	/* authentic, but not allowed to do this */
	STORM_EBUSY = 9,	/* a limit of the node's agent is reached */
	STORM_EEXIST = 10,	/* the target exists and force was not given */
	STORM_EPATH = 11,	/* target path: relative, "..", link, directory */
	STORM_EVERIFY = 12,	/* the staged data are not what was announced */
	STORM_EABORTED = 13,	/* the owner aborted the operation */
	STORM_ELOST = 14,	/* the node left the domain (died or cut off) */
	STORM_ECLOSED = 15,	/* the domain is closed */
	STORM_ENOENT = 16,	/* no such session, operation or segment */
	STORM_ETOOBIG = 17,
	STORM_ESUPERSEDED = 18,	/* another owner has taken over the domain */
	STORM_ERANGE_ = 19	/* one past the last; not an error */
};

/* A short sentence in lower case, not to be freed; never NULL, also for unknown
 * numbers. */
const char *storm_strerror(int err);

/* ------------------------------------------------------------ logging --- */

enum storm_log_level {
	STORM_LOG_ERROR, STORM_LOG_WARN, STORM_LOG_INFO, STORM_LOG_DEBUG
};
typedef void (*storm_log_fn)(enum storm_log_level level, const char *msg);

/* Where messages go, called by any thread with one line; NULL: stderr, warnings
 * and errors only.  Not thread-safe: set it once, before anything else. */
void storm_log_set(storm_log_fn fn);
/* Say something there, as printf() and with %m. */
void storm_log(enum storm_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* -------------------------------------------------------------- nodes --- */

#define STORM_ADDR_LEN 16	/* IPv6, or IPv4 mapped into it */
#define STORM_NAME_MAX 255
#define STORM_NODES_MAX 65536
#define STORM_NO_NODE UINT32_MAX	/* the owner, where a node is named */

struct storm_addr {
	uint8_t ip[STORM_ADDR_LEN];
	uint16_t port;		/* host byte order */
};

struct storm_node {
	const char *name;
	struct storm_addr addr;	/* where its agent listens */
};

/* From an IPv4 address as text and a port.  STORM_EINVAL: it is none. */
int storm_addr_set(struct storm_addr *a, const char *ip, uint16_t port);

/* Inclusive ranges, ascending and disjoint: nodes or tasks.  A set that is
 * all zeroes is empty.  Not thread-safe. */
struct storm_range { uint32_t first, last; };
struct storm_idset { struct storm_range *r; uint32_t count, room; };
/* STORM_OK, STORM_EINVAL where first > last, or STORM_ENOMEM: the set is what
 * it was. */
int storm_idset_add(struct storm_idset *s, uint32_t first, uint32_t last);
bool storm_idset_has(const struct storm_idset *s, uint32_t id);
uint64_t storm_idset_size(const struct storm_idset *s);	/* how many ids */
void storm_idset_clear(struct storm_idset *s);	/* empties, frees what it held */

/* A node set P of an operation has at most so many ranges: it travels in every
 * datagram that says the owner's state. */
#define STORM_SET_RANGES 64

/* ----------------------------------------------------------- settings --- */

/* What datagrams go by.  OPEN goes by TCP in any case. */
enum storm_transport_kind { STORM_TRANSPORT_UDP, STORM_TRANSPORT_VERBS };

#define STORM_DEVICE_MAX 63

/* storm.conf as libstorm sees it; storm_settings_default() is what a LAN needs. */
struct storm_settings {
	enum storm_transport_kind transport;
	bool transport_fallback;	/* verbs: by UDP whoever can't be reached
					   otherwise */
	/* verbs */
	char device[STORM_DEVICE_MAX + 1];	/* or an interface of its port;
					   "": that of the interface */
	uint8_t ib_port;	/* 0: the first one that is active */
	int gid_index;		/* -1: that of the interface's address */
	uint16_t pkey;		/* P_Key; 0: that of the interface */
	uint8_t service_level;	/* of bulk data, 0 to 15; InfiniBand */
	uint8_t service_level_control;	/* of everything else */
	uint32_t recv_depth;	/* datagrams that a receive queue has room for */
	/* verbs, a device or port of its own for what is not bulk data; as above.
	   UDP: an interface of its own for the cluster domain's multicasts.
	   strobe_device "": there is none */
	char strobe_device[STORM_DEVICE_MAX + 1];
	uint8_t strobe_ib_port;
	int strobe_gid_index;
	uint16_t strobe_pkey;
	uint32_t strobe_recv_depth;
	uint32_t strobe_mtu;	/* 0: mtu */
	/* all */
	char interface[16];	/* "": the interface of the default route */
	uint16_t port;		/* UDP and TCP port of every agent */
	bool multicast;		/* false: pipelined relay only */
	uint64_t multicast_timeout;	/* ns after OPEN until multicast that
					   comes not to all is done without */
	struct storm_addr group;	/* first group of the pool */
	uint32_t groups;	/* size of the pool, 1 to 64 */
	uint8_t ttl;		/* multicast TTL */
	uint8_t dscp;		/* of bulk data, 0 to 63 */
	uint8_t dscp_control;	/* of everything else */
	uint32_t radix;		/* of the combining tree, 2 to 64 */
	uint64_t window;	/* W, bytes sent and not yet written everywhere */
	uint64_t rate;		/* bytes/s, 0: as fast as nothing is lost */
	uint32_t socket_buffer;	/* bytes asked for each data socket */
	uint32_t mtu;		/* largest IP packet; 0: the interface's MTU */
	uint64_t open_timeout;	/* ns: OPEN sent -> all answered */
	uint64_t dead_timeout;	/* ns of silence until a node counts as lost */
	uint64_t op_timeout;	/* ns without progress until an operation aborts */
	uint64_t heartbeat;	/* ns between the owner's signs of life */
	uint32_t sessions_max;	/* per agent */
	uint32_t drop_ppm;	/* test: datagrams dropped on receipt, per million */
	uint64_t drop_seed;
};
/* All of them; nothing was in there that would have to be freed. */
void storm_settings_default(struct storm_settings *set);

/* ------------------------------------------------------------- domain --- */

typedef struct storm_domain storm_domain_t;
typedef struct storm_event storm_event_t;

/* A node and why it failed.  sys is an errno; with STORM_EVERSION the version
 * of the node's agent; or 0. */
struct storm_fault {
	uint32_t node;
	enum storm_err why;
	int sys;
};

/* The protocol version that this library speaks, as all nodes of a domain do. */
int storm_protocol_version(void);

/* How an operation ended (architecture: DONE, ABORTED, UNKNOWN). */
enum storm_state {
	STORM_PENDING,
	STORM_DONE,	/* every member shows it; nodes lost after the decision
			   stand in the faults */
	STORM_ABORTED,	/* no member shows it or ever will; culprits named */
	STORM_UNKNOWN	/* the domain was lost before the answer came */
};

struct storm_outcome {
	enum storm_state state;
	struct storm_fault *faults;	/* by node; owned by whoever got the
					   outcome, storm_outcome_clear() */
	uint32_t nfaults;		/* all of them */
	uint32_t faults_kept;		/* how many are in the array */
};
/* Frees what it holds and leaves it all zeroes.  One thread at a time. */
void storm_outcome_clear(struct storm_outcome *out);

/* What nodes say of a step: cumulative sets by (kind, code).  A report is
 * delivered once for each newly heard (kind, code, ids); the ids are nodes or
 * tasks, as the kind's sender chose.  libstorm gives the numbers no meaning. */
#define STORM_REPORT_KINDS 8
#define STORM_REPORT_TERMINATED 7	/* libstorm's own, never delivered */
struct storm_report {
	uint8_t kind;		/* < STORM_REPORT_TERMINATED */
	uint32_t code;
	struct storm_idset ids;	/* valid during the call */
};

struct storm_domain_conf {
	const struct storm_node *nodes;	/* copied */
	uint32_t count;			/* 1 to STORM_NODES_MAX */
	struct storm_settings set;	/* copied */
	struct storm_addr self;		/* owner's address as nodes see it;
					   all zeroes: found from the route to
					   the first node.  Port ignored. */
	uint32_t agent_uid;		/* MUNGE: only this uid may decode */
	uint32_t job_id, step_id, step_het;	/* told to the nodes */
	/*
	 * The cluster domain: a number other than 0, the same for all of its
	 * owners.  It outlives them (architecture: "Owner death"): nodes keep
	 * their variables and the operation under way for the next owner,
	 * nodes that cannot be reached are excluded instead of failing OPEN,
	 * and come back by JOIN.  epoch and excluded are what was saved last
	 * (0 and none: never); save() keeps an epoch before it is used, and
	 * only if the one saved last is still was: otherwise it returns
	 * non-zero, this owner has been superseded, and what is pending ends.
	 * Called with the domain's lock held: no domain call from it.
	 */
	uint64_t cluster;		/* 0: a step domain */
	uint32_t epoch;
	const struct storm_idset *excluded;	/* copied; NULL: none */
	int (*save)(void *arg, uint32_t was, uint32_t epoch,
		    const struct storm_idset *excluded);
	const void *authority;		/* opaque to libstorm: the sbcast
					   credential; NULL: none; copied */
	size_t authority_len;
	/* Called from the domain's thread, without its lock; either may be
	 * NULL.  They may call storm_strerror and storm_log, no domain call. */
	void (*on_report)(void *arg, const struct storm_report *r);
	void (*on_fault)(void *arg, const struct storm_fault *f);
	void (*on_joined)(void *arg, uint32_t node);	/* it is back */
	/*
	 * A member is overdue: it was not heard for far longer than it used
	 * to be, which its signs so far decide; at least four of its signs are
	 * missing (it gives twenty in dead_timeout and two in heartbeat, at
	 * least), and at most three quarters of dead_timeout are past.  Once;
	 * and once that it is back.  It stays a member: who is dead is in
	 * on_fault.
	 */
	void (*on_overdue)(void *arg, uint32_t node, bool back);
	void *arg;
};

/* Create a domain; nothing is sent yet, and no thread runs.  The caller frees it
 * with storm_domain_destroy().  NULL and *err on failure: STORM_EINVAL,
 * STORM_ENOMEM, or STORM_ESYS where there is no such interface. */
storm_domain_t *storm_domain_create(const struct storm_domain_conf *conf,
				    int *err);

/* OPEN it: start the thread, send OPEN down the tree.  Operations that were
 * queued before travel with OPEN.  Returns at once.  STORM_EINVAL: it was opened
 * before; STORM_EAUTH: MUNGE makes no credential; STORM_ESUPERSEDED; STORM_ENOMEM;
 * STORM_ESYS: no thread. */
int storm_domain_open(storm_domain_t *d);

/* Wait until every node has answered OPEN, at most open_timeout.  STORM_OK: all are
 * members (in the cluster domain: all who answered); otherwise the first fault's error, out (may be NULL) has all of them and
 * the domain is good for storm_domain_destroy() alone. */
int storm_domain_wait_open(storm_domain_t *d, struct storm_outcome *out);

/*
 * Is it still ours?  For an owner of the cluster domain that has stood still, while
 * another may have taken over: the next epoch begins, with the same members, and what
 * was sent before it counts no more where it is heard.  STORM_OK; STORM_ESUPERSEDED:
 * another owns the domain, or nothing can be saved: this one says nothing any more;
 * STORM_ECLOSED: it is not open, or no cluster's; STORM_ENOMEM.  Any thread.
 */
int storm_domain_confirm(storm_domain_t *d);

/*
 * CLOSE: tell the nodes, wait for the thread, free everything (NULL is fine).
 * Pending operations end first: ABORTED, or UNKNOWN if they were decided but
 * not known to be shown everywhere.  Their events live on, and may be tested
 * and destroyed at any time after; who waits for one meanwhile is woken.  No
 * other call may be under way on the domain itself.
 */
void storm_domain_destroy(storm_domain_t *d);

/* The owner's address on the rail, as in OPEN; after create. */
void storm_domain_self(const storm_domain_t *d, struct storm_addr *self);

/* --------------------------------------------------------- primitives --- */

enum storm_target_kind {
	STORM_TARGET_MEMORY = 1,	/* handed to the node with its event */
	STORM_TARGET_FILE = 2,
	STORM_TARGET_SEGMENT = 3	/* written into global memory */
};

#define STORM_SEGMENTS 16	/* per node */

#define STORM_FILE_FORCE	0x1	/* replace what is there */
#define STORM_FILE_TIMES	0x2	/* set atime and mtime */
#define STORM_FILE_LIBDIR	0x4	/* also make directory "<path>_libs" */
#define STORM_FILE_IN_LIBDIR	0x8	/* path is a name inside that directory */
#define STORM_FILE_FLAGS	0xf
/* As Slurm's sbcast: no set-id and no sticky bit goes along, not even of one's
 * own files (with -p neither). */
#define STORM_FILE_MODE		0777

/* Where a transfer lands on the nodes. */
struct storm_target {
	enum storm_target_kind kind;
	uint32_t remote_event;	/* signalled once, after the data */
	/* kind FILE: */
	const char *path;	/* absolute, or a bare name with IN_LIBDIR */
	uint32_t flags;
	uint32_t mode;		/* within STORM_FILE_MODE */
	int64_t atime, mtime;	/* seconds since the epoch */
	/* kind SEGMENT: the paper's global address, the same on all nodes */
	uint32_t segment;	/* < STORM_SEGMENTS */
	uint64_t offset;
};

/*
 * XFER-AND-SIGNAL(P, gaddr, buf, len, remote_event, local_event): non-blocking,
 * all or nothing (paper 2.4.1, Algorithm 10).  P: nodes of the domain, copied;
 * NULL: all members.  The returned event is the only way to learn of
 * completion.  buf must stay readable and unchanged until the event is no
 * longer PENDING.  Operations of a domain run one after the other in the order
 * of the calls, whatever their node sets: that makes them sequentially
 * consistent.  A node of P that is no member aborts the operation.
 * NULL: no memory, the domain is closed, there is no such target, or P is
 * empty, not of this domain, or of more than STORM_SET_RANGES ranges.
 */
storm_event_t *storm_xfer_and_signal(storm_domain_t *d,
				     const struct storm_idset *P,
				     const struct storm_target *to,
				     const void *buf, uint64_t len);

/*
 * TEST-EVENT(event, block): poll, or block until deadline (absolute,
 * CLOCK_MONOTONIC ns; 0: for ever).  True once the event is no longer
 * PENDING; out (may be NULL) is then filled.  (Algorithm 11)
 */
bool storm_test_event(storm_event_t *e, bool block, uint64_t deadline,
		      struct storm_outcome *out);

/*
 * Nobody asks for this event any more (NULL is fine); not while another thread
 * is in storm_test_event on it.  Never waits.  A PENDING operation is called
 * off: if it is not decided yet, no member shows it or ever will; and its buf
 * is not read again.  The domain goes on.
 */
void storm_event_destroy(storm_event_t *e);

/* How far a transfer is: bytes written by every node of its set; all of them once it
 * is no longer PENDING. */
uint64_t storm_event_progress(storm_event_t *e);

enum storm_relation { STORM_GE, STORM_LT, STORM_EQ, STORM_NE };
enum storm_compare { STORM_TRUE, STORM_FALSE, STORM_FAILED };

/*
 * Variables are 64-bit unsigned numbers, one of each on every node, all zero
 * at first.  Own variables are written by their node alone and never fall;
 * comparing one is an unordered reduction.  Global variables are written by
 * COMPARE-AND-WRITE alone, and every operation on them is ordered by the owner.
 */
enum storm_own_var {
	STORM_VAR_TERMINATED = 0,	/* generations of processes ended here */
	STORM_VAR_HEARTBEAT = 1,	/* number of the last strobe seen */
	STORM_VAR_USER = 2,		/* first one libstorm does not use */
	STORM_VARS = 8
};
#define STORM_GLOBALS 64
#define STORM_GLOBAL(i) (0x100u + (uint32_t) (i))	/* i < STORM_GLOBALS */

/* What COMPARE-AND-WRITE writes where the relation holds. */
struct storm_assign {
	uint32_t var;		/* STORM_GLOBAL(i) */
	uint64_t value;
};

/*
 * COMPARE-AND-WRITE(P, var, relation, value, var_W, value_W): TRUE if the
 * relation holds on all of P, and then *write (NULL: none) has been done on all
 * of P; FALSE if some node of P said no; FAILED, with the nodes in out, where
 * not all could be asked: never a FALSE for silence.  (Paper 2.4.1, Algorithm
 * 12.)  P as in storm_xfer_and_signal().  var is an own or a global variable.
 * Without a write, over an own variable, it runs beside other operations and
 * blocks at most op_timeout; otherwise it is one of the ordered operations and
 * waits for those before it.  out (may be NULL): state DONE with TRUE and
 * FALSE (nodes lost after the decision are named), ABORTED or UNKNOWN with
 * FAILED.  Any thread, several at a time.
 */
enum storm_compare storm_compare_and_write(storm_domain_t *d,
					   const struct storm_idset *P,
					   uint32_t var,
					   enum storm_relation rel,
					   uint64_t value,
					   const struct storm_assign *write,
					   struct storm_outcome *out);

#define STORM_STROBE_MAX 256	/* bytes of data in a strobe */

/*
 * A strobe to all members: data that describe what is true now, such as whose
 * turn it is (paper 2.4.2, where it is a heartbeat).  It is sent before the call
 * returns, by multicast where there is one, is acknowledged by nobody and never
 * sent again: who misses it hears the next one.  Returns its number, which rises from
 * strobe to strobe of all owners of a domain; nodes take none that was overtaken.
 * 0: the domain is not open, or len is more than STORM_STROBE_MAX.  Any thread.
 */
uint64_t storm_strobe(storm_domain_t *d, const void *data, size_t len);

/*
 * ISSUE-HEARTBEAT (paper 2.4.2, Algorithm 4) and who missed it (2.4.3): a strobe
 * to all members, and a COMPARE-AND-WRITE that asks P (NULL: all members) whether
 * it came; of those who answer that it did not the sets are halved until the nodes
 * are found.  STORM_OK: all of P have it.  STORM_ETIME: those in missed (set by
 * this call; the caller's to clear) have not, and answer.  Otherwise the first
 * fault's error: the nodes in out (may be NULL) do not answer, and those in missed
 * as before.  number (may be NULL): the strobe's.  Blocks at most op_timeout for
 * each question.  STORM_ECLOSED; STORM_EINVAL: len, or P as in
 * storm_xfer_and_signal().  Any thread.
 */
int storm_heartbeat(storm_domain_t *d, const struct storm_idset *P,
		    const void *data, size_t len, uint64_t *number,
		    struct storm_idset *missed, struct storm_outcome *out);

/* ---------------------------------------------------- the nodes' side --- */

typedef struct storm_node_manager storm_node_t;	/* this program as a node */
typedef struct storm_member storm_member_t;	/* of one domain */

/* Numbers 1 to STORM_EVENTS - 1 of remote events can be tested for; 0 says that
 * there is none, and what is larger comes with on_signal() alone. */
#define STORM_EVENTS 64

struct storm_node_conf {
	const char *name;	/* as in the owners' lists; copied */
	struct storm_settings set;	/* interface, port, and so on; copied */
	uint32_t owner_uid;	/* only this uid may open a domain with us */
	const char *root;	/* directory for FILE targets: their paths begin
				   there, and no symbolic link is followed;
				   NULL: no files are taken; copied */
	/* A remote event is signalled.  buf: the data of a MEMORY target, valid
	 * during the call; the place in the segment; NULL with a file.  Called
	 * from the node's thread, without its lock, in the order of the owner's
	 * operations; no storm_node_destroy() in there.  May be NULL. */
	void (*on_signal)(void *arg, storm_member_t *m, uint32_t event,
			  const void *buf, size_t len);
	/* A strobe came (Algorithm 5): with a higher number than all before.
	 * Called as on_signal() is; buf is valid during the call.  May be
	 * NULL. */
	void (*on_strobe)(void *arg, storm_member_t *m, uint64_t number,
			  const void *buf, size_t len);
	void *arg;
};

/*
 * Be a node: listen on the port of the settings, answer every owner who may
 * (MUNGE says who he is), take part in the combining tree of every domain.  A
 * thread does all that.  NULL and *err on failure; the reason was logged.
 */
storm_node_t *storm_node_create(const struct storm_node_conf *conf, int *err);

/* Leave all domains, without a word to their owners, and free the node (NULL is
 * fine).  Members live on, closed, until they are released; who waits for an
 * event of theirs is woken.  No other call may be under way on the node. */
void storm_node_destroy(storm_node_t *n);

/* Where owners find it: what to put into struct storm_node. */
void storm_node_address(const storm_node_t *n, struct storm_addr *out);

/*
 * Register global memory (paper 2.4.1: global data): len bytes at base are
 * segment number `segment` of this node, in every domain.  They stay the
 * caller's, are written by the node's thread between STAGED and the remote
 * event, and must be there until the segment is registered anew (base NULL:
 * taken back) or the node destroyed.  STORM_EINVAL: no such segment.
 * Any thread.
 */
int storm_node_segment(storm_node_t *n, uint32_t segment, void *base,
		       size_t len);

/*
 * The next domain that was opened with this node, oldest first; block and
 * deadline as in storm_test_event().  NULL: none (yet).  A domain that nobody
 * accepts works all the same.  Any thread.
 */
storm_member_t *storm_node_accept(storm_node_t *n, bool block,
				  uint64_t deadline);

/* Forget a member (NULL is fine); its domain goes on.  Not while another thread
 * uses it. */
void storm_member_release(storm_member_t *m);

struct storm_member_info {
	uint32_t node, count;	/* this node's number, of so many */
	uint32_t uid;		/* the owner's */
	uint32_t job_id, step_id, step_het;	/* as the owner told */
};
void storm_member_info(const storm_member_t *m, struct storm_member_info *out);

/*
 * TEST-EVENT at the receiving side: take one signal of this remote event, or
 * block until there is one; deadline as in storm_test_event().  Its data are
 * there.  Signals are counted: one for each transfer.  STORM_OK; STORM_ETIME:
 * none by now; STORM_ECLOSED: none, and the domain is over; STORM_EINVAL.
 * Any thread.  (Algorithm 11)
 */
int storm_member_test_event(storm_member_t *m, uint32_t event, bool block,
			    uint64_t deadline);

/* A variable as this node has it: one of its own, or its copy of a global one.
 * STORM_EINVAL: there is none; STORM_ECLOSED.  Any thread. */
int storm_member_variable(storm_member_t *m, uint32_t var, uint64_t *value);

/* Raise an own variable of this node; a lower value changes nothing.
 * STORM_EINVAL; STORM_ECLOSED.  Any thread. */
int storm_member_own_set(storm_member_t *m, enum storm_own_var var,
			 uint64_t value);

/*
 * XFER-AND-SIGNAL by this node: as storm_xfer_and_signal(), ordered by the owner
 * among all operations of the domain, but for files, and no more than a datagram
 * holds: some 1200 bytes.  buf is copied.  Where the domain is lost before the
 * answer, the outcome is UNKNOWN.  A PENDING one cannot be called off: its event
 * may be destroyed all the same.  NULL as there, or too much.  Any thread.
 */
storm_event_t *storm_member_xfer_and_signal(storm_member_t *m,
					    const struct storm_idset *P,
					    const struct storm_target *to,
					    const void *buf, size_t len);

/* COMPARE-AND-WRITE by this node: as storm_compare_and_write(), and always one of
 * the ordered operations.  Blocks.  Any thread. */
enum storm_compare
storm_member_compare_and_write(storm_member_t *m, const struct storm_idset *P,
			       uint32_t var, enum storm_relation rel,
			       uint64_t value,
			       const struct storm_assign *write,
			       struct storm_outcome *out);

/*
 * Tell the owner of ids (nodes or tasks) by kind and code, see struct
 * storm_report: until he has acknowledged it, and combined with what the others
 * say.  STORM_EINVAL: no such kind; STORM_ECLOSED; STORM_ENOMEM.  Any thread.
 */
int storm_member_report(storm_member_t *m, uint8_t kind, uint32_t code,
			const struct storm_idset *ids);

/* ------------------------------------------------------ file transfer --- */

/*
 * TRANSFER-FILE (Algorithm 6): storm_xfer_and_signal() of what is in a regular
 * file, from its beginning to the end it has now.  to is of kind FILE, as a rule.
 * fd may be closed at once; the file must not be made shorter before the event is
 * destroyed.  NULL as there, errno 0; or errno says what is wrong with the file.
 */
storm_event_t *storm_transfer_file(storm_domain_t *d,
				   const struct storm_idset *P, int fd,
				   const struct storm_target *to);

/* -------------------------------------------------------- termination --- */

/*
 * ANNOUNCE-TERMINATION (Algorithm 9), on a node: its processes of this generation
 * have ended, and so have those of all before.  Generations are 1, 2, 3, ... and
 * below UINT32_MAX; what one is, a job or a phase of it, is the program's affair.
 * STORM_EINVAL; STORM_ECLOSED; STORM_ENOMEM.  Any thread.
 */
int storm_announce_termination(storm_member_t *m, uint32_t generation);

/*
 * DETECT-TERMINATION (Algorithm 8): wait until every node of P (NULL: all
 * members) has announced this generation, at most until the deadline (absolute,
 * CLOCK_MONOTONIC ns; 0: for ever).  Before the first announcement nothing is
 * sent.  STORM_OK; STORM_ETIME: not yet; STORM_ECLOSED; or why a node could not be
 * asked, out (may be NULL) having all of them.  Any thread.
 */
int storm_detect_termination(storm_domain_t *d, const struct storm_idset *P,
			     uint32_t generation, uint64_t deadline,
			     struct storm_outcome *out);

/* ------------------------------------------------------- remote queue --- */

/*
 * A queue on each node that the owner fills and the node empties (paper 2.4.2):
 * slots in a segment that all of them have registered.  Both sides must be given
 * the same.  In a domain, an event and a variable are one queue's alone.
 */
struct storm_queue_conf {
	uint32_t segment;
	uint64_t offset;	/* in the segment, of the first slot */
	uint32_t slots;		/* at least 1 */
	uint32_t slot_size;	/* bytes of data that one holds */
	uint32_t event;		/* remote event, 1 to STORM_EVENTS - 1 */
	enum storm_own_var dequeued;	/* STORM_VAR_USER or above */
};
typedef struct storm_queue storm_queue_t;

/* Bytes that it takes in the segment, from its offset on. */
size_t storm_queue_bytes(const struct storm_queue_conf *conf);

/* The owner's side.  d must outlive it; P (NULL: all members) and conf are
 * copied.  Nothing is sent.  NULL: no memory, or conf is out of range.  After a
 * take-over, or when a node has joined again, a new one is needed, of another event
 * and variable.  Not thread-safe. */
storm_queue_t *storm_queue_create(storm_domain_t *d,
				  const struct storm_idset *P,
				  const struct storm_queue_conf *conf);
/* NULL is fine.  An ENQUEUE that is not decided yet is called off. */
void storm_queue_destroy(storm_queue_t *q);

/*
 * ENQUEUE (Algorithm 2): wait until the ENQUEUE before has ended and every node
 * has a slot free (AWAIT-SPACE, Algorithm 1), at most until the deadline
 * (absolute, CLOCK_MONOTONIC ns; 0: for ever); then send data, which are copied,
 * and signal the queue's event.  *event (may be NULL) is its local event: the
 * queue's, good for storm_test_event() until the next call for this queue.  Where
 * it says ABORTED, no node has got the data and the queue goes on without them.
 * STORM_ETIME: no space in time, nothing was sent; STORM_ETOOBIG: larger than a
 * slot; STORM_ECLOSED; or why a node could not be asked.
 */
int storm_enqueue(storm_queue_t *q, const void *data, size_t len,
		  uint64_t deadline, storm_event_t **event);

/*
 * DEQUEUE (Algorithm 3), on a node: wait for the event as
 * storm_member_test_event() does, copy the data at the head into buf, which has
 * room for slot_size bytes, and free the slot.  base: the segment's.  *len: how
 * many.  One thread at a time for each queue.  Errors as there; STORM_EVERIFY: the
 * slot was overwritten.
 */
int storm_dequeue(storm_member_t *m, const struct storm_queue_conf *conf,
		  const void *base, bool block, uint64_t deadline, void *buf,
		  size_t *len);

/* --------------------------------------------------------- statistics --- */

/* ns, CLOCK_MONOTONIC; 0: did not happen. */
struct storm_timeline {
	uint64_t create, open_sent, opened;
	uint64_t first_byte, last_byte;	/* of the last transfer */
	uint64_t repair_first, repair_last;
	uint64_t written, staged, decided, applied;
};

struct storm_stats {
	uint64_t tx_datagrams, tx_bytes;	/* UDP payload */
	uint64_t rx_datagrams, rx_bytes;
	uint64_t tx_data, tx_repair;	/* DATA frames sent first time, again */
	uint64_t nacks;			/* received */
	uint64_t repaired;		/* chunks that nodes got by repair, as
					   far as they have told */
	uint64_t bad_seal, bad_wire, bad_session, replayed, fenced;
	uint64_t dropped_by_test;
	uint32_t epoch;
	bool multicast;			/* false: the relay was used */
};
/* Both at any time between create and destroy. */
void storm_domain_timeline(storm_domain_t *d, struct storm_timeline *out);
void storm_domain_stats(storm_domain_t *d, struct storm_stats *out);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
