#include "compare/extract_adapter.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/not_found.h"
#include "compare/low_rank.h"
#include "convert/to_directory/adapter_modules.h"
#include "formats/safetensors/parse.h"
#include "io/atomic_directory.h"
#include "io/output_place.h"
#include "model/model.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

constexpr std::string_view code = "adapter-extract";
constexpr std::string_view suffix = ".weight";
constexpr std::string_view weights_name = "adapter_model.safetensors";
constexpr std::string_view config_name = "adapter_config.json";
constexpr u64 elements_at_once = u64{1} << 20;

class Extractor {
 public:
  Extractor(const ExtractOptions& options, Model base, Model finetune)
      : options_(options), base_(std::move(base)), finetune_(std::move(finetune)) {}

  Result<ExtractReport> run(Progress& progress) {
    report_.base = options_.base;
    report_.finetune = options_.finetune;
    report_.output = options_.output;
    report_.rank = options_.rank;
    MU_TRY(find_changes(progress));
    MU_TRY(lay_out());
    MU_TRY(check_free_space(options_.output, layout_.file_size));
    DirectoryOptions wanted;
    wanted.force = options_.force;
    wanted.is_ours = [](std::string_view name) { return name == weights_name || name == config_name; };
    wanted.inputs = {options_.base, options_.finetune};
    MU_ASSIGN(AtomicDirectory directory, AtomicDirectory::create(options_.output, wanted));
    progress.restart("extracting", total_);
    if (Status written = write(directory, progress); !written) {
      return tl::make_unexpected(directory.under_final_name(std::move(written.error())));
    }
    MU_TRY(directory.commit());
    return std::move(report_);
  }

 private:
  struct Change {
    const Tensor* base = nullptr;
    const Tensor* finetune = nullptr;
    to_directory::AdapterModule module;
  };

  bool is_ignored(std::string_view name) const {
    return std::ranges::any_of(options_.ignored_tensors,
                               [&](const std::string& glob) { return glob_match(glob, name); });
  }

  void left_out(std::string_view name, std::string message) {
    report_.remarks.warning(Scope::model, code, std::move(message), at_tensor(name));
  }

  // Finds the matrices that differ. Other differences become remarks.
  Status find_changes(Progress& progress) {
    u64 elements = 0;
    for (const Tensor& tensor : base_.catalog().tensors) elements += base_.elements_of(tensor);
    progress.restart("comparing", elements);
    for (const Tensor& tensor : base_.catalog().tensors) {
      if (!tensor.is_readable() || base_.is_part(tensor) || is_ignored(tensor.name)) continue;
      const Tensor* other = finetune_.find(tensor.name);
      if (other == nullptr) {
        left_out(tensor.name, "is not in the finetune");
        continue;
      }
      const std::span<const u64> ne = base_.ne_of(tensor);
      const std::span<const u64> other_ne = finetune_.ne_of(*other);
      if (!is_same_shape(ne, other_ne)) {
        left_out(tensor.name, fmt::format("has shape {}, in the finetune {}", shape_text(ne), shape_text(other_ne)));
        continue;
      }
      MU_ASSIGN(const bool differs, differ(tensor, *other));
      progress.advance(base_.elements_of(tensor));
      const bool is_matrix = ne.size() == 2 && tensor.name.ends_with(suffix);
      if (!differs) {
        report_.unchanged += is_matrix ? 1 : 0;
      } else if (!is_matrix) {
        left_out(tensor.name, "differs, but is not a module's matrix: an adapter cannot hold it");
      } else {
        Change& change = changes_.emplace_back();
        change.base = &tensor;
        change.finetune = other;
        change.module.name = tensor.name.substr(0, tensor.name.size() - suffix.size());
        change.module.in = ne[0];
        change.module.out = ne[1];
        change.module.is_embedding = base_.gguf_name(tensor) == "token_embd.weight";
        total_ += base_.elements_of(tensor);
      }
    }
    for (const Tensor& tensor : finetune_.catalog().tensors) {
      if (!tensor.is_readable() || finetune_.is_part(tensor) || is_ignored(tensor.name)) continue;
      if (base_.find(tensor.name) == nullptr) {
        left_out(tensor.name, "is not in the base");
      }
    }
    if (!changes_.empty()) return {};
    return input_error(std::string(code), "no matrix differs from the base's", {}, {}, options_.finetune);
  }

  // Reads both tensors in pieces and passes them to `take`, until it returns that it has enough.
  template <typename Take>
  Status read_both(const Tensor& a, const Tensor& b, Take&& take) const {
    const MatrixValues values_of_a = base_.values_of(a);
    const MatrixValues values_of_b = finetune_.values_of(b);
    const u64 elements = base_.elements_of(a);
    const u64 row = base_.ne_of(a).front();
    const u64 step = std::max<u64>(1, elements_at_once / row) * row;
    std::vector<float> of_a(static_cast<std::size_t>(std::min(step, elements)));
    std::vector<float> of_b(of_a.size());
    for (u64 first = 0; first < elements; first += step) {
      const auto count = static_cast<std::size_t>(std::min(step, elements - first));
      const std::span<float> values_a = std::span(of_a).first(count);
      const std::span<float> values_b = std::span(of_b).first(count);
      MU_TRY(values_of_a.read_values(first, values_a));
      MU_TRY(values_of_b.read_values(first, values_b));
      if (!take(first, values_a, values_b)) break;
    }
    return {};
  }

  Result<bool> differ(const Tensor& a, const Tensor& b) const {
    bool differs = false;
    MU_TRY(read_both(a, b, [&](u64, std::span<const float> of_a, std::span<const float> of_b) {
      differs = !std::ranges::equal(of_a, of_b);
      return !differs;
    }));
    return differs;
  }

  Status lay_out() {
    std::vector<safetensors::OutTensor> tensors;
    for (const Change& change : changes_) {
      const to_directory::AdapterModule& module = change.module;
      const std::string name = "base_model.model." + module.name;
      const bool is_table = module.is_embedding;
      // For an embedding table, A is [r, vocabulary] and B [width, r].
      tensors.push_back({name + (is_table ? ".lora_embedding_A" : ".lora_A.weight"),
                         TensorType::F32,
                         {options_.rank, is_table ? module.out : module.in}});
      tensors.push_back({name + (is_table ? ".lora_embedding_B" : ".lora_B.weight"),
                         TensorType::F32,
                         {is_table ? module.in : module.out, options_.rank}});
    }
    MU_ASSIGN(layout_, safetensors::layout({{"format", "pt"}}, tensors));
    report_.bytes = layout_.file_size;
    return {};
  }

  Result<LowRank> factors_of(const Change& change) const {
    std::vector<float> difference(static_cast<std::size_t>(base_.elements_of(*change.base)));
    bool is_finite = true;
    MU_TRY(read_both(*change.base, *change.finetune,
                     [&](u64 first, std::span<const float> of_base, std::span<const float> of_finetune) {
                       for (std::size_t i = 0; i < of_base.size(); ++i) {
                         const float value = of_finetune[i] - of_base[i];
                         difference[static_cast<std::size_t>(first) + i] = value;
                         is_finite = is_finite && std::isfinite(value);
                       }
                       return is_finite;
                     }));
    if (!is_finite) {
      return input_error(std::string(code), "has values or differences that are not finite",
                         at_tensor(change.base->name), {}, options_.finetune);
    }
    return low_rank(difference, change.module.out, change.module.in, options_.rank);
  }

  Status write(AtomicDirectory& directory, Progress& progress) {
    std::vector<AtomicOutput> files;
    MU_ASSIGN(AtomicOutput weights, directory.create_file(weights_name));
    MU_TRY(weights.append(std::as_bytes(std::span(layout_.header))));
    to_directory::AdapterConfigFacts facts;
    double kept = 0;
    double all = 0;
    for (const Change& change : changes_) {
      const to_directory::AdapterModule& module = change.module;
      MU_ASSIGN(LowRank found, factors_of(change));
      if (module.is_embedding) exchange(module, found);
      MU_TRY(weights.append(std::as_bytes(std::span<const float>(found.a))));
      MU_TRY(weights.append(std::as_bytes(std::span<const float>(found.b))));
      report_.tensors.push_back({module.name, module.out, module.in, found.error, found.energy});
      kept += found.energy * found.squares;
      all += found.squares;
      facts.modules.push_back({&module, options_.rank, 1.0});
      // The finetune has no head of its own, so its head changed like its embedding.
      facts.ties_head |= module.is_embedding && finetune_.find("output.weight") == nullptr;
      progress.advance(base_.elements_of(*change.base));
    }
    report_.energy = all == 0 ? 1 : kept / all;
    files.push_back(std::move(weights));
    MU_ASSIGN(AtomicOutput config, directory.create_file(config_name));
    const std::string text = to_directory::peft_adapter_config(facts);
    MU_TRY(config.append(std::as_bytes(std::span(text))));
    files.push_back(std::move(config));
    return directory.close_files(files);
  }

  // Turns [r, width] and [vocabulary, r] into A [r, vocabulary] and B [width, r].
  void exchange(const to_directory::AdapterModule& module, LowRank& found) const {
    const auto rank = static_cast<std::size_t>(options_.rank);
    const auto transposed = [](const std::vector<float>& from, std::size_t rows) {
      const std::size_t columns = from.size() / rows;
      std::vector<float> to(from.size());
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
      }
      return to;
    };
    std::vector<float> a = transposed(found.b, static_cast<std::size_t>(module.out));
    found.b = transposed(found.a, rank);
    found.a = std::move(a);
  }

  const ExtractOptions& options_;
  Model base_, finetune_;
  std::vector<Change> changes_;
  u64 total_ = 0;  // number of elements in the changed matrices
  safetensors::OutLayout layout_;
  ExtractReport report_;
};

}  // namespace

Result<ExtractReport> extract_adapter(const ExtractOptions& options, Progress& progress) {
  MU_ASSIGN(Model base, open_sound_model(options.base));
  MU_ASSIGN(Model finetune, open_sound_model(options.finetune));
  for (const auto& [model, path] : {std::pair(&base, &options.base), std::pair(&finetune, &options.finetune)}) {
    if (model->safetensors) continue;
    return input_error(std::string(code),
                       "is a GGUF, whose tensor names and row order differ from PEFT's; use the model's directory, or "
                       "make one (gguf2mlx --dequantize f32)",
                       {}, {}, *path);
  }
  return Extractor(options, std::move(base), std::move(finetune)).run(progress);
}

}  // namespace modelutils
