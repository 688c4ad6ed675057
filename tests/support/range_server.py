#!/usr/bin/env python3
"""Serves a folder over HTTP on loopback while a command runs: range_server.py FOLDER COMMAND ARGUMENT…

The environment variable ADDRESS tells the command the server's address. The first folder of a path selects the server's
behaviour, the rest is the file: good, cut (every response ends after 10 bytes), refuse (404), forbid (403), shift
(another range), html, loop (endless redirects), scheme (redirects to file:), changed (another ETag each time), whole
(no ranges), busy (503 to the first request), silent (never answers). The Hub's list of files, /api/models/…, contains
everything in the folder; other is a Hub without one. If REQUESTS is set, each request is logged to that file as a line
"PATH RANGE TOKEN"."""
import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading

folder, command = sys.argv[1], sys.argv[2:]


def listing():
    """Returns the Hub's response about the folder as a repository."""
    files = []
    for at, _, names in os.walk(folder):
        for name in sorted(names):
            with open(os.path.join(at, name), "rb") as file:
                data = file.read()
            blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            files.append({"rfilename": os.path.relpath(os.path.join(at, name), folder), "size": len(data), "blobId": blob})
            if name.endswith((".gguf", ".safetensors")):
                files[-1]["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    return json.dumps({"sha": "0123456789" * 4, "siblings": files}).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = 0
    was_busy = False

    def log_message(self, *_):
        pass

    def answer(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        Handler.count += 1
        if "REQUESTS" in os.environ:
            with open(os.environ["REQUESTS"], "a") as log:
                log.write(f"{self.path} {self.headers.get('Range')} {self.headers.get('Authorization')}\n")
        parts = self.path.split("?")[0].strip("/").split("/")
        mode, name = parts[0], parts[-1]
        if "resolve" in parts:
            name = "/".join(parts[parts.index("resolve") + 2:])
        if "api" in parts:
            return self.answer(200, {}, b"{}" if mode == "other" else listing())
        if not os.path.exists(os.path.join(folder, name)):
            name = parts[-1]
        if mode == "silent":
            threading.Event().wait(60)
        if mode == "busy" and not Handler.was_busy:
            Handler.was_busy = True
            return self.answer(503, {})
        if mode == "refuse":
            return self.answer(404, {})
        if mode == "forbid":
            return self.answer(403, {})
        if mode == "loop":
            return self.answer(302, {"Location": self.path})
        if mode == "scheme":
            return self.answer(302, {"Location": "file:///etc/passwd"})
        if mode == "html":
            return self.answer(200, {"Content-Type": "text/html"}, b"<html>")
        if not os.path.exists(os.path.join(folder, name)):
            return self.answer(404, {})
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        if mode == "whole":
            return self.answer(200, {}, data)
        first, last = (int(n) for n in self.headers["Range"].removeprefix("bytes=").split("-"))
        body = data[first:last + 1]
        if mode == "shift":
            first += 1
        headers = {"ETag": f'"{Handler.count if mode == "changed" else 1}"',
                   "Content-Range": f"bytes {first}-{first + len(body) - 1}/{len(data)}"}
        if mode != "cut":
            return self.answer(206, headers, body)
        self.send_response(206)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body[:10])
        self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):  # a client that disconnects early
        pass


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
status = subprocess.run(command, env={**os.environ, "ADDRESS": f"http://127.0.0.1:{server.server_port}"}).returncode
sys.exit(status)
