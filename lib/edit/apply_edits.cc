#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "arch/family.h"
#include "arch/key_facts.h"
#include "base/byte_reader.h"
#include "base/name_index.h"
#include "base/not_found.h"
#include "base/types.h"
#include "edit/block_edits.h"
#include "edit/edited_model.h"
#include "edit/operation.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::edit {

namespace {

struct Pair {
  std::string left;
  std::string right;
};

// Returns the error, with the operation and the key added to usage errors.
tl::unexpected<Error> in_operation(Error error, const EditOperation& operation, std::string_view key) {
  if (error.kind == ErrorKind::usage) {
    return usage_error(fmt::format("{} {}: {}", operation.where(), key, error.message));
  }
  return tl::make_unexpected(std::move(error));
}

class Applier {
 public:
  Applier(EditedModel& model, bool force) : model_(model), force_(force) {}

  Status apply(const EditOperation& operation) {
    switch (operation.action) {
      case EditAction::set:
      case EditAction::set_from: return set(operation);
      case EditAction::set_token: return set_token(model_, operation);
      case EditAction::delete_keys: return delete_keys(operation);
      case EditAction::rename_key: return rename_key(operation);
      case EditAction::copy_keys: return copy_keys(operation);
      case EditAction::rename_tensor: return rename_tensor(operation);
      case EditAction::drop_tensors: return drop_tensors(operation);
      case EditAction::align: return align(operation);
      case EditAction::upgrade: model_.version = 3; return {};
      case EditAction::extract_mtp: return extract_prediction(model_, operation);
      case EditAction::graft_mtp: return graft_prediction(model_, operation);
      case EditAction::drop_layers: return drop_layers(model_, operation, force_);
      case EditAction::keep_experts: return keep_experts(model_, operation, force_);
      case EditAction::script: break;
    }
    return internal_error("a script that was not expanded");
  }

 private:
  static Result<Pair> split(const EditOperation& operation) {
    const std::string& text = operation.operands.front();
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return usage_error(
          fmt::format("{} needs {}, not '{}'", operation.where(), edit_action_info(operation.action).operands, text));
    }
    return Pair{text.substr(0, equals), text.substr(equals + 1)};
  }

  // Globs do not match the filler, which is not a key of the model.
  EachName key_names() const {
    return [this](const auto& visit) {
      for (const gguf::OutKey& key : model_.keys) {
        if (!is_filler(key.key)) visit(key.key);
      }
    };
  }
  EachName tensor_names() const {
    return [this](const auto& visit) {
      for (const EditedTensor& tensor : model_.tensors) visit(tensor.out.name);
    };
  }

  tl::unexpected<Error> no_key(const EditOperation& operation, const std::string& key, std::string_view advice) const {
    ClosestName closest(key);
    key_names()([&](std::string_view name) { closest.offer(name); });
    return input_error("edit-no-key",
                       fmt::format("{}: there is no such key{}", operation.where(), closest.hint(advice)), at_key(key));
  }

  // Refuses keys that describe the file's layout, because changing only the value would corrupt the file.
  Status check_layout_key(const EditOperation& operation, std::string_view key) {
    if (!is_layout_key(key)) return {};
    const std::string message = fmt::format("{}: this key is changed only by {}", operation.where(),
                                            is_filler(key)               ? "--reserve"
                                            : key == "general.alignment" ? "--align"
                                                                         : "the options for splitting");
    if (!force_) {
      return input_error("edit-reserved-key", message + ", or with --force", at_key(key));
    }
    model_.remarks.push_back({.severity = Severity::warning,
                              .scope = Scope::model,
                              .code = "edit-reserved-key",
                              .message = message,
                              .where = at_key(key)});
    return {};
  }

  Status set(const EditOperation& operation) {
    MU_ASSIGN(const Pair pair, split(operation));
    std::string name = pair.left;
    gguf::OutKey* key = model_.find_key(name);
    std::optional<EditType> type;
    if (key != nullptr) {
      type = edit_type_of(*key);
      if (!type) {
        return input_error("edit-nested-array",
                           operation.where() + ": the value is an array of arrays, which cannot be written as text",
                           at_key(name));
      }
    } else {
      const std::size_t colon = name.rfind(':');
      if (colon == std::string::npos || colon == 0) {
        type = known_type(name, operation.action == EditAction::set ? pair.right : std::string());
        if (!type) return no_key(operation, name, "; for a new key, name its type: KEY:TYPE=VALUE");
      }
    }
    if (!type) {
      const std::size_t colon = name.rfind(':');
      const std::string type_name = name.substr(colon + 1);
      type = edit_type_from_name(type_name);
      if (!type) {
        return usage_error(
            fmt::format("{}: unknown type '{}'; types are u8, i8, u16, i16, u32, i32, u64, i64, f32, "
                        "f64, bool, string, and these with [] for arrays",
                        operation.where(), type_name));
      }
      name.resize(colon);
      key = model_.find_key(name);
    }
    MU_TRY(check_layout_key(operation, name));
    const bool is_file = operation.action == EditAction::set_from;
    MU_ASSIGN(const std::string text, is_file ? read_operand_file(pair.right) : Result<std::string>(pair.right));
    Result<std::string> encoded = is_file ? encode_file_text(*type, text) : encode_value(*type, text);
    if (!encoded) return in_operation(std::move(encoded.error()), operation, name);
    put({std::move(name), type->type, std::move(*encoded)});
    return {};
  }

  // Returns the type of a key that llama.cpp knows. If it accepts several, prefers an array for list values.
  std::optional<EditType> known_type(const std::string& key, std::string_view value) const {
    EditedModel& model = model_;
    const arch::KeyFacts* facts = arch::find_key_facts(key, counts_of(model).architecture);
    if (facts == nullptr) return std::nullopt;
    std::optional<EditType> found;
    for_each_name(facts->types, [&](std::string_view name) {
      const std::optional<EditType> type = edit_type_from_name(name);
      const bool fits = type && (type->type == gguf::ValueType::array) == value.starts_with('[');
      if (type && (!found || (fits && (found->type == gguf::ValueType::array) != value.starts_with('[')))) found = type;
    });
    return found;
  }

  // Replaces the key of that name, or appends it.
  void put(gguf::OutKey key) {
    if (gguf::OutKey* there = model_.find_key(key.key)) {
      *there = std::move(key);
    } else {
      model_.keys.push_back(std::move(key));
    }
  }

  Status delete_keys(const EditOperation& operation) {
    const std::string& glob = operation.operands.front();
    bool is_found = false;
    for (const gguf::OutKey& key : model_.keys) {
      if (is_filler(key.key) || !glob_match(glob, key.key)) continue;
      MU_TRY(check_layout_key(operation, key.key));
      is_found = true;
    }
    if (!is_found) return nothing_matches(operation, "key", glob, key_names());
    std::erase_if(model_.keys,
                  [&](const gguf::OutKey& key) { return !is_filler(key.key) && glob_match(glob, key.key); });
    return {};
  }

  static tl::unexpected<Error> nothing_matches(const EditOperation& operation, std::string_view what,
                                               const std::string& glob, const EachName& names) {
    GlobUse use(operation.where(), what, {glob});
    use.look_at(names);
    return tl::make_unexpected(use.unused({}, "gguf-dump").front());
  }

  Status rename_key(const EditOperation& operation) {
    MU_ASSIGN(const Pair pair, split(operation));
    gguf::OutKey* key = model_.find_key(pair.left);
    if (key == nullptr) return no_key(operation, pair.left, {});
    MU_TRY(check_layout_key(operation, pair.left));
    MU_TRY(check_layout_key(operation, pair.right));
    if (pair.left != pair.right && model_.find_key(pair.right) != nullptr) {
      return input_error("edit-exists", operation.where() + ": there is a key of this name already",
                         at_key(pair.right));
    }
    key->key = pair.right;
    return {};
  }

  Status copy_keys(const EditOperation& operation) {
    const std::string& path = operation.operands[0];
    const std::string& glob = operation.operands[1];
    MU_ASSIGN(const gguf::SplitSet other, gguf::open_set(path));
    const gguf::SetFile& file = other.files.front();
    if (!file.document.complete) {
      return tl::make_unexpected(with_path(*first_container_error(file.document.findings), path));
    }
    bool is_found = false;
    NameIndex names;
    for (const gguf::KeyValue& key : file.document.keys) {
      if (is_layout_key(key.key) || !glob_match(glob, key.key) || !names.insert(key.key).is_new) continue;
      MU_ASSIGN(gguf::OutKey copied, gguf::copy_key(*file.source, file.document, key));
      put(std::move(copied));
      is_found = true;
    }
    if (is_found) return {};
    Error error = nothing_matches(operation, "key", glob, [&](const auto& visit) {
                    for (const gguf::KeyValue& key : file.document.keys) {
                      if (!is_layout_key(key.key)) visit(key.key);
                    }
                  }).value();
    return tl::make_unexpected(in_file(std::move(error), path));
  }

  Status rename_tensor(const EditOperation& operation) {
    MU_ASSIGN(const Pair pair, split(operation));
    EditedTensor* tensor = model_.find_tensor(pair.left);
    if (tensor == nullptr) {
      return input_error("edit-no-tensor",
                         fmt::format("{}: there is no such tensor{}", operation.where(),
                                     name_hint("tensor", pair.left, tensor_names())),
                         at_tensor(pair.left));
    }
    if (pair.left != pair.right && model_.find_tensor(pair.right) != nullptr) {
      return input_error("edit-exists", operation.where() + ": there is a tensor of this name already",
                         at_tensor(pair.right));
    }
    tensor->out.name = pair.right;
    return {};
  }

  Status drop_tensors(const EditOperation& operation) {
    const std::string& glob = operation.operands.front();
    const std::size_t dropped =
        std::erase_if(model_.tensors, [&](const EditedTensor& tensor) { return glob_match(glob, tensor.out.name); });
    if (dropped == 0) return nothing_matches(operation, "tensor", glob, tensor_names());
    return {};
  }

  Status align(const EditOperation& operation) {
    const std::string& text = operation.operands.front();
    u32 value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !is_power_of_two(value)) {
      return usage_error(fmt::format("{} takes a power of two (8, 16, 32, …), not '{}'", operation.where(), text));
    }
    // The default alignment needs no key, but an existing key with that value stays.
    const gguf::OutKey* key = model_.find_key("general.alignment");
    if (key != nullptr && key->type == gguf::ValueType::u32 && value == model_.alignment()) return {};
    if (value == default_alignment) {
      std::erase_if(model_.keys, [](const gguf::OutKey& each) { return each.key == "general.alignment"; });
    } else {
      put(gguf::make_key("general.alignment", value));
    }
    return {};
  }

  EditedModel& model_;
  bool force_;
};

}  // namespace

Status apply_edits(EditedModel& model, const std::vector<EditOperation>& operations, bool force) {
  Applier applier(model, force);
  for (const EditOperation& operation : operations) MU_TRY(applier.apply(operation));
  return {};
}

namespace {

constexpr std::string_view tokens_key = "tokenizer.ggml.tokens";
constexpr std::string_view types_key = "tokenizer.ggml.token_type";
constexpr std::size_t array_head = 12;

// llama.cpp's token types: unknown for the unk role, control for all others.
constexpr u32 type_unknown = 2;
constexpr u32 type_control = 3;

struct ArrayView {
  gguf::ValueType elements;
  u64 count;
  std::string_view bytes;
};

std::optional<ArrayView> array_of(const gguf::OutKey* key) {
  if (key == nullptr || key->type != gguf::ValueType::array) return std::nullopt;
  ByteReader reader(std::as_bytes(std::span(key->encoded)));
  const auto elements = gguf::value_type_from_id(reader.read<u32>());
  const u64 count = reader.read<u64>();
  if (!reader.ok() || !elements) return std::nullopt;
  return ArrayView{*elements, count, std::string_view(key->encoded).substr(array_head)};
}

struct TokenSearch {
  std::optional<u32> id;
  ClosestName closest;
};

TokenSearch find_token(const ArrayView& tokens, std::string_view text) {
  TokenSearch search{std::nullopt, ClosestName(text)};
  ByteReader reader(std::as_bytes(std::span(tokens.bytes)));
  for (u64 i = 0; i < tokens.count && reader.ok(); ++i) {
    const std::string_view token = reader.read_view(reader.read<u64>());
    if (reader.ok() && token == text) {
      search.id = static_cast<u32>(i);
      break;
    }
    search.closest.offer(token);
  }
  return search;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Status set_token(EditedModel& model, const EditOperation& operation) {
  const std::string& operand = operation.operands.front();
  const std::size_t equals = operand.find('=');
  if (equals == std::string::npos || equals == 0) {
    return usage_error(fmt::format("{} needs ROLE=TEXT, not '{}'", operation.where(), operand));
  }
  const std::string_view name = std::string_view(operand).substr(0, equals);
  const std::string_view text = std::string_view(operand).substr(equals + 1);
  const tokenizer::TokenRole* role = tokenizer::find_token_role(name);
  if (role == nullptr) {
    std::string names;
    for (const tokenizer::TokenRole& each : tokenizer::token_roles()) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
    }
    return usage_error(fmt::format("{}: unknown role '{}'; roles are {}", operation.where(), name, names));
  }
  const std::optional<ArrayView> tokens = array_of(model.find_key(tokens_key));
  if (!tokens || tokens->elements != gguf::ValueType::string) {
    return input_error("edit-no-token", operation.where() + ": the model has no vocabulary", at_key(tokens_key));
  }
  const TokenSearch search = find_token(*tokens, text);
  if (!search.id) {
    return input_error("edit-no-token",
                       fmt::format("{}: no token '{}'{}", operation.where(), text,
                                   is_number(text) ? fmt::format("; to set an id: --set {}={}", role->key, text)
                                                   : search.closest.hint()),
                       at_key(tokens_key));
  }
  gguf::OutKey id = gguf::make_key(std::string(role->key), *search.id);
  if (gguf::OutKey* there = model.find_key(role->key)) {
    *there = std::move(id);
  } else {
    model.keys.push_back(std::move(id));
  }
  gguf::OutKey* types = model.find_key(types_key);
  const std::optional<ArrayView> view = array_of(types);
  const bool has_types = view && (view->elements == gguf::ValueType::i32 || view->elements == gguf::ValueType::u32) &&
                         *search.id < view->count;
  if (has_types) {
    const u32 type = role->name == "unk" ? type_unknown : type_control;
    std::memcpy(types->encoded.data() + array_head + std::size_t{*search.id} * sizeof type, &type, sizeof type);
  }
  return {};
}

}  // namespace modelutils::edit
