#include "formats/hf/names.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/os/files.h"
#include "base/parse_number.h"
#include "base/path.h"
#include "base/text.h"
#include "base/utf8.h"
#include "json/reader.h"

namespace modelutils::hf {

namespace {

// Modules of towers, projectors and decoders of other media, at the top or directly below "model.". Entries with a
// trailing dot match a whole module, others the beginning of a name.
constexpr std::string_view other_modules[] = {"mlp1.",
                                              "mlp_AR.",
                                              "connector.",
                                              "aligner.",
                                              "merger.",
                                              "vit.",
                                              "vit_",
                                              "projector.",
                                              "layerwise_projectors.",
                                              "spatial_projectors.",
                                              "embed_vision.",
                                              "embed_audio.",
                                              "vision",
                                              "siglip2.",
                                              "sam_model.",
                                              "image_newline",
                                              "view_seperator",
                                              "view_separator",
                                              "vqmodel.",
                                              "generation_",
                                              "gen_aligner.",
                                              "gen_embed.",
                                              "gen_head.",
                                              "gen_vision_model.",
                                              "vpm.",
                                              "apm.",
                                              "tts.",
                                              "resampler.",
                                              "talker.",
                                              "token2wav.",
                                              "code2wav.",
                                              "sound_",
                                              "embed_tokens_extend."};
// Anywhere in a name.
constexpr std::string_view other_marks[] = {"vision_tower",          "vision_model", "visual.",
                                            "multi_modal_projector", "mm_projector", "audio_"};

bool is_of_other_modality(std::string_view canonical) {
  const auto contains = [&](std::string_view mark) { return canonical.find(mark) != std::string_view::npos; };
  if (std::ranges::any_of(other_marks, contains)) return true;
  constexpr std::string_view base = "model.";
  if (canonical.starts_with(base)) canonical.remove_prefix(base.size());
  return std::ranges::any_of(other_modules, [&](std::string_view module) { return canonical.starts_with(module); });
}

}  // namespace

std::string canonical_name(std::string_view name) {
  // "model.text_model.layers" appears in Idefics3 and SmolVLM, "thinker.model.layers" in Qwen's Omni models.
  static constexpr std::array<std::string_view, 3> wrappers = {"language_model.", "text_model.", "thinker."};
  std::string out(name);
  for (const std::string_view wrapper : wrappers) {
    std::string kept;
    kept.reserve(out.size());
    std::string_view rest = out;
    for (std::size_t at = rest.find(wrapper); at != std::string_view::npos; at = rest.find(wrapper)) {
      kept += rest.substr(0, at);
      rest.remove_prefix(at + wrapper.size());
    }
    kept += rest;
    out = std::move(kept);
  }
  // mlx-vlm's DotsOCR has the head inside the model.
  if (constexpr std::string_view head = "model.lm_head."; out.starts_with(head)) return out.substr(6);
  // mlx-vlm's Idefics3 and SmolVLM have "language_model.layers", without "model.".
  if (name.starts_with(wrappers[0])) {
    for (const std::string_view module : {"layers.", "embed_tokens.", "norm."}) {
      if (std::string_view(out).starts_with(module)) return "model." + out;
    }
  }
  return out;
}

NameClass classify_name(std::string_view canonical) {
  static constexpr std::array<std::string_view, 3> predictions{"mtp.", "mtp_layers.", ".mtp_"};
  static constexpr std::array<std::string_view, 7> derived_endings{
      ".rotary_emb.inv_freq", ".rotary_pos_emb.inv_freq", ".rope.inv_freq", ".attention.masked_bias",
      ".attention.bias",      ".attn.masked_bias",        ".attn.bias"};
  if (is_of_other_modality(canonical)) return NameClass::other_modality;
  for (const std::string_view mark : predictions) {
    if (canonical.find(mark) != std::string_view::npos) return NameClass::prediction;
  }
  for (const std::string_view ending : derived_endings) {
    if (canonical.ends_with(ending)) return NameClass::derived;
  }
  return NameClass::keep;
}

SplitName split_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {name, Suffix::none};
  const std::string_view module = name.substr(0, dot);
  const std::string_view last = name.substr(dot + 1);
  if (last == "weight") return {module, Suffix::weight};
  if (last == "bias") return {module, Suffix::bias};
  if (last == "scales") return {module, Suffix::scales};
  if (last == "biases") return {module, Suffix::biases};
  return {name, Suffix::none};
}

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_letter(char c) {
  return is_lower(c) || is_upper(c);
}
char lower(char c) {
  return is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c;
}
char upper(char c) {
  return is_lower(c) ? static_cast<char>(c - ('a' - 'A')) : c;
}
std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

template <typename Test>
std::size_t run(std::string_view text, std::size_t at, Test&& test) {
  std::size_t end = at;
  while (end < text.size() && test(text[end])) ++end;
  return end - at;
}

// True for "3", "3.1", "v0.2", "iter3".
bool is_version(std::string_view part) {
  const std::string text = lowered(part);
  std::size_t at = text.starts_with("iter") ? 4 : text.starts_with('v') ? 1 : 0;
  while (true) {
    const std::size_t digits = run(text, at, is_digit);
    if (digits == 0) return false;
    at += digits;
    if (at == text.size()) return true;
    if (text[at++] != '.') return false;
  }
}

// True for "q4_k_m", "bf16", "fp32", "f16".
bool is_tensor_type(std::string_view part) {
  const std::string text = lowered(part);
  for (const std::string_view name : {"f16", "f32", "fp16", "fp32", "bf16", "bf32", "bfp16", "bfp32"}) {
    if (text == name) return true;
  }
  std::size_t at = text.starts_with("iq") ? 2 : text.starts_with('q') ? 1 : 0;
  if (at == 0 || at == text.size() || !is_digit(text[at++])) return false;
  for (; at < text.size(); at += 2) {
    if (text[at] != '_' || at + 1 == text.size()) return false;
  }
  return true;
}

constexpr std::string_view units = "KMBT";

// True for "7B", "8x7B", "A3B", "1.5b", "7b1".
bool is_counted_size(std::string_view part) {
  std::size_t at = 0;
  if (upper(part.front()) == 'A') {
    at = 1;
  } else if (const std::size_t experts = run(part, 0, is_digit);
             experts > 0 && experts < part.size() && lower(part[experts]) == 'x') {
    at = experts + 1;
  }
  const std::size_t digits = run(part, at, is_digit);
  at += digits;
  if (digits == 0 || at == part.size()) return false;
  if (part[at] == '.' || part[at] == '_') {
    const std::size_t decimals = run(part, at + 1, is_digit);
    if (decimals == 0) return false;
    at += 1 + decimals;
  }
  if (at == part.size() || units.find(upper(part[at])) == std::string_view::npos) return false;
  ++at;
  return at == part.size() || (at + 1 == part.size() && is_digit(part[at]));
}

bool is_worded_size(std::string_view part) {
  constexpr std::array words = {"small", "mini", "medium", "large", "xl", "xxl"};
  return std::find(words.begin(), words.end(), lowered(part)) != words.end();
}

bool is_finetune_word(std::string_view part) {
  constexpr std::array words = {"chat", "instruct", "vision", "lora"};
  return std::find(words.begin(), words.end(), lowered(part)) != words.end();
}

// Normalises a size: "7b1" -> "7.1B", "1_5b" -> "1.5B".
std::string normal_size(std::string_view part) {
  std::string label(part);
  std::replace(label.begin(), label.end(), '_', '.');
  if (is_digit(label.back())) {
    const std::size_t unit = label.size() - 2;
    label = label.substr(0, unit) + "." + label.back() + label[unit];
  }
  label.back() = upper(label.back());
  return label;
}

// Returns the number that a label such as "7.1B" stands for; nullopt for "8x7B" and "A3B", which are not totals.
std::optional<double> counted_size(std::string_view label) {
  double number = 0;
  const char* end = label.data() + label.size() - 1;
  const auto [stop, error] = number_from_chars(label.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number * std::pow(1000.0, static_cast<double>(units.find(label.back()) + 1));
}

// One part of a name and its possible roles. A part at the beginning can be both a version and part of the base name.
struct Part {
  std::string text;
  bool version = false, type = false, size = false, finetune = false, base = false;

  bool is_known() const { return version || type || size || finetune; }
};

void annotate_size(Part& part, u64 parameters) {
  part.size = true;
  if (!is_counted_size(part.text)) return;
  part.text = normal_size(part.text);
  const std::optional<double> count = counted_size(part.text);
  const double total = static_cast<double>(parameters);
  if (parameters == 0 || !count || std::abs(*count - total) <= 7 * total / 8) return;
  part.size = false;  // "128k" is a context length
  part.finetune = true;
  part.text.back() = lower(part.text.back());
}

std::vector<Part> annotate(std::string_view name, u64 parameters) {
  std::vector<Part> parts;
  while (!name.empty()) {
    const std::string_view text = name.substr(0, name.find('-'));
    name.remove_prefix(std::min(name.size(), text.size() + 1));
    if (text.empty()) continue;
    Part part{std::string(text)};
    if (is_version(text)) {
      part.version = true;
    } else if (is_tensor_type(text)) {
      part.type = true;
    } else if (!parts.empty() && (is_counted_size(text) || is_worded_size(text))) {
      annotate_size(part, parameters);
    } else if (!parts.empty() && is_finetune_word(text)) {
      part.finetune = true;
    }
    parts.push_back(std::move(part));
  }
  // A counted size such as "3.8B" takes precedence over a word such as "mini".
  const bool has_count =
      std::any_of(parts.begin(), parts.end(), [](const Part& part) { return part.size && is_counted_size(part.text); });
  for (Part& part : parts) {
    if (has_count && part.size && is_worded_size(part.text)) part.size = false;
  }
  return parts;
}

void find_base(std::vector<Part>& parts) {
  bool at_start = true;
  for (Part& part : parts) {
    if (at_start && ((!part.is_known() && is_letter(part.text.front())) || part.version)) {
      part.base = true;
      continue;
    }
    at_start = false;
    if (!part.is_known()) part.finetune = true;
  }
  // A version at the end of the name belongs to the model, not to the base name.
  for (auto part = parts.rbegin(); part != parts.rend() && part->base && part->is_known(); ++part) part->base = false;
}

template <typename Test>
std::string joined(const std::vector<Part>& parts, bool once, Test&& test) {
  std::string text;
  std::vector<std::string_view> seen;
  for (const Part& part : parts) {
    if (!test(part)) continue;
    if (once && std::find(seen.begin(), seen.end(), part.text) != seen.end()) continue;
    seen.push_back(part.text);
    if (!text.empty()) text += '-';
    text += part.text;
  }
  return text;
}

// Longer names are not parsed, which bounds the search for equal parts.
constexpr std::size_t longest_name = 512;

}  // namespace

ModelId parse_model_id(std::string_view id, u64 parameters) {
  ModelId parsed;
  if (const std::size_t slash = id.find('/');
      slash != std::string_view::npos && id.find(' ') == std::string_view::npos) {
    if (id.front() != '.') parsed.organization = id.substr(0, slash);
    id.remove_prefix(slash + 1);
  }
  id = without_packing(id);
  parsed.name = id;
  if (id.find(' ') != std::string_view::npos || id.size() > longest_name) return parsed;
  std::vector<Part> parts = annotate(id, parameters);
  find_base(parts);
  parsed.size_label = joined(parts, true, [](const Part& part) { return part.size; });
  parsed.finetune = joined(parts, false, [](const Part& part) { return part.finetune; });
  parsed.version = joined(parts, false, [](const Part& part) { return part.version && !part.base; });
  if (parsed.size_label.empty() && parsed.finetune.empty() && parsed.version.empty()) return parsed;
  parsed.basename = joined(parts, false, [](const Part& part) { return part.base; });
  return parsed;
}

std::string model_title(std::string_view name) {
  std::string title;
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find_first_of("- "));
    name.remove_prefix(std::min(name.size(), word.size() + 1));
    if (word.empty()) continue;
    if (!title.empty()) title += ' ';
    const bool is_plain =
        std::any_of(word.begin(), word.end(), is_lower) && std::none_of(word.begin(), word.end(), is_upper);
    const bool is_number = is_digit(word.front()) || (word.front() == 'v' && is_version(word));
    bool after_letter = false;
    for (const char c : word) {
      title += is_plain && !is_number && !after_letter ? upper(c) : c;
      after_letter = is_letter(c);
    }
  }
  return title;
}

std::string_view without_packing(std::string_view name) {
  static constexpr std::array endings = {"-mlx",  "-2bit", "-3bit", "-4bit", "-5bit",  "-6bit",  "-8bit", "-bf16",
                                         "-fp16", "-f16",  "-fp32", "-f32",  "-mxfp4", "-nvfp4", "-mxfp8"};
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view ending : endings) {
      if (name.size() <= ending.size() || lowered(name.substr(name.size() - ending.size())) != ending) continue;
      name.remove_suffix(ending.size());
      again = true;
    }
  }
  return name;
}

std::optional<std::string> cached_repository(std::string_view path) {
  constexpr std::string_view mark = "models--";
  std::optional<std::string> found;
  while (!path.empty()) {
    const std::string_view component = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), component.size() + 1));
    if (!component.starts_with(mark) || component.size() == mark.size() || !is_utf8(component)) continue;
    std::string id(component.substr(mark.size()));
    if (const std::size_t dashes = id.find("--"); dashes != std::string::npos) id.replace(dashes, 2, "/");
    found = std::move(id);
  }
  return found;
}

std::string resolved_path(const std::string& directory) {
  std::string path = os::resolve(directory).value_or(directory);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string directory_name(const std::string& directory) {
  std::string name = base_name_of(resolved_path(directory));
  const auto is_hexadecimal = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  const bool is_revision = name.size() == 40 && std::all_of(name.begin(), name.end(), is_hexadecimal);
  return is_utf8(name) && !is_revision ? name : std::string();
}

namespace {

constexpr std::size_t max_files = 1'000'000;

bool is_safe_name(std::string_view name) {
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '\\') return false;
  }
  return stays_below(name);
}

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string hex_member(json::Element value, std::string_view key, std::size_t digits) {
  const std::string_view text = json::string_member(value, key).value_or("");
  return is_hex(text, digits) ? std::string(text) : std::string();
}

ListedRemote read_file(json::Element file, std::string_view name) {
  ListedRemote listed{
      std::string(name), json::u64_member(file, "size").value_or(0), {}, hex_member(file, "blobId", 40)};
  const auto lfs = json::member(file, "lfs");
  if (!lfs) return listed;
  listed.sha256 = hex_member(*lfs, "sha256", 64);
  listed.size = json::u64_member(*lfs, "size").value_or(listed.size);
  return listed;
}

}  // namespace

Result<RemoteListing> parse_hub_listing(const std::string& text, const std::string& name) {
  MU_ASSIGN(const auto document, json::parse(text, name));
  const auto files = json::array_member(document->root, "siblings");
  if (!files)
    return input_error("remote-listing", "the server's answer is not a list of a model's files", {}, {}, name);
  RemoteListing listing;
  listing.commit = hex_member(document->root, "sha", 40);
  for (const json::Element file : *files) {
    const auto path = json::string_member(file, "rfilename");
    if (!path || !is_safe_name(*path)) continue;
    if (listing.files.size() == max_files) {
      return input_error("remote-listing", "the server's answer lists more than a million files", {}, {}, name);
    }
    listing.files.push_back(read_file(file, *path));
  }
  std::ranges::stable_sort(listing.files, {}, &ListedRemote::name);
  const auto is_same = [](const ListedRemote& a, const ListedRemote& b) { return a.name == b.name; };
  listing.files.erase(std::unique(listing.files.begin(), listing.files.end(), is_same), listing.files.end());
  return listing;
}

void read_hub_listings() {
  set_listing_reader(parse_hub_listing);
}

}  // namespace modelutils::hf
