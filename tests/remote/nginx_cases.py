#!/usr/bin/env python3
"""Tests addresses on a real web server with TLS: nginx_cases.py BIN [NAME…]. Each case is a function that returns
problems."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import models  # noqa: E402
import nginx_server  # noqa: E402

binaries = os.path.abspath(sys.argv[1])
wanted = sys.argv[2:]
data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data")
first_piece = 64 << 10
helper = os.environ.get("MODELUTILS_FETCH")  # a helper that runs curl for each request keeps no connection


class Place:
    """State shared by all cases: files, certificates, and a method to run a tool."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "servers")
        self.files = os.path.join(folder, "files")
        self.home = os.path.join(folder, "home")
        for path in (self.folder, self.files, self.home):
            os.mkdir(path)
        nginx_server.certificates(self.folder)
        self.big_header = models.gguf(self.file("big.gguf"), 470_000, 1_470_000)
        models.gguf(self.file("small.gguf"), tokens=40, rows=200)
        models.sharded(self.file("sharded"), 30, 300)
        models.safetensors(self.file("long.safetensors"), ["tensor.%d" % number for number in range(3000)])
        for part in ("split-00001-of-00002.gguf", "split-00002-of-00002.gguf"):
            shutil.copy(os.path.join(data, "gguf", part), self.files)

    def file(self, name):
        return os.path.join(self.files, name)

    def environment(self, trusted=True, **more):
        env = {"PATH": os.environ["PATH"], "HOME": self.home, "LC_ALL": "C.UTF-8", "HF_HUB_DOWNLOAD_TIMEOUT": "10"}
        if trusted:
            env["SSL_CERT_FILE"] = os.path.join(self.folder, "ca.pem")
        if helper:
            env["MODELUTILS_FETCH"] = helper
        return dict(env, **more)

    def run(self, tool, *arguments, trusted=True, **more):
        command = [os.path.join(binaries, tool), *arguments]
        done = subprocess.run(command, env=self.environment(trusted, **more), capture_output=True, timeout=120)
        return done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace")


def against_local(place, server, tool, name, *arguments, prefix=""):
    """Returns differences between a tool's output for an address and for the file."""
    address = server.address + prefix + "/" + name
    status, said, errors = place.run(tool, *arguments, "--no-cache", address)
    local_status, local, _ = place.run(tool, *arguments, place.file(name))
    if status != 0 or local_status != 0:
        return ["status %s, of the file %s: %s" % (status, local_status, errors)]
    if said.replace(server.address + prefix, place.files) != local or not local:
        return ["says something else of the address than of the file"]
    return []


def refused(place, server, code, says, path, tool="gguf-dump", **more):
    """Returns what is wrong with a refusal: it must have status 3, one line, this code, and take few seconds."""
    status, said, errors = place.run(tool, "--quiet", "--no-cache", server.address + path, **more)
    lines = errors.strip().split("\n")
    wrong = [] if status == 3 else ["status %s" % status]
    if len(lines) != 1 or not lines[0].endswith("[%s]" % code) or says not in lines[0]:
        wrong.append("says " + errors)
    return wrong + (["prints something"] if said else [])


def ranges(log, most, allowed, connections=1):
    """Returns what is wrong with range requests: at most this many, with at most this many bytes."""
    wrong = ["answer %d to %s" % (x.status, x.path) for x in log if x.status != 206 or not x.range.startswith("bytes=")]
    if not 0 < len(log) <= most:
        wrong.append("%d requests, %d allowed" % (len(log), most))
    if sum(x.sent for x in log) > allowed:
        wrong.append("%d bytes, %d allowed" % (sum(x.sent for x in log), allowed))
    if len({x.connection for x in log}) > (len(log) if helper else connections):
        wrong.append("%d connections" % len({x.connection for x in log}))
    return wrong


def header_of_10_mb(place, http2):
    server = nginx_server.Nginx(place.folder, place.files, http2=http2)
    wrong = against_local(place, server, "gguf-dump", "big.gguf")
    log = server.close()
    if {x.protocol for x in log} != {"HTTP/2.0" if http2 else "HTTP/1.1"}:
        wrong.append("speaks another HTTP")
    return wrong + ranges(log, 6, 1.3 * place.big_header)


def header_of_10_mb_http1(place):
    return header_of_10_mb(place, False)


def header_of_10_mb_http2(place):
    return header_of_10_mb(place, True)


def small_header(place):
    server = nginx_server.Nginx(place.folder, place.files)
    wrong = against_local(place, server, "gguf-dump", "small.gguf")
    return wrong + ranges(server.close(), 1, first_piece)


def split_gguf(place):
    server = nginx_server.Nginx(place.folder, place.files)
    wrong = against_local(place, server, "gguf-dump", "split-00001-of-00002.gguf")
    log = server.close()
    if {x.path for x in log} != {"/split-00001-of-00002.gguf", "/split-00002-of-00002.gguf"}:
        wrong.append("does not ask for both parts, and nothing else")
    return wrong


def safetensors_header(place):
    server = nginx_server.Nginx(place.folder, place.files)
    wrong = against_local(place, server, "st-dump", "long.safetensors")
    with open(place.file("long.safetensors"), "rb") as file:
        header = 8 + int.from_bytes(file.read(8), "little")
    return wrong + ranges(server.close(), 2, header + first_piece)


def safetensors_shards(place):
    server = nginx_server.Nginx(place.folder, place.files)
    wrong = against_local(place, server, "st-dump", "sharded/model.safetensors.index.json")
    log = server.close()
    missing = [x for x in log if x.status == 404]  # config.json, which this model lacks
    if len([x for x in log if x.path.endswith(".safetensors")]) < 30:
        wrong.append("does not ask for all shards")
    return wrong + ranges([x for x in log if x.status != 404], 65 - len(missing), 8 << 20, connections=9)


def without_ranges(place):
    """A server without ranges sends a single response, which the tool ends soon after the header. A small file is sent
    whole."""
    server = nginx_server.Nginx(place.folder, place.files)
    wrong = against_local(place, server, "gguf-dump", "big.gguf", prefix="/no-ranges")
    wrong += against_local(place, server, "gguf-dump", "small.gguf", prefix="/no-ranges")
    log = server.close()
    if [x.status for x in log] != [200, 200]:
        wrong.append("answers %s" % [x.status for x in log])
    elif not place.big_header <= log[0].sent < place.big_header + (64 << 20):
        wrong.append("%d bytes were sent" % log[0].sent)
    return wrong


def redirect(place):
    server = nginx_server.Nginx(place.folder, place.files)
    wrong = against_local(place, server, "gguf-dump", "big.gguf", prefix="/to-here")
    log = server.close()
    if [x.status for x in log[:2]] != [302, 206]:
        wrong.append("answers %s" % [x.status for x in log])
    return wrong + ranges(log[1:], 6, 1.3 * place.big_header)  # reuses the address that the redirect led to


def redirect_to_http(place):
    server = nginx_server.Nginx(place.folder, place.files)
    wrong = refused(place, server, "remote-redirect", "from https to http", "/to-http/big.gguf")
    return wrong + ([] if len(server.close()) == 1 else ["more than one request"])


def untrusted_authority(place):
    server = nginx_server.Nginx(place.folder, place.files)
    wrong = refused(place, server, "remote-network", "certificate is not trusted", "/small.gguf", trusted=False)
    return wrong + (["the server got a request"] if server.close() else [])


def certificate_of_another(place):
    server = nginx_server.Nginx(place.folder, place.files, certificate="elsewhere")
    wrong = refused(place, server, "remote-network", "certificate is not trusted", "/small.gguf")
    return wrong + (["the server got a request"] if server.close() else [])


def no_such_certificates(place):
    server = nginx_server.Nginx(place.folder, place.files)
    wrong = refused(place, server, "remote-network", "", "/small.gguf", SSL_CERT_FILE=place.file("not-there.pem"))
    return wrong + (["the server got a request"] if server.close() else [])


def refusals(place):
    server = nginx_server.Nginx(place.folder, place.files)
    wrong = refused(place, server, "remote-missing", "404", "/not-there.gguf")
    wrong += refused(place, server, "remote-status", "403", "/for-some/small.gguf")
    server.close()
    return wrong


def changed_under_way(place):
    """Another file of equal length replaces the file after the first response; nginx then ignores the range."""
    path = place.file("changing.gguf")
    models.gguf(path, 470_000, 1000)
    models.gguf(path + ".new", 470_000, 1000)
    os.utime(path + ".new", (1_000_000_000, 1_000_000_000))  # nginx's ETag is length and time
    server = nginx_server.Nginx(place.folder, place.files)
    command = [os.path.join(binaries, "gguf-dump"), "--quiet", "--no-cache", server.address + "/slow/changing.gguf"]
    tool = subprocess.Popen(command, env=place.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    server.wait_for_request()
    os.replace(path + ".new", path)
    said, errors = (text.decode() for text in tool.communicate(timeout=60))
    log = server.close()
    wrong = [] if tool.returncode == 3 and not said else ["status %s" % tool.returncode]
    if not re.fullmatch(r".*changing\.gguf: .*changed while it was being read \[remote-changed\]\n", errors):
        wrong.append("says " + errors)
    if not log or log[-1].status != 200 or log[-1].if_range == "-" or any(x.status != 206 for x in log[:-1]):
        wrong.append("answers %s, the last to If-Range %s" % ([x.status for x in log], log and log[-1].if_range))
    return wrong


def kept_header(place):
    """The second run takes one request, because the first 64 KiB and the ETag are cached."""
    server = nginx_server.Nginx(place.folder, place.files)
    for _ in range(2):
        status, said, errors = place.run("st-dump", server.address + "/long.safetensors")
        if status != 0 or not said:
            return ["status %s: %s" % (status, errors)]
    return ranges(server.close(), 3, 1 << 20, connections=2)


cases = [header_of_10_mb_http1, header_of_10_mb_http2, small_header, split_gguf, safetensors_header, safetensors_shards,
         without_ranges, redirect, redirect_to_http, untrusted_authority, certificate_of_another, no_such_certificates,
         refusals, changed_under_way, kept_header]
failed = 0
with tempfile.TemporaryDirectory() as root:
    shared = Place(root)
    for case in cases:
        if wanted and not any(name in case.__name__ for name in wanted):
            continue
        found = case(shared)
        failed += bool(found)
        print(("FAILED " + case.__name__ + ": " + "; ".join(found)) if found else "ok " + case.__name__, flush=True)
sys.exit(1 if failed else 0)
