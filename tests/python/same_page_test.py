#!/usr/bin/env python3
"""Checks that Model.html() equals the tools' page except for the producer's name. usage: same_page_test.py BIN_DIR
DATA_DIR"""

import os
import subprocess
import sys

import modelutils as mu

tools, data = sys.argv[1:]
for path, tool in (("gguf/small.gguf", "gguf-dump"), ("demo-model", "st-dump")):
    path = os.path.join(data, path)
    arguments = [os.path.join(tools, tool), "--html", "-", "--stats", "--fit", "--gpu", "24G", path]
    written = subprocess.run(arguments, stdout=subprocess.PIPE, check=True).stdout.decode()
    made = mu.open(path).html(vocabulary=True, statistics=True, memory={"gpu": "24G"})
    assert made.replace('"program":"libmodelutils"', f'"program":"{tool}"', 1) == written, path
print("the same pages")
