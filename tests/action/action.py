"""Runs the steps of the composite action like a runner: puts inputs and outputs into each step's environment and passes
its `run` to bash. Also runs the pre-commit hooks: each entry with its arguments and the files whose names match.
usage: action.py BIN_DIR PROJECT"""

import json
import os
import re
import subprocess
import sys
import tempfile

import yaml

BIN, PROJECT = os.path.abspath(sys.argv[1]), sys.argv[2]
ACTION = os.path.join(PROJECT, "packaging", "action")
failed = 0


def check(what, good, detail=""):
    global failed
    if not good:
        failed += 1
        print(f"{what}: {detail}")


def run_action(work, on_path=True, **inputs):
    """Runs the whole action. Returns (status, standard output, outputs, summary)."""
    action = yaml.safe_load(open(os.path.join(ACTION, "action.yml")))
    values = {name: inputs.get(name, each.get("default", "")) for name, each in action["inputs"].items()}
    steps, summary = {}, os.path.join(work, "summary")
    open(summary, "w").close()
    status, text = 0, ""

    def filled(template):
        def value(match):
            path = match[1].split(".")
            return values[path[1]] if path[0] == "inputs" else steps[path[1]][path[3]]
        return re.sub(r"\$\{\{ *([a-z.]+) *\}\}", value, template)

    for step in action["runs"]["steps"]:
        output = os.path.join(work, "output")
        open(output, "w").close()
        path = (BIN + ":" if on_path else "") + os.environ["PATH"]
        environment = dict(os.environ, PATH=path, GITHUB_OUTPUT=output, GITHUB_STEP_SUMMARY=summary, GITHUB_ACTION_PATH=ACTION)
        environment.update({name: filled(str(value)) for name, value in step.get("env", {}).items()})
        script = os.path.join(work, "step.sh")
        with open(script, "w") as out:
            out.write(filled(step["run"]))
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], cwd=work, env=environment,
                              capture_output=True, text=True)
        steps[step["id"]] = dict(line.split("=", 1) for line in open(output).read().splitlines())
        text += done.stdout
        if done.returncode != 0:
            status = done.returncode
            break
    verdict = steps.get("check", {}).get("verdict")
    return status, text, verdict, open(summary).read()


def the_action(work):
    subprocess.run([os.path.join(BIN, "mlx2gguf"), "-q", os.path.join(PROJECT, "tests/data/demo-model"), "-o",
                    os.path.join(work, "good.gguf")], check=True)
    cut = os.path.join(work, "cut, off.gguf")
    content = open(os.path.join(work, "good.gguf"), "rb").read()
    with open(cut, "wb") as out:
        out.write(content[:-100])
    status, text, verdict, summary = run_action(work, paths="good.gguf", arguments="--data\n--strict\n", sarif="out.sarif")
    check("a good model", (status, verdict) == (0, "ok"), (status, verdict, text))
    check("its summary", "good.gguf" in summary, summary)
    check("its SARIF", json.load(open(os.path.join(work, "out.sarif")))["version"] == "2.1.0", "")
    status, text, verdict, summary = run_action(work, paths="good.gguf\ncut, off.gguf\n")
    check("a bad model", (status, verdict) == (1, "bad"), (status, verdict, text))
    check("its annotation", "::error file=cut%2C off.gguf," in text, text)
    check("its summary", "cut, off.gguf" in summary, summary)
    status, text, verdict, _ = run_action(work, on_path=False, paths=".", verify=os.path.join(BIN, "verify"))
    check("a verify that is named", (status, verdict) == (1, "bad"), (status, verdict, text))
    status, text, verdict, _ = run_action(work, paths=".", verify="/bin/true")
    check("a verify that is another program", status == 1 and verdict is None and "::error::" in text, (status, text))


def the_hooks(work):
    names = sorted(os.listdir(work))
    for hook in yaml.safe_load(open(os.path.join(PROJECT, ".pre-commit-hooks.yaml"))):
        check(hook["id"], all(hook.get(member) for member in ("id", "name", "entry", "language", "files")), hook)
        matching = [name for name in names if re.search(hook["files"], name)]
        check(f"{hook['id']}: files", matching == ["cut, off.gguf", "good.gguf"], matching)
        for files, wanted in ((matching, 1), (["good.gguf"], 0)):
            done = subprocess.run([hook["entry"], *hook["args"], *files], cwd=work, capture_output=True, text=True,
                                  env=dict(os.environ, PATH=BIN + ":" + os.environ["PATH"]))
            check(f"{hook['id']} {files}", done.returncode == wanted, (done.returncode, done.stdout, done.stderr))


with tempfile.TemporaryDirectory() as folder:
    the_action(folder)
    the_hooks(folder)
print(f"{failed} failed" if failed else "all as expected")
sys.exit(1 if failed else 0)
