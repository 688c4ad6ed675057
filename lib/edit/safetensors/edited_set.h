// A model in safetensors files or PyTorch checkpoints while st-edit changes it: tensors as recipes over the source's
// tensors, the metadata of each file, and the text of config.json.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "convert/merge/merge.h"
#include "convert/transfer/recipe.h"
#include "convert/transfer/report.h"
#include "edit/safetensors/operation.h"
#include "formats/hf/config_edit.h"
#include "formats/safetensors/parse.h"
#include "model/model.h"

namespace modelutils::to_safetensors {

/// Lists of module names and patterns in quantisation settings.
inline constexpr std::array module_lists = {"modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers",
                                            "llm_int8_skip_modules"};

inline constexpr std::size_t no_place = std::numeric_limits<std::size_t>::max();

/// A tensor of the output. A unit has the elements of one index of the first (slowest) dimension.
struct EditedTensor : TensorRecipe {
  TensorType type = TensorType::F32;  ///< in the output
  std::size_t origin = 0;             ///< index into the catalog's tensors: the source, or the codes of `decoded`
  const Weight* decoded = nullptr;    ///< a quantised weight whose values are written
  std::shared_ptr<adapter::TensorMerge> merge = {};

  std::vector<u64> shape() const { return reversed(ne); }
  u64 bytes() const { return packed_bytes(type, elements()).value_or(0); }
  u64 columns() const { return ne.empty() ? 1 : ne.front(); }
  /// True if the source's bytes are copied, all or some of them.
  bool is_copy(const Tensor& source) const {
    return decoded == nullptr && merge == nullptr && operation == arch::Operation::none && source.type == type;
  }
};

/// A report that also lists the changes of names, files and config.json, as text.
struct StReport : TransferReport {
  std::vector<std::string> changes;
};

struct OpenOptions {
  std::string input;
  OutsideLinks links = OutsideLinks::refuse;
  bool ignore_index = false;
};

/// Links the tensors of quantised modules: scales and biases are renamed, kept and dropped with their codes.
struct Followers {
  std::vector<std::size_t> leader;      ///< by index into the catalog's tensors: of the codes, or no_place
  std::vector<std::size_t> module_end;  ///< by index: of codes, the length of the module's path; else 0

  bool is_quantized(std::size_t place) const { return leader[place] != no_place || module_end[place] != 0; }
};

struct EditedSet {
  Model model;
  std::size_t file_count = 0;                      ///< of the set, without modules in folders, which are its last files
  std::vector<EditedTensor> tensors;               ///< in the source's order
  std::vector<safetensors::OutMetadata> metadata;  ///< of each source file that is edited
  std::vector<bool> is_metadata_changed;           ///< the same files
  Followers followers;
  std::optional<hf::ConfigEdit> config;     ///< config.json of a directory
  std::optional<hf::ConfigEdit> quantizer;  ///< its hf_quant_config.json
  std::vector<std::string> dropped_files;   ///< files beside the weights that no longer apply
  bool force = false;                       ///< cut experts although the others would weigh more
  StReport report;

  const safetensors::ShardSet& set() const { return model.safetensors->set; }
  const Tensor& source(const EditedTensor& tensor) const { return model.catalog().tensors[tensor.origin]; }
  bool is_directory() const { return set().is_directory; }
  /// Returns the new text of a file beside the weights; nullptr if the file does not change.
  const hf::ConfigEdit* changed_text(std::string_view name) const;
  /// Returns the index of each catalog tensor in `tensors`, or no_place.
  std::vector<std::size_t> places() const;
};

/// Opens a model and lists its tensors as they are. Tensors of a checkpoint that share elements are listed once. Those
/// of Sentence Transformers' modules ("2_Dense/model.safetensors") are not listed: a module's file is copied as it is.
/// Errors: those of the readers; "pt2st-input" if it is another kind of model or a checkpoint without tensors; the
/// first container rule of class error that it breaks; "st-dtype".
Result<EditedSet> open_edited_set(const OpenOptions& options);

/// Returns the part that takes all units of a source tensor.
RecipePart whole_part(std::size_t origin, u64 units);

/// True for the types that --dtype casts.
bool is_castable(TensorType type);

// Operations on names: --keep, --drop, --rename, --strip-prefix, --add-prefix; and on the metadata: --set, --unset.

/// Applies one of them. `also_kept` are the globs of further --keep. A quantised weight's scales follow it, as do the
/// entries of the metadata about shared tensors. Errors of kind no_match: a glob or prefix
/// that matches no name, or nothing is left. Errors of kind usage: the operand.
Status edit_names(EditedSet& set, const StOperation& operation, const std::vector<std::string>& also_kept);
Status edit_metadata(EditedSet& set, const StOperation& operation);

/// Removes tensors for which `is_dropped` is true, with their entries in the metadata.
void drop_tensors(EditedSet& set, const std::vector<bool>& is_dropped);
/// Renames tensors; `names` is parallel to the tensors, with the old name where nothing changes.
void rename_tensors(EditedSet& set, std::vector<std::string> names);

/// Returns the text that `pattern`'s stars match, or nullopt if it does not match all of `text`. Other characters are
/// those of glob_match().
std::optional<std::vector<std::string_view>> match_stars(std::string_view pattern, std::string_view text);

// Types: --dtype, --dtype-of, --dequantize. Errors: of kind usage and no_match: the operands; "edit-dequantize" (kind
// input): nothing is quantised, or a weight cannot be decoded.
Status edit_types(EditedSet& set, const StOperation& operation);

// Layers and experts: --drop-layers, --keep-experts. Errors: those of edit::parse_number_list(); "edit-layers",
// "edit-experts" (kind input).
Status drop_layers(EditedSet& set, const StOperation& operation);
Status keep_experts(EditedSet& set, const StOperation& operation);

/// --text-only. Error of kind input: "edit-text-only".
Status keep_text(EditedSet& set, const StOperation& operation);

/// --lora, all of them. Errors: those of reading adapters; "adapter-target", "adapter-pair", "adapter-merge".
Status merge_adapters(EditedSet& set, const std::vector<adapter::Wanted>& wanted);

/// --shift-norms. Error of kind input: "edit-norms" if no norm needs it.
Status shift_norms(EditedSet& set);

/// Applies all operations in order, then lets config.json follow the types. Error of kind input: "edit-exists" if two
/// tensors have one name.
Status apply_operations(EditedSet& set, const std::vector<StOperation>& operations);

}  // namespace modelutils::to_safetensors
