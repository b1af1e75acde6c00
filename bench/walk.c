/* One lstat of each path, in N threads, and nothing else: what looking costs at the least.
 *
 * bench/contestants.py compiles it and calls it through ctypes, as worktree/glance.py does the look.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#define MOST_THREADS 64
#define PORTION 640 /* paths that a thread takes at a time */

struct walk {
    int root;
    size_t count;
    const char *paths; /* each with a zero at its end */
    const uint64_t *offsets;
    atomic_size_t next, there;
};

static void *work(void *argument)
{
    struct walk *walk = argument;
    struct stat now;
    size_t at, there = 0;
    while ((at = atomic_fetch_add(&walk->next, PORTION)) < walk->count)
        for (size_t end = at + PORTION; at < end && at < walk->count; at++)
            there += !fstatat(walk->root, walk->paths + walk->offsets[at], &now,
                              AT_SYMLINK_NOFOLLOW);
    walk->there += there;
    return NULL;
}

/* Returns how many of the paths there are. */
size_t walk(int root, int threads, size_t count, const char *paths, const uint64_t *offsets)
{
    struct walk all = {.root = root, .count = count, .paths = paths, .offsets = offsets};
    pthread_t started[MOST_THREADS];
    int number = 0;
    while (number < threads - 1 && number < MOST_THREADS &&
           !pthread_create(&started[number], NULL, work, &all))
        number++;
    work(&all);
    while (number)
        pthread_join(started[--number], NULL);
    return all.there;
}
