// The texts of the tokens that begin and end a text or a turn.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "gguf/document.h"
#include "gguf/keys.h"

namespace modelutils::gguf_rules {

/// Of bos, eos, eot and eom; empty where there is none.
using RoleTexts = std::array<std::string, 4>;

/// Takes those texts out of a vocabulary that somebody reads from its beginning on.
class RoleTextsOnTheWay {
 public:
  /// `tokens`: how many there are. Ids beyond them make all texts empty, as of a vocabulary that cannot be trusted.
  RoleTextsOnTheWay(const gguf::Index& index, u64 tokens);

  /// The id that is waited for; nothing after the last.
  std::optional<u64> next() const { return next_; }
  /// That it has this text.
  void take(std::string_view text);
  const RoleTexts& texts() const { return texts_; }

 private:
  void find_next(std::optional<u64> after);

  std::array<std::optional<u64>, 4> ids_;
  std::optional<u64> next_;
  RoleTexts texts_;
};

/// Reads as much of the vocabulary as that takes; all empty if it cannot be read.
RoleTexts read_role_texts(const ByteSource& source, const gguf::Document& document, const gguf::Index& index);

}  // namespace modelutils::gguf_rules
