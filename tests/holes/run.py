#!/usr/bin/env python3
"""Runs the steps of cases.json and compares exit status, output, time and memory with what each step allows.

A step is [command, exit statuses, pattern that must match, pattern that must not, seconds, MiB]. Commands run inside
the case's folder; {t} is a scratch folder for the case and {z} the folder of reference models. Standard output and
messages are read together.
usage: run.py BIN_DIR HOLES [CASE…]"""
import json, os, pathlib, re, resource, shlex, subprocess, sys, tempfile

DEFAULT_SECONDS = 60


def run(words, folder, environment, seconds, mebibytes):
    """Returns (exit status, output); the status is None after `seconds`. Limits the address space if `mebibytes` is given.

    Sanitizers reserve more address space than any limit allows, so they run without one.
    """
    def limit():
        if mebibytes and not os.environ.get("MODELUTILS_SANITIZED"):
            size = (mebibytes + 200) << 20  # programs map libraries and stacks of threads, too
            resource.setrlimit(resource.RLIMIT_AS, (size, size))
    try:
        done = subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds, preexec_fn=limit)
    except subprocess.TimeoutExpired as error:
        return None, (error.stdout or b"").decode(errors="replace")
    return done.returncode, done.stdout.decode(errors="replace")


def failures(step, folder, scratch, zoo, environment):
    command, statuses, must, must_not, seconds, mebibytes = (step + [None] * 6)[:6]
    words = [w.replace("{t}", scratch).replace("{z}", zoo) for w in shlex.split(command)]
    status, output = run(words, folder, environment, seconds or DEFAULT_SECONDS, mebibytes)
    if status is None:
        yield f"still running after {seconds or DEFAULT_SECONDS} s"
        return
    if status not in statuses:
        yield f"exit status {status}, expected {statuses}"
    if must and not re.search(must, output):
        yield f"output does not match {must!r}"
    if must_not and re.search(must_not, output):
        yield f"output matches {must_not!r}"
    if any(failed for failed in (status not in statuses, must and not re.search(must, output),
                                 must_not and re.search(must_not, output))):
        yield "output: " + output[:1500]


def main():
    bin_dir, holes = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    cases = json.loads((holes / "cases.json").read_text())
    chosen = sys.argv[3:] or sorted(cases)
    environment = dict(os.environ, PATH=f"{bin_dir}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    failed = 0
    for name in chosen:
        with tempfile.TemporaryDirectory() as scratch:
            told = [f"  {step[0]}\n    {line}" for step in cases[name]["steps"]
                    for line in failures(step, holes / name, scratch, str(holes.parent / "zoo"), environment)]
        if told:
            failed += 1
            print(f"FAILED {name}: {cases[name]['right']}", *told, sep="\n")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
