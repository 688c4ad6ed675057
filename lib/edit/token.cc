#include <fmt/core.h>

#include <cstring>

#include "base/byte_reader.h"
#include "base/closest_name.h"
#include "edit/edited_model.h"
#include "tokenizer/token_roles.h"

namespace modelutils::edit {

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
