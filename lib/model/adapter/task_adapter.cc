#include "model/adapter/task_adapter.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "arch/encoder_rows.h"
#include "base/text.h"
#include "formats/hf/names.h"
#include "json/reader.h"
#include "tensor/types.h"

namespace modelutils::adapter {

namespace {

constexpr std::string_view between = ".parametrizations.weight.0.lora_";
constexpr std::string_view tokens_name = "word_embeddings";
constexpr std::string_view types_name = "token_type_embeddings";

class TaskReader {
 public:
  TaskReader(const SafetensorsModel& model, const arch::Names& names, std::string_view task)
      : set_(model.set), config_(*model.config), names_(names) {
    adapter_.path = set_.path;
    adapter_.task = task;
  }

  Result<Adapter> read() {
    MU_TRY(find_task());
    for (const safetensors::TensorRef& ref : set_.tensors) MU_TRY(sort(ref));
    for (const auto& [module, halves] : found_) MU_TRY(add_module(module, halves));
    MU_TRY(add_types());
    if (adapter_.modules.empty()) {
      return input_error("adapter-tensor", "has no adapters of tasks among its tensors", {}, {}, set_.path);
    }
    return std::move(adapter_);
  }

 private:
  struct Halves {
    const safetensors::Tensor* a = nullptr;
    const safetensors::Tensor* b = nullptr;
    const safetensors::ShardFile* file = nullptr;
  };

  tl::unexpected<Error> fail_config(std::string_view field, std::string message) const {
    return input_error("adapter-config", std::move(message), at_key(field), {}, config_.path);
  }
  tl::unexpected<Error> fail(std::string_view tensor, std::string code, std::string message) const {
    return input_error(std::move(code), std::move(message), at_tensor(tensor), {}, set_.path);
  }

  Status find_task() {
    const std::vector<std::string> tasks = arch::task_names(config_);
    const auto found = std::ranges::find(tasks, adapter_.task);
    if (tasks.empty()) return fail_config(arch::tasks_field, "is missing: the model has no adapters of tasks");
    if (found == tasks.end()) {
      return fail_config(arch::tasks_field,
                         fmt::format("lacks the task '{}'; it has {}", adapter_.task, joined(tasks, ", ")));
    }
    task_ = static_cast<u64>(found - tasks.begin());
    tasks_ = tasks.size();
    alpha_ = config_.number_field("lora_alpha").value_or(1);
    if (!std::isfinite(alpha_) || std::fabs(alpha_) >= 1e30) return fail_config("lora_alpha", "is not a finite number");
    adapter_.alpha = alpha_;
    if (const auto prefixes = config_.field("task_instructions")) {
      adapter_.prompt_prefix = json::string_member(*prefixes, adapter_.task).value_or("");
    }
    return {};
  }

  Status sort(const safetensors::TensorRef& ref) {
    const safetensors::ShardFile& file = set_.files[ref.file];
    const safetensors::Tensor& tensor = file.document.tensors[ref.entry];
    const std::size_t at = tensor.name.find(between);
    const std::string_view side = at == tensor.name.npos ? "" : tensor.name.substr(at + between.size());
    if (side != "A" && side != "B") return {};
    const std::string module = names_.spelled(hf::canonical_name(tensor.name.substr(0, at)) + ".weight");
    if (names_.leaves_out(module) || !names_.match(module)) return {};  // a pooler
    Halves& halves = found_[module.substr(0, module.size() - std::string_view(".weight").size())];
    if (adapter_.source != nullptr && adapter_.source != file.source) {
      return fail(tensor.name, "adapter-tensor", "is in another file than other factors, which is not supported");
    }
    adapter_.source = file.source;
    adapter_.weights = file.path;
    halves.file = &file;
    (side == "A" ? halves.a : halves.b) = &tensor;
    return {};
  }

  // The task's matrix of a tensor [tasks, rows, columns].
  Result<Factor> factor_of(const safetensors::Tensor& tensor, const safetensors::ShardFile& file) const {
    if (!tensor.type || !may_be_factor(*tensor.type) || type_info(*tensor.type).block_elements != 1) {
      return fail(tensor.name, "adapter-tensor", "has a type that adapters do not use");
    }
    if (tensor.shape.size() != 3 || tensor.shape[0] != tasks_ || tensor.elements().value_or(0) == 0) {
      return fail(
          tensor.name, "adapter-pair",
          fmt::format("has shape {} instead of a matrix for each of {} tasks", shape_text(tensor.shape), tasks_));
    }
    if (!file.document.holds(tensor)) return fail(tensor.name, "st-offsets", "lies outside the file");
    Factor factor;
    factor.name = tensor.name;
    factor.type = *tensor.type;
    factor.rows = tensor.shape[1];
    factor.columns = factor.row_stride = tensor.shape[2];
    factor.elements = factor.stack_stride = factor.rows * factor.columns;
    factor.offset =
        file.document.data_offset + tensor.begin + task_ * factor.elements * type_info(factor.type).block_bytes;
    return factor;
  }

  // Embeddings are looked up, not multiplied: the class has A [rows, r] and B [r, width] for them; files with A [r,
  // rows] and B [width, r] exist, too.
  static void turn_embedding(Module& module) {
    const bool is_turned = module.a.columns != module.b.rows;
    std::swap(module.a, module.b);
    for (Factor* factor : {&module.a, &module.b}) {
      if (!is_turned) continue;
      std::swap(factor->rows, factor->columns);
      std::swap(factor->row_stride, factor->column_stride);
    }
  }

  Status add_module(const std::string& name, const Halves& halves) {
    if (halves.a == nullptr || halves.b == nullptr) {
      return fail(name, "adapter-pair", fmt::format("lacks its lora_{}", halves.a != nullptr ? "B" : "A"));
    }
    Module module;
    module.name = name;
    MU_ASSIGN(module.a, factor_of(*halves.a, *halves.file));
    MU_ASSIGN(module.b, factor_of(*halves.b, *halves.file));
    if (name.ends_with("_embeddings")) turn_embedding(module);
    if (module.a.rows != module.b.columns) {
      return fail(name, "adapter-pair", fmt::format("has factors of rank {} and {}", module.a.rows, module.b.columns));
    }
    module.scale = alpha_ / static_cast<double>(module.rank());
    adapter_.modules.push_back(std::move(module));
    return {};
  }

  // llama.cpp adds the first type's vector to every token, but ignores a pair on it. So the pair becomes one on the
  // token embedding, with the same row for every token.
  Status add_types() {
    const auto ends_in = [](std::string_view end) {
      return [end](const Module& module) { return module.name.ends_with(end); };
    };
    const auto types = std::ranges::find_if(adapter_.modules, ends_in(types_name));
    if (types == adapter_.modules.end()) return {};
    const auto tokens = std::ranges::find_if(adapter_.modules, ends_in(tokens_name));
    if (tokens == adapter_.modules.end()) {
      return fail(types->name, "adapter-merge", "is a pair that llama.cpp ignores, and there is none on the tokens");
    }
    types->name = tokens->name;
    types->b.rows = tokens->b.rows;
    types->b.row_stride = 0;
    return {};
  }

  const safetensors::ShardSet& set_;
  const hf::Config& config_;
  const arch::Names& names_;
  u64 task_ = 0, tasks_ = 0;
  double alpha_ = 1;
  std::map<std::string, Halves> found_;
  Adapter adapter_;
};

}  // namespace

Result<Adapter> read_task(const SafetensorsModel& model, const arch::Names& names, std::string_view task) {
  return TaskReader(model, names, task).read();
}

}  // namespace modelutils::adapter
