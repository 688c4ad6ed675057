// A model's identity: author, base models, licence and types, from its metadata and its headers. Used by policies
// (--policy) and bills of materials (--sbom).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "formats/hf/model_card.h"
#include "model/listing/listing.h"
#include "model/model.h"

namespace modelutils {

/// A file of a model, with its digest if requested.
struct IdentityFile {
  std::string name;  ///< relative to the model's folder
  u64 bytes = 0;
  std::string sha256;  ///< lower-case hexadecimal; empty if not requested or not computable
};

struct ModelIdentity {
  std::string name;                ///< the card's name, otherwise the name of the file or folder
  hf::ModelCard card;              ///< from general.* keys or README.md
  std::string architecture;        ///< "llama", "LlamaForCausalLM"; empty if not stated
  std::string mix;                 ///< "Q4_K_M"; empty if not stated
  std::vector<std::string> types;  ///< types of the tensors, or of the modules if they are packed
  std::optional<u64> parameters;
  std::optional<u64> context;       ///< context length of the training, in tokens
  std::vector<IdentityFile> files;  ///< the weights and the files beside them
};

/// An opened model as policies see it. The model must outlive it.
class IdentitySource {
 public:
  explicit IdentitySource(const Model& model);

  /// Returns the model's identity. Errors: those of reading the card.
  Result<ModelIdentity> identity();
  /// True if a key of that name exists (in a directory: a member of config.json) and its value is not empty.
  bool states(std::string_view key);
  bool has_chat_template();
  /// Returns the model's folder; empty if the model is a file.
  std::string folder() const;

 private:
  const Model& model_;
  std::unique_ptr<ListingSource> listing_;  // nullptr for BUMPWGT
};

}  // namespace modelutils
