#include "verify/verify.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <utility>

#include "base/counted.h"
#include "io/standard_output.h"
#include "verify/data_check.h"
#include "verify/formats.h"
#include "verify/manifest/manifest.h"

namespace modelutils {

namespace {

Result<PathProbe> probe_to_verify(const std::string& path, OutsideLinks links = OutsideLinks::refuse) {
  auto probe = probe_path(path, links);
  if (!probe && probe.error().code == "io-not-regular") {
    probe.error().message += "; verify reads out of order and needs a file: save the input to a file first";
  }
  return probe;
}

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

class Run {
 public:
  Run(const VerifyOptions& options, std::optional<ManifestCheck> manifest)
      : options_(options), manifest_(std::move(manifest)) {}

  /// `last`: what the manifest names and no path had belongs to this report.
  VerifyReport verify(const std::string& path, bool last) {
    VerifyReport report;
    report.path = path;
    FindingLog log;
    const auto start = std::chrono::steady_clock::now();
    if (Status done = apply(path, report, log); !done) {
      report.unreadable = in_file(std::move(done.error()), path);
      log.add(without_path(*report.unreadable));
    }
    if (last && manifest_) manifest_->finish(log);
    report.findings = log.findings();
    report.errors = log.errors();
    report.warnings = log.warnings();
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  }

 private:
  // An Error means that the path is not recognised.
  Status apply(const std::string& path, VerifyReport& report, FindingLog& log) {
    MU_ASSIGN(PathProbe probe, probe_to_verify(path, options_.links));
    if (!probe.format) return tl::make_unexpected(unknown_format(probe));
    report.format = format_info(*probe.format).name;
    const Result<Model> opened = open_model(std::move(probe));
    const FormatRules* rules = opened ? &rules_of(opened->format) : nullptr;
    auto model = opened ? rules->check(*opened) : tl::make_unexpected(opened.error());
    if (!model) {  // recognised, so whatever happened since is a finding
      log.add(without_path(model.error()));
      return {};
    }
    if (manifest_ && rules->check_manifest != nullptr) rules->check_manifest(*opened, manifest_->manifest(), *model);
    check_extension(path, opened->format, log);
    log.add_all(std::move(model->findings));
    const Catalog& catalog = model->catalog;
    report.files = catalog.files.size();
    report.tensors = catalog.tensors.size();
    report.checked = checked_text(*rules, *model);
    if (options_.data) check_data(catalog, model->packed, options_.threads, log, options_.progress);
    count_read(options_.data, report);
    if (options_.hash) {
      write_manifest(catalog, *options_.hash, options_.whole_file, options_.threads, options_.manifest_line, log,
                     options_.progress);
    }
    count_read(options_.hash.has_value(), report);
    if (manifest_) manifest_->check_model(catalog, options_.threads, log, options_.progress);
    count_read(manifest_.has_value(), report);
    if (options_.against) compare(*model, *opened, log);
    return {};
  }

  // Loaders and download tools choose by the name.
  static void check_extension(const std::string& path, Format format, FindingLog& log) {
    const FormatInfo& own = format_info(format);
    const std::string extension = extension_of(path);
    if (own.extension.empty() || extension == own.extension) return;
    for (const FormatInfo& other : all_formats()) {
      if (other.extension.empty() || extension != other.extension) continue;
      log.error(
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

  // `ran`: the progress is that of a phase that has just ended.
  void count_read(bool ran, VerifyReport& report) const {
    if (ran && options_.progress != nullptr) report.bytes_read += options_.progress->done();
  }

  void compare(const CheckedModel& checked, const Model& converted, FindingLog& log) {
    if (auto findings = compare_with_source(checked, converted); findings) {
      log.add_all(std::move(*findings));
    } else {
      log.add(against_failed(findings.error()));
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
  std::optional<ManifestCheck> manifest_;
};

}  // namespace

Status verify_paths(const std::vector<std::string>& paths, const VerifyOptions& options,
                    const std::function<void(const VerifyReport&)>& report) {
  if (options.whole_file && !options.hash) return usage_error("--whole-file needs --hash");
  std::optional<ManifestCheck> manifest;
  if (options.manifest) {
    MU_ASSIGN(Manifest loaded, load_manifest(*options.manifest));
    manifest.emplace(std::move(loaded), paths.size() == 1);
  }
  if (options.against) {
    MU_ASSIGN(const PathProbe source, probe_to_verify(*options.against));
    if (!source.format) return tl::make_unexpected(unknown_format(source));
  }
  // Reports and manifests of one path are written before the next is opened.
  std::vector<std::string> read = paths;
  if (options.against) read.push_back(*options.against);
  MU_TRY(compare_inputs(read, [](const std::string& path) {
    auto probe = probe_path(path);
    if (!probe || !probe->format) return;
    if (const auto model = open_model(std::move(*probe)))
      (void)rules_of(model->format).check(*model);  // opens the rest
  }));
  Run run(options, std::move(manifest));
  for (std::size_t i = 0; i < paths.size(); ++i) report(run.verify(paths[i], i + 1 == paths.size()));
  return {};
}

}  // namespace modelutils
