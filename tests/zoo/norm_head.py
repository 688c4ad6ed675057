"""See tests/zoo/norm_head."""
import json, pathlib, subprocess, sys, tempfile
import numpy as np
import hf_forms

bin_dir, zoo = sys.argv[1:]
CASES = ("bailing_moe_bf16", "bailing_moe_v2_bf16")


def bf16(values):
    """Rounds to BF16, to nearest with ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def head_of(gguf):
    dumped = subprocess.run([bin_dir + "/gguf-dump", "--json", str(gguf)], capture_output=True, check=True)
    head = json.loads(dumped.stdout)["tensors"]["output.weight"]
    assert head["type"] == "BF16", head
    data = gguf.read_bytes()[head["data_offset"]:][:head["bytes"]]
    return np.frombuffer(data, np.uint16).reshape(head["shape"][::-1])


wrong = 0
for case in CASES:
    with tempfile.TemporaryDirectory() as work:
        model, gguf = pathlib.Path(work) / "model", pathlib.Path(work) / "out.gguf"
        hf_forms.main(str(pathlib.Path(zoo) / case), str(model))
        config = json.loads((model / "config.json").read_text())
        config["norm_head"] = True
        (model / "config.json").write_text(json.dumps(config))
        head = hf_forms.f32(hf_forms.load(model / "model.safetensors")["lm_head.weight"])
        lengths = np.sqrt((head.astype(np.float64) ** 2).sum(axis=0)).astype(np.float32) + np.float32(1e-7)
        wanted = bf16(head / lengths)
        made = subprocess.run([bin_dir + "/mlx2gguf", "--report", "json", str(model), "-o", str(gguf)], capture_output=True,
                              text=True)
        report = {one["name"]: one for one in json.loads(made.stdout)["tensors"]} if made.returncode == 0 else {}
        checked = subprocess.run([bin_dir + "/verify", "-q", "--data", "--against", str(model), str(gguf)])
        got = head_of(gguf)
        differ = int((got != wanted).sum())
        right = differ == 0 and report["output.weight"]["exact"] is None and checked.returncode == 0
        print("%s: %d of %d elements differ, exact: %s, verify: %d" % (
            case, differ, wanted.size, report["output.weight"]["exact"], checked.returncode))
        wrong += not right
sys.exit(bool(wrong))
