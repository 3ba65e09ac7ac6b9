"""A headless Chromium over its debugging pipe: enough to load a page, look at it and print it."""

from __future__ import annotations

import base64
import itertools
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support import needs

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)

PATIENCE_S = 120.0
"""Longer than a busy machine takes for anything that a page does."""


class Chromium:
    """One browser with one offline tab; ``complaints`` collects errors and policy violations."""

    def __init__(self) -> None:
        binary = needs.program("chromium")
        assert binary is not None
        self._profile = tempfile.TemporaryDirectory(
            prefix="l4strace-chromium-", ignore_cleanup_errors=True
        )
        self.profile = self._profile.name
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The browser expects commands on descriptor 3 and answers on 4.
        script = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        command = ["bash", "-c", script, "bash", binary, *FLAGS]
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._numbers = itertools.count(1)
        self.complaints: list[str] = []
        self._session: str | None = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Network.emulateNetworkConditions",
            offline=True,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command and its answer."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self._note(answer)

    def load(self, page: Path, fragment: str = "", timeout: float = PATIENCE_S) -> int:
        """Opens a file, waits until all open charts are drawn, tells after how many
        milliseconds those in view were."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=page.resolve().as_uri() + fragment)
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            state = self.evaluate("JSON.stringify(document.documentElement?.dataset ?? {})")
            data = json.loads(state or "{}")
            if "failed" in data:
                raise RuntimeError(data["failed"])
            if "complete" in data:
                return int(data["drawn"])
            time.sleep(0.05)
        raise TimeoutError(f"{page} was not drawn within {timeout} s: {self.complaints}")

    def wait_until(self, expression: str) -> None:
        """Until a JavaScript expression is true. Raises TimeoutError."""
        end = time.monotonic() + PATIENCE_S
        while not self.evaluate(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.05)

    def downloaded(self, path: Path) -> Path:
        """A file that a click saves, once it is whole: until then it has another name."""
        end = time.monotonic() + PATIENCE_S
        while not path.exists():
            if time.monotonic() > end:
                raise TimeoutError(f"not saved: {path}")
            time.sleep(0.05)
        return path

    def busy_s(self) -> float:
        """Cpu seconds of the page's main thread so far: wall time depends on the neighbors."""
        self.call("Performance.enable", timeDomain="threadTicks")
        metrics = self.call("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        result = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def size(self, width: int, height: int = 900) -> None:
        """Sets the window, in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def scheme(self, name: str) -> None:
        """Sets the system's colour scheme, ``light`` or ``dark``."""
        self.call(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}]
        )

    def print(self, path: Path) -> None:
        """Prints to PDF."""
        printed = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        path.write_bytes(base64.b64decode(printed["data"]))

    def close(self) -> None:
        """Ends the browser."""
        self._session = None
        try:
            self.call("Browser.close")
            self._process.wait(10)
        except (OSError, EOFError, RuntimeError, subprocess.TimeoutExpired):
            self._process.kill()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise EOFError("Chromium went away")
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"].get("exception", params))[:500])
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] in (
            "error",
            "warning",
        ):
            self.complaints.append(f"{params['entry']['source']}: {params['entry']['text']}")
        elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] in (
            "error",
            "warning",
        ):
            self.complaints.append(str(params["args"])[:500])
        elif event.get("method") == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "blob:", "data:", "about:")):
                self.complaints.append(f"request to {url}")
