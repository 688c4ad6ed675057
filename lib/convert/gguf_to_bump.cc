#include "convert/gguf_to_bump.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "arch/families.h"
#include "base/glob.h"
#include "convert/bump_config.h"
#include "convert/bump_manifest.h"
#include "convert/bump_stream.h"
#include "gguf/keys.h"
#include "listing/gguf_listing.h"
#include "verify/gguf/rules.h"

namespace modelutils {

namespace {

// Is `path` (or will it be) a regular file? Devices and FIFOs are written in place and have no folder of their own.
bool is_regular_output(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return path != "-" && (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status));
}

class Conversion {
 public:
  Conversion(const GgufToBumpOptions& options, Progress& progress) : options_(options), progress_(progress) {}

  Result<GgufToBumpReport> run() {
    const auto begin = std::chrono::steady_clock::now();
    MU_TRY(choose_outputs());
    MU_ASSIGN(set_, gguf::open_set(options_.input, options_.links));
    MU_TRY(check_input());
    MU_TRY(plan());
    if (report_.refusals.empty()) {
      if (options_.dry_run) {
        note_outputs();
      } else {
        MU_TRY(create_outputs());
      }
      MU_TRY(look_at_data());
    }
    if (report_.refusals.empty() && !options_.dry_run) MU_TRY(write());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    report_.seconds = elapsed.count();
    return std::move(report_);
  }

 private:
  Status choose_outputs() {
    report_.dry_run = options_.dry_run;
    report_.numbering = options_.request.numbering;
    report_.output = options_.output;
    report_.manifest = options_.manifest;
    if (!options_.output && !options_.dry_run) return usage_error("-o WEIGHTS.bump is missing");
    constexpr u64 largest = ~u32{0};
    if (const auto& context = options_.request.context; context && (*context == 0 || *context > largest)) {
      return usage_error(fmt::format("--context must be 1 to {}", largest));
    }
    if (options_.request.align_head == 0 || options_.request.align_head > largest) {
      return usage_error(fmt::format("--align-head must be 1 to {}", largest));
    }
    if (options_.no_config && options_.config) return usage_error("--config and --no-config cannot be combined");
    report_.config = options_.config;
    if (!options_.config && !options_.no_config && options_.output && is_regular_output(*options_.output)) {
      report_.config = (std::filesystem::path(*options_.output).parent_path() / "config.json").string();
    }
    std::vector<std::filesystem::path> names;
    for (const auto& output : {report_.output, report_.config, report_.manifest}) {
      if (!output) continue;
      std::error_code ignored;  // what cannot be looked at is refused when it is opened
      std::filesystem::path name =
          is_standard_output(*output) ? "-" : std::filesystem::weakly_canonical(*output, ignored);
      if (name.empty()) name = *output;
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        if (name == "-") return usage_error("only one output can go to standard output");
        if (is_regular_output(*output)) return usage_error(fmt::format("two outputs have the same name: {}", *output));
      }
      names.push_back(std::move(name));
    }
    return {};
  }

  // Everything in the source that breaks a rule of class error.
  Status check_input() {
    for (const gguf::SetFile& file : set_.files) {
      report_.inputs.push_back(file.path);
      if (!file.source->size()) {
        return input_error("io-not-regular", "is a pipe; the tensors are read out of order, so save it to a file first",
                           {}, {}, file.path);
      }
    }
    const Findings findings = gguf_structure_rules(set_).findings();
    if (const Finding* finding = first_error(findings)) {
      return tl::make_unexpected(with_path(*finding, options_.input));
    }
    for (const Finding& finding : set_.findings) {
      if (finding.severity == Severity::warning) {
        report_.notes.push_back(fmt::format("{} {}", finding.file, finding.message));
      }
    }
    if (set_.files.front().document.big_endian) {
      return input_error("gguf2bump-big-endian", "is a big-endian file; only little-endian files can be converted", {},
                         {}, set_.files.front().path);
    }
    return {};
  }

  Status plan() {
    index_ = std::make_unique<gguf::Index>(set_.files.front().document);
    MU_ASSIGN(report_.mapping, map_gguf_to_bump(set_, options_.request));
    BumpMapping& mapping = report_.mapping;
    wants_config_ = !options_.no_config && (report_.config || options_.dry_run);
    if (mapping.refusals.empty() && wants_config_) check_bump_config(*index_, mapping, mapping.refusals);
    take_refusals();
    for (const std::string& glob : options_.request.drop) {
      const bool used = std::any_of(mapping.unplaced.begin(), mapping.unplaced.end(),
                                    [&](const UnplacedTensor& item) { return glob_match(glob, item.tensor.name); });
      const bool may_be_used = (mapping.output && glob_match(glob, mapping.output->name)) ||
                               (mapping.rope_freqs && glob_match(glob, mapping.rope_freqs->name));
      if (!used && !may_be_used) {
        report_.notes.push_back(fmt::format("--drop '{}' matches nothing that would be lost", glob));
      }
    }
    GlobUse drop("--drop", "tensor", options_.request.drop);
    drop.look_at(each_tensor_name(set_));
    for (Error& error : drop.unused(options_.input, "gguf-dump")) report_.refusals.push_back(std::move(error));
    const arch::Family* family = arch::find_gguf_family(mapping.hyper.architecture, mapping.has_experts);
    if (family != nullptr && arch::uses_operation(*family, "add_one")) {
      report_.notes.emplace_back("Gemma's norm weights have 1 added in GGUF and are copied as they are");
    }
    note_runtime();
    return {};
  }

  // The file is what upstream's converter makes of the model, and its one runtime path for BUMPWGT3 expects another:
  // docs/formats/bump.md, "Reading it at run time".
  void note_runtime() {
    const BumpMapping& mapping = report_.mapping;
    const bool has_pairs = mapping.hyper.architecture == "llama";
    const bool has_float_wo = std::any_of(mapping.entries.begin(), mapping.entries.end(), [](const BumpEntry& entry) {
      return entry.entry.role == bump::Role::wo && entry.entry.dtype == bump::Dtype::fp32;
    });
    if (!report_.refusals.empty() || (!has_pairs && !has_float_wo)) return;
    report_.notes.push_back(
        fmt::format("{}{}{}, as C-Kernel-Engine's own converter writes it; the only part of that engine that still "
                    "reads BUMPWGT3 expects "
                    "another layout and computes wrong results",
                    has_pairs ? "Q and K are in GGUF's order of adjacent pairs" : "",
                    has_pairs && has_float_wo ? ", and " : "", has_float_wo ? "F32 wo is not packed by head" : ""));
  }

  void take_refusals() {
    for (Error& error : report_.mapping.refusals.errors()) {
      report_.refusals.push_back(in_file(std::move(error), set_.files.front().path));
    }
    report_.mapping.refusals = {};
  }

  bool is_dropped(std::string_view name) const {
    const auto& drop = options_.request.drop;
    return std::any_of(drop.begin(), drop.end(), [&](const std::string& glob) { return glob_match(glob, name); });
  }

  // Two tensors have a place only if their content allows it. Still before a byte is written.
  Status look_at_data() {
    BumpMapping& mapping = report_.mapping;
    MU_ASSIGN(report_.rope, read_rope_freqs(set_, mapping));
    if (mapping.rope_freqs && !report_.rope) {
      cannot_carry(*mapping.rope_freqs, "gguf2bump-rope-freqs",
                   "rope_scaling in config.json cannot express its values");
    } else if (mapping.rope_freqs && !report_.config) {
      report_.notes.emplace_back(
          "rope_freqs.weight is lost: only rope_scaling in config.json can carry it, and no config.json is written");
    }
    if (mapping.output) {
      MU_ASSIGN(const bool is_same, same_bytes(set_, *mapping.token_embedding, *mapping.output));
      if (!is_same) {
        cannot_carry(*mapping.output, "gguf2bump-output",
                     "differs from token_embd.weight, but BUMPWGT3 has no place for a separate output head");
        mapping.output.reset();
      }
    }
    take_refusals();
    if (report_.refusals.empty() && wants_config_)
      report_.config_text = bump_config_text(*index_, mapping, report_.rope);
    return {};
  }

  void cannot_carry(const LocatedTensor& tensor, std::string code, std::string reason) {
    BumpMapping& mapping = report_.mapping;
    mapping.unplaced.push_back({tensor, reason, is_dropped(tensor.name)});
    if (mapping.unplaced.back().dropped) return;
    mapping.refusals.add(std::move(code), "tensor", tensor.name,
                         fmt::format("{}; pass --drop '{}' to accept the loss", reason, tensor.name));
  }

  OutputOptions output_options() const { return {.force = options_.force, .inputs = report_.inputs, .binary = true}; }

  // What would be in the way of the outputs.
  void note_outputs() {
    for (const auto* output : {&report_.output, &report_.config, &report_.manifest}) {
      if (!*output) continue;
      if (const Status free = AtomicOutput::check(**output, output_options()); !free) {
        report_.notes.push_back(fmt::format("{}: {}", **output, free.error().message));
      }
    }
  }

  // All of them before the work begins: an output that may not be replaced is not a surprise after an hour.
  Status create_outputs() {
    OutputOptions options = output_options();
    const auto create = [&](const std::optional<std::string>& path, std::optional<AtomicOutput>& output) -> Status {
      if (!path) return {};
      MU_ASSIGN(AtomicOutput created, AtomicOutput::create(*path, options));
      output.emplace(std::move(created));
      options.binary = false;  // the weights come first, what follows is text
      return {};
    };
    MU_TRY(create(report_.output, weights_));
    MU_TRY(create(report_.config, config_));
    return create(report_.manifest, manifest_);
  }

  Status write() {
    MU_ASSIGN(const BumpStreamResult streamed,
              stream_bump(set_, report_.mapping, report_.numbering, manifest_.has_value(), *weights_, progress_));
    report_.sha256 = streamed.sha256;
    if (config_) MU_TRY(config_->append(std::as_bytes(std::span(report_.config_text))));
    if (manifest_) {
      const std::string text = bump_manifest_text(report_, streamed.entry_sha256);
      MU_TRY(manifest_->append(std::as_bytes(std::span(text))));
    }
    std::vector<AtomicOutput*> outputs;
    for (auto* output : {&weights_, &config_, &manifest_}) {
      if (*output) outputs.push_back(&**output);
    }
    MU_TRY(AtomicOutput::commit_all(outputs));
    struct stat status {};
    if (weights_->is_seekable() && ::fstat(weights_->descriptor(), &status) == 0) {
      report_.disk_bytes = static_cast<u64>(status.st_blocks) * 512;
    }
    return {};
  }

  const GgufToBumpOptions& options_;
  Progress& progress_;
  gguf::SplitSet set_;
  std::unique_ptr<gguf::Index> index_;
  bool wants_config_ = false;
  GgufToBumpReport report_;
  std::optional<AtomicOutput> weights_, config_, manifest_;
};

}  // namespace

Result<GgufToBumpReport> convert_gguf_to_bump(const GgufToBumpOptions& options, Progress& progress) {
  return Conversion(options, progress).run();
}

}  // namespace modelutils
