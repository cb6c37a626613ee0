/*
 * staged.c - see staged.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "src/libstorm/wire/digest.h"
#include "staged.h"

#define ACCESS_LIST "system.posix_acl_access"
#define CATCH_UP (64u << 10) /* read back at a time */

static int staged_fail(enum storm_err err, int *sys, int num)
{
	*sys = num;
	return err;
}

int storm_staged_error(int num)
{
	switch (num) {
	case EEXIST:
		return STORM_EEXIST;
	case EISDIR:
	case ELOOP:
	case ENOTDIR:
	case ENAMETOOLONG:
		return STORM_EPATH;
	default:
		return STORM_ESYS;
	}
}

static int staged_fail_path(int *sys, int num)
{
	return staged_fail((enum storm_err) storm_staged_error(num), sys, num);
}

static bool staged_has_dotdot(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")); p += 2) {
		if ((p == path || p[-1] == '/') && (p[2] == '/' || !p[2]))
			return true;
	}
	return false;
}

/* path is absolute and has no "..".  Below a root, open each component relative
 * to its parent and refuse symbolic links, so that no path leads out of
 * root. */
static int staged_open_below(int root, const char *path)
{
	static const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int dir, next;

	if (root < 0)
		return open(path, flags);
	dir = openat(root, ".", flags);
	while (dir >= 0 && *(path += strspn(path, "/"))) {
		size_t n = strcspn(path, "/");
		char name[NAME_MAX + 1];

		if (n > NAME_MAX) {
			close(dir);
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, path, n);
		name[n] = '\0';
		path += n;
		next = openat(dir, name, flags | O_NOFOLLOW);
		close(dir); /* keeps errno: it is open and ours */
		dir = next;
	}
	return dir;
}

int storm_staged_open_dir(int root, const char *path, int *dir,
			  char (*name)[NAME_MAX + 1], int *sys)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];

	if (path[0] != '/' || staged_has_dotdot(path))
		return staged_fail(STORM_EPATH, sys, EINVAL);
	if (!slash[1] || !strcmp(slash + 1, "."))
		return staged_fail(STORM_EPATH, sys, EISDIR);
	if (strlen(slash + 1) > NAME_MAX || slash - path >= PATH_MAX)
		return staged_fail(STORM_EPATH, sys, ENAMETOOLONG);
	snprintf(parent, sizeof(parent), "%.*s",
		 slash == path ? 1 : (int) (slash - path), path);
	strcpy(*name, slash + 1);
	*dir = staged_open_below(root, parent);
	if (*dir < 0)
		return staged_fail_path(sys, errno);
	return STORM_OK;
}

/*
 * Check the file that has the final name.  The commit is a rename: it would
 * replace a symbolic link, where Slurm's sbcast would write through it.
 * Neither is safe to assume, so refuse a link.
 */
static int staged_check_target(const struct storm_staged *f, int *sys)
{
	struct stat st, parent;

	if (fstatat(f->dir, f->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? STORM_OK :
					 staged_fail_path(sys, errno);
	if (S_ISDIR(st.st_mode))
		return staged_fail(STORM_EPATH, sys, EISDIR);
	if (!(f->flags & STORM_FILE_FORCE))
		return staged_fail(STORM_EEXIST, sys, EEXIST);
	if (S_ISLNK(st.st_mode))
		return staged_fail(STORM_EPATH, sys, ELOOP);
	if (!S_ISREG(st.st_mode))
		return staged_fail(STORM_EPATH, sys, ENXIO);
	/* Slurm's sbcast needs write permission, so ask for it here. */
	if (faccessat(f->dir, f->name, W_OK, AT_EACCESS))
		return staged_fail_path(sys, errno);
	/* Another user's file: in a sticky directory the rename would fail after
	 * the decision. */
	if (st.st_uid != geteuid() &&
	    (fstat(f->dir, &parent) ||
	     ((parent.st_mode & S_ISVTX) && parent.st_uid != geteuid() &&
	      geteuid() != 0)))
		return staged_fail_path(sys, EACCES);
	return STORM_OK;
}

/* Reserve the space before the transfer begins.  The file's size stays 0, so
 * that storm_staged_check() sees what was written. */
static int staged_reserve(const struct storm_staged *f, int *sys)
{
	struct statfs fs;
	int rc;

	if (!f->size)
		return STORM_OK;
	/* Do not allocate on tmpfs: it would touch every page twice, the first
	 * time while the sender waits. */
	if (!fstatfs(f->fd, &fs) && fs.f_type == TMPFS_MAGIC)
		return !fs.f_blocks || (f->size - 1) / (uint64_t) fs.f_bsize <
					       fs.f_bavail ?
			       STORM_OK :
			       staged_fail_path(sys, ENOSPC);
	do {
		rc = fallocate(f->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t) f->size);
	} while (rc && errno == EINTR);
	if (!rc || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)
		return STORM_OK;
	return staged_fail_path(sys, errno);
}

static int staged_make_temp(struct storm_staged *f, int *sys)
{
	for (int tries = 0; tries < 16; tries++) {
		char temp[sizeof(f->temp)];
		uint64_t random;

		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return staged_fail(STORM_ESYS, sys, errno);
		snprintf(temp, sizeof(temp), ".%.200s.storm.%016llx", f->name,
			 (unsigned long long) random);
		strcpy(f->temp, temp);
		f->fd = openat(f->dir, f->temp,
			       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW |
				       O_CLOEXEC,
			       0600);
		if (f->fd >= 0)
			return STORM_OK;
		if (errno != EEXIST)
			break;
	}
	f->temp[0] = '\0';
	return staged_fail_path(sys, errno);
}

/* Create "<name>_libs", the directory for the libraries of an executable. */
static int staged_make_libdir(struct storm_staging *g, struct storm_staged *f,
			      int *sys)
{
	static const char suffix[] = "_libs";
	struct stat st;
	int fd;

	if (strlen(f->name) + sizeof(suffix) > sizeof(f->libdir))
		return staged_fail(STORM_EPATH, sys, ENAMETOOLONG);
	strcpy(f->libdir, f->name);
	strcat(f->libdir, suffix);
	if (!mkdirat(f->dir, f->libdir, 0700))
		f->libdir_made = true;
	else if (errno != EEXIST || !(f->flags & STORM_FILE_FORCE))
		return staged_fail_path(sys, errno);
	fd = openat(f->dir, f->libdir,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return staged_fail_path(sys, errno);
	if (fstat(fd, &st) || st.st_uid != geteuid()) {
		close(fd);
		return staged_fail(STORM_EPATH, sys, EPERM);
	}
	if (g->libdir >= 0)
		close(g->libdir);
	g->libdir = fd;
	return STORM_OK;
}

static int staged_in_libdir(struct storm_staging *g, struct storm_staged *f,
			    const char *name, int *sys)
{
	if (g->libdir < 0)
		return staged_fail(STORM_EINVAL, sys, 0);
	if (!*name || strchr(name, '/') || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return staged_fail(STORM_EPATH, sys, EINVAL);
	if (strlen(name) > NAME_MAX)
		return staged_fail(STORM_EPATH, sys, ENAMETOOLONG);
	strcpy(f->name, name);
	f->dir = fcntl(g->libdir, F_DUPFD_CLOEXEC, 3);
	return f->dir < 0 ? staged_fail(STORM_ESYS, sys, errno) : STORM_OK;
}

int storm_staged_begin(struct storm_staged *f, struct storm_staging *g,
		       const struct storm_target *to, uint64_t size, int *sys)
{
	int err;

	memset(f, 0, sizeof(*f));
	*sys = 0;
	f->dir = f->fd = -1;
	f->size = size;
	f->flags = to->flags;
	f->mode = to->mode;
	f->atime = to->atime;
	f->mtime = to->mtime;
	if (size) {
		f->digest = storm_digest_create();
		if (!f->digest)
			return STORM_ENOMEM;
	}
	if (f->flags & STORM_FILE_IN_LIBDIR)
		err = staged_in_libdir(g, f, to->path, sys);
	else
		err = storm_staged_open_dir(g->root, to->path, &f->dir,
					    &f->name, sys);
	if (!err)
		err = staged_check_target(f, sys);
	if (!err)
		err = staged_make_temp(f, sys);
	if (!err)
		err = staged_reserve(f, sys);
	if (!err && f->flags & STORM_FILE_LIBDIR)
		err = staged_make_libdir(g, f, sys);
	if (err)
		storm_staged_drop(f);
	return err;
}

void storm_staged_wrote(struct storm_staged *f, uint64_t off, const void *buf,
			size_t len)
{
	if (off != f->hashed || !f->digest)
		return;
	storm_digest_add(f->digest, buf, len);
	f->hashed += len;
}

bool storm_staged_catch_up(struct storm_staged *f, uint64_t below)
{
	char buf[CATCH_UP];
	uint64_t left = below > f->hashed ? below - f->hashed : 0;
	size_t n = left < sizeof(buf) ? (size_t) left : sizeof(buf);

	if (!n || !f->digest || storm_staged_read(f->fd, f->hashed, buf, n))
		return false;
	storm_staged_wrote(f, f->hashed, buf, n);
	return n < left;
}

/* Is it what the owner has sent? */
static bool staged_is_genuine(struct storm_staged *f, const uint8_t *digest)
{
	uint8_t own[STORM_DIGEST_LEN];

	while (storm_staged_catch_up(f, f->size))
		;
	return f->hashed == f->size && digest && f->digest &&
	       storm_digest_end(f->digest, own) &&
	       !memcmp(own, digest, sizeof(own));
}

/* A file that is replaced keeps its access list: the directory's default list,
 * which a new file gets, may name others.  0, or -1 and errno. */
static int staged_keep_list(const struct storm_staged *f)
{
	char path[sizeof(f->name) + 32], list[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", f->dir, f->name);
	n = lgetxattr(path, ACCESS_LIST, list, sizeof(list));
	if (n >= 0)
		return fsetxattr(f->fd, ACCESS_LIST, list, (size_t) n, 0);
	if (errno == ERANGE)
		return -1;
	/* there is none, or no file; else the file system has no lists */
	return errno == ENODATA && fremovexattr(f->fd, ACCESS_LIST) &&
			       errno != ENODATA ?
		       -1 :
		       0;
}

int storm_staged_check(struct storm_staged *f, const uint8_t *digest, int *sys)
{
	struct timespec t[2] = { { .tv_sec = f->atime },
				 { .tv_sec = f->mtime } };
	struct stat st;

	*sys = 0;
	if (fstat(f->fd, &st))
		return staged_fail(STORM_ESYS, sys, errno);
	if ((uint64_t) st.st_size != f->size)
		return staged_fail(STORM_EVERIFY, sys, 0);
	if (f->size && !staged_is_genuine(f, digest))
		return staged_fail(STORM_EVERIFY, sys, 0);
	/* in a set-group-ID directory it got the directory's group, which its
	 * mode is not meant for */
	if (st.st_gid != getegid() && fchown(f->fd, (uid_t) -1, getegid()))
		return staged_fail(STORM_ESYS, sys, errno);
	if (f->flags & STORM_FILE_FORCE && staged_keep_list(f))
		return staged_fail(STORM_ESYS, sys, errno);
	/* drop set-id bits, whatever the sender asked for */
	if (fchmod(f->fd, f->mode & STORM_FILE_MODE))
		return staged_fail(STORM_ESYS, sys, errno);
	if (f->flags & STORM_FILE_TIMES && futimens(f->fd, t))
		return staged_fail(STORM_ESYS, sys, errno);
	return STORM_OK;
}

/* Rename without replacing.  Use link() if the file system has no
 * RENAME_NOREPLACE. */
static int staged_rename_new(const struct storm_staged *f)
{
	if (!renameat2(f->dir, f->temp, f->dir, f->name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (linkat(f->dir, f->temp, f->dir, f->name, 0))
		return -1;
	unlinkat(f->dir, f->temp, 0);
	return 0;
}

/* While a file is open for writing nobody can execute it, and some file systems tell
 * only at the end that they could not write. */
static int staged_close(struct storm_staged *f)
{
	int fd = f->fd;

	f->fd = -1;
	return fd >= 0 && close(fd) && errno != EINTR ? -1 : 0;
}

int storm_staged_commit(struct storm_staged *f, int *sys)
{
	int rc;

	*sys = 0;
	if (f->committed)
		return STORM_OK;
	if (staged_close(f))
		return staged_fail(STORM_ESYS, sys, errno);
	if (f->flags & STORM_FILE_FORCE)
		rc = renameat(f->dir, f->temp, f->dir, f->name);
	else
		rc = staged_rename_new(f);
	if (rc)
		return staged_fail_path(sys, errno);
	f->committed = true;
	return STORM_OK;
}

void storm_staged_drop(struct storm_staged *f)
{
	if (f->temp[0] && !f->committed)
		unlinkat(f->dir, f->temp, 0);
	if (f->libdir_made && !f->committed)
		unlinkat(f->dir, f->libdir, AT_REMOVEDIR);
	if (f->fd >= 0)
		close(f->fd);
	if (f->dir >= 0)
		close(f->dir);
	f->fd = f->dir = -1;
	storm_digest_destroy(f->digest);
	f->digest = NULL;
}

int storm_staged_write(int fd, uint64_t off, const void *buf, size_t len)
{
	while (len) {
		ssize_t n = pwrite(fd, buf, len, (off_t) off);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return errno;
		}
		buf = (const char *) buf + n;
		off += (uint64_t) n;
		len -= (size_t) n;
	}
	return 0;
}

int storm_staged_read(int fd, uint64_t off, void *buf, size_t len)
{
	while (len) {
		ssize_t n = pread(fd, buf, len, (off_t) off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : EIO;
		buf = (char *) buf + n;
		off += (uint64_t) n;
		len -= (size_t) n;
	}
	return 0;
}
