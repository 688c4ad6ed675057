#!/usr/bin/env python3
"""Runs the examples of a page of the documentation. usage: page_test.py PAGE"""

import doctest
import re
import sys

try:
    import numpy  # noqa: F401
except ImportError:
    print("skipped: python3-numpy is not installed (scripts/install-dependencies --tests)")
    sys.exit(77)

import modelutils

with open(sys.argv[1], encoding="utf-8") as file:
    page = file.read()
blocks = "\n".join(re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
missing = [name for name in ("open", "verify", "diff", "fit", "render", "tokenize", "detokenize") if f"mu.{name}(" not in blocks]
assert not missing, f"without an example: {missing}"
assert set(modelutils.__all__) >= {"open", "verify", "diff", "fit", "render", "tokenize", "detokenize"}
test = doctest.DocTestParser().get_doctest(blocks, {}, sys.argv[1], sys.argv[1], 0)
runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
runner.run(test)
print(f"{runner.tries} examples, {runner.failures} failed")
sys.exit(runner.failures != 0 or runner.tries < 20)
