#include "rules/bump/rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/escape.h"
#include "base/text.h"
#include "formats/bump/document.h"
#include "io/hash.h"
#include "model/catalog.h"
#include "model/model.h"

namespace modelutils {

namespace {

using bump::Dimensions;
using bump::HeaderField;
using bump::Reading;

const HeaderField& header_field(std::string_view name) {
  return *std::find_if(bump::header_fields().begin(), bump::header_fields().end(),
                       [&](const HeaderField& field) { return field.name == name; });
}

// A member that is 0 is unknown.
std::string geometry_text(const bump::Geometry& geometry) {
  if (geometry.intermediate == 0) return counted(geometry.kv_heads, "KV head");
  const std::string width = fmt::format("an intermediate size of {}", geometry.intermediate);
  return geometry.kv_heads == 0 ? width : fmt::format("{} and {}", counted(geometry.kv_heads, "KV head"), width);
}

class BumpRules {
 public:
  BumpRules(const PathProbe& probe, const BumpModel& model)
      : probe_(probe), file_(model.file), document_(model.document) {}

  Result<CheckedModel> check() {
    model_.format_text = "BUMPWGT3";
    if (!probe_.head.starts_with(bump::magic)) {
      model_.findings.error(
          Scope::container, "bump-magic",
          fmt::format("is '{}' instead of 'BUMPWGT3'", escape(probe_.head.substr(0, bump::magic.size()))),
          "field magic", 0);
    }
    model_.findings.add_all(document_.findings);
    if (document_.file_size >= bump::codes_offset) {
      check_header();
      check_codes();
      config_ = read_bump_config(probe_.path, model_.findings);
      compare_with_config();
      find_reading();
      MU_TRY(check_payload());
    }
    return std::move(model_);
  }

 private:
  void field_error(std::string code, std::string_view field, std::string message) {
    model_.findings.error(Scope::container, code, std::move(message), fmt::format("field {}", field),
                          header_field(field).offset);
  }

  void check_header() {
    const bump::Header& header = document_.header;
    if (header.version != 3)
      field_error("bump-version", "version", fmt::format("is {}, only 3 is supported", header.version));
    if (header.model_type != 1) {
      field_error("bump-model-type", "model_type", fmt::format("is {}, it must be 1", header.model_type));
    }
    for (const std::string_view name :
         {"num_layers", "vocab_size", "embed_dim", "context_len", "num_heads", "head_dim"}) {
      if (header.*header_field(name).value == 0) field_error("bump-dimension", name, "is 0");
    }
    const auto at_least = [&](std::string_view field, u64 value, std::string_view other, u64 least) {
      if (value < least) {
        field_error("bump-dimension", field, fmt::format("is {}, less than {}, which is {}", value, other, least));
      }
    };
    at_least("aligned_embed", header.aligned_embed, "embed_dim", header.embed_dim);
    at_least("aligned_head", header.aligned_head, "head_dim", header.head_dim);
    if (const u64 expected = bump::aligned_context(header.context_len); header.aligned_ctx != expected) {
      field_error("bump-dimension", "aligned_ctx",
                  fmt::format("is {}, but context_len {} rounded up to a multiple of 16 is {}", header.aligned_ctx,
                              header.context_len, expected));
    }
    for (std::size_t i = 0; i < header.reserved.size(); ++i) {
      if (header.reserved[i] == std::byte{0}) continue;
      model_.findings.error(
          Scope::container, "bump-reserved",
          fmt::format("contain the byte 0x{:02x}, they must all be zero", static_cast<unsigned>(header.reserved[i])),
          "reserved bytes", bump::reserved_offset + i);
      break;
    }
  }

  /// Reports codes that are wrong for any sizes: unknown ones, and non-FP32 codes of entries that are always FP32.
  void check_codes() {
    const u64 layers = document_.header.num_layers;
    for (u64 i = 0; i < document_.codes.size(); ++i) {
      const u8 code = document_.codes[i];
      const auto [role, layer] = bump::entry_at(i, layers);
      const auto where = [&, r = role, l = layer] { return fmt::format("dtype code of {}", bump::entry_name(r, l)); };
      if (!dtype_from_code(code, bump::Numbering::original) && !dtype_from_code(code, bump::Numbering::renumbered)) {
        model_.findings.error(Scope::container, "bump-dtype",
                              fmt::format("is {}, which neither numbering defines", code), where(),
                              bump::codes_offset + i);
      } else if (!bump::role_info(role).has_source_type && code != 0) {
        model_.findings.error(Scope::container, "bump-dtype",
                              fmt::format("is {}, but this entry is always FP32 (0)", code), where(),
                              bump::codes_offset + i);
      }
    }
  }

  void compare_with_config() {
    if (!config_) {
      model_.findings.note(
          Scope::container, "bump-no-config",
          "there is no config.json next to the file: the number of KV heads and the intermediate size are derived "
          "from the file's size");
      return;
    }
    const bump::Geometry told = told_geometry();
    if (told.kv_heads == 0 || told.intermediate == 0) {
      model_.findings.note(Scope::container, "bump-no-config",
                           fmt::format("config.json does not give {}{}{}: derived from the file's size",
                                       told.kv_heads == 0 ? "the number of KV heads" : "",
                                       told.kv_heads == 0 && told.intermediate == 0 ? " and " : "",
                                       told.intermediate == 0 ? "the intermediate size" : ""));
    }
    const auto compare = [&](std::string_view field, u64 in_config) {
      const u64 value = document_.header.*header_field(field).value;
      if (in_config == 0 || value == in_config) return;
      model_.findings.error(Scope::model, "bump-config",
                            fmt::format("is {}, but config.json says {}", value, in_config),
                            fmt::format("field {}", field), header_field(field).offset);
    };
    const Dimensions& d = config_->dimensions;
    compare("num_layers", d.layers);
    compare("vocab_size", d.vocab);
    compare("embed_dim", d.embed);
    compare("context_len", d.context);
    compare("num_heads", d.heads);
    compare("head_dim", d.head_dim);
  }

  void find_reading() {
    if (!document_.complete()) return;
    const bump::Geometry told = told_geometry();
    std::vector<Reading> readings = bump::readings_of(document_, told);
    if (readings.empty()) {
      readings = bump::readings_of(document_);
      if (readings.empty()) return say_that_nothing_fits();
      model_.findings.error(
          Scope::model, "bump-config",
          fmt::format("config.json says {}, but the file's {} and its size imply {}", geometry_text(told),
                      counted(document_.header.num_heads, "head"), geometry_text(readings.front().geometry)));
    }
    say_what_fits(readings);
    const Reading& reading = readings.front();
    model_.catalog =
        catalog_of(file_, bump::entries_of(document_, reading), bump::dimensions_of(document_, reading.geometry));
  }

  /// Returns the geometry as far as config.json states it.
  bump::Geometry told_geometry() const {
    if (!config_) return {0, 0};
    return {config_->dimensions.kv_heads, config_->dimensions.intermediate};
  }

  void say_what_fits(const std::vector<Reading>& readings) {
    bool numberings_differ = false;
    std::vector<bump::Geometry> geometries;
    for (const Reading& reading : readings) {
      numberings_differ |= reading.numbering != readings.front().numbering;
      if (std::find(geometries.begin(), geometries.end(), reading.geometry) == geometries.end()) {
        geometries.push_back(reading.geometry);
      }
    }
    const bool same_meaning =
        dtypes_of(document_, bump::Numbering::original) == dtypes_of(document_, bump::Numbering::renumbered);
    if (!numberings_differ) {
      model_.findings.note(
          Scope::container, "bump-numbering",
          fmt::format("the dtype codes use the {} numbering", numbering_name(readings.front().numbering)));
    } else if (same_meaning) {
      model_.findings.note(Scope::container, "bump-numbering",
                           "the dtype codes fit both numberings and mean the same in both");
    } else {
      model_.findings.warning(
          Scope::container, "bump-numbering-ambiguous",
          "the dtype codes fit both numberings, with different meanings; the original one is assumed");
    }
    if (geometries.size() > 1) {
      model_.findings.warning(
          Scope::container, "bump-geometry-ambiguous",
          fmt::format(
              "the file's size fits {}, but also {}{}; put the model's config.json next to the file to settle it",
              geometry_text(geometries[0]), geometry_text(geometries[1]),
              geometries.size() > 2 ? fmt::format(" and {} more", geometries.size() - 2) : std::string()));
    }
  }

  void say_that_nothing_fits() {
    std::string message = fmt::format("the file has {}, which does not match its header and dtype codes",
                                      counted(document_.file_size, "byte"));
    if (const bump::Geometry told = told_geometry(); told.kv_heads != 0 && told.intermediate != 0) {
      for (const bump::Numbering numbering : bump::all_numberings) {
        const auto dtypes = dtypes_of(document_, numbering);
        if (!dtypes) continue;
        const auto size =
            file_bytes(bump::dimensions_of(document_, told), census_of(*dtypes, document_.header.num_layers));
        if (size && document_.file_size < *size) return say_that_it_is_cut_off(*size, told);
        if (size) message += fmt::format("; with {} they give {}", geometry_text(told), *size);
        break;
      }
    }
    model_.findings.error(Scope::container, "bump-size", std::move(message));
  }

  void say_that_it_is_cut_off(u64 needed, const bump::Geometry& told) {
    is_cut_off_ = true;
    model_.findings.add({.code = "bump-size",
                         .message = fmt::format("{}; the expected size assumes {}",
                                                incomplete_text(document_.file_size, needed), geometry_text(told)),
                         .leads = true});
  }

  // Skips truncated files: their checksum cannot match, and the truncation is already reported.
  Status check_payload() {
    if (is_cut_off_) return {};
    Hasher hasher(HashAlgorithm::sha256);
    std::vector<std::byte> buffer(512 * 1024);
    for (u64 offset = bump::table_offset; offset < document_.file_size;) {
      const std::size_t want = static_cast<std::size_t>(std::min<u64>(buffer.size(), document_.file_size - offset));
      const MutableBytes bytes = MutableBytes(buffer).first(want);
      MU_TRY(file_->read_exact(offset, bytes));
      hasher.update(bytes);
      offset += want;
    }
    const std::string digest = hasher.hex_digest();
    const std::string stated = hex(document_.header.sha256);
    if (digest != stated) {
      model_.findings.error(
          Scope::data, "bump-checksum",
          fmt::format(
              "is {}, but the payload's is {}; --check MANIFEST or --against MODEL.gguf tells which entry is damaged",
              stated, digest),
          "field sha256", bump::checksum_offset);
    }
    return {};
  }

  const PathProbe& probe_;
  const std::shared_ptr<RandomAccessFile>& file_;
  const bump::Document& document_;
  std::optional<BumpConfig> config_;
  bool is_cut_off_ = false;
  CheckedModel model_;
};

}  // namespace

Result<CheckedModel> check_bump(const Model& model, unsigned /*threads*/) {
  return BumpRules(model.probe, *model.bump).check();
}

}  // namespace modelutils
