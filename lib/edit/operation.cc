#include "edit/operation.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/closest_name.h"
#include "io/random_access_file.h"

namespace modelutils::edit {

namespace {

constexpr std::array actions = {
    EditActionInfo{EditAction::set, "set", "KEY=VALUE",
                   "Set a key, keeping its type; a new key needs KEY:TYPE=VALUE with a type as gguf-dump prints it "
                   "(u32, f32, bool, string, …); an array (string[]) takes a JSON value"},
    EditActionInfo{EditAction::set_from, "set-from", "KEY=FILE",
                   "Set a key to a file's text (without the final line feed), an array to its lines"},
    EditActionInfo{EditAction::set_token, "set-token", "ROLE=TEXT",
                   "Assign token TEXT to a role: bos, eos, eot, eom, unk, sep, pad, cls, mask, fim_pre, fim_suf, "
                   "fim_mid, fim_pad, fim_rep, fim_sep"},
    EditActionInfo{EditAction::delete_keys, "delete", "GLOB", "Delete matching keys"},
    EditActionInfo{EditAction::rename_key, "rename", "OLD=NEW", "Rename a key"},
    EditActionInfo{EditAction::copy_keys, "copy-keys-from", "OTHER.gguf GLOB", "Copy matching keys from another model"},
    EditActionInfo{EditAction::rename_tensor, "rename-tensor", "OLD=NEW", "Rename a tensor"},
    EditActionInfo{EditAction::drop_tensors, "drop-tensor", "GLOB", "Drop matching tensors"},
    EditActionInfo{EditAction::align, "align", "N", "Align the tensor data to N bytes, a power of two"},
    EditActionInfo{EditAction::upgrade, "upgrade", "", "Write GGUF version 3 where the input is version 2"},
    EditActionInfo{EditAction::extract_mtp, "extract-mtp", "",
                   "Keep only the multi-token prediction (MTP) blocks and the tensors they share with the model"},
    EditActionInfo{EditAction::graft_mtp, "graft-mtp", "ONLY.gguf", "Add the MTP blocks of another file to the model"},
    EditActionInfo{EditAction::drop_layers, "drop-layers", "LIST",
                   "Drop whole layers (20-27,30), renumber the rest and update the counts"},
    EditActionInfo{EditAction::keep_experts, "keep-experts", "LIST|FILE",
                   "Keep only these experts (0-31,40) in each layer, or those listed in a file with lines LAYER: LIST"},
    EditActionInfo{EditAction::script, "script", "FILE", "Read operations from a file, one per line: set KEY=VALUE"},
};

constexpr std::string_view blanks = " \t";

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

tl::unexpected<Error> unknown_operation(std::string_view name, const std::string& place) {
  ClosestName closest(name);
  for (const EditActionInfo& info : actions) closest.offer(info.name);
  return usage_error(fmt::format("{}: unknown operation '{}'{}", place, name, closest.hint()));
}

Result<EditOperation> parse_line(std::string_view line, const std::string& place) {
  line.remove_prefix(line.find_first_not_of(blanks));
  const std::size_t end = std::min(line.find_first_of(blanks), line.size());
  std::string_view name = line.substr(0, end);
  std::string_view rest = line.substr(end);
  rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
  if (name.starts_with("--")) name.remove_prefix(2);
  const auto info = std::find_if(actions.begin(), actions.end(), [&](const auto& row) { return row.name == name; });
  if (info == actions.end()) return unknown_operation(name, place);
  if (info->action == EditAction::script) return usage_error(place + ": a script cannot name another script");
  EditOperation operation{info->action, {}, place};
  if (info->operand_count() == 2) {
    const std::string_view both = trim(rest);
    const std::size_t gap = both.find_last_of(blanks);
    if (gap == std::string_view::npos) return usage_error(fmt::format("{}: {} needs {}", place, name, info->operands));
    operation.operands = {std::string(trim(both.substr(0, gap))), std::string(both.substr(gap + 1))};
  } else if (info->operand_count() == 1) {
    if (rest.empty()) return usage_error(fmt::format("{}: {} needs {}", place, name, info->operands));
    operation.operands = {std::string(rest)};
  } else if (!trim(rest).empty()) {
    return usage_error(fmt::format("{}: {} takes no value", place, name));
  }
  return operation;
}

}  // namespace

std::size_t EditActionInfo::operand_count() const {
  if (operands.empty()) return 0;
  return operands.find(' ') == std::string_view::npos ? 1 : 2;
}

std::span<const EditActionInfo> edit_actions() {
  return actions;
}

const EditActionInfo& edit_action_info(EditAction action) {
  return *std::find_if(actions.begin(), actions.end(), [&](const auto& row) { return row.action == action; });
}

std::string EditOperation::where() const {
  const std::string option = fmt::format("--{}", edit_action_info(action).name);
  return place.empty() ? option : fmt::format("{} ({})", option, place);
}

Result<std::vector<EditOperation>> parse_edit_script(std::string_view text, const std::string& name) {
  std::vector<EditOperation> operations;
  for (u64 number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view content = trim(line);
    if (content.empty() || content.front() == '#') continue;
    MU_ASSIGN(EditOperation operation, parse_line(line, fmt::format("line {} of {}", number, name)));
    operations.push_back(std::move(operation));
  }
  return operations;
}

Result<std::vector<EditOperation>> expand_scripts(std::vector<EditOperation> operations) {
  std::vector<EditOperation> expanded;
  for (EditOperation& operation : operations) {
    if (operation.action != EditAction::script) {
      expanded.push_back(std::move(operation));
      continue;
    }
    const std::string& path = operation.operands.front();
    MU_ASSIGN(const std::string text, read_operand_file(path));
    MU_ASSIGN(std::vector<EditOperation> lines, parse_edit_script(text, path == "-" ? "standard input" : path));
    expanded.insert(expanded.end(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
  }
  return expanded;
}

Result<std::string> read_operand_file(const std::string& path) {
  constexpr u64 most = u64{256} << 20;
  constexpr std::size_t step = std::size_t{1} << 20;
  MU_ASSIGN(const std::shared_ptr<ByteSource> source, open_source(path));
  std::string text;
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + step);
    MU_ASSIGN(const std::size_t got,
              source->read_some(before, std::as_writable_bytes(std::span(text)).subspan(before)));
    text.resize(before + got);
    if (got == 0) return text;
    if (text.size() > most) {
      return input_error("edit-file-size", fmt::format("is larger than {} bytes", most), {}, {}, source->name());
    }
  }
}

}  // namespace modelutils::edit
