// The folders of Sentence Transformers: modules.json names what follows the model, one folder each with a config.json.
// docs/embeddings.md says what of it a GGUF can hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/types.h"
#include "io/model_folder.h"

namespace modelutils::hf {

/// How the vectors of tokens become one vector; the numbers of the key pooling_type.
enum class Pooling : u8 { none, mean, first, last, rank };

/// Returns "mean", "first token" and so on; empty for other numbers.
std::string_view pooling_text(u64 number);

struct SentenceModules {
  bool is_stated = false;            ///< the folder has a modules.json
  std::optional<Pooling> pooling;    ///< empty without a pooling module: a vector for each token
  std::vector<std::string> dense;    ///< folders of dense layers, in their order: "2_Dense"
  std::vector<std::string> prompts;  ///< names of the prompts that the model expects before texts: "query"
  /// Set if something follows the model that no GGUF can hold; for converters. Code "convert-modules".
  std::optional<Error> refusal;
};

/// Reads modules.json and the files that it names. Adds an error "hf-sentence-modules" for each part that cannot be
/// read: not JSON, a missing file, a path that leaves the folder.
SentenceModules load_sentence_modules(const ModelFolder& folder, FindingLog& findings);

/// Inputs and outputs of a dense layer.
struct DenseSizes {
  u64 in = 0, out = 0;
};

/// Returns the names and contents of modules.json and the files that it names, except weights; none if there is no
/// pooling and no dense layer. `width` is the model's, `sizes` has an entry for each dense layer.
std::vector<std::pair<std::string, std::string>> sentence_module_files(const SentenceModules& modules,
                                                                       const std::vector<DenseSizes>& sizes, u64 width);

}  // namespace modelutils::hf
