#include "verify/module_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "convert/transfer/carriers.h"
#include "model/catalog.h"
#include "model/forms/foreign_forms.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

bool is_foreign(const Module& module) {
  return module.decodable && module.form->kind != FormKind::mlx && module.form->kind != FormKind::plain;
}

class ModuleCheck {
 public:
  explicit ModuleCheck(const SafetensorsModel& model) : model_(model) {
    refs_.reserve(model.set.tensors.size());
    for (const safetensors::TensorRef ref : model.set.tensors) {
      const safetensors::Tensor& tensor = model.set.tensor(ref);
      refs_.push_back({tensor.name, tensor.type, tensor.shape});
    }
  }

  FindingLog check(Module module) const {
    FindingLog log;
    // The container's rules report truncated tensors.
    if (std::ranges::any_of(module.planes, [&](std::size_t i) { return i != no_tensor && !is_whole(i); })) return log;
    ScaleAnalysis analysis;
    if (Status read = analyse(module, analysis); !read) {
      Finding finding = without_path(read.error(), Scope::data);
      finding.where = at_module(module.path);
      log.add(std::move(finding));
    }
    tell(module, analysis, log);
    if (model_.set.files.size() > 1) log.set_file(model_.set.file(model_.set.tensors[module.weight()]).base_name);
    return log;
  }

 private:
  bool is_whole(std::size_t index) const {
    const safetensors::TensorRef ref = model_.set.tensors[index];
    return readability_of(model_.set.file(ref).document, model_.set.tensor(ref)) == Unreadable::no;
  }

  StoredPlane plane(std::size_t index) const {
    const safetensors::TensorRef ref = model_.set.tensors[index];
    const safetensors::ShardFile& file = model_.set.file(ref);
    return {file.source.get(), file.document.data_offset + model_.set.tensor(ref).begin};
  }

  Status analyse(Module& module, ScaleAnalysis& analysis) const {
    const auto plane_at = [this](std::size_t i) { return plane(i); };
    MU_TRY(settle_foreign_form(refs_, model_.foreign, plane_at, module));
    const u64 columns = module.shape.back();
    AnalysedRows rows;
    for (std::size_t i = 1; i < max_planes; ++i) {
      if (module.planes[i] == no_tensor) continue;
      rows.planes[i] = plane(module.planes[i]);
      rows.layouts[i] = form_info(*module.form).plane(*module.form, i, columns);
    }
    const u64 elements = element_count(module.shape).value_or(0);
    return elements == 0 ? Status{} : analyse_rows(*module.form, columns, rows, 0, elements / columns, analysis);
  }

  static void tell(const Module& module, const ScaleAnalysis& analysis, FindingLog& log) {
    const auto error = [&](std::string_view code, u64 number, std::string_view what, std::string_view why) {
      if (number == 0) return;
      log.error(Scope::data, code, fmt::format("has {} {}", counted(number, what), why), at_module(module.path));
    };
    error("data-scale", analysis.negative, "scale", "below 0, which NVFP4 does not have");
    error("data-overflow", analysis.overflowing, "scale", "so large that values become infinite");
    error("data-zero-point", analysis.bad_zeros, "zero point",
          fmt::format("out of range: {} is stored, which readers of this version interpret as 0 or as {}",
                      (1u << module.form->integers.bits) - 1, 1u << module.form->integers.bits));
  }

  const SafetensorsModel& model_;
  std::vector<mlx::TensorRef> refs_;
};

}  // namespace

void check_module_values(const SafetensorsModel& model, unsigned threads, FindingLog& log) {
  if (std::ranges::none_of(model.modules.list, is_foreign)) return;
  const ModuleCheck check(model);
  const std::vector<Module>& modules = model.modules.list;
  std::vector<FindingLog> found(modules.size());
  const Status done = parallel_for(modules.size(), threads, [&](u64 item, unsigned /*thread*/) -> Status {
    const Module& module = modules[static_cast<std::size_t>(item)];
    if (is_foreign(module)) found[static_cast<std::size_t>(item)] = check.check(module);
    return {};
  });
  for (FindingLog& each : found) log.add_all(std::move(each));
  if (!done) log.add(done.error());
}

}  // namespace modelutils
