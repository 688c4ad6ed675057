#include "verify/verify_model.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <utility>

#include "base/counted.h"
#include "verify/data_check.h"
#include "verify/formats.h"

namespace modelutils {

namespace {

// ".gguf" of "a/b.GGUF"; empty without one.
std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return extension;
}

// How to compare `converted` with `source`.
Result<const ParityRules*> find_parity(Format converted, const PathProbe& source) {
  if (!source.format) return tl::make_unexpected(unknown_format(source));
  for (const ParityRules& rules : all_parities()) {
    if (rules.converted == converted && rules.source == source.format) return &rules;
  }
  return input_error("verify-no-parity",
                     fmt::format("cannot compare {} with {}; model-diff compares any two models",
                                 format_info(converted).noun, format_info(*source.format).noun),
                     {}, {}, source.path);
}

}  // namespace

Result<PathProbe> probe_to_verify(const std::string& path, OutsideLinks links) {
  auto probe = probe_path(path, links);
  if (!probe && probe.error().code == "io-not-regular") {
    probe.error().message += "; verify reads out of order and needs a file: save the input to a file first";
  }
  return probe;
}

// One model.
class ModelVerifier::Run {
 public:
  Run(ModelVerifier& verifier, const VerifyTarget& target)
      : options_(verifier.options_),
        manifest_(verifier.manifest_),
        budget_(verifier.threads_),
        target_(target),
        part_(verifier.whole_),
        progress_(verifier.whole_ == nullptr && options_.progress != nullptr ? options_.progress : &part_) {}

  VerifyReport report() {
    const auto start = std::chrono::steady_clock::now();
    report_.path = target_.path;
    report_.is_below = target_.is_below;
    report_.is_no_model = target_.problem.has_value();
    if (Status done = apply(); !done) {
      report_.unreadable = in_file(std::move(done.error()), target_.path);
      log_.add(without_path(*report_.unreadable));
    }
    if (target_.is_last && manifest_) manifest_->finish(log_);
    report_.findings = log_.findings();
    report_.errors = log_.errors();
    report_.warnings = log_.warnings();
    if (report_.bytes == 0) report_.bytes = target_.bytes;
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  // An Error means that the path is not recognised.
  Status apply() {
    if (target_.problem) return tl::make_unexpected(*target_.problem);
    MU_ASSIGN(PathProbe probe, probe_to_verify(target_.path, options_.links));
    probe.is_shard_group = target_.is_shard_group;
    if (!probe.format) {
      Error unknown = unknown_format(probe);
      unknown.message += target_.instead_of_models;
      return tl::make_unexpected(std::move(unknown));
    }
    report_.format = format_info(*probe.format).name;
    const Result<Model> opened = open_model(std::move(probe));
    const FormatRules* rules = opened ? &rules_of(opened->format) : nullptr;
    auto model = opened ? rules->check(*opened) : tl::make_unexpected(opened.error());
    if (!model) {  // recognised, so whatever happened since is a finding
      log_.add(without_path(model.error()));
      return {};
    }
    if (manifest_ && rules->check_manifest != nullptr) rules->check_manifest(*opened, manifest_->manifest(), *model);
    check_extension(opened->format);
    log_.add_all(std::move(model->findings));
    Catalog& catalog = model->catalog;
    report_.files = catalog.files.size();
    report_.tensors = catalog.tensors.size();
    for (CatalogFile& file : catalog.files) {
      report_.bytes += file.source->size().value_or(0);
      file.base_name.insert(0, target_.folder);
    }
    report_.checked = checked_text(*rules, *model);
    read_data(*model);
    if (options_.against) compare(*model, *opened);
    return {};
  }

  void read_data(const CheckedModel& model) {
    const Catalog& catalog = model.catalog;
    if (options_.data) {
      const ThreadBudget::Share share(budget_);
      check_data(catalog, model.packed, share.threads(), log_, progress_);
      report_.bytes_read += progress_->done();
    }
    if (options_.hash) {
      const ThreadBudget::Share share(budget_);
      write_manifest(catalog, *options_.hash, options_.whole_file, share.threads(), options_.manifest_line, log_,
                     progress_);
      report_.bytes_read += progress_->done();
    }
    if (manifest_) {
      const ThreadBudget::Share share(budget_);
      manifest_->check_model(catalog, share.threads(), log_, progress_);
      report_.bytes_read += progress_->done();
    }
  }

  // Loaders and download tools choose by the name.
  void check_extension(Format format) {
    const FormatInfo& own = format_info(format);
    const std::string extension = extension_of(target_.path);
    if (own.extension.empty() || extension == own.extension) return;
    for (const FormatInfo& other : all_formats()) {
      if (other.extension.empty() || extension != other.extension) continue;
      log_.error(
          Scope::container, "verify-extension",
          fmt::format("this is {}, but its name ends in {}: programs that go by the name cannot load it; rename it to "
                      "end in {}",
                      own.noun, extension, own.extension));
    }
  }

  // "GGUF v3, 291 tensors, structure only; --data reads the values"
  std::string checked_text(const FormatRules& rules, const CheckedModel& model) const {
    std::string text = model.format_text;
    const Catalog& catalog = model.catalog;
    if (catalog.files.size() > 1) text += ", " + counted(catalog.files.size(), "file");
    text += ", " + counted(catalog.tensors.size(), "tensor") + ", structure";
    std::vector<std::string> more;
    if (rules.has_checksum) more.emplace_back("checksum");
    if (options_.data) more.emplace_back("values");
    if (manifest_) more.emplace_back("manifest");
    if (options_.against) more.push_back("comparison with " + *options_.against);
    for (std::size_t i = 0; i < more.size(); ++i) text += (i + 1 == more.size() ? " and " : ", ") + more[i];
    if (more.empty()) text += " only";
    const bool values_are_read = options_.data || manifest_ || options_.against;
    return values_are_read ? text : text + "; --data reads the values";
  }

  void compare(const CheckedModel& checked, const Model& converted) {
    if (auto findings = compare_with_source(checked, converted); findings) {
      log_.add_all(std::move(*findings));
    } else {
      log_.add(against_failed(findings.error()));
    }
  }

  Result<FindingLog> compare_with_source(const CheckedModel& checked, const Model& converted) {
    MU_ASSIGN(PathProbe source, probe_path(*options_.against, OutsideLinks::warn));
    MU_ASSIGN(const ParityRules* rules, find_parity(converted.format, source));
    MU_ASSIGN(Model model, open_model(std::move(source)));
    return rules->compare(checked, converted, std::move(model));
  }

  // What is wrong with the source of a comparison is said with its name.
  Finding against_failed(const Error& error) {
    Finding finding = without_path(error, Scope::model);
    finding.message =
        fmt::format("--against {}: {}", error.file.empty() ? *options_.against : error.file, error.message);
    finding.offset.reset();
    return finding;
  }

  const VerifyOptions& options_;
  std::optional<ManifestCheck>& manifest_;
  ThreadBudget& budget_;
  const VerifyTarget& target_;
  Progress part_;
  Progress* progress_;
  VerifyReport report_;
  FindingLog log_;
};

ModelVerifier::ModelVerifier(const VerifyOptions& options, std::optional<ManifestCheck> manifest, ThreadBudget& threads,
                             Progress* whole)
    : options_(options), manifest_(std::move(manifest)), threads_(threads), whole_(whole) {}

VerifyReport ModelVerifier::verify(const VerifyTarget& target) {
  const ThreadBudget::Place place(threads_);
  return Run(*this, target).report();
}

u64 ModelVerifier::passes() const {
  return (options_.data ? 1u : 0u) + (options_.hash ? 1u : 0u) + (manifest_ ? 1u : 0u);
}

}  // namespace modelutils
