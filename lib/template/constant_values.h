// What an expression is if nothing but the template is known: its value, by the evaluator that renders.
#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>

#include "template/interpreter.h"

namespace modelutils::jinja {

/// Each expression is evaluated once, with few steps and little memory, so that all of them take time and memory in
/// proportion to the template. What a caller gives, and what cannot be evaluated, is a text of one unknown piece
/// (template/text_pieces.h).
class ConstantValues final : public KnownValues {
 public:
  /// The one expression that a name is bound to; nullptr if it is bound to none or to several.
  using SoleValue = std::function<const Expression*(std::string_view name)>;
  using IsBound = std::function<bool(std::string_view name)>;
  ConstantValues(SoleValue sole_value, IsBound is_bound);

  Value of(const Expression& expression) override;

  /// There was more to evaluate than any template has: of the rest nothing is known.
  bool is_exhausted() const { return is_exhausted_; }

 private:
  Value of_name(std::string_view name);

  const SoleValue sole_value_;
  const IsBound is_bound_;
  Machine machine_;
  Interpreter interpreter_;
  const Value unknown_;
  std::unordered_map<const Expression*, Value> known_;
  u64 steps_ = 0;   // of all expressions so far
  u64 memory_ = 0;  // bytes
  bool is_exhausted_ = false;
};

}  // namespace modelutils::jinja
