#include "convert/requantize/source.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "arch/facts.h"
#include "arch/projectors.h"
#include "base/os/files.h"
#include "base/path.h"
#include "convert/to_gguf/adapter_to_gguf.h"
#include "convert/to_gguf/keys.h"
#include "convert/to_gguf/plan.h"
#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "formats/gguf/split_set.h"
#include "io/remote_address.h"
#include "model/catalog.h"
#include "rules/gguf/component_rules.h"
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

// Of a list with one number for each layer, the first counts.
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
  static Result<std::unique_ptr<Source>> open(const std::string& path, const std::vector<adapter::Wanted>& adapters) {
    auto source = std::make_unique<GgufSource>();
    MU_TRY(source->read(path));
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
    // The factor stays in the file: it brings the values into the range of NVFP4's scales. What no adapter changes is
    // stored as it was, to the bit.
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

  // Values as the model means them: what is stored times the factor next to it, if there is one.
  void multiply(std::size_t tensor, u64 first, std::span<float> values) const {
    if (factors_[tensor].empty()) return;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= factor_at(tensor, first, i);
  }

  // The factor next to a tensor that is merged: one number, or one for each expert.
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
    if (found == nullptr) return refuse("is not whole in the file");
    const bool fits = found->ne.size() == 1 && (found->ne[0] == 1 || (ne.size() == 3 && found->ne[0] == ne[2]));
    if (!fits || found->type != TensorType::F32) return refuse("is not one F32 factor, or one for each expert");
    std::vector<float>& factors = factors_[tensor];
    factors.resize(static_cast<std::size_t>(found->ne[0]));
    MU_TRY(catalog_.read(*found, 0, std::as_writable_bytes(std::span(factors))));
    const bool divides = std::ranges::all_of(factors, [](float factor) { return std::isnormal(factor); });
    return divides ? Status() : refuse("has a factor that cannot be divided by");
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

  Status read(const std::string& path) {
    MU_ASSIGN(set_, gguf::open_set(path));
    MU_TRY(arch::refuse_image_model(set_));
    const bool is_pipe = set_.files.front().source->is_pipe();
    for (const gguf::SetFile& file : set_.files) {
      if (!is_pipe) inputs_.push_back(file.path);
    }
    if (is_pipe && gguf::lone_part(set_)) {
      return pipe_error("delivers only one part of a model; save all parts to files first", path);
    }
    const Findings findings = gguf_structure_rules(set_).findings();
    if (const Finding* broken = first_error(findings)) return tl::make_unexpected(with_path(*broken, path));
    remarks_.add_all(leading_warnings(findings));
    const Findings of_loader = gguf_loader_rules(set_).findings();
    if (const Finding* broken = first_error(of_loader)) return tl::make_unexpected(with_path(*broken, path));
    remarks_.add_all(prediction_findings(set_));
    const gguf::SetFile& head = set_.files.front();
    if (head.document.big_endian) {
      return input_error("quantize-big-endian", "is a big-endian file; only little-endian files can be quantised", {},
                         {}, path);
    }
    catalog_ = catalog_of(set_);
    if (catalog_.tensors.empty()) return input_error("quantize-no-tensors", "has no tensors", {}, {}, path);
    tensors_ = catalog_.tensors;
    MU_ASSIGN(keys_, keys_of(*head.source, head.document));
    MU_ASSIGN(const arch::Facts facts, arch::read_facts(set_));
    model_ = mix_model_of(facts);
    alignment_ = head.document.alignment;
    if (!is_pipe) return {};
    only_order_.resize(tensors_.size());
    std::iota(only_order_.begin(), only_order_.end(), std::size_t{0});
    std::ranges::stable_sort(only_order_, {}, [&](std::size_t i) { return catalog_.tensors[i].offset; });
    head.source->go_forward();
    return {};
  }

  static tl::unexpected<Error> pipe_error(std::string message, const std::string& path) {
    return input_error("io-pipe", std::move(message), {}, {}, path);
  }

  gguf::SplitSet set_;
  Catalog catalog_;
  std::vector<std::shared_ptr<const adapter::TensorMerge>> merges_;  // by tensor; empty without adapters
  std::vector<std::vector<float>> factors_;                          // ".scale", by tensor that is merged
};

// The GGUF that mlx2gguf would make, but for what has no exact type, which is F32: its rows are made when asked for.
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

 private:
  Status read(const std::string& path, const to_gguf::MlxToGgufOptions& conversion) {
    to_gguf::MlxToGgufOptions options = conversion;
    options.directory = path;
    options.output = "-";  // one file
    options.repack.fallback = TensorType::F32;
    MU_ASSIGN(plan_, to_gguf::plan_gguf(options));
    const gguf::SetFile& planned = plan_.target.gguf->files.front();
    const gguf::Document& document = planned.document;
    for (const gguf::TensorInfo& info : document.tensors) tensors_.push_back(tensor_of(document, info));
    MU_ASSIGN(keys_, keys_of(*planned.source, document));
    MU_ASSIGN(const arch::Facts facts, arch::read_facts(gguf::Index(document), planned));
    model_ = mix_model_of(facts);
    alignment_ = document.alignment;
    remarks_ = plan_.report.remarks;
    if (is_address(plan_.model->directory)) return {};
    os::list(plan_.model->directory, [&](std::string_view name, os::EntryKind) {
      inputs_.push_back(path_in(plan_.model->directory, name));
      return true;
    });
    return {};
  }

  to_gguf::GgufPlan plan_;
  mutable std::vector<StoredRows> scratch_;  // one for each thread
};

}  // namespace

u64 rows_of(const Tensor& tensor) {
  u64 rows = 1;
  for (std::size_t i = 1; i < tensor.ne.size(); ++i) rows *= tensor.ne[i];
  return rows;
}

u64 row_size_of(const Tensor& tensor) {
  return row_bytes(*tensor.type, tensor.ne.front()).value_or(0);
}

Result<std::unique_ptr<Source>> open_model_source(const std::string& path, const to_gguf::MlxToGgufOptions& conversion,
                                                  unsigned threads) {
  if (is_remote_folder(path) || os::is_folder(path) || path.ends_with(".safetensors.index.json")) {
    return DirectorySource::open(path, conversion, threads);
  }
  return GgufSource::open(path, conversion.adapters);
}

}  // namespace modelutils::requantize
