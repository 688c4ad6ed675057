#include "verify/verify.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <utility>

#include "base/counted.h"
#include "io/file_kind.h"
#include "io/standard_output.h"
#include "verify/data_check.h"
#include "verify/formats.h"
#include "verify/manifest.h"

namespace modelutils {

namespace {

Error unknown_format(const PathProbe& probe) {
  std::string message;
  if (probe.is_directory) {
    message = "contains no recognised model";
  } else if (const FileKind kind = file_kind(probe.head); kind == FileKind::unknown) {
    message = "unrecognised format: not GGUF, safetensors, MLX or BUMPWGT3";
  } else {
    message = fmt::format("is {}", file_kind_text(kind));
  }
  return Error{ErrorKind::input, "verify-unknown-format", probe.path, {}, {}, std::move(message)};
}

// ".gguf" of "a/b.GGUF"; empty without one.
std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return extension;
}

// How to compare `format` with the model at `source`.
Result<const ParityRules*> find_parity(const FormatRules& format, const std::string& source) {
  MU_ASSIGN(const PathProbe probe, probe_path(source));
  const FormatRules* source_format = format_of(probe);
  if (source_format == nullptr) return tl::make_unexpected(unknown_format(probe));
  for (const ParityRules& rules : all_parities()) {
    if (rules.converted == format.format && rules.source == source_format->format) return &rules;
  }
  const std::string_view hint = format.format == source_format->format
                                    ? "; make a manifest of one with --hash and check the other against it with --check"
                                    : "";
  return input_error("verify-no-parity",
                     fmt::format("cannot compare {} with {}{}", format.noun, source_format->noun, hint), {}, {},
                     source);
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
      log.add(to_finding(*report.unreadable));
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
    MU_ASSIGN(const PathProbe probe, probe_path(path, options_.links));
    const FormatRules* format = format_of(probe);
    if (format == nullptr) return tl::make_unexpected(unknown_format(probe));
    report.format = format->format;
    auto model = format->check(probe);
    if (!model) {  // recognised, so whatever happened since is a finding
      log.add(to_finding(model.error()));
      return {};
    }
    if (manifest_ && format->check_manifest != nullptr) {
      format->check_manifest(probe, manifest_->manifest(), *model);
    }
    check_extension(path, *format, log);
    log.add_all(std::move(model->findings));
    const Catalog& catalog = model->catalog;
    report.files = catalog.files.size();
    report.tensors = catalog.tensors.size();
    report.checked = checked_text(*format, *model);
    if (options_.data) check_data(catalog, model->packed, options_.threads, log, options_.progress);
    count_read(options_.data, report);
    if (options_.hash) {
      write_manifest(catalog, *options_.hash, options_.whole_file, options_.threads, options_.manifest_line, log,
                     options_.progress);
    }
    count_read(options_.hash.has_value(), report);
    if (manifest_) manifest_->check_model(catalog, options_.threads, log, options_.progress);
    count_read(manifest_.has_value(), report);
    if (options_.against) compare(*model, path, *format, log);
    return {};
  }

  // Loaders and download tools choose by the name.
  static void check_extension(const std::string& path, const FormatRules& format, FindingLog& log) {
    const std::string extension = extension_of(path);
    if (format.extension.empty() || extension == format.extension) return;
    for (const FormatRules& other : all_formats()) {
      if (other.extension.empty() || extension != other.extension) continue;
      log.add(
          {Severity::error,
           Scope::container,
           "verify-extension",
           {},
           {},
           fmt::format("this is {}, but its name ends in {}: programs that go by the name cannot load it; rename it to "
                       "end in {}",
                       format.noun, extension, format.extension),
           {}});
    }
  }

  // "GGUF v3, 291 tensors, structure only; --data reads the values"
  std::string checked_text(const FormatRules& format, const CheckedModel& model) const {
    std::string text = model.format_text;
    const Catalog& catalog = model.catalog;
    if (catalog.files.size() > 1) text += ", " + counted(catalog.files.size(), "file");
    text += ", " + counted(catalog.tensors.size(), "tensor") + ", structure";
    std::vector<std::string> more;
    if (format.has_checksum) more.emplace_back("checksum");
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

  void compare(const CheckedModel& model, const std::string& path, const FormatRules& format, FindingLog& log) {
    auto rules = find_parity(format, *options_.against);
    if (!rules) return log.add(against_failed(rules.error()));
    auto findings = (*rules)->compare(model, path, *options_.against);
    if (!findings) return log.add(against_failed(findings.error()));
    log.add_all(std::move(*findings));
  }

  // What is wrong with the source of a comparison is said with its name.
  Finding against_failed(const Error& error) {
    Finding finding = to_finding(error, Scope::model);
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
    MU_ASSIGN(const PathProbe source, probe_path(*options.against));
    if (format_of(source) == nullptr) return tl::make_unexpected(unknown_format(source));
  }
  // Reports and manifests of one path are written before the next is opened.
  std::vector<std::string> read = paths;
  if (options.against) read.push_back(*options.against);
  MU_TRY(compare_inputs(read, [](const std::string& path) {
    const auto probe = probe_path(path);
    if (const FormatRules* format = probe ? format_of(*probe) : nullptr; format != nullptr) (void)format->check(*probe);
  }));
  Run run(options, std::move(manifest));
  for (std::size_t i = 0; i < paths.size(); ++i) report(run.verify(paths[i], i + 1 == paths.size()));
  return {};
}

}  // namespace modelutils
