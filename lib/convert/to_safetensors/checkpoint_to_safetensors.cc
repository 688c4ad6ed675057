#include "convert/to_safetensors/checkpoint_to_safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/path.h"
#include "base/text.h"
#include "convert/transfer/report.h"
#include "io/atomic_directory.h"
#include "io/check_written.h"
#include "io/model_folder.h"
#include "io/output_place.h"
#include "io/random_access_file.h"
#include "json/writer.h"
#include "model/safetensors_model.h"
#include "rules/formats.h"

namespace modelutils::to_safetensors {

namespace {

constexpr u64 chunk_bytes = u64{1} << 20;
constexpr u64 most_side_file = u64{1} << 30;

// Copies the tensors' bytes.
Status stream(const CheckpointPlan& plan, std::span<AtomicOutput> outputs, unsigned threads, Progress& progress) {
  const EncodeRows copy = [&](std::size_t i, u64 first, u64 /*count*/, const EncodedParts& out, unsigned /*thread*/,
                              ValueSums* /*error*/) {
    const safetensors::TensorRef ref = plan.sources[i];
    const safetensors::ShardFile& source = plan.set().file(ref);
    return source.source->read_exact(source.document.data_offset + plan.set().tensor(ref).begin + first, out[0]);
  };
  MU_TRY(write_planned(plan, outputs, threads, copy, progress));
  return {};
}

std::vector<std::string> inputs_of(const CheckpointPlan& plan) {
  std::vector<std::string> inputs;
  for (const safetensors::ShardFile& file : plan.set().files) inputs.push_back(file.path);
  return inputs;
}

Status write_single(const CheckpointPlan& plan, const CheckpointOptions& options, Progress& progress) {
  MU_TRY(check_free_space(options.output, plan.bytes()));
  MU_ASSIGN(AtomicOutput file, AtomicOutput::create(options.output, {options.force, inputs_of(plan)}));
  if (!file.is_seekable()) return usage_error("-o FILE.safetensors must be a file, not a pipe or device");
  MU_TRY(stream(plan, {&file, 1}, options.threads, progress));
  progress.finish();
  if (options.deliver) MU_TRY(options.deliver(plan.report));
  return file.commit();
}

Status copy_side_file(const CheckpointPlan& plan, const std::string& name, AtomicOutput& to) {
  MU_ASSIGN(const FolderFile from, open_in_folder(plan.set().folder, name));
  const u64 size = from.file->file_size();
  if (size > most_side_file) {
    return input_error("pt2st-input", fmt::format("has {} bytes, too many for a file next to the weights", size), {},
                       {}, plan.set().folder + name);
  }
  std::vector<std::byte> buffer(std::min(size, chunk_bytes));
  for (u64 at = 0; at < size; at += buffer.size()) {
    const MutableBytes piece = MutableBytes(buffer).first(std::min<u64>(buffer.size(), size - at));
    MU_TRY(from.file->read_exact(at, piece));
    MU_TRY(to.append(piece));
  }
  return {};
}

Status write_files(CheckpointPlan& plan, const CheckpointOptions& options, AtomicDirectory& directory,
                   Progress& progress) {
  std::vector<AtomicOutput> files;
  for (const PlannedFile& file : plan.files) {
    MU_ASSIGN(AtomicOutput output, directory.create_file(file.path));
    output.pause();  // limits the number of open files
    files.push_back(std::move(output));
  }
  MU_TRY(stream(plan, files, options.threads, progress));
  if (!plan.index.empty()) {
    MU_ASSIGN(AtomicOutput output, directory.create_file("model.safetensors.index.json"));
    MU_TRY(output.append(std::as_bytes(std::span(plan.index))));
    MU_TRY(check_written(output, plan.index, plan.index.size()));
    files.push_back(std::move(output));
  }
  for (const std::string& name : plan.copied) {
    MU_ASSIGN(AtomicOutput output, directory.create_file(name));
    MU_TRY(copy_side_file(plan, name, output));
    plan.report.files.push_back({name, output.appended(), 0});
    files.push_back(std::move(output));
  }
  progress.finish();
  return directory.close_files(files);
}

Status write_directory(CheckpointPlan& plan, const CheckpointOptions& options, Progress& progress) {
  DirectoryOptions output;
  output.force = options.force;
  output.inputs = inputs_of(plan);
  if (plan.set().files.size() == 1 && !plan.set().is_directory) output.or_file = ", or name a file FILE.safetensors";
  output.is_ours = [&](std::string_view name) {
    return name.ends_with(".safetensors") || name.ends_with(".json") || std::ranges::count(plan.copied, name) > 0;
  };
  MU_TRY(check_free_space(options.output, plan.bytes()));
  MU_ASSIGN(AtomicDirectory directory, AtomicDirectory::create(options.output, output));
  if (Status written = write_files(plan, options, directory, progress); !written) {
    return tl::make_unexpected(directory.under_final_name(std::move(written.error())));
  }
  if (options.deliver) MU_TRY(options.deliver(plan.report));
  return directory.commit();
}

}  // namespace

Result<TransferReport> checkpoint_to_safetensors(const CheckpointOptions& options, Progress& progress) {
  if (options.output.empty() && !options.dry_run) return usage_error("-o FILE.safetensors or DIR is missing");
  if (options.output == "-") return usage_error("-o names a file or directory; it cannot be standard output");
  if (options.shard_size == 0) return usage_error("--shard-size must be at least 1");
  MU_ASSIGN(CheckpointPlan plan, plan_checkpoint(options));
  if (options.dry_run) return std::move(plan.report);
  progress.restart("writing", plan.bytes());
  MU_TRY(plan.to_directory ? write_directory(plan, options, progress) : write_single(plan, options, progress));
  return std::move(plan.report);
}

namespace {

constexpr std::string_view single_name = "model.safetensors";
constexpr std::string_view index_name = "model.safetensors.index.json";
// Output heads that transformers ties to the embedding; the Hub's converter keeps the embedding of such a pair.
constexpr std::array tied_heads = {"lm_head.weight", "embed_out.weight", "output.weight"};
// File name endings of a model's side files, which are copied. Programs are not.
constexpr std::array copied_endings = {".json", ".jinja", ".md", ".model", ".txt", ".tiktoken"};

bool is_tied_head(std::string_view name) {
  return std::ranges::any_of(tied_heads, [&](std::string_view head) { return name.ends_with(head); });
}

class CheckpointPlanner {
 public:
  explicit CheckpointPlanner(const CheckpointOptions& options) : options_(options) {}

  Result<CheckpointPlan> plan() {
    MU_ASSIGN(PathProbe probe, probe_path(options_.input, options_.links));
    if (!probe.format) return tl::make_unexpected(unknown_format(probe));
    const bool is_directory = probe.is_directory;
    MU_ASSIGN(plan_.model, open_model(std::move(probe)));
    if (!plan_.model.safetensors || !plan_.set().has_checkpoints) {
      return input_error("pt2st-input",
                         fmt::format("is {}, not a PyTorch checkpoint", format_info(plan_.model.format).noun), {}, {},
                         options_.input);
    }
    MU_ASSIGN(const CheckedModel checked, rules_of(plan_.model.format).check(plan_.model, 1));
    const Findings found = checked.findings.findings();
    if (const Finding* broken = first_container_error(found)) {
      return tl::make_unexpected(with_path(*broken, options_.input));
    }
    for (const Finding& finding : found) {
      if (finding.code.starts_with("pt-") && finding.severity != Severity::error) plan_.report.remarks.add(finding);
    }
    plan_.to_directory = is_directory || plan_.set().files.size() > 1 || !options_.output.ends_with(".safetensors");
    plan_.report.kind = ReportKind::pt2st;
    plan_.report.input = options_.input;
    plan_.report.output = options_.output;
    plan_.report.dry_run = options_.dry_run;
    choose_tensors();
    if (chosen_.empty()) return input_error("pt2st-input", "holds no tensors", {}, {}, options_.input);
    drop_shared();
    MU_TRY(lay_out());
    if (is_directory) MU_TRY(list_side_files());
    return std::move(plan_);
  }

 private:
  struct Chosen {
    safetensors::TensorRef ref;
    std::string name;
  };

  const safetensors::Tensor& tensor(safetensors::TensorRef ref) const { return plan_.set().tensor(ref); }

  /// Chooses the weights below the wrapper of a single file. For a directory, opening it has chosen them already.
  void choose_tensors() {
    const safetensors::ShardSet& set = plan_.set();
    const pytorch::Document* first = checkpoint_of(set.files.front());
    plan_.report.wrapper = first->wrapper;
    const std::string prefix = set.is_directory || first->wrapper.empty() ? std::string() : first->wrapper + ".";
    for (const safetensors::ShardFile& file : set.files) {
      const pytorch::Document& document = *checkpoint_of(file);
      const std::string own = document.wrapper.empty() ? std::string() : document.wrapper + ".";
      for (const pytorch::Tensor& each : document.tensors) {
        if (!each.name.starts_with(own)) plan_.report.left_out.push_back({each.name, LeftOutReason::beside_weights});
      }
    }
    if (const std::vector<LeftOut>& left_out = plan_.report.left_out; !left_out.empty()) {
      plan_.report.remarks.warning(Scope::model, "convert-left-out",
                                   fmt::format("{} of the checkpoint {} not in the output: not weights of the model, "
                                               "but stored next to them, such as an optimizer's",
                                               counted(left_out.size(), "tensor"), verb(left_out.size(), "is", "are")),
                                   at_tensor(left_out.front().name));
    }
    for (const safetensors::TensorRef ref : set.tensors) {
      const std::string_view name = tensor(ref).name;
      if (!name.starts_with(prefix)) continue;
      chosen_.push_back({ref, std::string(name.substr(prefix.size()))});
      if (chosen_.back().name.empty()) chosen_.back().name = "tensor";  // the root is a single tensor
    }
  }

  /// Writes tensors with the same elements in the same order only once, like the Hub's converter.
  void drop_shared() {
    using Place = std::tuple<u32, std::size_t, u64, std::string_view, std::vector<u64>, std::vector<u64>>;
    std::map<Place, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const safetensors::TensorRef ref = chosen_[i].ref;
      const pytorch::Document& document = *checkpoint_of(plan_.set().files[ref.file]);
      const pytorch::Tensor* made = original(document, ref);
      if (made == nullptr || made->bytes == 0) continue;
      groups[{ref.file, made->storage, made->offset, tensor(ref).dtype, made->shape, made->strides}].push_back(i);
    }
    std::vector<bool> is_dropped(chosen_.size());
    std::map<std::string, std::string> kept_of;
    for (const auto& [place, members] : groups) {
      if (members.size() < 2) continue;
      const std::size_t kept = *std::ranges::min_element(members, [&](std::size_t a, std::size_t b) {
        return std::pair(is_tied_head(chosen_[a].name), std::string_view(chosen_[a].name)) <
               std::pair(is_tied_head(chosen_[b].name), std::string_view(chosen_[b].name));
      });
      for (const std::size_t i : members) {
        if (i == kept) continue;
        is_dropped[i] = true;
        kept_of[chosen_[i].name] = chosen_[kept].name;
      }
    }
    plan_.report.shared.assign(kept_of.begin(), kept_of.end());
    std::vector<Chosen> rest;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (!is_dropped[i]) rest.push_back(std::move(chosen_[i]));
    }
    chosen_ = std::move(rest);
  }

  /// Returns the checkpoint's own entry for a tensor of the set. The set has the same order, but omits some entries.
  const pytorch::Tensor* original(const pytorch::Document& document, safetensors::TensorRef ref) {
    std::size_t& at = cursor_[ref.file];
    const std::string_view name = tensor(ref).name;
    for (; at < document.tensors.size(); ++at) {
      if (std::string_view(document.tensors[at].name).ends_with(name) &&
          document.tensors[at].pickle_offset == tensor(ref).entry_offset) {
        return &document.tensors[at++];
      }
    }
    return nullptr;
  }

  Status lay_out() {
    std::vector<std::vector<std::size_t>> shards(1);
    u64 filled = 0;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const u64 bytes = tensor(chosen_[i].ref).bytes();
      const bool is_full =
          !shards.back().empty() && (filled > options_.shard_size || bytes > options_.shard_size - filled);
      if (plan_.to_directory && is_full) {
        shards.emplace_back();
        filled = 0;
      }
      filled += bytes;
      shards.back().push_back(i);
    }
    std::map<std::string, std::string> weight_map;
    std::multimap<std::string_view, std::string_view> dropped_of;
    for (const auto& [dropped, kept] : plan_.report.shared) dropped_of.emplace(kept, dropped);
    u64 total = 0;
    for (std::size_t s = 0; s < shards.size(); ++s) {
      PlannedFile file;
      file.path = !plan_.to_directory  ? base_name_of(options_.output)
                  : shards.size() == 1 ? std::string(single_name)
                                       : fmt::format("model-{:05}-of-{:05}.safetensors", s + 1, shards.size());
      safetensors::OutMetadata metadata = {{"format", "pt"}};
      std::vector<safetensors::OutTensor> tensors;
      for (const std::size_t i : shards[s]) {
        const safetensors::Tensor& source = tensor(chosen_[i].ref);
        tensors.push_back({chosen_[i].name, *source.type, {source.shape.begin(), source.shape.end()}});
        plan_.sources.push_back(chosen_[i].ref);
        weight_map[chosen_[i].name] = file.path;
        total += source.bytes();
        TensorReport& report = plan_.report.tensors.emplace_back();
        report.name = chosen_[i].name;
        report.source = source.name;
        report.source_form = report.form = source.dtype;
        report.shape.assign(source.shape.begin(), source.shape.end());
        report.bytes = source.bytes();
        report.file = file.path;
        const auto [first, last] = dropped_of.equal_range(chosen_[i].name);
        for (auto each = first; each != last; ++each) metadata.emplace_back(each->second, each->first);
      }
      auto layout = safetensors::layout(metadata, tensors);
      if (!layout) return tl::make_unexpected(in_file(std::move(layout.error()), options_.input));
      for (const auto& [begin, end] : layout->offsets) {
        StreamTensor& stream = plan_.stream.emplace_back();
        stream.file = s;
        stream.rows = end - begin;
        stream.parts[0] = {layout->header.size() + begin, 1};
      }
      file.header = std::move(layout->header);
      file.size = layout->file_size;
      plan_.report.files.push_back({file.path, file.size, tensors.size()});
      plan_.files.push_back(std::move(file));
    }
    if (shards.size() > 1) write_index(weight_map, total);
    return {};
  }

  void write_index(const std::map<std::string, std::string>& weight_map, u64 total) {
    json::Writer out;
    {
      const auto in_object = out.object();
      {
        const auto in_metadata = out.object("metadata");
        out.member("total_size", total);
      }
      const auto in_weight_map = out.object("weight_map");
      for (const auto& [name, file] : weight_map) out.member(name, file);
    }
    out.end_line();
    plan_.index = out.text();
    plan_.report.files.push_back({std::string(index_name), plan_.index.size(), 0});
  }

  Status list_side_files() {
    MU_ASSIGN(const DirectoryNames names,
              DirectoryNames::read(options_.input, [](std::string_view name, EntryKind kind) {
                return (kind == EntryKind::file || kind == EntryKind::link) && !name.starts_with('.');
              }));
    std::vector<std::string> left;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string name(names.name(i));
      if (name.find(".index") != name.npos && name.ends_with(".json")) continue;
      const bool is_copied =
          std::ranges::any_of(copied_endings, [&](std::string_view end) { return name.ends_with(end); });
      if (is_copied) {
        plan_.copied.push_back(name);
      } else if (!name.ends_with(".bin")) {
        left.push_back(name);
      }
    }
    std::ranges::sort(left);
    for (const std::string& name : left) {
      plan_.report.remarks.note(Scope::model, "pt2st-left-out",
                                "is not copied: only configuration, tokenizer and texts are", at_file(name));
    }
    std::ranges::sort(plan_.copied);
    return {};
  }

  const CheckpointOptions& options_;
  CheckpointPlan plan_;
  std::vector<Chosen> chosen_;
  std::map<u32, std::size_t> cursor_;  // by file: index into its tensors
};

}  // namespace

Result<CheckpointPlan> plan_checkpoint(const CheckpointOptions& options) {
  return CheckpointPlanner(options).plan();
}

}  // namespace modelutils::to_safetensors
