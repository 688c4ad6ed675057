#!/usr/bin/env python3
"""Tests the helper that runs the program curl, with a curl and a getent that record their arguments: program_cases.py
BIN HELPER.

Each case is a function that returns problems."""
import json
import os
import subprocess
import sys
import tempfile

binaries, helper = (os.path.abspath(path) for path in sys.argv[1:3])
data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data")
model = os.path.join(data, "gguf/small.gguf")

# Answers by request: a redirect for /to/ADDRESS, otherwise the range of the model.
CURL = """#!/usr/bin/env python3
import json, os, re, shlex, sys
settings = [shlex.split(line.replace(" = ", " ")) for line in sys.stdin]
with open(os.environ["LOG"], "a") as log:
    log.write(json.dumps({"arguments": sys.argv[1:], "settings": settings,
                          "environment": dict(os.environ)}) + "\\n")
asked = {words[0]: words[-1] for words in settings}
if "255.255.255.255" in asked.get("resolve", "") and "https_proxy" not in os.environ:
    sys.exit(7)
to = re.search("/to/(.*)", asked["url"])
if to:
    sys.stdout.write("HTTP/1.1 302 Found\\r\\nLocation: %s\\r\\n\\r\\n" % to[1])
    sys.exit(0)
content = open(os.environ["MODEL"], "rb").read()
first, last = map(int, asked["range"].split("-"))
part = content[first:last + 1]
head = "HTTP/1.1 100 Continue\\r\\n\\r\\nHTTP/2 206\\r\\nContent-Length: %d\\r\\nContent-Range: bytes %d-%d/%d\\r\\n\\r\\n"
sys.stdout.buffer.write((head % (len(part), first, first + len(part) - 1, len(content))).encode() + part)
"""
GETENT = """#!/bin/sh
test "$1 $#" = "ahosts 2" || exit 3
echo "$2" >>"$NAMES"
case $2 in
  public.test) echo '203.0.113.7 STREAM public.test'; echo '203.0.113.7 DGRAM'; echo '2001:db8::7 STREAM'
    echo 'fe80::1%eth0 STREAM'; echo nonsense ;;
  slow.test) kill -STOP $$ ;;
  other.test) echo '203.0.113.8 STREAM other.test' ;;
  private.test) echo '10.0.0.1 STREAM private.test' ;;
  mixed.test) echo '203.0.113.9 STREAM mixed.test'; echo '::1 STREAM' ;;
  localhost) echo '203.0.113.5 STREAM localhost' ;;
  here.test) echo '127.0.0.1 STREAM here.test' ;;
  *) exit 2 ;;
esac
"""


class Run:
    """Runs gguf-dump once. Returns its status, its output, and the runs of curl."""

    def __init__(self, address, *arguments, programs=("curl", "getent"), **environment):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("curl", CURL), ("getent", GETENT)):
                if name in programs:
                    with open(os.path.join(folder, name), "w") as file:
                        file.write(text)
                    os.chmod(os.path.join(folder, name), 0o755)
            os.symlink(sys.executable, os.path.join(folder, "python3"))
            env = {"PATH": folder, "HOME": folder, "LOG": folder + "/log", "NAMES": folder + "/names", "MODEL": model,
                   "MODELUTILS_FETCH": helper, "LC_ALL": "C.UTF-8", **environment}
            done = subprocess.run([os.path.join(binaries, "gguf-dump"), "--quiet", "--no-cache", *arguments, address],
                                  env=env, capture_output=True, timeout=120)
            self.status, self.said = done.returncode, done.stderr.decode()
            self.log = [json.loads(line) for line in open(folder + "/log")] if os.path.exists(folder + "/log") else []
            self.names = open(folder + "/names").read().split() if os.path.exists(folder + "/names") else []

    def settings(self, number, name):
        return [words[-1] for words in self.log[number]["settings"] if words[0] == name]


def differs(run, status, requests, says=""):
    wrong = [] if run.status == status else ["status %s: %s" % (run.status, run.said)]
    if says not in run.said or run.said.count("\n") != (status != 0):
        wrong.append("says " + run.said)
    return wrong + ([] if len(run.log) == requests else ["%d requests" % len(run.log)])


def checked_address_is_connected():
    run = Run("https://public.test/small.gguf")
    wrong = differs(run, 0, 1)
    if not wrong and run.settings(0, "resolve") != ["public.test:443:203.0.113.7,[2001:db8::7]"]:
        wrong.append("may connect to %s" % run.settings(0, "resolve"))
    return wrong


def secrets_are_in_no_argument():
    run = Run("hf://org/repo/small.gguf", HF_ENDPOINT="https://public.test", HF_TOKEN="hf_s3cret")
    wrong = differs(run, 0, 1)
    if run.log[0]["arguments"] != ["-q", "--config", "-"]:
        wrong.append("arguments %s" % run.log[0]["arguments"])
    if "Authorization: Bearer hf_s3cret" not in run.settings(0, "header"):
        wrong.append("headers %s" % run.settings(0, "header"))
    return wrong


def redirects_are_followed_here():
    run = Run("https://public.test/to/https://other.test/to//other.test/small.gguf", HF_TOKEN="hf_s3cret")
    wrong = differs(run, 0, 3)
    if any(words[0].startswith(("location", "-L")) for asked in run.log for words in asked["settings"]):
        wrong.append("curl follows redirects")
    if any("Authorization" in str(asked["settings"]) for asked in run.log):
        wrong.append("the token goes to an address that is not the Hub's")
    return wrong


def token_stays_at_its_origin():
    run = Run("hf://org/repo/x.gguf", HF_ENDPOINT="https://public.test/to/https://other.test", HF_TOKEN="hf_s3cret")
    wrong = [] if len(run.log) == 2 else ["%d requests: %s" % (len(run.log), run.said)]
    with_token = ["s3cret" in str(asked["settings"]) for asked in run.log]
    return wrong + ([] if with_token == [True, False] else ["the token is sent: %s" % with_token])


def private_addresses_are_not_connected():
    wrong = []
    for to in ("http://private.test/x", "http://10.0.0.1/x", "http://[::1]/x", "http://mixed.test/x", "http://[::ffff:127.0.0.1]/x"):
        wrong += differs(Run("http://public.test/to/" + to), 3, 1, "private or loopback")
    # Numbers that curl would read as 127.0.0.1.
    for to in ("http://2130706433/x", "http://127.1/x", "http://0x7f000001/x", "http://0x7f.1/x"):
        wrong += differs(Run("http://public.test/to/" + to), 3, 1, "not well-formed")
    # A server with any public address counts as public, so it must not redirect to private ones.
    wrong += differs(Run("http://mixed.test/to/http://private.test/x"), 3, 1, "private or loopback")
    wrong += differs(Run("http://public.test/to/http://private.test/x", "--allow-private-redirect"), 0, 2)
    return wrong + differs(Run("http://private.test/to/http://here.test/x"), 0, 2)


def tokens_in_the_clear():
    """A localhost that resolves to another machine gets no token."""
    wrong = differs(Run("hf://org/repo/x.gguf", HF_ENDPOINT="http://localhost", HF_TOKEN="t"), 3, 0, "is sent only over https or to this machine")
    run = Run("hf://org/repo/x.gguf", HF_ENDPOINT="http://here.test", HF_TOKEN="hf_s3cret")
    return wrong + differs(run, 0, 1) + (["sends a token"] if "s3cret" in str(run.log[0]["settings"]) else [])


def quotes_in_addresses():
    address = 'https://public.test/a"b\\c/small.gguf?x="\\'
    run = Run(address)
    return differs(run, 0, 1) + ([] if run.settings(0, "url") == [address] else ["asks for %s" % run.settings(0, "url")])


def proxies():
    """curl itself reads the variables; a name that only the proxy knows, or that is not resolved in time, is left to it."""
    for host, pinned in (("public.test", "203.0.113.7,[2001:db8::7]"), ("unknown.test", "255.255.255.255"),
                         ("slow.test", "255.255.255.255")):
        run = Run("https://%s/small.gguf" % host, "--timeout", "2", https_proxy="http://me:pw@other.test:3128")
        wrong = differs(run, 0, 1)
        if wrong or run.settings(0, "proxy") + run.settings(0, "noproxy") or run.log[0]["environment"].get("https_proxy") is None:
            return wrong + ["%s: asks %s" % (host, run.log)]
        if run.settings(0, "resolve") != ["%s:443:%s" % (host, pinned)] or "pw" in str(run.log[0]["settings"]):
            return ["%s: asks %s" % (host, run.log[0]["settings"])]
    run = Run("hf://org/repo/x.gguf", HF_ENDPOINT="http://127.0.0.1", HF_TOKEN="hf_s3cret", http_proxy="http://other.test:3128")
    return differs(run, 0, 1) + ([] if run.settings(0, "noproxy") == ["*"] else ["a proxy may read the token"])


def unknown_names():
    run = Run("https://unknown.test/x")
    return differs(run, 3, 1, "name cannot be resolved") + ([] if len(run.names) == 1 else ["resolves %s" % run.names])


def programs_that_are_not_there():
    wrong = differs(Run("https://public.test/x", programs=["getent"]), 3, 0, "install curl [remote-helper]")
    wrong += differs(Run("https://public.test/x", programs=["curl"]), 3, 0, "needs curl and getent, but getent is not in the PATH: install getent [remote-helper]")
    return wrong + differs(Run("https://10.0.0.1/x", programs=[]), 3, 0, "install curl [remote-helper]")


def names_are_resolved_once():
    run = Run("http://public.test/to/http://public.test/to/http://other.test/x")
    return differs(run, 0, 3) + ([] if run.names == ["public.test", "other.test"] else ["resolves %s" % run.names])


cases = [checked_address_is_connected, secrets_are_in_no_argument, redirects_are_followed_here, token_stays_at_its_origin,
         private_addresses_are_not_connected, tokens_in_the_clear, quotes_in_addresses, proxies, unknown_names,
         programs_that_are_not_there, names_are_resolved_once]
failed = 0
for case in cases:
    found = case()
    failed += bool(found)
    print(("FAILED " + case.__name__ + ": " + "; ".join(found)) if found else "ok " + case.__name__, flush=True)
sys.exit(1 if failed else 0)
