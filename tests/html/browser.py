"""Runs Debian's chromium without a screen, controlled over its debugging port. Waits for events of the browser or for
answers to commands, never for a fixed time. A minute without any message is an error."""
import base64, json, os, subprocess, urllib.request

import websocket  # Debian: python3-websocket

KEYS = {"Tab": 9, "Enter": 13, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    def __init__(self, program, profile):
        arguments = [program, "--headless=new", "--disable-gpu", "--no-first-run", "--disable-extensions", "--hide-scrollbars",
                     "--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0",
                     "--remote-allow-origins=*", "--disable-features=IsolateSandboxedIframes",  # frames() only sees frames of this process
                     "--user-data-dir=" + profile, "about:blank"]
        if os.geteuid() == 0:
            arguments.insert(1, "--no-sandbox")  # chromium's sandbox does not work for root
        self.process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if line.startswith("DevTools listening on ws://"):
                break
        else:
            raise RuntimeError("chromium ended before it listened")
        place = line.split("ws://")[1].split("/")[0]
        with urllib.request.urlopen("http://%s/json/list" % place) as answer:
            target = next(one for one in json.load(answer) if one["type"] == "page")
        self.socket = websocket.create_connection(target["webSocketDebuggerUrl"], timeout=60, max_size=None)
        self.number = 0
        self.events = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.stderr.read()
        self.process.wait()

    def receive(self):
        message = json.loads(self.socket.recv())
        if "method" in message:
            self.events.append(message)
        return message

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError("%s: %s" % (method, message["error"]["message"]))
                return message["result"]

    def open(self, address, before=""):
        """Opens a page; `before` is a script that runs before those of the page."""
        self.events = []
        script = self.call("Page.addScriptToEvaluateOnNewDocument", source=before)["identifier"]
        self.call("Page.navigate", url=address)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.receive()
        self.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
        self.settle()

    def frames(self):
        """Returns the script contexts of the frames, in order."""
        contexts = [event["params"]["context"] for event in self.events if event["method"] == "Runtime.executionContextCreated"]
        tree = self.call("Page.getFrameTree")["frameTree"]
        wanted = [child["frame"]["id"] for child in tree.get("childFrames", [])]
        found = {one["auxData"]["frameId"]: one["id"] for one in contexts if one["auxData"].get("isDefault")}
        return [found[frame] for frame in wanted]

    def run(self, script, context=None):
        """Returns the value of an expression, in the given frame if any. Waits for promises."""
        place = {} if context is None else {"contextId": context}
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, **place)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", script))
        return answer["result"].get("value")

    def settle(self):
        """Waits two frames: one for observing sizes, one for drawing the result."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")

    def press(self, key):
        event = {"key": key, "windowsVirtualKeyCode": KEYS[key], "code": "Space" if key == " " else key}
        if key in ("Enter", " "):
            event["text"] = "\r" if key == "Enter" else " "
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def tab_to(self, selector, most=400):
        """Moves the focus to an element with the Tab key."""
        for _ in range(most):
            self.press("Tab")
            if self.run("document.activeElement !== null && document.activeElement.matches(%s)" % json.dumps(selector)):
                return
        raise RuntimeError("the Tab key does not reach " + selector)

    def show_as(self, width, theme, height=900, medium="screen"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", media=medium, features=[{"name": "prefers-color-scheme", "value": theme}])
        self.settle()

    def screenshot(self, path, height):
        clip = {"x": 0, "y": 0, "width": self.run("innerWidth"), "height": height, "scale": 1}
        answer = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))

    def pdf(self, path):
        self.call("Emulation.setEmulatedMedia", media="", features=[])
        answer = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True, paperWidth=8.27, paperHeight=11.69)
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))

    def complaints(self):
        """Returns the console's messages, and requests to anything but the page itself."""
        found = []
        for event in self.events:
            what, data = event["method"], event["params"]
            if what == "Runtime.exceptionThrown":
                found.append("exception: " + data["exceptionDetails"].get("exception", {}).get("description", "?"))
            elif what == "Log.entryAdded":
                found.append("log: " + data["entry"]["text"])
            elif what == "Runtime.consoleAPICalled":
                found.append("console: " + json.dumps(data["args"])[:200])
            elif what == "Network.requestWillBeSent":
                address = data["request"]["url"]
                if not address.startswith("data:") and data.get("type") != "Document":
                    found.append("request: " + address[:200])
        return found
