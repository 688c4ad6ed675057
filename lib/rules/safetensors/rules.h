// The rules for safetensors files and shard sets. Every row of the table in docs/formats/safetensors.md is here or,
// where reading itself depends on it, in the parser (safetensors/parse.h, shard_set.h), whose findings are handed on.
#pragma once

#include "base/finding_log.h"
#include "rules/formats.h"
#include "safetensors/shard_set.h"

namespace modelutils {

/// The parser's findings, and what the header alone says of dtypes, shapes, sizes, offsets and names. Reads nothing.
/// All of scope container but "st-dtype" (scope model: a dumper shows an unknown dtype as unknown and goes on). Time:
/// linear, but for sorting the tensors of a file whose header is not in the order of the data.
FindingLog safetensors_container_rules(const safetensors::Document& document);

/// The same for every file of a set, each finding with its file's base name if the set was opened by a directory or an
/// index, and the set's own findings.
FindingLog safetensors_container_rules(const safetensors::ShardSet& set);

/// The same as plain findings: for dumpers, which fail on the first error of the container (first_container_error), and
/// for converters, which refuse every error (first_error).
Findings safetensors_container_findings(const safetensors::ShardSet& set);

/// The row of the table of formats (formats.cc). Directories with a config.json are the MLX rules' business.
Result<CheckedModel> check_safetensors(const Model& model, unsigned threads = 1);

}  // namespace modelutils
