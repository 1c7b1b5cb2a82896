"""A headless Chromium, driven over a pipe with its DevTools protocol: pages are opened, keys pressed, pictures taken."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
KEYS = {" ": ("Space", 32), "ArrowLeft": ("ArrowLeft", 37), "ArrowRight": ("ArrowRight", 39), "Home": ("Home", 36),
        "End": ("End", 35), "Tab": ("Tab", 9), "Enter": ("Enter", 13)}


def find():
    """The path of a Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """Used in a with statement. Every request that a page makes, and every error in it, is kept."""

    def __init__(self, limit_s=60, sharpness=1):
        """sharpness: device pixels per pixel of the page; a coarse picture is soon drawn."""
        self.limit_s, self.sharpness, self.number, self.opened, self.events = limit_s, sharpness, 0, 0, []
        self.profile = tempfile.mkdtemp(prefix="timeline-browser-")
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()

        def at_3_and_4():  # out of the way first: they may be 3 and 4 themselves
            there = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10) for descriptor in (to_read, to_write)]
            os.dup2(there[0], 3)
            os.dup2(there[1], 4)

        self.process = subprocess.Popen(
            [find(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--mute-audio", "--no-first-run",
             "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=at_3_and_4)
        os.close(to_read)
        os.close(to_write)
        self.pending = b""
        target = next(t for t in self.call("Target.getTargets", session=None)["targetInfos"] if t["type"] == "page")
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.read)
        os.close(self.write)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self, until):
        while b"\0" not in self.pending:
            if not select.select([self.read], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.read, 1 << 16)
            if not data:
                raise ConnectionError("the browser has ended")
            self.pending += data
        text, self.pending = self.pending.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=True, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if session and getattr(self, "session", None):
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        until = time.monotonic() + self.limit_s
        while True:
            answer = self.message(until)
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    # ---- what a test does
    def open(self, path, fragment=""):
        self.events.clear()
        self.opened += 1  # no two addresses are equal, so that each is loaded
        self.call("Page.navigate", url=f"file://{path}?{self.opened}{'#' + fragment if fragment else ''}")
        self.until(f"document.readyState === 'complete' && location.search === '?{self.opened}'")

    def look(self, width, height=900, dark=False, still=False, phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=self.sharpness, mobile=phone)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}])

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", "an exception"))
        return result["result"].get("value")

    def until(self, expression, limit_s=20):
        end = time.monotonic() + limit_s
        while not self.value(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"this never came true: {expression}")
            time.sleep(0.02)

    def press(self, key):
        code, number = KEYS.get(key, (f"Key{key.upper()}" if key.isalpha() else f"Digit{key}", ord(key.upper()[0])))
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode=number, **text)

    def picture(self, path, whole=False):
        parameters = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            parameters = {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", **parameters)["data"]))

    def requests(self):
        """Addresses that the page asked for, itself and what is written inside it left out."""
        asked = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [url for url in asked[1:] if not url.startswith("data:") and url != "about:blank"]

    def errors(self):
        texts = [e["params"]["exceptionDetails"].get("exception", {}).get("description", e["params"]["exceptionDetails"]["text"])
                 for e in self.events if e.get("method") == "Runtime.exceptionThrown"]
        return texts + [e["params"]["entry"]["text"] for e in self.events
                        if e.get("method") == "Log.entryAdded" and e["params"]["entry"]["level"] == "error"]
