"""Firefox, driven by its own Marionette: lines of JSON over a socket, so that no driver need be installed.

Debian's firefox-esr comes without geckodriver, and playwright drives builds of its own.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

NO_FIREFOX = "Firefox is not installed: apt-get install firefox-esr, or name one by HUSHTABLE_FIREFOX"
_SECONDS = 60
_SETTINGS = {
    "marionette.port": 0,  # any that is free; Firefox writes down which
    "app.update.auto": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    "network.proxy.type": 1,  # what Firefox asks for by itself goes nowhere
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 1,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 1,
}


def found() -> str | None:
    """The Firefox of this machine, or the one that HUSHTABLE_FIREFOX names."""
    named = os.environ.get("HUSHTABLE_FIREFOX", "required")
    return shutil.which(named if named != "required" else "firefox-esr") or shutil.which("firefox")


class Firefox:
    """One window of a Firefox without a screen, with a profile of its own."""

    def __init__(self, program: str, profile: Path) -> None:
        profile.mkdir()
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in _SETTINGS.items()]
        (profile / "user.js").write_text("\n".join(lines))
        self._process = subprocess.Popen(
            [
                program,
                "--headless",
                "--no-remote",
                "--marionette",
                "--profile",
                profile,
                "-remote-allow-system-access",
            ],  # which reading the console needs
            env={**os.environ, "HOME": str(profile), "MOZ_HEADLESS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = self._port(profile / "MarionetteActivePort")
            self._socket = socket.create_connection(("127.0.0.1", port), timeout=_SECONDS)
            self._socket.settimeout(_SECONDS)
            self._read()
            self._number = 0
            self.tell("WebDriver:NewSession")
        except BaseException:
            self._process.kill()
            raise

    def _port(self, file: Path) -> int:
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until:
            text = file.read_text() if file.exists() else ""
            if text.isdecimal():
                return int(text)
            assert self._process.poll() is None, "Firefox ended as it started"
            time.sleep(0.05)
        raise AssertionError(f"Firefox did not start in {_SECONDS} seconds")

    def tell(self, command: str, **values: Any) -> Any:
        """Give a command of Marionette, and return its answer."""
        self._number += 1
        text = json.dumps([0, self._number, command, values]).encode()
        self._socket.sendall(b"%d:%s" % (len(text), text))
        _, number, error, answer = self._read()
        assert number == self._number
        assert error is None, error
        return answer["value"] if isinstance(answer, dict) and list(answer) == ["value"] else answer

    def _read(self) -> Any:
        size = b""
        while not size.endswith(b":"):
            part = self._socket.recv(1)
            assert part, "Firefox closed the line"
            size += part
        text = b""
        while len(text) < int(size[:-1]):
            part = self._socket.recv(int(size[:-1]) - len(text))
            assert part, "Firefox closed the line"
            text += part
        return json.loads(text)

    def go(self, path: Path) -> None:
        """Open a page."""
        self.tell("WebDriver:Navigate", url=path.absolute().as_uri())

    def run(self, script: str) -> Any:
        """Return what a script in the page returns."""
        return self.tell("WebDriver:ExecuteScript", script=script, args=[])

    def type(self, selector: str, text: str) -> None:
        """Type into a field."""
        self.tell("WebDriver:ElementSendKeys", id=self._element(selector), text=text)

    def choose(self, selector: str, text: str) -> None:
        """Choose by what people read."""
        offered = self.run(
            f"return [...document.querySelectorAll('{selector} option')].map((each) => each.textContent)"
        )
        option = f"{selector} option:nth-of-type({offered.index(text) + 1})"
        self.tell("WebDriver:ElementClick", id=self._element(option))

    def _element(self, selector: str) -> str:
        (found,) = self.tell("WebDriver:FindElement", using="css selector", value=selector).values()
        return str(found)

    def complaints(self) -> list[str]:
        """What stands in the console of the browser about pages: errors of scripts, broken policies."""
        self.tell("Marionette:SetContext", value="chrome")
        said: list[str] = self.run(
            """return Services.console.getMessageArray()
                .filter((each) => each instanceof Ci.nsIScriptError)
                .filter((each) => each.sourceName.startsWith("file:") || /^CSP/.test(each.category))
                .map((each) => `${each.category}: ${each.errorMessage}`)"""
        )
        self.tell("Marionette:SetContext", value="content")
        return said

    def picture(self, path: Path) -> None:
        """Write what is seen as PNG."""
        path.write_bytes(base64.b64decode(self.tell("WebDriver:TakeScreenshot", full=True)))

    def close(self) -> None:
        """End the browser."""
        self._socket.close()
        self._process.kill()
        self._process.wait()
