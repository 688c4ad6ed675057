#!/usr/bin/env python3
"""Runs the cases of the stand-in for the Hub (a folder with hub.py and cases.json): hub_cases.py BIN HUB DATA [NAME…].

Each case is a server with a fault; a tool must answer with the right status and one line, within its limits."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# What a case's environment has beside its own variables: which helper is tested.
helper = {name: os.environ[name] for name in ("MODELUTILS_FETCH",) if name in os.environ}
binaries, hub_folder, data = (os.path.abspath(path) for path in sys.argv[1:4])
wanted = sys.argv[4:]
sys.path[:0] = [hub_folder, os.path.dirname(os.path.abspath(__file__))]
import hub as stand_in  # noqa: E402
import models  # noqa: E402


def run_case(case, root, served):
    """What is wrong with how the tool answers; empty if nothing is."""
    out = tempfile.mkdtemp()
    hub = stand_in.Hub(root, **case.get("hub", {}))
    hub.faults = [dict(fault) for fault in case.get("faults", [])]
    fill = {"endpoint": hub.endpoint, "host": hub.endpoint.split("//")[1], "TINY": served["TINY"],
            "MLX": os.path.join(root, "org/mlx"), "out": os.path.join(out, "out.gguf"), "cert": hub.cert or "",
            "GOOD": stand_in.GOOD, "NO_ACCESS": stand_in.NO_ACCESS}

    def filled(text):
        for name, value in fill.items():
            text = text.replace("{" + name + "}", value)
        return text

    env = {"PATH": os.environ["PATH"], "HOME": out, "HF_ENDPOINT": hub.endpoint, "HF_HUB_DOWNLOAD_TIMEOUT": "3",
           "LC_ALL": "C.UTF-8", **helper}
    env.update({name: filled(value) for name, value in case.get("env", {"HF_TOKEN": stand_in.GOOD}).items()})
    command = [os.path.join(binaries, case["tool"]), "--quiet"] + [filled(text) for text in case["args"]]
    try:
        done = subprocess.run(command, env=env, capture_output=True, timeout=case.get("max_s", 60) + 30, cwd=out)
        status, said = done.returncode, done.stderr.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        status, said = "none", ""
    requests, redirects, sent = hub.totals()
    log = list(hub.log)
    hub.close()
    wrong = []
    expected = case["exit"] if isinstance(case["exit"], list) else [case["exit"]]
    if status not in expected:
        wrong.append(f"status {status}, expected {expected}")
    if status == 3 and len(said.strip().split("\n")) != 1:
        wrong.append("more or less than one line")
    if status == 3 and not re.search(r"\[[a-z0-9-]+\]$", said.strip()):
        wrong.append("no code at the end")
    if status == 3 and "says" in case and not re.search(case["says"], said, re.I):
        wrong.append("does not say " + case["says"])
    if re.search(r"s3cret|hf_g|hf_n|Signature|Policy|\x1b", said):
        wrong.append("shows a secret or a control character")
    if "auth" in case and any(x["auth"] for x in log) != case["auth"]:
        wrong.append("sends the token")
    if any(x["auth"] and x["side"] == "cdn" for x in log):
        wrong.append("sends the token to the CDN")
    if requests > case.get("max_requests", 40) or "requests" in case and requests != case["requests"]:
        wrong.append(f"{requests} requests")
    if sent > case.get("max_bytes", 256 << 20):
        wrong.append(f"{sent} bytes")
    if os.path.exists(fill["out"]):
        wrong.append("leaves an output")
    return wrong, f"{said.strip()} ({requests} requests, {redirects} redirects, {sent} bytes)"


def cut_midway(root):
    """A header whose answers are cut twice within a range: what is shown is what the whole file says, and no byte comes twice."""
    hub = stand_in.Hub(root)
    hub.faults = [{"fault": "cut", "arg": 300_000, "side": "cdn", "skip": 2, "times": 2}]
    path = "org/big/big-Q8_0.gguf"
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ["PATH"], "HOME": home, "HF_ENDPOINT": hub.endpoint, "LC_ALL": "C.UTF-8", **helper}
        shown = [subprocess.run([os.path.join(binaries, "gguf-dump"), "--no-cache", name], env=env, capture_output=True)
                 for name in ("hf://" + path, os.path.join(root, path))]
    sent = hub.totals()[2]
    hub.close()
    wrong = [] if [x.returncode for x in shown] == [0, 0] else ["status %d and %d" % tuple(x.returncode for x in shown)]
    if shown[0].stdout.replace(b"hf://" + path.encode(), os.path.join(root, path).encode()) != shown[1].stdout:
        wrong.append("shows something else")
    if shown[0].stderr.count(b"trying again") != 2 or sent > 13_000_000:
        wrong.append("%d bytes; %s" % (sent, shown[0].stderr.decode()))
    return wrong


def has_public_addresses():
    """Are we in a network of our own, where the documentation's addresses may be given to this machine?"""
    is_apart = os.listdir("/sys/class/net") == ["lo"] or len(open("/proc/net/dev").readlines()) == 3
    if not is_apart or shutil.which("ip") is None:
        return False
    return subprocess.run(["ip", "addr", "add", "203.0.113.7/32", "dev", "lo"], capture_output=True).returncode == 0


def main():
    public = has_public_addresses()
    if public:
        subprocess.run(["ip", "addr", "add", "203.0.113.8/32", "dev", "lo"], check=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    cases = json.load(open(os.path.join(hub_folder, "cases.json")))
    cases = [case for case in cases if not wanted or any(name in case["name"] for name in wanted)]
    looked_at = failed = 0
    with tempfile.TemporaryDirectory() as root, concurrent.futures.ThreadPoolExecutor(8) as pool:
        served = models.hub(root, data)
        if not wanted or "cut midway" in wanted:
            wrong = cut_midway(root)
            looked_at, failed = 1, int(bool(wrong))
            print("FAILED cut midway: " + "; ".join(wrong) if wrong else "ok cut midway")
        jobs = [(case, pool.submit(run_case, case, root, served)) for case in cases
                if public or "203.0.113" not in json.dumps(case)]
        looked_at += len(jobs)
        for case, job in jobs:
            wrong, said = job.result()
            failed += bool(wrong)
            print(("FAILED " + case["name"] + ": " + "; ".join(wrong)) if wrong else "ok " + case["name"])
            if wrong or "-v" in os.environ.get("HUB_CASES", ""):
                print("    " + said)
    print(f"{looked_at - failed} cases as they should be, {failed} not, {len(cases) - len(jobs)} left out")
    return 1 if failed else 0


sys.exit(main())
