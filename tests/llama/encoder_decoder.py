"""Runs T5 with its decoder in llama.cpp, which node-llama-cpp cannot, through the C API of the client's library, and
compares the logits with those computed here from the published model's semantics. Of a tied model, llama.cpp's are the
class's times the square root of the width.
usage: encoder_decoder.py BIN_DIR CLIENT_DIR MODEL_DIR, or for one file: encoder_decoder.py --run CLIENT_DIR MODEL.gguf ID,ID,... ID,ID,..."""
import ctypes, glob, json, math, os, shutil, struct, subprocess, sys, tempfile
import numpy


class Opaque(ctypes.Structure):
    """Parameters by value. Larger than the library's: it reads and writes only its own part."""
    _fields_ = [("bytes", ctypes.c_char * 1024)]


class Batch(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int32)] + [(name, ctypes.c_void_p) for name in ("token", "embd", "pos", "n_seq_id", "seq_id", "logits")]


def run(client, path, encoded, decoded):
    """Prints the logits behind each decoded token."""
    folder, = glob.glob(f"{client}/node_modules/@node-llama-cpp/*/bins/*/")
    ggml = ctypes.CDLL(glob.glob(folder + "libggml.v*.so")[0], mode=ctypes.RTLD_GLOBAL)
    ggml.ggml_backend_load_all_from_path(folder.encode())
    llama = ctypes.CDLL(glob.glob(folder + "libllama.v*.so")[0])
    llama.llama_model_default_params.restype = llama.llama_context_default_params.restype = Opaque
    llama.llama_model_load_from_file.restype = llama.llama_init_from_model.restype = ctypes.c_void_p
    llama.llama_model_load_from_file.argtypes = [ctypes.c_char_p, Opaque]
    llama.llama_init_from_model.argtypes = [ctypes.c_void_p, Opaque]
    llama.llama_model_get_vocab.restype, llama.llama_model_get_vocab.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    llama.llama_vocab_n_tokens.argtypes = [ctypes.c_void_p]
    llama.llama_batch_get_one.restype = Batch
    llama.llama_encode.argtypes = llama.llama_decode.argtypes = [ctypes.c_void_p, Batch]
    llama.llama_get_logits_ith.restype = ctypes.POINTER(ctypes.c_float)
    llama.llama_get_logits_ith.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    llama.llama_backend_init()
    model = llama.llama_model_load_from_file(path.encode(), llama.llama_model_default_params())
    context = model and llama.llama_init_from_model(model, llama.llama_context_default_params())
    if not context: sys.exit("the file does not load")
    llama.llama_set_n_threads(ctypes.c_void_p(context), 1, 1)
    count = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
    kept = []  # a batch points to its tokens

    def batch(ids):
        kept.append((ctypes.c_int32 * len(ids))(*ids))
        return llama.llama_batch_get_one(kept[-1], len(ids))

    if llama.llama_encode(context, batch(encoded)): sys.exit("llama_encode fails")
    for token in decoded:
        if llama.llama_decode(context, batch([token])): sys.exit("llama_decode fails")
        print("logits", *llama.llama_get_logits_ith(context, -1)[:count])


def read_directory(folder):
    data = open(f"{folder}/model.safetensors", "rb").read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: numpy.frombuffer(data, "<f4", offset=8 + size + one["data_offsets"][0],
                                   count=math.prod(one["shape"])).reshape(one["shape"]).astype(float)
            for name, one in header.items()}


def write_head(folder, head):
    """Gives the model an output head of its own."""
    path = f"{folder}/model.safetensors"
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    header, end = json.loads(data[8:8 + size]), len(data) - 8 - size
    header["lm_head.weight"] = {"dtype": "F32", "shape": list(head.shape), "data_offsets": [end, end + 4 * head.size]}
    text = json.dumps(header).encode()
    os.chmod(path, 0o644)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:] + head.astype("<f4").tobytes())
    config = {**json.load(open(f"{folder}/config.json")), "tie_word_embeddings": False}
    os.chmod(f"{folder}/config.json", 0o644)
    json.dump(config, open(f"{folder}/config.json", "w"))


def bucket(distance, both_ways, count=32, most=128):
    """The row of the table of positions for a key `distance` behind the query; negative in front of it."""
    first = 0
    if both_ways:
        count //= 2
        first = count if distance < 0 else 0
        distance = abs(distance)
    distance = max(distance, 0)
    exact = count // 2
    if distance < exact: return first + distance
    return first + min(count - 1, exact + int(math.log(distance / exact) / math.log(most / exact) * (count - exact)))


class T5:
    def __init__(self, folder):
        self.weights, self.config = read_directory(folder), json.load(open(f"{folder}/config.json"))
        self.heads = self.config["num_heads"]

    def norm(self, x, name):
        mean = (x * x).mean(-1, keepdims=True)
        return x / numpy.sqrt(mean + self.config["layer_norm_epsilon"]) * self.weights[name + ".weight"]

    def attention(self, x, of, name, bias):
        split = lambda part, values: (values @ self.weights[f"{name}.{part}.weight"].T).reshape(len(values), self.heads, -1).transpose(1, 0, 2)
        q, k, v = split("q", x), split("k", of), split("v", of)
        scores = q @ k.transpose(0, 2, 1) + bias  # not divided by the root of the head's size
        scores = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ v
        return mixed.transpose(1, 0, 2).reshape(len(x), -1) @ self.weights[f"{name}.o.weight"].T

    def stack(self, name, ids, layers, memory=None):
        x, both_ways = self.weights["shared.weight"][ids], memory is None
        table = self.weights[f"{name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
        rows = [[bucket(i - j, both_ways) for j in range(len(ids))] for i in range(len(ids))]
        bias = table[rows].transpose(2, 0, 1)
        if not both_ways: bias = bias + numpy.triu(numpy.full((len(ids), len(ids)), -numpy.inf), 1)
        for i in range(layers):
            block = f"{name}.block.{i}.layer."
            x = x + (lambda y: self.attention(y, y, block + "0.SelfAttention", bias))(self.norm(x, block + "0.layer_norm"))
            if not both_ways: x = x + self.attention(self.norm(x, block + "1.layer_norm"), memory, block + "1.EncDecAttention", 0)
            last = f"{block}{1 if both_ways else 2}."
            up = self.norm(x, last + "layer_norm") @ self.weights[last + "DenseReluDense.wi.weight"].T
            x = x + numpy.maximum(up, 0) @ self.weights[last + "DenseReluDense.wo.weight"].T
        return self.norm(x, f"{name}.final_layer_norm")

    def logits(self, encoded, decoded):
        memory = self.stack("encoder", encoded, self.config["num_layers"])
        x = self.stack("decoder", decoded, self.config["num_decoder_layers"], memory)
        if "lm_head.weight" in self.weights: return x @ self.weights["lm_head.weight"].T
        return x / math.sqrt(self.config["d_model"]) @ self.weights["shared.weight"].T


def compare(bin_dir, client, folder, inputs, factor, work):
    """Returns the greatest difference by the greatest value."""
    path, worst = f"{work}/out.gguf", 0
    done = subprocess.run([f"{bin_dir}/mlx2gguf", "-q", "--force", "--fallback", "f32", folder, "-o", path], capture_output=True, text=True)
    if done.returncode != 0: raise RuntimeError(done.stderr.strip())
    for encoded in inputs:
        decoded = [0] + encoded[:4]
        command = [sys.executable, __file__, "--run", client, path] + [",".join(map(str, ids)) for ids in (encoded, decoded)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0: raise RuntimeError(done.stderr.strip()[-300:])
        found = numpy.array([line.split()[1:] for line in done.stdout.splitlines() if line.startswith("logits ")], float)
        wanted = T5(folder).logits(encoded, decoded) * factor
        worst = max(worst, float(abs(found - wanted).max() / abs(wanted).max()))
    return worst


def check(bin_dir, client, folder, inputs):
    """Returns what is wrong, and the greatest difference."""
    width = json.load(open(f"{folder}/config.json"))["d_model"]
    with tempfile.TemporaryDirectory() as work:
        tied = compare(bin_dir, client, folder, inputs, math.sqrt(width), work)
        shutil.copytree(folder, f"{work}/untied")
        shape = read_directory(folder)["shared.weight"].shape
        write_head(f"{work}/untied", numpy.random.default_rng(1).normal(size=shape))
        untied = compare(bin_dir, client, f"{work}/untied", inputs, 1, work)
    worst = max(tied, untied)
    # Keys and values are F16 by default, and only the parameters' layout would tell where to change that.
    return None if worst < 2e-3 else f"differs by {tied:.2g}, with an output head of its own by {untied:.2g}", worst


if __name__ == "__main__" and sys.argv[1] == "--run":
    run(sys.argv[2], sys.argv[3], *([int(one) for one in ids.split(",")] for ids in sys.argv[4:6]))
