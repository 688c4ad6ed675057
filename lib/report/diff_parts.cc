#include "report/diff_parts.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/escape.h"
#include "base/text.h"
#include "report/key_text.h"
#include "report/layer_grid.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

constexpr std::size_t most_cells = 4 * 1024 * 1024;  // 8 MiB for the table of common subsequences
constexpr std::size_t most_columns = 60;             // shown width of a changed run
constexpr std::size_t kept_columns = 24;             // shown width of unchanged text on each side
constexpr std::size_t most_runs = 24;

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    std::size_t size = 1;
    if (is_word(text.front())) {
      while (size < text.size() && is_word(text[size])) ++size;
    } else if (is_blank(text.front())) {
      while (size < text.size() && is_blank(text[size])) ++size;
    }
    words.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return words;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

using Words = std::vector<std::string_view>;

// Merges neighbouring runs of one kind.
class Runs {
 public:
  void add(WordRun::Kind kind, std::string_view word) {
    if (!list_.empty() && list_.back().kind == kind &&
        list_.back().text.data() + list_.back().text.size() == word.data()) {
      WordRun& last = list_.back();
      last.text = std::string_view(last.text.data(), last.text.size() + word.size());
    } else {
      list_.push_back({kind, word});
    }
  }
  std::vector<WordRun> take() { return std::move(list_); }

 private:
  std::vector<WordRun> list_;
};

// Compares words [begin, end_a) of a with [begin, end_b) of b by their longest common subsequence.
void add_middle(const Words& a, const Words& b, std::size_t begin, std::size_t end_a, std::size_t end_b, Runs& runs) {
  const std::size_t rows = end_a - begin, columns = end_b - begin;
  if (rows == 0 || columns == 0 || rows > most_cells / columns) {
    for (std::size_t i = begin; i < end_a; ++i) runs.add(WordRun::Kind::removed, a[i]);
    for (std::size_t i = begin; i < end_b; ++i) runs.add(WordRun::Kind::added, b[i]);
    return;
  }
  // common[i][j]: length of the longest common subsequence of a from i and b from j. It never exceeds the shorter
  // length.
  std::vector<u16> common((rows + 1) * (columns + 1));
  const auto at = [&](std::size_t i, std::size_t j) -> u16& { return common[i * (columns + 1) + j]; };
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      at(i, j) =
          a[begin + i] == b[begin + j] ? static_cast<u16>(at(i + 1, j + 1) + 1) : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  std::size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    if (i < rows && j < columns && a[begin + i] == b[begin + j]) {
      runs.add(WordRun::Kind::same, a[begin + i]);
      ++i, ++j;
    } else if (i < rows && (j == columns || at(i + 1, j) >= at(i, j + 1))) {
      runs.add(WordRun::Kind::removed, a[begin + i++]);
    } else {
      runs.add(WordRun::Kind::added, b[begin + j++]);
    }
  }
}

// Returns the end of a text, cut at a character boundary.
std::string_view tail(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  std::size_t begin = text.size() - bytes;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return text.substr(begin);
}

std::string same_text(std::string_view text, bool is_first, bool is_last) {
  if (text.size() <= 2 * kept_columns) return escape(text);
  std::string out;
  if (!is_first) out += escape(text, kept_columns);
  if (is_first) out += "…";
  if (!is_last) out += (is_first ? "" : " ") + escape(tail(text, kept_columns));
  return out;
}

}  // namespace

static std::vector<WordRun> diff_of(const Words& a, const Words& b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t begin = 0;
  while (begin < shorter && a[begin] == b[begin]) ++begin;
  std::size_t end = 0;
  while (end < shorter - begin && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
  Runs runs;
  for (std::size_t i = 0; i < begin; ++i) runs.add(WordRun::Kind::same, a[i]);
  add_middle(a, b, begin, a.size() - end, b.size() - end, runs);
  for (std::size_t i = a.size() - end; i < a.size(); ++i) runs.add(WordRun::Kind::same, a[i]);
  return runs.take();
}

std::vector<WordRun> word_diff(std::string_view a, std::string_view b) {
  return diff_of(words_of(a), words_of(b));
}

std::vector<WordRun> line_diff(std::string_view a, std::string_view b) {
  return diff_of(lines_of(a), lines_of(b));
}

std::string word_diff_text(std::string_view a, std::string_view b, const Style& style) {
  const std::vector<WordRun> runs = word_diff(a, b);
  std::string line;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i == most_runs) return line + " …";
    switch (runs[i].kind) {
      case WordRun::Kind::same: line += same_text(runs[i].text, i == 0, i + 1 == runs.size()); break;
      case WordRun::Kind::removed: {
        const std::string text = escape(runs[i].text, most_columns);
        line += style.color() ? style(Paint::removed, text) : "[-" + text + "-]";
        break;
      }
      case WordRun::Kind::added: {
        const std::string text = escape(runs[i].text, most_columns);
        line += style.color() ? style(Paint::added, text) : "{+" + text + "+}";
        break;
      }
    }
  }
  return line;
}

namespace {

constexpr std::size_t value_columns = 60;
constexpr std::size_t most_ranges = 8;

std::string shown(const ListedValue& value) {
  const auto* text = std::get_if<std::string_view>(&value);
  return text == nullptr ? scalar_text(value) : '"' + escape(*text, value_columns) + '"';
}

std::string range_text(const IndexRange& range) {
  if (range.first == range.last) return thousands(range.first);
  return thousands(range.first) + "–" + thousands(range.last);
}

Result<std::string> array_change_text(const KeyChange& change) {
  const auto& a = std::get<ListedArray>(change.a->value);
  const auto& b = std::get<ListedArray>(change.b->value);
  std::string text;
  if (a.array.count != b.array.count) {
    text = fmt::format("{} → {} elements", thousands(a.array.count), thousands(b.array.count));
  }
  const ArrayChanges& array = change.array;
  if (array.ranges.empty()) return text.empty() ? std::string("elements differ") : text;
  const u64 both = std::min(a.array.count, b.array.count);
  text += fmt::format("{}{} of {} {}: ", text.empty() ? "" : "; ", thousands(array.differing), counted(both, "element"),
                      verb(array.differing, "differs", "differ"));
  for (std::size_t i = 0; i < array.ranges.size(); ++i) {
    if (i == most_ranges) {
      text += ", …";
      break;
    }
    text += (i == 0 ? "" : ", ") + range_text(array.ranges[i]);
  }
  std::string text_a, text_b;
  const u64 first = array.ranges.front().first;
  MU_ASSIGN(const auto left, array_element(a, first, text_a));
  MU_ASSIGN(const auto right, array_element(b, first, text_b));
  if (left && right) text += fmt::format("; the first is {} → {}", shown(*left), shown(*right));
  return text;
}

std::string layers_text(const std::vector<u32>& layers) {
  std::string text;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    text += fmt::format("{}{}", i == 0 ? "" : ",", layers[i]);
    if (end - i > 1) text += fmt::format("–{}", layers[end - 1]);
    i = end;
  }
  return text;
}

template <typename NameOf>
std::vector<ValueTotal> totals(const ModelDiff& diff, NameOf&& name_of) {
  std::vector<ValueTotal> list;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < diff.measured.size(); ++i) {
    const Measurement& measured = diff.measured[i];
    if (!measured.problem.empty()) continue;
    std::string name = name_of(diff.tensors.same_shape[i].a->name);
    if (name.empty()) continue;
    const auto [place, is_new] = places.try_emplace(name, list.size());
    if (is_new) list.push_back({std::move(name), 0, 0, {}});
    ValueTotal& total = list[place->second];
    ++total.tensors;
    if (measured.equal_values()) ++total.equal;
    total.sums.add(measured.sums);
  }
  return list;
}

}  // namespace

Result<std::string> key_value_text(const ListedKey& key) {
  if (std::holds_alternative<ListedArray>(key.value)) {
    MU_ASSIGN(const std::string text, preview(key.value, value_columns));
    return fmt::format("{} {}", key_type_text(key), text);
  }
  return shown(key.value);
}

bool is_of_lines(const KeyChange& change) {
  const auto* a = std::get_if<std::string_view>(&change.a->value);
  const auto* b = std::get_if<std::string_view>(&change.b->value);
  const auto has_lines = [](std::string_view text) { return text.find('\n') < text.size() - 1; };
  return a != nullptr && b != nullptr && (has_lines(*a) || has_lines(*b));
}

Result<std::string> key_change_text(const KeyChange& change, const Style& style) {
  const bool same_type = key_type_text(*change.a) == key_type_text(*change.b);
  if (std::holds_alternative<ListedArray>(change.a->value) && std::holds_alternative<ListedArray>(change.b->value) &&
      change.array.ranges.size() + (same_type ? 1 : 0) > 0) {
    return array_change_text(change);
  }
  const auto* a = std::get_if<std::string_view>(&change.a->value);
  const auto* b = std::get_if<std::string_view>(&change.b->value);
  if (a != nullptr && b != nullptr && std::max(a->size(), b->size()) > value_columns) {
    return word_diff_text(*a, *b, style);
  }
  MU_ASSIGN(std::string before, key_value_text(*change.a));
  MU_ASSIGN(std::string after, key_value_text(*change.b));
  if (same_type) return before + " → " + after;
  return fmt::format("{} ({}) → {} ({})", before, key_type_text(*change.a), after, key_type_text(*change.b));
}

Result<std::string> named_token_text(const ComparedModel& side, const ListedKey& key) {
  const auto* id = std::get_if<u64>(&key.value);
  if (id == nullptr || !key.name.ends_with("_token_id")) return std::string();
  for (const ListedKey& other : side.tokenizer) {
    const auto* tokens = std::get_if<ListedArray>(&other.value);
    if (other.name != "tokenizer.ggml.tokens" || tokens == nullptr || *id >= tokens->array.count) continue;
    std::string text;
    MU_ASSIGN(const auto element, array_element(*tokens, *id, text));
    if (element && std::holds_alternative<std::string_view>(*element)) return " " + shown(*element);
  }
  return std::string();
}

void TensorGroups::add(std::string_view name, std::string text) {
  const std::optional<LayerName> layer = parse_layer_name(name);
  Group group{
      layer ? std::string(layer->prefix) : std::string(), std::string(layer ? layer->role : name), std::move(text), {}};
  // Separates the parts by NUL so that keys stay unambiguous for any name in a file.
  const std::string key = group.prefix + '\0' + group.role + '\0' + group.text + (layer ? "\1" : "\2");
  const auto [place, is_new] = places_.try_emplace(key, groups_.size());
  if (is_new) groups_.push_back(std::move(group));
  if (layer) groups_[place->second].layers.push_back(layer->layer);
}

std::vector<TensorGroup> TensorGroups::groups() const {
  std::vector<TensorGroup> list;
  for (Group group : groups_) {
    std::ranges::sort(group.layers);
    std::string name = escape(group.role, 80);
    if (group.layers.size() == 1) name = fmt::format("{}.{}.{}", escape(group.prefix), group.layers.front(), name);
    if (group.layers.size() > 1)
      name = fmt::format("{}.{{{}}}.{}", escape(group.prefix), layers_text(group.layers), name);
    list.push_back({std::move(name), group.text, std::max<u64>(group.layers.size(), 1)});
  }
  return list;
}

std::string tensor_text(const ComparedModel& side, const Tensor& tensor) {
  const std::string type = escape(side.tensors->type_text(tensor));
  return tensor.ne.empty() ? type : fmt::format("{}, {}", type, shape_text(tensor.ne));
}

std::vector<std::string> difference_phrases(const ModelDiff& diff) {
  std::vector<std::string> phrases;
  const auto add = [&](u64 number, std::string_view noun, std::string_view what) {
    if (number > 0) phrases.push_back(fmt::format("{} {}", counted(number, noun), what));
  };
  u64 facts = 0;
  for (const FactChange& fact : diff.identity) facts += fact.counts ? 1 : 0;
  add(facts, "fact", verb(facts, "differs", "differ"));
  add(diff.keys.added.size(), "key", "added");
  add(diff.keys.removed.size(), "key", "removed");
  add(diff.keys.changed.size(), "key", "changed");
  add(diff.tokenizer.size(), "tokenizer key", verb(diff.tokenizer.size(), "differs", "differ"));
  add(diff.tensors.added.size(), "tensor", "added");
  add(diff.tensors.removed.size(), "tensor", "removed");
  add(diff.tensors.reshaped.size(), "tensor", "reshaped");
  if (diff.types_count()) add(diff.tensors.retyped, "tensor", "of a different type");
  u64 values = 0;
  for (std::size_t i = 0; i < diff.measured.size(); ++i) values += diff.is_within(diff.measured[i]) ? 0 : 1;
  add(values, "tensor", "with different values");
  add(diff.layout.size(), "place", verb(diff.layout.size(), "differs", "differ"));
  return phrases;
}

std::vector<ValueTotal> totals_by_role(const ModelDiff& diff) {
  return totals(diff, [](std::string_view name) {
    const std::optional<LayerName> layer = parse_layer_name(name);
    return std::string(layer ? layer->role : name);
  });
}

std::vector<ValueTotal> totals_by_layer(const ModelDiff& diff) {
  return totals(diff, [](std::string_view name) {
    const std::optional<LayerName> layer = parse_layer_name(name);
    return layer ? fmt::format("{}.{}", layer->prefix, layer->layer) : std::string();
  });
}

std::vector<TensorChange> worst_first(const ModelDiff& diff) {
  std::vector<TensorChange> list = diff.changed_values();
  const auto badness = [](const TensorChange& change) {
    const Measurement& one = *change.measured;
    return std::tuple(!one.problem.empty(), one.sums.unordered > 0, one.sums.rms());
  };
  std::ranges::stable_sort(list, [&](const TensorChange& x, const TensorChange& y) { return badness(x) > badness(y); });
  return list;
}

std::string measurement_text(const Measurement& measured) {
  if (!measured.problem.empty()) return escape(measured.problem);
  std::string text = fmt::format("RMS {}, largest {:.3g}, cosine {:.6f}", error_percent(measured.sums.rms()),
                                 measured.sums.max_abs, measured.sums.cosine());
  if (measured.sums.unordered > 0) {
    text += fmt::format(", {} NaN or infinite on one side", counted(measured.sums.unordered, "value"));
  }
  if (measured.worst.size() > 1) {
    text += ", worst rows";
    for (std::size_t i = 0; i < measured.worst.size(); ++i) {
      text += fmt::format("{} {} ({})", i == 0 ? "" : ",", measured.worst[i].row, error_percent(measured.worst[i].rms));
    }
  }
  return text;
}

}  // namespace modelutils
