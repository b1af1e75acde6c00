/* The hook's client without Python: hands an event over to the standby, as handover.py does.
 *
 *     bin/hook AGENT [WORD]        this program, copied there by `takeback init`
 *     bin/hook.sh                  the launcher, which starts Python and can do everything itself
 *     bin/takeback.path            which Python, and which takeback
 *
 * It says and checks what handover.py says and checks, in the same order. Whatever is not as
 * expected, until the event is handed over, is the launcher's: this program turns into it, with
 * the agent's streams untouched. It is told not to wait once more for a standby that gave no
 * answer here. tests/test_standby.py and tests/test_doorkeeper.py run over both clients.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PROTOCOL "3"
#define LONGEST (1u << 20)
#define PATIENCE_US 500000
#define LONGEST_WAIT_MS 3600000ll
#define OLDEST_MS 60000
#define PRIME ((1ull << 61) - 1)
#define STREAMS 3

extern char **environ;

/* What `is_command` looks for in a launcher, so that this one is known to be takeback's. */
static const char mark[] __attribute__((used)) =
    "\n# takeback: called by coding agents at each event. Made by `takeback init`; do not edit.\n";

static const char *const places[] = {"PATH",          "HOME",            "TMPDIR",         "TAKEBACK_HOME",
                                     "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"};
static const char *const namespaces[] = {"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"};
static const char *const rights[] = {"Uid:", "Gid:", "Groups:", "Cap", "NoNewPrivs:", "Seccomp"};
#define COUNT(table) (sizeof(table) / sizeof *(table))

static char **words;
static char bin[4096];  /* the directory that this program is in */
static char home[4096]; /* the one above */

static _Noreturn void launch(void)
{
    static char path[sizeof bin + 16];
    snprintf(path, sizeof path, "%s/hook.sh", bin);
    words[0] = path;
    execv(path, words);
    _exit(0); /* an agent goes on; `takeback status` says that there is no launcher */
}

static void demand(int is_so)
{
    if (!is_so)
        launch();
}

/* -- bytes */

struct bytes {
    char *data;
    size_t used, room;
};

static void add(struct bytes *to, const void *from, size_t size)
{
    if (to->used + size > to->room) {
        to->room = (to->used + size) * 2 + 4096;
        to->data = realloc(to->data, to->room);
        demand(to->data != NULL);
    }
    memcpy(to->data + to->used, from, size);
    to->used += size;
}

static void add_text(struct bytes *to, const char *text) { add(to, text, strlen(text)); }

/* Adds a piece and, before all but the first, a NUL between the two. */
static void add_piece(struct bytes *to, const void *from, size_t size)
{
    if (to->used)
        add(to, "", 1);
    add(to, from, size);
}

static int add_file(struct bytes *to, const char *path)
{
    char piece[4096];
    ssize_t got;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return 0;
    while ((got = read(fd, piece, sizeof piece)) > 0)
        add(to, piece, got);
    close(fd);
    return got == 0;
}

/* -- the name of the socket: what this process is, where it finds things, which takeback */

static void add_kind(struct bytes *said)
{
    struct bytes read_ = {0};
    demand(add_file(&read_, "/proc/self/status"));
    add(&read_, "", 1);
    for (char *line = read_.data, *end; *line; line = end + 1) {
        end = strchrnul(line, '\n');
        for (size_t i = 0; i < COUNT(rights); i++)
            if (!strncmp(line, rights[i], strlen(rights[i])))
                add_piece(said, line, end - line);
        if (!*end)
            break;
    }
    for (size_t i = 0; i < COUNT(namespaces); i++) {
        char path[64], target[256];
        snprintf(path, sizeof path, "/proc/self/ns/%s", namespaces[i]);
        ssize_t size = readlink(path, target, sizeof target);
        demand(size > 0 && size < (ssize_t)sizeof target);
        add_piece(said, target, size);
    }
    struct stat root;
    char number[64];
    demand(!stat("/proc/self/root/.", &root));
    add_piece(said, number,
              snprintf(number, sizeof number, "%llu %llu", (unsigned long long)root.st_dev, (unsigned long long)root.st_ino));

    read_.used = 0; /* the niceness: the 17th field after the program's name */
    demand(add_file(&read_, "/proc/self/stat"));
    add(&read_, "", 1);
    char *field = strrchr(read_.data, ')');
    for (int i = 0; field && i <= 16; i++)
        field = strchr(field + 1, ' ');
    demand(field != NULL);
    add_piece(said, field + 1, strcspn(field + 1, " \n"));

    add_piece(said, "", 0);
    demand(add_file(said, "/proc/self/limits"));
    add_piece(said, "", 0);
    size_t before = said->used;
    if (!add_file(said, "/proc/self/attr/current"))
        said->used = before; /* no security module gives labels */
    free(read_.data);
}

static void name_socket(char *name, size_t room)
{
    struct bytes said = {0}, record = {0};
    struct stat python;
    char path[sizeof bin + 32], number[96];
    snprintf(path, sizeof path, "%s/takeback.path", bin);
    demand(add_file(&record, path));
    add(&record, "", 1);
    char *end = strchr(record.data, '\n');
    demand(end != NULL);
    char *package = end + 1, *last = strchr(package, '\n');
    demand(last != NULL);
    *end = *last = 0;
    demand(!stat(record.data, &python));

    add_kind(&said);
    for (size_t i = 0; i < COUNT(places); i++) {
        const char *value = getenv(places[i]);
        add_piece(&said, value ? value : "", value ? strlen(value) : 0);
    }
    add_piece(&said, PROTOCOL " ", 2);
    add_text(&said, record.data);
    snprintf(number, sizeof number, " %llu %lld ", (unsigned long long)python.st_ino,
             (long long)python.st_mtim.tv_sec * 1000000000 + python.st_mtim.tv_nsec);
    add_text(&said, number);
    add_text(&said, package);
    add_text(&said, "/takeback/handover.py");

    uint64_t rest = 0; /* all of it, as one number, modulo a prime: 2^61 leaves 1, so no division */
    for (size_t i = 0; i < said.used; i++) {
        rest = (rest >> 53) + ((rest << 8) & PRIME) + (unsigned char)said.data[i];
        rest -= rest >= PRIME ? PRIME : 0;
    }
    snprintf(name, room, "standby-%llx", (unsigned long long)rest);
    free(said.data);
    free(record.data);
}

/* -- the talk */

static struct bytes request(void)
{
    struct bytes asked = {0};
    add(&asked, "\0\0\0\0", 4); /* its length, below */
    for (char **word = words + 1; *word; word++) {
        demand(**word != 0);
        add(&asked, *word, strlen(*word) + 1);
    }
    for (char **variable = environ; *variable; variable++) {
        demand(**variable != '=');
        if (!strchr(*variable, '='))
            continue;
        add(&asked, "", 1);
        add_text(&asked, *variable);
    }
    uint32_t length = asked.used - 4;
    demand(length <= LONGEST);
    for (int i = 0; i < 4; i++)
        asked.data[i] = (char)(length >> (24 - 8 * i));
    return asked;
}

static ssize_t hear(int door, char *answer, size_t room)
{
    ssize_t got;
    do
        got = recv(door, answer, room, 0);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Returns a descriptor of the file that only the standby's equals can open, for writing; and for how
 * many milliseconds to wait. */
static int proof_of(const char *answer, long long *wait)
{
    long long said[3];
    const char *at = answer;
    char path[128], *end;
    if (*at != '+')
        return -1;
    for (int i = 0; i < 3; i++, at = end) {
        at++; /* the plus, or a blank */
        if (*at < '0' || *at > '9')
            return -1;
        said[i] = strtoll(at, &end, 10);
        if (*end != (i < 2 ? ' ' : 0))
            return -1;
    }
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", said[0], said[1]);
    *wait = said[2];
    return open(path, O_RDWR | O_CLOEXEC);
}

/* Milliseconds since the machine began. */
static long long clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

/* When this process began, by that clock: the 20th field after the program's name. */
static long long began_ms(void)
{
    struct bytes read_ = {0};
    long long now = clock_ms(), began = now;
    if (add_file(&read_, "/proc/self/stat")) {
        add(&read_, "", 1);
        char *field = strrchr(read_.data, ')');
        for (int i = 0; field && i < 20; i++)
            field = strchr(field + 1, ' ');
        if (field)
            began = atoll(field + 1) * 1000 / sysconf(_SC_CLK_TCK);
    }
    free(read_.data);
    return began > now || now - began >= OLDEST_MS ? now : began;
}

static int hand_over(int door, int here, int proof)
{
    int fds[STREAMS + 2] = {0, 1, 2, here, proof};
    char go = '!';
    struct iovec part = {&go, 1};
    union {
        char room[CMSG_SPACE(sizeof fds)];
        struct cmsghdr aligned;
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    memset(&control, 0, sizeof control);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(header), fds, sizeof fds);
    return sendmsg(door, &message, MSG_NOSIGNAL) == 1;
}

static void complain(const char *what)
{
    char path[sizeof home + 8], when[32], line[256];
    time_t now = time(NULL);
    struct stat status;
    const char *agent = words[1] ? words[1] : "";
    if (agent[strspn(agent, "abcdefghijklmnopqrstuvwxyz0123456789-_.")])
        agent = "?";
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    snprintf(path, sizeof path, "%s/log", home);
    int size = snprintf(line, sizeof line, "%s hook %.64s: %s\n", when, agent, what);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY, 0600);
    if (fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) && write(fd, line, size) != size)
        _exit(0);
}

/* Finds the place of this program as it was called, as the launcher does: links are not resolved. */
static int find_home(void)
{
    const char *own = (const char *)getauxval(AT_EXECFN);
    const char *slash = own ? strrchr(own, '/') : NULL;
    if (!slash || slash - own >= (ptrdiff_t)sizeof bin)
        _exit(0);
    memcpy(bin, own, slash - own);
    memcpy(home, own, slash - own);
    char *above = strrchr(home, '/');
    if (own[0] != '/' || !above || strcmp(above, "/bin"))
        return 0;
    *above = 0;
    return 1;
}

int main(int count, char **given)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {0, PATIENCE_US};
    long long end;
    struct stat place;
    char answer[65];
    words = given;
    if (count == 2 && !strcmp(given[1], "--runs"))
        return 0; /* asked by `takeback init` before it takes this program */
    demand(find_home());
    demand(!(count == 3 && !strcmp(given[2], "--stdio")) && !getenv("TAKEBACK_WAITED"));
    demand(!stat(bin, &place) && (place.st_uid == 0 || place.st_uid == geteuid()) && !(place.st_mode & 022));
    demand(!setenv("TAKEBACK_HOME", home, 1));
    name_socket(address.sun_path, sizeof address.sun_path);
    struct bytes asked = request();

    int here = open(".", O_RDONLY | O_CLOEXEC);
    int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    demand(here >= 0 && door >= 0 && !setsockopt(door, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) &&
           !setsockopt(door, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience));
    demand(!chdir(bin)); /* the path of a socket may have at most 107 bytes */
    int is_there = !connect(door, (struct sockaddr *)&address, sizeof address);
    if (fchdir(here))
        _exit(0);
    demand(is_there);

    demand(!setenv("TAKEBACK_WAITED", "1", 1)); /* after the request was made: it is for the launcher */
    for (size_t sent = 0; sent < asked.used;) {
        ssize_t size = send(door, asked.data + sent, asked.used - sent, MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR)
            continue;
        demand(size > 0);
        sent += size;
    }
    ssize_t got = hear(door, answer, sizeof answer - 1);
    demand(got > 0);
    answer[got] = 0;
    int proof = proof_of(answer, &end);
    demand(proof >= 0 && hand_over(door, here, proof));

    for (end += began_ms();;) {
        long long left = end - clock_ms();
        struct timeval rest = {left > 0 ? left / 1000 : 0, left > 0 ? left % 1000 * 1000 : 0};
        if (!rest.tv_sec && !rest.tv_usec)
            rest.tv_usec = 1000;
        if (setsockopt(door, SOL_SOCKET, SO_RCVTIMEO, &rest, sizeof rest))
            break;
        got = recv(door, answer, 1, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            complain("the standby was not done in time; its agent went on");
            _exit(0);
        }
        if (got != 1)
            break;
        if (*answer != 'w')
            _exit((unsigned char)*answer);
        end = clock_ms() + LONGEST_WAIT_MS;
    }
    complain("the standby ended before the event was recorded");
    _exit(0);
}
