#!/usr/bin/env python3
"""Runs the cases of the stand-in for the Hub (a folder with hub.py and cases.json): hub_cases.py BIN HUB DATA [NAME…].

Each case is a server with a fault; a tool must answer with the right status and one line, within its limits.
HUB_CASES_WITHOUT names cases that are left out, with ":" between them."""
import concurrent.futures
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

# Environment of all cases besides their own variables: the helper to test.
helper = {name: os.environ[name] for name in ("MODELUTILS_FETCH",) if name in os.environ}
binaries, hub_folder, data = (os.path.abspath(path) for path in sys.argv[1:4])
wanted = sys.argv[4:]
sys.path[:0] = [hub_folder, os.path.dirname(os.path.abspath(__file__))]
import hub as stand_in  # noqa: E402
import models  # noqa: E402


def run_case(case, root, served):
    """Returns what is wrong with the tool's behaviour; empty if nothing is."""
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
    """The answers for a header are cut twice within a range. The output must equal that for the file, without
    repeated bytes."""
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


def run_tool(hub, tool, *arguments, endpoint=None, home=None, **more):
    """Runs a tool without a header cache, unless a home for it is given. Returns status, output, and the request
    log."""
    before = len(hub.log) if hub else 0
    with tempfile.TemporaryDirectory() as folder:
        env = {"PATH": os.environ["PATH"], "HOME": home or folder, "HF_ENDPOINT": endpoint or hub.endpoint, "LC_ALL": "C.UTF-8",
               **helper, **more}
        # A tool that waits for a silent server more than once (65 s and more) exceeds this limit.
        try:
            done = subprocess.run([os.path.join(binaries, tool), "--quiet", *arguments], env=env, capture_output=True, cwd=folder,
                                  timeout=45)
        except subprocess.TimeoutExpired:
            return None, "still running", []
    return done.returncode, done.stderr.decode() + done.stdout.decode(), hub.log[before:] if hub else []


def answers(log):
    """Returns the requests that were not redirected."""
    return len([x for x in log if not 300 <= x["status"] < 400])


def shard_missing(root):
    """A missing shard gives status 3 whenever it is noticed, and is requested only once."""
    hub = stand_in.Hub(root)
    index = hub.endpoint + "/org/sharded/resolve/main/model.safetensors.index.json"
    wrong = []
    for times in ({}, {"times": 1}):
        for address in ("hf://org/sharded", index):
            hub.faults = [{"fault": "status", "arg": [404], "match": "model-00017", **times}]
            status, said, log = run_tool(hub, "st-dump", "--no-cache", "--get", "format", address)
            asked = [x for x in log if "model-00017" in x["path"]]
            if status != 3 or "model-00017-of-00030.safetensors" not in said or "[st-shard-open]" not in said or len(asked) != 1:
                wrong.append("%s: status %s, %d times: %s" % (address, status, len(asked), said[:300]))
    hub.close()
    return wrong


def shards_elsewhere(root):
    """An index that names files outside its folder is refused, and only the index is requested."""
    wrong = []
    folder = os.path.join(root, "org/elsewhere")
    models.sharded(folder, 3, 3)
    path = os.path.join(folder, "model.safetensors.index.json")
    good = json.load(open(path))
    hub = stand_in.Hub(root)
    web = hub.endpoint + "/org/elsewhere/resolve/main/model.safetensors.index.json"
    for name in ("../sharded/model-00001-of-00030.safetensors", "/etc/passwd", "a/../../b", "%2e%2e/x.safetensors", "x?y", "http://h/x"):
        index = {**good, "weight_map": {**good["weight_map"], "evil": name}}
        json.dump(index, open(path, "w"))
        is_web_only = "%" in name or "?" in name  # these have no special meaning in the name of a repository's file
        for tool, expected, more in (("st-dump", 3, ()), ("verify", 1, ()), ("mlx2gguf", 3, ("-o", "x.gguf"))):
            for address in (web,) if is_web_only else ("hf://org/elsewhere", web):
                if tool == "mlx2gguf" and address == web:
                    continue
                status, said, log = run_tool(hub, tool, "--no-cache", address, *more)
                others = [x["path"] for x in log if "index.json" not in x["path"] and "/api/models/" not in x["path"]]
                if status != expected or "st-index-file-name" not in said or others:
                    wrong.append("%s %s with %s: status %s, asks for %s: %s" % (tool, address, name, status, others, said[:300]))
    hub.close()
    shutil.rmtree(folder)
    return wrong


def few_requests(root):
    """Counts the requests for 30 shards' headers and a small file: the list of files, the index, and each file
    once."""
    folder = os.path.join(root, "org/long")
    models.sharded(folder, 30, 1500)  # headers of more than 64 KiB
    hub = stand_in.Hub(root)
    wrong = []
    web = hub.endpoint + "/org/%s/resolve/main/model.safetensors.index.json"
    small = "hf://org/tiny/tiny.gguf"
    for most, arguments in ((32, ("st-dump", "hf://org/sharded")), (31, ("st-dump", web % "sharded")),
                            (32, ("st-dump", "hf://org/long")), (31, ("st-dump", web % "long")),
                            (1, ("gguf-dump", small)), (2, ("gguf-dump", "--stats", small))):
        status, said, log = run_tool(hub, arguments[0], "--no-cache", *arguments[1:])
        if status != 0 or answers(log) > most:
            wrong.append("%s: status %s, %d requests, %d allowed" % (" ".join(arguments), status, answers(log), most))
    hub.close()
    shutil.rmtree(folder)
    return wrong


def image_models(root):
    """An image model at an address gives the bytes that it gives as a file: in a repository, in its folder with an index
    (with and without a final slash), and at an address without the name of a file."""
    folder = os.path.join(root, "org/image/transformer")
    os.makedirs(folder)
    name = "diffusion_pytorch_model"
    tensors = ["double_blocks.0.img_attn.proj.weight", "img_in.bias", "img_in.weight"]
    for number, some in enumerate((tensors[:2], tensors[2:])):
        models.safetensors(f"{folder}/{name}-{number + 1:05}-of-00002.safetensors", some)
    with open(f"{folder}/{name}.safetensors.index.json", "w") as file:
        json.dump({"weight_map": {t: f"{name}-{1 + (t == tensors[2]):05}-of-00002.safetensors" for t in tensors}}, file)
    with open(os.path.join(root, "org/image/model_index.json"), "w") as file:
        json.dump({"_class_name": "FluxPipeline", "transformer": ["diffusers", "SomeTransformer2DModel"]}, file)
    with open(f"{folder}/config.json", "w") as file:
        json.dump({"_class_name": "SomeTransformer2DModel"}, file)
    models.safetensors(os.path.join(root, "org/image/whole"), tensors)
    hub = stand_in.Hub(root)
    web = hub.endpoint + "/org/image/resolve/main/"
    wrong = []
    out = os.path.join(root, "image.gguf")
    outputs = set()
    for address in (os.path.join(root, "org/image"), "hf://org/image", "hf://org/image/transformer", "hf://org/image/transformer/",
                    f"hf://org/image/transformer/{name}.safetensors.index.json", f"{web}transformer/{name}.safetensors.index.json",
                    web + "whole", web + "whole?download=true"):
        for tool, options in (("mlx2gguf", ()), ("gguf-quantize", ("--type", "F16"))):
            status, said, _ = run_tool(hub, tool, "--no-cache", address, "-o", out, "--force", "--arch", "flux", *options)
            if status != 0:
                wrong.append(f"{tool} {address}: status {status}: {said[:300]}")
            else:
                outputs.add((tool, open(out, "rb").read()))
    if len(outputs) != 2:
        wrong.append(f"{len(outputs)} different outputs")
    for address in (web, web + "model_index.json", web + "transformer/config.json"):
        status, said, log = run_tool(hub, "gguf-quantize", "--no-cache", address, "-o", out, "--force")
        if status != 3 or "[convert-not-directory]" not in said or "index.json" not in said or log:
            wrong.append(f"{address}: status {status}, {len(log)} requests: {said[:300]}")
    hub.close()
    return wrong


def silent_server(root):
    """With a server that accepts but never answers, readers and converters give up after the time limit without
    data."""
    server = socket.create_server(("127.0.0.1", 0), backlog=64)
    endpoint = "http://127.0.0.1:%d" % server.getsockname()[1]
    tiny = os.path.join(root, "org/tiny/tiny.gguf")
    wrong = []
    for tool, *arguments in (("gguf-dump", "hf://org/m/m.gguf"), ("st-dump", "hf://org/m"), ("verify", "hf://org/m"),
                             ("model-diff", "hf://org/m/m.gguf", tiny), ("mlx2gguf", "hf://org/m", "-o", "x"),
                             ("gguf2mlx", "hf://org/m/m.gguf", "-o", "x"), ("gguf2bump", "hf://org/m/m.gguf", "-o", "x"),
                             ("gguf-quantize", "--type", "q8_0", "hf://org/m/m.gguf", "-o", "x"),
                             ("pt2st", endpoint + "/m.bin", "-o", "x"), ("mlx2gguf", endpoint + "/m.safetensors.index.json", "-o", "x")):
        status, said, _ = run_tool(None, tool, "--timeout", "2", *arguments, endpoint=endpoint)
        if status != 3 or "remote-network" not in said:
            wrong.append("%s: status %s: %s" % (tool, status, said[:300]))
    status, said, _ = run_tool(None, "st-dump", "hf://org/m", endpoint=endpoint, HF_HUB_DOWNLOAD_TIMEOUT="1")
    if status != 3:
        wrong.append("HF_HUB_DOWNLOAD_TIMEOUT: status %s: %s" % (status, said))
    for value in ("0", "601", "x"):
        if run_tool(None, "st-dump", "--timeout", value, tiny, endpoint=endpoint)[0] != 2:
            wrong.append("takes --timeout " + value)
    server.close()
    return wrong


def shards_silent(root):
    """Thirty shards on a server that stops answering cost one time limit, not thirty."""
    hub = stand_in.Hub(root)
    hub.faults = [{"fault": "hang", "arg": 300, "match": "model-000"}]
    wrong = []
    for tool, *more in (("st-dump",), ("mlx2gguf", "-o", "x")):
        status, said, _ = run_tool(hub, tool, "--no-cache", "--timeout", "2", "hf://org/sharded", *more)
        if status != 3 or "remote-network" not in said and "st-shard-open" not in said:
            wrong.append("%s: status %s: %s" % (tool, status, said[:300]))
    hub.close()
    return wrong


def published_and_broken(root):
    """A file that matches the published one but has findings: reports both."""
    folder = os.path.join(root, "org/broken")
    os.makedirs(folder)
    for name in ("duplicate", "warning", "sound"):
        shutil.copy(os.path.join(data, "verify", name + ".gguf"), folder)
    hub = stand_in.Hub(root)
    wrong = []
    for name, expected in (("duplicate", 1), ("warning", 0), ("sound", 0)):
        path = os.path.join(folder, name + ".gguf")
        status, said, _ = run_tool(hub, "verify", "--json", "--published", "hf://org/broken/%s.gguf" % name, path)
        if status != expected or ("manifest-published" in said) != (name != "sound"):
            wrong.append("%s: status %s: %s" % (name, status, said))
    status, said, _ = run_tool(hub, "verify", "--json", "--published", "hf://org/broken/warning.gguf", os.path.join(folder, "duplicate.gguf"))
    if status != 1 or "manifest-published" in said:
        wrong.append("another file: status %s: %s" % (status, said))
    hub.close()
    shutil.rmtree(folder)
    return wrong


def folders_are_copied(root):
    """st-edit of a repository copies the files in folders, and the weights of modules that modules.json names."""
    folder = os.path.join(root, "org/embed")
    shutil.copytree(os.path.join(data, "demo-model"), folder)
    files = {"modules.json": json.dumps([{"type": "x.Transformer", "path": ""}, {"type": "x.LSTM", "path": "2_Dense"}]),
             "1_Pooling/config.json": "{}", "2_Dense/model.safetensors": "any bytes", "a/b/c/deep.txt": "deep", "onnx/model.onnx": "weights"}
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    hub = stand_in.Hub(root)
    wrong = []
    with tempfile.TemporaryDirectory() as out:
        status, said, _ = run_tool(hub, "st-edit", "--no-cache", "hf://org/embed", "-o", out + "/copy")
        if status != 0:
            wrong.append("status %s: %s" % (status, said[:300]))
        for base, _, names in os.walk(folder):
            for name in names:
                path = os.path.relpath(os.path.join(base, name), folder)
                there = os.path.join(out, "copy", path)
                same = os.path.exists(there) and open(there, "rb").read() == open(os.path.join(folder, path), "rb").read()
                if same == path.startswith("onnx/"):
                    wrong.append("%s is %s" % (path, "the same" if same else "another or missing"))
    hub.close()
    shutil.rmtree(folder)
    return wrong


def queries_tell_files_apart(root):
    """Two addresses that differ only in the query, with equal ETag and length, need two entries in the header
    cache."""
    hub = stand_in.Hub(root)
    commit = hub.repo("org/two").commit(".")
    wrong = []
    with tempfile.TemporaryDirectory() as home:
        address = "%s/org/two/resolve/%s/two-Q8_0.gguf?file=" % (hub.endpoint, commit)
        for name, requests in (("a", True), ("a", False), ("b", True)):
            status, said, log = run_tool(hub, "gguf-dump", address + name + "s3cret", home=home)
            if status != 0 or bool(log) != requests:
                wrong.append("%s: status %s, %d requests: %s" % (name, status, len(log), said[:300]))
        kept = os.path.join(home, ".cache/modelutils/headers")
        for entry in os.listdir(kept):
            if b"s3cret" in open(os.path.join(kept, entry), "rb").read():
                wrong.append("keeps the query")
    hub.close()
    return wrong


def through_a_proxy(root):
    """A proxy gets the request for a host that only it knows, and none for a host in no_proxy."""
    asked = []
    with open(os.path.join(root, "org/tiny/tiny.gguf"), "rb") as file:
        content = file.read()

    class Proxy(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            asked.append(self.path)
            first, last = map(int, self.headers["Range"][len("bytes="):].split("-"))
            part = content[first:last + 1]
            self.send_response(206)
            self.send_header("Content-Length", str(len(part)))
            self.send_header("Content-Range", "bytes %d-%d/%d" % (first, first + len(part) - 1, len(content)))
            self.end_headers()
            self.wfile.write(part)

    hub = stand_in.Hub(root)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {"http_proxy": "http://127.0.0.1:%d" % server.server_port, "no_proxy": "x.test,127.0.0.1"}
    unknown = "http://model.invalid/tiny.gguf"
    wrong = []
    for address in (unknown, hub.endpoint + "/org/tiny/resolve/main/tiny.gguf"):
        status, said, _ = run_tool(hub, "gguf-dump", "--no-cache", address, **environment)
        if status != 0 or asked != [unknown]:
            wrong.append("%s: status %s, the proxy was asked for %s: %s" % (address, status, asked, said[:300]))
    server.shutdown()
    hub.close()
    return wrong


own_cases = [through_a_proxy, cut_midway, shard_missing, shards_elsewhere, few_requests, silent_server, shards_silent, published_and_broken,
             queries_tell_files_apart, folders_are_copied, image_models]


def has_public_addresses():
    """Returns whether this network namespace is private, so that documentation addresses can be assigned to this
    machine."""
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
    own = [case for case in own_cases if not wanted or case.__name__ in wanted]
    with tempfile.TemporaryDirectory() as root, concurrent.futures.ThreadPoolExecutor(8) as pool:
        served = models.hub(root, data)
        for case in own:
            wrong = case(root)
            looked_at += 1
            failed += bool(wrong)
            print("FAILED %s: %s" % (case.__name__, "; ".join(wrong)) if wrong else "ok " + case.__name__)
        without = os.environ.get("HUB_CASES_WITHOUT", "").split(":")
        jobs = [(case, pool.submit(run_case, case, root, served)) for case in cases
                if (public or "203.0.113" not in json.dumps(case)) and case["name"] not in without]
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
