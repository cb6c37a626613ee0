/*
 * test_agent_file.c - the process that touches a user's files as the user.
 * Those tests that need two users need root.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/libstorm/wire/seal.h"
#include "src/storm_agent/files/file_child.h"
#include "src/storm_agent/files/file_nursery.h"
#include "src/storm_agent/files/file_pool.h"
#include "unit.h"

/* no account has to exist: ids are numbers */
#define ALICE 54321
#define BOB 54322

static char dir[64];
static int nursery = -1, child = -1;
static pid_t nursery_pid;
static struct file_user user;
static struct file_pool pool;

static bool root(void)
{
	return geteuid() == 0;
}

static int start_nursery(file_join_fn join)
{
	int pair[2];
	pid_t pid;

	must(!file_nursery_sockets(pair));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		dup2(pair[1], 3);
		close_range(4, ~0U, 0);
		file_nursery_serve(3, -1, join);
	}
	close(pair[1]);
	nursery_pid = pid;
	return pair[0];
}

static void setup(void)
{
	strcpy(dir, "/tmp/storm-test-file-XXXXXX");
	must(mkdtemp(dir));
	user.uid = root() ? ALICE : geteuid();
	user.gid = root() ? ALICE : getegid();
	must(!chmod(dir, 0755));
	if (root())
		must(!chown(dir, ALICE, ALICE));
	nursery = start_nursery(NULL);
	must(nursery >= 0);
	child = file_child_start(nursery, &user);
	must(child >= 0);
	must(!file_pool_create(&pool));
}

static void teardown(void)
{
	char cmd[128];

	file_pool_destroy(&pool);
	close(child);
	close(nursery);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	must(!system(cmd));
}

/* Ask, and wait for the answer: its err. */
static int ask_of(int sock, struct file_request *req, struct file_reply *rep)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	int fd;

	must(!file_child_send(sock, req,
			      req->verb == FILE_BEGIN ? pool.fd : -1));
	do {
		must(poll(&p, 1, 10000) == 1);
		must(file_child_recv(sock, rep, &fd) == 1);
		must((fd >= 0) == (rep->verb == FILE_STARTED));
		if (fd >= 0)
			close(fd);
	} while (rep->verb == FILE_STARTED || rep->verb == FILE_WAITS);
	must(rep->verb == req->verb && rep->op == req->op);
	errno = rep->sys;
	return rep->err;
}

static int begin(const char *path, uint64_t op, uint32_t flags, uint64_t size)
{
	struct file_request req = { .verb = FILE_BEGIN,
				    .op = op,
				    .flags = flags,
				    .size = size,
				    .mode = 04755,
				    .atime = 1000000000,
				    .mtime = 1100000000 };
	struct file_reply rep;

	if (path[0] == '/' || flags & STORM_FILE_IN_LIBDIR)
		snprintf(req.path, sizeof(req.path), "%s", path);
	else
		snprintf(req.path, sizeof(req.path), "%s/%s", dir, path);
	return ask_of(child, &req, &rep);
}

/* Write len bytes of operation 1, or read them back to the pool. */
static int move(uint32_t verb, uint32_t at, uint32_t len, uint64_t off)
{
	struct file_request req = {
		.verb = verb, .op = 1, .spans = 1, .span = { { at, len, off } }
	};
	struct file_reply rep;

	return ask_of(child, &req, &rep);
}

static int put(const char *text, uint32_t len, uint64_t off)
{
	memcpy(pool.base + 100, text, len);
	return move(FILE_WRITE, 100, len, off);
}

static int ask(uint32_t verb, uint64_t op)
{
	struct file_request req = { .verb = verb, .op = op };
	struct file_reply rep;

	return ask_of(child, &req, &rep);
}

/* Stage operation 1, which is to have this text. */
static int stage(const char *text)
{
	struct file_request req = { .verb = FILE_STAGE,
				    .op = 1,
				    .digested = true };
	struct file_reply rep;

	storm_sha256(text, strlen(text), req.digest);
	return ask_of(child, &req, &rep);
}

static char *at(const char *name)
{
	static char path[2][512];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[0]), "%s/%s", dir, name);
	return path[turn];
}

/* Names in a directory, without the two dots. */
static int names_in(const char *path)
{
	DIR *d = opendir(path);
	int n = -2;

	must(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* The one temporary file in there. */
static void temp_stat(const char *path, struct stat *st)
{
	DIR *d = opendir(path);
	struct dirent *e;

	must(d);
	do {
		e = readdir(d);
		must(e);
	} while (!strstr(e->d_name, ".storm."));
	must(!fstatat(dirfd(d), e->d_name, st, AT_SYMLINK_NOFOLLOW));
	closedir(d);
}

/* The child ends by itself, whatever it has said. */
static void ended(int sock)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	struct file_reply rep;
	int fd, rc;

	do {
		must(poll(&p, 1, 10000) == 1);
		rc = file_child_recv(sock, &rep, &fd);
		if (fd >= 0)
			close(fd);
	} while (rc == 1);
	must(!rc);
}

static void make(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "w");

	must(f && fputs(text, f) >= 0 && !fclose(f));
	if (root())
		must(!chown(at(name), ALICE, ALICE));
}

static void holds(const char *name, const char *text)
{
	char buf[64] = "";
	FILE *f = fopen(at(name), "r");

	must(f);
	must(fread(buf, 1, sizeof(buf) - 1, f) == strlen(text));
	fclose(f);
	ck_assert_str_eq(buf, text);
}

/* Until it holds; a child works at its own pace. */
#define eventually(cond)                                               \
	do {                                                           \
		bool ok_ = false;                                      \
		for (int i_ = 0; i_ < 1000 && !(ok_ = (cond)); i_++)   \
			usleep(10000);                                 \
		if (!ok_)                                              \
			ck_abort_msg("does not come true: %s", #cond); \
	} while (0)

START_TEST(test_whole)
{
	struct stat st;

	must(!begin("f", 1, STORM_FILE_TIMES, 5));
	must(access(at("f"), F_OK)); /* under another name so far */
	must(names_in(dir) == 1);
	temp_stat(dir, &st);
	must((st.st_mode & 0777) == 0600);
	must(st.st_uid == user.uid && st.st_gid == user.gid);
	must(!put("lo", 2, 3) && !put("hel", 3, 0));
	must(!stage("hello"));
	must(access(at("f"), F_OK));
	must(!ask(FILE_COMMIT, 1));
	must(!ask(FILE_COMMIT, 1)); /* asked again: done already */
	must(names_in(dir) == 1);
	holds("f", "hello");
	must(!stat(at("f"), &st));
	must((st.st_mode & 07777) == 0755); /* the set-id bit is not taken */
	must(st.st_atime >= 1000000000 && st.st_mtime == 1100000000);
}
END_TEST

/* As soon as it has its name: the child is not asked to forget it first. */
START_TEST(test_can_be_executed)
{
	static const char text[] = "#!/bin/sh\nexit 7\n";
	int status;
	pid_t pid;

	must(!begin("f", 1, 0, strlen(text)));
	must(!put(text, strlen(text), 0));
	must(!stage(text) && !ask(FILE_COMMIT, 1));
	pid = fork();
	if (!pid) {
		execl(at("f"), "f", NULL);
		_exit(errno == ETXTBSY ? 26 : 1);
	}
	must(waitpid(pid, &status, 0) == pid);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
}
END_TEST

START_TEST(test_empty_file)
{
	must(!begin("f", 1, 0, 0));
	must(!ask(FILE_STAGE, 1) && !ask(FILE_COMMIT, 1));
	holds("f", "");
}
END_TEST

START_TEST(test_size_is_checked)
{
	must(!begin("f", 1, 0, 5));
	must(!put("hell", 4, 0));
	must(stage("hello") == STORM_EVERIFY);
	must(!put("hello!", 6, 0));
	must(stage("hello") == STORM_EVERIFY);
}
END_TEST

/* In whatever order it comes and is hashed, any other byte shows. */
START_TEST(test_digest)
{
	static const char *const what[] = { "hello", "help!", "jello", "hell" };
	static const struct {
		uint32_t off, len, below;
	} order[][3] = {
		{ { 0, 2, 2 }, { 2, 2, 4 }, { 4, 1, 5 } },
		{ { 4, 1, 0 }, { 2, 2, 0 }, { 0, 2, 5 } },
		{ { 0, 1, 1 }, { 3, 2, 1 }, { 1, 2, 5 } },
		{ { 2, 3, 0 }, { 0, 1, 1 }, { 1, 1, 5 } },
	};
	struct file_request req = { .verb = FILE_WRITE, .op = 1 };
	struct file_reply rep;

	must(!begin("f", 1, 0, 5));
	memcpy(pool.base, "hello", 5);
	for (int i = 0; i < 3; i++) {
		req.spans = 1;
		req.span[0] = (struct file_span) { order[_i / 4][i].off,
						   order[_i / 4][i].len,
						   order[_i / 4][i].off };
		req.below = order[_i / 4][i].below;
		must(!ask_of(child, &req, &rep));
	}
	must(stage(what[_i % 4]) == (_i % 4 ? STORM_EVERIFY : STORM_OK));
}
END_TEST

/* Without a digest only a file without bytes is complete. */
START_TEST(test_no_digest)
{
	must(!begin("f", 1, 0, 2));
	must(!put("hi", 2, 0));
	must(ask(FILE_STAGE, 1) == STORM_EVERIFY);
}
END_TEST

START_TEST(test_abort_leaves_nothing)
{
	struct file_request req = { .verb = FILE_ABORT, .op = 1 };

	must(!begin("f", 1, STORM_FILE_LIBDIR, 5));
	must(names_in(dir) == 2);
	must(!file_child_send(child, &req, -1));
	must(ask(FILE_STAGE, 1) == STORM_ENOENT);
	must(names_in(dir) == 0);
}
END_TEST

START_TEST(test_abort_after_commit_keeps)
{
	struct file_request req = { .verb = FILE_ABORT, .op = 1 };

	must(!begin("f", 1, STORM_FILE_LIBDIR, 0));
	must(!ask(FILE_STAGE, 1) && !ask(FILE_COMMIT, 1));
	must(!file_child_send(child, &req, -1));
	must(ask(FILE_STAGE, 1) == STORM_ENOENT);
	must(names_in(dir) == 2);
}
END_TEST

START_TEST(test_close_leaves_nothing)
{
	must(!begin("f", 1, STORM_FILE_LIBDIR, 5));
	must(!begin("g", 2, 0, 5));
	must(names_in(dir) == 3);
	close(child);
	child = -1;
	eventually(names_in(dir) == 0);
}
END_TEST

/* What holds the child's socket is killed outright. */
START_TEST(test_killed_agent_leaves_nothing)
{
	int ready[2], status;
	char c;
	pid_t pid;

	must(!pipe(ready));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		close(child);
		child = file_child_start(nursery, &user);
		if (begin("f", 1, 0, 5) || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	must(read(ready[0], &c, 1) == 1);
	must(names_in(dir) == 1);
	must(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
	eventually(names_in(dir) == 0);
}
END_TEST

START_TEST(test_exists)
{
	make("f", "old");
	must(begin("f", 1, 0, 3) == STORM_EEXIST && errno == EEXIST);
	must(!begin("f", 1, STORM_FILE_FORCE, 3));
	must(!put("new", 3, 0));
	must(!stage("new"));
	holds("f", "old");
	must(!ask(FILE_COMMIT, 1));
	holds("f", "new");
	must(names_in(dir) == 1);
}
END_TEST

/* It appears while the data are under way. */
START_TEST(test_exists_at_commit)
{
	must(!begin("f", 1, 0, 0));
	must(!ask(FILE_STAGE, 1));
	make("f", "other");
	must(ask(FILE_COMMIT, 1) == STORM_EEXIST);
	holds("f", "other");
}
END_TEST

START_TEST(test_bad_paths)
{
	static const struct {
		const char *path;
		int err, sys;
	} bad[] = {
		{ "..", STORM_EPATH, EINVAL },
		{ "../x", STORM_EPATH, EINVAL },
		{ "a/../x", STORM_EPATH, EINVAL },
		{ "x/..", STORM_EPATH, EINVAL },
		{ ".", STORM_EPATH, EISDIR },
		{ "", STORM_EPATH, EISDIR },
		{ "dir", STORM_EPATH, EISDIR },
		{ "dir/", STORM_EPATH, EISDIR },
		{ "fifo", STORM_EPATH, ENXIO },
		{ "nodir/x", STORM_ESYS, ENOENT },
		{ "file/x", STORM_EPATH, ENOTDIR },
	};
	struct file_request req = { .verb = FILE_BEGIN,
				    .op = 1,
				    .path = "relative" };
	struct file_reply rep;

	make("file", "");
	must(!mkdir(at("dir"), 0755) && !mkfifo(at("fifo"), 0644));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int err = begin(bad[i].path, 1, STORM_FILE_FORCE, 1);

		if (err != bad[i].err || errno != bad[i].sys)
			ck_abort_msg("%s: error %d, errno %d", bad[i].path, err,
				     errno);
	}
	must(ask_of(child, &req, &rep) == STORM_EPATH);
	must(names_in(dir) == 3 && names_in(at("dir")) == 0);
}
END_TEST

/* Dots that are part of a name are only dots. */
START_TEST(test_dots_in_names)
{
	must(!begin("..f", 1, 0, 0));
	must(!begin("g..", 2, 0, 0));
	must(!begin("h..i", 3, 0, 0));
}
END_TEST

START_TEST(test_long_name)
{
	char name[300];

	memset(name, 'x', sizeof(name));
	name[256] = '\0';
	must(begin(name, 1, 0, 0) == STORM_EPATH);
	name[255] = '\0';
	must(!begin(name, 1, 0, 0));
	must(!ask(FILE_STAGE, 1) && !ask(FILE_COMMIT, 1));
	must(!access(at(name), F_OK));
	/* its libraries' directory would be longer still */
	must(begin(name, 2, STORM_FILE_LIBDIR | STORM_FILE_FORCE, 0) ==
	     STORM_EPATH);
	must(names_in(dir) == 1);
}
END_TEST

START_TEST(test_symlink)
{
	make("other", "precious");
	must(!symlink(at("other"), at("link")));
	must(begin("link", 1, 0, 3) == STORM_EEXIST);
	must(begin("link", 1, STORM_FILE_FORCE, 3) == STORM_EPATH);
	must(errno == ELOOP);
	holds("other", "precious");
	/* a link on the way is followed, as by Slurm */
	must(!mkdir(at("dir"), 0777) && !chmod(at("dir"), 0777));
	must(!symlink("dir", at("to")));
	must(!begin("to/f", 2, 0, 0));
	must(names_in(at("dir")) == 1);
}
END_TEST

START_TEST(test_libdir)
{
	struct stat st;

	must(begin("libx.so", 1, STORM_FILE_IN_LIBDIR, 0) == STORM_EINVAL);
	must(!begin("f", 1, STORM_FILE_LIBDIR, 0));
	must(!stat(at("f_libs"), &st) && (st.st_mode & 0777) == 0700);
	must(st.st_uid == user.uid);
	must(begin("a/b", 2, STORM_FILE_IN_LIBDIR, 0) == STORM_EPATH);
	must(begin("..", 2, STORM_FILE_IN_LIBDIR, 0) == STORM_EPATH);
	must(begin("", 2, STORM_FILE_IN_LIBDIR, 0) == STORM_EPATH);
	must(!begin("libx.so", 2, STORM_FILE_IN_LIBDIR, 0));
	must(!ask(FILE_STAGE, 1) && !ask(FILE_COMMIT, 1));
	must(!ask(FILE_STAGE, 2) && !ask(FILE_COMMIT, 2));
	must(!access(at("f_libs/libx.so"), F_OK));
	/* it exists: an error, as Slurm's; with force it is used again */
	must(begin("f", 3, STORM_FILE_LIBDIR, 0) == STORM_EEXIST);
	must(!begin("f", 3, STORM_FILE_LIBDIR | STORM_FILE_FORCE, 0));
	must(!access(at("f_libs/libx.so"), F_OK));
}
END_TEST

START_TEST(test_rmdir)
{
	struct file_request req = { .verb = FILE_RMDIR };
	struct file_reply rep;

	must(!mkdir(at("f_libs"), 0777));
	make("f_libs/a", "");
	make("keep", "precious");
	must(!symlink(at("keep"), at("f_libs/b")));
	if (root())
		must(!chown(at("f_libs"), ALICE, ALICE));
	strcpy(req.path, at("f_libs"));
	must(!ask_of(child, &req, &rep));
	must(names_in(dir) == 1);
	holds("keep", "precious");
	must(!ask_of(child, &req, &rep)); /* gone already */
	/* through a link: not */
	must(!mkdir(at("d"), 0777) && !symlink("d", at("l")));
	make("d/a", "");
	strcpy(req.path, at("l"));
	must(ask_of(child, &req, &rep) == STORM_EPATH);
	must(names_in(at("d")) == 1);
}
END_TEST

/* What another user may not do, this child may not. */
START_TEST(test_as_the_user)
{
	static const gid_t groups[] = { BOB };
	struct file_user in_group = user;
	struct stat st;

	must(!mkdir(at("bob"), 0755) && !chown(at("bob"), BOB, BOB));
	must(begin("bob/f", 1, 0, 0) == STORM_ESYS && errno == EACCES);
	must(!mkdir(at("secret"), 0700));
	must(begin("secret/f", 1, 0, 0) == STORM_ESYS && errno == EACCES);
	/* sticky: others' files cannot be replaced */
	must(!mkdir(at("tmp"), 0777) && !chmod(at("tmp"), 01777));
	make("tmp/f", "bob's");
	must(!chown(at("tmp/f"), BOB, BOB));
	must(begin("tmp/f", 2, STORM_FILE_FORCE, 0) == STORM_ESYS);
	must(errno == EACCES);
	must(!chmod(at("tmp/f"), 0666));
	must(begin("tmp/f", 2, STORM_FILE_FORCE, 0) == STORM_ESYS);
	must(errno == EACCES);
	must(names_in(at("tmp")) == 1);
	holds("tmp/f", "bob's");
	/* elsewhere those that Slurm could write to can */
	must(!chmod(at("tmp"), 0777));
	must(!begin("tmp/f", 2, STORM_FILE_FORCE, 0));
	must(!ask(FILE_STAGE, 2) && !ask(FILE_COMMIT, 2));
	holds("tmp/f", "");
	/* ... and the others not */
	make("tmp/g", "bob's");
	must(!chown(at("tmp/g"), BOB, BOB) && !chmod(at("tmp/g"), 0644));
	must(begin("tmp/g", 4, STORM_FILE_FORCE, 0) == STORM_ESYS);
	must(errno == EACCES);
	/* supplementary groups count */
	must(!chmod(at("bob"), 0775));
	must(begin("bob/f", 3, 0, 0) == STORM_ESYS);
	in_group.gids = groups;
	in_group.ngids = 1;
	close(child);
	child = file_child_start(nursery, &in_group);
	must(child >= 0 && !begin("bob/f", 3, 0, 0));
	temp_stat(at("bob"), &st);
	must(st.st_uid == ALICE && st.st_gid == ALICE);
}
END_TEST

START_TEST(test_full_disk)
{
	must(!mkdir(at("small"), 0777));
	if (mount("tmpfs", at("small"), "tmpfs", 0, "size=64k,mode=777")) {
		fprintf(stderr, "SKIP: full_disk: cannot mount a tmpfs\n");
		return;
	}
	must(begin("small/f", 1, 0, 1 << 20) == STORM_ESYS);
	must(errno == ENOSPC);
	must(names_in(at("small")) == 0);
	must(!begin("small/f", 2, 0, 4096));
	close(child);
	child = -1;
	eventually(names_in(at("small")) == 0);
	eventually(!umount(at("small")));
}
END_TEST

/* Where the pool ends, and what a file does not have. */
START_TEST(test_outside)
{
	must(!begin("f", 1, 0, 5));
	must(!move(FILE_WRITE, FILE_POOL_SIZE - 5, 5, 0));
	must(move(FILE_WRITE, FILE_POOL_SIZE - 4, 5, 0) == STORM_EINVAL);
	must(move(FILE_WRITE, 0, UINT32_MAX, 0) == STORM_EINVAL);
	must(move(FILE_WRITE, UINT32_MAX, 2, 0) == STORM_EINVAL);
	memset(pool.base, 'x', 5);
	must(!move(FILE_READ, 0, 5, 0));
	must(!memcmp(pool.base, "\0\0\0\0\0", 5));
	must(move(FILE_READ, 0, 6, 0) == STORM_ESYS && errno == EIO);
}
END_TEST

/* The pool of a begin is the agent's, of its size. */
START_TEST(test_no_pool)
{
	struct file_pool good = pool;

	pool.fd = -1;
	must(begin("f", 1, 0, 5) == STORM_ESYS && errno == EBADF);
	pool.fd = memfd_create("small", MFD_CLOEXEC);
	must(pool.fd >= 0);
	must(begin("f", 1, 0, 5) == STORM_ESYS && errno == EINVAL);
	close(pool.fd);
	pool = good;
	must(!begin("f", 1, 0, 5));
	must(names_in(dir) == 1);
}
END_TEST

/* After a write that failed there is a hole: nothing of it is staged or read. */
START_TEST(test_failed_write)
{
	must(!mkdir(at("small"), 0777));
	if (mount("tmpfs", at("small"), "tmpfs", 0, "size=64k,mode=777")) {
		fprintf(stderr, "SKIP: failed_write: cannot mount a tmpfs\n");
		return;
	}
	must(!begin("small/f", 1, 0, 4096));
	must(move(FILE_WRITE, 0, 1 << 20, 0) == STORM_ESYS && errno == ENOSPC);
	must(move(FILE_WRITE, 0, 1, 0) == STORM_ESYS && errno == ENOSPC);
	must(move(FILE_READ, 0, 1, 0) == STORM_ESYS && errno == ENOSPC);
	must(ask(FILE_STAGE, 1) == STORM_ESYS && errno == ENOSPC);
	close(child);
	child = -1;
	eventually(names_in(at("small")) == 0);
	eventually(!umount(at("small")));
}
END_TEST

/* Pieces are taken, and given back in order, as chance has it: none is where
 * another one still is, and all memory that was used is within the limit. */
START_TEST(test_pool)
{
	struct rnd r = rnd_of(_i);
	static size_t out[FILE_POOL_SLOTS], most[FILE_POOL_SLOTS];
	size_t first = 0, last = 0, limit = FILE_POOL_STEP, used = 0;

	for (int k = 0; k < 20000; k++) {
		size_t size, at, len;
		uint8_t *room;

		if (below(&r, 100) < 49 || last - first == FILE_POOL_SLOTS) {
			must((file_pool_oldest(&pool) != NULL) ==
			     (first < last));
			if (first < last)
				must(file_pool_oldest(&pool)->at ==
				     out[first++ % FILE_POOL_SLOTS]);
			file_pool_release(&pool);
			continue;
		}
		room = file_pool_room(&pool, &size);
		if (!room) {
			must(first < last); /* an empty one has room */
			if (below(&r, 20) == 0 && file_pool_grow(&pool))
				limit += FILE_POOL_STEP;
			continue;
		}
		at = (size_t) (room - pool.base);
		must(size >= FILE_POOL_MIN && size <= FILE_POOL_ROOM &&
		     at % FILE_POOL_ROOM == 0 && at < FILE_POOL_SIZE);
		for (size_t i = first; i < last; i++)
			must(out[i % FILE_POOL_SLOTS] != at);
		len = 1 + below(&r, (uint32_t) size);
		out[last++ % FILE_POOL_SLOTS] = at;
		at /= FILE_POOL_ROOM;
		used += len > most[at] ? len - most[at] : 0;
		most[at] = len > most[at] ? len : most[at];
		must(used <= limit);
		file_pool_take(&pool, FILE_WRITE, 0, len);
	}
	must(last > 1000);
}
END_TEST

START_TEST(test_same_operation_twice)
{
	must(!begin("f", 1, 0, 0));
	must(begin("g", 1, 0, 0) == STORM_EINVAL);
	must(!ask(FILE_STAGE, 1) && !ask(FILE_COMMIT, 1));
	must(access(at("g"), F_OK));
	must(ask(FILE_STAGE, 77) == STORM_ENOENT);
	must(ask(FILE_COMMIT, 77) == STORM_ENOENT);
	must(ask(99, 1) == STORM_EINVAL);
}
END_TEST

START_TEST(test_nursery_ends)
{
	close(nursery);
	nursery = -1;
	/* children live on for their sessions */
	must(!begin("f", 1, 0, 0));
	nursery = start_nursery(NULL);
	must(nursery >= 0);
	close(child);
	user.ngids = -1;
	errno = 0;
	must(file_child_start(nursery, &user) == -1 && errno == EINVAL);
	user.ngids = 0;
	/* a user that this process may not become: the end, not a hang */
	if (!root()) {
		user.uid++;
		child = file_child_start(nursery, &user);
		ended(child);
		user.uid--;
	} else {
		child = -1;
	}
}
END_TEST

/* In the child, with the job's number and before it is the user. */
static int join_chdir(uint32_t job_id, uid_t uid)
{
	if (uid != user.uid || (root() && geteuid()))
		return 1;
	/* job 7 has no namespace */
	return job_id == 7 ? 1 : chdir(dir);
}

START_TEST(test_join)
{
	close(nursery);
	nursery = start_nursery(join_chdir);
	must(nursery >= 0);
	close(child);
	user.job_id = 5;
	child = file_child_start(nursery, &user);
	must(child >= 0 && !begin("f", 1, 0, 0));
	close(child);
	user.job_id = 7;
	child = file_child_start(nursery, &user);
	must(child >= 0);
	ended(child);
	user.job_id = 0;
}
END_TEST

/* So many that wait say so. */
static int count_waiting(struct pollfd *p, int end, int want)
{
	struct file_reply rep;
	int fd, n = 0;

	while (n < want) {
		must(poll(p, end, 10000) > 0);
		for (int i = 0; i < end; i++)
			if (p[i].revents) {
				must(file_child_recv(p[i].fd, &rep, &fd) == 1);
				must(rep.verb == FILE_WAITS && fd == -1);
				n++;
			}
	}
	return n;
}

/* Answers of p[first] and on, until there are `want`. */
static void take_answers(struct pollfd *p, int first, int end, int *have,
			 int want)
{
	struct file_reply rep;
	int fd;

	while (*have < 2 * want) { /* STARTED, and the answer */
		must(poll(p + first, end - first, 10000) > 0);
		for (int i = first; i < end; i++)
			if (p[i].revents) {
				must(file_child_recv(p[i].fd, &rep, &fd) == 1);
				if (fd >= 0)
					close(fd);
				*have += rep.verb != FILE_WAITS;
			}
	}
}

/* More children than a user may have: they wait, and another user's do not. */
START_TEST(test_limits)
{
	enum { MORE = FILE_CHILDREN_PER_USER + 4 };
	struct file_request req = { .verb = FILE_RMDIR, .op = 7 };
	struct file_user other = { .uid = BOB, .gid = BOB };
	struct pollfd p[MORE] = { 0 }, o = { .events = POLLIN };
	int have = 0;

	snprintf(req.path, sizeof(req.path), "%s/none", dir);
	close(child);
	child = -1;
	for (int i = 0; i < MORE; i++) {
		p[i].fd = file_child_start(nursery, &user);
		p[i].events = POLLIN;
		must(p[i].fd >= 0 && !file_child_send(p[i].fd, &req, -1));
	}
	take_answers(p, 0, FILE_CHILDREN_PER_USER, &have,
		     FILE_CHILDREN_PER_USER);
	must(count_waiting(p, MORE, 4) == 4);
	if (root()) {
		int one = 0;

		o.fd = file_child_start(nursery, &other);
		must(o.fd >= 0 && !file_child_send(o.fd, &req, -1));
		take_answers(&o, 0, 1, &one, 1);
		close(o.fd);
	}
	/* the last ones are still not there */
	must(!poll(p, MORE, 0));
	for (int i = 0; i < 4; i++)
		close(p[i].fd);
	take_answers(p, 4, MORE, &have, MORE);
	for (int i = 4; i < MORE; i++)
		close(p[i].fd);
}
END_TEST

/* A user can stop its own child.  The child does not keep its place for ever. */
START_TEST(test_stopped_child)
{
	enum { ALL = FILE_CHILDREN_PER_USER };
	struct file_request req = { .verb = FILE_RMDIR, .op = 7 };
	struct pollfd p[ALL] = { 0 };
	char path[64];
	int have = 0, pid;
	FILE *f;

	close(child);
	child = -1;
	snprintf(req.path, sizeof(req.path), "%s/none", dir);
	for (int i = 0; i < ALL; i++) {
		p[i].fd = file_child_start(nursery, &user);
		p[i].events = POLLIN;
		must(p[i].fd >= 0 && !file_child_send(p[i].fd, &req, -1));
	}
	take_answers(p, 0, ALL, &have, ALL);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", nursery_pid,
		 nursery_pid);
	f = fopen(path, "re");
	must(f);
	while (fscanf(f, "%d", &pid) == 1)
		must(!kill(pid, SIGSTOP));
	fclose(f);
	for (int i = 0; i < ALL; i++)
		close(p[i].fd);
	have = 0;
	p[0].fd = file_child_start(nursery, &user);
	must(p[0].fd >= 0 && !file_child_send(p[0].fd, &req, -1));
	take_answers(p, 0, 1, &have, 1);
	close(p[0].fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("agent_file");
	TCase *c = tcase_create("files");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_whole);
	tcase_add_test(c, test_can_be_executed);
	tcase_add_test(c, test_empty_file);
	tcase_add_test(c, test_size_is_checked);
	tcase_add_loop_test(c, test_digest, 0, 16);
	tcase_add_test(c, test_no_digest);
	tcase_add_test(c, test_abort_leaves_nothing);
	tcase_add_test(c, test_abort_after_commit_keeps);
	tcase_add_test(c, test_close_leaves_nothing);
	tcase_add_test(c, test_killed_agent_leaves_nothing);
	tcase_add_test(c, test_exists);
	tcase_add_test(c, test_exists_at_commit);
	tcase_add_test(c, test_bad_paths);
	tcase_add_test(c, test_dots_in_names);
	tcase_add_test(c, test_long_name);
	tcase_add_test(c, test_symlink);
	tcase_add_test(c, test_libdir);
	tcase_add_test(c, test_rmdir);
	tcase_add_test(c, test_same_operation_twice);
	tcase_add_test(c, test_outside);
	tcase_add_test(c, test_no_pool);
	tcase_add_loop_test(c, test_pool, 0, 10);
	tcase_add_test(c, test_nursery_ends);
	tcase_add_test(c, test_limits);
	tcase_add_test(c, test_stopped_child);
	tcase_add_test(c, test_join);
	if (root()) {
		tcase_add_test(c, test_as_the_user);
		tcase_add_test(c, test_full_disk);
		tcase_add_test(c, test_failed_write);
	} else {
		fprintf(stderr,
			"SKIP: as_the_user, full_disk, failed_write: not root\n");
	}
	suite_add_tcase(s, c);
	return unit_main(s);
}
