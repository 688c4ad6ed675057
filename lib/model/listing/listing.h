// The content of a dump, for any format: facts, files, keys, modules, tensors. An adapter per format fills it
// (listing.cc, safetensors_listing.cc); a renderer per output form writes it (lib/report). Names, texts and tensors are
// views into the opened model; arrays stay in the file until they are visited.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/not_found.h"
#include "formats/gguf/split_set.h"
#include "formats/imatrix/importance.h"
#include "model/listing/model_facts.h"
#include "model/model.h"

namespace modelutils {

// The coverage of an importance matrix, and the matrices that its calibration text never used. For GGUF files and the
// format before GGUF.

/// The first and last covered layer of a model.
struct CoveredLayers {
  u64 first = 0;
  u64 last = 0;
  /// Tensors that these layers lack although most layers between first and last have them: "blk.3.ffn_up.weight".
  std::vector<std::string> missing;
};

struct ImportanceFacts {
  std::shared_ptr<const quantize::ImportanceMatrix> matrix;
  std::optional<CoveredLayers> layers;  ///< nullopt if no name begins with "blk.N."
  u64 matrices = 0;                     ///< over all entries; each expert of a stack with its own count is one matrix
  u64 never_used = 0;                   ///< how many of these were never used
  u64 tensors_never_used = 0;           ///< entries with an unused matrix
};

ImportanceFacts importance_facts(std::shared_ptr<const quantize::ImportanceMatrix> matrix);
/// Returns the facts for a GGUF file if it is a readable importance matrix: its header came from a file, not a pipe,
/// and breaks no rule. Otherwise returns nullopt.
std::optional<ImportanceFacts> importance_facts(const gguf::SplitSet& set);

/// An array in the file; gguf::visit_array() reads its elements.
struct ListedArray {
  const gguf::SetFile* file = nullptr;
  gguf::ArrayRef array;
};

/// The value of a key. Text is raw text of the file.
using ListedValue = std::variant<u64, i64, float, double, bool, std::string_view, ListedArray>;

struct ListedKey {
  std::string_view name;
  gguf::ValueType type = gguf::ValueType::string;  ///< always string for safetensors
  u64 index = 0;                                   ///< position in the file; in GGUF the header fields come first
  u64 offset = 0;                                  ///< absolute offset of its record
  ListedValue value;
  bool is_hidden = false;  ///< a header field that the globs do not select; its name is still reserved
};

/// A row of the listing: a tensor, and what its format adds.
struct ListedTensor {
  const Tensor* stored = nullptr;
  const safetensors::Tensor* entry = nullptr;  ///< safetensors: as in the header
  std::string_view type_name;                  ///< "Q4_K"; the dtype as stored; the number of an unknown GGUF type
  std::optional<u64> parameters;               ///< logical elements; 0 for scales and biases of MLX
  u64 index = 0;                               ///< position in the model
  u32 module = no_module;                      ///< index into Listing::modules, for the packed weight of a module
  bool is_part = false;                        ///< scales or biases of a packed weight

  static constexpr u32 no_module = ~u32{0};

  std::string_view name() const { return stored->name; }
  std::optional<TensorType> type() const { return stored->type; }
  /// Returns the shape in the format's own dimension order.
  std::span<const u64> shape() const { return entry != nullptr ? entry->shape : stored->ne; }
  /// Returns the stored size without padding; nullopt if unknown.
  std::optional<u64> bytes() const;
  /// Returns the absolute offset in the tensor's file; nullopt if unknown.
  std::optional<u64> data_offset() const;
  /// GGUF: absolute offset of the info record. safetensors: data_offsets[0].
  u64 offset() const { return entry != nullptr ? entry->begin : stored->record; }
};

/// A module of an MLX or Hugging Face model: the owner of a `.weight`.
struct ListedModule {
  std::string_view path;
  std::string_view type_name;      ///< of the weight, as stored
  std::optional<TensorType> type;  ///< of the weight, as stored
  bool quantized = false;
  std::string_view mode;  ///< empty if not quantised or not stated in config.json; then bits and group_size are 0
  u64 bits = 0;
  u64 group_size = 0;             ///< 0: scales do not cover groups along the rows
  std::optional<bool> symmetric;  ///< true if biases and zero points are absent or always the midpoint; nullopt if not
                                  ///< examined
  std::vector<u64> shape;         ///< logical; as stored if it cannot be unpacked
  std::optional<u64> parameters;  ///< product of the shape
  u64 bytes = 0;                  ///< weight, scales and biases together
};

struct ListedFile {
  std::string path;
  std::string name;                ///< base name
  std::optional<u64> size;         ///< nullopt for a pipe
  u64 header_bytes = 0;            ///< GGUF: up to the end of the tensor infos. safetensors: length of the JSON text
  u64 alignment = 0;               ///< GGUF only
  std::optional<u64> data_offset;  ///< offset of its tensor data; nullopt if the header is truncated
  u64 tensors = 0;
};

struct Listing {
  enum class Format : u8 { gguf, safetensors };

  Format format = Format::gguf;
  std::string path;                     ///< as the user gave it
  std::string kind;                     ///< display text: "GGUF v3, big-endian", "MLX model, quantised"
  std::optional<gguf::PartOfSet> part;  ///< set if other parts of the split model are missing
  bool big_endian = false;
  bool has_tensors = true;    ///< tensors and modules were requested
  bool has_counts = true;     ///< the header was read at least up to its counts of keys and tensors
  bool names_differ = false;  ///< all tensor names are known to be valid UTF-8 and unique
  bool is_unordered = false;  ///< the stored order is meaningless, so sort for display by layer and name
  ModelFacts facts;
  std::vector<TypeTotal> forms;          ///< quantisation forms of an MLX model's modules; `tensors` counts modules
  bool counts_packed_as_stored = false;  ///< `facts.parameters` is too low: config.json does not describe the packing
  std::vector<ListedFile> files;         ///< GGUF: at least one. Empty if no shard could be opened
  std::size_t named_file = 0;            ///< index into `files` of the file named by `path`

  std::vector<ListedKey> header_fields;  ///< GGUF: version and counts, which gguf-py lists as keys "GGUF.…"
  std::vector<ListedKey> keys;
  std::vector<std::string> config_keys;  ///< if requested: names of the config.json fields that no key hides
  std::vector<ListedTensor> tensors;
  std::optional<ImportanceFacts> importance;  ///< set for an importance matrix
  std::vector<ListedModule> modules;          ///< in the order of their weights
  u64 key_count = 0;                          ///< of the model, regardless of the selection
  u64 module_count = 0;
  u64 tensor_count = 0;

  std::map<u32, std::string> unknown_types;  ///< names of GGUF types that the type table lacks; tensors have views

  bool is_split() const { return files.size() > 1; }
  /// True if the modules add information beyond the stored tensors.
  bool is_packed() const { return !forms.empty(); }
};

/// The selection to list. A key is selected if it matches one of the globs; an empty list selects everything. A tensor
/// is selected if it meets all conditions on tensors. A module is listed if its weight is selected.
struct ListingRequest {
  std::vector<std::string> key_globs;
  std::vector<std::string> tensor_patterns =
      {};                               ///< one of them selects the name (pattern_selects()); empty: all names
  std::vector<std::string> types = {};  ///< the type has one of these names, in any case; empty: all types
  std::optional<u64> larger_than = {};  ///< the stored size is known and larger than this number of bytes
  bool config_keys = false;             ///< include the fields of config.json
  bool tensors = true;                  ///< include tensors and modules
  bool zero_points = false;             ///< determine whether modules are symmetric, which reads their zero points
  bool token_texts = false;             ///< include the texts of tokens that keys refer to
  bool towers = false;                  ///< include the towers of a directory, which reads its settings for pictures

  /// True if not all tensors are requested.
  bool selects_tensors() const { return !tensor_patterns.empty() || !types.empty() || larger_than; }
};

/// True if `name` matches a glob or `globs` is empty.
bool selects(const std::vector<std::string>& globs, std::string_view name);
/// True if `name` is the name of the type, in any case.
bool is_type_named(std::string_view type, std::string_view name);
/// True if the request selects a tensor. `type`: its name in listings.
bool selects_tensor(const ListingRequest& request, const Tensor& tensor, std::string_view type);

/// An opened model that can be listed. It and its listings are views into the model.
class ListingSource {
 public:
  explicit ListingSource(const Model& model) : model_(model) {}
  virtual ~ListingSource() = default;
  ListingSource(const ListingSource&) = delete;
  ListingSource& operator=(const ListingSource&) = delete;

  /// Reads the towers of a directory by the rules of mlx2gguf, which this room does not know. Without it, none is
  /// listed.
  std::function<std::vector<TowerFacts>()> read_towers = {};

  /// Lists the selected keys, tensors and modules.
  virtual Listing list(const ListingRequest& request) = 0;
  /// Returns the value of a key, a header field or a config.json field; nullopt if there is none.
  virtual std::optional<ListedValue> find_value(std::string_view key) = 0;
  const Model& model() const { return model_; }
  /// Returns the tensor of that name, readable or not. Names are those in the file; safetensors models also accept
  /// aliases (Model::find). Returns nullptr if there is none.
  const Tensor* find_tensor(std::string_view name) const;

  /// Calls `visit` with the name of every tensor, or of every key; with `config_keys` also of every config.json field,
  /// so that find_value() knows all visited names.
  using NameVisitor = std::function<void(std::string_view name)>;
  virtual void each_key_name(bool config_keys, const NameVisitor& visit) const = 0;
  void each_tensor_name(const NameVisitor& visit) const;

 protected:
  const Model& model_;
};

/// Lists a model; nullptr for BUMPWGT. `model` must outlive the source and its results.
std::unique_ptr<ListingSource> listing_of(const Model& model);

/// The adapters of each format, for listing_of(). gguf_listing() lists only the keys of a split model's first file, as
/// the other files have only split.* keys.
std::unique_ptr<ListingSource> gguf_listing(const Model& model);
std::unique_ptr<ListingSource> safetensors_listing(const Model& model);
std::unique_ptr<ListingSource> imatrix_listing(const Model& model);

// Parts of the GGUF listing that other code also uses.

/// Functions that visit the names of a model's keys (including those of the header fields) and of its tensors.
EachName each_key_name(const gguf::SplitSet& set);
EachName each_tensor_name(const gguf::SplitSet& set);

/// Converts a value to the form used in listings.
ListedValue listed_value(const gguf::SetFile& file, const gguf::Value& value);
/// Like listed_value(), for a value that is not an array.
ListedValue listed_scalar(const gguf::Value& value);

}  // namespace modelutils
