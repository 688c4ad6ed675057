#include "edit/gguf_edit.h"

#include <algorithm>

#include "base/name_index.h"
#include "base/path.h"
#include "base/text.h"
#include "convert/transfer/plan.h"
#include "edit/block_edits.h"
#include "edit/edited_model.h"
#include "edit/in_place.h"
#include "edit/layout.h"
#include "formats/gguf/parse.h"
#include "formats/gguf/split_set.h"
#include "io/copy_range.h"
#include "io/model_folder.h"
#include "rules/gguf/loader_rules.h"

namespace modelutils::edit {

namespace {

Status check_options(const EditOptions& options) {
  const bool is_output = !options.output.empty();
  if (is_output && options.in_place) return usage_error("-o and --in-place cannot be combined");
  if (!is_output && !options.in_place && !options.dry_run) {
    return usage_error("one of -o, --in-place, --dry-run and --recover is needed");
  }
  const SplitOptions& split = options.split;
  if (split.max_size && split.max_tensors) {
    return usage_error("--split-max-size and --split-max-tensors cannot be combined");
  }
  if (split.max_size == u64{0}) return usage_error("--split-max-size must be at least 1 byte, such as 2G");
  if (split.max_tensors == u64{0}) return usage_error("--split-max-tensors must be at least 1");
  if (split.no_tensor_first && !split.max_size && !split.max_tensors) {
    return usage_error("--no-tensor-first-split needs --split-max-size or --split-max-tensors");
  }
  if (split.is_wanted() && options.in_place) return usage_error("a split model needs -o");
  if (split.is_wanted() && is_output && is_standard_output(options.output)) {
    return usage_error("a split model cannot be written to standard output");
  }
  constexpr u64 most_reserve = u64{1} << 30;
  if (options.reserve && options.in_place) return usage_error("--reserve needs -o: an in-place edit cannot make room");
  if (options.reserve.value_or(0) > most_reserve) return usage_error("--reserve must be at most 1G");
  return {};
}

// `inputs` stays empty, because io/standard_output.h tracks every opened file (the model, scripts, values, other
// models).
OutputOptions output_options(const EditOptions& options) {
  return {.force = options.force, .inputs = {}, .binary = true};
}

struct Extent {
  u64 begin = 0;
  u64 size = 0;
};

class EditPlanner {
 public:
  explicit EditPlanner(const EditOptions& options) : options_(options) {}

  Result<EditPlan> plan() {
    MU_TRY(check_options(options_));
    if (options_.in_place) MU_TRY(refuse_download_cache(options_.model));
    MU_ASSIGN(plan_.before, gguf::open_set(options_.model));
    for (const gguf::SetFile& file : plan_.before.files) {
      if (file.source->as_file() != nullptr) continue;
      return input_error("io-not-regular", "is not a regular file", {}, {}, file.source->name());
    }
    ReadOptions read{.force = options_.force, .split_keys = options_.in_place};
    was_whole_ = is_whole_model(plan_.before);
    MU_ASSIGN(model_, read_edited_model(plan_.before, read));
    // A file may have hundreds of thousands of tensors, so keep only one copy from here on.
    for (const gguf::SetFile& file : plan_.before.files) old_records_.push_back(tensor_records(file.document));
    forget_tensors(plan_.before);
    MU_TRY(apply_edits(model_, options_.operations, options_.force));
    const bool cuts =
        std::ranges::any_of(model_.tensors, [](const EditedTensor& each) { return !each.slices.empty(); });
    if (options_.in_place && (cuts || !model_.grafted.empty())) {
      return input_error("edit-in-place-data", "the edit adds or slices tensors, which --in-place cannot do; use -o",
                         {}, {}, options_.model);
    }
    if (options_.in_place) {
      MU_TRY(plan_in_place());
    } else {
      MU_TRY(plan_files());
    }
    MU_TRY(guard());
    if (options_.dry_run) MU_TRY(keep_what_differs());
    plan_.grafted = std::move(model_.grafted);
    plan_.remarks.insert(plan_.remarks.begin(), model_.remarks.begin(), model_.remarks.end());
    return std::move(plan_);
  }

 private:
  Status plan_files() {
    LayoutOptions layout{options_.output, options_.split, options_.reserve, std::nullopt};
    const gguf::SetFile& first = plan_.before.files.front();
    const bool is_file = !options_.output.empty() && !is_standard_output(options_.output);
    if (is_file && !gguf::is_in_parts(plan_.before) &&
        may_share_blocks(*first.source->as_file(), folder_of(options_.output))) {
      layout.old_data_offset = first.document.data_offset;
    }
    MU_ASSIGN(plan_.files, lay_out(model_, layout));
    std::vector<EditedTensor>().swap(model_.tensors);  // the layout has them now
    if (is_file) MU_TRY(check_outputs());
    for (const EditedFile& file : plan_.files) {
      const std::string& name = options_.output.empty() ? options_.model : file.path;
      MU_ASSIGN(gguf::SetFile planned, planned_file(file.header, file.size, name));
      plan_.after.files.push_back(std::move(planned));
      MU_TRY(check_read_back(plan_.after.files.back(), file.header, model_.limits));
    }
    return {};
  }

  Status check_outputs() const {
    const OutputOptions output = output_options(options_);
    for (const EditedFile& file : plan_.files) {
      MU_TRY(AtomicOutput::check(file.path, output));
    }
    return {};
  }

  // Each file of a set keeps its tensors; the model's keys are in the first. The headers are read back after the
  // model's memory is freed.
  Status plan_in_place() {
    std::size_t tensor = 0;
    plan_.headers.reserve(plan_.before.files.size());
    for (std::size_t i = 0; i < plan_.before.files.size(); ++i) {
      const gguf::SetFile& file = plan_.before.files[i];
      const std::size_t begin = tensor;
      while (tensor < model_.tensors.size() && model_.tensors[tensor].file == i) ++tensor;
      const u64 alignment = i == 0 ? model_.alignment() : file.document.alignment;
      std::vector<gguf::OutKey> keys;
      if (i == 0) {
        keys = std::move(model_.keys);
      } else {
        MU_ASSIGN(keys, keys_of(file));
      }
      MU_TRY(add_header(file, std::move(keys), std::span(model_.tensors).subspan(begin, tensor - begin), alignment));
    }
    std::vector<EditedTensor>().swap(model_.tensors);
    for (std::size_t i = 0; i < plan_.headers.size(); ++i) MU_TRY(read_back(plan_.before.files[i], plan_.headers[i]));
    return {};
  }

  Status read_back(const gguf::SetFile& file, const std::string& header) {
    std::shared_ptr<ByteSource> source = file.source;
    const bool is_changed = plan_.change && plan_.change->path == file.path;
    if (is_changed) source = std::make_shared<PlannedSource>(header, plan_.change->file_size, file.path, file.source);
    MU_ASSIGN(gguf::Document planned, gguf::parse(*source));
    plan_.after.files.push_back({file.path, std::move(source), std::move(planned)});
    return is_changed ? check_read_back(plan_.after.files.back(), header, model_.limits) : Status{};
  }

  static Result<std::vector<gguf::OutKey>> keys_of(const gguf::SetFile& file) {
    std::vector<gguf::OutKey> keys;
    for (const gguf::KeyValue& key : file.document.keys) {
      MU_ASSIGN(gguf::OutKey copied, gguf::copy_key(*file.source, file.document, key));
      keys.push_back(std::move(copied));
    }
    return keys;
  }

  Status add_header(const gguf::SetFile& file, std::vector<gguf::OutKey> keys, std::span<const EditedTensor> edited,
                    u64 alignment) {
    const gguf::Document& document = file.document;
    const gguf::OutTensors tensors = out_tensors(edited);
    if (Status fits = fit_header(keys, tensors, alignment, document.data_offset); !fits) {
      return tl::make_unexpected(in_file(std::move(fits.error()), file.path));
    }
    MU_ASSIGN(gguf::OutLayout layout, gguf::layout(keys, tensors, alignment, model_.version, model_.limits));
    // A different alignment changes the padding after the last tensor.
    const bool is_same_end = alignment == document.alignment || layout.file_size == document.file_size;
    bool is_same_data =
        is_same_end && tensors.size() == document.tensor_count && layout.header.size() == document.data_offset;
    for (std::size_t i = 0; is_same_data && i < tensors.size(); ++i) {
      is_same_data = layout.offsets[i] == edited[i].offset;
    }
    if (!is_same_data) {
      return input_error("edit-in-place-data", "the edit would move tensor data, which --in-place cannot do; use -o",
                         {}, {}, file.path);
    }
    keys.clear();  // the header contains them, and a vocabulary takes much memory
    keys.shrink_to_fit();
    plan_.headers.push_back(std::move(layout.header));
    return note_change(file, plan_.headers.back());
  }

  Status note_change(const gguf::SetFile& file, std::string_view header) {
    const u64 file_size = file.document.file_size.value_or(0);
    if (file_size < header.size()) {
      return input_error("edit-in-place-data", "the file ends before its data section begins; use -o", {}, {},
                         file.path);
    }
    std::string before;
    resize_to_fill(before, header.size());
    MU_TRY(file.source->read_exact(0, std::as_writable_bytes(std::span(before))));
    if (before == header) return {};
    if (plan_.change) {
      return input_error("edit-in-place-parts",
                         "the edit changes several files of the model, which --in-place cannot do at once; use -o", {},
                         {}, file.path);
    }
    plan_.change = header_change(file.path, before, header, file_size);
    return {};
  }

  // Returns the range of header bytes that describe the tensors.
  static Extent tensor_records(const gguf::Document& document) {
    if (document.tensors.empty()) return {};
    const u64 begin = document.tensors.front().info_offset;
    return {begin, document.header_end - begin};
  }

  // Prepares the sets for a comparison: omits the tensors unless any of them changed.
  Status keep_what_differs() {
    bool is_same = plan_.before.files.size() == plan_.after.files.size();
    for (std::size_t i = 0; is_same && i < old_records_.size(); ++i) {
      const gguf::SetFile& before = plan_.before.files[i];
      const gguf::SetFile& after = plan_.after.files[i];
      const Extent now = tensor_records(after.document);
      is_same = old_records_[i].size == now.size && before.document.alignment == after.document.alignment;
      if (is_same) {
        MU_ASSIGN(is_same, same_bytes(*before.source, old_records_[i].begin, *after.source, now.begin, now.size));
      }
    }
    if (!is_same) return remember_tensors(plan_.before);
    forget_tensors(plan_.before);
    forget_tensors(plan_.after);
    return {};
  }

  // Refuses edits that break rules, or adds remarks with --force.
  Status guard() {
    if (!options_.force && !model_.kept_layers.empty()) {
      MU_TRY(remember_tensors(plan_.before));
      MU_TRY(check_kept_layers(plan_.before, plan_.after, model_.kept_layers));
    }
    MU_ASSIGN(Findings broken, broken_by_edit(plan_.before, was_whole_, plan_.after));
    for (Finding& finding : broken) {
      if (!options_.force) {
        Error error = with_path(finding, options_.model);
        error.message += "; --force writes it anyway";
        return tl::make_unexpected(std::move(error));
      }
      finding.severity = Severity::warning;
      plan_.remarks.push_back(std::move(finding));
    }
    return {};
  }

  const EditOptions& options_;
  EditPlan plan_;
  EditedModel model_;
  bool was_whole_ = false;
  std::vector<Extent> old_records_;  // tensor_records() of each file of `before`
};

}  // namespace

Result<EditPlan> plan_edit(const EditOptions& given) {
  EditOptions options = given;
  MU_ASSIGN(options.operations, expand_scripts(std::move(options.operations)));
  auto plan = EditPlanner(options).plan();
  if (!plan) return tl::make_unexpected(in_file(std::move(plan.error()), options.model));
  return plan;
}

Result<std::vector<WrittenFile>> perform_edit(const EditOptions& options, EditPlan& plan, Progress& progress) {
  std::vector<WrittenFile> written;
  plan.after = {};
  if (options.in_place) {
    // Close the file first: a lease requires that no other descriptor is open.
    plan.before = {};
    if (plan.change) MU_TRY(change_header(*plan.change, options.force, plan.remarks));
    return written;
  }
  plan.before.files.insert(plan.before.files.end(), plan.grafted.begin(), plan.grafted.end());
  MU_TRY(write_edited(plan.files, plan.before, output_options(options), progress));
  for (const EditedFile& file : plan.files) written.push_back({file.path, file.size, file.tensors});
  return written;
}

Result<Recovery> recover_edit(const std::string& model, const RecoverOptions& options, Findings& remarks) {
  const std::optional<gguf::SplitName> name = gguf::parse_split_name(model);
  if (!name || !options.journal.empty()) return recover_header(model, options, remarks);
  Recovery most = Recovery::nothing_to_do;
  for (u32 number = 1; number <= name->count; ++number) {
    const std::string path = gguf::split_path(name->prefix, number, name->count);
    if (path != model && !is_present(path)) continue;
    MU_ASSIGN(const Recovery recovered, recover_header(path, options, remarks));
    most = std::max(most, recovered);
  }
  return most;
}

}  // namespace modelutils::edit
