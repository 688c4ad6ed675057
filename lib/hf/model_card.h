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

/// The contents of a model card, for general.* keys. Strings are UTF-8 and not empty.
struct ModelCard {
  std::optional<std::string> license, license_name, license_link;
  std::optional<std::string> author;        ///< `author`, `model_author` or `model_creator`
  std::optional<std::string> pipeline_tag;  ///< the model's purpose: "text-generation"
  /// Each may also be spelled with the prefix `model_`. `model_type` also gives the base name.
  std::optional<std::string> name, organization, basename, finetune, version, size_label, description;
  std::vector<std::string> base_models;  ///< "organisation/name", a name, or an address
  std::vector<std::string> tags, languages, datasets;
};

/// Parses the front matter of README.md's text: the YAML map between a first line `---` and the next `---`. Each member
/// is parsed separately with libyaml's events. Only scalars and lists of scalars of the keys above are read; other keys
/// are skipped, as are values with anchors, aliases, tags or maps. Never fails. Values that cannot be read are skipped
/// with a note in `findings`; unterminated front matter, invalid UTF-8 and a Git LFS pointer give a warning
/// ("hf-card-syntax").
ModelCard parse_model_card(std::string_view readme, FindingLog& findings);

/// Reads the card from a folder's README.md; empty if there is no such file. Reads only the first 1 MiB. Errors: those
/// of open_side_file() and of reading.
Result<ModelCard> read_model_card(const ModelFolder& folder, FindingLog& findings);

}  // namespace modelutils::hf
