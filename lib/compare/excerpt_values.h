// A tensor that is a part of an entry of a BUMPWGT file: heads without their padding, gate or up out of both.
#pragma once

#include "bump/layout.h"
#include "compare/compared_model.h"
#include "model/catalog.h"

namespace modelutils {

// Of every `of` neighbours only the first `keep` are kept.
struct Padding {
  u64 keep = 1;
  u64 of = 1;
};

// The part of an entry that is a tensor: rows from `first_row`, and columns of each row.
struct Excerpt {
  u64 first_row = 0;
  u64 rows = 0;
  Padding row_padding;
  u64 first_column = 0;
  u64 columns = 0;
  Padding column_padding;
};

/// Makes `tensor` that part of `stored`, which has a known type: shape, values, and a problem where the part would cut
/// through blocks. The catalog must outlive the values.
void set_excerpt(const Catalog& catalog, const Tensor& stored, const Excerpt& excerpt, ComparedTensor& tensor,
                 KeptTexts& kept);

/// An entry as a tensor: whole (no excerpt), or that part of it. `word`: its type where the table of types does not
/// have it. The catalog must outlive the values.
ComparedTensor compared_entry(const Catalog& catalog, const Tensor& stored, std::string name, std::string_view word,
                              const Excerpt* excerpt, KeptTexts& kept);

/// What a header says of the model; 0 is "not said".
void set_facts(const bump::Dimensions& dimensions, ModelFacts& facts);

/// True if these bytes of a file are all zero.
Result<bool> is_all_zero(const ByteSource& file, u64 offset, u64 size);

}  // namespace modelutils
