#include "compare/excerpt_values.h"

#include <algorithm>
#include <cstring>

#include "tensor/dequantize.h"

namespace modelutils {

namespace {

// Where the kept element `index` is.
u64 place_of(u64 index, const Padding& padding) {
  return index / padding.keep * padding.of + index % padding.keep;
}

class ExcerptValues : public TensorValues {
 public:
  ExcerptValues(const Catalog& catalog, const Tensor& tensor, const Excerpt& excerpt)
      : TensorValues(plain_form(*tensor.type), excerpt.rows * excerpt.columns, excerpt.columns),
        catalog_(catalog),
        tensor_(tensor),
        excerpt_(excerpt),
        row_bytes_(*row_bytes(*tensor.type, tensor.ne.front())) {}

  Status read(u64 first, u64 count, StoredRows& out) const override {
    const TypeInfo& type = type_info(form().type());
    const auto bytes_of = [&](u64 elements) { return elements / type.block_elements * type.block_bytes; };
    out.values().resize(count * bytes_of(excerpt_.columns));
    std::vector<std::byte> row(row_bytes_);
    MutableBytes left(out.values());
    for (u64 i = first; i < first + count; ++i) {
      const u64 stored = excerpt_.first_row + place_of(i, excerpt_.row_padding);
      MU_TRY(catalog_.read(tensor_, stored * row_bytes_, row));
      for (u64 column = 0; column < excerpt_.columns;) {
        const u64 run = std::min(excerpt_.column_padding.keep, excerpt_.columns - column);
        const u64 begin = bytes_of(excerpt_.first_column + place_of(column, excerpt_.column_padding));
        std::memcpy(left.data(), row.data() + begin, bytes_of(run));
        left = left.subspan(bytes_of(run));
        column += run;
      }
    }
    return {};
  }

  void decode(const StoredRows& rows, std::span<float> out) const override {
    dequantize(form().type(), rows.values(), out);
  }

 private:
  const Catalog& catalog_;
  const Tensor& tensor_;
  Excerpt excerpt_;
  u64 row_bytes_;
};

}  // namespace

void set_excerpt(const Catalog& catalog, const Tensor& stored, const Excerpt& excerpt, ComparedTensor& tensor,
                 KeptTexts& kept) {
  tensor.ne = kept.keep(excerpt.rows == 1 ? std::vector<u64>{excerpt.columns}
                                          : std::vector<u64>{excerpt.columns, excerpt.rows});
  const u64 block = type_info(*stored.type).block_elements;
  for (const u64 edge :
       {excerpt.columns, excerpt.column_padding.keep, excerpt.column_padding.of, excerpt.first_column}) {
    if (edge % block != 0) {
      tensor.problem = "heads are not made of whole blocks";
      return;
    }
  }
  tensor.values = [catalog = &catalog, &stored, excerpt] {
    return std::make_unique<ExcerptValues>(*catalog, stored, excerpt);
  };
}

ComparedTensor compared_entry(const Catalog& catalog, const Tensor& stored, std::string name, std::string_view word,
                              const Excerpt* excerpt, KeptTexts& kept) {
  ComparedTensor tensor;
  tensor.name = kept.keep(std::move(name));
  tensor.type = stored.type ? type_name(*stored.type) : kept.keep(std::string(word));
  tensor.ne = stored.ne;
  tensor.bytes = stored.bytes;
  tensor.offset = stored.offset;
  if (excerpt == nullptr) {
    tensor.values = [&catalog, &stored] { return std::make_unique<MatrixValues>(catalog.values_of(stored)); };
  } else if (stored.type) {
    set_excerpt(catalog, stored, *excerpt, tensor, kept);
  } else {
    tensor.problem = "the type is not known";
  }
  if (stored.type) tensor.bits = 8.0 * type_info(*stored.type).block_bytes / type_info(*stored.type).block_elements;
  return tensor;
}

void set_facts(const bump::Dimensions& d, ModelFacts& facts) {
  const auto known = [](u64 number) { return number == 0 ? std::nullopt : std::optional(number); };
  const auto range = [](u64 number) { return number == 0 ? std::nullopt : std::optional(Range{number, number}); };
  facts.layers = known(d.layers);
  facts.context = known(d.context);
  facts.embedding = known(d.embed);
  facts.head_dim = known(d.head_dim);
  facts.vocabulary = known(d.vocab);
  facts.heads = range(d.heads);
  facts.heads_kv = range(d.kv_heads);
  facts.feed_forward = range(d.intermediate);
}

Result<bool> is_all_zero(const ByteSource& file, u64 offset, u64 size) {
  std::vector<std::byte> piece;
  for (u64 done = 0; done < size; done += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<u64>(size - done, 64 * 1024)));
    MU_TRY(file.read_exact(offset + done, piece));
    if (std::ranges::any_of(piece, [](std::byte byte) { return byte != std::byte{0}; })) return false;
  }
  return true;
}

}  // namespace modelutils
