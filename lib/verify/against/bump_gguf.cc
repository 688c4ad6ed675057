#include "verify/against/bump_gguf.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/escape.h"
#include "base/types.h"
#include "convert/to_bump/mapping.h"
#include "formats/bump/document.h"
#include "io/random_access_file.h"
#include "model/model.h"
#include "rules/bump/rules.h"
#include "verify/against/bump5_gguf.h"

namespace modelutils {

namespace {

using bump::Dimensions;

const bump::HeaderField& context_field() {
  return *std::find_if(bump::header_fields().begin(), bump::header_fields().end(),
                       [](const bump::HeaderField& field) { return field.name == "context_len"; });
}

class BumpParity {
 public:
  BumpParity(std::shared_ptr<RandomAccessFile> file, bump::Document document, gguf::SplitSet set)
      : file_(std::move(file)), document_(std::move(document)), set_(std::move(set)) {
    FindingLog told_already;  // reported by the file's own rules
    config_ = read_bump_config(file_->name(), told_already);
  }

  Result<FindingLog> compare() {
    // The mapping without padding and with the model's own context, as the source alone determines it.
    MU_ASSIGN(BumpMapping plain, map({}, 1));
    if (plain.entries.empty()) {
      Error refusal = plain.refusals.errors().front();
      refusal.message =
          "has no BUMPWGT3 equivalent: " + (refusal.where.empty() ? "" : refusal.where + " ") + refusal.message;
      refusal.where.clear();
      return tl::make_unexpected(in_file(std::move(refusal), set_.files.front().path));
    }
    MU_ASSIGN(std::optional<BumpMapping> mapping, fitting_mapping(plain));
    if (mapping) MU_TRY(recognise_repacked(*mapping));
    compare_header(mapping ? *mapping : plain, plain);
    if (!mapping) {
      log_.error(Scope::container, "parity-size",
                 fmt::format("the file has {} bytes, but the source gives {}", document_.file_size, plain.file_size));
      return std::move(log_);
    }
    compare_config(*mapping);
    compare_codes(*mapping);
    std::vector<EntryPair> pairs;
    for (const BumpEntry& entry : mapping->entries) pairs.push_back(pair_of(entry));
    MU_TRY(compare_entries(set_, *file_, pairs, log_));
    MU_TRY(say_what_is_not_carried(*mapping));
    return std::move(log_);
  }

 private:
  Result<BumpMapping> map(std::optional<u64> context, u64 align_head, bool split_halves = false) {
    BumpRequest request;
    request.split_halves = split_halves;
    request.context = context;
    request.align_head = align_head;
    request.numbering = bump::Numbering::renumbered;  // this numbering has a code for every dtype
    request.drop = {"*"};                             // tensors not carried are reported below
    return map_gguf_to_bump(set_, request);
  }

  /// Chooses context and head padding so that the source's mapping has the file's size. Tries the header's values
  /// first, then solves for one of the two. Returns nullopt if no choice fits.
  Result<std::optional<BumpMapping>> fitting_mapping(const BumpMapping& plain) {
    const bump::Header& header = document_.header;
    const Dimensions& d = plain.hyper.dimensions;
    const bool head_is_usable = header.aligned_head >= d.head_dim && header.aligned_head <= ~u32{0};
    const u64 head = head_is_usable ? header.aligned_head : d.head_dim;
    std::vector<std::pair<u64, u64>> choices = {{header.context_len, head}};
    // Accept another context than the header's only if it agrees with the header's aligned_ctx, because any size fits
    // some context.
    for (const std::optional<u64>& context : {std::optional(d.context), solve_context(plain, head)}) {
      if (context && bump::aligned_context(*context) == header.aligned_ctx) choices.emplace_back(*context, head);
    }
    choices.emplace_back(header.context_len, d.head_dim);
    if (const auto solved = solve_head(plain, header.context_len)) choices.emplace_back(header.context_len, *solved);
    for (const auto& [context, aligned] : choices) {
      if (context == 0) continue;
      // aligned >= head_dim, so head_dim rounded up to a multiple of `aligned` is `aligned`.
      MU_ASSIGN(BumpMapping mapping, map(context, aligned));
      if (!mapping.entries.empty() && mapping.file_size == document_.file_size) return mapping;
    }
    return std::nullopt;
  }

  /// The header does not record --repack split-halves, so compare the first layer with both layouts.
  Status recognise_repacked(BumpMapping& mapping) {
    const Dimensions& d = mapping.hyper.dimensions;
    MU_ASSIGN(BumpMapping repacked, map(d.context, d.aligned_head, true));
    if (repacked.entries.size() != mapping.entries.size()) return {};
    int balance = 0;  // entries that match the repacked layout only, minus those that match the plain one only
    for (std::size_t i = 0; i < mapping.entries.size() && mapping.entries[i].entry.layer == 0; ++i) {
      if (mapping.entries[i].parts.size() == repacked.entries[i].parts.size()) continue;
      MU_ASSIGN(const bool is_plain, has_bytes_of_source(set_, *file_, pair_of(mapping.entries[i])));
      MU_ASSIGN(const bool is_repacked, has_bytes_of_source(set_, *file_, pair_of(repacked.entries[i])));
      balance += (is_repacked ? 1 : 0) - (is_plain ? 1 : 0);
    }
    if (balance <= 0) return {};
    mapping = std::move(repacked);
    log_.note(Scope::model, "parity-repacked",
              "Q and K of llama are in halves and F32 wo is packed by head: written with --repack split-halves");
    return {};
  }

  static EntryPair pair_of(const BumpEntry& entry) {
    return {
        entry.entry.name(), entry.entry.offset, entry.entry.size, entry.parts,
        entry.sources.empty() ? std::string("the zeros it must consist of") : at_tensor(entry.sources.front()).text()};
  }

  static bump::Census census(const BumpMapping& mapping) {
    std::vector<bump::Dtype> dtypes;
    for (const BumpEntry& entry : mapping.entries) dtypes.push_back(entry.entry.dtype);
    return bump::census_of(dtypes, mapping.hyper.dimensions.layers);
  }

  /// Solves for the number that gives the file's size, which grows linearly with the number. Returns nullopt if none
  /// does.
  std::optional<u64> solve(u64 first, u64 step, const std::function<std::optional<u64>(u64)>& size_for) const {
    const std::optional<u64> base = size_for(first);
    const std::optional<u64> next = size_for(first + step);
    if (!base || !next || *next <= *base || *base > document_.file_size) return std::nullopt;
    const u64 growth = *next - *base;
    if ((document_.file_size - *base) % growth != 0) return std::nullopt;
    return checked_add(first, (document_.file_size - *base) / growth * step);
  }

  std::optional<u64> solve_context(const BumpMapping& plain, u64 head) const {
    const bump::Census kinds = census(plain);
    return solve(1, 1, [&](u64 context) {
      Dimensions d = plain.hyper.dimensions;
      d.context = context;
      d.aligned_head = head;
      return file_bytes(d, kinds);
    });
  }

  std::optional<u64> solve_head(const BumpMapping& plain, u64 context) const {
    const bump::Census kinds = census(plain);
    u64 block = 1;  // head padding adds whole blocks of wo
    for (const auto& [kind, count] : kinds) {
      if (kind.first != bump::Role::wo) continue;
      if (const auto type = bump::dtype_info(kind.second).type) {
        block = std::max<u64>(block, type_info(*type).block_elements);
      }
    }
    return solve(plain.hyper.dimensions.head_dim, block, [&](u64 head) {
      Dimensions d = plain.hyper.dimensions;
      d.context = context;
      d.aligned_head = head;
      return file_bytes(d, kinds);
    });
  }

  void compare_header(const BumpMapping& mapping, const BumpMapping& plain) {
    const bump::Header expected = bump::header_of(mapping.hyper.dimensions);
    for (const bump::HeaderField& field : bump::header_fields()) {
      const u64 value = document_.header.*field.value;
      const u64 right = expected.*field.value;
      if (value == right) continue;
      log_.error(Scope::model, "parity-field",
                 fmt::format("is {}, but the source {} {}", value,
                             field.value == context_field().value ? "and the file's size give" : "gives", right),
                 fmt::format("field {}", field.name), field.offset);
    }
    if (mapping.hyper.dimensions.context != plain.hyper.dimensions.context) {
      log_.note(Scope::model, "parity-context",
                fmt::format("is {}, but the source's context is {}: converted with --context",
                            document_.header.context_len, plain.hyper.dimensions.context),
                "field context_len", context_field().offset);
    }
    if (document_.code_count != mapping.entries.size()) {
      log_.error(Scope::model, "parity-field",
                 fmt::format("is {}, but the source gives {}", document_.code_count, mapping.entries.size()),
                 "number of dtype codes", bump::table_offset);
    }
  }

  /// The context in config.json may differ: the header is authoritative.
  void compare_config(const BumpMapping& mapping) {
    if (!config_) return;
    for (const BumpConfigField& field : bump_config_fields()) {
      const u64 value = config_->dimensions.*field.value;
      const u64 right = mapping.hyper.dimensions.*field.value;
      if (value == 0 || value == right || field.value == &Dimensions::context) continue;
      log_.error(Scope::model, "parity-field", fmt::format("is {}, but the source gives {}", value, right),
                 fmt::format("config.json field {}", field.key));
    }
  }

  /// Reports each wrong code under the numbering for which most codes are right.
  void compare_codes(const BumpMapping& mapping) {
    std::vector<u8> codes(mapping.entries.size());
    if (!file_->read_exact(bump::codes_offset, std::as_writable_bytes(std::span(codes)))) return;
    const auto is_wrong = [&](std::size_t i, bump::Numbering numbering) {
      return bump::dtype_from_code(codes[i], numbering) != mapping.entries[i].entry.dtype;
    };
    const auto wrong = [&](bump::Numbering numbering) {
      std::size_t count = 0;
      for (std::size_t i = 0; i < codes.size(); ++i) count += is_wrong(i, numbering) ? 1 : 0;
      return count;
    };
    const bump::Numbering numbering = wrong(bump::Numbering::original) <= wrong(bump::Numbering::renumbered)
                                          ? bump::Numbering::original
                                          : bump::Numbering::renumbered;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (!is_wrong(i, numbering)) continue;
      const bump::Entry& entry = mapping.entries[i].entry;
      log_.error(Scope::model, "parity-field",
                 fmt::format("is {}, but the source is {}", codes[i], bump::dtype_name(entry.dtype)),
                 fmt::format("dtype code of {}", entry.name()), bump::codes_offset + i);
    }
  }

  Status say_what_is_not_carried(const BumpMapping& mapping) {
    const auto warn = [&](const LocatedTensor& tensor, const std::string& reason) {
      log_.warning(Scope::model, "parity-not-carried", "is in the source, but not in the file: " + reason,
                   at_tensor(tensor.name));
    };
    for (const UnplacedTensor& item : mapping.unplaced) warn(item.tensor, item.reason);
    if (mapping.rope_freqs && !(config_ && config_->has_rope_scaling)) {
      warn(*mapping.rope_freqs, "only rope_scaling in a config.json next to it could carry the scaling");
    }
    if (!mapping.output) return {};
    MU_ASSIGN(const bool is_same, same_bytes(set_, *mapping.token_embedding, *mapping.output));
    if (!is_same) warn(*mapping.output, "it differs from token_embd.weight");
    return {};
  }

  std::shared_ptr<RandomAccessFile> file_;
  bump::Document document_;
  gguf::SplitSet set_;
  std::optional<BumpConfig> config_;
  FindingLog log_;
};

}  // namespace

Status check_gguf_source(const Model& source) {
  const gguf::SplitSet& set = *source.gguf;
  for (const gguf::SetFile& part : set.files) {
    if (const Finding* finding = first_container_error(part.document.findings)) {
      return tl::make_unexpected(with_path(*finding, part.path));
    }
  }
  if (const Finding* finding = first_error(set.findings))
    return tl::make_unexpected(with_path(*finding, source.path()));
  return {};
}

Result<FindingLog> compare_bump_with_gguf(const CheckedModel&, const Model& converted, Model source) {
  MU_TRY(check_gguf_source(source));
  return BumpParity(converted.bump->file, converted.bump->document, std::move(*source.gguf)).compare();
}

}  // namespace modelutils
