#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/types.h"
#include "formats/hf/names.h"
#include "formats/safetensors/shard_set.h"
#include "io/file_kind.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"
#include "json/reader.h"
#include "model/adapter/adapter.h"
#include "model/safetensors_model.h"
#include "tensor/dequantize.h"
#include "tensor/narrow.h"
#include "tensor/types.h"

namespace modelutils::adapter {

namespace {

constexpr std::string_view config_name = "adapter_config.json";

// The purpose of a tensor in an adapter.
enum class Role : u8 { a, b, magnitude, saved, other };

struct Named {
  std::string module;
  Role role = Role::other;
  bool is_embedding = false;
};

struct Ending {
  std::string_view text;
  Role role;
  bool is_embedding = false;
};

// Parses "MODULE.lora_A.weight"; training checkpoints have "MODULE.lora_A.default.weight".
Named peft_name(std::string_view name) {
  constexpr std::string_view prefix = "base_model.model.";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  constexpr Ending endings[] = {{".lora_A", Role::a},
                                {".lora_B", Role::b},
                                {".lora_embedding_A", Role::a, true},
                                {".lora_embedding_B", Role::b, true},
                                {".lora_magnitude_vector", Role::magnitude}};
  for (const Ending& ending : endings) {
    const std::size_t at = name.rfind(ending.text);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = name.substr(at + ending.text.size());
    if (!rest.empty() && rest.front() != '.') continue;
    if (rest.ends_with(".bias")) return {std::string(name), Role::other};
    return {std::string(name.substr(0, at)), ending.role, ending.is_embedding};
  }
  for (const std::string_view part :
       {std::string_view(".modules_to_save.default"), std::string_view(".modules_to_save")}) {
    if (const std::size_t at = name.find(part); at != std::string_view::npos) {
      return {std::string(name.substr(0, at)) + std::string(name.substr(at + part.size())), Role::saved};
    }
  }
  const bool is_tensor = name.ends_with(".weight") || name.ends_with(".bias");
  return {std::string(name), is_tensor && name.find(".lora_") == name.npos ? Role::saved : Role::other};
}

Named mlx_name(std::string_view name) {
  constexpr Ending endings[] = {{".lora_a", Role::a}, {".lora_b", Role::b}, {".m", Role::magnitude}};
  for (const Ending& ending : endings) {
    if (!name.ends_with(ending.text)) continue;
    const std::string_view module = name.substr(0, name.size() - ending.text.size());
    const bool is_embedding = module.ends_with("embed_tokens") || module.ends_with("wte") ||
                              module.ends_with("tok_embeddings") || module.ends_with("embeddings");
    return {std::string(module), ending.role, is_embedding};
  }
  return {std::string(name), Role::other};
}

// The tensors found for a module, as indices.
struct Found {
  std::optional<std::size_t> a;
  std::optional<std::size_t> b;
  bool is_embedding = false;
};

// For versions such as "0.19.1" or "0.20.0.dev0"; nullopt if the text does not start with two numbers.
std::optional<bool> is_at_least_0_19_1(std::string_view version) {
  std::array<u32, 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), numbers[i]);
    if (error != std::errc{}) {
      if (i < 2) return std::nullopt;
      break;
    }
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    if (version.starts_with('.')) version.remove_prefix(1);
  }
  return numbers >= std::array<u32, 3>{0, 19, 1};
}

tl::unexpected<Error> no_config(const std::string& directory) {
  const auto file = RandomAccessFile::open(directory);
  if (file && file_kind(**file) == FileKind::gguf) {
    return input_error("adapter-config",
                       "is a GGUF file; a LoRA adapter must be a directory of PEFT or mlx-lm: convert it with gguf2mlx "
                       "LORA.gguf --base MODEL -o DIR and pass DIR",
                       {}, {}, directory);
  }
  return input_error("adapter-config", "has no adapter_config.json, so it is not an adapter", {}, {}, directory);
}

class Reader {
 public:
  Reader(const ModelFolder& folder, const safetensors::ShardSet& weights) : folder_(folder), weights_(weights) {
    adapter_.path = folder.path;
  }

  Result<Adapter> read() {
    MU_ASSIGN(config_, json::load_if_present(folder_, config_name, u64{16} << 20, json::Numbers::python));
    if (config_ == nullptr) return no_config(folder_.path);
    MU_TRY(take_weights(weights_));
    MU_TRY(read_config());
    MU_TRY(sort_tensors());
    for (const auto& [module, found] : found_) MU_TRY(add_module(module, found));
    MU_TRY(check_magnitudes());
    if (adapter_.modules.empty() && adapter_.extras.empty()) {
      return fail("adapter-tensor", "has no adapter tensors", {});
    }
    return std::move(adapter_);
  }

 private:
  bool is_peft() const { return adapter_.origin == Origin::peft; }

  tl::unexpected<Error> fail(std::string code, std::string message, std::string where) const {
    return input_error(std::move(code), std::move(message), std::move(where), {}, adapter_.path);
  }
  tl::unexpected<Error> fail_config(std::string_view field, std::string message) const {
    return input_error("adapter-config", std::move(message), at_key(field), {}, folder_.file(config_name));
  }

  Status take_weights(const safetensors::ShardSet& set) {
    if (set.files.size() != 1) return fail("adapter-tensor", "has more than one weights file", {});
    const safetensors::ShardFile& file = set.files.front();
    adapter_.origin = file.base_name == "adapters.safetensors" ? Origin::mlx_lm : Origin::peft;
    adapter_.weights = file.path;
    adapter_.source = file.source;
    document_ = &file.document;
    const Findings findings = set.all_findings().findings();
    if (const Finding* broken = first_error(findings)) return tl::make_unexpected(with_path(*broken, adapter_.weights));
    for (const safetensors::Tensor& tensor : document().tensors) {
      if (document().holds(tensor)) continue;
      return input_error("st-offsets", "lies outside the file, which is cut off or broken", at_tensor(tensor.name), {},
                         adapter_.weights);
    }
    return {};
  }

  const safetensors::Document& document() const { return *document_; }

  Status read_config() {
    const json::Element root = config_->root;
    if (!root.is_object()) return fail_config("", "is not an object");
    if (!is_peft()) return read_mlx_config(root);
    adapter_.base_model = json::string_member(root, "base_model_name_or_path").value_or("");
    const std::string method(json::string_member(root, "peft_type").value_or(""));
    if (method != "LORA") {
      return input_error("adapter-method",
                         method.empty() ? "is missing: only LoRA adapters are supported"
                                        : fmt::format("is {}, but only LORA is supported", method),
                         at_key("peft_type"), {}, folder_.file(config_name));
    }
    for (const std::string_view field : {"layer_replication", "arrow_config", "corda_config", "eva_config"}) {
      const bool is_of_training = field.starts_with("corda") || field.starts_with("eva");
      if (const auto value = json::member(root, field); value && !value->is_null() && !is_of_training) {
        return input_error("adapter-method",
                           "changes the model in a way that neither merging nor a GGUF adapter can express",
                           at_key(field), {}, folder_.file(config_name));
      }
    }
    if (json::bool_member(root, "use_qalora").value_or(false)) {
      return input_error("adapter-method", "QA-LoRA is not supported", at_key("use_qalora"), {},
                         folder_.file(config_name));
    }
    if (json::bool_member(root, "lora_bias").value_or(false)) {
      return input_error("adapter-method", "adapters with their own biases are not supported", at_key("lora_bias"), {},
                         folder_.file(config_name));
    }
    adapter_.last_axis_is_in = is_at_least_0_19_1(json::string_member(root, "peft_version").value_or(""));
    is_dora_ = json::bool_member(root, "use_dora").value_or(false);
    adapter_.ties_head = json::bool_member(root, "ensure_weight_tying").value_or(false);
    MU_ASSIGN(adapter_.alpha, number(root, "lora_alpha"));
    MU_ASSIGN(const double rank, number(root, "r"));
    PeftScaling::Patterns alphas, ranks;
    MU_TRY(read_pattern(root, "alpha_pattern", alphas));
    MU_TRY(read_pattern(root, "rank_pattern", ranks));
    has_rank_patterns_ = !ranks.empty();
    adapter_.scaling = PeftScaling(rank, *adapter_.alpha, json::bool_member(root, "use_rslora").value_or(false),
                                   std::move(ranks), std::move(alphas));
    if (const auto tokens = json::array_member(root, "alora_invocation_tokens")) {
      for (const json::Element token : *tokens) {
        u64 id = 0;
        if (!token.get(id) || id > ~u32{0})
          return fail_config("alora_invocation_tokens", "has an element that is not a token id");
        adapter_.invocation_tokens.push_back(static_cast<u32>(id));
      }
    }
    return {};
  }

  Result<double> number(json::Element object, std::string_view field) const {
    const std::optional<double> value = json::number_member(object, field);
    if (value && std::isfinite(*value) && std::fabs(*value) < 1e30) return *value;
    return fail_config(field, "is missing or not a finite number");
  }

  Status read_pattern(json::Element root, std::string_view field, PeftScaling::Patterns& out) const {
    const std::optional<json::Object> object = json::object_member(root, field);
    if (!object) return {};
    for (const json::Member member : *object) {
      double value = 0;
      if (!member.value.get(value) || !std::isfinite(value) || std::fabs(value) >= 1e30) {
        return fail_config(field, fmt::format("has no number for '{}'", member.key));
      }
      std::optional<ModulePattern> pattern = ModulePattern::parse(member.key);
      if (!pattern) {
        return fail_config(field, fmt::format("has the key '{}', which is not a regular expression, or uses "
                                              "look-around, back references or flags; write it without them",
                                              member.key));
      }
      out.emplace_back(std::move(*pattern), value);
    }
    return {};
  }

  Status read_mlx_config(json::Element root) {
    adapter_.base_model = json::string_member(root, "model").value_or("");
    const std::string method(json::string_member(root, "fine_tune_type").value_or("lora"));
    if (method != "lora" && method != "dora") {
      return input_error("adapter-method",
                         fmt::format("is '{}', which is not supported: only lora and dora are", method),
                         at_key("fine_tune_type"), {}, folder_.file(config_name));
    }
    is_dora_ = method == "dora";
    adapter_.ties_head = true;
    const std::optional<json::Element> parameters = json::member(root, "lora_parameters");
    if (!parameters) return fail_config("lora_parameters", "is missing");
    MU_ASSIGN(mlx_scale_, number(*parameters, "scale"));
    if (const auto rank = json::number_member(*parameters, "rank")) rank_ = *rank;
    return {};
  }

  Status sort_tensors() {
    const std::vector<safetensors::Tensor>& tensors = document().tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const safetensors::Tensor& tensor = tensors[i];
      const Named named = is_peft() ? peft_name(tensor.name) : mlx_name(tensor.name);
      if (named.role == Role::other || !tensor.type || !may_be_factor(*tensor.type) ||
          type_info(*tensor.type).block_elements != 1) {
        return fail("adapter-tensor", "is not a tensor of a LoRA adapter, or has a type that adapters do not use",
                    at_tensor(tensor.name));
      }
      if (named.role == Role::magnitude || named.role == Role::saved) {
        MU_ASSIGN(Factor values, plain_factor(tensor));
        adapter_.extras.push_back(
            {named.role == Role::saved ? Extra::Kind::saved : Extra::Kind::magnitude, named.module, std::move(values)});
        continue;
      }
      Found& found = found_[named.module];
      found.is_embedding = found.is_embedding || named.is_embedding;
      (named.role == Role::a ? found.a : found.b) = i;
    }
    return {};
  }

  Result<Factor> plain_factor(const safetensors::Tensor& tensor) const {
    Factor factor;
    factor.name = tensor.name;
    factor.type = *tensor.type;
    factor.offset = document().data_offset + tensor.begin;
    factor.elements = tensor.elements().value_or(0);
    if (tensor.shape.empty() || tensor.shape.size() > 3 || factor.elements == 0) {
      return fail("adapter-pair", fmt::format("has shape {}", shape_text(tensor.shape)), at_tensor(tensor.name));
    }
    factor.columns = factor.column_stride = 1;
    factor.columns = tensor.shape.back();
    factor.rows = tensor.shape.size() > 1 ? tensor.shape[tensor.shape.size() - 2] : 1;
    factor.stack = tensor.shape.size() > 2 ? tensor.shape.front() : 1;
    factor.row_stride = factor.columns;
    factor.stack_stride = factor.rows * factor.columns;
    return factor;
  }

  static void transpose(Factor& factor) {
    std::swap(factor.rows, factor.columns);
    std::swap(factor.row_stride, factor.column_stride);
  }

  // Adds a module with its factors as B [out, r] and A [r, in], converting from the stored layout.
  Status add_module(const std::string& name, const Found& found) {
    if (!found.a || !found.b) {
      return fail("adapter-pair", fmt::format("lacks its lora_{}", found.a ? "B" : "A"), at_tensor(name));
    }
    Module module;
    module.name = name;
    MU_ASSIGN(module.a, plain_factor(document().tensors[*found.a]));
    MU_ASSIGN(module.b, plain_factor(document().tensors[*found.b]));
    if (found.is_embedding && is_peft()) {
      // A [r, vocabulary] and B [width, r], because the table is looked up, not multiplied.
      std::swap(module.a, module.b);
      transpose(module.a);
      transpose(module.b);
    } else if (found.is_embedding) {
      std::swap(module.a, module.b);  // a [vocabulary, r], b [r, width]
    } else if (!is_peft() && module.a.stack == 1 && document().tensors[*found.a].shape.size() < 3) {
      transpose(module.a);
      transpose(module.b);
    }
    if (module.a.rows != module.b.columns || module.a.stack != module.b.stack) {
      return fail("adapter-pair", fmt::format("lora_A has rank {} and lora_B {}", module.a.rows, module.b.columns),
                  at_tensor(name));
    }
    MU_ASSIGN(module.scale, scale_of(module));
    adapter_.modules.push_back(std::move(module));
    return {};
  }

  // With DoRA, every module must have magnitudes; without it, none may. PEFT and mlx-lm would initialise missing ones
  // from the base's rows, and ignore superfluous ones.
  Status check_magnitudes() const {
    std::map<std::string_view, const Factor*> lengths;
    for (const Extra& extra : adapter_.extras) {
      if (extra.kind != Extra::Kind::magnitude) continue;
      if (!is_dora_) {
        return fail("adapter-config",
                    fmt::format("is a DoRA tensor, but adapter_config.json does not say DoRA ({})",
                                is_peft() ? "use_dora is not true" : "fine_tune_type is not dora"),
                    at_tensor(extra.values.name));
      }
      if (!found_.contains(extra.name))
        return fail("adapter-pair", "belongs to a module without a pair of factors", at_tensor(extra.values.name));
      lengths.emplace(extra.name, &extra.values);
    }
    for (const Module& module : adapter_.modules) {
      if (!is_dora_) break;
      const auto found = lengths.find(module.name);
      if (found == lengths.end()) {
        return fail("adapter-pair", "has no magnitudes (row lengths), although this is a DoRA adapter",
                    at_tensor(module.name));
      }
      if (found->second->elements == module.b.rows * module.b.stack) continue;
      return fail("adapter-pair",
                  fmt::format("has {} DoRA magnitudes for {} rows", found->second->elements, module.b.rows),
                  at_tensor(module.name));
    }
    return {};
  }

  Result<double> scale_of(const Module& module) const {
    if (!is_peft()) {
      if (rank_ && static_cast<double>(module.rank()) != *rank_) {
        return fail_config(
            "rank", fmt::format("is {}, but the tensors of '{}' have rank {}", *rank_, module.name, module.rank()));
      }
      return mlx_scale_;
    }
    auto values = adapter_.scaling.of(module.name);
    if (!values) return tl::make_unexpected(in_file(std::move(values.error()), folder_.file(config_name)));
    // A parameter's pair has the ranks of all experts consecutively. Patterns apply to the parameter's name, which only
    // the base determines (resolve_expert_parameters).
    const double stored = static_cast<double>(module.rank());
    const bool is_stack = module.name.find(".experts") != std::string::npos &&
                          (has_rank_patterns_ || (values->rank > 0 && std::fmod(stored, values->rank) == 0));
    if (!(values->rank > 0) || (stored != values->rank && !is_stack)) {
      return fail_config("r", fmt::format("gives rank {} for '{}', whose tensors have rank {}", values->rank,
                                          module.name, module.rank()));
    }
    return values->scale;
  }

  const ModelFolder& folder_;
  const safetensors::ShardSet& weights_;
  std::shared_ptr<json::Document> config_;
  const safetensors::Document* document_ = nullptr;
  Adapter adapter_;
  std::map<std::string, Found> found_;
  bool is_dora_ = false;
  bool has_rank_patterns_ = false;
  std::optional<double> rank_;
  double mlx_scale_ = 0;
};

}  // namespace

Status check_finite(std::span<const float> values, std::string_view tensor) {
  if (narrow_facts(values).finite) return {};
  const auto found = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  return input_error("adapter-not-finite", fmt::format("value {} is NaN or infinite", found - values.begin()),
                     at_tensor(tensor));
}

bool may_be_factor(TensorType type) {
  switch (type) {
    case TensorType::I8:
    case TensorType::I16:
    case TensorType::I32:
    case TensorType::I64:
    case TensorType::BOOL:
    case TensorType::U8:
    case TensorType::U16:
    case TensorType::U32:
    case TensorType::U64: return false;
    default: return has_decoder(type);
  }
}

bool is_adapter(const ModelFolder& folder) {
  return is_present(folder.file(config_name)) && !is_present(folder.file("config.json"));
}

Result<safetensors::ShardSet> open_weights(const ModelFolder& folder) {
  if (!is_present(folder.path)) return input_error("io-open", "does not exist", {}, {}, folder.path);
  if (!is_present(folder.file(config_name))) return no_config(folder.path);
  for (const std::string_view name : {"adapter_model.safetensors", "adapters.safetensors", "adapter_model.bin"}) {
    const std::string path = folder.file(name);
    if (!is_present(path)) continue;
    auto opened = open_in_folder(folder.path, name);
    if (!opened) return tl::make_unexpected(in_file(std::move(opened.error()), path));
    return safetensors::open_set(path, OutsideLinks::warn, std::move(*opened), false, read_checkpoint);
  }
  return input_error("adapter-tensor", "has neither adapter_model.safetensors nor adapters.safetensors", {}, {},
                     folder.path);
}

Result<Adapter> read_adapter(const ModelFolder& folder, const safetensors::ShardSet& weights) {
  return Reader(folder, weights).read();
}

Result<std::vector<std::byte>> Adapter::read_stored(const Factor& factor) const {
  // cannot overflow: the tensor lies within the file
  const u64 bytes = factor.elements * type_info(factor.type).block_bytes;
  std::vector<std::byte> stored(static_cast<std::size_t>(bytes));
  MU_TRY(source->read_exact(factor.offset, stored));
  return stored;
}

Result<bool> Adapter::fits_float(const Factor& factor) const {
  if (factor.type != TensorType::F64) return true;
  MU_ASSIGN(const std::vector<std::byte> stored, read_stored(factor));
  for (std::size_t i = 0; i < stored.size(); i += sizeof(double)) {
    const auto value = load<double>(stored.data() + i);
    if (static_cast<double>(static_cast<float>(value)) != value) return false;
  }
  return true;
}

Result<std::vector<float>> Adapter::read(const Factor& factor) const {
  MU_ASSIGN(const std::vector<std::byte> stored, read_stored(factor));
  std::vector<float> values(static_cast<std::size_t>(factor.elements));
  dequantize(factor.type, stored, values);
  if (Status finite = check_finite(values, factor.name); !finite) {
    return tl::make_unexpected(in_file(std::move(finite.error()), weights));
  }
  return values;
}

}  // namespace modelutils::adapter
