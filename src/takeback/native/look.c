/* The look at every known file: which directories no longer match the stat cache.
 *
 * This is worktree/detect.py's `_check` in N threads and without the interpreter; both run under
 * the same tests, and where they could differ this one says "changed", which costs one listing.
 * worktree/look.py calls it through ctypes, so nothing here depends on a version of Python.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#ifdef __APPLE__
#define MTIME(s) ((s).st_mtimespec)
#define CTIME(s) ((s).st_ctimespec)
#else
#define MTIME(s) ((s).st_mtim)
#define CTIME(s) ((s).st_ctim)
#endif

#define MOST_THREADS 64
#define PORTION 64 /* directories that a thread takes at a time */
#define MARK 40    /* bytes of a signature: size, mtime, ctime, inode, mode; directory.py */

struct column {
    const char *const *names;     /* of each directory, joined with "/" */
    const char *const *marks;     /* their signatures, one after the other */
    const int64_t *mark_bytes;
};

struct look {
    int root;
    size_t count;
    const char *const *paths;
    const int64_t *modes;
    const char *const *listed;    /* mtime, ctime, inode; NULL: it has to be listed anyway */
    struct column files, saved;
    uint8_t *changed;
    atomic_size_t next;
};

/* Tells whether a time is the one in nanoseconds; one that does not fit 64 bits never is. */
static int is_time(struct timespec time, int64_t nanoseconds)
{
    const int64_t second = 1000000000, latest = INT64_MAX / second - 1;
    if (time.tv_sec > latest || time.tv_sec < -latest)
        return 0;
    return (int64_t)time.tv_sec * second + time.tv_nsec == nanoseconds;
}

static int same_file(int root, const char *path, const char *mark)
{
    struct stat now;
    int64_t then[5];
    if (fstatat(root, path, &now, AT_SYMLINK_NOFOLLOW))
        return 0;
    memcpy(then, mark, sizeof then);
    return (int64_t)now.st_size == then[0] && is_time(MTIME(now), then[1]) &&
           is_time(CTIME(now), then[2]) && (int64_t)now.st_ino == then[3] &&
           (int64_t)now.st_mode == then[4];
}

static int same_files(const struct look *look, const struct column *column, size_t at,
                      char *path, size_t prefix)
{
    const char *name = column->names[at], *mark = column->marks[at];
    int64_t left = column->mark_bytes[at];
    while (*name) {
        const char *slash = strchr(name, '/'), *end = slash ? slash : name + strlen(name);
        size_t length = end - name;
        if (left < MARK || prefix + length >= PATH_MAX)
            return 0;
        memcpy(path + prefix, name, length);
        path[prefix + length] = 0;
        if (!same_file(look->root, path, mark))
            return 0;
        mark += MARK;
        left -= MARK;
        if (!*end)
            break;
        name = end + 1;
    }
    return left == 0;
}

static int same_directory(const struct look *look, size_t at)
{
    char path[PATH_MAX + 1];
    struct stat now;
    int64_t then[3];
    size_t length = strlen(look->paths[at]);
    if (!look->listed[at] || length >= PATH_MAX)
        return 0;
    memcpy(then, look->listed[at], sizeof then);
    memcpy(path, look->paths[at], length + 1);
    if (fstatat(look->root, length ? path : ".", &now, AT_SYMLINK_NOFOLLOW))
        return 0;
    if (!is_time(MTIME(now), then[0]) || !is_time(CTIME(now), then[1]) ||
        (int64_t)now.st_ino != then[2] || (int64_t)now.st_mode != look->modes[at])
        return 0;
    if (length)
        path[length++] = '/';
    return same_files(look, &look->files, at, path, length) &&
           same_files(look, &look->saved, at, path, length);
}

static void *work(void *argument)
{
    struct look *look = argument;
    size_t at, end;
    while ((at = atomic_fetch_add(&look->next, PORTION)) < look->count)
        for (end = at + PORTION < look->count ? at + PORTION : look->count; at < end; at++)
            look->changed[at] = !same_directory(look, at);
    return NULL;
}

/* Sets changed[i] for each directory that no longer matches. The number in the name is that of
 * the arguments: a library of another version is not called. */
void takeback_look_1(int root, int threads, size_t count, const char *const *paths,
                     const int64_t *modes, const char *const *listed, const char *const *names,
                     const char *const *marks, const int64_t *mark_bytes,
                     const char *const *saved_names, const char *const *saved_marks,
                     const int64_t *saved_mark_bytes, uint8_t *changed)
{
    struct look look = {
        .root = root, .count = count, .paths = paths, .modes = modes, .listed = listed,
        .files = {names, marks, mark_bytes},
        .saved = {saved_names, saved_marks, saved_mark_bytes},
        .changed = changed,
    };
    pthread_t started[MOST_THREADS];
    int number = 0;
    while (number < threads - 1 && number < MOST_THREADS &&
           !pthread_create(&started[number], NULL, work, &look))
        number++;
    work(&look);
    while (number)
        pthread_join(started[--number], NULL);
}
