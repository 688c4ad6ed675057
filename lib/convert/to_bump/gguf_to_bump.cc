#include "convert/to_bump/gguf_to_bump.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "arch/families.h"
#include "arch/image_models.h"
#include "base/not_found.h"
#include "base/os/files.h"
#include "base/text.h"
#include "convert/to_bump/bump5_config.h"
#include "convert/to_bump/manifest.h"
#include "convert/to_bump/mapping.h"
#include "convert/to_bump/stream.h"
#include "formats/gguf/document.h"
#include "io/atomic_directory.h"
#include "io/output_place.h"
#include "model/listing/listing.h"
#include "rules/gguf/rules.h"

namespace modelutils {

namespace {

constexpr u64 uniform_gemma_layers = 5;  // from the sixth layer on, one in six has full attention

// Types whose output head the engine computes only in the full logits layout; see docs/formats/bump5.md, "Types".
bool needs_full_logits(bump::Dtype dtype) {
  using bump::Dtype;
  return dtype == Dtype::fp32 || dtype == Dtype::fp16 || dtype == Dtype::q5_1 || dtype == Dtype::q5_k;
}

// Adds notes about converted types, layers that the engine computes differently, and merges and tokens that its
// tokenizer cannot represent. Source: docs/formats/bump5.md.
void add_bump5_notes(const Bump5Mapping& mapping, std::vector<std::string>& notes) {
  for (const auto& [types, count] : mapping.substitutes) {
    notes.push_back(fmt::format(
        "{} of type {} {} written as {}, with the same values: C-Kernel-Engine has no kernel for "
        "the original type there",
        counted(count, "tensor"), type_name(types.first), verb(count, "is", "are"), type_name(types.second)));
  }
  if (mapping.entries.empty()) return;
  const bump::Dtype head = mapping.entries[mapping.features.untied ? 1 : 0].entry.dtype;
  if (needs_full_logits(head)) {
    notes.push_back(
        fmt::format("an output head of type {} needs build_ir_v8.py --logits-layout full", bump::dtype_name(head)));
  }
  if (mapping.family->engine.is_gemma && mapping.header.num_layers > uniform_gemma_layers &&
      (mapping.hyper.rope_theta != 10000 || mapping.sliding_window != 0)) {
    notes.emplace_back(
        "C-Kernel-Engine computes every layer of gemma3 with one rope_theta and the sliding window, so its results "
        "differ from the sixth layer on");
  }
  if (!mapping.vocabulary) {
    notes.emplace_back("the model has no tokens: the file is without a tokenizer");
  } else {
    const Bump5Vocabulary& vocabulary = *mapping.vocabulary;
    if (vocabulary.left_out != 0) {
      notes.push_back(fmt::format("{} left out: a part of {} is not in the vocabulary",
                                  counted(vocabulary.left_out, "merge"), verb(vocabulary.left_out, "it", "them")));
    }
    if (vocabulary.is_unigram) {
      notes.push_back(
          fmt::format("C-Kernel-Engine treats several spaces in a row as one{}: such texts are tokenised differently "
                      "from llama.cpp",
                      vocabulary.has_charsmap ? ", and does not apply tokenizer.ggml.precompiled_charsmap" : ""));
    }
    if (vocabulary.with_nul != 0) {
      notes.push_back(fmt::format("{} with a NUL: the engine reads only the text before it",
                                  counted(vocabulary.with_nul, "token")));
    }
  }
}

class Conversion {
 public:
  Conversion(const GgufToBumpOptions& options, Progress& progress) : options_(options), progress_(progress) {}

  Result<GgufToBumpReport> run() {
    const auto begin = std::chrono::steady_clock::now();
    report_.dry_run = options_.dry_run;
    report_.numbering = options_.request.codes();
    MU_ASSIGN(report_.paths, choose_bump_outputs(options_));
    MU_ASSIGN(set_, gguf::open_set(options_.input, options_.links));
    MU_TRY(arch::refuse_image_model(set_));
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
    if (report_.refusals.empty() && !options_.dry_run) MU_TRY(commit());
    return std::move(report_);
  }

 private:
  // Fails if the source breaks a rule of class error.
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
    MU_TRY(refuse_foreign_types(set_));
    for (const Finding& finding : set_.findings) {
      if (finding.severity == Severity::warning) {
        report_.notes.push_back(finding.file.empty() ? finding.message : finding.file + " " + finding.message);
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
    MU_TRY(options_.request.version == 5 ? plan_v5() : plan_v3());
    const BumpMapping& mapping = report_.mapping;
    for (const std::string& glob : options_.request.drop) {
      const bool used = std::ranges::any_of(
          report_.plan().unplaced, [&](const UnplacedTensor& item) { return glob_match(glob, item.tensor.name); });
      const bool may_be_used = (mapping.output && glob_match(glob, mapping.output->name)) ||
                               (mapping.rope_freqs && glob_match(glob, mapping.rope_freqs->name));
      if (!used && !may_be_used) {
        report_.notes.push_back(fmt::format("--drop '{}' matches nothing that would be lost", glob));
      }
    }
    GlobUse drop("--drop", "tensor", options_.request.drop);
    drop.look_at(each_tensor_name(set_));
    for (Error& error : drop.unused(options_.input, "gguf-dump")) report_.refusals.push_back(std::move(error));
    const arch::Family* family = arch::find_gguf_family(report_.plan().hyper.stated.architecture, mapping.has_experts);
    if (family != nullptr && arch::uses_operation(*family, "add_one")) {
      report_.notes.emplace_back("Gemma's norm weights have 1 added in GGUF and are copied as they are");
    }
    if (report_.bump5) {
      add_bump5_notes(*report_.bump5, report_.notes);
    } else {
      note_runtime();
    }
    return {};
  }

  Status plan_v3() {
    MU_ASSIGN(report_.mapping, map_gguf_to_bump(set_, options_.request));
    BumpMapping& mapping = report_.mapping;
    wants_config_ = !options_.no_config && (report_.paths.config || options_.dry_run);
    if (mapping.refusals.empty() && wants_config_) check_bump_config(mapping, mapping.refusals);
    take_refusals(mapping);
    report_.file_size = mapping.file_size;
    return {};
  }

  Status plan_v5() {
    MU_ASSIGN(report_.bump5, map_gguf_to_bump5(set_, options_.request));
    take_refusals(*report_.bump5);
    if (!report_.refusals.empty()) return {};
    report_.config_text = bump5_config_text(*index_, *report_.bump5);
    manifest_text_ = bump5_manifest_text(*index_, *report_.bump5);
    MU_ASSIGN(metadata_, bump5_metadata_text(manifest_text_, "gguf2bump (modelutils)"));
    report_.file_size = report_.bump5->file_size + metadata_.size() + bump5::footer_bytes;
    return {};
  }

  // The file matches upstream's converter, but upstream's only runtime path for BUMPWGT3 expects another order:
  // docs/formats/bump.md, "Reading it at run time".
  void note_runtime() {
    const BumpMapping& mapping = report_.mapping;
    const bool has_pairs = mapping.hyper.stated.architecture == "llama";
    const bool has_float_wo = std::any_of(mapping.entries.begin(), mapping.entries.end(), [](const BumpEntry& entry) {
      return entry.entry.role == bump::Role::wo && entry.entry.dtype == bump::Dtype::fp32;
    });
    if (!report_.refusals.empty() || (!has_pairs && !has_float_wo)) return;
    if (options_.request.split_halves) {
      report_.notes.push_back(fmt::format("repacked for the part of C-Kernel-Engine that still reads BUMPWGT3: {}{}{}",
                                          has_pairs ? "Q and K are in halves" : "",
                                          has_pairs && has_float_wo ? ", " : "",
                                          has_float_wo ? "F32 wo is packed by head" : ""));
      return;
    }
    report_.notes.push_back(
        fmt::format("{}{}{}, as C-Kernel-Engine's own converter writes it; the only part of that engine that still "
                    "reads BUMPWGT3 expects "
                    "another layout and computes wrong results",
                    has_pairs ? "Q and K are in GGUF's order of adjacent pairs" : "",
                    has_pairs && has_float_wo ? ", and " : "", has_float_wo ? "F32 wo is not packed by head" : ""));
  }

  void take_refusals(BumpPlan& plan) {
    for (Error& error : plan.refusals.errors()) {
      report_.refusals.push_back(in_file(std::move(error), set_.files.front().path));
    }
    plan.refusals = {};
  }

  bool is_dropped(std::string_view name) const {
    const auto& drop = options_.request.drop;
    return std::any_of(drop.begin(), drop.end(), [&](const std::string& glob) { return glob_match(glob, name); });
  }

  // Two tensors may be left out only if their contents are redundant. Check before a byte is written.
  Status look_at_data() {
    if (report_.bump5) return {};
    BumpMapping& mapping = report_.mapping;
    MU_ASSIGN(report_.rope, read_rope_freqs(set_, mapping));
    if (mapping.rope_freqs && !report_.rope) {
      cannot_carry(*mapping.rope_freqs, "gguf2bump-rope-freqs",
                   "rope_scaling in config.json cannot express its values");
    } else if (mapping.rope_freqs && !wants_config_) {
      cannot_carry(*mapping.rope_freqs, "gguf2bump-rope-freqs",
                   "only rope_scaling in config.json can carry it, and no config.json is written");
    }
    if (mapping.output) {
      MU_ASSIGN(const bool is_same, same_bytes(set_, *mapping.token_embedding, *mapping.output));
      if (!is_same) {
        cannot_carry(*mapping.output, "gguf2bump-output",
                     "differs from token_embd.weight, but BUMPWGT3 cannot hold a separate output head");
        mapping.output.reset();
      }
    }
    take_refusals(mapping);
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

  OutputOptions output_options() const { return {.force = options_.force, .inputs = {}, .binary = true}; }

  // Notes existing files that would block the outputs.
  void note_outputs() {
    const BumpOutputPaths& paths = report_.paths;
    for (const auto* output : {&paths.output, &paths.config, &paths.manifest, &paths.map}) {
      if (!*output || (paths.new_folder && (*output)->starts_with(*paths.new_folder))) continue;
      if (const Status free = AtomicOutput::check(**output, output_options()); !free) {
        report_.notes.push_back(fmt::format("{}: {}", **output, free.error().message));
      }
    }
  }

  // Create all outputs before the work begins, so that a file that may not be replaced is reported at once.
  Status create_outputs() {
    const BumpOutputPaths& paths = report_.paths;
    if (paths.output) MU_TRY(check_free_space(*paths.output, report_.file_size));
    if (paths.new_folder) MU_TRY(folder_.create(*paths.new_folder));
    OutputOptions options = output_options();
    const auto create = [&](const std::optional<std::string>& path, std::optional<AtomicOutput>& output) -> Status {
      if (!path) return {};
      MU_ASSIGN(AtomicOutput created, AtomicOutput::create(*path, options));
      output.emplace(std::move(created));
      options.binary = false;  // the weights come first; later outputs are text
      return {};
    };
    MU_TRY(create(paths.output, weights_));
    MU_TRY(create(paths.config, config_));
    MU_TRY(create(paths.manifest, manifest_));
    return create(paths.map, map_);
  }

  Status write() {
    BumpFileImage image =
        report_.bump5 ? image_of(*report_.bump5, metadata_) : image_of(report_.mapping, report_.numbering);
    const bool hash_entries = manifest_.has_value() && !report_.bump5;
    MU_ASSIGN(const BumpStreamResult streamed, stream_bump(set_, std::move(image), hash_entries, *weights_, progress_));
    report_.sha256 = streamed.sha256;
    const auto append = [](std::optional<AtomicOutput>& output, std::string_view text) -> Status {
      return output ? output->append(std::as_bytes(std::span(text))) : Status();
    };
    MU_TRY(append(config_, report_.config_text));
    if (report_.bump5) {
      MU_TRY(append(manifest_, manifest_text_));
      MU_TRY(append(map_, bump5_map_text(*report_.bump5)));
    } else if (manifest_) {
      MU_TRY(append(manifest_, bump_manifest_text(report_, streamed.entry_sha256)));
    }
    if (const auto status = os::status(weights_->descriptor()); status && weights_->is_seekable()) {
      report_.disk_bytes = status->disk_bytes;
    }
    return {};
  }

  Status commit() {
    if (options_.deliver) MU_TRY(options_.deliver(report_));
    std::vector<AtomicOutput*> outputs;
    for (auto* output : {&weights_, &config_, &manifest_, &map_}) {
      if (*output) outputs.push_back(&**output);
    }
    MU_TRY(AtomicOutput::commit_all(outputs));
    folder_.keep();
    return {};
  }

  const GgufToBumpOptions& options_;
  Progress& progress_;
  gguf::SplitSet set_;
  std::unique_ptr<gguf::Index> index_;
  bool wants_config_ = false;
  GgufToBumpReport report_;
  std::string manifest_text_, metadata_;  // BUMPWGT5
  NewFolder folder_;                      // must be destroyed after the outputs in it
  std::optional<AtomicOutput> weights_, config_, manifest_, map_;
};

}  // namespace

Result<GgufToBumpReport> convert_gguf_to_bump(const GgufToBumpOptions& options, Progress& progress) {
  return Conversion(options, progress).run();
}

}  // namespace modelutils
