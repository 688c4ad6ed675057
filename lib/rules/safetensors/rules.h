// The rules for safetensors files and shard sets. Each row of the table in docs/formats/safetensors.md is implemented
// here or, if parsing itself depends on it, in the parser (formats/safetensors/parse.h, shard_set.h), whose findings
// are passed on.
#pragma once

#include <string>

#include "base/error.h"
#include "base/log.h"
#include "formats/safetensors/parse.h"
#include "formats/safetensors/shard_set.h"
#include "model/adapter/adapter.h"
#include "rules/formats.h"

namespace modelutils::safetensors_rules {

// The parts of the safetensors rules. Other code calls safetensors_container_rules().

/// Checks each tensor by itself: name, dtype, shape, offsets, size.
void check_tensors(const safetensors::Document& document, FindingLog& log);

/// Checks all tensors together: overlaps, holes, bytes after the last one, truncation, alignment of the data.
void check_layout(const safetensors::Document& document, FindingLog& log);

}  // namespace modelutils::safetensors_rules

namespace modelutils {

/// Returns the parser's findings and those that follow from the header: dtypes, shapes, sizes, offsets and names. Reads
/// nothing. All of scope container except "st-dtype" (scope model: a dumper shows an unknown dtype as unknown and
/// continues). Linear time, except for sorting the tensors of a file whose header is not in data order.
FindingLog safetensors_container_rules(const safetensors::Document& document);

/// Like safetensors_container_rules() for one file, for every file of a set, plus the set's own findings. If the set
/// was opened by a directory or an index, each finding has its file's base name.
FindingLog safetensors_container_rules(const safetensors::ShardSet& set);

/// Returns safetensors_container_rules() as plain findings: for dumpers, which fail on the first container error
/// (first_container_error), and for converters, which refuse every error (first_error).
Findings safetensors_container_findings(const safetensors::ShardSet& set);

/// The check function for safetensors in the table of formats (formats.cc). Directories with a config.json use the MLX
/// rules.
Result<CheckedModel> check_safetensors(const Model& model, unsigned threads = 1);

// Opens adapters for converters, applying verify's rules.

/// Opens and reads an adapter's directory. Errors: those of adapter::open_weights() and adapter::read_adapter(), and
/// every error among the container's findings.
Result<adapter::Adapter> open_adapter(const std::string& directory);

}  // namespace modelutils
