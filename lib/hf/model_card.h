// The YAML front matter of README.md: names, licence, base models, tags, languages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "io/model_folder.h"

namespace modelutils::hf {

/// What a model card says about the model, for general.* keys. Texts are UTF-8 and not empty.
struct ModelCard {
  std::optional<std::string> license, license_name, license_link;
  std::optional<std::string> author;        ///< `author`, `model_author` or `model_creator`
  std::optional<std::string> pipeline_tag;  ///< what the model is for: "text-generation"
  /// Each also spelled with `model_` before it; `model_type` is a base name as well.
  std::optional<std::string> name, organization, basename, finetune, version, size_label, description;
  std::vector<std::string> base_models;  ///< "organisation/name" or a name or an address
  std::vector<std::string> tags, languages, datasets;
};

/// Reads the front matter of README.md's text: the lines between a first line `---` and the next `---`, a YAML map.
/// Each of its members is parsed by itself (libyaml's events): the scalars and lists of scalars of the keys above are
/// taken, others are passed over. Anchors, aliases, tags and maps are not. Never fails: what is not understood is left
/// out, with a note in `findings`; front matter that does not end or is not UTF-8, and a Git LFS pointer, are a warning
/// ("hf-card-syntax").
ModelCard parse_model_card(std::string_view readme, FindingLog& findings);

/// The card in a folder's README.md; empty if there is no such file. Only the first 1 MiB is looked at. Errors: those
/// of open_side_file() and of reading.
Result<ModelCard> read_model_card(const ModelFolder& folder, FindingLog& findings);

}  // namespace modelutils::hf
