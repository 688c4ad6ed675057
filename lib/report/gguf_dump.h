// A GGUF model on standard output, in every form that gguf-dump has. The renderers read no tensor data; arrays are read
// from the file while they are written, never kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gguf/split_set.h"
#include "io/text_output.h"

namespace modelutils {

enum class GgufDumpForm : u8 {
  text,
  json,
  jsonl,
  csv,
  markdown,
  layers,
  value,
  values,
  stats,
  key_names,
  tensor_names,
  data_offset,
  alignment
};

struct GgufDumpOptions {
  GgufDumpForm form = GgufDumpForm::text;
  std::string name;                       ///< of the key (value) or the tensor (values)
  std::optional<u64> count;               ///< values: at most so many
  bool json = false;                      ///< values and stats: as JSON
  bool tensors = true;                    ///< list tensors
  bool arrays = false;                    ///< JSON: array values in full
  std::vector<std::string> key_globs;     ///< only keys that match one of them; empty: all
  std::vector<std::string> tensor_globs;  ///< the same for tensors
  std::size_t width = 0;                  ///< columns of the terminal; 0: not limited
  bool color = false;
  bool for_terminal = false;  ///< what is otherwise raw must be escaped
  bool several = false;       ///< more than one model is printed: say which is which
};

/// Prints one model in the form that is asked for. `first`: nothing was printed before. Errors: those of reading,
/// "key-not-found", "tensor-not-found", "tensor-no-decoder".
Status dump_gguf(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options, bool first,
                 TextOutput& out);

/// For people: identity and sizes, keys, tensors. With key_globs or tensor_globs only the tables they select from.
Status dump_gguf_text(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options,
                      TextOutput& out);

/// One line: gguf-py's object and more (docs/json.md, "gguf-dump/1").
Status dump_gguf_json(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options,
                      TextOutput& out);

/// As gguf-py's --markdown: key table, tensor tables by block.
Status dump_gguf_markdown(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options,
                          TextOutput& out);

/// The tensor table as CSV; the header line only if `header`. Columns: index,name,type,shape,parameters,bytes,offset,
/// data_offset and, with several files, file.
Status dump_gguf_csv(const gguf::SplitSet& set, const GgufDumpOptions& options, bool header, TextOutput& out);
/// The same as JSON Lines.
Status dump_gguf_jsonl(const gguf::SplitSet& set, const GgufDumpOptions& options, TextOutput& out);

/// The network as a grid: a row for each layer, a column for each role, the type in each cell.
Status dump_gguf_layers(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options,
                        TextOutput& out);

/// The value of one key: as it is in the file (escaped if for_terminal), arrays one element a line; always ends with a
/// line feed. Error "key-not-found".
Status dump_gguf_value(const gguf::SplitSet& set, const std::string& path, const std::string& key,
                       const GgufDumpOptions& options, TextOutput& out);

}  // namespace modelutils
