#include "edit/safetensors/edited_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/text.h"
#include "model/forms/foreign_forms.h"
#include "rules/formats.h"

namespace modelutils::to_safetensors {

namespace {

// Output heads that transformers ties to the embedding; the Hub's converter keeps the embedding of such a pair.
constexpr std::array tied_heads = {"lm_head.weight", "embed_out.weight", "output.weight"};

bool is_tied_head(std::string_view name) {
  return std::ranges::any_of(tied_heads, [&](std::string_view head) { return name.ends_with(head); });
}

// Chooses the tensors of PyTorch checkpoints: the weights below the wrapper, each of several that share elements once.
class CheckpointTensors {
 public:
  explicit CheckpointTensors(EditedSet& set) : edited_(set) {}

  void choose() {
    const safetensors::ShardSet& set = edited_.set();
    const pytorch::Document* first = checkpoint_of(set.files.front());
    edited_.report.wrapper = first->wrapper;
    // Opening a directory has removed the wrapper already.
    const std::string prefix = set.is_directory || first->wrapper.empty() ? std::string() : first->wrapper + ".";
    report_others();
    for (EditedTensor& tensor : edited_.tensors) {
      if (!tensor.name.starts_with(prefix)) continue;
      tensor.name.erase(0, prefix.size());
      if (tensor.name.empty()) tensor.name = "tensor";  // the root is a single tensor
      chosen_.push_back(std::move(tensor));
    }
    drop_shared();
    edited_.tensors = std::move(chosen_);
  }

 private:
  void report_others() {
    std::vector<LeftOut>& left_out = edited_.report.left_out;
    for (std::size_t i = 0; i < edited_.file_count; ++i) {
      const pytorch::Document& document = *checkpoint_of(edited_.set().files[i]);
      const std::string own = document.wrapper.empty() ? std::string() : document.wrapper + ".";
      for (const pytorch::Tensor& each : document.tensors) {
        if (!each.name.starts_with(own)) left_out.push_back({each.name, LeftOutReason::beside_weights});
      }
    }
    if (left_out.empty()) return;
    edited_.report.remarks.warning(Scope::model, "convert-left-out",
                                   fmt::format("{} of the checkpoint {} not in the output: not weights of the model, "
                                               "but stored next to them, such as an optimizer's",
                                               counted(left_out.size(), "tensor"), verb(left_out.size(), "is", "are")),
                                   at_tensor(left_out.front().name));
  }

  // Lists tensors with the same elements in the same order only once, like the Hub's converter.
  void drop_shared() {
    using Place = std::tuple<u32, std::size_t, u64, std::string_view, std::vector<u64>, std::vector<u64>>;
    std::map<Place, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const safetensors::TensorRef ref = edited_.set().tensors[chosen_[i].origin];
      const pytorch::Tensor* made = original(*checkpoint_of(edited_.set().files[ref.file]), ref);
      if (made == nullptr || made->bytes == 0) continue;
      const std::string_view dtype = edited_.set().tensor(ref).dtype;
      groups[{ref.file, made->storage, made->offset, dtype, made->shape, made->strides}].push_back(i);
    }
    std::vector<bool> is_dropped(chosen_.size());
    std::map<std::string, std::size_t> kept_of;
    for (const auto& [place, members] : groups) {
      if (members.size() < 2) continue;
      const std::size_t kept = *std::ranges::min_element(members, [&](std::size_t a, std::size_t b) {
        return std::pair(is_tied_head(chosen_[a].name), std::string_view(chosen_[a].name)) <
               std::pair(is_tied_head(chosen_[b].name), std::string_view(chosen_[b].name));
      });
      for (const std::size_t i : members) {
        if (i == kept) continue;
        is_dropped[i] = true;
        kept_of[chosen_[i].name] = kept;
      }
    }
    for (const auto& [name, kept] : kept_of) {
      edited_.report.shared.emplace_back(name, chosen_[kept].name);
      edited_.metadata[edited_.source(chosen_[kept]).file].emplace_back(name, chosen_[kept].name);
    }
    std::vector<EditedTensor> rest;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (!is_dropped[i]) rest.push_back(std::move(chosen_[i]));
    }
    chosen_ = std::move(rest);
  }

  // Returns the checkpoint's own entry for a tensor of the set. The set has the same order, but omits some entries.
  const pytorch::Tensor* original(const pytorch::Document& document, safetensors::TensorRef ref) {
    std::size_t& at = cursor_[ref.file];
    const safetensors::Tensor& tensor = edited_.set().tensor(ref);
    for (; at < document.tensors.size(); ++at) {
      if (std::string_view(document.tensors[at].name).ends_with(tensor.name) &&
          document.tensors[at].pickle_offset == tensor.entry_offset) {
        return &document.tensors[at++];
      }
    }
    return nullptr;
  }

  EditedSet& edited_;
  std::vector<EditedTensor> chosen_;
  std::map<u32, std::size_t> cursor_;  // by file: index into its tensors
};

EditedTensor as_stored(const Tensor& source, std::size_t origin) {
  EditedTensor tensor;
  tensor.name = source.name;
  tensor.ne.assign(source.ne.begin(), source.ne.end());
  tensor.type = *source.type;
  tensor.origin = origin;
  const u64 units = tensor.ne.empty() ? 1 : tensor.ne.back();
  tensor.unit = units == 0 ? 1 : std::max<u64>(tensor.elements() / units, 1);
  tensor.parts.push_back(whole_part(origin, units));
  return tensor;
}

// Finds the tensors of quantised modules, also in files without a config.json, whose modules are then not known.
Followers followers_of(const SafetensorsModel& model) {
  Followers found;
  const std::size_t count = model.set.tensors.size();
  found.leader.assign(count, no_place);
  found.module_end.assign(count, 0);
  const Modules& modules = model.modules;
  std::map<std::string_view, std::size_t, std::less<>> codes_of;
  for (const Module& module : modules.list) {
    if (!module.quantized || module.weight() == no_tensor) continue;
    found.module_end[module.weight()] = std::max<std::size_t>(module.path.size(), 1);
    codes_of.emplace(module.path, module.weight());
    module.for_each_part([&](std::size_t part) { found.leader[part] = module.weight(); });
  }
  if (codes_of.empty()) return found;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view name = model.set.tensor(model.set.tensors[i]).name;
    const std::size_t dot = name.rfind('.');
    if (dot == name.npos || found.is_quantized(i) || !is_activation_scale(name.substr(dot + 1))) continue;
    const auto codes = codes_of.find(name.substr(0, dot));
    if (codes != codes_of.end()) found.leader[i] = codes->second;
  }
  return found;
}

Status check_source(EditedSet& edited, const std::string& input) {
  MU_ASSIGN(const CheckedModel checked, rules_of(edited.model.format).check(edited.model, 1));
  const Findings found = checked.findings.findings();
  if (const Finding* broken = first_container_error(found)) return tl::make_unexpected(with_path(*broken, input));
  for (const Finding& finding : found) {
    // Tensors of unknown types cannot be copied, because their size in bytes is unknown.
    if (finding.code == "st-dtype") return tl::make_unexpected(with_path(finding, input));
    if (finding.code.starts_with("pt-") && finding.severity != Severity::error) edited.report.remarks.add(finding);
  }
  return {};
}

// Reads a file beside the weights for changes. A broken one is copied; operations that need it refuse.
Status read_text(const EditedSet& edited, const char* name, std::optional<hf::ConfigEdit>& out) {
  if (!edited.is_directory()) return {};
  MU_ASSIGN(const auto file, open_side_file(edited.model.safetensors->folder, name));
  if (file == nullptr) return {};
  constexpr u64 most = u64{64} << 20;
  if (file->file_size() > most) return input_error("json-too-large", "is too large", {}, {}, file->name());
  std::string text(static_cast<std::size_t>(file->file_size()), '\0');
  MU_TRY(file->read_exact(0, std::as_writable_bytes(std::span(text))));
  if (auto edit = hf::ConfigEdit::parse(std::move(text), file->name())) out = std::move(*edit);
  return {};
}

}  // namespace

RecipePart whole_part(std::size_t origin, u64 units) {
  RecipePart part;
  part.source = origin;
  part.from = part.to = arch::whole_view(units);
  return part;
}

const hf::ConfigEdit* EditedSet::changed_text(std::string_view name) const {
  const std::optional<hf::ConfigEdit>& edit = name == "config.json" ? config : quantizer;
  const bool is_edited = name == "config.json" || name == "hf_quant_config.json";
  return is_edited && edit && edit->is_changed() ? &*edit : nullptr;
}

std::vector<std::size_t> EditedSet::places() const {
  std::vector<std::size_t> places(model.catalog().tensors.size(), no_place);
  for (std::size_t i = 0; i < tensors.size(); ++i) places[tensors[i].origin] = i;
  return places;
}

Result<EditedSet> open_edited_set(const OpenOptions& options) {
  MU_ASSIGN(PathProbe probe, probe_path(options.input, options.links));
  if (!probe.format) return tl::make_unexpected(unknown_format(probe));
  probe.ignore_index = options.ignore_index;
  EditedSet edited;
  MU_ASSIGN(edited.model, open_model(std::move(probe)));
  if (!edited.model.safetensors) {
    return input_error(
        "pt2st-input",
        fmt::format("is {}, not in safetensors or a PyTorch checkpoint", format_info(edited.model.format).noun), {}, {},
        options.input);
  }
  MU_TRY(check_source(edited, options.input));
  SafetensorsModel& opened = *edited.model.safetensors;
  if (!opened.has_modules) {
    opened.modules = find_stored_modules(tensor_refs(opened.set), opened.quantization, opened.foreign);
    opened.has_modules = true;
  }
  edited.followers = followers_of(opened);
  edited.file_count = static_cast<std::size_t>(std::ranges::count_if(opened.set.files, [](const auto& file) {
    return !file.is_apart || file.base_name.find('/') == std::string::npos;
  }));
  const Catalog& catalog = edited.model.catalog();
  edited.tensors.reserve(opened.set.tensors.size());
  for (std::size_t i = 0; i < opened.set.tensors.size(); ++i) {
    if (opened.set.tensors[i].file < edited.file_count) edited.tensors.push_back(as_stored(catalog.tensors[i], i));
  }
  for (std::size_t i = 0; i < edited.file_count; ++i) {
    safetensors::OutMetadata& metadata = edited.metadata.emplace_back();
    if (opened.set.has_checkpoints) metadata.emplace_back("format", "pt");
    for (const safetensors::MetadataEntry& entry : opened.set.files[i].document.metadata) {
      metadata.emplace_back(entry.key, entry.value);
    }
  }
  edited.is_metadata_changed.assign(edited.file_count, opened.set.has_checkpoints);
  if (opened.set.has_checkpoints) {
    CheckpointTensors(edited).choose();
    if (edited.tensors.empty()) return input_error("pt2st-input", "holds no tensors", {}, {}, options.input);
  }
  MU_TRY(read_text(edited, "config.json", edited.config));
  MU_TRY(read_text(edited, "hf_quant_config.json", edited.quantizer));
  return edited;
}

}  // namespace modelutils::to_safetensors
