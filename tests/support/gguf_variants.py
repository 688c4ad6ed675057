"""Variants of a GGUF model for tests/property/required.py: parts omitted, fused, split or retyped. variants(model)
yields (label, variant, is_same); is_same: a program that loads the variant computes the same as with the model."""
import copy, re, struct

from gguf_edit import Gguf, size_of

F32, F16, Q8_0, NVFP4 = 0, 1, 8, 40
U32, F32_KEY, BOOL, STRING, ARRAY, U64 = 4, 6, 7, 8, 9, 10


def changed(model, tensors=None, keys=None):
    other = copy.copy(model)
    other.tensors = [list(tensor) for tensor in (model.tensors if tensors is None else tensors)]
    other.keys = [list(key) for key in (model.keys if keys is None else keys)]
    return other


def without(model, *names):
    return changed(model, [t for t in model.tensors if t[0] not in names], [k for k in model.keys if k[0] not in names])


def number(model, suffix):
    """Returns the value of "<architecture>.<suffix>", or None if it is not a single integer."""
    for name, kind, value in model.keys:
        if name.split(".", 1)[-1] == suffix and not name.startswith(("general.", "tokenizer.")) and kind in (U32, U64):
            return int.from_bytes(value, "little")
    return None


def architecture(model):
    return model.key("general.architecture")[2][8:].decode()


def by_layer(model, part):
    """Returns {"blk.N": tensor} for the tensors "blk.N.PART"."""
    found = (re.fullmatch(r"(blk\.\d+)\." + re.escape(part), tensor[0]) for tensor in model.tensors)
    return {match[1]: model.tensor(match[0]) for match in found if match}


def matrices(tensor):
    """Returns the bytes of each row of each matrix: matrices(t)[expert][row]."""
    name, ne, kind, data = tensor
    size = size_of(kind, ne[:1])
    rows = [data[i:i + size] for i in range(0, len(data), size)]
    count = ne[1]
    return [rows[i:i + count] for i in range(0, len(rows), count)]


def parts_left_out(model):
    """Omits each key and the first tensor of each kind; then whole kinds, and groups that belong together."""
    kinds = {}
    for name, *_ in model.tensors:
        kinds.setdefault(re.sub(r"^blk\.\d+\.", "blk.#.", name), []).append(name)
    for name, *_ in model.keys:
        if not name.startswith(("general.", "tokenizer.chat_template")):
            yield f"without {name}", without(model, name), False
    for names in kinds.values():
        yield f"without {names[0]}", without(model, names[0]), False
    for kind, names in kinds.items():
        if len(names) > 1:
            yield f"without {kind}", without(model, *names), False
    roles = {
        "a feed-forward part": lambda kind: ".ffn_" in kind and "norm" not in kind,
        "a feed-forward part in layer 0": lambda kind: False,
        "experts": lambda kind: "_exps." in kind,
        "shared experts": lambda kind: "_shexp." in kind,
        "attention": lambda kind: ".attn_" in kind and "norm" not in kind,
        "state-space parts": lambda kind: ".ssm_" in kind,
        "norms": lambda kind: "norm" in kind,
        "biases": lambda kind: kind.endswith(".bias"),
    }
    for role, belongs in roles.items():
        names = [name for kind, names in kinds.items() if belongs(kind) for name in names]
        if role.endswith("layer 0"):
            names = [t[0] for t in model.tensors if t[0].startswith("blk.0.ffn_") and "norm" not in t[0]]
        if names:
            yield f"without {role}", without(model, *names), False


def projections(model):
    """Fuses queries, keys and values into one tensor, also next to tensors that exclude it, and with biases in both
    forms."""
    rows = {name: ne[-1] for name, ne, *_ in model.tensors}
    kinds = {name: kind for name, _, kind, _ in model.tensors}

    def three(layer, side):
        names = [f"{layer}.attn_{part}.{side}" for part in "qkv"]
        return names if all(name in kinds for name in names) and len({kinds[name] for name in names}) == 1 else []

    layers = [name.removesuffix(".attn_q.weight") for name in kinds if name.endswith(".attn_q.weight")]
    layers = [layer for layer in layers if three(layer, "weight")]
    if not layers:
        return
    fused, biased = changed(model), changed(model)
    for layer in layers:
        for side in ("weight", "bias"):
            if three(layer, side):
                fused.join(three(layer, side), f"{layer}.attn_qkv.{side}")
    yield "with attn_qkv", fused, True
    yield "with attn_qkv and attn_q", changed(fused, fused.tensors + [model.tensor(f"{layers[0]}.attn_q.weight")]), False
    short = changed(fused)
    width, count = short.tensor(f"{layers[0]}.attn_qkv.weight")[1]
    short.reshape(f"{layers[0]}.attn_qkv.weight", [width, count - 1])
    yield "with an attn_qkv that lacks a row", short, False
    if any(three(layer, "bias") for layer in layers):
        return
    whole = changed(fused)
    for layer in layers:
        sizes = [rows[name] for name in three(layer, "weight")]
        biased.tensors += [[f"{layer}.attn_{part}.bias", [n], F32, bytes(4 * n)] for part, n in zip("qkv", sizes)]
        whole.tensors.append([f"{layer}.attn_qkv.bias", [sum(sizes)], F32, bytes(4 * sum(sizes))])
    yield "with attn_q.bias, attn_k.bias and attn_v.bias", biased, True
    yield "with attn_qkv and attn_qkv.bias", whole, True
    both = {tensor[0]: tensor for tensor in fused.tensors + [t for t in biased.tensors if t[0].endswith(".bias")]}
    yield "with attn_qkv, attn_q.bias, attn_k.bias and attn_v.bias", changed(fused, both.values()), True


def projections_apart(model):
    """Splits attn_qkv into three tensors."""
    heads, kv_heads = number(model, "attention.head_count"), number(model, "attention.head_count_kv")
    apart = changed(model, [])
    for tensor in model.tensors:
        name, ne, kind, data = tensor
        found = re.fullmatch(r"(blk\.\d+\.attn)_qkv\.(weight|bias)", name)
        total = (heads or 0) + 2 * (kv_heads or heads or 0)
        if not found or total == 0 or ne[-1] % total:
            apart.tensors.append(tensor)
            continue
        per_head, row = ne[-1] // total, len(data) // ne[-1]
        at = 0
        for part, count in zip("qkv", (heads, kv_heads or heads, kv_heads or heads)):
            rows = count * per_head
            apart.tensors.append([f"{found[1]}_{part}.{found[2]}", ne[:-1] + [rows], kind, data[at * row:(at + rows) * row]])
            at += rows
    if len(apart.tensors) != len(model.tensors):
        yield "with attn_q, attn_k and attn_v", apart, True


def stacked(gate, up, name):
    ne = [gate[1][0], gate[1][1] + up[1][1], *gate[1][2:]]
    rows = [row for pair in zip(matrices(gate), matrices(up)) for half in pair for row in half]
    return [name, ne, gate[2], b"".join(rows)]


def experts_fused(model):
    """Fuses the gate and up matrices of the experts, also next to tensors that exclude the fused one."""
    gates, ups = by_layer(model, "ffn_gate_exps.weight"), by_layer(model, "ffn_up_exps.weight")
    layers = [layer for layer in gates if layer in ups and gates[layer][2] == ups[layer][2]]
    if not layers:
        both = by_layer(model, "ffn_gate_up_exps.weight")
        if both:
            apart = changed(model, [])
            for tensor in model.tensors:
                if not tensor[0].endswith(".ffn_gate_up_exps.weight"):
                    apart.tensors.append(tensor)
                    continue
                half = tensor[1][1] // 2
                ne = [tensor[1][0], half, *tensor[1][2:]]
                for part, span in (("gate", slice(None, half)), ("up", slice(half, None))):
                    data = b"".join(row for expert in matrices(tensor) for row in expert[span])
                    apart.tensors.append([tensor[0].replace("gate_up", part), ne, tensor[2], data])
            yield "with ffn_gate_exps and ffn_up_exps", apart, True
        return
    old = [t[0] for layer in layers for t in (gates[layer], ups[layer])]
    fused = without(model, *old)
    fused.tensors += [stacked(gates[layer], ups[layer], f"{layer}.ffn_gate_up_exps.weight") for layer in layers]
    yield "with ffn_gate_up_exps", fused, True
    yield "with ffn_gate_up_exps and ffn_gate_exps", changed(fused, fused.tensors + [gates[layers[0]]]), False
    yield "with ffn_gate_up_exps and ffn_up_exps", changed(fused, fused.tensors + [ups[layers[0]]]), False
    one = without(model, gates[layers[0]][0], ups[layers[0]][0])
    one.tensors.append(fused.tensor(f"{layers[0]}.ffn_gate_up_exps.weight"))
    if len(layers) > 1:
        yield "with ffn_gate_up_exps in one layer", one, True
    short = changed(fused)
    ne = short.tensor(f"{layers[0]}.ffn_gate_up_exps.weight")[1]
    short.reshape(f"{layers[0]}.ffn_gate_up_exps.weight", [ne[0], ne[1] - 1, *ne[2:]])
    yield "with an ffn_gate_up_exps that lacks a row", short, False
    scaled = changed(fused)
    for layer in layers:
        scaled.tensors.append([f"{layer}.ffn_gate_up_exps.scale", [ne[2]], F32, struct.pack("<f", 1) * ne[2]])
    yield "with ffn_gate_up_exps and its scale", scaled, True


def feed_forward_fused(model):
    """Fuses the dense gate and up matrices, as in phi3 and glm4, and splits fused ones."""
    gates, ups = by_layer(model, "ffn_gate.weight"), by_layer(model, "ffn_up.weight")
    layers = [layer for layer in gates if layer in ups and gates[layer][2] == ups[layer][2]]
    width = number(model, "feed_forward_length")
    if layers:
        fused = without(model, *(t[0] for layer in layers for t in (gates[layer], ups[layer])))
        fused.tensors += [stacked(gates[layer], ups[layer], f"{layer}.ffn_up.weight") for layer in layers]
        yield "with gate and up in ffn_up", fused, True
    elif not gates and ups and width and all(t[1][1] == 2 * width for t in ups.values()):
        apart = without(model, *(t[0] for t in ups.values()))
        for layer, tensor in ups.items():
            rows = matrices(tensor)[0]
            for part, half in (("gate", rows[:width]), ("up", rows[width:])):
                apart.tensors.append([f"{layer}.ffn_{part}.weight", [tensor[1][0], width], tensor[2], b"".join(half)])
        yield "with ffn_gate and ffn_up", apart, True


def older_delta_net(model):
    """Reorders ssm_in as in Qwen3-Next files from 2025, which have the queries, keys, values and gates of each group
    together."""
    state, groups, heads = (number(model, f"ssm.{key}") for key in ("state_size", "group_count", "time_step_rank"))
    joined, gates = by_layer(model, "attn_qkv.weight"), by_layer(model, "attn_gate.weight")
    layers = [layer for layer in gates if layer in joined]
    if architecture(model) != "qwen3next" or not layers:
        return
    older = without(model, *(t[0] for layer in layers for t in (joined[layer], gates[layer])))
    per = heads // groups * state
    for layer in layers:
        rows, gate = matrices(joined[layer])[0], matrices(gates[layer])[0]
        all_rows = []
        for group in range(groups):
            for start, count in ((0, state), (groups * state, state), (2 * groups * state, per)):
                all_rows += rows[start + group * count:start + (group + 1) * count]
            all_rows += gate[group * per:(group + 1) * per]
        older.tensors.append([f"{layer}.ssm_in.weight", [joined[layer][1][0], len(all_rows)], joined[layer][2], b"".join(all_rows)])
    yield "with ssm_in", older, True
    yield "with ssm_in and attn_gate", changed(older, older.tensors + [gates[layers[0]]]), False
    yield "with ssm_in and attn_qkv", changed(older, older.tensors + [joined[layers[0]]]), False


def heads(model):
    """With and without a separate output head, with heads of other types, and with the factor that only NVFP4 heads
    have."""
    embedding = model.tensor("token_embd.weight")
    own = next((t for t in model.tensors if t[0] == "output.weight"), None)
    head = own or ["output.weight", *embedding[1:]]
    rest = [t for t in model.tensors if t[0] != "output.weight"]
    if own is None:
        yield "with a head of its own", changed(model, rest + [head]), True
    scale = ["output.scale", [1], F32, struct.pack("<f", 2)]
    yield "with output.scale", changed(model, rest + [head, scale]), False
    yield "with output.input_scale", changed(model, rest + [head, ["output.input_scale", *scale[1:]]]), False
    for kind, name in ((F32, "F32"), (F16, "F16"), (Q8_0, "Q8_0"), (NVFP4, "NVFP4")):
        if head[1][0] % {F32: 1, F16: 1, Q8_0: 32, NVFP4: 64}[kind]:
            continue
        typed = ["output.weight", head[1], kind, bytes(size_of(kind, head[1]))]
        yield f"with a head of type {name}", changed(model, rest + [typed]), False
        if kind == NVFP4:
            yield "with a head of type NVFP4 and output.scale", changed(model, rest + [typed, scale]), False
            two = ["output.scale", [2], F32, struct.pack("<ff", 2, 2)]
            yield "with a head of type NVFP4 and two factors", changed(model, rest + [typed, two]), False
    if own is None:
        yield "with output.scale and no head", changed(model, rest + [scale]), False


def companions(model):
    """Adds a factor for the first matrix of each kind, and an unknown tensor."""
    seen = set()
    for name, ne, *_ in model.tensors:
        kind = re.sub(r"\d+", "#", name)
        if kind in seen or not name.endswith(".weight") or name == "output.weight":
            continue
        seen.add(kind)
        count = ne[2] if len(ne) > 2 else 1
        scale = [name.removesuffix("weight") + "scale", [count], F32, struct.pack("<f", 1) * count]
        if len(ne) > 1:
            yield f"with {scale[0]}", changed(model, model.tensors + [scale]), False
    yield "with an unknown tensor", changed(model, model.tensors + [["blk.0.modelutils.weight", [32], F32, bytes(128)]]), False


def longer(model, extra):
    """Returns the keys of a model with `extra` more blocks: arrays with a number per layer repeat the last one."""
    layers = number(model, "block_count")
    keys = []
    for name, kind, value in model.keys:
        if name.endswith(".block_count"):
            value = struct.pack("<I", layers + extra)
        if kind == ARRAY and not name.startswith("tokenizer."):
            inner, count = struct.unpack_from("<IQ", value)
            size = (len(value) - 12) // count if count else 0
            if count == layers and inner != STRING:
                value = struct.pack("<IQ", inner, count + extra) + value[12:] + value[-size:] * extra
        keys.append([name, kind, value])
    return keys


def predictions(model):
    """Counts a block for multi-token prediction that is missing."""
    name = architecture(model) + ".nextn_predict_layers"
    if number(model, "nextn_predict_layers") is not None or number(model, "block_count") is None:
        return
    one = [name, U32, struct.pack("<I", 1)]
    yield "with a counted block that predicts", changed(model, keys=longer(model, 1) + [one]), False
    yield "with one more layer counted", changed(model, keys=longer(model, 1)), False
    yield "with its last layer counted as a block that predicts", changed(model, keys=model.keys + [one]), False


def windows(model):
    """With a window but no sliding layers, with only sliding layers, and without a window."""
    window, pattern = (f"{architecture(model)}.attention.sliding_window{end}" for end in ("", "_pattern"))
    stated = next((key for key in model.keys if key[0] == window), None)
    keys = [key for key in model.keys if key[0] not in (window, pattern)]
    layers = number(model, "block_count") or 0

    def flags(value):
        return [pattern, ARRAY, struct.pack("<IQ", BOOL, layers) + bytes([value]) * layers]

    width = [window, U32, struct.pack("<I", 8)]
    yield "with a window", changed(model, keys=keys + [width]), False
    if stated is None:
        return
    yield "with a window of 0", changed(model, keys=keys + [[window, U32, bytes(4)], *(k for k in model.keys if k[0] == pattern)]), False
    yield "with a window and no layer that slides", changed(model, keys=keys + [stated, flags(0)]), False
    yield "with a window and layers that all slide", changed(model, keys=keys + [stated, flags(1)]), False
    for period in (0, 1, 2):
        yield f"with a window and a period of {period}", changed(
            model, keys=keys + [stated, [pattern, U32, struct.pack("<I", period)]]), False


def variants(model):
    for make in (parts_left_out, projections, projections_apart, experts_fused, feed_forward_fused, older_delta_net, heads,
                 companions, predictions, windows):
        yield from make(model)
