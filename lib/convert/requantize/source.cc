#include "convert/requantize/source.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "arch/facts.h"
#include "arch/image_models.h"
#include "arch/projectors.h"
#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "convert/to_gguf/adapter_to_gguf.h"
#include "convert/to_gguf/image_source.h"
#include "convert/to_gguf/keys.h"
#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "formats/gguf/split_set.h"
#include "io/remote_address.h"
#include "model/catalog.h"
#include "rules/gguf/component_rules.h"
#include "rules/gguf/image_rules.h"
#include "rules/gguf/rules.h"
#include "rules/safetensors/rules.h"
#include "tensor/dequantize.h"

namespace modelutils::requantize {

namespace {

Result<std::vector<gguf::OutKey>> keys_of(const ByteSource& source, const gguf::Document& document) {
  std::vector<gguf::OutKey> keys;
  for (const gguf::KeyValue& key : document.keys) {
    if (gguf::is_split_key(key.key)) continue;
    MU_ASSIGN(gguf::OutKey copied, gguf::copy_key(source, document, key));
    keys.push_back(std::move(copied));
  }
  return keys;
}

// If the value is a list with one number per layer, the first is returned.
u64 first_number(const arch::Fact& fact, u64 otherwise) {
  const arch::LayerNumbers* list = fact.list();
  if (list == nullptr) return fact.number().value_or(otherwise);
  return list->values.empty() ? otherwise : static_cast<u64>(list->values.front());
}

quantize::MixModel mix_model_of(const arch::Facts& facts) {
  quantize::MixModel model;
  model.architecture = facts.architecture;
  model.layers = facts.layers.number().value_or(0);
  model.experts = facts.experts.number().value_or(0);
  model.heads = first_number(facts.heads, 0);
  model.kv_heads = first_number(facts.kv_heads, model.heads);
  return model;
}

class GgufSource : public Source {
 public:
  /// Returns nullptr for an image model with the names of diffusers, whose tensors are parts of the reference's.
  static Result<std::unique_ptr<Source>> open(const std::string& path, const to_gguf::MlxToGgufOptions& conversion) {
    const std::vector<adapter::Wanted>& adapters = conversion.adapters;
    auto source = std::make_unique<GgufSource>();
    MU_TRY(source->read(path, conversion));
    if (source->has_names_of_diffusers_) return std::unique_ptr<Source>();
    if (!adapters.empty() && !source->only_order_.empty()) {
      return pipe_error("--lora reads the model twice; save it to a file first", path);
    }
    if (!adapters.empty()) MU_TRY(source->merge(path, adapters));
    return source;
  }

  std::string form_text(std::size_t tensor) const override {
    std::string text(type_name(*catalog_.tensors[tensor].type));
    return is_merged(tensor) ? text + " merged with " + merges_[tensor]->text() : text;
  }

  Status read_rows(std::size_t tensor, u64 first, u64 count, MutableBytes out, unsigned) const override {
    const Tensor& found = catalog_.tensors[tensor];
    if (!is_merged(tensor)) {
      return catalog_.read(found, first * row_size_of(found), out);
    }
    std::vector<float> values(static_cast<std::size_t>(count * found.ne.front()));
    MU_TRY(read_values(tensor, first, count, values));
    const std::vector<float> stored = factors_[tensor].empty() ? std::vector<float>() : values;
    multiply(tensor, first, values);
    const std::vector<float> before = factors_[tensor].empty() ? std::vector<float>() : values;
    MU_TRY(merges_[tensor]->apply(first, count, values));
    // The factor stays in the file, because it brings the values into the range of NVFP4's scales. Values that no
    // adapter changes are stored bit for bit as before.
    for (std::size_t i = 0; i < stored.size(); ++i) {
      values[i] = values[i] == before[i] ? stored[i] : values[i] / factor_at(tensor, first, i);
    }
    std::memcpy(out.data(), values.data(), out.size());
    return {};
  }

 private:
  bool is_merged(std::size_t tensor) const { return !merges_.empty() && merges_[tensor] != nullptr; }

  Status read_values(std::size_t tensor, u64 first, u64 count, std::span<float> values) const {
    const Tensor& found = catalog_.tensors[tensor];
    const u64 stored_row = row_size_of(found);
    std::vector<std::byte> stored(static_cast<std::size_t>(count * stored_row));
    MU_TRY(catalog_.read(found, first * stored_row, stored));
    dequantize(*found.type, stored, values);
    return {};
  }

  float factor_at(std::size_t tensor, u64 first_row, std::size_t element) const {
    const std::span<const u64> ne = tensors_[tensor].ne;
    const std::vector<float>& factors = factors_[tensor];
    return factors.size() == 1 ? factors.front()
                               : factors[static_cast<std::size_t>((first_row + element / ne[0]) / ne[1])];
  }

  // Multiplies stored values by the tensor's ".scale" factor, if it has one.
  void multiply(std::size_t tensor, u64 first, std::span<float> values) const {
    if (factors_[tensor].empty()) return;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= factor_at(tensor, first, i);
  }

  // Reads the ".scale" factor of a tensor to be merged: one number, or one per expert.
  Status read_factors(std::size_t tensor, const std::string& path) {
    const std::string_view name = tensors_[tensor].name;
    const std::string scale = std::string(name.substr(0, name.rfind('.'))) + ".scale";
    const Tensor* const found = catalog_.find(scale);
    const std::span<const u64> ne = tensors_[tensor].ne;
    const auto refuse = [&](std::string_view because) {
      return input_error(
          "adapter-pair",
          fmt::format("{}, so adapters cannot be merged into {}; merge into the model's directory (mlx2gguf)", because,
                      name),
          at_tensor(scale), {}, path);
    };
    if (found == nullptr) return refuse("is incomplete in the file");
    const bool fits = found->ne.size() == 1 && (found->ne[0] == 1 || (ne.size() == 3 && found->ne[0] == ne[2]));
    if (!fits || found->type != TensorType::F32) return refuse("is not one F32 factor, or one for each expert");
    std::vector<float>& factors = factors_[tensor];
    factors.resize(static_cast<std::size_t>(found->ne[0]));
    MU_TRY(catalog_.read(*found, 0, std::as_writable_bytes(std::span(factors))));
    const bool divides = std::ranges::all_of(factors, [](float factor) { return std::isnormal(factor); });
    return divides ? Status() : refuse("has a factor that is 0, subnormal or not finite");
  }

  // Tensors changed by adapters are F32 from here on.
  Status merge(const std::string& path, const std::vector<adapter::Wanted>& adapters) {
    MU_ASSIGN(const adapter::Base base, to_gguf::read_base(path));
    MU_ASSIGN(auto merges, adapter::plan_merge(adapters, base, open_adapter));
    merges_.resize(tensors_.size());
    factors_.resize(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const auto merge = merges.find(std::string(tensors_[i].name));
      if (merge == merges.end()) continue;
      const bool is_vector = tensors_[i].ne.size() < 2 && !merge->second->is_of_pairs();
      if (is_vector || !has_decoder(*tensors_[i].type)) {
        return input_error("adapter-pair", "cannot be merged into a GGUF; merge into the model's directory (mlx2gguf)",
                           at_tensor(tensors_[i].name), {}, path);
      }
      if (base.scaled.contains(std::string(tensors_[i].name))) MU_TRY(read_factors(i, path));
      merge->second->set_base([this, i](u64 first, u64 count, std::span<float> values) -> Status {
        MU_TRY(read_values(i, first, count, values));
        multiply(i, first, values);
        return {};
      });
      merges_[i] = std::move(merge->second);
      merges.erase(merge);
      tensors_[i].type = TensorType::F32;
    }
    if (!merges.empty()) {
      return input_error("adapter-target", "is changed by the adapter, but the model has no such tensor",
                         at_tensor(merges.begin()->first), {}, path);
    }
    for (gguf::OutKey& key : to_gguf::adapter_keys(adapters)) {
      std::erase_if(keys_, [&](const gguf::OutKey& old) { return old.key == key.key; });
      keys_.push_back(std::move(key));
    }
    return {};
  }

  Status read(const std::string& path, const to_gguf::MlxToGgufOptions& conversion) {
    MU_ASSIGN(set_, gguf::open_set(path, OutsideLinks::warn, conversion.opened));
    MU_ASSIGN(const arch::ImageLayout image, find_image(conversion));
    const bool is_pipe = set_.files.front().source->is_pipe();
    for (const gguf::SetFile& file : set_.files) {
      if (!is_pipe) inputs_.push_back(file.path);
    }
    if (is_pipe && gguf::lone_part(set_)) {
      return pipe_error("delivers only one part of a model; save all parts to files first", path);
    }
    const Findings findings = gguf_structure_rules(set_).findings();
    if (const Finding* broken = first_error(findings)) return tl::make_unexpected(with_path(*broken, path));
    MU_TRY(refuse_foreign_types(set_));
    remarks_.add_all(leading_warnings(findings));
    const Findings of_loader = gguf_loader_rules(set_).findings();
    if (const Finding* broken = image ? first_image_error(of_loader) : first_error(of_loader)) {
      return tl::make_unexpected(with_path(*broken, path));
    }
    if (!image) remarks_.add_all(prediction_findings(set_));
    const gguf::SetFile& head = set_.files.front();
    if (head.document.big_endian) {
      return input_error("quantize-big-endian", "is a big-endian file; only little-endian files can be quantised", {},
                         {}, path);
    }
    catalog_ = catalog_of(set_);
    has_names_of_diffusers_ = image.names != nullptr;
    if (has_names_of_diffusers_ && is_pipe) {
      return pipe_error("delivers an image model with the names of diffusers; save it to a file first", path);
    }
    if (has_names_of_diffusers_) return {};
    count_bytes(catalog_);
    if (image) leave_out_parts(image);
    if (catalog_.tensors.empty()) return input_error("quantize-no-tensors", "has no tensors", {}, {}, path);
    tensors_ = catalog_.tensors;
    for (Tensor& tensor : tensors_) tensor.name.remove_prefix(image.prefix.size());
    MU_ASSIGN(keys_, keys_of(*head.source, head.document));
    alignment_ = head.document.alignment;
    if (image) {
      rename_shapes(image);
      MU_TRY(take_image(*image.model, conversion, path));
    } else {
      MU_ASSIGN(const arch::Facts facts, arch::read_facts(set_));
      model_ = mix_model_of(facts);
    }
    if (model_.architecture == "clip") find_staying(gguf::Index(head.document));
    if (!is_pipe) return {};
    only_order_.resize(tensors_.size());
    std::iota(only_order_.begin(), only_order_.end(), std::size_t{0});
    std::ranges::stable_sort(only_order_, {}, [&](std::size_t i) { return catalog_.tensors[i].offset; });
    head.source->go_forward();
    return {};
  }

  // Recognises an image model. Refuses one that is not understood.
  Result<arch::ImageLayout> find_image(const to_gguf::MlxToGgufOptions& conversion) {
    arch::ImageLayout image = arch::image_layout(set_);
    if (!conversion.image_architecture.empty()) {
      const arch::ImageModel* stated = arch::find_image_model(conversion.image_architecture);
      if (stated == nullptr) {
        return usage_error(
            fmt::format("--arch takes one of {}, not '{}'", arch::image_model_names(), conversion.image_architecture));
      }
      to_gguf::warn_of_other_rules(image.model, *stated, remarks_);
      image.model = stated;
    }
    if (!image) {
      if (conversion.max_dims) return usage_error("--arch and --max-dims are for image and video models");
      MU_TRY(arch::refuse_image_model(set_));
      return arch::ImageLayout{};
    }
    if (!conversion.adapters.empty()) return usage_error("--lora cannot be combined with an image or video model");
    return image;
  }

  // Removes the tensors of other models in the file.
  void leave_out_parts(const arch::ImageLayout& layout) {
    std::map<std::string_view, u64> counts;
    for (const Tensor& tensor : catalog_.tensors) {
      if (!layout.has(tensor.name)) ++counts[arch::image_part_of(tensor.name)];
    }
    std::erase_if(catalog_.tensors, [&](const Tensor& tensor) { return !layout.has(tensor.name); });
    for (const auto& [part, count] : counts) {
      remarks_.note(Scope::model, "convert-left-out",
                    fmt::format("'{}': {} {} not part of the diffusion model and left out", part,
                                counted(count, "tensor"), verb(count, "is", "are")));
    }
  }

  // Keys of original shapes name tensors, which lose the prefix here.
  void rename_shapes(const arch::ImageLayout& layout) {
    const auto tensor_of_key = [](const gguf::OutKey& key) {
      return std::string_view(key.key).substr(arch::image_shape_key.size());
    };
    std::erase_if(keys_, [&](const gguf::OutKey& key) {
      return key.key.starts_with(arch::image_shape_key) && !layout.has(tensor_of_key(key));
    });
    for (gguf::OutKey& key : keys_) {
      if (!key.key.starts_with(arch::image_shape_key)) continue;
      key.key = std::string(arch::image_shape_key) + std::string(tensor_of_key(key).substr(layout.prefix.size()));
    }
  }

  // Programs for image models go by general.architecture, which some files lack.
  Status take_image(const arch::ImageModel& model, const to_gguf::MlxToGgufOptions& conversion,
                    const std::string& path) {
    be_image_model(model);
    std::erase_if(keys_, [](const gguf::OutKey& key) { return key.key == "general.architecture"; });
    keys_.insert(keys_.begin(), gguf::make_key_string("general.architecture", model.name));
    const auto five = std::ranges::find_if(tensors_, [](const Tensor& tensor) { return tensor.ne.size() > 4; });
    if (five != tensors_.end() && conversion.max_dims == u64{4}) MU_TRY(fold_dimensions(path));
    const auto six = std::ranges::find_if(tensors_, [](const Tensor& tensor) {
      return tensor.ne.size() > arch::most_image_dimensions || tensor.ne.empty();
    });
    if (six == tensors_.end()) return {};
    return input_error("convert-shape", fmt::format("has {} dimensions", six->ne.size()), at_tensor(six->name), {},
                       path);
  }

  Status fold_dimensions(const std::string& path) {
    for (Tensor& tensor : tensors_) {
      if (tensor.ne.size() < arch::most_image_dimensions) continue;
      if (std::ranges::any_of(tensor.ne, [](u64 size) { return size > std::numeric_limits<i32>::max(); })) {
        return input_error("convert-shape", "has a dimension above 2^31 - 1, which its key cannot hold",
                           at_tensor(tensor.name), {}, path);
      }
      const std::string name = std::string(arch::image_shape_key) + std::string(tensor.name);
      std::erase_if(keys_, [&](const gguf::OutKey& key) { return key.key == name; });
      keys_.push_back(gguf::make_key_i32s(name, std::vector<i32>(tensor.ne.rbegin(), tensor.ne.rend())));
      tensor.ne =
          catalog_.kept->keep(std::vector<u64>{tensor.ne[0], tensor.ne[1], tensor.ne[2], tensor.ne[3] * tensor.ne[4]});
    }
    return {};
  }

  void find_staying(const gguf::Index& index) {
    for (const Tensor& tensor : tensors_) {
      const bool is_audio = tensor.name.starts_with("a.") || tensor.name.starts_with("mm.a.");
      const arch::Encoder& encoder = is_audio ? arch::encoders.back() : arch::encoders.front();
      const auto type = arch::projector_type(index, encoder);
      const arch::Projector* row = type ? arch::find_projector(*type, encoder, index) : nullptr;
      stays_.push_back(arch::tower_types(row, tensor.name, tensor.ne) != arch::TowerTypes::any);
    }
  }

  static tl::unexpected<Error> pipe_error(std::string message, const std::string& path) {
    return input_error("io-pipe", std::move(message), {}, {}, path);
  }

  bool has_names_of_diffusers_ = false;
  gguf::SplitSet set_;
  Catalog catalog_;
  std::vector<std::shared_ptr<const adapter::TensorMerge>> merges_;  // by tensor; empty without adapters
  std::vector<std::vector<float>> factors_;                          // ".scale", by tensor that is merged
};

// The GGUF that mlx2gguf would make of a directory or an image model, except that tensors without an exact type are
// F32. Rows are computed on request.
class DirectorySource : public Source {
 public:
  static Result<std::unique_ptr<Source>> open(const std::string& path, const to_gguf::MlxToGgufOptions& conversion,
                                              unsigned threads) {
    auto source = std::make_unique<DirectorySource>();
    source->scratch_.resize(std::max(threads, 1u));
    MU_TRY(source->read(path, conversion));
    return source;
  }

  std::string form_text(std::size_t tensor) const override { return plan_.forms[tensor].source_form; }
  u64 granule(std::size_t tensor) const override { return plan_.stream[tensor].granule; }

  Status read_rows(std::size_t tensor, u64 first, u64 count, MutableBytes out, unsigned thread) const override {
    return to_gguf::encode_rows(*plan_.model, plan_.map.tensors[tensor], plan_.forms[tensor], first, count, out,
                                scratch_[thread], nullptr);
  }

  to_gguf::GgufPlan* projector() override { return projector_ ? &*projector_ : nullptr; }

 private:
  Status read(const std::string& path, const to_gguf::MlxToGgufOptions& conversion) {
    to_gguf::MlxToGgufOptions options = conversion;
    options.directory = path;
    options.output = "-";  // one file
    options.repack.fallback = TensorType::F32;
    options.has_fallback = true;
    MU_ASSIGN(plan_, to_gguf::plan_gguf(options));
    if (!options.with_projector.empty()) {
      options.output = conversion.output;
      MU_ASSIGN(projector_, to_gguf::plan_projector_beside(options, plan_.model->model));
    }
    const gguf::SetFile& planned = plan_.target.gguf->files.front();
    const gguf::Document& document = planned.document;
    for (const gguf::TensorInfo& info : document.tensors) tensors_.push_back(tensor_of(document, info));
    MU_ASSIGN(keys_, keys_of(*planned.source, document));
    alignment_ = document.alignment;
    count_bytes(plan_.model->model->catalog());
    remarks_ = plan_.report.remarks;
    if (plan_.image) {
      be_image_model(*plan_.image->architecture);
      kept_ = plan_.image->kept;
      only_order_ = plan_.image->only_order;
      inputs_ = plan_.image->inputs;
      return conversion.is_gguf ? add_source_keys(path) : Status();
    }
    MU_ASSIGN(const arch::Facts facts, arch::read_facts(gguf::Index(document), planned));
    model_ = mix_model_of(facts);
    if (is_address(plan_.model->directory)) return {};
    os::list(plan_.model->directory, [&](std::string_view name, os::EntryKind) {
      inputs_.push_back(path_in(plan_.model->directory, name));
      return true;
    });
    return {};
  }

  // Adds the keys of a GGUF that the plan does not set.
  Status add_source_keys(const std::string& path) {
    const gguf::SetFile& first = plan_.model->model->gguf->files.front();
    MU_ASSIGN(std::vector<gguf::OutKey> keys, keys_of(*first.source, first.document));
    for (gguf::OutKey& key : keys) {
      if (key.key.starts_with(arch::image_shape_key)) {
        return input_error("convert-image-model",
                           "states the shape of a tensor that gets another name; write the model back with gguf2mlx "
                           "and quantise that",
                           at_key(key.key), {}, path);
      }
      const bool is_set = std::ranges::any_of(keys_, [&](const gguf::OutKey& own) { return own.key == key.key; });
      if (!is_set) keys_.push_back(std::move(key));
    }
    return {};
  }

  to_gguf::GgufPlan plan_;
  std::optional<to_gguf::GgufPlan> projector_;
  mutable std::vector<StoredRows> scratch_;  // one for each thread
};

}  // namespace

u64 rows_of(const Tensor& tensor) {
  u64 rows = 1;
  for (std::size_t i = 1; i < tensor.ne.size(); ++i) rows *= tensor.ne[i];
  return rows;
}

void Source::be_image_model(const arch::ImageModel& architecture) {
  model_ = {};
  model_.architecture = architecture.name;
  model_.is_image = true;
  model_.outer_blocks = architecture.outer_blocks;
  for (const Tensor& tensor : tensors_) {
    stays_.push_back(arch::is_in_image_list(architecture.stays, tensor.name));
  }
}

void Source::count_bytes(const Catalog& catalog) {
  for (const Tensor& tensor : catalog.tensors) tensor_bytes_ += tensor.bytes;
  for (const CatalogFile& file : catalog.files) {
    const std::optional<u64> size = file.source->size();
    if (!size) return void(file_bytes_ = 0);
    file_bytes_ += *size;
  }
}

u64 row_size_of(const Tensor& tensor) {
  return row_bytes(*tensor.type, tensor.ne.front()).value_or(0);
}

Result<std::unique_ptr<Source>> open_model_source(const std::string& path, const to_gguf::MlxToGgufOptions& conversion,
                                                  unsigned threads) {
  if (is_remote_folder(path) || os::is_folder(path) || path.ends_with(".safetensors.index.json")) {
    return DirectorySource::open(path, conversion, threads);
  }
  to_gguf::MlxToGgufOptions options = conversion;
  MU_ASSIGN(options.opened, open_once(path));
  MU_ASSIGN(const auto image, to_gguf::find_image_source(path, options.links, options.opened));
  if (image) return DirectorySource::open(path, options, threads);
  if (!conversion.with_projector.empty()) {
    return input_error("convert-not-directory", "is not a directory; a projector is written from a model's directory",
                       {}, {}, path);
  }
  MU_ASSIGN(std::unique_ptr<Source> source, GgufSource::open(path, options));
  if (source != nullptr) return source;
  options.is_gguf = true;
  return DirectorySource::open(path, options, threads);
}

}  // namespace modelutils::requantize
