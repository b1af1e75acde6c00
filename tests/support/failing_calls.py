"""A library, loaded into a process before all others, that makes system calls fail for one file.

It is compiled for the test that asks for it. What it does is told by three variables: the name of
a file (its last component), the call that fails, and the error number. EINTR is given once only:
Python repeats the call for ever otherwise.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_SOURCE = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

static int fails(const char *call, const char *path) {
    const char *wanted = getenv("FAILING_CALL"), *name = getenv("FAILING_NAME");
    const char *last;
    int number;
    static int interrupted;
    if (!wanted || !name || strcmp(wanted, call) || !path)
        return 0;
    last = strrchr(path, '/');
    if (strcmp(last ? last + 1 : path, name))
        return 0;
    number = atoi(getenv("FAILING_ERRNO"));
    if (number == EINTR && interrupted++)
        return 0;
    errno = number;
    return 1;
}

static int fails_open(const char *call, int fd) {
    char link[64], path[4096];
    ssize_t length;
    int saved = errno, answer;
    if (!getenv("FAILING_CALL") || strcmp(getenv("FAILING_CALL"), call))
        return 0;
    strcpy(link, "/proc/self/fd/");
    {
        char digits[16];
        int at = 15, n = fd;
        digits[15] = 0;
        do { digits[--at] = '0' + n % 10; n /= 10; } while (n);
        strcat(link, digits + at);
    }
    length = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (length < 0)
        return 0;
    path[length] = 0;
    answer = fails(call, path);
    return answer;
}

#define OPEN(function)                                                          \
    int function(int dir, const char *path, int flags, ...) {                   \
        va_list more;                                                           \
        mode_t mode;                                                            \
        va_start(more, flags);                                                  \
        mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                      \
        va_end(more);                                                           \
        if (fails("open", path))                                                \
            return -1;                                                          \
        return REAL(int (*)(int, const char *, int, ...), #function)(           \
            dir, path, flags, mode);                                            \
    }
OPEN(openat)
OPEN(openat64)

#define OPEN_BY_PATH(function)                                                  \
    int function(const char *path, int flags, ...) {                            \
        va_list more;                                                           \
        mode_t mode;                                                            \
        va_start(more, flags);                                                  \
        mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                      \
        va_end(more);                                                           \
        if (fails("open", path))                                                \
            return -1;                                                          \
        return REAL(int (*)(const char *, int, ...), #function)(path, flags, mode); \
    }
OPEN_BY_PATH(open)
OPEN_BY_PATH(open64)

ssize_t read(int fd, void *buffer, size_t size) {
    if (fails_open("read", fd))
        return -1;
    return REAL(ssize_t (*)(int, void *, size_t), "read")(fd, buffer, size);
}

#define STAT(function, type)                                                    \
    int function(int dir, const char *path, struct type *into, int flags) {     \
        if (fails("lstat", path))                                               \
            return -1;                                                          \
        return REAL(int (*)(int, const char *, struct type *, int), #function)( \
            dir, path, into, flags);                                            \
    }
STAT(fstatat, stat)
STAT(fstatat64, stat64)

#define STAT_BY_PATH(function, type)                                            \
    int function(const char *path, struct type *into) {                         \
        if (fails("lstat", path))                                               \
            return -1;                                                          \
        return REAL(int (*)(const char *, struct type *), #function)(path, into); \
    }
STAT_BY_PATH(stat, stat)
STAT_BY_PATH(stat64, stat64)
STAT_BY_PATH(lstat, stat)
STAT_BY_PATH(lstat64, stat64)

ssize_t readlinkat(int dir, const char *path, char *into, size_t size) {
    if (fails("readlink", path))
        return -1;
    return REAL(ssize_t (*)(int, const char *, char *, size_t), "readlinkat")(
        dir, path, into, size);
}

struct dirent *readdir(DIR *listing) {
    if (fails_open("scandir", dirfd(listing)))
        return NULL;
    return REAL(struct dirent *(*)(DIR *), "readdir")(listing);
}

struct dirent64 *readdir64(DIR *listing) {
    if (fails_open("scandir", dirfd(listing)))
        return NULL;
    return REAL(struct dirent64 *(*)(DIR *), "readdir64")(listing);
}
"""


def failing_calls(directory: Path) -> str:
    """Compiles the library and returns its path; skips the test where that cannot be done."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source, library = directory / "failing_calls.c", directory / "failing_calls.so"
    source.write_text(_SOURCE)
    done = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-w", "-o", library, source, "-ldl"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"the C compiler does not work here: {done.stderr[-200:]}")
    return str(library)


def failing(library: str, name: str, call: str, number: int) -> dict[str, str]:
    """Returns the variables under which ``call`` fails for the file called ``name``."""
    return {
        "LD_PRELOAD": library,
        "FAILING_NAME": name,
        "FAILING_CALL": call,
        "FAILING_ERRNO": str(number),
    }
