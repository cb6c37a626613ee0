# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception

# STORM_CHECK_PKG(VARIABLE, PKG-CONFIG MODULES, DEBIAN PACKAGE)
# A library that we cannot do without; the error names the package to install.
AC_DEFUN([STORM_CHECK_PKG], [
	PKG_CHECK_MODULES([$1], [$2], [], [AC_MSG_ERROR(
		[$2 is missing: install the package $3 (contribs/prepare does)])])
	storm_version_$1=$($PKG_CONFIG --modversion "m4_bpatsubst([$2], [ .*])")
])

# STORM_CHECK_OPTIONAL(NAME, VARIABLE, PKG-CONFIG MODULES, WHAT IT IS FOR,
#                      WHAT IS SAID OF IT, OF WHICH MODULE, DEBIAN PACKAGES)
# A library that is used where it is to be had: with --with-NAME it must be, with
# --without-NAME it is not looked for.  storm_NAME says which, for configure's summary.
AC_DEFUN([STORM_CHECK_OPTIONAL], [
	AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1],
		[$4 @<:@default: if it is there@:>@])], [], [with_$1=check])
	storm_$1="no $5 (--without-$1)"
	AS_IF([test "x$with_$1" != xno], [
		PKG_CHECK_MODULES([$2], [$3],
			[with_$1=yes
			 storm_$1="$5 ($6 $($PKG_CONFIG --modversion $6))"],
			[AS_IF([test "x$with_$1" = xyes], [AC_MSG_ERROR(
				[$3 is missing: install the m4_bpatsubst([$7], [, ], [ and ])])])
			 with_$1=no
			 storm_$1="no $5 ($7)"])])
	AM_CONDITIONAL([HAVE_$2], [test "x$with_$1" = xyes])
])

# STORM_CHECK_SLURM_SRC
# Finds the configured source tree of exactly the installed Slurm, and records
# its revision and the digest of its config.h: a distribution's revision can
# change structures that Slurm's own version check does not see.
AC_DEFUN([STORM_CHECK_SLURM_SRC], [
	AC_ARG_WITH([slurm-src], [AS_HELP_STRING([--with-slurm-src=DIR],
		[configured source of exactly the installed Slurm
		 @<:@default: $STORM_SLURM_SRC, or ./slurm-src@:>@])],
		[SLURM_SRC=$withval],
		[SLURM_SRC=${STORM_SLURM_SRC:-slurm-src}])
	AC_MSG_CHECKING([for the configured Slurm source])
	AS_CASE([$SLURM_SRC],
		[yes | no], [AC_MSG_ERROR([--with-slurm-src needs a directory])])
	storm_get="'contribs/prepare slurm-source' fetches and configures the source of the installed revision; then give --with-slurm-src=DIR"
	AS_IF([test ! -d "$SLURM_SRC"],
		[AC_MSG_ERROR([no Slurm source in '$SLURM_SRC': $storm_get])])
	SLURM_SRC=$(cd "$SLURM_SRC" && pwd)
	AS_IF([test ! -f "$SLURM_SRC/src/common/slurm_protocol_defs.h"],
		[AC_MSG_ERROR(['$SLURM_SRC' is no Slurm source tree: $storm_get])])
	AS_IF([test ! -f "$SLURM_SRC/config.h" ||
	       test ! -f "$SLURM_SRC/slurm/slurm_version.h"],
		[AC_MSG_ERROR(['$SLURM_SRC' is not configured (no config.h): $storm_get])])
	storm_number=$($SED -n \
		's/^#define SLURM_VERSION_NUMBER 0x\(..\)\(..\)\(..\).*/0x\1 0x\2 0x\3/p' \
		"$SLURM_SRC/slurm/slurm_version.h")
	storm_slurm_version=$(printf '%d.%02d.%d' $storm_number)
	storm_slurm_revision=$storm_slurm_version
	# What differs between releases is in src/slurm and in files that a
	# Makefile.am chooses by these.
	storm_release=${storm_slurm_version%.*}
	AS_CASE([$storm_release],
		[22.05 | 24.11 | 25.11 | 26.05], [],
		[AC_MSG_ERROR(['$SLURM_SRC' is Slurm $storm_slurm_version: STORM is built for 22.05, 24.11 and 26.05 (25.11 compiles, and is not tested)])])
	AM_CONDITIONAL([SLURM_22_05], [test $storm_release = 22.05])
	AM_CONDITIONAL([SLURM_24_11], [test $storm_release = 24.11])
	AM_CONDITIONAL([SLURM_25_11], [test $storm_release = 25.11])
	AM_CONDITIONAL([SLURM_26_05], [test $storm_release = 26.05])
	AS_IF([test -f "$SLURM_SRC/debian/changelog"],
		[storm_slurm_revision=$($SED -n \
			'1s/^@<:@^(@:>@*(\(@<:@^)@:>@*\)).*/\1/p' \
			"$SLURM_SRC/debian/changelog")])
	AC_MSG_RESULT([$SLURM_SRC, $storm_slurm_revision])

	AC_MSG_CHECKING([that it is the installed Slurm's])
	storm_installed=
	for storm_package in slurm-wlm-basic-plugins slurmd slurm-client; do
		AS_IF([test -z "$storm_installed"],
			[storm_installed=$(dpkg-query -W -f '${source:Version}' \
				$storm_package 2>/dev/null)])
	done
	AS_CASE(["$with_slurm_lib/"],
		["$SLURM_SRC"/*], [storm_installed=own])
	AS_CASE([$storm_installed],
		[own], [AC_MSG_RESULT([no, STORM is linked with the library that was made in it])],
		[""], [AC_MSG_RESULT([unknown, no Debian package of it is installed])],
		[$storm_slurm_revision], [AC_MSG_RESULT([yes])],
		[$storm_slurm_revision-*],
			[AC_MSG_RESULT([the version is, $storm_installed; whether the distribution patched it is unknown])],
		[AC_MSG_ERROR([the source is $storm_slurm_revision, but $storm_installed is installed: $storm_get])])

	storm_slurm_digest=$(sha256sum "$SLURM_SRC/config.h" | cut -d ' ' -f 1)
	AC_SUBST([SLURM_SRC])
	# As system headers, so that our warnings stay ours.  Slurm's config.h
	# comes first everywhere, as in Slurm: NDEBUG in it changes headers.
	AC_SUBST([SLURM_CPPFLAGS],
		['-isystem $(SLURM_SRC) -include $(SLURM_SRC)/config.h'])
	# Slurm is built without strict aliasing, and needs it so; its plugin
	# interfaces have parameters that not every plugin uses.
	AC_SUBST([SLURM_CFLAGS], ['-pthread -fno-strict-aliasing -Wno-unused-parameter'])
	AC_DEFINE_UNQUOTED([STORM_SLURM_REVISION], ["$storm_slurm_revision"],
		[The revision of the Slurm source])
	AC_DEFINE_UNQUOTED([STORM_SLURM_CONFIG_DIGEST], ["$storm_slurm_digest"],
		[SHA-256 of the Slurm source's config.h])
])

# STORM_CHECK_SLURM_LIB
# Finds libslurmfull.so, Slurm's internal library, which its commands and
# daemons share.
AC_DEFUN([STORM_CHECK_SLURM_LIB], [
	AC_ARG_WITH([slurm-lib], [AS_HELP_STRING([--with-slurm-lib=DIR],
		[the directory of libslurmfull.so @<:@default: looked for@:>@])],
		[storm_dirs=$withval],
		[storm_dirs="/usr/lib/*/slurm-wlm /usr/lib64/slurm /usr/lib/slurm /usr/lib/*/slurm /usr/local/lib/slurm"])
	AC_MSG_CHECKING([for libslurmfull.so])
	storm_slurm_lib=
	for storm_dir in $storm_dirs; do
		AS_IF([test -z "$storm_slurm_lib" &&
		       test -f "$storm_dir/libslurmfull.so"],
			[storm_slurm_lib=$storm_dir])
	done
	AS_IF([test -z "$storm_slurm_lib"], [AC_MSG_ERROR(
		[no libslurmfull.so in $storm_dirs: install the packages slurmd and slurm-client (contribs/prepare does), or give --with-slurm-lib=DIR])])
	AC_MSG_RESULT([$storm_slurm_lib])
	# Programs and plugins compare it with that of the library which they meet
	# (src/storm_common/slurm_build.h).
	AC_CHECK_TOOL([READELF], [readelf])
	AC_MSG_CHECKING([for its build-id])
	AS_IF([test -z "$READELF"],
		[AC_MSG_ERROR([readelf is missing: install the package binutils])])
	storm_slurm_build=$(LC_ALL=C $READELF -n "$storm_slurm_lib/libslurmfull.so" |
		$SED -n 's/^ *Build ID: *\(@<:@0-9a-f@:>@*\)$/\1/p')
	AC_MSG_RESULT([${storm_slurm_build:-none, so only its release can be checked later}])
	AC_DEFINE_UNQUOTED([STORM_SLURM_BUILD_ID], ["$storm_slurm_build"],
		[The GNU build-id of libslurmfull.so, in hex, or empty])
	AC_SUBST([SLURM_LIBS],
		["-L$storm_slurm_lib -lslurmfull -Wl,-rpath,$storm_slurm_lib"])
])

# STORM_CHOOSE_WARNINGS
AC_DEFUN([STORM_CHOOSE_WARNINGS], [
	AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror],
		[make warnings errors, as our CI does])],
		[], [enable_werror=no])
	WARN_CFLAGS="-Wall -Wextra -Wshadow -Wmissing-prototypes -Wformat-security"
	storm_warnings=warnings
	AS_IF([test "$enable_werror" = yes],
		[WARN_CFLAGS="$WARN_CFLAGS -Werror"
		 storm_warnings=errors])
	AC_SUBST([WARN_CFLAGS])
])

# STORM_CHOOSE_FUZZING, before the compiler is looked for: the fuzzer is clang's.
AC_DEFUN([STORM_CHOOSE_FUZZING], [
	AC_ARG_ENABLE([fuzzing], [AS_HELP_STRING([--enable-fuzzing],
		[build for testsuite/fuzz alone: with clang, its libFuzzer and
		 the sanitizers])],
		[], [enable_fuzzing=no])
	storm_fuzzing="no, what is in the corpus is replayed"
	AS_IF([test "$enable_fuzzing" = yes],
		[storm_fuzzing=libFuzzer
		 enable_sanitizers=yes
		 AS_IF([test -z "$CC"], [CC=clang])])
	AM_CONDITIONAL([FUZZING], [test "$enable_fuzzing" = yes])
])

# STORM_CHECK_FUZZER
AC_DEFUN([STORM_CHECK_FUZZER], [
	AS_IF([test "$enable_fuzzing" = yes], [
		AC_MSG_CHECKING([that $CC has libFuzzer])
		storm_cflags=$CFLAGS
		CFLAGS="$CFLAGS -fsanitize=fuzzer,address,undefined"
		AC_LINK_IFELSE([AC_LANG_SOURCE(
			[int LLVMFuzzerTestOneInput(const char *data, long size);
			 int LLVMFuzzerTestOneInput(const char *data, long size)
			 { return size < 0 && *data; }])],
			[AC_MSG_RESULT([yes])],
			[AC_MSG_ERROR([$CC cannot link with -fsanitize=fuzzer: install the packages clang and libclang-rt-dev (contribs/prepare does)])])
		CFLAGS=$storm_cflags
	])
])

# STORM_CHOOSE_SANITIZERS
AC_DEFUN([STORM_CHOOSE_SANITIZERS], [
	AC_ARG_ENABLE([sanitizers], [AS_HELP_STRING([--enable-sanitizers],
		[build with the address and undefined behaviour sanitizers, for
		 the tests: outside of stormlab's clusters Slurm cannot load
		 such plugins])],
		[], [enable_sanitizers=${enable_sanitizers:-no}])
	SAN_CFLAGS=
	AS_IF([test "$enable_sanitizers" = yes],
		[SAN_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"])
	AS_IF([test "$enable_fuzzing" = yes],
		[SAN_CFLAGS="$SAN_CFLAGS -fsanitize=fuzzer-no-link -fsanitize-coverage-ignorelist=\$(abs_top_srcdir)/testsuite/fuzz/uncounted"])
	AC_SUBST([SAN_CFLAGS])
])

# STORM_TRY_FLAG(VARIABLE, FLAG [FLAG...])
# Appends the first of the flags with which the compiler builds a program.
AC_DEFUN([STORM_TRY_FLAG], [
	for storm_flag in $2; do
		AC_MSG_CHECKING([whether $CC takes $storm_flag])
		storm_cflags=$CFLAGS
		CFLAGS="$CFLAGS -Werror -U_FORTIFY_SOURCE $storm_flag"
		AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]],
			[[return strlen("");]])],
			[storm_taken=yes], [storm_taken=no])
		CFLAGS=$storm_cflags
		AC_MSG_RESULT([$storm_taken])
		AS_IF([test $storm_taken = yes], [
			AS_VAR_APPEND([$1], [" $storm_flag"])
			break
		])
	done
])

# STORM_CHOOSE_HARDENING, after the sanitizers
# HARDEN_CFLAGS for what is compiled, HARDEN_LDFLAGS for libraries and plugins,
# HARDEN_PROGRAM_LDFLAGS for programs.  testsuite/unit/hardening looks at what
# comes out.  A compiler without a flag builds without it; fortifying needs
# -O, and its level is the builder's if it is given one, as packages are.
# Sanitizers see more than these flags do, and some exclude each other.
AC_DEFUN([STORM_CHOOSE_HARDENING], [
	HARDEN_CFLAGS=
	HARDEN_LDFLAGS=
	HARDEN_PROGRAM_LDFLAGS=
	AS_IF([test "$enable_sanitizers" != yes], [
		AS_CASE(["$CPPFLAGS $CFLAGS"],
			[*_FORTIFY_SOURCE=*], [],
			[HARDEN_CFLAGS="-U_FORTIFY_SOURCE"
			 STORM_TRY_FLAG([HARDEN_CFLAGS],
				[-D_FORTIFY_SOURCE=3 -D_FORTIFY_SOURCE=2])])
		STORM_TRY_FLAG([HARDEN_CFLAGS], [-fstack-protector-strong])
		STORM_TRY_FLAG([HARDEN_CFLAGS], [-fcf-protection])
		# libtool puts -fPIC behind it for libraries
		STORM_TRY_FLAG([HARDEN_CFLAGS], [-fPIE])
		STORM_TRY_FLAG([HARDEN_LDFLAGS], [-Wl,-z,relro])
		STORM_TRY_FLAG([HARDEN_LDFLAGS], [-Wl,-z,now])
		STORM_TRY_FLAG([HARDEN_LDFLAGS], [-Wl,-z,noexecstack])
		STORM_TRY_FLAG([HARDEN_PROGRAM_LDFLAGS], [-pie])
		HARDEN_PROGRAM_LDFLAGS="$HARDEN_PROGRAM_LDFLAGS $HARDEN_LDFLAGS"
	])
	AC_SUBST([HARDEN_CFLAGS])
	AC_SUBST([HARDEN_LDFLAGS])
	AC_SUBST([HARDEN_PROGRAM_LDFLAGS])
])
