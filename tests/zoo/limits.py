"""See tests/zoo/limits."""
import json, pathlib, shutil, subprocess, sys, tempfile

bin_dir, zoo, *wanted = sys.argv[1:]


def changed(config, members):
    """Names are paths ("rope_parameters/rope_type") in the text model; null takes a member away."""
    text = config.get("text_config", config)
    for path, value in members.items():
        *parents, name = path.split("/")
        inner = text
        for parent in parents:
            if not isinstance(inner.get(parent), dict):
                inner[parent] = {}
            inner = inner[parent]
        if value is None:
            inner.pop(name, None)
        else:
            inner[name] = value
    return config


def answer(case, members, work):
    model = pathlib.Path(work) / "model"
    shutil.rmtree(model, ignore_errors=True)
    shutil.copytree(pathlib.Path(zoo) / case / "model", model, copy_function=shutil.copyfile)
    config = model / "config.json"
    config.write_text(json.dumps(changed(json.loads(config.read_text()), members)))
    done = subprocess.run([bin_dir + "/mlx2gguf", "--dry-run", str(model), "-o", str(model) + ".gguf"],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr.replace(str(model), "MODEL")


rows = failed = 0
with tempfile.TemporaryDirectory() as work:
    for number, line in enumerate(open(pathlib.Path(__file__).parent / "limits.list"), 1):
        if not line.startswith("["):
            continue
        case, members, verdict, field = json.loads(line)
        if wanted and case not in wanted or not (pathlib.Path(zoo) / case).is_dir():
            continue
        rows += 1
        status, said = answer(case, members, work)
        message = ("MODEL/config.json: %s: " if verdict == "refuses" else "warning: MODEL: %s: ") % field
        right = status == (3 if verdict == "refuses" else 0) and message in said
        if not right:
            failed += 1
            print("limits.list:%d: %s with %s: exit status %d instead of '%s %s'\n    %s" % (
                number, case, json.dumps(members), status, verdict, field, said.strip().replace("\n", "\n    ")))
print("%d rows, %d wrong" % (rows, failed))
sys.exit(1 if failed or not rows else 0)
