#include "rules/gguf/together.h"

#include <fmt/core.h>

#include "arch/projectors.h"
#include "base/counted.h"
#include "base/name_index.h"
#include "base/path.h"
#include "gguf/keys.h"
#include "rules/gguf/draft_rules.h"

namespace modelutils {

namespace {

constexpr std::string_view code = "gguf-together";

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

// Which size of a tensor must be which of the model's.
struct Counterpart {
  std::string_view suffix;
  std::size_t own;
  std::size_t of_model;
};
constexpr Counterpart counterparts[] = {{".lora_a", 0, 0}, {".lora_b", 1, 1}, {".in_sum2", 0, 0}};

}  // namespace

Result<Together> Together::open(const std::vector<std::string>& paths, OutsideLinks links) {
  std::optional<gguf::SplitSet> model;
  for (const std::string& path : paths) {
    MU_ASSIGN(gguf::SplitSet set, gguf::open_set(path, links));
    const bool is_model = part_of(gguf::Index(set.files.front().document)) == Part::model && !is_draft_alone(set);
    if (is_model && !model) model = std::move(set);
  }
  if (!model || paths.size() < 2) {
    return usage_error(
        fmt::format("--together needs a model and what goes with it (the first model is it, others draft "
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
    const auto width = model.unsigned_value(model.arch_key("embedding_length"));
    for (const arch::Encoder& encoder : arch::encoders) {
      const auto own = arch::projector_width(index, encoder);
      if (!own || !width || own->size == *width) continue;
      log.error(Scope::model, code,
                fmt::format("gives embeddings of {}, but '{}' has {}: this projector is for another model", own->size,
                            name, *width),
                own->where, own->offset);
    }
    return;
  }
  if (part == Part::adapter && index.architecture() != model.architecture()) {
    log.error(Scope::model, code,
              fmt::format("is '{}', but '{}' is '{}'", index.architecture(), name, model.architecture()),
              at_key("general.architecture"));
    return;
  }
  NameIndex names;  // of the model's tensors, by their number
  std::vector<const gguf::TensorInfo*> tensors;
  for (const gguf::SetFile& file : model_.files) {
    for (const gguf::TensorInfo& each : file.document.tensors) {
      if (names.insert(each.name).is_new) tensors.push_back(&each);
    }
  }
  for (const gguf::TensorInfo& own : document.tensors) {
    for (const Counterpart& counterpart : counterparts) {
      if (!own.name.ends_with(counterpart.suffix)) continue;
      const std::string wanted = own.name.substr(0, own.name.size() - counterpart.suffix.size());
      const std::optional<u32> number = names.find(wanted);
      if (!number) {
        log.error(Scope::model, code, fmt::format("'{}' has no tensor '{}'", name, wanted), at_tensor(own.name),
                  own.info_offset);
        continue;
      }
      const u64 size = size_of(*tensors[*number], counterpart.of_model);
      // Adapters of the embedding have it transposed.
      if (wanted == "token_embd.weight" || size_of(own, counterpart.own) == size) continue;
      log.error(Scope::model, code,
                fmt::format("ne{} is {}, but {} in '{}' of '{}'", counterpart.own, size_of(own, counterpart.own), size,
                            wanted, name),
                at_tensor(own.name), own.info_offset);
    }
  }
}

}  // namespace modelutils
