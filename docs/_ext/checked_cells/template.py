"""Start pages' processes from the template process (`page_template`), where there is one.

Jupyter asks a kernel provisioner for a process. The one here asks the template to fork one, and
hands LocalProvisioner something that can be used like the process that it would have started.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from importlib.metadata import EntryPoint
from queue import Empty
from typing import Any

from jupyter_client import AsyncKernelClient
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

PROVISIONER = "page-template"
START_LIMIT = 120
"""Seconds that the template may take to import PyTorch."""


class TemplateLost(Exception):
    """The template did not start, or has ended."""


class Template:
    """The template process, as the build sees it.

    Args:
        command: starts it; the address of its socket is added.
        env: its environment, the one that pages get too.
        address: of a Unix socket, in a directory that the caller removes.
    """

    def __init__(self, command: list[str], env: dict[str, str], address: str) -> None:
        self.address = address
        self.process = subprocess.Popen(
            [*command, address],
            env=env,
            stdin=subprocess.PIPE,  # its end is the template's signal to end
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    async def wait_until_ready(self) -> None:
        """Wait until PyTorch is imported.

        Raises:
            TemplateLost: if that does not happen.
        """
        loop = asyncio.get_running_loop()
        reading = loop.run_in_executor(None, self.process.stdout.readline)
        try:
            line = await asyncio.wait_for(reading, START_LIMIT)
        except TimeoutError as error:
            raise TemplateLost from error
        if line.strip() != b"ready":
            raise TemplateLost

    async def fork(self, argv: list[str], env: dict[str, str], cwd: str) -> ForkedProcess:
        """Return a new page's process, whose sockets exist.

        Raises:
            TemplateLost: if the template has ended.
        """
        try:
            reader, writer = await asyncio.open_unix_connection(self.address)
            request = {"argv": argv, "env": env, "cwd": cwd}
            writer.write(json.dumps(request).encode() + b"\n")
            pid = int(await reader.readline())
            await reader.readline()  # ready, or how it ended
        except (OSError, ValueError) as error:
            raise TemplateLost from error
        return ForkedProcess(pid, reader, writer)

    def close(self) -> None:
        """End the template, and with it every page that still runs."""
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class ForkedProcess:
    """A forked page with as much of `subprocess.Popen` as LocalProvisioner uses."""

    stdin = stdout = stderr = None

    def __init__(
        self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.writer = writer
        self.waiting = asyncio.ensure_future(self._wait_for_end(reader))

    async def _wait_for_end(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            line = (await reader.readline()).split()
            # Without a line, the template is gone, and its pages with it.
            self.returncode = int(line[1]) if line else -signal.SIGKILL
        self.writer.close()

    def poll(self) -> int | None:
        """Return the exit status, or None while the process runs."""
        return self.returncode

    def wait(self) -> int | None:
        """Return the exit status; LocalProvisioner calls this after `poll` gave one."""
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to the process and to those that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """Kill the process."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)


class PageProvisioner(LocalProvisioner):
    """Forks a page from the template if it is given one, or else starts a fresh process."""

    async def launch_kernel(
        self, cmd: list[str], *, template: Template | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Start the page's process; Jupyter calls this."""
        if template is not None:
            # As in a fresh process: `python -c … -f FILE`.
            argv = ["-c", *cmd[cmd.index("-c") + 2 :]]
            try:
                self.process = await template.fork(argv, kwargs["env"], kwargs["cwd"])
            except TemplateLost:
                print("the template process was lost; a page starts afresh", file=sys.stderr)
            else:
                self.pid = self.pgid = self.process.pid
                return self.connection_info
        return await super().launch_kernel(cmd, **kwargs)

    async def wait(self) -> int | None:
        """Wait for the end of the page's process, looking more often than Jupyter does."""
        while await self.poll() is None:
            await asyncio.sleep(0.01)
        return await super().wait()


class PageClient(AsyncKernelClient):
    """Talks to a page's kernel."""

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Wait until the kernel answers on both channels.

        Jupyter's own method ends by listening for 0.2 s in which nothing comes; here the message
        that says that the kernel is idle again is waited for instead.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (timeout or float("inf"))
        while not await self._answers(self.kernel_info()):
            if not await self._async_is_alive():
                raise RuntimeError("it died at its start")
            if loop.time() > deadline:
                raise RuntimeError(f"no answer in {timeout} s")

    async def _answers(self, request: str) -> bool:
        """Tell whether the kernel has answered a request and is idle again, within a second."""
        try:
            while (await self.shell_channel.get_msg(timeout=1))["parent_header"].get(
                "msg_id"
            ) != request:
                pass
            while True:
                message = await self.iopub_channel.get_msg(timeout=1)
                idle = message["content"].get("execution_state") == "idle"
                if idle and message["parent_header"].get("msg_id") == request:
                    return True
        except Empty:
            return False


KernelProvisionerFactory.provisioners[PROVISIONER] = EntryPoint(
    PROVISIONER, f"{__name__}:{PageProvisioner.__name__}", KernelProvisionerFactory.GROUP_NAME
)
