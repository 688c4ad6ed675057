// The texts of the tokens that start or end a text or a turn.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "gguf/document.h"
#include "gguf/keys.h"

namespace modelutils::gguf_rules {

/// The texts of bos, eos, eot and eom; empty if there is no such token.
using RoleTexts = std::array<std::string, 4>;

/// Collects those texts while other code reads the vocabulary from the start.
class RoleTextsOnTheWay {
 public:
  /// `tokens` is the vocabulary size. If any id is out of range, all texts stay empty.
  RoleTextsOnTheWay(const gguf::Index& index, u64 tokens);

  /// Returns the next id to collect, or nullopt after the last.
  std::optional<u64> next() const { return next_; }
  /// Stores the text of the token next(), and moves on.
  void take(std::string_view text);
  const RoleTexts& texts() const { return texts_; }

 private:
  void find_next(std::optional<u64> after);

  std::array<std::optional<u64>, 4> ids_;
  std::optional<u64> next_;
  RoleTexts texts_;
};

/// Reads the vocabulary up to the last of the four tokens. All texts are empty if it cannot be read.
RoleTexts read_role_texts(const ByteSource& source, const gguf::Document& document, const gguf::Index& index);

}  // namespace modelutils::gguf_rules
