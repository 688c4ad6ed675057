#include "convert/to_gguf/tower_mapper.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "arch/key_writer.h"
#include "base/text.h"
#include "base/types.h"
#include "convert/to_gguf/part_placer.h"
#include "convert/to_gguf/rows.h"
#include "formats/hf/names.h"
#include "tokenizer/read/files.h"
#include "tokenizer/read/vocabulary.h"

namespace modelutils {

namespace {

// Returns the id of a token that the tokenizer's files add; nullopt if there is none.
Result<std::optional<u64>> find_token(const ModelFolder& folder, std::string_view text, u64 rows) {
  MU_ASSIGN(const tokenizer::TokenizerFiles files, tokenizer::load_tokenizer_files(folder));
  FindingLog said;
  MU_ASSIGN(const tokenizer::AddedTokens added, tokenizer::collect_added_tokens(files, rows, said));
  const auto found = std::ranges::find(added.tokens, text, &tokenizer::AddedToken::content);
  return found == added.tokens.end() ? std::nullopt : std::optional(u64{found->id});
}

// The position table that Whisper adds to its input: sines and cosines of decreasing frequencies.
std::vector<float> sinusoids(u64 width, u64 rows) {
  const u64 half = width / 2;
  const double step = std::log(10000.0) / static_cast<double>(std::max<u64>(half, 2) - 1);
  std::vector<float> table(static_cast<std::size_t>(width * rows));
  for (u64 row = 0; row < rows; ++row) {
    for (u64 i = 0; i < half; ++i) {
      const double angle = static_cast<double>(row) * std::exp(-step * static_cast<double>(i));
      table[static_cast<std::size_t>(row * width + i)] = static_cast<float>(std::sin(angle));
      table[static_cast<std::size_t>(row * width + half + i)] = static_cast<float>(std::cos(angle));
    }
  }
  return table;
}

class TowerMapper {
 public:
  TowerMapper(const HfModel& model, const std::map<std::string_view, std::size_t>& names,
              const arch::ProjectorFamily& family, const hf::Config& config, TowerRoots roots,
              std::optional<TensorType> type, FaultLog faults)
      : model_(model),
        names_(names),
        family_(family),
        config_(config),
        type_(type),
        faults_(faults),
        sources_(model, names, family, config, std::move(roots)),
        placer_(model, family.rows) {}

  /// Adds the tower's tensors to `map`, and marks the matrices that it uses.
  Result<arch::Sizes> add_to(TensorMap& map, std::vector<bool>& used) {
    arch::Sizes known;
    known.set("mlx", model_.is_mlx ? 1 : 0);
    known.set("hf", model_.is_mlx ? 0 : 1);
    known.set("back", 0);
    MU_TRY(set_token(known));
    MU_ASSIGN(sizes_, sources_.solve(std::move(known)));
    MU_TRY(faults_.judge(arch::refuse_unsupported(family_.rows, config_, sizes_)));
    MU_ASSIGN(const std::vector<arch::TowerTensor> all, sources_.expected(sizes_));
    for (const arch::TowerTensor& tensor : all) MU_TRY(faults_.judge(place(tensor, map, used)));
    MU_TRY(faults_.judge(refuse_partly_missing()));
    MU_TRY(faults_.judge(refuse_leftovers(used, map)));
    return sizes_;
  }

 private:
  tl::unexpected<Error> fail(std::string code, const std::string& source, std::string message) const {
    return input_error(std::move(code), std::move(message), at_tensor(source), {}, model_.directory);
  }

  // Returns the tensor's name in the projector file; in a list of findings nothing, so that alike ones are counted.
  std::string target_text(std::string_view before, const arch::TowerTensor& tensor, std::string_view after) const {
    return faults_.is_kept() ? std::string() : fmt::format("{}{}{}", before, tensor.name, after);
  }

  Status set_token(arch::Sizes& known) const {
    if (family_.token.empty()) return {};
    MU_ASSIGN(const std::optional<u64> id, find_token(model_.opened().folder, family_.token, ~u64{0}));
    if (!id) {
      return input_error(
          "convert-projector",
          fmt::format("has no token '{}', whose embedding llama.cpp needs in the projector file", family_.token), {},
          {}, model_.directory);
    }
    known.set("B", *id);
    return {};
  }

  Status place(const arch::TowerTensor& tensor, TensorMap& map, std::vector<bool>& used) {
    if (const std::string_view generator = arch::generator_of(*tensor.row); !generator.empty()) {
      MappedTensor made;
      made.name = tensor.name;
      made.ne = tensor.ne;
      made.must_be_f32 = made.is_whole = true;
      made.values = sinusoids(tensor.ne.front(), tensor.ne.back());
      map.tensors.push_back(std::move(made));
      return {};
    }
    arch::Sizes flipped;  // for a directory whose layout is not the expected one
    const arch::Sizes* sizes = &sizes_;
    TowerSources::Found found = sources_.find(tensor, sizes_);
    const std::string source = sources_.source_name(tensor, sizes_);
    if (tensor.need == arch::Need::optional) {
      Presence& presence = optional_[{tensor.group, tensor.row, tensor.side}];
      ++(found.parts.empty() ? presence.absent : presence.present);
      if (found.parts.empty() && presence.first_absent.empty()) presence.first_absent = source;
    }
    if (found.parts.empty()) {
      if (tensor.need != arch::Need::required) return {};
      return fail("convert-missing", source,
                  fmt::format("is missing; {} needs it{}", family_.rows.name, target_text(" for ", tensor, "")));
    }
    // Mark a matrix of a wrong shape as used, too; otherwise it would be reported a second time, as without a place.
    for (const PartMatrices* each : found.parts) used[each->begin()->second] = true;
    if (tensor.ne.empty()) {
      return fail("convert-config", source, "has a shape that does not follow from config.json");
    }
    const Weight& matrix = model_.matrices[found.parts.front()->begin()->second];
    if (tensor.side == arch::Side::weight && !tensor.row->stored.empty()) {
      const auto fits = [&](const arch::Sizes& with) {
        return stored_shape(*tensor.row, with, tensor.layer) == reversed(matrix.ne);
      };
      if (!fits(sizes_)) {
        flipped = sizes_;
        flipped.set("mlx", model_.is_mlx ? 0 : 1);
        flipped.set("hf", model_.is_mlx ? 1 : 0);
        if (!fits(flipped)) return wrong_shape(tensor, matrix);
        sizes = &flipped;
        found = sources_.find(tensor, flipped);
      }
    }
    arch::ExpectedTensor expected = tensor;
    const arch::SourcePart& part = found.alternative->parts.front();
    // A vector keeps its dimensions of 1.
    if (expected.ne.size() == 1 && part.view.empty() && !matrix.is_quantized() && matrix.ne.size() > 1 &&
        element_count(matrix.ne) == expected.ne.front()) {
      const auto wide = std::ranges::count_if(matrix.ne, [](u64 size) { return size != 1; });
      if (wide <= 1) expected.ne = matrix.ne;
    }
    Result<MappedTensor> made = placer_.make(expected, *found.alternative, found.parts, *sizes);
    if (!made)
      return made.error().code == "convert-shape" ? Status(wrong_shape(tensor, matrix))
                                                  : Status(tl::make_unexpected(made.error()));
    choose_type(tensor, *made);
    map.tensors.push_back(std::move(*made));
    return {};
  }

  // Chooses the type that the runtime accepts: F32 for vectors and tables, F32 or F16 for convolution kernels, any type
  // for matrices.
  void choose_type(const arch::TowerTensor& tensor, MappedTensor& made) const {
    if (made.is_whole || made.must_be_f32 || tensor.must_be_f32) {
      made.must_be_f32 = true;
      return;
    }
    if (!type_) {
      made.must_be_f32 = tensor.is_kernel;
      return;
    }
    constexpr u64 block = 32;
    if (tensor.is_kernel) {
      made.type = type_ == TensorType::F16 ? TensorType::F16 : TensorType::F32;
    } else {
      made.type = type_ == TensorType::Q8_0 && made.columns() % block != 0 ? TensorType::F16 : *type_;
    }
  }

  // Lists the settings that determine a shape.
  tl::unexpected<Error> wrong_shape(const arch::TowerTensor& tensor, const Weight& matrix) const {
    std::vector<u64> wanted = reversed(tensor.ne);
    std::string_view text = tensor.row->ne;
    if (const auto stored = stored_shape(*tensor.row, sizes_, tensor.layer);
        stored && tensor.side == arch::Side::weight) {
      wanted = *stored;
      text = tensor.row->stored;
    }
    std::string fields;
    std::unordered_set<std::string_view> seen;
    for (const arch::Key* key : arch::keys_of(family_.rows)) {
      if (key->symbol.empty() || key->fields.empty() || !names_symbol(text, key->symbol)) continue;
      const std::string_view field = arch::stated_field(config_, key->fields);
      if (!seen.insert(field).second) continue;
      fields += fmt::format("{}{} {}", fields.empty() ? "" : ", ", field, sizes_.get(key->symbol));
    }
    const TowerSources::Found found = sources_.find(tensor, sizes_);
    const bool is_part =
        found.alternative != nullptr && !found.alternative->parts.front().view.empty() && tensor.row->stored.empty();
    return fail(
        "convert-shape", matrix.name,
        fmt::format("has shape {}, but {} of shape {}{}{}", shape_text(reversed(matrix.ne)),
                    is_part ? "makes a tensor" : "should be", shape_text(wanted), target_text(" (", tensor, ")"),
                    fields.empty() ? "" : ", as config.json implies: " + fields));
  }

  // True if an expression contains the symbol.
  static bool names_symbol(std::string_view text, std::string_view symbol) {
    for (std::size_t at = text.find(symbol); at != std::string_view::npos; at = text.find(symbol, at + 1)) {
      const auto is_word = [&](std::size_t i) {
        return i < text.size() && (arch::is_letter(text[i]) || arch::is_digit(text[i]));
      };
      if ((at == 0 || !is_word(at - 1)) && !is_word(at + symbol.size())) return true;
    }
    return false;
  }

  // An optional tensor must be absent in all layers or in none.
  Status refuse_partly_missing() const {
    for (const auto& [key, presence] : optional_) {
      if (presence.present == 0 || presence.absent == 0) continue;
      return fail("convert-missing", presence.first_absent, "is missing, but other layers have it");
    }
    return {};
  }

  bool may_be_left_out(std::string_view name) const {
    if (name.ends_with("position_ids") || hf::classify_name(name) == hf::NameClass::derived) return true;
    for (const auto& root : sources_.roots()) {
      if (!root || !name.starts_with(*root)) continue;
      const std::string_view rest = name.substr(root->size());
      bool is_named = false;
      for_each_name(family_.left_out, [&](std::string_view prefix) {
        is_named = is_named || rest.starts_with(prefix) || (std::string(rest) + ".").starts_with(prefix);
      });
      if (is_named) return true;
      if (family_.last_layers.empty()) continue;
      const std::optional<arch::LayerName> layer = arch::layer_name(rest, family_.last_layers);
      if (layer && layer->layer >= sizes_.get("L")) return true;
    }
    return false;
  }

  Status refuse_leftovers(std::vector<bool>& used, TensorMap& map) const {
    std::vector<std::string> unknown;
    std::size_t number = 0;
    for (const std::string_view text : family_.roots) {
      const std::optional<std::string>& root = sources_.roots()[number++];
      if (!root || text.starts_with('~')) continue;
      for (auto at = names_.lower_bound(*root); at != names_.end() && at->first.starts_with(*root); ++at) {
        if (used[at->second]) continue;
        used[at->second] = true;
        if (may_be_left_out(at->first)) {
          map.left_out.push_back({std::string(at->first), LeftOutReason::computed});
        } else {
          unknown.emplace_back(at->first);
        }
      }
    }
    if (unknown.empty()) return {};
    return input_error(
        "convert-unmapped",
        fmt::format("{} of the {} tower {} no place in a projector of type {} with {}: {}",
                    counted(unknown.size(), "tensor"), family_.encoder, verb(unknown.size(), "has", "have"),
                    family_.rows.name, counted(sizes_.get("L"), "block"), joined_first(unknown)),
        {}, {}, model_.directory);
  }

  struct Presence {
    u64 present = 0, absent = 0;
    std::string first_absent;
  };

  const HfModel& model_;
  const std::map<std::string_view, std::size_t>& names_;
  const arch::ProjectorFamily& family_;
  const hf::Config& config_;
  std::optional<TensorType> type_;
  FaultLog faults_;
  TowerSources sources_;
  PartPlacer placer_;
  arch::Sizes sizes_;
  std::map<std::tuple<std::size_t, const arch::Tensor*, arch::Side>, Presence> optional_;
};

}  // namespace

Result<arch::Sizes> map_tower(const TowerSource& source, TowerRoots roots, std::optional<TensorType> type,
                              FaultLog faults, TensorMap& map, std::vector<bool>& used) {
  return TowerMapper(source.model, source.names, source.family, source.config, std::move(roots), type, faults)
      .add_to(map, used);
}

}  // namespace modelutils
