#include <fmt/core.h>

#include <utility>

#include "tokenizer/encode/regex.h"
#include "tokenizer/encode/regex_parse.h"

namespace modelutils::tokenizer {

// Creates the steps from the end of the regex to its start, so that each step's successor already exists.
class EncodeRegexCompiler {
 public:
  explicit EncodeRegexCompiler(RegexAlphabet alphabet) { out_.alphabet_ = alphabet; }

  EncodeRegex compile(const RegexNode& node) {
    const u32 match = add({.op = Op::match});
    out_.first_ = emit(node, match);
    return std::move(out_);
  }

 private:
  using Op = EncodeRegex::Op;
  using Kind = RegexNode::Kind;

  u32 add(EncodeRegex::Step step) {
    out_.steps_.push_back(step);
    return static_cast<u32>(out_.steps_.size() - 1);
  }

  u32 add_set(Op op, const RegexNode& node, u32 next) {
    out_.sets_.push_back(node.set);
    return add({.op = op, .set = static_cast<u32>(out_.sets_.size() - 1), .next = next});
  }

  // Returns the first step of `node`, which continues with step `next`.
  u32 emit(const RegexNode& node, u32 next) {
    switch (node.kind) {
      case Kind::one: return add_set(Op::one, node, next);
      case Kind::look: return add_set(Op::look, node, next);
      case Kind::look_not: return add_set(Op::look_not, node, next);
      case Kind::end: return add({.op = Op::end, .next = next});
      case Kind::sequence:
        for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) next = emit(*child, next);
        return next;
      case Kind::alternatives: {
        u32 first = emit(node.children.back(), next);
        for (auto child = node.children.rbegin() + 1; child != node.children.rend(); ++child) {
          const u32 begin = emit(*child, next);
          first = add({.op = Op::split, .next = begin, .otherwise = first});
        }
        return first;
      }
      case Kind::repeat: break;
    }
    return emit_repeat(node, next);
  }

  u32 emit_repeat(const RegexNode& node, u32 next) {
    const RegexNode& body = node.children.front();
    if (node.most == 0) {
      const u32 split = add({.op = Op::split, .otherwise = next, .loop = static_cast<i32>(out_.loops_++)});
      const u32 begin = emit(body, split);
      out_.steps_[split].next = begin;
      return node.least == 0 ? split : begin;
    }
    const u32 behind = next;
    for (u32 i = node.least; i < node.most; ++i) {
      const u32 begin = emit(body, next);
      next = add({.op = Op::split, .next = begin, .otherwise = behind});
    }
    for (u32 i = 0; i < node.least; ++i) next = emit(body, next);
    return next;
  }

  EncodeRegex out_;
};

Result<EncodeRegex> EncodeRegex::compile(std::string_view regex) {
  const auto alphabet =
      regex.find("\\p{") == std::string_view::npos ? RegexAlphabet::characters : RegexAlphabet::classes;
  MU_ASSIGN(const RegexNode node, parse_encode_regex(regex, alphabet));
  if (node.matches_empty()) return internal_error(fmt::format("the regex '{}' matches the empty text", regex));
  return EncodeRegexCompiler(alphabet).compile(node);
}

}  // namespace modelutils::tokenizer
