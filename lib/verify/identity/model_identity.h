// What a model says of itself and what its headers show: who made it, of what, under which licence, in which types. For
// policies (--policy) and bills of materials (--sbom).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding_log.h"
#include "hf/model_card.h"
#include "listing/listing.h"
#include "model/model.h"

namespace modelutils {

/// A file of a model, with its digest where one was asked for.
struct IdentityFile {
  std::string name;  ///< relative to the model's folder
  u64 bytes = 0;
  std::string sha256;  ///< lower-case hexadecimal; empty if it was not or could not be computed
};

struct ModelIdentity {
  std::string name;                ///< that of the card, else of the file or folder
  hf::ModelCard card;              ///< of general.* keys or README.md
  std::string architecture;        ///< "llama", "LlamaForCausalLM"; empty if not stated
  std::string mix;                 ///< "Q4_K_M"; empty if not stated
  std::vector<std::string> types;  ///< of the tensors, or of the modules where they are packed
  std::optional<u64> parameters;
  std::optional<u64> context;       ///< tokens that it was trained for
  std::vector<IdentityFile> files;  ///< of the weights and of what lies beside them
};

/// An opened model as policies look at it. The model must outlive it.
class IdentitySource {
 public:
  explicit IdentitySource(const Model& model);

  /// Errors: those of reading the card.
  Result<ModelIdentity> identity();
  /// Is there a key (a member of config.json in a directory) of that name, and does it say anything?
  bool states(std::string_view key);
  bool has_chat_template();
  /// The folder that is the model; empty for a file.
  std::string folder() const;

 private:
  const Model& model_;
  std::unique_ptr<ListingSource> listing_;  // nullptr for BUMPWGT
};

}  // namespace modelutils
