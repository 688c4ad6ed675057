// What a dumper has to show of a model, whatever its format: facts, files, keys, modules, tensors. An adapter for each
// format fills it (gguf_listing.h, safetensors_listing.h), a renderer for each form of output writes it (room report).
// Names, texts and shapes are views into the opened model; arrays stay in the file until they are visited.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "gguf/split_set.h"
#include "listing/importance_facts.h"
#include "listing/model_facts.h"
#include "listing/value_source.h"

namespace modelutils {

/// An array where it is in the file; gguf::visit_array() gives its elements.
struct ListedArray {
  const gguf::SetFile* file = nullptr;
  gguf::ArrayRef array;
};

/// The value of a key. Text is raw text of the file.
using ListedValue = std::variant<u64, i64, float, double, bool, std::string_view, ListedArray>;

struct ListedKey {
  std::string_view name;
  gguf::ValueType type = gguf::ValueType::string;  ///< safetensors knows strings only
  u64 index = 0;                                   ///< in the file; GGUF counts from the fields of the header on
  u64 offset = 0;                                  ///< absolute offset of its record
  ListedValue value;
  bool is_hidden = false;  ///< a field of the header that the globs leave out; its name is taken all the same
};

struct ListedTensor {
  std::string_view name;
  std::string_view type_name;      ///< "Q4_K"; the dtype as in the file; the number of an unknown GGUF type
  std::optional<TensorType> type;  ///< nothing if the table of types does not have it
  std::span<const u64> shape;      ///< in the order of its format
  std::optional<u64> parameters;   ///< logical elements; 0 for scales and biases of MLX
  std::optional<u64> bytes;        ///< stored, without padding
  std::optional<u64> data_offset;  ///< absolute, in its file
  u64 index = 0;                   ///< in the model
  u64 offset = 0;                  ///< GGUF: absolute, of the info record. safetensors: data_offsets[0]
  u64 end = 0;                     ///< safetensors: data_offsets[1]
  u32 file = 0;                    ///< place in Listing::files
  u32 module = no_module;          ///< the module whose packed weight it is: place in Listing::modules
  bool is_part = false;            ///< scales or biases of a packed weight
  std::string_view problem;        ///< why its values cannot be read; empty if they can

  static constexpr u32 no_module = ~u32{0};
};

/// A module of an MLX or Hugging Face model: it owns a `.weight`.
struct ListedModule {
  std::string_view path;
  std::string_view type_name;      ///< of the weight, as stored
  std::optional<TensorType> type;  ///< the same
  bool quantized = false;
  std::string_view mode;  ///< empty where not quantised, or config.json does not say; then bits and group_size are 0
  u64 bits = 0;
  u64 group_size = 0;             ///< 0: scales are not of groups along the rows
  std::optional<bool> symmetric;  ///< neither biases nor zero points, or none but the middle; nothing: not looked at
  std::span<const u64> shape;     ///< logical; as stored if it cannot be unpacked
  std::optional<u64> parameters;  ///< product of the shape
  u64 bytes = 0;                  ///< weight, scales and biases together
};

struct ListedFile {
  std::string path;
  std::string name;                ///< base name
  std::optional<u64> size;         ///< nothing for a pipe
  u64 header_bytes = 0;            ///< GGUF: up to the end of the tensor infos. safetensors: length of the JSON text
  u64 alignment = 0;               ///< GGUF only
  std::optional<u64> data_offset;  ///< where its tensor data begins; nothing if the header breaks off
  u64 tensors = 0;
};

struct Listing {
  enum class Format : u8 { gguf, safetensors };

  Format format = Format::gguf;
  std::string path;                     ///< as the user gave it
  std::string kind;                     ///< for people: "GGUF v3, big-endian", "MLX model, quantised"
  std::optional<gguf::PartOfSet> part;  ///< the only part of a split model whose other parts are not there
  bool big_endian = false;
  bool has_tensors = true;    ///< tensors and modules were asked for
  bool has_counts = true;     ///< the header is there as far as its numbers of keys and tensors
  bool names_differ = false;  ///< all names of tensors are known to be UTF-8 and to differ
  bool is_unordered = false;  ///< the order of the tensors says nothing: people want them by layer and name
  ModelFacts facts;
  std::vector<TypeTotal> forms;          ///< how the modules of an MLX model are quantised; `tensors` counts modules
  bool counts_packed_as_stored = false;  ///< `facts.parameters` is too low: config.json does not say how to unpack
  std::vector<ListedFile> files;         ///< GGUF: at least one. Empty if no shard could be opened
  std::size_t named_file = 0;            ///< place in `files` of the one that `path` names

  std::vector<ListedKey> header_fields;  ///< GGUF: version and counts, which gguf-py lists as the keys "GGUF.…"
  std::vector<ListedKey> keys;
  std::vector<std::string> config_keys;  ///< names of the fields of config.json that no key hides, if asked for
  std::vector<ListedTensor> tensors;
  std::optional<ImportanceFacts> importance;  ///< of an importance matrix
  std::vector<ListedModule> modules;          ///< in the order of their weights
  u64 key_count = 0;                          ///< of the model, whatever was selected
  u64 module_count = 0;
  u64 tensor_count = 0;

  bool is_split() const { return files.size() > 1; }
  /// Are there modules that say more than the stored tensors do?
  bool is_packed() const { return !forms.empty(); }
};

/// What to list. Lists of globs: what matches one of them; everything if there is none.
struct ListingRequest {
  std::vector<std::string> key_globs;
  std::vector<std::string> tensor_globs;  ///< a module is listed if its weight matches
  bool config_keys = false;               ///< also the fields of config.json
  bool tensors = true;                    ///< also tensors and modules
  bool zero_points = false;               ///< also whether modules are symmetric, which their zero points say
  bool token_texts = false;               ///< also the texts of tokens that keys name
};

/// Does any of the globs match (or are there none)?
bool selects(const std::vector<std::string>& globs, std::string_view name);

/// An opened model that can be listed. Listings and value sources are views into it.
class ListingSource {
 public:
  ListingSource() = default;
  virtual ~ListingSource() = default;
  ListingSource(const ListingSource&) = delete;
  ListingSource& operator=(const ListingSource&) = delete;

  virtual Listing list(const ListingRequest& request) = 0;
  /// The value of one key, of a field of the header, or of a field of config.json. Nothing if there is none.
  virtual std::optional<ListedValue> find_value(std::string_view key) = 0;
  /// The values of one tensor, by its name in the file or by another that it goes by (ModelView::find); one that cannot
  /// be read has a `problem`. Nothing if there is none.
  virtual std::optional<ValueSource> values_of(const std::string& tensor) = 0;
  /// The values of every listed tensor, in that order; those that cannot be read have a `problem`.
  virtual std::vector<ValueSource> values_of(const Listing& listing) = 0;

  /// Calls `visit` for the name of every key (with `config_keys` also of every field of config.json, so of all that
  /// find_value() knows), and of every tensor.
  using NameVisitor = std::function<void(std::string_view name)>;
  virtual void each_key_name(bool config_keys, const NameVisitor& visit) const = 0;
  virtual void each_tensor_name(const NameVisitor& visit) const = 0;
};

}  // namespace modelutils
