#include "verify/verify_model.h"

#include <fmt/core.h>

#include <chrono>
#include <new>
#include <utility>

#include "base/log.h"
#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "convert/to_gguf/projector_map.h"
#include "io/fetch_helper.h"
#include "io/model_folder.h"
#include "io/remote_address.h"
#include "model/download_record.h"
#include "model/format.h"
#include "model/safetensors_model.h"
#include "rules/directory/value_checks.h"
#include "rules/formats.h"
#include "rules/norm_means.h"
#include "verify/against/against.h"
#include "verify/cache/download_check.h"
#include "verify/identity/model_identity.h"
#include "verify/manifest/check.h"
#include "verify/manifest/manifest.h"
#include "verify/model_checks.h"
#include "verify/module_values.h"

namespace modelutils {

Result<PathProbe> probe_to_verify(const std::string& path, OutsideLinks links) {
  auto probe = probe_path(path, links);
  if (!probe && probe.error().code == "io-not-regular") {
    probe.error().message += "; verify reads out of order and needs a file: save the input to a file first";
  }
  return probe;
}

// The verification of one model.
class ModelVerifier::Run {
 public:
  Run(ModelVerifier& verifier, const VerifyTarget& target)
      : options_(verifier.options_),
        source_(verifier.source_),
        manifest_(verifier.manifest_),
        compared_before_(manifest_ ? manifest_->compared_files() : 0),
        budget_(verifier.threads_),
        digests_(verifier.digests_),
        together_(verifier.together_),
        target_(target),
        part_(verifier.whole_),
        progress_(verifier.whole_ == nullptr && options_.progress != nullptr ? options_.progress : &part_) {}

  VerifyReport report() {
    const auto start = std::chrono::steady_clock::now();
    report_.path = target_.path;
    report_.is_below = target_.is_below;
    report_.is_no_model = target_.problem || target_.is_cache;
    Status done;
    try {
      done = apply();
      check_download(done);
      tell_remote_failure(done);
    } catch (const std::bad_alloc&) {  // this model's memory has been released, and the next model may need less
      ran_out_ = true;
      values_.reset();
      log_.error(Scope::container, "verify-memory", "cannot be checked with the available memory");
    }
    if (!done) {
      report_.unreadable = in_file(std::move(done.error()), target_.path);
      log_.add(without_path(*report_.unreadable));
    }
    if (target_.is_last && manifest_ && manifest_->is_of_single_model()) finish_manifest();
    tell_published();
    if (options_.policy) {
      log_.change_severities([this](Severity severity, std::string_view code) {
        return severity_under(*options_.policy, severity, code);
      });
    }
    report_.findings = log_.findings();
    report_.errors = log_.errors();
    report_.warnings = log_.warnings();
    if (report_.bytes == 0) report_.bytes = target_.bytes;
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

  bool ran_out() const { return ran_out_; }

 private:
  // After a server or network failure no finding about the model can be trusted.
  void tell_remote_failure(Status& done) {
    if (!is_address(target_.path)) return;
    auto failure = take_remote_failure();
    if (!failure) return;
    done = tl::make_unexpected(std::move(*failure));
    report_.format = {};
    log_ = {};
  }

  // An Error means that the path is not recognised.
  Status apply() {
    if (target_.problem) return tl::make_unexpected(*target_.problem);
    if (target_.is_cache) return apply_cache();
    MU_ASSIGN(PathProbe probe, probe_to_verify(target_.path, options_.links));
    if (target_.is_manifest || (!probe.format && !probe.is_directory && is_ollama_manifest(target_.path))) {
      return apply_manifest();
    }
    probe.is_shard_group = target_.is_shard_group;
    probe.ignore_index = options_.ignore_index;
    is_directory_ = probe.is_directory;
    if (!probe.format) {
      Error unknown = unknown_format(probe);
      // An option excluded the existing files.
      if (is_directory_ && !gguf_in(probe.path).empty()) unknown.message = "contains no recognised model";
      unknown.message += target_.instead_of_models;
      return tl::make_unexpected(std::move(unknown));
    }
    report_.format = format_info(*probe.format).name;
    const Result<Model> opened = open_model(std::move(probe));
    const FormatRules* rules = opened ? &rules_of(opened->format) : nullptr;
    auto model = opened ? check(*opened, *rules) : tl::make_unexpected(opened.error());
    if (!model) {  // the format was recognised, so any later failure is a finding
      log_.add(without_path(model.error()));
      return {};
    }
    if (manifest_ && opened->format == Format::bump) check_bump_manifest(*opened, manifest_->manifest(), *model);
    check_extension(target_.path, opened->format, log_);
    log_.add_all(std::move(model->findings));
    // A shard that is not there would show as missing tensors.
    if (opened->safetensors && first_container_error(log_) == nullptr) log_.add_all(check_towers(*opened));
    if (together_) together_->check(*opened, log_);
    if (target_.is_below && opened->gguf) check_projector_folder(*opened->gguf, log_);
    Catalog& catalog = model->catalog;
    report_.files = catalog.files.size();
    report_.tensors = catalog.readable();
    for (CatalogFile& file : catalog.files) {
      report_.bytes += file.source->size().value_or(0);
      if (!is_directory_) {
        downloads_.push_back({file.path, {}});
      } else if (file.base_name.find('/') != std::string::npos) {
        shards_below_.push_back(file.base_name);
      }
      file.base_name.insert(0, target_.folder);
    }
    report_.checked = checked_text(*rules, *model);
    if (options_.policy) apply_policy(*opened);
    if (options_.identity) identify(*opened, catalog);
    if (options_.data && opened->safetensors) keep_checkpoint_checksums(opened->safetensors->set);
    read_data(*model);
    if (options_.data && opened->safetensors) {
      const ThreadBudget::Share share(budget_);
      log_.add_all(check_checkpoint_records(opened->safetensors->set, share.threads()));
      check_module_values(*opened->safetensors, share.threads(), log_);
      check_tied_head(*opened->safetensors, log_);
    }
    if (options_.data) check_norm_means(*opened, catalog, log_);
    if (options_.against) {
      const LogStep against(fmt::format("{}: comparison with {}", target_.path, *options_.against));
      log_.add_all(compare_with_source(*model, *opened, *source_));
    }
    return {};
  }

  void apply_policy(const Model& model) {
    report_.policy = options_.policy->name;
    if (Status done = check_policy(*options_.policy, model, report_.bytes, log_); !done) {
      log_.add(without_path(done.error()));
    }
  }

  // Records the model's identity and the digest of each file; for a directory also of the files beside the weights.
  void identify(const Model& model, Catalog files) {
    IdentitySource source(model);
    auto identity = source.identity();
    if (!identity) {
      log_.add(without_path(identity.error()));
      return;
    }
    files.tensors.clear();
    if (is_directory_) {
      for (const DownloadedFile& file : files_beside_weights()) {
        if (auto opened = RandomAccessFile::open(file.path)) files.files.push_back({file.path, file.name, *opened});
      }
    }
    std::vector<HashJob> jobs;
    for (std::size_t i = 0; i < files.files.size(); ++i) {
      jobs.push_back({HashAlgorithm::sha256, {{i, 0, files.files[i].source->size().value_or(0)}}, {}});
    }
    const ThreadBudget::Share share(budget_);
    const std::vector<Result<std::string>> digests = run_hashes(files, jobs, share.threads(), progress_);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!digests[i]) log_.add(without_path(digests[i].error(), Scope::data, files.files[i].base_name));
      identity->files.push_back({files.files[i].base_name, jobs[i].ranges[0].bytes, digests[i].value_or("")});
    }
    report_.identity = std::make_shared<const ModelIdentity>(std::move(*identity));
  }

  // Applies the rules. With --data, one thread applies them while others read, provided the catalog is known first.
  Result<CheckedModel> check(const Model& model, const FormatRules& rules) {
    const bool reads = options_.data && rules.may_read_meanwhile;
    if (reads && options_.before_download && is_address(target_.path)) {
      u64 bytes = 0;
      for (const CatalogFile& file : model.catalog().files) bytes += file.source->size().value_or(0);
      options_.before_download(target_.path, bytes);
    }
    const LogStep step(target_.path + (reads ? ": rules, and the values at the same time" : ": rules"));
    // Other models need threads, too, and no model's rules use them all the time.
    if (!reads && !target_.is_last) return rules.check(model, 1);
    const ThreadBudget::Share share(budget_);
    if (!reads) return rules.check(model, share.threads());
    std::optional<Result<CheckedModel>> checked;
    check_data(model.catalog(), {}, share.threads(), values_.emplace(), progress_,
               [&] { checked = rules.check(model, 1); });
    return std::move(*checked);
  }

  // Verifies the blobs of an Ollama model one by one; GGUF blobs also by the GGUF rules.
  Status apply_manifest() {
    report_.format = "ollama";
    const auto manifest = read_ollama_manifest(target_.path);
    if (!manifest) {
      log_.add(without_path(manifest.error()));
      return {};
    }
    const std::optional<Together> together = together_of(*manifest);
    for (const OllamaLayer& layer : manifest->layers) {
      const std::string path = manifest->blob(layer);
      const std::string name = layer_text(layer);
      ++report_.files;
      const auto status = os::status(path);
      if (!status) {
        log_.add({.code = "cache-blob-missing",
                  .message = "incomplete: the blob is not there; download the model again",
                  .file = name,
                  .leads = true});
        continue;
      }
      const u64 size = status->size;
      report_.bytes += size;
      if (size != layer.bytes) {
        log_.error(Scope::container, "cache-blob-size",
                   size < layer.bytes
                       ? incomplete_text(size, layer.bytes)
                       : fmt::format("has {} bytes, but {} in the manifest", thousands(size), thousands(layer.bytes)),
                   {}, {}, name);
        continue;
      }
      downloads_.push_back({path, name, layer.is_gguf() || !layer.name.empty()});
      if (layer.is_gguf()) apply_layer(path, name, together ? &*together : nullptr);
    }
    report_.checked = fmt::format("Ollama, {}, {}, structure{}", counted(report_.files, "blob"),
                                  counted(report_.tensors, "tensor"), more_text({}));
    return {};
  }

  // "model sha256-0123456789ab"
  static std::string layer_text(const OllamaLayer& layer) {
    return fmt::format("{}{} sha256-{:.12}", layer.kind, layer.name.empty() ? "" : " " + layer.name, layer.hex);
  }

  // Returns the model of a manifest that has more than a model: projectors, adapters, a draft. nullopt if one of them
  // cannot be opened, which the checks of the layers report.
  std::optional<Together> together_of(const OllamaManifest& manifest) const {
    std::vector<std::string> paths;
    for (const OllamaLayer& layer : manifest.layers) {
      if (layer.is_gguf()) paths.insert(layer.kind == "model" ? paths.begin() : paths.end(), manifest.blob(layer));
    }
    if (paths.size() < 2) return std::nullopt;
    Result<Together> together = Together::open(paths, options_.links);
    return together ? std::optional(std::move(*together)) : std::nullopt;
  }

  void apply_layer(const std::string& path, const std::string& name, const Together* together) {
    auto probe = probe_path(path, options_.links);
    if (probe && probe->format != Format::gguf) {
      log_.add(without_path(unknown_format(*probe), Scope::container, name));
      return;
    }
    const Result<Model> opened = probe ? open_model(std::move(*probe)) : tl::make_unexpected(probe.error());
    auto model = opened ? check(*opened, rules_of(opened->format)) : tl::make_unexpected(opened.error());
    if (!model) {
      log_.add(without_path(model.error(), Scope::container, name));
      return;
    }
    report_.tensors += model->catalog.readable();
    FindingLog own;
    std::swap(own, log_);
    log_.add_all(std::move(model->findings));
    if (together != nullptr && opened->gguf) together->check(*opened->gguf, log_);
    read_data(*model);
    log_.set_file(name);
    own.add_all(std::move(log_));
    log_ = std::move(own);
  }

  Status apply_cache() {
    report_.format = "cache";
    for (std::string& path : check_cache_folder(target_.path, log_)) {
      std::string name = base_name_of(path);
      downloads_.push_back({std::move(path), std::move(name), false});
    }
    return {};
  }

  // Compares the files with the download cache's records, and with --authentic their content. A file whose blob is
  // missing cannot be opened either; that is reported once.
  void check_download(Status& done) {
    if (!target_.is_cache && !options_.authentic && !hub_place(normal_path(target_.path))) return;
    if (target_.problem) return;
    if (is_directory_) list_downloads();
    const bool is_model_file = !target_.is_cache && report_.format != "ollama";
    if (downloads_.empty() && is_model_file) downloads_.push_back({target_.path, {}});
    if (downloads_.size() > 1) {
      for (DownloadedFile& file : downloads_) {
        if (file.name.empty()) file.name = base_name_of(file.path);
      }
    }
    const bool is_broken = !done || first_container_error(log_) != nullptr;
    FindingLog found;
    const std::set<std::string> missing =
        check_downloads(downloads_, {options_.authentic, options_.links == OutsideLinks::follow, is_broken}, digests_,
                        budget_, found, progress_);
    if (options_.authentic) report_.bytes_read += progress_->done();
    if (!done && !missing.empty()) {
      done = tl::make_unexpected(found.front());
      done.error().file.clear();
      return;
    }
    if (!missing.empty()) log_ = without_opening(missing);
    log_.add_all(std::move(found));
  }

  // Returns the findings without those that report one of these files as unreadable.
  FindingLog without_opening(const std::set<std::string>& names) const {
    FindingLog rest;
    for (const Finding& finding : log_) {
      const bool is_about_opening = finding.code == "io-open" || finding.code == "st-shard-open" ||
                                    finding.code == "st-index-open" || finding.code == "gguf-split-missing";
      if (!is_about_opening || !names.contains(finding.file)) rest.add(finding);
    }
    return rest;
  }

  // Returns the files in a model's folder, except hidden files and those named after another model.
  std::vector<DownloadedFile> files_of_folder() const {
    std::vector<DownloadedFile> files;
    const auto names = DirectoryNames::read(target_.path, [](std::string_view name, EntryKind kind) {
      return (kind == EntryKind::file || kind == EntryKind::link) && !name.starts_with('.');
    });
    if (!names) return files;
    const ModelFolder folder(target_.path);
    for (std::size_t i = 0; i < names->size(); ++i) {
      const std::string name(names->name(i));
      const bool is_weights = class_of_name(name) == NameClass::safetensors;
      if (class_of_name(name) != NameClass::gguf) files.push_back({folder.file(name), name, is_weights});
    }
    return files;
  }

  std::vector<DownloadedFile> files_beside_weights() const {
    std::vector<DownloadedFile> files = files_of_folder();
    std::erase_if(files, [](const DownloadedFile& file) { return file.has_weights; });
    return files;
  }

  // Lists every file in a model's folder, and shards below it.
  void list_downloads() {
    downloads_ = files_of_folder();
    const ModelFolder folder(target_.path);
    for (const std::string& name : shards_below_) downloads_.push_back({folder.file(name), name});
  }

  void finish_manifest() {
    const ThreadBudget::Share share(budget_);
    manifest_->finish(log_, share.threads(), progress_);
  }

  // A published file is not necessarily valid: report both results.
  void tell_published() {
    if (!options_.published || !manifest_ || manifest_->compared_files() == compared_before_) return;
    if (log_.errors() == 0 && log_.warnings() == 0) return;
    for (const Finding& finding : log_) {
      if (finding.severity != Severity::note && finding.code.starts_with("manifest-")) return;
    }
    log_.note(Scope::data, "manifest-published",
              fmt::format("is identical to the files of {}: the same findings apply there", *options_.published));
  }

  void read_data(const CheckedModel& model) {
    const Catalog& catalog = model.catalog;
    if (options_.data) {
      if (values_) {
        log_.add_all(std::move(*values_));
        values_.reset();
      } else {
        const LogStep step(target_.path + ": values");
        const ThreadBudget::Share share(budget_);
        check_data(catalog, model.packed, share.threads(), log_, progress_);
      }
      report_.bytes_read += progress_->done();
    }
    if (options_.hash) {
      const LogStep step(target_.path + ": checksums");
      const ThreadBudget::Share share(budget_);
      write_manifest(catalog, *options_.hash, options_.whole_file, share.threads(), options_.manifest_line, log_,
                     progress_, options_.sums ? ManifestForm::sums : ManifestForm::json_lines);
      report_.bytes_read += progress_->done();
    }
    if (manifest_) {
      const LogStep step(target_.path + ": manifest");
      const ThreadBudget::Share share(budget_);
      manifest_->check_model(catalog, share.threads(), log_, progress_);
      report_.bytes_read += progress_->done();
    }
  }

  // "GGUF v3, 291 tensors, structure only; --data reads the values"
  std::string checked_text(const FormatRules& rules, const CheckedModel& model) const {
    std::string text = model.format_text;
    const Catalog& catalog = model.catalog;
    if (catalog.files.size() > 1) text += ", " + counted(catalog.files.size(), "file");
    text += ", " + counted(catalog.readable(), "tensor") + ", structure";
    return text + more_text(rules.has_checksum ? std::vector<std::string>{"checksum"} : std::vector<std::string>());
  }

  // Returns the scope of the check beyond the structure: " only; --data reads the values" or ", values and manifest".
  std::string more_text(std::vector<std::string> more) const {
    std::string text;
    if (options_.data) more.emplace_back("values");
    if (manifest_) more.emplace_back("manifest");
    if (options_.authentic) more.emplace_back("authenticity");
    if (options_.against) more.push_back("comparison with " + *options_.against);
    if (options_.policy) more.push_back("policy " + options_.policy->name);
    for (std::size_t i = 0; i < more.size(); ++i) text += (i + 1 == more.size() ? " and " : ", ") + more[i];
    if (more.empty()) text += " only";
    const bool values_are_read = options_.data || manifest_ || options_.against || options_.identity;
    return values_are_read ? text : text + "; --data reads the values";
  }

  const VerifyOptions& options_;
  const std::optional<PathProbe>& source_;
  std::optional<ManifestCheck>& manifest_;
  const std::size_t compared_before_;
  ThreadBudget& budget_;
  DigestMemo& digests_;
  const std::optional<TogetherChecks>& together_;
  const VerifyTarget& target_;
  bool is_directory_ = false;
  bool ran_out_ = false;  // out of memory
  std::vector<DownloadedFile> downloads_;
  std::vector<std::string> shards_below_;
  Progress part_;
  Progress* progress_;
  VerifyReport report_;
  FindingLog log_;
  std::optional<FindingLog> values_;  // findings of reading the data while the rules ran
};

ModelVerifier::ModelVerifier(const VerifyOptions& options, std::optional<PathProbe> source, ThreadBudget& threads,
                             Progress* whole, std::optional<TogetherChecks> together)
    : options_(options), source_(std::move(source)), threads_(threads), whole_(whole), together_(std::move(together)) {}

VerifyReport ModelVerifier::verify(const VerifyTarget& target) {
  const ThreadBudget::Place place(threads_);
  {
    const std::shared_lock with_others(at_work_);
    Run run(*this, target);
    VerifyReport report = run.report();
    const bool is_alone = options_.threads < 2 || options_.hash || manifest_;
    if (is_alone || !run.ran_out()) return report;
  }
  const std::unique_lock alone(at_work_);
  return Run(*this, target).report();
}

std::optional<VerifyReport> ModelVerifier::rest_of_manifest(bool is_alone) {
  if (!manifest_ || manifest_->is_of_single_model()) return std::nullopt;
  FindingLog log;
  manifest_->finish(log, options_.threads);
  VerifyReport report;
  report.path = manifest_->manifest().path;
  report.findings = log.findings();
  report.errors = log.errors();
  report.warnings = log.warnings();
  report.is_no_model = !is_alone;
  if (is_alone) report.checked = "checksums of " + counted(manifest_->compared_files(), "file");
  return !is_alone && report.findings.empty() ? std::nullopt : std::optional(std::move(report));
}

u64 ModelVerifier::passes() const {
  return (options_.data ? 1u : 0u) + (options_.hash ? 1u : 0u) + (manifest_ ? 1u : 0u) + (options_.authentic ? 1u : 0u);
}

}  // namespace modelutils
