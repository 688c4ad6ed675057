// The models of all stores, as `modelutils ls` shows them, and files with equal contents among them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/standard_output.h"
#include "store/described.h"
#include "store/store_walk.h"

namespace modelutils {

/// One model. Texts may be raw text of files.
struct StoredModel {
  std::string name;             ///< usable as an operand
  std::string_view store = {};  ///< StoreInfo::name; empty for a model in a folder
  DescribedModel described;     ///< the line's path is the model's
  std::string problem = {};     ///< why it is not complete; empty for a complete model
  i64 accessed = 0;             ///< last read, in nanoseconds since 1970, before the list read it
  i64 modified = 0;             ///< last written

  /// When it was last used, as far as the file system knows.
  i64 used() const { return accessed > modified ? accessed : modified; }
};

enum class StoreSort : u8 { name, size, parameters, used };

struct StoreRequest {
  std::vector<std::string> places;  ///< names of stores, and folders or files; empty: all stores
  StoreSort sort = StoreSort::name;
  std::optional<u64> unused_days;  ///< only models that nothing has used for so many days
  i64 now = 0;                     ///< in nanoseconds since 1970
  unsigned threads = 1;
};

struct StoreList {
  std::vector<StoredModel> models;
  std::vector<StoreNote> notes;  ///< what was skipped
  std::vector<Error> errors;     ///< about the places of the request
};

/// Lists the models of the requested places. Reads headers only, on several threads. A model that disappears meanwhile
/// is left out.
StoreList list_stores(const StoreRequest& request);

// Files with equal contents.

/// One file under all of its names: hard links count once.
struct DuplicateFile {
  std::vector<std::string> paths;   ///< sorted; links to it that models name are paths, too
  std::vector<std::string> models;  ///< names of the models that have it, sorted
};

enum class Likeness : u8 {
  sha256,  ///< the stores know the same checksum
  xxh3,    ///< all bytes were read and have the same XXH3-128
  header,  ///< sizes, first and last bytes are equal; the rest was not read
};
std::string_view likeness_name(Likeness likeness);

struct DuplicateGroup {
  Likeness likeness = Likeness::header;
  std::string digest;                ///< lower-case hexadecimal digits; empty for Likeness::header
  u64 bytes = 0;                     ///< of each file
  std::vector<DuplicateFile> files;  ///< two or more

  /// Bytes that would be free if the files shared their blocks.
  u64 saves() const { return bytes * (files.size() - 1); }
};

struct Duplicates {
  std::vector<DuplicateGroup> groups;  ///< those that save most first
  std::vector<StoreNote> notes;        ///< files that could not be read
  u64 saves() const;
};

/// Finds files with equal contents among the listed models. With `hash`, reads all bytes of files whose equality the
/// stores' checksums do not decide. Files that share blocks already (reflinks) cannot be told from copies.
Duplicates find_duplicates(const StoreList& list, bool hash, unsigned threads, Progress* progress);

}  // namespace modelutils
