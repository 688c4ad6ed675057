#include "rules/gguf/together.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "arch/families.h"
#include "arch/families/runtime_only.h"
#include "arch/loader_forms.h"
#include "arch/names.h"
#include "arch/prediction_rows.h"
#include "arch/projectors.h"
#include "base/name_index.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "io/copy_range.h"
#include "io/model_folder.h"
#include "model/adapter/pairs.h"
#include "model/format.h"

namespace modelutils {

namespace {

constexpr std::string_view code = "gguf-together";

// True for encoders, embedding models and rerankers, which predict no tokens.
bool predicts_nothing(const gguf::Index& model) {
  const arch::CacheFacts* facts = arch::find_cache_facts(model.architecture());
  const bool is_encoder = facts != nullptr && !facts->has_cache && !arch::is_draft_architecture(model.architecture());
  return is_encoder || model.bool_value(model.arch_key("attention.causal")) == false ||
         model.unsigned_value(model.arch_key("pooling_type")).value_or(0) > 0;
}

class DraftRules {
 public:
  DraftRules(const gguf::SplitSet& model, const gguf::SplitSet& draft, FindingLog& log)
      : model_file_(model.files.front()),
        draft_file_(draft.files.front()),
        model_(model_file_.document),
        draft_(draft_file_.document),
        is_block_(arch::is_prediction_alone(draft)),
        is_draft_(is_draft_alone(draft)),
        name_(base_name_of(model_file_.path)),
        log_(log) {}

  void check() {
    if (predicts_nothing(draft_) || predicts_nothing(model_)) {
      return say(
          "general.architecture",
          predicts_nothing(draft_)
              ? std::string("is an encoder, embedding model or reranker, which predicts no tokens and cannot draft")
              : fmt::format("cannot draft for '{}', which predicts no tokens: it is an encoder, embedding model or "
                            "reranker",
                            name_));
    }
    check_vocabulary();
    if (!is_draft_) return;  // a complete model
    check_width();
    if (is_block_) check_block();
    check_target_layers();
  }

 private:
  void say(const std::string& key, std::string message) {
    const gguf::KeyValue* entry = draft_.key(key);
    log_.error(Scope::model, code, std::move(message), at_key(key),
               entry == nullptr ? std::nullopt : std::optional(entry->offset));
  }

  // Proposed tokens are compared by id, so both vocabularies must agree.
  void check_vocabulary() {
    const std::string key = "tokenizer.ggml.tokens";
    const gguf::ArrayRef* own = draft_.array_value(key);
    const gguf::ArrayRef* theirs = model_.array_value(key);
    if (own == nullptr || theirs == nullptr) return;
    if (own->count != theirs->count) {
      return say(key, fmt::format("has {}, but '{}' has {}: token ids mean something else",
                                  counted(own->count, "token"), name_, theirs->count));
    }
    if (own->bytes != theirs->bytes ||
        !same_bytes(*draft_file_.source, own->offset, *model_file_.source, theirs->offset, own->bytes).value_or(true)) {
      say(key, fmt::format("differs from that of '{}': token ids mean something else", name_));
    }
  }

  // The first of these keys that is present gives the target's width.
  void check_width() {
    std::string key = draft_.arch_key("target_hidden_size");
    if (draft_.key(key) == nullptr) key = draft_.arch_key("embedding_length_out");
    if (draft_.key(key) == nullptr) key = draft_.arch_key("embedding_length");
    const auto own = draft_.unsigned_value(key);
    const auto width = model_.unsigned_value(model_.arch_key("embedding_length"));
    if (!own || !width || *own == *width) return;
    say(key, fmt::format("is {}, but '{}' is {} wide: this draft belongs to another model", *own, name_, *width));
  }

  void check_block() {
    if (draft_.architecture() != model_.architecture()) {
      return say("general.architecture",
                 fmt::format("is '{}', but '{}' is '{}'", draft_.architecture(), name_, model_.architecture()));
    }
    const std::string count = draft_.arch_key("block_count"), extra = draft_.arch_key("nextn_predict_layers");
    const u64 own = draft_.unsigned_value(count).value_or(0) - draft_.unsigned_value(extra).value_or(0);
    const u64 theirs = model_.unsigned_value(count).value_or(0) - model_.unsigned_value(extra).value_or(0);
    if (own == theirs) return;
    say(count, fmt::format("puts the block after {}, but '{}' has {}", counted(own, "layer"), name_, theirs));
  }

  void check_target_layers() {
    const std::string key = draft_.arch_key("target_layers");
    const gguf::ArrayRef* array = draft_.array_value(key);
    const auto layers = model_.unsigned_value(model_.arch_key("block_count"));
    constexpr u64 most = 512;
    if (array == nullptr || !layers || gguf::value_size(array->element_type) == 0) return;
    const auto numbers = gguf::read_numbers<u64>(*draft_file_.source, draft_file_.document, *array, 0, most);
    if (!numbers) return;
    // The layer count itself is allowed: it stands for the last layer's output.
    const auto wrong = std::ranges::find_if(*numbers, [&](u64 layer) { return layer > *layers; });
    if (wrong == numbers->end()) return;
    say(key, fmt::format("reads layer {}, but '{}' has {}", *wrong, name_, counted(*layers, "layer")));
  }

  const gguf::SetFile& model_file_;
  const gguf::SetFile& draft_file_;
  gguf::Index model_, draft_;
  bool is_block_, is_draft_;
  std::string name_;
  FindingLog& log_;
};

}  // namespace

bool is_draft_alone(const gguf::SplitSet& set) {
  return arch::is_prediction_alone(set) ||
         arch::is_draft_architecture(gguf::Index(set.files.front().document).architecture());
}

void check_draft(const gguf::SplitSet& model, const gguf::SplitSet& draft, FindingLog& log) {
  DraftRules(model, draft, log).check();
}

namespace {

enum class Part : u8 { model, projector, adapter, imatrix };

Part part_of(const gguf::Index& index) {
  const std::string_view type = index.string_value("general.type").value_or("model");
  if (type == "mmproj" || index.architecture() == "clip") return Part::projector;
  if (type == "adapter") return Part::adapter;
  return type == "imatrix" ? Part::imatrix : Part::model;
}

u64 size_of(const gguf::TensorInfo& tensor, std::size_t dimension) {
  return dimension < tensor.ne.size() ? tensor.ne[dimension] : 1;
}

// A dimension of a companion's tensor and the model tensor's dimension that it must equal.
struct Counterpart {
  std::string_view suffix;
  std::size_t own;
  std::size_t of_model;
};
constexpr Counterpart counterparts[] = {
    {".lora_a", 0, 0}, {".lora_b", 1, 1}, {".lora_b", 2, 2}, {".in_sum2", 0, 0}, {".in_sum2", 1, 2}};
// For an embedding the two halves of a pair are swapped.
constexpr Counterpart of_embedding[] = {{".lora_a", 1, 1}, {".lora_b", 1, 0}};

// Returns how many numbers a text model takes per token: its embedding, and one more of that width for each deepstack
// layer.
std::optional<u64> input_width(const gguf::Index& model) {
  const auto width = model.unsigned_value(model.arch_key("embedding_length"));
  const auto parts = checked_add(model.unsigned_value(model.arch_key("n_deepstack_layers")).value_or(0), 1);
  return width && parts ? checked_mul(*width, *parts) : std::nullopt;
}

// Returns how many numbers an encoder produces per token: the embedding, and those for deepstack layers.
std::optional<u64> output_width(const arch::ProjectorWidth& width) {
  return checked_mul(width.size, width.parts);
}

std::string width_text(u64 total, u64 parts) {
  return parts > 1 ? fmt::format("{} × {}", parts, total / parts) : std::to_string(total);
}

void check_projector(const gguf::Index& index, const gguf::Index& model, std::string_view name, FindingLog& log) {
  const auto wanted = input_width(model);
  const u64 parts = model.unsigned_value(model.arch_key("n_deepstack_layers")).value_or(0) + 1;
  bool fits = true;
  for (const arch::Encoder& encoder : arch::encoders) {
    const auto own = arch::projector_width(index, encoder);
    if (!own || !wanted || output_width(*own) == *wanted) continue;
    fits = false;
    log.error(
        Scope::model, code,
        fmt::format("produces embeddings of {}, but '{}' has {}: this projector belongs to another model",
                    width_text(output_width(*own).value_or(own->size), own->parts), name, width_text(*wanted, parts)),
        own->where, own->offset);
  }
  if (!fits || arch::may_belong_to(index, model.architecture())) return;
  const std::string key = index.key("clip.projector_type") != nullptr          ? "clip.projector_type"
                          : index.key("clip.vision.projector_type") != nullptr ? "clip.vision.projector_type"
                                                                               : "clip.audio.projector_type";
  log.warning(
      Scope::model, "projector-family",
      fmt::format(
          "is '{}', which is not published for models of architecture '{}': the embeddings of '{}' match only in size",
          index.string_value(key).value_or(""), model.architecture(), name),
      at_key(key), index.key(key)->offset);
}

// The tensors of a model by name; the first of equal names wins.
struct ModelTensors {
  explicit ModelTensors(const gguf::SplitSet& model) {
    for (const gguf::SetFile& file : model.files) {
      for (const gguf::TensorInfo& each : file.document.tensors) {
        if (names.insert(each.name).is_new) tensors.push_back(&each);
      }
    }
  }
  const gguf::TensorInfo* find(std::string_view name) const {
    const std::optional<u32> number = names.find(name);
    return number ? tensors[*number] : nullptr;
  }

  NameIndex names;
  std::vector<const gguf::TensorInfo*> tensors;
};

bool has_weight_scale(const arch::Names& names, const ModelTensors& tensors, std::string_view weight) {
  const std::string scale = std::string(weight.substr(0, weight.rfind('.'))) + ".scale";
  return tensors.find(scale) != nullptr && arch::weight_of_scale(names, scale) == weight;
}

// Reports pairs that llama.cpp applies differently from merging.
void check_pairs(const gguf::Index& adapter, const gguf::Index& model, const ModelTensors& tensors,
                 const gguf::Document& document, FindingLog& log) {
  const arch::Family* family = arch::find_family(model);
  const auto pairs = adapter::gguf_adapter(document, adapter);
  if (family == nullptr || !pairs) return;
  const arch::Names names(*family);
  const bool is_tied = tensors.find("output.weight") == nullptr;
  for (const adapter::GgufPair& pair : pairs->pairs) {
    const arch::Names::Place place = names.find_gguf(pair.target);
    if (place.row == nullptr) continue;
    const gguf::TensorInfo* target = tensors.find(pair.target);
    const TensorType type = target == nullptr ? TensorType::F32 : target->type().value_or(TensorType::F32);
    std::string_view lost = arch::pair_is_lost(*family, place.row->name, is_tied);
    bool is_fatal = !lost.empty() && pair.is_embedding();
    if (lost.empty() && has_weight_scale(names, tensors, pair.target)) {
      lost = arch::scaled_pair_is_lost(*family, place.row->name, type);
      is_fatal = arch::scaled_pair_aborts(place.row->name, type);
    }
    if (lost.empty()) continue;
    log.add(is_fatal ? Severity::error : Severity::warning, Scope::model, "adapter-merge",
            fmt::format("is a LoRA pair on {}, which {}; merge the adapter", pair.target, lost),
            at_tensor(pair.a->name), pair.a->info_offset);
  }
}

}  // namespace

void check_projector_folder(const gguf::SplitSet& projector, FindingLog& log) {
  const std::string& path = projector.files.front().path;
  const gguf::Index index(projector.files.front().document);
  if (part_of(index) != Part::projector) return;
  const std::string folder = folder_of(path);
  constexpr std::size_t most_files = 64;
  const auto names = DirectoryNames::read(folder, [](std::string_view name, EntryKind kind) {
    return kind != EntryKind::directory && name.ends_with(".gguf");
  });
  if (!names || names->size() > most_files) return;
  u64 projectors = 0;
  std::vector<std::string> candidates, same_name;
  for (std::size_t i = 0; i < names->size(); ++i) {
    const std::string name(names->name(i));
    const auto set = gguf::open_set(folder + name, OutsideLinks::refuse);
    if (!set || (set->is_split() && base_name_of(set->files.front().path) != name)) continue;
    const gguf::Index other(set->files.front().document);
    const Part part = part_of(other);
    if (part == Part::projector) ++projectors;
    if (part != Part::model || is_draft_alone(*set) || predicts_nothing(other)) continue;
    FindingLog mismatches;
    check_projector(index, other, name, mismatches);
    if (mismatches.errors() + mismatches.warnings() > 0) continue;
    candidates.push_back(name);
    const auto own = index.string_value("general.basename"), theirs = other.string_value("general.basename");
    if (own && own == theirs) same_name.push_back(name);
  }
  if (projectors < 2) return;
  if (!same_name.empty()) candidates = same_name;
  const Place where = at_key("general.architecture");
  if (candidates.empty()) {
    return log.warning(Scope::model, "projector-alone", "is a projector for none of the models in this folder", where);
  }
  std::string list;
  for (const std::string& name : candidates) list += fmt::format("{}'{}'", list.empty() ? "" : ", ", name);
  log.note(Scope::model, "projector-belongs",
           fmt::format("is a projector for {}{}", list, candidates.size() > 1 ? ", by size and family" : ""), where);
}

Result<Together> Together::open(const std::vector<std::string>& paths, OutsideLinks links) {
  std::optional<gguf::SplitSet> model;
  for (const std::string& path : paths) {
    MU_ASSIGN(const PathProbe probe, probe_path(path, links));
    if (probe.format == Format::imatrix) continue;
    MU_ASSIGN(gguf::SplitSet set, gguf::open_set(path, links));
    const bool is_model = part_of(gguf::Index(set.files.front().document)) == Part::model && !is_draft_alone(set);
    if (is_model && !model) model = std::move(set);
  }
  if (!model || paths.size() < 2) {
    return usage_error(
        fmt::format("--together needs a model and its companions (the first model is the main one, others are drafts "
                    "for it); there {} {} among {}",
                    model ? "is" : "are", model ? "1 model" : "0 models", counted(paths.size(), "path")));
  }
  return Together(std::move(*model));
}

void Together::check(const gguf::SplitSet& set, FindingLog& log) const {
  const gguf::Document& document = set.files.front().document;
  const gguf::Index index(document);
  const gguf::Index model(model_.files.front().document);
  const Part part = part_of(index);
  if (part == Part::model) {
    if (set.files.front().path != model_.files.front().path) check_draft(model_, set, log);
    return;
  }
  const std::string name = base_name_of(model_.files.front().path);
  if (part == Part::projector) {
    check_projector(index, model, name, log);
    return;
  }
  if (part == Part::adapter && index.architecture() != model.architecture()) {
    log.error(Scope::model, code,
              fmt::format("is '{}', but '{}' is '{}'", index.architecture(), name, model.architecture()),
              at_key("general.architecture"));
    return;
  }
  const ModelTensors tensors(model_);
  if (part == Part::adapter) check_pairs(index, model, tensors, document, log);
  for (const gguf::TensorInfo& own : document.tensors) {
    const bool is_of_embedding = own.name.starts_with("token_embd.weight.lora_");
    for (const Counterpart& counterpart : is_of_embedding ? std::span<const Counterpart>(of_embedding) : counterparts) {
      if (!own.name.ends_with(counterpart.suffix)) continue;
      const std::string wanted = own.name.substr(0, own.name.size() - counterpart.suffix.size());
      const gguf::TensorInfo* found = tensors.find(wanted);
      if (found == nullptr) {
        log.error(Scope::model, code, fmt::format("'{}' has no tensor '{}'", name, wanted), at_tensor(own.name),
                  own.info_offset);
        break;
      }
      const u64 size = size_of(*found, counterpart.of_model);
      if (size_of(own, counterpart.own) == size) continue;
      log.error(Scope::model, code,
                fmt::format("ne{} is {}, but {} in '{}' of '{}'", counterpart.own, size_of(own, counterpart.own), size,
                            wanted, name),
                at_tensor(own.name), own.info_offset);
    }
  }
}

void Together::check(const quantize::ImportanceMatrix& matrix, FindingLog& log) const {
  const std::string name = base_name_of(model_.files.front().path);
  const ModelTensors tensors(model_);
  for (const quantize::ImportanceEntry& entry : matrix.entries()) {
    const auto refuse = [&](std::string message) {
      log.error(Scope::model, code, std::move(message), at_tensor(entry.name), entry.record_offset);
    };
    const gguf::TensorInfo* found = tensors.find(entry.name);
    if (found == nullptr) {
      refuse(fmt::format("'{}' has no such tensor", name));
      continue;
    }
    // One value per column and expert.
    const auto wanted = checked_mul(size_of(*found, 0), size_of(*found, 2));
    if (wanted != entry.values) {
      refuse(fmt::format("has {} values, but the tensor has {} columns and {} in '{}'", entry.values,
                         size_of(*found, 0), counted(size_of(*found, 2), "matrix", "matrices"), name));
    }
  }
}

}  // namespace modelutils
