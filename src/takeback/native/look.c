/* The look at every known file: which directories no longer match the stat cache.
 *
 * This is worktree/glance.py's `_check` in N threads and without the interpreter; both run under
 * the same tests, and where they could differ this one says "changed", which costs one listing.
 * worktree/glance.py calls it through ctypes, so nothing here depends on a version of Python.
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
#define ID 20      /* bytes of an object id, which the look passes over */

struct record { /* how one begins; worktree/directory.py */
    uint32_t size, checksum, mode, flags;
    int64_t listed[3]; /* mtime, ctime, inode */
    uint32_t path, names, files, saved_names, saved, others;
};

#define LISTED (1u << 16) /* flag: else it has to be listed anyway */

struct look {
    int root;
    size_t count;
    const char *records;
    const uint64_t *offsets; /* of the records, and the end of the last */
    uint8_t *marks;          /* of each: LOOK, and afterwards SAME or CHANGED; or SKIP */
    atomic_size_t next;
};

enum { LOOK, SAME, CHANGED, SKIP };

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

/* `names` are joined with "/" and end with a zero; there is a signature for each in `marks`. */
static int same_files(int root, const char *names, const char *marks, uint32_t files,
                      char *path, size_t prefix)
{
    uint32_t seen = 0;
    while (*names) {
        const char *slash = strchr(names, '/'), *end = slash ? slash : names + strlen(names);
        size_t length = end - names;
        if (seen == files || prefix + length >= PATH_MAX)
            return 0;
        memcpy(path + prefix, names, length);
        path[prefix + length] = 0;
        if (!same_file(root, path, marks + (size_t)MARK * seen++))
            return 0;
        if (!*end)
            break;
        names = end + 1;
    }
    return seen == files;
}

static int same_directory(const struct look *look, size_t at)
{
    char path[PATH_MAX + 1];
    struct stat now;
    struct record record;
    const char *start = look->records + look->offsets[at];
    uint64_t size = look->offsets[at + 1] - look->offsets[at], needed = sizeof record;
    if (look->offsets[at + 1] < look->offsets[at] || size < needed)
        return 0;
    memcpy(&record, start, sizeof record);
    uint64_t marks = (uint64_t)MARK * record.files, saved_marks = (uint64_t)MARK * record.saved;
    uint64_t ids = (uint64_t)ID * record.files + (uint64_t)ID * record.saved;
    needed += marks + saved_marks + ids + record.path + 1ull + record.names + 1ull +
              record.saved_names + 1ull;
    if (needed > size)
        return 0;
    const char *mark = start + sizeof record, *saved_mark = mark + marks;
    const char *own = saved_mark + saved_marks + ids;
    const char *names = own + record.path + 1, *saved_names = names + record.names + 1;
    if (own[record.path] || names[record.names] || saved_names[record.saved_names])
        return 0; /* garbled: whoever makes a directory of it finds that */
    if (!(record.flags & LISTED) || record.path >= PATH_MAX)
        return 0;
    size_t length = record.path;
    memcpy(path, own, length + 1);
    if (fstatat(look->root, length ? path : ".", &now, AT_SYMLINK_NOFOLLOW))
        return 0;
    if (!is_time(MTIME(now), record.listed[0]) || !is_time(CTIME(now), record.listed[1]) ||
        (int64_t)now.st_ino != record.listed[2] || now.st_mode != record.mode)
        return 0;
    if (length)
        path[length++] = '/';
    return same_files(look->root, names, mark, record.files, path, length) &&
           same_files(look->root, saved_names, saved_mark, record.saved, path, length);
}

static void *work(void *argument)
{
    struct look *look = argument;
    size_t at, end;
    while ((at = atomic_fetch_add(&look->next, PORTION)) < look->count)
        for (end = at + PORTION < look->count ? at + PORTION : look->count; at < end; at++)
            if (look->marks[at] == LOOK)
                look->marks[at] = same_directory(look, at) ? SAME : CHANGED;
    return NULL;
}

/* Marks each directory that no longer matches. The number in the name is that of the arguments
 * and of the form of a record: a library of another version is not called. */
void takeback_look_2(int root, int threads, size_t count, const char *records,
                     const uint64_t *offsets, uint8_t *marks)
{
    struct look look = {
        .root = root, .count = count, .records = records, .offsets = offsets, .marks = marks,
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
