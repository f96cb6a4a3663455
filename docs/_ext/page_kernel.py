"""The process in which one page runs: an IPython kernel that leaves nothing unsaid.

A stock kernel lets a cell fail quietly: a thread dies and only a traceback on stderr remains,
``exit()`` is ignored, `input` may wait for ever, a warning is plain text among other text, and
what C++ code writes to file descriptors arrives whenever a reader thread gets to it. A checked
page needs each of these as a fact that belongs to one cell. This module turns them into messages
(see `page_note`) and is the only code of the site that runs inside a page's process; it is kept
free of imports from the rest of the site, so that a page sees a plain Python.
"""

from __future__ import annotations

import asyncio
import builtins
import ctypes
import os
import resource
import signal
import sys
import tempfile
import textwrap
import threading
import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn

import psutil
from ipykernel.iostream import OutStream
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from ipykernel.zmqshell import ZMQDisplayPublisher, ZMQInteractiveShell
from IPython.core.interactiveshell import ExecutionResult
from page_note import NOTE
from traitlets import Type

OUTPUT_LIMIT = 64 * 1024
"""Characters that one cell may write to stdout or stderr."""

FILE_LIMIT = 64 * 1024 * 1024
"""Bytes that a file may grow to, so that code which never stops writing cannot fill the disk."""

THREAD_GRACE = 2.0
"""Seconds that a cell's threads and processes have to end after the cell."""

HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver", "compile_worker")
"""What the commands of processes hold that Python and torch.compile keep for the next time."""


class OutputLimitExceeded(BaseException):
    """Raised in the cell that prints too much; not an `Exception`, so that few cells catch it."""


class PageStream(OutStream):
    """stdout or stderr of a page, with a limit for each cell."""

    written = 0

    def write(self, string: str) -> int | None:
        """Write `string`, or stop the cell when it has written more than `OUTPUT_LIMIT`."""
        self.written += len(str.encode(string))  # a lone surrogate is an error, as in a script
        if self.written > OUTPUT_LIMIT:
            raise OutputLimitExceeded
        return super().write(string)

    def close(self) -> None:
        """Stay open: without streams, the rest of the page would hang."""


class PageDisplayPublisher(ZMQDisplayPublisher):
    """Sends what a cell displays, and refuses to change what was displayed before.

    A change could reach a cell that has been compared, and clearing would take notes away.
    """

    def publish(self, data: Any, metadata: Any = None, **options: Any) -> None:
        """Send a display, unless it stands for one that was sent."""
        if options.get("update"):
            self.shell.violations.append("the cell updates a display; display it anew")
        else:
            super().publish(data, metadata, **options)

    def clear_output(self, wait: bool = False) -> None:
        """Refuse to clear a cell's output."""
        self.shell.violations.append("the cell clears its output")


def qualified_name(cls: type) -> str:
    """Return the name of `cls`, with its module unless it is a builtin."""
    if cls.__module__ == "builtins":
        return cls.__qualname__
    return f"{cls.__module__}.{cls.__qualname__}"


def whole_message(error: BaseException) -> str:
    """Return what Python prints of `error` behind its class: message, notes, what a group holds."""
    try:
        message = str(error)
    except Exception:
        message = "<exception str() failed>"  # Python's own words for it
    lines = [message, *map(str, getattr(error, "__notes__", ()))]
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            line = f"{qualified_name(type(inner))}: {whole_message(inner)}"
            lines.append(textwrap.indent(line, "  "))
    return "\n".join(lines)


class PageShell(ZMQInteractiveShell):
    """Runs the cells, and watches what each of them leaves behind."""

    violations: list[str]
    display_pub_class = Type(PageDisplayPublisher)

    def watch(self) -> None:
        """Install the hooks that catch what a stock shell would let pass."""
        self.violations = []
        self.pid = os.getpid()
        self.threads_before: set[threading.Thread] = set()
        self.streams = (sys.stdout, sys.stderr)
        for stream in self.streams:
            stream.written = 0  # the kernel itself has written, to its log
        self.descriptors = [_Descriptor(1, "stdout"), _Descriptor(2, "stderr")]
        warnings.showwarning = self._warned
        threading.excepthook = self._thread_raised
        sys.unraisablehook = self._unraisable
        builtins.input = self._refuse_input
        sys.stdin = _NoStdin(self._refuse_input)
        for name in ("exit", "quit", "get_ipython"):
            self.user_ns.pop(name, None)
            self.builtin_trap.auto_builtins.pop(name, None)
        builtins.exit = builtins.quit = _exit
        self.events.register("pre_run_cell", self._before_cell)
        self.events.register("post_run_cell", self._after_cell)

    def note(self, kind: str, **facts: str) -> None:
        """Send a fact about the running cell to the checker."""
        self.display_pub.publish({NOTE: {"kind": kind, **facts}})

    def _before_cell(self, _info: object) -> None:
        self.violations.clear()
        if any(s.written for s in self.streams) or any(d.pending() for d in self.descriptors):
            self.violations.append("something was printed after the cell above had ended")
        self.threads_before = set(threading.enumerate())
        # "Once for each location" is by line number within __main__: without this, a warning at
        # line 3 of one cell would silence the same warning at line 3 of the next.
        self.user_ns.pop("__warningregistry__", None)
        # As in a script: no event loop runs, so that a cell may call `asyncio.run`.
        self.loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        asyncio.set_event_loop(None)

    def _after_cell(self, _result: object) -> None:
        if (
            os.getpid() != self.pid
        ):  # a process that the cell forked, and that ran to the cell's end
            os._exit(0)
        asyncio._set_running_loop(self.loop)
        asyncio.set_event_loop(self.loop)
        self._wait_for_threads()
        self._wait_for_processes()
        if signal.getitimer(signal.ITIMER_REAL)[0]:
            self.violations.append("the cell leaves a timer or an alarm behind")
        if (sys.stdout, sys.stderr) != self.streams:
            sys.stdout, sys.stderr = self.streams
            self.violations.append("the cell leaves sys.stdout or sys.stderr replaced")
        for stream, descriptor in zip(self.streams, self.descriptors, strict=True):
            if stream.written > OUTPUT_LIMIT or descriptor.pending() > OUTPUT_LIMIT:
                self.violations.append(f"the cell prints more than {OUTPUT_LIMIT // 1024} KiB")
                descriptor.skip()
            stream.written = 0  # the limit is for Python and for the rest each
            stream.write(descriptor.read())
            stream.flush()
            stream.written = 0
        for text in self.violations:
            self.note("violation", text=text)

    def _wait_for_threads(self) -> None:
        deadline = time.monotonic() + THREAD_GRACE
        for thread in set(threading.enumerate()) - self.threads_before:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                self.violations.append(f"the cell leaves a thread running: {thread.name}")

    def _wait_for_processes(self) -> None:
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return  # by far the usual case, and quicker to see than by psutil
        children = [c for c in psutil.Process().children() if not self._is_helper(c)]
        _ended, running = psutil.wait_procs(children, timeout=THREAD_GRACE)
        for child in running:
            self.violations.append(f"the cell leaves a process running: {child.name()}")
            child.kill()

    @staticmethod
    def _is_helper(process: psutil.Process) -> bool:
        """Tell whether a process serves Python's multiprocessing or torch.compile, not the cell."""
        try:
            command = " ".join(process.cmdline())
        except psutil.Error:
            return True  # it has ended
        return any(name in command for name in HELPERS)

    def showtraceback(self, exc_tuple: Any = None, *_args: Any, **_options: Any) -> None:
        """Report any exception alike; IPython would format it first, or print a group to stderr."""
        etype, evalue, _traceback = self._get_exc_info(exc_tuple)
        self._showtraceback(etype, evalue, [])

    def _showtraceback(self, etype: type, evalue: BaseException, stb: list[str]) -> None:
        """Report an exception under its whole name; tracebacks are never shown on a page."""
        if etype is OutputLimitExceeded:
            return
        name, message = qualified_name(etype), whole_message(evalue)
        super()._showtraceback(type(name, (), {}), message, [f"{name}: {message}"])

    async def run_cell_async(self, *args: Any, **options: Any) -> ExecutionResult:
        """Run a cell; an error whose `str()` fails must not fail again in the kernel's reply."""
        result = await super().run_cell_async(*args, **options)
        if result.error_in_exec is not None:
            result.error_in_exec = Exception(whole_message(result.error_in_exec))
        return result

    def _format_exception_for_storage(self, *_args: Any, **_options: Any) -> dict[str, str]:
        """Store nothing: no page has the magics that ask, and `str()` of an error may fail."""
        return {}

    def _warned(
        self, message: Warning | str, category: type[Warning], *_location: object, **_kw: object
    ) -> None:
        self.note("warning", category=qualified_name(category), message=str(message))

    def _thread_raised(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_type is not SystemExit:
            name = qualified_name(args.exc_type)
            self.violations.append(f"a thread ended with {name}: {args.exc_value}")

    def _unraisable(self, args: Any) -> None:
        name = qualified_name(args.exc_type)
        self.violations.append(f"an exception was ignored by Python: {name}: {args.exc_value}")

    def _refuse_input(self, *_args: object) -> NoReturn:
        self.violations.append("the cell reads standard input")
        raise EOFError("a page has no standard input")


class _NoStdin:
    """Stands for sys.stdin: every way to read is refused."""

    def __init__(self, refuse: Any) -> None:
        self.read = self.readline = self.readlines = refuse
        self.refuse = refuse

    def __iter__(self) -> NoReturn:
        self.refuse()

    def __next__(self) -> NoReturn:
        self.refuse()

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self.refuse()

    def close(self) -> None:
        """Nothing is open; multiprocessing closes it in a new process."""


def _exit(code: object = None) -> NoReturn:
    raise SystemExit(code)


class _Descriptor:
    """What C code and child processes write to a file descriptor, kept until the cell ends."""

    def __init__(self, number: int, name: str) -> None:
        sys.__stdout__.flush()
        sys.__stderr__.flush()
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the page runs
        self.python_stream = getattr(sys, f"__{name}__")
        os.dup2(self.file.fileno(), number)
        self.position = 0

    def pending(self) -> int:
        """Return how many bytes were written since the last `read` or `skip`."""
        self.python_stream.flush()
        ctypes.pythonapi.fflush(None)  # what C code left in the buffers of its own streams
        return os.fstat(self.file.fileno()).st_size - self.position

    def skip(self) -> None:
        """Forget what is pending."""
        self.python_stream.flush()
        # The next cell may write as much as this one.
        os.ftruncate(self.file.fileno(), 0)
        os.lseek(self.file.fileno(), 0, os.SEEK_SET)
        self.position = 0

    def read(self) -> str:
        """Return what is pending."""
        size = self.pending()
        text = os.pread(self.file.fileno(), size, self.position).decode(errors="backslashreplace")
        self.position += size
        return text


class PageKernel(IPythonKernel):
    """An IPython kernel with the shell above, and readable names for the code of cells."""

    shell_class = Type(PageShell)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # Otherwise a cell's file name holds the process number.
        self.shell.compile.get_code_name = lambda raw, transformed, number: f"<cell {number}>"

    def _forward_input(self, allow_stdin: bool = False) -> None:
        """Leave `input` as PageShell made it."""

    def _restore_input(self) -> None:
        """Nothing was replaced."""


class PageKernelApp(IPKernelApp):
    """Starts a `PageKernel` without reading anybody's configuration or start-up files."""

    kernel_class = Type(PageKernel, klass="ipykernel.kernelbase.Kernel")
    outstream_class = f"{__name__}.PageStream"
    capture_fd_output = False  # PageShell does that, cell by cell
    exec_PYTHONSTARTUP = False
    log_level = 50

    def load_config_file(self, *_args: object, **_kw: object) -> None:
        """Read no configuration: neither the person's nor the machine's."""

    def init_poller(self) -> None:
        """End with the build, however it ends, and take along what the page's cells started."""
        arguments = (self.parent_handle,)
        threading.Thread(target=_end_with_parent, args=arguments, daemon=True).start()

    def init_code(self) -> None:
        """Run no start-up files."""

    def init_gui_pylab(self) -> None:
        """Set up no plotting."""


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os.killpg(os.getpid(), signal.SIGKILL)  # the kernel leads a process group of its own


def _ignore_quietly(
    _kind: type[BaseException], _value: BaseException, _traceback: TracebackType | None
) -> None:
    """Say nothing when the kernel is killed while it starts."""


def main(parent: int, ready: Callable[[], object] = lambda: None) -> None:
    """Run one page's kernel until its client shuts it down.

    Args:
        parent: the process whose end ends this one.
        ready: called when the kernel's sockets exist.
    """
    sys.excepthook = _ignore_quietly
    for name in [name for name in os.environ if name.startswith("JPY_")]:
        del os.environ[name]
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))
    # Nothing can be read from a descriptor that is open for writing only.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 0)
    os.close(null)
    app = PageKernelApp.instance(parent_handle=parent)
    app.initialize()
    # Above this size pyzmq would start a thread of its own, which a cell would seem to leave.
    app.session.copy_threshold = sys.maxsize
    ready()
    app.shell.automagic = False
    app.shell.run_line_magic("xmode", "Minimal")
    app.shell.watch()
    app.start()
