"""Libraries in C that stand between a process and its system calls (LD_PRELOAD)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NO_EXCHANGE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <dlfcn.h>
#include <stdio.h>
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    if (flags) { errno = EINVAL; return -1; }
    return renameat(from, old, to, new);
}
"""
"""A file system without RENAME_EXCHANGE and RENAME_NOREPLACE, such as 9p or NFS."""

FAILING_FLUSH = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int syncfs(int fd) {
    (void)fd;
    errno = atoi(getenv("SYNCFS_ERRNO"));
    return -1;
}
/* Where much of other programs waits to be written, each file is flushed by itself. */
int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    if (getenv("FSYNC_ERRNO") && strstr(path, "/.takeback-")) {
        errno = atoi(getenv("FSYNC_ERRNO"));
        return -1;
    }
    return real(fd);
}
"""
"""A disk that did not take what was written, and says so at the flush."""

HURRIED_SAVE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    if (flags) { errno = EINVAL; return -1; }
    return renameat(from, old, to, new);
}
/* The first large file that is read is replaced by renaming while it is: an editor saves. */
static int armed = 0;
int linkat(int from, const char *old, int to, const char *new, int flags) {
    static int (*real)(int, const char *, int, const char *, int);
    if (!real) real = dlsym(RTLD_NEXT, "linkat");
    int answer = real(from, old, to, new, flags);
    if (answer == 0 && strncmp(new, ".takeback-", 10) == 0) armed = 1;
    return answer;
}
ssize_t read(int fd, void *buffer, size_t count) {
    static ssize_t (*real)(int, void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "read");
    struct stat status;
    if (armed && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 2) {
        armed = 0;
        rename(getenv("SAVED"), getenv("PLACE"));
    }
    return real(fd, buffer, count);
}
"""
"""No exchange, and a save by renaming in the middle of the hashing of what was put aside."""


def built(directory: Path, name: str, source: str) -> str:
    """Returns the path of a shim, compiled; skips the test where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler (cc) to build the preloaded shim with")
    library = directory / f"{name}.so"
    text = directory / f"{name}.c"
    text.write_text(source)
    done = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", library, text, "-ldl"],
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"the shim does not compile here: {done.stderr.decode(errors='replace')}")
    return str(library)
