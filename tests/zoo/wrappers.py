"""See tests/zoo/wrappers."""
import json, os, pathlib, shutil, struct, subprocess, sys, tempfile

bin_dir, zoo = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
environment = dict(os.environ, PATH=bin_dir + ":" + os.environ["PATH"])
listing = str(pathlib.Path(__file__).parent / "listing")
# Prefixes of a text model's tensors: as mlx-lm saves them, and as published since transformers v5.
as_saved = {"model.": "language_model.model.", "lm_head.": "language_model.lm_head."}
since_v5 = {"model.": "model.language_model."}
of_omni = {"language_model.model.": "thinker.model.", "language_model.lm_head.": "thinker.lm_head."}
idefics = {"model.": "model.text_model."}
idefics_of_mlx = {"model.": "language_model.", "lm_head.": "language_model.lm_head."}
# (class, model_type, reference model, names, members removed from text_config, vision tensors)
wrappers = [
    ("Mistral3ForConditionalGeneration", "mistral3", "mistral_4bit", as_saved, [],
     ["vision_tower.patch_conv.weight", "multi_modal_projector.patch_merger.merging_layer.weight"]),
    ("LlavaForConditionalGeneration", "pixtral", "mistral_4bit", as_saved, ["architectures", "num_attention_heads"],
     ["vision_tower.patch_conv.weight", "multi_modal_projector.linear_1.weight"]),
    ("KimiVLForConditionalGeneration", "kimi_vl", "deepseek_v3_4bit", as_saved, ["architectures"],
     ["vision_tower.patch_embed.proj.weight", "multi_modal_projector.linear_1.weight"]),
    ("KimiK25ForConditionalGeneration", "kimi_k25", "deepseek_v3_bf16", as_saved, [],
     ["vision_tower.patch_embed.proj.weight", "mm_projector.proj.0.weight"]),
    ("Lfm2VlForConditionalGeneration", "lfm2-vl", "lfm2_bf16", as_saved, ["architectures"],
     ["vision_tower.vision_model.embeddings.patch_embedding.weight", "multi_modal_projector.linear_1.weight"]),
    ("Lfm2VlForConditionalGeneration", "lfm2_vl", "lfm2_bf16", since_v5, ["architectures"],
     ["model.vision_tower.vision_model.embeddings.patch_embedding.weight", "model.multi_modal_projector.linear_1.weight"]),
    ("InternVLChatModel", "internvl_chat", "qwen2_4bit", as_saved, [],
     ["vision_model.embeddings.class_embedding", "mlp1.0.weight", "mlp1.3.bias"]),
    ("Idefics3ForConditionalGeneration", "idefics3", "llama_bf16", idefics, ["architectures"],
     ["model.vision_model.post_layernorm.weight", "model.connector.modality_projection.proj.weight"]),
    ("SmolVLMForConditionalGeneration", "smolvlm", "llama_bf16", idefics_of_mlx, ["architectures"],
     ["vision_model.post_layernorm.weight", "connector.modality_projection.proj.weight"]),
    ("JanusForConditionalGeneration", "janus", "llama_bf16", since_v5, ["architectures"],
     ["model.vision_model.post_layernorm.weight", "model.aligner.hidden_layers.0.weight",
      "model.vqmodel.quantize.embedding.weight", "model.generation_head.proj_out.weight"]),
    ("LightOnOCRForConditionalGeneration", "lighton_ocr", "qwen3_4bit", since_v5, ["architectures"],
     ["model.vision_encoder.patch_conv.weight", "model.vision_projection.linear_1.weight"]),
    ("VoxtralForConditionalGeneration", "voxtral", "llama_bf16", as_saved, ["architectures"],
     ["audio_tower.conv1.weight", "multi_modal_projector.linear_1.weight"]),
    ("MiniCPMV4_6ForConditionalGeneration", "minicpmv4_6", "qwen3_5_bf16", {}, ["architectures"],
     ["vision_tower.post_layernorm.weight", "vit_merger.linear_1.weight", "merger.mlp.0.linear_1.weight"]),
    ("Exaone4_5_ForConditionalGeneration", "exaone4_5", "exaone4_bf16", since_v5, ["architectures"],
     ["model.visual.merger.ln_q.weight", "mtp.fc.weight"]),
    ("Phi4ForCausalLMV", "phi4-siglip", "phi3_bf16", {}, [],
     ["model.vision_tower.vision_tower.vision_model.post_layernorm.weight", "model.mm_projector.0.weight"]),
    ("Qwen2_5OmniModel", "qwen2_5_omni", "qwen2_vl_bf16", of_omni, [],
     ["thinker.visual.patch_embed.proj.weight", "thinker.audio_tower.conv1.weight", "talker.model.norm.weight", "token2wav.x.weight"]),
    ("Qwen3OmniMoeForConditionalGeneration", "qwen3_omni_moe", "qwen3_vl_moe_4bit", of_omni, [],
     ["thinker.visual.patch_embed.proj.weight", "thinker.audio_tower.conv2d1.weight", "talker.model.norm.weight", "code2wav.x.weight"]),
]


def wrap(model, hf_class, model_type, names, lost, vision):
    config = json.loads((model / "config.json").read_text())
    quantization = {k: config.pop(k) for k in ("quantization", "quantization_config") if k in config}
    text = {k: v for k, v in config.get("text_config", config).items() if k not in lost}
    outer = {"text_config": text, "vision_config": config.get("vision_config", {"hidden_size": 8})}
    if names is of_omni:
        text["model_type"] = model_type + "_text"
        outer = {"thinker_config": outer}
    outer |= {"architectures": [hf_class], "model_type": model_type}
    (model / "config.json").write_text(json.dumps({**outer, **quantization}))
    path = model / "model.safetensors"
    content = path.read_bytes()
    size, = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8:8 + size]), content[8 + size:]
    wrapped = {"__metadata__": header.pop("__metadata__", {"format": "mlx"})}
    for name, tensor in header.items():
        prefix = next((p for p in names if name.startswith(p)), "")
        wrapped[names.get(prefix, "") + name[len(prefix):]] = tensor
    for name in vision:
        wrapped[name] = {"dtype": "F32", "shape": [2, 2], "data_offsets": [len(data), len(data) + 16]}
        data += bytes(16)
    text = json.dumps(wrapped).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    (model / "model.safetensors.index.json").unlink(missing_ok=True)


def converted(model):
    out = model.parent / "out.gguf"
    done = subprocess.run(["mlx2gguf", "-q", str(model), "-o", str(out), "--force"], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr
    return subprocess.run([listing, str(out)], env=environment, capture_output=True, text=True, check=True).stdout


failed = 0
with tempfile.TemporaryDirectory() as work:
    for hf_class, model_type, case, names, lost, vision in wrappers:
        model = pathlib.Path(work) / "model"
        shutil.rmtree(model, ignore_errors=True)
        shutil.copytree(zoo / case / "model", model, copy_function=shutil.copyfile)
        alone = converted(model)
        wrap(model, hf_class, model_type, names, lost, vision)
        inside = converted(model)
        if inside != alone or "token_embd.weight" not in alone:
            failed += 1
            print("%s around %s:" % (model_type, case))
            for line in sorted(set(inside.splitlines()) - set(alone.splitlines()))[:12]:
                print("    " + line)
print("%d passed, %d failed" % (len(wrappers) - failed, failed))
sys.exit(failed != 0)
