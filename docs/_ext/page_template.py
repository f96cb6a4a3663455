"""The template process: it has imported PyTorch once, and forks a page's process from that.

Nearly all of a page's start is `import torch`, and the first optimizer imports `torch._dynamo`.
This process pays for both once. It runs no tensor operation and starts no thread before it forks,
since what a thread holds is lost in a forked process. Each request comes on a connection of its
own: a line of JSON in; then the page's process number, ``ready`` when its sockets exist, and its
exit status, a line each.

A page that is not forked imports the same in its own fresh process (`prepare`), so that a page
cannot tell which of the two it is in.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
from typing import NoReturn

import page_kernel

CHILD_POLL = 0.02
"""Seconds between two looks for ended children."""


IMPORTS = ("torch", "torch._dynamo", "torch.profiler._cupti_monitor")
"""What pages import, and what the first step of an optimizer imports."""


def prepare() -> None:
    """Import what pages import."""
    env = dict(os.environ)
    for name in IMPORTS:
        importlib.import_module(name)
    # An import may add variables, such as a cache directory below that of temporary files.
    os.environ.clear()
    os.environ.update(env)
    gc.freeze()  # so that a collection in a page does not copy the template's memory


def become_page(argv: list[str], env: dict[str, str], cwd: str) -> None:
    """Make this process the one that a fresh interpreter with these arguments would be."""
    import random

    import numpy
    import torch

    # A fresh process would have random numbers of its own, too.
    random.seed()
    numpy.random.seed()
    torch.default_generator.seed()
    tempfile.tempdir = None  # asked for by an import, it is that of the template
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = argv


class Template:
    """Serves requests until its standard input is closed."""

    def __init__(self, address: str) -> None:
        self.pages: dict[int, socket.socket] = {}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(address)
        self.listener.listen()
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.selector.register(sys.stdin, selectors.EVENT_READ)

    def serve(self) -> None:
        """Fork a page for each request; end with all pages when the build has ended."""
        while True:
            for key, _ in self.selector.select(CHILD_POLL if self.pages else None):
                if key.fileobj is sys.stdin:
                    self.end()
                self.fork_page()
            self.report_ended()

    def fork_page(self) -> None:
        """Read one request and fork a process for it."""
        connection, _ = self.listener.accept()
        with connection.makefile() as lines:
            request = json.loads(lines.readline())
        pid = os.fork()
        if pid == 0:
            self.run_page(connection, request)
        self.pages[pid] = connection
        tell(connection, str(pid))

    def run_page(self, connection: socket.socket, request: dict) -> NoReturn:
        """Be a page, in the forked process."""
        template = os.getppid()
        self.selector.close()
        self.listener.close()
        for other in self.pages.values():
            other.close()
        os.setsid()
        become_page(request["argv"], request["env"], request["cwd"])
        page_kernel.main(template, ready=lambda: (tell(connection, "ready"), connection.close()))
        os._exit(0)

    def report_ended(self) -> None:
        """Tell the build which pages' processes have ended, and how."""
        for pid, connection in list(self.pages.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                tell(connection, f"exit {os.waitstatus_to_exitcode(status)}")
                connection.close()
                del self.pages[pid]

    def end(self) -> NoReturn:
        """Kill the pages that still run, and end."""
        for pid in self.pages:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        os._exit(0)


def tell(connection: socket.socket, line: str) -> None:
    """Send a line to the build, which may have lost interest."""
    with contextlib.suppress(OSError):
        connection.sendall(f"{line}\n".encode())


def main() -> None:
    """Import, say that it is done, and serve. The argument is the address of the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the build, which ends this
    prepare()
    template = Template(sys.argv[-1])
    print("ready", flush=True)
    template.serve()
