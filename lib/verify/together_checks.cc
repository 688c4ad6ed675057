#include "verify/together_checks.h"

#include <fmt/core.h>

#include <algorithm>

#include "arch/adapter_facts.h"
#include "arch/expected_tensors.h"
#include "base/path.h"
#include "tensor/shape.h"
#include "to_gguf/adapter_to_gguf.h"

namespace modelutils {

namespace {

bool is_adapter_directory(const std::string& path) {
  return adapter::is_adapter(ModelFolder(path));
}

}  // namespace

Result<TogetherChecks> TogetherChecks::open(const std::vector<std::string>& paths, OutsideLinks links) {
  TogetherChecks checks;
  std::vector<std::string> files;
  std::vector<std::string> models;  // models that are directories
  for (const std::string& path : paths) {
    if (is_adapter_directory(path)) continue;
    MU_ASSIGN(const PathProbe probe, probe_path(path, links));
    (probe.is_directory ? models : files).push_back(path);
  }
  const bool has_directories = files.size() < paths.size();
  if (!has_directories || (models.empty() && files.size() > 1)) {
    MU_ASSIGN(checks.files_, Together::open(files, links));
  }
  if (!has_directories) return checks;
  if (paths.size() < 2 || models.size() > 1 || (models.empty() && files.empty())) {
    return usage_error("--together needs one model and the adapters, projectors or matrices that go with it");
  }
  checks.base_path_ = models.empty() ? files.front() : models.front();
  MU_ASSIGN(checks.base_, to_gguf::read_base(checks.base_path_));
  return checks;
}

void TogetherChecks::check(const Model& model, FindingLog& log) const {
  if (model.gguf && files_) files_->check(*model.gguf, log);
  if (model.importance && files_) files_->check(*model.importance, log);
  if (!base_) return;
  if (model.gguf && !files_) check_pairs(*model.gguf, log);
  if (model.safetensors) check_directory(*model.safetensors, log);
}

void TogetherChecks::check_directory(const SafetensorsModel& model, FindingLog& log) const {
  if (!model.set.is_directory || !adapter::is_adapter(model.folder)) return;
  auto read = adapter::read_adapter(model.folder, model.set);
  if (!read) return;  // the adapter's own rules report it
  adapter::Adapter again = *read;
  if (const auto merged = adapter::map_pairs(*read, *base_, true, &log); !merged) log.add(without_path(merged.error()));
  if (log.errors() > 0) return;
  const auto pairs = adapter::map_pairs(again, *base_, false);
  const Status applied =
      pairs ? adapter::check_scaled(again, *base_, pairs->pairs) : Status(tl::make_unexpected(pairs.error()));
  if (applied || applied.error().code != "adapter-merge") return;
  Finding finding = without_path(applied.error(), Scope::model);
  finding.severity = Severity::warning;
  log.add(std::move(finding));
}

void TogetherChecks::check_pairs(const gguf::SplitSet& set, FindingLog& log) const {
  const gguf::Document& document = set.files.front().document;
  const gguf::Index index(document);
  const auto found = adapter::gguf_adapter(document, index);
  if (!found) return;
  constexpr std::string_view code = "gguf-together";
  if (index.architecture() != base_->family->gguf) {
    log.error(Scope::model, code,
              fmt::format("is '{}', but '{}' is '{}'", index.architecture(), base_path_, base_->family->gguf),
              at_key("general.architecture"));
    return;
  }
  const std::vector<arch::ExpectedTensor> expected = arch::expected_tensors(*base_->family, base_->sizes);
  for (const adapter::GgufPair& pair : found->pairs) {
    const auto target = std::ranges::find(expected, pair.target, &arch::ExpectedTensor::name);
    if (target == expected.end()) {
      log.error(Scope::model, code, fmt::format("'{}' has no tensor '{}'", base_path_, pair.target),
                at_tensor(pair.a->name), pair.a->info_offset);
      continue;
    }
    std::vector<u64> own = {pair.columns(), pair.rows()};
    if (pair.slices() > 1) own.push_back(pair.slices());
    if (is_same_shape(own, target->ne)) {
      check_scaled_pair(pair, log);
      continue;
    }
    log.error(Scope::model, code,
              fmt::format("is for a tensor of {}, but '{}' has {} of '{}'", shape_text(own), base_path_,
                          shape_text(target->ne), pair.target),
              at_tensor(pair.a->name), pair.a->info_offset);
  }
}

// The base is a directory: checks the scale that its GGUF would have.
void TogetherChecks::check_scaled_pair(const adapter::GgufPair& pair, FindingLog& log) const {
  const auto scaled = base_->scaled.find(std::string(pair.target));
  const arch::Tensor* row = arch::Names(*base_->family).find_gguf(pair.target).row;
  if (scaled == base_->scaled.end() || row == nullptr) return;
  const std::string_view lost = arch::scaled_pair_is_lost(*base_->family, row->name, scaled->second);
  if (lost.empty()) return;
  const bool is_fatal = arch::scaled_pair_aborts(row->name, scaled->second);
  log.add(is_fatal ? Severity::error : Severity::warning, Scope::model, "adapter-merge",
          fmt::format("is a LoRA pair on {}, which {}; merge the adapter", pair.target, lost), at_tensor(pair.a->name),
          pair.a->info_offset);
}

}  // namespace modelutils
