"""Checks that a report of ten thousand models is written while they are checked. Memory must not grow with their
number, except in forms that begin with totals.
usage: stream.py VERIFY DATA_DIR [COUNT]"""

import os
import subprocess
import sys
import tempfile

verify, data = os.path.abspath(sys.argv[1]), sys.argv[2]
count = int(sys.argv[3]) if len(sys.argv) > 3 else 10000
MOST = 64 << 20
STREAMED = ["text", "json", "sarif", "github"]
WITH_TOTALS = ["junit", "markdown"]  # buffered until the end: a few hundred bytes per model
NAMES_ALL = ["text", "json", "junit"]  # the other forms are truncated at their readers' limits

with open(os.path.join(data, "bump/tiny.gguf"), "rb") as file:
    model = file.read()  # has findings
failed = False
with tempfile.TemporaryDirectory() as work:
    for number in range(count):
        folder = f"{work}/models/{number // 1000}"
        if number % 1000 == 0:
            os.makedirs(folder)
        with open(f"{folder}/{number % 1000}.gguf", "wb") as file:
            file.write(model)
    for form in STREAMED + WITH_TOTALS:
        with open(f"{work}/out", "wb") as out:
            process = subprocess.Popen([verify, "--format", form, f"{work}/models"], stdout=out, stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # status 1: the models lack a tokenizer
        peak, size = used.ru_maxrss << 10, os.path.getsize(f"{work}/out")
        print(f"{form}: {count} models, {size >> 10} KiB written, {peak / (1 << 20):.1f} MiB at most", flush=True)
        with open(f"{work}/out", encoding="utf-8") as out:
            named = sum(line.count("0.gguf") > 0 for line in out)
        if process.returncode != 1 or (form in NAMES_ALL and named < count // 10):
            failed = True
            print(f"{form}: status {process.returncode}, {named} models ending in 0 are named")
        if form in STREAMED and peak > MOST:
            failed = True
            print(f"{form}: more than {MOST >> 20} MiB")
sys.exit(failed)
