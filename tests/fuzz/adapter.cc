// Any bytes -> an adapter's adapter_config.json, up to the first NUL, and its weights; read, mapped to a small base.
#include <cstdlib>
#include <string>

#include "arch/families.h"
#include "formats/gguf/parse.h"
#include "formats/safetensors/parse.h"
#include "io/random_access_file.h"
#include "json/reader.h"
#include "model/adapter/adapter.h"
#include "model/adapter/pairs.h"
#include "rules/safetensors/rules.h"

using namespace modelutils;

namespace {

adapter::Base small_base(std::string_view hf_class, std::string_view model_type, u64 experts) {
  adapter::Base base;
  base.family = arch::find_family(hf_class, model_type);
  if (base.family == nullptr) std::abort();
  struct Size {
    std::string_view symbol;
    u64 value;
  };
  for (const Size& size : {Size{"L", 2},
                           {"E", 64},
                           {"V", 260},
                           {"F", 128},
                           {"H", 4},
                           {"K", 2},
                           {"D", 16},
                           {"R", 16},
                           {"X", experts},
                           {"U", experts / 2},
                           {"Fx", 32},
                           {"Fs", 0}}) {
    base.sizes.set(size.symbol, size.value);
  }
  base.is_tied = experts == 0;
  return base;
}

void check_pairs(const adapter::Adapter& adapter, const adapter::MappedAdapter& mapped) {
  for (const adapter::Pair& pair : mapped.pairs) {
    if (pair.blocks.empty() || pair.rank == 0) std::abort();
    for (const adapter::Block& block : pair.blocks) {
      if (block.module >= adapter.modules.size() || block.use >= pair.uses.size()) std::abort();
    }
  }
}

void check_adapter(adapter::Adapter adapter) {
  for (const adapter::Module& module : adapter.modules) {
    if (module.a.rows != module.b.columns || module.a.stack != module.b.stack) std::abort();
    for (const adapter::Factor* factor : {&module.a, &module.b}) {
      const auto values = adapter.read(*factor);
      if (values ? values->size() != factor->elements : values.error().code != "adapter-not-finite") std::abort();
      if (!adapter.fits_float(*factor)) std::abort();  // memory can be read
    }
  }
  static const adapter::Base bases[] = {small_base("LlamaForCausalLM", "llama", 0),
                                        small_base("Qwen3MoeForCausalLM", "qwen3_moe", 4)};
  for (const adapter::Base& base : bases) {
    for (const bool for_merging : {true, false}) {
      adapter::Adapter copy = adapter;
      if (const auto mapped = adapter::map_pairs(copy, base, for_merging)) check_pairs(copy, *mapped);
    }
  }
}

void read_directory(std::string_view config, std::vector<std::byte> weights) {
  auto parsed = json::parse(config, "adapter_config.json", json::Numbers::python);
  if (!parsed) return;
  const ModelFolder folder("adapter");
  folder.memory->documents.emplace("adapter_config.json", std::shared_ptr<json::Document>(std::move(*parsed)));
  const auto source = std::make_shared<MemoryFile>(std::move(weights), "adapter_model.safetensors");
  auto document = safetensors::parse(*source);
  if (!document) return;
  for (const char* name : {"adapter_model.safetensors", "adapters.safetensors"}) {
    safetensors::ShardSet set;
    set.path = name;
    set.files.push_back({.path = name, .base_name = name, .source = source, .document = *document});
    const Findings findings = safetensors_container_findings(set);
    auto read = adapter::read_adapter(folder, set);
    // The tools refuse a broken container before they read its factors (rules/safetensors/rules.h).
    if (read && first_container_error(findings) == nullptr) check_adapter(std::move(*read));
  }
}

void read_gguf(const MemoryFile& file) {
  const auto document = gguf::parse(file);
  if (!document) return;
  const auto found = adapter::gguf_adapter(*document, gguf::Index(*document));
  for (const adapter::GgufPair& pair : found ? found->pairs : std::vector<adapter::GgufPair>{}) {
    if (pair.a == nullptr || pair.b == nullptr) std::abort();
    (void)(pair.rank() + pair.columns() + pair.rows() + pair.slices());
    (void)found->scale_of(pair);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  if (all.starts_with("GGUF")) read_gguf(MemoryFile({bytes.begin(), bytes.end()}, "lora.gguf"));
  const std::size_t end = all.find('\0');
  if (end == all.npos) return 0;
  const auto weights = bytes.subspan(end + 1);
  read_directory(all.substr(0, end), {weights.begin(), weights.end()});
  return 0;
}
