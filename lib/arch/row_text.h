// The notations used in rows (sizes, conditions, sources), parsed at compile time. A shape, condition or source with a
// syntax error does not compile, and the error points to the row and quotes the text. Whether symbols and names exist
// is checked by the families' tests instead.
#pragma once

#include <array>
#include <string_view>

#include "arch/sizes.h"

namespace modelutils::arch {

// Never defined: a call in a constant expression does not compile.
void this_expression_cannot_be_read(std::string_view text);
void this_shape_cannot_be_read(std::string_view text);
void this_source_cannot_be_read(std::string_view text);
void this_view_cannot_be_read(std::string_view text);
void this_operation_is_not_known(std::string_view text);

/// True if the text is an expression (arch/sizes.h), whatever its symbols.
constexpr bool is_expression(std::string_view text) {
  Expression read(text, [](std::string_view) { return std::optional<u64>(1); });
  static_cast<void>(read.value());
  return read.is_well_formed();
}

/// Removes the text before `separator` from the front of `text`, together with the separator, and returns it. Takes all
/// of `text` if there is no separator.
constexpr std::string_view take_until(std::string_view& text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  const std::string_view front = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + separator.size());
  return front;
}

constexpr std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Takes the next word of a view, skipping spaces; empty at the end.
constexpr std::string_view take_word(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  return take_until(text, " ");
}

inline constexpr std::string_view view_skip = "skip", view_repeat = "repeat:", view_arrow = "->";

/// An axis of a view: "name:size", or a symbol that is both name and size.
struct AxisText {
  std::string_view name;
  std::string_view size;
};
constexpr AxisText axis_text(std::string_view word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) return {word, word};
  return {word.substr(0, colon), word.substr(colon + 1)};
}

/// Return the axes of the source (left of the arrow), and the wanted axes (right of it).
constexpr std::string_view left_of_view(std::string_view view) {
  return view.substr(0, view.find(view_arrow));
}
constexpr std::string_view right_of_view(std::string_view view) {
  const std::size_t arrow = view.find(view_arrow);
  return arrow == std::string_view::npos ? view : view.substr(arrow + view_arrow.size());
}

/// A word on the right of a view: "repeat:N", "NAME", "NAME=INDEX", "NAME[FROM:TO]" or "NAME/SIZE".
struct WantedAxis {
  std::string_view name;
  std::string_view times, index, from, to, apart;  ///< expressions; empty in other forms
  bool is_whole = false;                           ///< true for the form "NAME"
  bool is_read = false;                            ///< true if the word has one of the forms
};
constexpr WantedAxis wanted_axis(std::string_view word) {
  WantedAxis axis;
  if (word.starts_with(view_repeat)) {
    axis.times = word.substr(view_repeat.size());
    axis.is_read = true;
    return axis;
  }
  const std::size_t end = word.find_first_of("[=/");
  axis.name = word.substr(0, end);
  axis.is_whole = axis.is_read = end == std::string_view::npos;
  if (axis.is_whole) return axis;
  if (word[end] != '[') {
    (word[end] == '=' ? axis.index : axis.apart) = word.substr(end + 1);
    axis.is_read = true;
    return axis;
  }
  const std::size_t colon = word.find(':', end);
  if (colon == std::string_view::npos || !word.ends_with(']')) return axis;
  axis.from = word.substr(end + 1, colon - end - 1);
  axis.to = word.substr(colon + 1, word.size() - colon - 2);
  axis.is_read = true;
  return axis;
}

/// True if a view (row_view.h) follows its grammar and every wanted axis is an axis of the source.
constexpr bool is_view(std::string_view view) {
  std::size_t axes = 0;
  for (std::string_view rest = left_of_view(view), word = take_word(rest); !word.empty(); word = take_word(rest)) {
    if (!is_expression(axis_text(word).size)) return false;
    if (axis_text(word).name != view_skip) ++axes;
  }
  for (std::string_view rest = right_of_view(view), word = take_word(rest); !word.empty(); word = take_word(rest)) {
    const WantedAxis wanted = wanted_axis(word);
    if (!wanted.is_read) return false;
    for (const std::string_view part : {wanted.times, wanted.index, wanted.from, wanted.to, wanted.apart}) {
      const bool is_expert = part == "#";  // stands for any expert
      if (!part.empty() && !is_expert && !is_expression(part)) return false;
    }
    if (!wanted.times.empty()) continue;
    bool is_there = false;
    for (std::string_view left = left_of_view(view), axis = take_word(left); !axis.empty(); axis = take_word(left)) {
      is_there = is_there || axis_text(axis).name == wanted.name;
    }
    if (!is_there) return false;
  }
  return axes > 0;
}

/// What is done to a source's values besides selecting and ordering rows. Does not apply to biases.
enum class Operation : u8 {
  none,
  add_one,       ///< for norms that are stored minus one
  neg_exp,       ///< -exp(x), for decay rates that are stored as logarithms
  add,           ///< x + number, for norms that are stored minus something else ("@add:0.2")
  times,         ///< x × the family's factor of that name, for multipliers that the runtime expects in the tensors
                 ///< ("@times:key")
  softplus,      ///< ln(1 + e^x), for scales that are stored before it
  unit_columns,  ///< divides every column of a matrix by its length, for heads that their class normalises
  unit_rows,     ///< the same for rows
  exp,           ///< exp(x), for decay rates that the runtime negates
};

/// A part of an alternative (family.h, Tensor::source).
struct SourcePart {
  std::string_view module;      ///< with '#' in place of an expert number
  std::string_view view;        ///< if empty, all rows in order
  bool is_of_elements = false;  ///< the view selects elements instead of rows: `{{…}}`, a transposition
  bool multiplies = false;      ///< the values are factors of the part before it ("a * b"), not further rows
  Operation operation = Operation::none;
  std::string_view operand = {};  ///< the text after the operation's colon
  constexpr bool is_stacked() const { return module.find('#') != std::string_view::npos; }
};

constexpr Operation operation_named(std::string_view name) {
  if (name == "add_one") return Operation::add_one;
  if (name == "neg_exp") return Operation::neg_exp;
  if (name == "exp") return Operation::exp;
  if (name == "add") return Operation::add;
  if (name == "times") return Operation::times;
  if (name == "softplus") return Operation::softplus;
  if (name == "unit_columns") return Operation::unit_columns;
  if (name == "unit_rows") return Operation::unit_rows;
  return Operation::none;
}

/// Parses `module{view}@operation:operand`, with a '*' in front if it multiplies the part before it.
constexpr SourcePart source_part(std::string_view text) {
  SourcePart part;
  text = trimmed(text);
  part.multiplies = text.starts_with('*');
  if (part.multiplies) text = trimmed(text.substr(1));
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    part.operand = text.substr(at + 1);
    part.operation = operation_named(take_until(part.operand, ":"));
    text = text.substr(0, at);
  }
  if (const std::size_t open = text.find('{'); open != std::string_view::npos) {
    part.view = text.substr(open + 1, text.size() - open - 2);
    part.is_of_elements = part.view.starts_with('{') && part.view.ends_with('}');
    if (part.is_of_elements) part.view = part.view.substr(1, part.view.size() - 2);
    text = text.substr(0, open);
  }
  part.module = text;
  return part;
}

/// Fails to compile if a part does not follow its grammar.
consteval void check_part(std::string_view text) {
  const SourcePart part = source_part(text);
  const std::size_t at = text.rfind('@');
  if (at != std::string_view::npos && part.operation == Operation::none) this_operation_is_not_known(text);
  if (text.find('{') != std::string_view::npos) {
    if (!trimmed(text.substr(0, at)).ends_with('}') || !is_view(part.view)) this_view_cannot_be_read(text);
  }
  if (part.module.empty() || part.module.find_first_of(" []{}@*") != std::string_view::npos) {
    this_source_cannot_be_read(text);
  }
}

/// Takes the next part of an alternative. A '+' or '*' separates parts, but inside braces it is a sum or product. A '*'
/// remains in front of the part that follows it.
constexpr std::string_view take_part(std::string_view& text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}') --depth;
    const bool separates = text[i] == '+' || (text[i] == '*' && i > 0);
    if (!separates || depth > 0) continue;
    const std::string_view part = text.substr(0, i);
    text.remove_prefix(text[i] == '*' ? i : i + 1);
    return part;
  }
  const std::string_view part = text;
  text = {};
  return part;
}

/// Takes the condition off the front of "[condition] rest"; empty if there is none.
constexpr std::string_view take_condition(std::string_view& text) {
  text = trimmed(text);
  if (!text.starts_with('[')) return {};
  text.remove_prefix(1);
  return take_until(text, "]");
}

/// A text composed at compile time. A text over the size of `chars` does not compile.
struct MadeText {
  std::array<char, 400> chars = {};
  std::size_t size = 0;

  constexpr MadeText& operator+=(std::string_view text) {
    for (const char c : text) chars[size++] = c;
    return *this;
  }
  constexpr operator std::string_view() const { return {chars.data(), size}; }
};

/// Returns the position of `part` in a module's name, or npos: "a.b" has the part "b", "a.bc" does not.
constexpr std::size_t find_part(std::string_view module, std::string_view part) {
  for (std::size_t at = module.find(part); at != std::string_view::npos; at = module.find(part, at + 1)) {
    const std::string_view rest = module.substr(at + part.size());
    if ((at == 0 || module[at - 1] == '.') && (rest.empty() || rest.starts_with('.') || part.ends_with('.'))) return at;
  }
  return std::string_view::npos;
}

/// Returns a source with the alternative names that a family's renames add (family.h, Family::renames).
constexpr MadeText with_renames(std::string_view source, std::string_view renames) {
  MadeText made;
  while (!source.empty()) {
    const std::string_view alternative = trimmed(take_until(source, "|"));
    const bool has_condition = alternative.starts_with('[');
    MadeText other;  // empty if nothing is renamed
    for (std::string_view rest = has_condition ? "" : renames; !rest.empty();) {
      std::string_view to = take_until(rest, "|");
      const std::string_view from = take_until(to, "=");
      const std::string_view name = other.size == 0 ? alternative : std::string_view(other);
      const std::size_t at = find_part(name, from);
      if (at == std::string_view::npos) continue;
      MadeText next;
      next += name.substr(0, at);
      next += to;
      next += name.substr(at + from.size());
      other = next;
    }
    if (made.size > 0) made += " | ";
    if (other.size > 0) ((((made += "[hf] ") += alternative) += " | ") += other) += " | ";
    made += alternative;
  }
  return made;
}

/// A text in a row; the derived types below check its grammar. Only constants convert to it.
struct RowText : std::string_view {
  constexpr RowText() = default;

 protected:
  constexpr explicit RowText(std::string_view text) : std::string_view(text) {}
};

/// A condition: "X & i>=Ld". Empty means always.
struct ConditionText : RowText {
  constexpr ConditionText() = default;
  consteval ConditionText(const char* text) : ConditionText(std::string_view(text)) {}
  consteval ConditionText(std::string_view text) : RowText(text) {
    if (!text.empty() && !is_expression(text)) this_expression_cannot_be_read(text);
  }
};

/// A symbolic shape: "E,H*D".
struct ShapeText : RowText {
  constexpr ShapeText() = default;
  consteval ShapeText(const char* text) : ShapeText(std::string_view(text)) {}
  consteval ShapeText(std::string_view text) : RowText(text) {
    for (std::string_view rest = text; !rest.empty();) {
      if (!is_expression(take_until(rest, ","))) this_shape_cannot_be_read(text);
    }
  }
};

/// Alternative shapes: "[mlx] I,Kc,1 | I,1,Kc".
struct StoredText : RowText {
  constexpr StoredText() = default;
  consteval StoredText(const char* text) : StoredText(std::string_view(text)) {}
  consteval StoredText(std::string_view text) : RowText(text) {
    for (std::string_view rest = text; !rest.empty();) {
      std::string_view shape = take_until(rest, "|");
      const std::string_view condition = take_condition(shape);
      if (!condition.empty() && !is_expression(condition)) this_expression_cannot_be_read(condition);
      static_cast<void>(ShapeText(trimmed(shape)));
    }
  }
};

/// A tensor's source: family.h, Tensor::source.
struct SourceText : RowText {
  constexpr SourceText() = default;
  consteval SourceText(const char* text) : SourceText(std::string_view(text)) {}
  consteval SourceText(std::string_view text) : RowText(text) {
    if (text.starts_with('=')) return;  // generated; rope.h has the names
    for (std::string_view rest = text; !rest.empty();) {
      std::string_view alternative = take_until(rest, "|");
      const std::string_view condition = take_condition(alternative);
      if (!condition.empty() && !is_expression(condition)) this_expression_cannot_be_read(condition);
      if (alternative.ends_with('+') || alternative.starts_with('*')) this_source_cannot_be_read(text);
      do {
        check_part(take_part(alternative));
      } while (!alternative.empty());
    }
  }
  /// Returns the source without its first alternative.
  constexpr SourceText without_first() const {
    const std::size_t bar = find('|');
    SourceText rest = *this;
    rest.remove_prefix(bar == npos ? size() : bar + 1);
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    return rest;
  }
};

}  // namespace modelutils::arch
