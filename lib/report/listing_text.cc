#include <fmt/core.h>

#include <algorithm>

#include "base/escape.h"
#include "base/path.h"
#include "base/text.h"
#include "base/utf8.h"
#include "io/hash.h"
#include "report/importance_table.h"
#include "report/key_text.h"
#include "report/layer_grid.h"
#include "report/listing_forms.h"
#include "report/table.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

class TextDump {
 public:
  TextDump(TextOutput& out, const Listing& listing, const ListingOptions& options)
      : out_(out), listing_(listing), facts_(listing.facts), options_(options), style_(options.color) {}

  Status run() {
    const bool only_some = options_.only_keys || options_.only_tensors;
    if (!only_some && !options_.modules) {
      write_summary();
      wrote_ = true;
    } else if (options_.several) {
      out_ << style_(Paint::title, escape(listing_.path)) << "\n";
      wrote_ = true;
    }
    ListingTables tables(out_, listing_, options_, wrote_);
    if (options_.modules) {
      tables.write_modules();
      return {};
    }
    if (!listing_.has_counts) return {};  // the header is truncated before the counts of keys and tensors
    if (!only_some && listing_.is_split()) tables.write_files();
    const bool is_legacy = listing_.importance && listing_.importance->matrix->is_legacy();
    const bool has_keys = listing_.key_count > 0 || listing_.format == Listing::Format::gguf;
    if (has_keys && !is_legacy && (!only_some || options_.only_keys)) MU_TRY(tables.write_keys());
    if (listing_.has_tensors && !only_some && listing_.is_packed()) {
      tables.write_modules();
      note(fmt::format("{} stored tensors: --tensors '*' lists them.", thousands(listing_.tensor_count)), {});
    } else if (listing_.has_tensors && !only_some && listing_.importance) {
      write_importance_table(out_, *listing_.importance, options_);
      if (!is_legacy) {
        note(fmt::format("{} stored tensors: --tensors '*' lists them.", thousands(listing_.tensor_count)), {});
      }
    } else if (listing_.has_tensors && (!only_some || options_.only_tensors)) {
      tables.write_tensors();
    }
    if (tables.shortened()) {
      const bool is_gguf = listing_.format == Listing::Format::gguf;
      note(is_gguf ? "… marks a shortened value: --get KEY prints one in full,"
                   : "… marks a shortened value: --get KEY prints it in full.",
           is_gguf ? "--json-array all of them." : "");
    }
    return {};
  }

  void run_summary() { write_summary(); }

 private:
  void fact(std::string_view label, const std::vector<std::string>& facts) {
    out_ << fact_lines(label, facts, options_.width, style_);
  }

  std::string faint(const std::string& text) const { return style_(Paint::faint, text); }

  static std::string range_text(const std::optional<Range>& range) {
    if (!range) return {};
    return range->low == range->high ? thousands(range->low)
                                     : fmt::format("{}–{}", thousands(range->low), thousands(range->high));
  }

  // Writes a note on one line, or on two if the terminal is narrow.
  void note(std::string_view one, std::string_view two) {
    const bool fits = options_.width == 0 || options_.width > display_width(one) + 1 + display_width(two);
    out_ << "\n" << faint(std::string(one));
    if (!two.empty()) out_ << (fits ? " " : "\n") << faint(std::string(two));
    out_ << "\n";
  }

  std::string shown_path() const { return listing_.path == "-" ? "standard input" : listing_.path; }

  std::string title() const {
    if (!facts_.name.empty()) return escape(facts_.name);
    std::string_view path = listing_.path;
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    return escape(listing_.path == "-" ? shown_path() : base_name_of(path));
  }

  void write_summary() {
    const std::string name = title();
    out_ << style_(Paint::title, options_.width > 0 ? cut_middle(name, options_.width) : name);
    if (const auto& part = listing_.part) out_ << fmt::format(" (part {} of {})", part->number, part->count);
    out_ << "\n";
    fact("file", {escape(shown_path()), faint(escape(listing_.kind)),
                  listing_.is_split() ? counted(listing_.files.size(), "file") : "",
                  facts_.file_size ? byte_text(*facts_.file_size) : faint("size unknown")});
    std::vector<std::string> companion;
    for (const std::string& text : facts_.companion) companion.push_back(escape(text));
    fact("companion", companion);
    if (companion.empty()) write_towers();
    if (listing_.importance) write_importance_facts(out_, *listing_.importance, options_);
    write_architecture();
    write_parameters();
    write_quantisation(listing_.is_packed() ? listing_.forms : facts_.types,
                       listing_.format == Listing::Format::gguf || listing_.is_packed() ? "quantisation" : "types");
    if (listing_.is_packed()) write_quantisation(facts_.types, "stored as");
    write_foreign_types();
    write_layout();
  }

  // Writes the towers of a directory, which it may have beside its language model.
  void write_towers() {
    for (const TowerFacts& tower : facts_.towers) {
      std::vector<std::string> words = {escape(tower.type)};
      for (std::string& each : tower_words(tower)) words.push_back(std::move(each));
      fact(fmt::format("{} tower", tower.encoder), words);
    }
  }

  void write_foreign_types() {
    for (const ForeignTypeFacts& type : facts_.foreign_types) {
      std::string programs;
      for (const ForeignTypeFacts::InFork& fork : type.forks) {
        programs += fmt::format("{}{}", programs.empty() ? "read by " : " or ", fork.repository);
      }
      fact("fork type", {escape(type.text), bits_text(type.bits_per_weight) + " bits per weight", escape(programs)});
    }
  }

  void write_architecture() {
    if (facts_.image) return write_image(*facts_.image);
    std::vector<std::string> facts = {escape(facts_.architecture)};
    if (facts_.layers) facts.push_back(thousands(*facts_.layers) + (*facts_.layers == 1 ? " layer" : " layers"));
    if (facts_.embedding) facts.push_back("width " + thousands(*facts_.embedding));
    if (facts_.feed_forward) facts.push_back("feed-forward " + range_text(facts_.feed_forward));
    if (facts_.experts.value_or(0) > 0) {
      facts.push_back(thousands(*facts_.experts) + " experts" +
                      (facts_.experts_used ? fmt::format(" ({} used)", *facts_.experts_used) : ""));
    }
    fact("architecture", facts);
    if (facts_.heads) {
      std::string heads = range_text(facts_.heads) + " query";
      if (facts_.heads_kv) heads += ", " + range_text(facts_.heads_kv) + " KV";
      if (facts_.head_dim) heads += ", size " + thousands(*facts_.head_dim);
      fact("heads", {heads});
    }
    write_attention();
    fact("context", {facts_.context ? thousands(*facts_.context) + " tokens" : "", rope_scaling_text(), cache_text(),
                     window_text()});
    write_embedding();
    if (facts_.vocabulary) {
      std::string kind = escape(facts_.tokenizer, 32);
      if (!facts_.tokenizer_pre.empty()) kind += (kind.empty() ? "" : ", ") + escape(facts_.tokenizer_pre, 32);
      fact("vocabulary", {thousands(*facts_.vocabulary) + " tokens", kind.empty() ? "" : faint(kind)});
    }
    std::vector<std::string> tokens;
    constexpr std::size_t longest = 32;
    for (const NamedToken& token : facts_.tokens) {
      tokens.push_back(fmt::format("{} {} {}", token.role, token.id, style_(Paint::text, escape(token.text, longest))));
    }
    fact("tokens", tokens);
    write_stops();
    write_templates();
    write_gaps();
  }

  void write_image(const ImageFacts& image) {
    std::vector<std::string> facts = {escape(facts_.architecture), std::string(image.title)};
    for (const std::string_view variant : image.variants) facts.emplace_back(variant);
    for (const ImageStack& stack : image.stacks) facts.push_back(fmt::format("{} {}", stack.blocks, stack.name));
    fact("architecture", facts);
    const auto size = [](std::string_view text, const std::optional<u64>& number) {
      return number ? fmt::format("{} {}", text, thousands(*number)) : std::string();
    };
    fact("widths", {size("blocks", image.width), size("input", image.inputs), size("text", image.text_width)});
    std::vector<std::string> roles;
    for (const ImageRole& role : image.roles) {
      std::string text = std::string(role.name);
      for (const RoleType& type : role.types) {
        text += fmt::format(" {}{}", escape(type.type), faint(fmt::format(" ({})", thousands(type.tensors))));
      }
      roles.push_back(std::move(text));
    }
    fact("roles", roles);
    fact("goes with", {fmt::format("text encoders {}", image.text_encoders), fmt::format("VAE {}", image.vae)});
    std::vector<std::string> rest;
    for (const ImageRest& part : image.rest) {
      rest.push_back(escape(part.part, 32) + faint(fmt::format(" ({})", thousands(part.tensors))));
    }
    fact("other parts", rest);
  }

  void write_stops() {
    std::vector<std::string> facts;
    constexpr std::size_t most = 12, longest = 32;
    for (std::size_t i = 0; i < facts_.stops.size() && i < most; ++i) {
      const NamedToken& token = facts_.stops[i];
      const std::string text = token.text.empty() ? "" : " " + style_(Paint::text, escape(token.text, longest));
      facts.push_back(std::to_string(token.id) + text);
    }
    if (facts_.stops.size() > most) facts.push_back(fmt::format("and {} more", facts_.stops.size() - most));
    fact("stop tokens", facts);
  }

  void write_templates() {
    std::vector<std::string> facts;
    constexpr std::size_t most = 8, longest = 32;
    for (std::size_t i = 0; i < facts_.templates.size() && i < most; ++i) {
      const NamedTemplate& one = facts_.templates[i];
      facts.push_back(one.name.empty() ? byte_text(one.bytes)
                                       : fmt::format("{} {}", escape(one.name, longest), byte_text(one.bytes)));
    }
    if (facts_.templates.size() > most) facts.push_back(fmt::format("and {} more", facts_.templates.size() - most));
    if (const auto& can = facts_.chat_template) {
      facts.push_back(can->system ? "system" : "no system message");
      facts.insert(facts.end(),
                   {can->tools ? "tools" : "", can->thinking ? "thinking" : "", can->multimodal ? "multimodal" : ""});
    }
    fact("template", facts);
  }

  // Notes facts that a reader expects of a language model and that the file lacks.
  void write_gaps() {
    const bool is_whole = listing_.format == Listing::Format::gguf && listing_.has_counts && !listing_.part;
    if (!is_whole || !facts_.companion.empty() || !facts_.cache) return;
    const auto has_token = [&](std::string_view role) {
      return std::ranges::find(facts_.tokens, role, &NamedToken::role) != facts_.tokens.end();
    };
    std::vector<std::string> gaps;
    if (!facts_.context) gaps.emplace_back("context");
    if (facts_.tokenizer.empty()) {
      gaps.emplace_back("tokenizer");
    } else {
      if (facts_.tokenizer == "gpt2" && facts_.tokenizer_pre.empty()) gaps.emplace_back("pre-tokenizer");
      if (!has_token("eos")) gaps.emplace_back("eos token");
      if (facts_.templates.empty()) gaps.emplace_back("chat template");
    }
    fact("not stated", gaps);
  }

  // Returns the cache size per token, for the layers that cache every token.
  std::string cache_text() const {
    if (!facts_.cache || facts_.cache->bytes_per_token == 0) return {};
    return fmt::format("KV cache {} per token (F16)", byte_text(facts_.cache->bytes_per_token));
  }

  std::string window_text() const {
    if (!facts_.cache || facts_.cache->sliding_layers == 0) return {};
    return fmt::format("sliding window {} in {} of {}", thousands(facts_.cache->window), facts_.cache->sliding_layers,
                       counted(facts_.cache->cached_layers, "layer"));
  }

  // How the model's vectors are used, of models that do not generate text.
  void write_embedding() {
    const u64 pooling = facts_.pooling.value_or(0);
    std::vector<std::string> words;
    if (pooling > 0) words.push_back(fmt::format("pooling: {}", hf::pooling_text(pooling)));
    if (facts_.sees_whole_text) words.emplace_back("sees the whole text");
    const std::optional<u64> width = facts_.output_width ? facts_.output_width : facts_.embedding;
    if (!words.empty() && width && facts_.labels.empty()) words.push_back(thousands(*width) + " dimensions");
    fact("embedding", words);
    std::vector<std::string> labels;
    constexpr std::size_t most = 8, longest = 32;
    for (std::size_t i = 0; i < facts_.labels.size() && i < most; ++i) {
      labels.push_back(escape(facts_.labels[i], longest));
    }
    if (facts_.labels.size() > most) labels.push_back(fmt::format("and {} more", facts_.labels.size() - most));
    fact("labels", labels);
  }

  void write_attention() {
    std::vector<std::string> facts;
    if (facts_.key_value_rank) facts.push_back("keys and values of rank " + thousands(*facts_.key_value_rank));
    if (facts_.query_rank) facts.push_back("queries of rank " + thousands(*facts_.query_rank));
    if (!facts.empty()) fact("attention", facts);
    std::vector<std::string> sizes;
    for (const NamedNumber& size : facts_.recurrent) {
      sizes.push_back(std::string(size.name) + " " + thousands(size.number));
    }
    if (!sizes.empty()) fact("recurrent", sizes);
  }
  // Returns for example "yarn × 40 from 4,096"; empty without scaling.
  std::string rope_scaling_text() const {
    if (facts_.rope_scaling.empty() || facts_.rope_scaling == "none") return {};
    std::string text = escape(facts_.rope_scaling, 32);
    if (facts_.rope_factor) text += fmt::format(" × {:g}", *facts_.rope_factor);
    if (facts_.rope_original_context) text += " from " + thousands(*facts_.rope_original_context);
    return text;
  }

  void write_parameters() {
    if (facts_.tensors == 0 || !facts_.parameters) return;
    std::string bits;
    if (facts_.bits_per_weight) bits = bits_text(*facts_.bits_per_weight) + " bits per weight";
    fact("parameters",
         {count_text(*facts_.parameters), *facts_.parameters >= 1000 ? faint(thousands(*facts_.parameters)) : "",
          facts_.active_parameters ? count_text(*facts_.active_parameters) + " active" : "", bits,
          listing_.counts_packed_as_stored
              ? "packed weights counted as stored: config.json does not say how to unpack them"
              : ""});
  }

  // Writes for example "Q4_K 90.1% (24) · F32 9.9% (8)", the largest first.
  void write_quantisation(const std::vector<TypeTotal>& totals, std::string_view label) {
    std::vector<const TypeTotal*> types;
    for (const TypeTotal& total : totals) types.push_back(&total);
    std::ranges::stable_sort(
        types, [](const TypeTotal* a, const TypeTotal* b) { return a->bytes.value_or(0) > b->bytes.value_or(0); });
    std::vector<std::string> facts;
    constexpr std::size_t most = 12;
    for (std::size_t i = 0; i < types.size() && i < most; ++i) {
      const TypeTotal& total = *types[i];
      std::string share = "size unknown";
      if (total.bytes && facts_.tensor_bytes && *facts_.tensor_bytes > 0) {
        const double percent = 100.0 * static_cast<double>(*total.bytes) / static_cast<double>(*facts_.tensor_bytes);
        share = percent > 0 && percent < 0.1 ? "<0.1%" : fmt::format("{:.1f}%", percent);
      } else if (total.bytes) {
        share = byte_text(*total.bytes);
      }
      const std::string mix = i == 0 && !facts_.mix.empty() ? escape(facts_.mix) + ": " : "";
      facts.push_back(fmt::format("{}{} {}{}", mix, style_(paint_of(total), escape(total.name)), share,
                                  faint(fmt::format(" ({})", thousands(total.tensors)))));
    }
    if (types.size() > most) facts.push_back(fmt::format("and {} more types", types.size() - most));
    fact(label, facts);
  }

  // An MLX form has no tensor type, so use its bits per weight, including scales and biases.
  static Paint paint_of(const TypeTotal& total) {
    if (total.type || !total.bytes || total.parameters.value_or(0) == 0) return type_paint(total.type);
    return bits_paint(8.0 * static_cast<double>(*total.bytes) / static_cast<double>(*total.parameters));
  }

  void write_layout() {
    if (listing_.files.empty()) return;
    if (listing_.importance && listing_.importance->matrix->is_legacy()) return;  // the legacy format has no layout
    const ListedFile& first = listing_.files.front();
    std::vector<std::string> facts;
    if (!first.data_offset) {
      facts.push_back(style_(Paint::bad, "header incomplete"));
    } else if (listing_.format == Listing::Format::gguf || !listing_.is_split()) {
      facts.push_back(fmt::format("header {}", byte_text(first.header_bytes)));
      facts.push_back(fmt::format("data from byte {}", thousands(*first.data_offset)));
    }
    if (first.alignment > 0) facts.push_back(fmt::format("aligned to {}", thousands(first.alignment)));
    if (facts_.tensor_bytes && facts_.tensors > 0) facts.push_back("tensors " + byte_text(*facts_.tensor_bytes));
    fact("layout", facts);
  }

  TextOutput& out_;
  const Listing& listing_;
  const ModelFacts& facts_;
  const ListingOptions& options_;
  Style style_;
  bool wrote_ = false;
};

}  // namespace

Status write_listing_text(TextOutput& out, const Listing& listing, const ListingOptions& options) {
  return TextDump(out, listing, options).run();
}

Status write_listing_summary(TextOutput& out, const Listing& listing, const ListingOptions& options) {
  TextDump(out, listing, options).run_summary();
  return {};
}

namespace {

GridTensor grid_tensor(const Listing& listing, const ListedTensor& tensor) {
  if (tensor.module == ListedTensor::no_module)
    return {tensor.name(), escape(tensor.type_name), type_paint(tensor.type())};
  const ListedModule& module = listing.modules[tensor.module];
  const bool has_one_form = module.mode != "affine";  // the FP modes have fixed bits and group size
  return {tensor.name(),
          has_one_form ? std::string(module.mode) : fmt::format("{}-bit/{}", module.bits, module.group_size),
          bits_paint(static_cast<double>(module.bits))};
}

// Returns an adapter's target matrices with rank and scale.
std::vector<GridTensor> grid_of_targets(const AdapterFacts& adapter) {
  std::vector<GridTensor> tensors;
  for (const AdapterTarget& target : adapter.targets) {
    tensors.push_back({target.name, fmt::format("{} ×{:.4g}", target.rank, target.scale), Paint::plain});
  }
  return tensors;
}

}  // namespace

std::vector<GridTensor> grid_tensors(const Listing& listing) {
  if (listing.facts.adapter && !listing.facts.adapter->targets.empty()) return grid_of_targets(*listing.facts.adapter);
  std::vector<GridTensor> tensors;
  tensors.reserve(listing.tensors.size());
  for (const ListedTensor& tensor : listing.tensors) {
    if (!tensor.is_part) tensors.push_back(grid_tensor(listing, tensor));
  }
  return tensors;
}

Status write_listing_layers(TextOutput& out, const Listing& listing, const ListingOptions& options) {
  const Style style(options.color);
  if (options.several) out << style(Paint::title, escape(listing.path)) << "\n";
  write_layer_grid(out, grid_tensors(listing), {options.width, style});
  return {};
}

namespace {

constexpr std::size_t verbose_preview_columns = 60;

// Returns a checksum over the whole array, of which a line shows only a part.
Result<std::string> digest_of(const ListedArray& array) {
  constexpr u64 piece = 256 * 1024;
  Hasher hash(HashAlgorithm::xxh3);
  std::vector<std::byte> bytes;
  for (u64 done = 0; done < array.array.bytes; done += bytes.size()) {
    bytes.resize(static_cast<std::size_t>(std::min(piece, array.array.bytes - done)));
    MU_TRY(array.file->source->read_exact(array.array.offset + done, bytes));
    hash.update(bytes);
  }
  const std::string digest = hash.digest();
  return hex(std::as_bytes(std::span(digest))).substr(0, 16);
}

// Writes a template line by line, so that a diff shows the changed lines.
void write_lines(TextOutput& out, std::string_view text) {
  while (true) {
    const std::size_t end = text.find('\n');
    out << "    " << escape(text.substr(0, end)) << "\n";
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

Status write_key(TextOutput& out, const ListedKey& key) {
  out << "key " << escape(key.name) << " " << key_type_text(key);
  const auto* text = std::get_if<std::string_view>(&key.value);
  if (text != nullptr && text->find('\n') != std::string_view::npos) {
    out << "\n";
    write_lines(out, *text);
    return {};
  }
  if (text != nullptr) {
    out << " " << escape(*text) << "\n";
    return {};
  }
  MU_ASSIGN(const std::string value, preview(key.value, verbose_preview_columns));
  out << " " << value;
  if (const auto* array = std::get_if<ListedArray>(&key.value)) {
    MU_ASSIGN(const std::string digest, digest_of(*array));
    out << " xxh3 " << digest;
  }
  out << "\n";
  return {};
}

}  // namespace

Status write_listing_textconv(TextOutput& out, const Listing& listing, const ListingOptions&) {
  for (const ListedKey& key : listing.keys) MU_TRY(write_key(out, key));
  for (const ListedModule& module : listing.modules) {
    if (!module.quantized) continue;
    out << fmt::format("module {} {} {}-bit, group {}\n", escape(module.path),
                       module.mode.empty() ? "packed" : module.mode, module.bits, module.group_size);
  }
  for (const ListedTensor& tensor : listing.tensors) {
    out << fmt::format("tensor {} {} {}\n", escape(tensor.name()), escape(tensor.type_name),
                       shape_text(tensor.shape()));
  }
  return {};
}

}  // namespace modelutils
