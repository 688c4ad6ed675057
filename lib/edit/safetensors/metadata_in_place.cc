#include <fmt/core.h>

#include <algorithm>

#include "base/os/files.h"
#include "base/text.h"
#include "edit/safetensors/st_edit.h"
#include "formats/hf/config_edit.h"
#include "io/model_folder.h"
#include "io/remote_address.h"

namespace modelutils::to_safetensors {

namespace {

std::string metadata_json(const safetensors::OutMetadata& metadata) {
  std::string json = "{";
  for (const auto& [key, value] : metadata) {
    json += (json.size() > 1 ? "," : "") + hf::json_string(key) + ":" + hf::json_string(value);
  }
  return json + "}";
}

// Returns the bytes before the data with other metadata, of the same length. The entries of the tensors keep their
// text.
Result<std::string> changed_header(const safetensors::ShardFile& file, const safetensors::OutMetadata& metadata,
                                   const std::string& before) {
  constexpr std::size_t length_bytes = safetensors::length_bytes;
  std::string text = before.substr(length_bytes);
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  MU_ASSIGN(hf::ConfigEdit edit, hf::ConfigEdit::parse(std::move(text), file.path));
  if (metadata.empty()) {
    edit.remove("__metadata__");
  } else if (edit.find("__metadata__")) {
    edit.set("__metadata__", metadata_json(metadata));
  } else {
    std::string whole = edit.text();
    const std::size_t inside = whole.find('{') + 1;
    const bool is_empty = whole.find_first_not_of(" \t\r\n", inside) == whole.rfind('}');
    whole.insert(inside, "\"__metadata__\":" + metadata_json(metadata) + (is_empty ? "" : ","));
    edit.replace(std::move(whole));
  }
  const std::size_t room = before.size() - length_bytes;
  if (edit.text().size() > room) {
    return output_error(
        "edit-no-room",
        fmt::format("this edit cannot be made in place (the header needs {} more); write a copy with room for later "
                    "edits: -o OUT --reserve 64K",
                    counted(edit.text().size() - room, "byte")),
        file.path);
  }
  return before.substr(0, length_bytes) + edit.text() + std::string(room - edit.text().size(), ' ');
}

}  // namespace

Result<std::vector<edit::HeaderChange>> plan_metadata_edit(const StEditOptions& options) {
  for (const StOperation& operation : options.operations) {
    if (operation.action == StAction::set || operation.action == StAction::unset) continue;
    return usage_error(
        fmt::format("--in-place takes only --set and --unset; write a copy with -o for {}", operation.where()));
  }
  if (options.operations.empty()) return usage_error("--in-place needs --set or --unset");
  if (options.reserve) return usage_error("--reserve needs -o: an in-place edit cannot make room");
  if (is_address(options.input)) return usage_error("--in-place needs files on this machine");
  MU_ASSIGN(EditedSet set, open_edited_set({options.input, options.links, options.ignore_index}));
  set.report.input = options.input;
  if (set.set().has_checkpoints) {
    return input_error("edit-in-place-data", "a PyTorch checkpoint cannot be edited in place; use -o", {}, {},
                       options.input);
  }
  MU_TRY(apply_operations(set, options.operations));
  std::vector<edit::HeaderChange> changes;
  for (std::size_t i = 0; i < set.file_count; ++i) {
    const safetensors::ShardFile& file = set.set().files[i];
    MU_TRY(edit::refuse_download_cache(file.path));
    if (!set.is_metadata_changed[i]) continue;
    std::string before(static_cast<std::size_t>(file.document.data_offset), '\0');
    MU_TRY(file.source->read_exact(0, std::as_writable_bytes(std::span(before))));
    MU_ASSIGN(const std::string after, changed_header(file, set.metadata[i], before));
    changes.push_back(edit::header_change(file.path, before, after, file.document.file_size.value_or(0)));
  }
  return changes;
}

Status edit_metadata_in_place(const std::vector<edit::HeaderChange>& changes, bool force, Findings& remarks) {
  // One file after the other: each is whole at any time, and its journal tells which one was interrupted.
  for (const edit::HeaderChange& change : changes) MU_TRY(edit::change_header(change, force, remarks));
  return {};
}

Result<edit::Recovery> recover_metadata_edit(const std::string& path, const edit::RecoverOptions& options,
                                             Findings& remarks) {
  if (!os::is_folder(path)) return edit::recover_header(path, options, remarks);
  edit::Recovery most = edit::Recovery::nothing_to_do;
  MU_ASSIGN(const std::vector<std::string> names, list_if_present(path));
  for (const std::string& name : names) {
    if (!name.ends_with(".safetensors")) continue;
    MU_ASSIGN(const edit::Recovery recovered, edit::recover_header(path + "/" + name, options, remarks));
    most = std::max(most, recovered);
  }
  return most;
}

}  // namespace modelutils::to_safetensors
