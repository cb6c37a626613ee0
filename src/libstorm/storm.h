/*
 * storm.h - the public interface of libstorm.
 *
 * The STORM paper reduces resource management to three network primitives
 * (Frachtenberg et al., "STORM: Scalable Resource Management for Large-Scale
 * Parallel Computers", IEEE Trans. Computers 55(12), 2006, section 2.4.1):
 * XFER-AND-SIGNAL, TEST-EVENT and COMPARE-AND-WRITE.  A program that uses them
 * creates a *domain*, an ordered list of nodes, and becomes its owner.  The
 * owner alone orders operations, decides them and admits members.  A program
 * that serves as a node creates a storm_node_t.  It is a member of every domain
 * that is opened with it.
 *
 * Units: lengths and offsets are in bytes, times in nanoseconds of a monotonic
 * clock.  Node numbers are positions in the domain's list and mean nothing
 * outside it.
 *
 * Unless a comment states otherwise:
 * - any thread may call, and the call does not wait for the network;
 * - pointers must not be NULL; the caller keeps ownership of what they point
 *   to, and libstorm copies what it needs after the call;
 * - errors are enum storm_err; outputs are written on success only.
 * Sections and algorithms are the paper's.  Each call has a page in section 3
 * of the manual; libstorm(7) is the overview.
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
/* The library exports the names declared here, and no others. */
#pragma GCC visibility push(default)

/* ------------------------------------------------------------- errors --- */

/* The numbers are stable: they are sent on the wire and are exit codes of
 * tools. */
enum storm_err {
	STORM_OK = 0,
	STORM_EINVAL = 1, /* an argument or a wire field is out of range */
	STORM_ENOMEM = 2,
	STORM_ESYS = 3,	     /* a system call failed; an errno is beside */
	STORM_ETIME = 4,     /* no answer in time */
	STORM_ENOAGENT = 5,  /* nothing listens on the node's STORM port */
	STORM_EVERSION = 6,  /* the node's agent has another version */
	STORM_EAUTH = 7,     /* credential refused: not authenticated */
	STORM_EACCES = 8,    /* authenticated, but not permitted */
	STORM_EBUSY = 9,     /* a limit of the node's agent is reached */
	STORM_EEXIST = 10,   /* the target exists and force was not given */
	STORM_EPATH = 11,    /* target path: relative, "..", link, directory */
	STORM_EVERIFY = 12,  /* the data do not match the announcement */
	STORM_EABORTED = 13, /* the owner aborted the operation */
	STORM_ELOST = 14,    /* the node died or was cut off */
	STORM_ECLOSED = 15,  /* the domain is closed */
	STORM_ENOENT = 16,   /* no such session, operation or segment */
	STORM_ETOOBIG = 17,  /* the data exceed a limit */
	STORM_ESUPERSEDED = 18, /* another owner has taken over the domain */
	STORM_EHUNG = 19,	/* the file system does not answer */
	STORM_ESOURCE = 20, /* the owner cannot read what it sends; an errno, or
			       0: the file became shorter */
	STORM_ERROR_END = 21 /* one past the last error */
};

/* A static string in lower case; the caller must not free it.  Never NULL: an
 * unknown number gives "unknown error". */
const char *storm_strerror(int err);

/* ------------------------------------------------------------ logging --- */

enum storm_log_level {
	STORM_LOG_ERROR,
	STORM_LOG_WARN,
	STORM_LOG_INFO,
	STORM_LOG_DEBUG
};
typedef void (*storm_log_fn)(enum storm_log_level level, const char *msg);

/* Set the function that receives log messages.  Any thread may call fn, with
 * one line each time.  NULL: print warnings and errors on stderr.  Not
 * thread-safe: call it once, before any other function. */
void storm_log_set(storm_log_fn fn);
/* Log a message.  fmt as for printf(), plus %m. */
void storm_log(enum storm_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* -------------------------------------------------------------- nodes --- */

#define STORM_ADDR_LEN 16 /* IPv6, or IPv4 mapped into it */
#define STORM_NAME_MAX 255
#define STORM_NODES_MAX 65536
#define STORM_NO_NODE UINT32_MAX /* the owner, in place of a node */

struct storm_addr {
	uint8_t ip[STORM_ADDR_LEN];
	uint16_t port; /* host byte order */
};

struct storm_node {
	const char *name;
	struct storm_addr addr; /* where its agent listens */
};

/* Set *a from an IPv4 address as text and a port.  STORM_EINVAL: ip is not an
 * IPv4 address. */
int storm_addr_set(struct storm_addr *a, const char *ip, uint16_t port);

/* A set of nodes or tasks: inclusive ranges, ascending and disjoint.  An
 * all-zero set is empty.  Not thread-safe. */
struct storm_range {
	uint32_t first, last;
};
struct storm_idset {
	struct storm_range *r;
	uint32_t count, room;
};
/* Add first to last.  STORM_EINVAL if first > last, or STORM_ENOMEM: the set is
 * unchanged. */
int storm_idset_add(struct storm_idset *s, uint32_t first, uint32_t last);
bool storm_idset_has(const struct storm_idset *s, uint32_t id);
uint64_t storm_idset_size(const struct storm_idset *s); /* number of ids */
void storm_idset_clear(struct storm_idset *s); /* empty it, free its memory */

/* Most ranges in the node set P of an operation: every datagram with the
 * owner's state carries P. */
#define STORM_SET_RANGES 64

/* ----------------------------------------------------------- settings --- */

/* The transport of datagrams.  OPEN always uses TCP. */
enum storm_transport_kind { STORM_TRANSPORT_UDP, STORM_TRANSPORT_VERBS };

#define STORM_DEVICE_MAX 63

/* The keys of storm.conf that libstorm uses.  storm_settings_default() suits a
 * LAN. */
struct storm_settings {
	enum storm_transport_kind transport;
	bool transport_fallback; /* verbs: use UDP to peers that verbs
					   cannot reach */
	/* verbs */
	char device[STORM_DEVICE_MAX + 1]; /* RDMA device, or an interface
					   of its port; "": the device of
					   `interface` */
	uint8_t ib_port;		   /* 0: the first active port */
	int gid_index;	       /* -1: the GID of the interface's address */
	uint16_t pkey;	       /* P_Key; 0: the interface's */
	uint8_t service_level; /* of bulk data, 0 to 15; InfiniBand */
	uint8_t service_level_control; /* of all other traffic */
	uint32_t recv_depth; /* datagrams that a receive queue holds */
	/* The strobe rail.  verbs: a device or port for all traffic but bulk
	   data; fields as above.  UDP: an interface for the cluster domain's
	   multicasts.  strobe_device "": no strobe rail */
	char strobe_device[STORM_DEVICE_MAX + 1];
	uint8_t strobe_ib_port;
	int strobe_gid_index;
	uint16_t strobe_pkey;
	uint32_t strobe_recv_depth;
	uint32_t strobe_mtu; /* bytes; 0: as mtu */
	/* all */
	char interface[16];	    /* "": the interface of the default route */
	uint16_t port;		    /* UDP and TCP port of every agent */
	bool multicast;		    /* false: pipelined relay only */
	uint64_t multicast_timeout; /* ns after OPEN: if multicast has not
					   reached all nodes, use the chain */
	struct storm_addr group;    /* first group of the pool */
	uint32_t groups;	    /* size of the pool, 1 to 64 */
	uint8_t ttl;		    /* multicast TTL */
	uint8_t dscp;		    /* of bulk data, 0 to 63 */
	uint8_t dscp_control;	    /* of all other traffic */
	uint32_t radix;		    /* of the combining tree, 2 to 64 */
	uint64_t window;	/* W: bytes sent and not yet written by all */
	uint64_t rate;		/* bytes/s; 0: no limit but loss */
	uint32_t socket_buffer; /* bytes requested for each data socket */
	uint32_t mtu;		/* largest IP packet; 0: the interface's MTU */
	uint64_t open_timeout;	/* ns from sending OPEN to the last answer */
	uint64_t dead_timeout;	/* ns of silence after which a node is lost */
	uint64_t op_timeout;	/* ns without progress after which an operation
				   aborts */
	uint64_t heartbeat;	/* ns between the owner's heartbeats */
	/* what sessions may take of an agent, in all and for one user.  An
	 * eighth of what all may take is for root and SlurmUser */
	uint32_t sessions_max, user_sessions_max;
	uint64_t memory_max, user_memory_max; /* bytes */
	uint32_t drop_ppm; /* for tests: datagrams dropped on receipt, per
				   million */
	uint64_t drop_seed;
	uint64_t pulse; /* cluster domain: ns between two signs of life of a
				   node; 0: none are given, or watched for.  All
				   nodes and the owner have the same */
};
/* Set every field.  Old contents are overwritten; nothing needs to be freed. */
void storm_settings_default(struct storm_settings *set);

/* ------------------------------------------------------------- domain --- */

typedef struct storm_domain storm_domain_t;
typedef struct storm_event storm_event_t;

/* A node and why it failed.  sys: an errno or 0; with STORM_EVERSION, the
 * version of the node's agent; with STORM_EACCES, 1 more than the number of a
 * node whose address it does not believe, or 0; with STORM_EAUTH, why MUNGE
 * refuses (doc/wire-format.md), or 0. */
struct storm_fault {
	uint32_t node;
	enum storm_err why;
	int sys;
};

/* This library's protocol version.  All nodes of a domain must have the
 * same. */
int storm_protocol_version(void);

/* How an operation ended (architecture: DONE, ABORTED, UNKNOWN). */
enum storm_state {
	STORM_PENDING,
	STORM_DONE,    /* every member has applied it; the faults name nodes
			   lost after the decision, and with STORM_FILE_EACH
			   those without the file */
	STORM_ABORTED, /* no member has applied it or will; the faults name
			   the nodes that caused this */
	STORM_UNKNOWN  /* the domain was lost before the answer came */
};

struct storm_outcome {
	enum storm_state state;
	struct storm_fault *faults; /* ascending by node; the receiver of
					   the outcome frees them with
					   storm_outcome_clear() */
	uint32_t nfaults;	    /* number of faults */
	uint32_t faults_kept;	    /* number of them in the array */
};
/* Free its memory and set it to zero.  One thread at a time. */
void storm_outcome_clear(struct storm_outcome *out);

/* A node's report: cumulative sets of ids by (kind, code).  The owner receives
 * each (kind, code, id) once.  Ids are nodes or tasks, as the sender of this
 * kind chooses.  libstorm gives no meaning to the numbers. */
#define STORM_REPORT_KINDS 8
#define STORM_REPORT_TERMINATED 7 /* libstorm's own, never delivered */
/* Codes of this kind are values.  With other kinds a code but 0 is bad news, and
 * goes up the tree in haste. */
#define STORM_REPORT_VALUE 6
struct storm_report {
	uint8_t kind; /* < STORM_REPORT_TERMINATED */
	uint32_t code;
	struct storm_idset ids; /* valid during the call */
};

/* What the owner of a cluster domain finds by signs of life (settings.pulse). */
enum storm_finding_kind {
	STORM_FINDING_SILENT = 1, /* it gives none, and answers no question */
	STORM_FINDING_HUNG,	  /* it gives them, and does nothing else */
	STORM_FINDING_DEAF, /* it gives them, and nothing of the owner's has
			       reached it for long */
	STORM_FINDING_PATH, /* it answers the owner, and its parent in the tree
			       does not hear it */
	STORM_FINDING_BACK, /* the last finding is over */
	STORM_FINDING_END   /* one past the last */
};
struct storm_finding {
	uint32_t node;
	enum storm_finding_kind what;
	uint64_t silence; /* ns since it was heard last */
};

struct storm_domain_conf {
	const struct storm_node *nodes; /* copied */
	uint32_t count;			/* 1 to STORM_NODES_MAX */
	struct storm_settings set;	/* copied */
	struct storm_addr self;		/* owner's address as nodes see it; all
					   zeroes: the source address of the
					   route to the first node that is not
					   at a loopback address.  A node that
					   is at one is told to others with
					   this address.  The port is
					   ignored. */
	uint32_t agent_uid;		/* only this uid may decode OPEN */
	uint32_t job_id, step_id, step_het; /* passed to the nodes */
	/*
	 * The cluster domain outlives its owners (doc/protocol.md).  Nodes keep
	 * their variables and the operation under way for the next owner.
	 * Unreachable nodes are excluded instead of failing OPEN, and return by
	 * JOIN.
	 *
	 * cluster is not 0, and is the same for all owners.  epoch and excluded
	 * are the values saved last (0 and none: nothing was saved).
	 *
	 * save() stores an epoch before the owner uses it, but only if the
	 * stored epoch still is `was`.  Otherwise it returns non-zero: another
	 * owner has taken over, and pending operations end.  It is called with
	 * the domain's lock held and must make no domain call.
	 */
	uint64_t cluster; /* 0: a step domain */
	uint32_t epoch;
	const struct storm_idset *excluded; /* copied; NULL: none */
	int (*save)(void *arg, uint32_t was, uint32_t epoch,
		    const struct storm_idset *excluded);
	const void *authority; /* opaque to libstorm, such as an sbcast
					   credential; copied; NULL: none */
	size_t authority_len;
	uint8_t last_report; /* the kind of reports with which the work ends, and
				for whose acknowledgement nodes wait.  Others are
				acknowledged with it, or 0.1 to 0.4 s late.  0: each
				kind as soon as all nodes have reported it */
	/* Callbacks.  The domain's thread calls them without its lock.  Each
	 * may be NULL.  They must make no domain call. */
	void (*on_report)(void *arg, const struct storm_report *r);
	/* a node has left, or one that has left refuses to return */
	void (*on_fault)(void *arg, const struct storm_fault *f);
	void (*on_joined)(void *arg, uint32_t node); /* node has returned */
	/*
	 * A member is overdue: it has been silent for far longer than usual, by
	 * its own record.  At least four of its status messages are missing,
	 * and at most three quarters of dead_timeout have passed.  (A member
	 * sends at least ten in dead_timeout and two in heartbeat.)  Called
	 * once when this begins, and once with back set when it ends.  The node
	 * stays a member; on_fault reports dead nodes.
	 */
	void (*on_overdue)(void *arg, uint32_t node, bool back);
	/* A member is suspect, or is so no longer: long before it is overdue,
	 * and nothing else follows from it.  A node that is excluded meanwhile
	 * does not come back by this, but by on_joined. */
	void (*on_finding)(void *arg, const struct storm_finding *f);
	int priority; /* of the thread for signs of life in SCHED_FIFO, if this
				 process may have it; 0: an ordinary thread */
	void *arg;
};

/* Create a domain.  It sends nothing and has no thread yet.  The caller frees
 * it with storm_domain_destroy().  NULL and *err on failure: STORM_EINVAL,
 * STORM_ENOMEM, or STORM_ESYS if there is no such interface. */
storm_domain_t *storm_domain_create(const struct storm_domain_conf *conf,
				    int *err);

/* Start the thread and send OPEN down the tree.  Operations queued before
 * travel with OPEN.  Returns at once.  STORM_EINVAL: opened before;
 * STORM_EAUTH: MUNGE made no credential; STORM_ESYS: no thread;
 * STORM_ESUPERSEDED; STORM_ENOMEM. */
int storm_domain_open(storm_domain_t *d);

/* Wait until every node has answered OPEN, at most open_timeout.  STORM_OK: all
 * nodes are members (in the cluster domain: all that answered).  Otherwise the
 * error of the first fault; out (may be NULL) has all faults, and the only
 * valid call is storm_domain_destroy(). */
int storm_domain_wait_open(storm_domain_t *d, struct storm_outcome *out);

/*
 * Confirm the ownership of the cluster domain.  An owner calls it after it was
 * stopped, as another owner may have taken over.  It begins the next epoch with
 * the same members, so that nodes discard what was sent earlier.  STORM_OK;
 * STORM_ESUPERSEDED: another owner has taken over, or the epoch cannot be
 * saved; this owner sends nothing more.  STORM_ECLOSED: not open, or not a
 * cluster domain.  STORM_ENOMEM.  Any thread.
 */
int storm_domain_confirm(storm_domain_t *d);

/*
 * Send CLOSE to the nodes, wait for the thread, free the domain (NULL is
 * allowed).  Pending operations end first: ABORTED, or UNKNOWN if they were
 * decided but not confirmed by all.  Their events remain valid until they are
 * destroyed; threads that wait for one wake up.  No other call on the domain
 * may be under way.
 */
void storm_domain_destroy(storm_domain_t *d);

/* The owner's address as it is in OPEN; valid after storm_domain_create(). */
void storm_domain_self(const storm_domain_t *d, struct storm_addr *self);

/* --------------------------------------------------------- primitives --- */

enum storm_target_kind {
	STORM_TARGET_MEMORY = 1, /* passed to the node with its event */
	STORM_TARGET_FILE = 2,
	STORM_TARGET_SEGMENT = 3 /* written into global memory */
};

#define STORM_SEGMENTS 16 /* per node */

#define STORM_FILE_FORCE 0x1	 /* replace an existing file */
#define STORM_FILE_TIMES 0x2	 /* set atime and mtime */
#define STORM_FILE_LIBDIR 0x4	 /* also make directory "<path>_libs" */
#define STORM_FILE_IN_LIBDIR 0x8 /* path is a name inside that directory */
#define STORM_FILE_FLAGS 0xf
/* For the owner of a step domain alone: the file need not come to all nodes together,
 * see storm_xfer_and_signal(). */
#define STORM_FILE_EACH 0x10
/* As Slurm's sbcast does, even with -p: drop the set-id and sticky bits. */
#define STORM_FILE_MODE 0777

/* Where a transfer lands on the nodes. */
struct storm_target {
	enum storm_target_kind kind;
	uint32_t remote_event; /* signalled once, after the data */
	/* kind FILE: */
	const char *path; /* absolute, or a bare name with IN_LIBDIR */
	uint32_t flags;
	uint32_t mode;	      /* within STORM_FILE_MODE */
	int64_t atime, mtime; /* seconds since the epoch */
	/* kind SEGMENT: the paper's global address, the same on all nodes */
	uint32_t segment; /* < STORM_SEGMENTS */
	uint64_t offset;
};

/*
 * XFER-AND-SIGNAL(P, gaddr, buf, len, remote_event, local_event): non-blocking,
 * all or nothing (paper 2.4.1, Algorithm 10).  P: nodes of the domain, copied;
 * NULL: all members.  Only the returned event shows completion.  buf must stay
 * readable and unchanged until the event is no longer PENDING.  Operations of a
 * domain run one after the other in the order of the calls, even if their node
 * sets are disjoint: they are sequentially consistent.  If a node of P is not a
 * member, the operation aborts.
 * Returns NULL if there is no memory, the domain is closed, the target is
 * invalid, or P is empty, names other nodes or has more than STORM_SET_RANGES
 * ranges.  The caller frees the event with storm_event_destroy().
 *
 * STORM_FILE_EACH: if a few nodes (at most a quarter, or one) are behind all others for
 * a moment, these show the file, and it goes on for those.  If a few fail by a fault of
 * their own, as a full disk, the end is DONE, and the faults name them: they have no
 * file.
 */
storm_event_t *storm_xfer_and_signal(storm_domain_t *d,
				     const struct storm_idset *P,
				     const struct storm_target *to,
				     const void *buf, uint64_t len);

/*
 * TEST-EVENT(event, block): poll, or block until deadline (absolute,
 * CLOCK_MONOTONIC ns; 0: no deadline).  True once the event is no longer
 * PENDING; out (may be NULL) is then set.  (Algorithm 11)
 */
bool storm_test_event(storm_event_t *e, bool block, uint64_t deadline,
		      struct storm_outcome *out);

/*
 * Free the event (NULL is allowed); not while another thread is in
 * storm_test_event() on it.  Does not block.  A PENDING operation is canceled:
 * if it is not decided yet, no member applies it.  Its buf is not read again.
 * The domain stays open.
 */
void storm_event_destroy(storm_event_t *e);

/*
 * Abort the operation if it is not decided yet.  True: no member shows it, or ever
 * will, which is known at once; the event may stay PENDING until all members know
 * it.  False: it is decided otherwise, or has ended, or a node requested it; the
 * event tells how it ends.  Any thread.
 */
bool storm_event_cancel(storm_event_t *e);

/* Progress of a transfer: bytes that every node of P has written.  The full
 * length once the event is no longer PENDING. */
uint64_t storm_event_progress(storm_event_t *e);

/*
 * Set *out, which the caller clears with storm_idset_clear(), to the nodes that
 * an operation under way waits for: those that have written least, or have not
 * answered.  It is empty, and false is returned, if that is not known or the
 * event is not under way.
 */
bool storm_event_behind(storm_event_t *e, struct storm_idset *out);

enum storm_relation { STORM_GE, STORM_LT, STORM_EQ, STORM_NE };
enum storm_compare { STORM_TRUE, STORM_FALSE, STORM_FAILED };

/*
 * Variables are 64-bit unsigned numbers.  Every node has one of each, initially
 * zero.  Only the node itself writes an own variable, and its value never
 * decreases; a comparison of one is an unordered reduction.  Only
 * COMPARE-AND-WRITE writes a global variable, and the owner orders every
 * operation on it.
 */
enum storm_own_var {
	STORM_VAR_TERMINATED = 0, /* generations that have ended here */
	STORM_VAR_HEARTBEAT = 1,  /* number of the last strobe seen */
	STORM_VAR_USER = 2,	  /* first one unused by libstorm */
	STORM_VARS = 8
};
#define STORM_GLOBALS 64
#define STORM_GLOBAL(i) (0x100u + (uint32_t) (i)) /* i < STORM_GLOBALS */

/* What COMPARE-AND-WRITE writes if the relation holds. */
struct storm_assign {
	uint32_t var; /* STORM_GLOBAL(i) */
	uint64_t value;
};

/*
 * COMPARE-AND-WRITE(P, var, relation, value, var_W, value_W) (paper 2.4.1,
 * Algorithm 12).  P as in storm_xfer_and_signal(); var is an own or a global
 * variable.  Returns
 * - TRUE if the relation holds on all of P; *write (NULL: none) is then done on
 *   all of P;
 * - FALSE if it does not hold on some node of P;
 * - FAILED if a node did not answer; out names such nodes.  Silence never
 *   counts as FALSE.
 * Without a write, on an own variable, it runs concurrently with other
 * operations and blocks at most op_timeout.  Otherwise it is ordered and waits
 * for earlier operations.  out (may be NULL): state DONE with TRUE and FALSE
 * (the faults name nodes lost after the decision), ABORTED or UNKNOWN with
 * FAILED.  Any thread, several at a time.
 */
enum storm_compare
storm_compare_and_write(storm_domain_t *d, const struct storm_idset *P,
			uint32_t var, enum storm_relation rel, uint64_t value,
			const struct storm_assign *write,
			struct storm_outcome *out);

#define STORM_STROBE_MAX 256 /* bytes of data in a strobe */

/*
 * Send a strobe to all members: data that describe the current state, such as
 * which job runs (paper 2.4.2, where it is a heartbeat).  It is sent before the
 * call returns, by multicast if there is one.  It is neither acknowledged nor
 * retransmitted: the next strobe replaces it.  Returns its number, which
 * increases across all owners of a domain; a node discards a strobe with a
 * lower number than its last.  0: the domain is not open, or len is greater
 * than STORM_STROBE_MAX.  Any thread.
 */
uint64_t storm_strobe(storm_domain_t *d, const void *data, size_t len);

/*
 * ISSUE-HEARTBEAT (paper 2.4.2, Algorithm 4), and which nodes missed it
 * (2.4.3).  Sends a strobe to all members and asks P (NULL: all members) by
 * COMPARE-AND-WRITE whether it has arrived.  If not, it halves the set until
 * the nodes are found.
 * STORM_OK: all of P have the strobe.  STORM_ETIME: the nodes in missed answer
 * but have not received it.  Otherwise the error of the first fault: the nodes
 * in out (may be NULL) do not answer; missed as before.  STORM_ECLOSED.
 * STORM_EINVAL: len, or P as in storm_xfer_and_signal().
 * missed is set by this call; the caller clears it.  number (may be NULL): the
 * strobe's number.  Each question blocks at most op_timeout.  Any thread.
 */
int storm_heartbeat(storm_domain_t *d, const struct storm_idset *P,
		    const void *data, size_t len, uint64_t *number,
		    struct storm_idset *missed, struct storm_outcome *out);

/* ------------------------------------------------------------- gather --- */

/*
 * Gather (paper 2.4.1): what all nodes keep, by one question down the tree whose
 * answers are combined on their way up.  Equal values become one entry with the
 * set of its nodes, so the asker gets as many bytes as there are values.
 */
#define STORM_GATHER_QUERY 256	  /* bytes of a question */
#define STORM_GATHER_KEY 32	  /* bytes of a key */
#define STORM_GATHER_DATA 200	  /* bytes of a value */
#define STORM_GATHER_ENTRIES 1024 /* values and counters in a table */
#define STORM_GATHER_BYTES 61440  /* that they take on the wire */

enum storm_gather_kind {
	STORM_GATHER_VALUE,   /* nodes that have this value */
	STORM_GATHER_COUNTER, /* a sum over nodes, and the greatest */
	STORM_GATHER_REST     /* values or counters that found no room */
};

struct storm_gather_entry {
	enum storm_gather_kind kind;
	uint8_t key_len, value_len; /* bytes; key_len 0: REST of other keys */
	uint8_t key[STORM_GATHER_KEY], value[STORM_GATHER_DATA];
	struct storm_idset nodes; /* of a VALUE */
	uint64_t sum, max;	  /* of a COUNTER; a sum ends at UINT64_MAX */
	uint32_t max_node;	  /* the first node that has max */
	uint64_t count;		  /* COUNTER: its nodes.  REST: nodes, each once
				     for each value of this key without room */
};

/* A gathered table, ascending by key, then kind, then value.  An all-zero one is
 * empty. */
struct storm_gathered {
	struct storm_gather_entry *entry;
	uint32_t count;
	struct storm_idset missing; /* asked, and their answers are not in it */
	uint32_t room, bytes;	    /* libstorm's */
};
/* Empty it and free its memory.  One thread at a time. */
void storm_gathered_clear(struct storm_gathered *t);

/*
 * Ask P (NULL: all members) what they have for this question of len bytes.  It
 * changes nothing on any node, and a node may be asked more than once.  It runs
 * beside other operations, one gather of a domain after the other.  deadline:
 * absolute, CLOCK_MONOTONIC ns (0: in op_timeout); op_timeout is the limit in
 * any case, from its turn on.
 * The event becomes DONE when all have answered, or at the deadline.  Its faults
 * name the nodes that have not: STORM_ELOST is no member, STORM_ETIME did not
 * answer, such as one whose libstorm knows no gather.  ABORTED: it was canceled,
 * or the domain is lost.
 * NULL: the domain is not open, len is greater than STORM_GATHER_QUERY, P is out
 * of range or has too many ranges for a datagram, or there is no memory.  The
 * caller frees the event with storm_event_destroy().  Any thread.
 */
storm_event_t *storm_gather(storm_domain_t *d, const struct storm_idset *P,
			    const void *query, size_t len, uint64_t deadline);
/* Move the table of a gather that is DONE to *out, once; the caller clears it by
 * storm_gathered_clear().  STORM_ENOENT: there is none (any more).  Any
 * thread. */
int storm_event_gathered(storm_event_t *e, struct storm_gathered *out);

/* A node's own part, in on_gather() of struct storm_node_conf. */
typedef struct storm_gather_own storm_gather_t;
/*
 * Add a value of a key; several for one key are several entries.  Add n to a
 * counter.  Lengths in bytes, key_len at least 1.  A key with both a value and a
 * counter has both.  STORM_EINVAL: too long, or no key; STORM_ENOMEM.  In the
 * callback only.
 */
int storm_gather_value(storm_gather_t *g, const void *key, size_t key_len,
		       const void *value, size_t len);
int storm_gather_count(storm_gather_t *g, const void *key, size_t key_len,
		       uint64_t n);

/* ---------------------------------------------------- the nodes' side --- */

typedef struct storm_node_manager storm_node_t; /* this program as a node */
typedef struct storm_member storm_member_t;	/* of one domain */

/* Remote events 1 to STORM_EVENTS - 1 can be tested.  0: no event.  Larger
 * numbers are reported by on_signal() only. */
#define STORM_EVENTS 64

struct storm_node_conf {
	const char *name;	   /* as in the owners' lists; copied */
	struct storm_settings set; /* interface, port, and so on; copied */
	uint32_t owner_uid;	   /* only this uid may open a domain here */
	const char *root; /* directory for FILE targets: their paths are
				   below it, and symbolic links are not
				   followed; NULL: refuse files; copied */
	bool stands; /* it is stopped and continued together with its owners:
			while it stands they are not silent */
	/* A remote event is signalled.  buf: the data of a MEMORY target, valid
	 * during the call; or the place in the segment; or NULL for a file.
	 * The node's thread calls it without the node's lock, in the order of
	 * the owner's operations.  It must not call storm_node_destroy().  May
	 * be NULL. */
	void (*on_signal)(void *arg, storm_member_t *m, uint32_t event,
			  const void *buf, size_t len);
	/* A strobe with a higher number than all earlier ones has arrived
	 * (Algorithm 5).  Called as on_signal() is; buf is valid during the
	 * call.  May be NULL. */
	void (*on_strobe)(void *arg, storm_member_t *m, uint64_t number,
			  const void *buf, size_t len);
	/* The owner gathers: put what this node has for the question, and what
	 * the owner's uid may see of it, by storm_gather_value() and
	 * storm_gather_count().  Called as on_signal() is, at least once for
	 * each question; it must not block.  NULL: the node has nothing. */
	void (*on_gather)(void *arg, storm_member_t *m, const void *query,
			  size_t len, storm_gather_t *g);
	/* The node is no longer in this domain: it was closed, or the node was
	 * excluded.  Called as on_signal() is, after all calls that concern the
	 * domain; storm_node_destroy() calls it, too.  May be NULL. */
	void (*on_close)(void *arg, storm_member_t *m);
	void *arg;
};

/*
 * Create a node.  Its thread listens on the port of the settings, answers every
 * owner that owner_uid permits (MUNGE authenticates it), and takes part in the
 * combining tree of every domain.  NULL and *err on failure; the reason is
 * logged.  The caller frees it with storm_node_destroy().
 */
storm_node_t *storm_node_create(const struct storm_node_conf *conf, int *err);

/* Leave all domains without notice to their owners, and free the node (NULL is
 * allowed).  Members remain valid, but closed, until they are released; threads
 * that wait for their events wake up.  No other call on the node may be under
 * way. */
void storm_node_destroy(storm_node_t *n);

/* The node's address and port, as owners need it in struct storm_node. */
void storm_node_address(const storm_node_t *n, struct storm_addr *out);

/*
 * Register global memory (paper 2.4.1: global data): len bytes at base become
 * segment number `segment` of this node, in every domain.  The caller owns the
 * memory.  The node's thread writes to it between STAGED and the remote event.
 * It must stay valid until the segment is registered again (base NULL:
 * unregistered) or the node is destroyed.  STORM_EINVAL: no such segment.  Any
 * thread.
 */
int storm_node_segment(storm_node_t *n, uint32_t segment, void *base,
		       size_t len);

/*
 * The next domain that was opened with this node, oldest first.  block and
 * deadline as in storm_test_event().  NULL: none (yet).  A domain works even if
 * the program does not accept it.  The caller frees the member with
 * storm_member_release().  Any thread.
 */
storm_member_t *storm_node_accept(storm_node_t *n, bool block,
				  uint64_t deadline);

/* Release a member (NULL is allowed); its domain stays open.  Not while another
 * thread uses it. */
void storm_member_release(storm_member_t *m);

struct storm_member_info {
	uint32_t node, count; /* this node's number; number of nodes */
	uint32_t uid;	      /* the owner's */
	uint32_t job_id, step_id, step_het; /* from the owner's conf */
};
void storm_member_info(const storm_member_t *m, struct storm_member_info *out);

/*
 * TEST-EVENT on the receiving side (Algorithm 11): consume one signal of this
 * remote event, or block until there is one.  deadline as in
 * storm_test_event().  The data have arrived.  Signals are counted: one per
 * transfer.  STORM_OK; STORM_ETIME: none yet; STORM_ECLOSED: none, and the
 * domain is closed; STORM_EINVAL.  Any thread.
 */
int storm_member_test_event(storm_member_t *m, uint32_t event, bool block,
			    uint64_t deadline);

/* Read a variable at this node: an own one, or the local copy of a global one.
 * STORM_EINVAL: no such variable; STORM_ECLOSED.  Any thread. */
int storm_member_variable(storm_member_t *m, uint32_t var, uint64_t *value);

/* Raise an own variable of this node.  A lower value has no effect.
 * STORM_EINVAL; STORM_ECLOSED.  Any thread. */
int storm_member_own_set(storm_member_t *m, enum storm_own_var var,
			 uint64_t value);

/*
 * XFER-AND-SIGNAL by this node.  As storm_xfer_and_signal(): the owner orders
 * it among all operations of the domain.  It takes no FILE target, and at most
 * what one datagram holds, some 1200 bytes.  buf is copied.  If the domain is
 * lost before the answer, the outcome is UNKNOWN.  A PENDING one cannot be
 * canceled, but its event may be destroyed.  NULL as there, or if len is too
 * large.  Any thread.
 */
storm_event_t *storm_member_xfer_and_signal(storm_member_t *m,
					    const struct storm_idset *P,
					    const struct storm_target *to,
					    const void *buf, size_t len);

/* COMPARE-AND-WRITE by this node: as storm_compare_and_write(), but always
 * ordered.  Blocks.  Any thread. */
enum storm_compare
storm_member_compare_and_write(storm_member_t *m, const struct storm_idset *P,
			       uint32_t var, enum storm_relation rel,
			       uint64_t value, const struct storm_assign *write,
			       struct storm_outcome *out);

/*
 * Report ids (nodes or tasks) to the owner by kind and code, see struct
 * storm_report.  The tree combines reports, and the node repeats them until the
 * owner acknowledges.  A node keeps 4096 pairs of kind and code, and 256 more of
 * STORM_REPORT_VALUE; those above it leave out what they have no room for.
 * STORM_EINVAL: no such kind; STORM_ETOOBIG: no room; STORM_ECLOSED; STORM_ENOMEM.
 * Any thread.
 */
int storm_member_report(storm_member_t *m, uint8_t kind, uint32_t code,
			const struct storm_idset *ids);

/*
 * How long a report of this node or of nodes below it waits for others, to go up
 * with them: at most ns; at first 100 ms.  With less than that a node that has none
 * below it sends at once.  A domain in which work begins again and
 * again, and whose owner waits for each end, sets less.  STORM_ECLOSED.  Any
 * thread.
 */
int storm_member_hold(storm_member_t *m, uint64_t ns);

/*
 * Reports are kept for as long as the domain is open.  One whose ids go on and on,
 * such as numbers of tasks, lets go of those that are over.  The owner calls the
 * first on its side, when it has all of these ids of a kind or will never have them,
 * and tells nodes to call the other one.  A node that was not told keeps them, and
 * does no harm.  Both remember ranges: ids that were given out in ascending order
 * take no more room than those between them that are not over.  STORM_EINVAL: no such
 * kind; STORM_ECLOSED; STORM_ENOMEM: some are kept.  Any thread.
 */
int storm_domain_forget(storm_domain_t *d, uint8_t kind,
			const struct storm_idset *ids);
int storm_member_forget(storm_member_t *m, uint8_t kind,
			const struct storm_idset *ids);

/* ------------------------------------------------------ file transfer --- */

/*
 * TRANSFER-FILE (Algorithm 6): storm_xfer_and_signal() of the contents of a
 * regular file, up to its current end.  to is usually of kind FILE.  The caller
 * may close fd at once.  A file that cannot be read to that end aborts the
 * transfer, with a STORM_ESOURCE of STORM_NO_NODE.  NULL as there, with errno
 * 0; or NULL with the errno of the file's error.
 */
storm_event_t *storm_transfer_file(storm_domain_t *d,
				   const struct storm_idset *P, int fd,
				   const struct storm_target *to);

/* -------------------------------------------------------- termination --- */

/*
 * ANNOUNCE-TERMINATION (Algorithm 9), on a node: its processes of this
 * generation and of all earlier ones have ended.  Generations are 1, 2, 3, ...
 * and below UINT32_MAX; the program decides what one is, such as a job or a
 * phase.  STORM_EINVAL; STORM_ECLOSED; STORM_ENOMEM.  Any thread.
 */
int storm_announce_termination(storm_member_t *m, uint32_t generation);

/*
 * DETECT-TERMINATION (Algorithm 8): wait until every node of P (NULL: all
 * members) has announced this generation, at most until the deadline (absolute,
 * CLOCK_MONOTONIC ns; 0: no deadline).  It sends nothing before the first
 * announcement.  STORM_OK; STORM_ETIME: not yet; STORM_ECLOSED; otherwise the
 * error of the first fault, and out (may be NULL) has all faults.  Any thread.
 */
int storm_detect_termination(storm_domain_t *d, const struct storm_idset *P,
			     uint32_t generation, uint64_t deadline,
			     struct storm_outcome *out);

/* ------------------------------------------------------- remote queue --- */

/*
 * A queue on each node that the owner fills and the node empties (paper 2.4.2).
 * Its slots are in a segment that all nodes have registered.  Both sides must
 * use the same conf.  Within a domain, no two queues may share an event or a
 * variable.
 */
struct storm_queue_conf {
	uint32_t segment;
	uint64_t offset;	     /* in the segment, of the first slot */
	uint32_t slots;		     /* at least 1 */
	uint32_t slot_size;	     /* bytes of data in a slot, at most */
	uint32_t event;		     /* remote event, 1 to STORM_EVENTS - 1 */
	enum storm_own_var dequeued; /* STORM_VAR_USER or above */
};
typedef struct storm_queue storm_queue_t;

/* Bytes that the queue occupies in the segment, from its offset. */
size_t storm_queue_bytes(const struct storm_queue_conf *conf);

/* The owner's side.  d must outlive the queue; P (NULL: all members) and conf
 * are copied.  Nothing is sent.  NULL: no memory, or conf is out of range.
 * After a takeover, or after a node has rejoined, create a new queue with
 * another event and variable.  Not thread-safe. */
storm_queue_t *storm_queue_create(storm_domain_t *d,
				  const struct storm_idset *P,
				  const struct storm_queue_conf *conf);
/* NULL is allowed.  An ENQUEUE that is not decided yet is canceled. */
void storm_queue_destroy(storm_queue_t *q);

/*
 * ENQUEUE (Algorithm 2): wait until the previous ENQUEUE has ended and every
 * node has a free slot (AWAIT-SPACE, Algorithm 1), at most until the deadline
 * (absolute, CLOCK_MONOTONIC ns; 0: no deadline).  Then send data, which are
 * copied, and signal the queue's event.
 * *event (may be NULL) is the local event.  The queue owns it; it is valid for
 * storm_test_event() until the next call for this queue.  If it is ABORTED, no
 * node has received the data, and the queue continues without them.
 * STORM_ETIME: no space in time, nothing was sent; STORM_ETOOBIG: larger than a
 * slot; STORM_ECLOSED; otherwise the error of a node that did not answer.
 */
int storm_enqueue(storm_queue_t *q, const void *data, size_t len,
		  uint64_t deadline, storm_event_t **event);

/*
 * DEQUEUE (Algorithm 3), on a node: wait for the event as
 * storm_member_test_event() does, copy the data at the head into buf, which has
 * room for slot_size bytes, and free the slot.  base: the start of the segment.
 * *len: the number of bytes.  One thread at a time for each queue.  Errors as
 * there; STORM_EVERIFY: the slot was overwritten.
 */
int storm_dequeue(storm_member_t *m, const struct storm_queue_conf *conf,
		  const void *base, bool block, uint64_t deadline, void *buf,
		  size_t *len);

/* --------------------------------------------------------- statistics --- */

/* Times in ns, CLOCK_MONOTONIC; 0: has not happened. */
struct storm_timeline {
	uint64_t create, open_sent, opened;
	uint64_t first_byte, last_byte; /* of the last transfer */
	uint64_t repair_first, repair_last;
	uint64_t written, staged, decided, applied;
};

struct storm_stats {
	uint64_t tx_datagrams, tx_bytes; /* UDP payload */
	uint64_t rx_datagrams, rx_bytes;
	uint64_t tx_data, tx_repair; /* DATA datagrams sent, retransmitted */
	uint64_t nacks;		     /* received */
	uint64_t repaired;	     /* retransmitted chunks that nodes have
					   reported as received */
	uint64_t bad_seal, bad_wire, bad_session, replayed, fenced;
	uint64_t dropped_by_test;
	uint32_t epoch;
	bool multicast; /* false: the chain is used */
};
/* Both are valid at any time between create and destroy. */
void storm_domain_timeline(storm_domain_t *d, struct storm_timeline *out);
void storm_domain_stats(storm_domain_t *d, struct storm_stats *out);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
