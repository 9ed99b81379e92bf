"""Names of the standard library that Windows lacks, and a way to hide them from this project."""

import builtins
import importlib
import types

PACKAGES = ("counterfolio", "encoders", "portfolio", "selector")
MODULES = ("fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty")
NAMES = {
    "os": """
        O_CLOEXEC O_DIRECTORY O_DSYNC O_NOFOLLOW O_NONBLOCK O_SYNC WEXITSTATUS WIFEXITED WIFSIGNALED
        WNOHANG WTERMSIG chown ctermid environb eventfd fchdir fchown fdatasync fork forkpty getegid
        geteuid getgid getgroups getloadavg getpgid getpgrp getpriority getrandom getsid getuid
        getxattr killpg lchown lockf major memfd_create minor mkfifo mknod nice openpty pathconf
        pidfd_open pipe2 posix_fadvise posix_fallocate posix_spawn posix_spawnp pread pwrite readv
        register_at_fork sched_getaffinity sched_setaffinity sched_yield sendfile setegid seteuid
        setgid setgroups setpgid setpgrp setpriority setsid setuid setxattr statvfs sync sysconf
        tcgetpgrp tcsetpgrp ttyname uname wait wait3 wait4 waitid writev
    """,
    "signal": """
        ITIMER_PROF ITIMER_REAL ITIMER_VIRTUAL SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL
        SIGPIPE SIGPROF SIGQUIT SIGSTOP SIGSYS SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1
        SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ SIG_BLOCK SIG_SETMASK SIG_UNBLOCK alarm getitimer
        pause pthread_kill pthread_sigmask setitimer siginterrupt sigpending sigtimedwait sigwait
        sigwaitinfo
    """,
    "select": """
        EPOLLERR EPOLLHUP EPOLLIN EPOLLOUT POLLERR POLLHUP POLLIN POLLNVAL POLLOUT epoll poll
    """,
    "selectors": "EpollSelector PollSelector",
    "socket": """
        AF_UNIX MSG_DONTWAIT MSG_NOSIGNAL SCM_RIGHTS SOCK_CLOEXEC SOCK_NONBLOCK SO_REUSEPORT
        recv_fds send_fds
    """,
    "time": "CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID CLOCK_THREAD_CPUTIME_ID clock_gettime tzset",
}
# Arguments of subprocess.Popen.
ARGUMENTS = ("group", "pass_fds", "preexec_fn", "process_group", "start_new_session", "umask")


class Reduced(types.ModuleType):
    """A module of the standard library as Windows has it."""

    def __init__(self, name):
        super().__init__(name)
        self.__dict__["_hidden"] = frozenset(NAMES[name].split())

    def __getattr__(self, name):
        if name in self._hidden:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} on Windows")
        return getattr(importlib.import_module(self.__name__), name)


def hide():
    """Hide the names from the packages of this project, and from no other package."""
    reduced, plain = {name: Reduced(name) for name in NAMES}, builtins.__import__

    def import_reduced(name, globals=None, locals=None, fromlist=(), level=0):
        importer = (globals or {}).get("__name__", "")
        if level == 0 and importer.partition(".")[0] in PACKAGES:
            if name in MODULES:
                raise ImportError(f"No module named {name!r} on Windows")
            if name in NAMES:
                return reduced[name]
        return plain(name, globals, locals, fromlist, level)

    builtins.__import__ = import_reduced
