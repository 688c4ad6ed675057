// Recognises the types of forks in a GGUF file (tensor/fork_types.h): ids are not unique, so a fork's sizes must agree
// with all rows and offsets and with the end of the file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "formats/gguf/document.h"
#include "tensor/fork_types.h"

namespace modelutils::gguf {

/// A type id as forks know it. TensorInfo::type_id then is the id with the set of the forks whose sizes fit the file,
/// so it is no id of ggml's.
struct ForeignType {
  u32 id = 0;                          ///< as in the file
  std::vector<const Fork*> forks;      ///< those that fit; never empty
  std::vector<const ForkType*> types;  ///< their types, in the same order; the sizes of the first apply
  std::string text;                    ///< "IQ4_KS (ik_llama.cpp)", "TQ3_1S (TurboQuant) or TQ3_4S (llama.cpp-tq3)"

  double bits_per_weight() const { return types.front()->bits_per_weight(); }
  std::string_view advice() const { return advice_for(*types.front(), *forks.front()); }
};

/// True if the type_id of a parsed tensor is a fork's.
bool is_foreign(u32 type_id);
/// Returns the type; nullopt unless is_foreign().
std::optional<ForeignType> foreign_type(u32 type_id);
/// Returns the size of a tensor with a fork's type; nullopt if it exceeds 63 bits.
std::optional<u64> foreign_tensor_bytes(u32 type_id, std::span<const u64> ne);

/// Returns the tensor's type: "Q4_K", "IQ4_KS (ik_llama.cpp)"; the number for an unknown type.
std::string type_text(const TensorInfo& tensor);

/// Marks the types of forks in a complete document. Linear.
void mark_foreign_types(Document& document);

/// A type of forks in a document.
struct ForeignTypeUse {
  ForeignType type;
  u64 tensors = 0;
  const TensorInfo* first = nullptr;
};
std::vector<ForeignTypeUse> foreign_types_of(const Document& document);

/// Returns the names that forks give an id, of types with known sizes: "IQ4_KS (ik_llama.cpp)"; empty if there are
/// none.
std::string candidates_text(u32 id);

}  // namespace modelutils::gguf
