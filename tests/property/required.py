"""Makes variants of GGUF models (tests/support/gguf_variants.py) and compares verify's findings for each with the
behaviour of llama.cpp.
usage: required.py BIN_DIR LOADER MODEL.gguf...   (LOADER: the command that scripts/check-required builds)
Prints a line for each difference: verify accepts a file that llama.cpp refuses or that crashes it, or reports an error
for a file that runs. An error for a file that loads, but computes something else than the original model, is not a
difference."""
import collections, json, os, re, subprocess, sys, tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from gguf_edit import Gguf
from gguf_variants import variants

CLAIMS = "llama.cpp (requires|refuses|aborts|ends|crashes)|so it refuses"


def answers(loader, paths):
    """Returns (outcome, log-probabilities) for many files from one process, which is restarted after a file that ends
    it."""
    result, rest = {}, [str(path) for path in paths]
    while rest:
        # Without this, llama.cpp starts a debugger for every file that aborts it.
        environment = {**os.environ, "GGML_NO_BACKTRACE": "1"}
        run = subprocess.run([*loader, *rest], capture_output=True, text=True, timeout=900, env=environment)
        for line in run.stdout.splitlines():
            word, path, *values = line.split(" ")
            if word in ("refused", "loads", "runs", "fails"):
                result[path] = (word, [float(value) for value in values[0].split(",")] if values else [])
        done = [i for i, path in enumerate(rest) if path in result]
        last = done[-1] if done else -1
        if run.returncode == 0 and last + 1 < len(rest):
            sys.exit(f"the loader ended early: {run.stderr.strip()}")
        if run.returncode != 0 and (last < 0 or result[rest[last]][0] != "loads"):
            last += 1  # the process ended while loading this one
            result[rest[last]] = ("ends the process", [])
        rest = rest[last + 1:]
    return {path: ("ends the process", []) if answer[0] == "loads" else answer for path, answer in result.items()}


def is_same(left, right):
    return len(left) == len(right) and all(abs(a - b) < 0.02 for a, b in zip(left, right))


def judge(answer, whole, findings, keeps_values):
    """Returns what is wrong with verify's findings; "" if they are correct."""
    outcome, values = answer
    errors = [finding["message"] for finding in findings if finding["severity"] == "error"]
    if outcome != "runs":
        return "" if errors else f"llama.cpp {outcome}; verify says nothing"
    same = is_same(values, whole)
    if not errors:
        return "llama.cpp computes something else" if keeps_values and not same else ""
    claims = [message for message in errors if re.search(CLAIMS, message)]
    if claims or same:
        return f"llama.cpp runs it{' as before' if same else ''}; verify says: {(claims or errors)[0]}"
    return ""


def main():
    binaries, loader, models = Path(sys.argv[1]), sys.argv[2].split(), [Path(path) for path in sys.argv[3:]]
    tried, outcomes, differences = 0, collections.Counter(), 0
    for path in models:
        model = Gguf(path)
        cases = [("the model", model, True), *variants(model)]
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{i}.gguf" for i in range(len(cases))]
            for case_path, case in zip(paths, cases):
                case[1].write(case_path)
            found = answers(loader, paths)
            whole = found[str(paths[0])]
            if whole[0] != "runs":
                print(f"{path.name}: llama.cpp does not run it ({whole[0]})")
                differences += 1
                continue
            for case_path, (label, _, keeps_values) in zip(paths, cases):
                run = subprocess.run([binaries / "verify", "--json", case_path], capture_output=True, text=True)
                answer = found[str(case_path)]
                findings = json.loads(run.stdout)["findings"]
                wrong = judge(answer, whole[1], findings, keeps_values)
                tried += 1
                has_errors = any(finding["severity"] == "error" for finding in findings)
                outcomes[answer[0], "errors" if has_errors else "ok"] += 1
                if wrong:
                    differences += 1
                    print(f"{path.name}: {label}: {wrong}", flush=True)
    for (outcome, verdict), count in sorted(outcomes.items()):
        print(f"{count} files: llama.cpp {outcome}, verify {verdict}")
    print(f"{tried} files of {len(models)} models, {differences} differences")
    sys.exit(differences > 0 or tried == 0)


main()
