// What a model signature is about: the in-toto statement with the predicate of OMS 1.0. It names every file with its
// digest. docs/formats/model-signatures.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/hash.h"

namespace modelutils::signature {

/// A file, or a stretch of one where the model was hashed in shards.
struct Resource {
  std::string name;    ///< relative to the model's root, '/' between folders; checked to lead nowhere else
  std::string digest;  ///< lower-case hexadecimal
  u64 begin = 0;       ///< of a shard
  u64 end = 0;         ///< behind its last byte
};

struct Statement {
  static constexpr std::string_view itself = ".";  ///< how programs that sign have called a model of a single file

  std::vector<Resource> resources;
  HashAlgorithm hash = HashAlgorithm::sha256;
  bool is_sharded = false;
  bool is_single_file = false;  ///< every resource is called `itself`
  u64 shard_bytes = 0;
  bool follows_links = false;         ///< symbolic links were followed when it was signed
  std::vector<std::string> left_out;  ///< relative paths that are not signed, besides those of Git
};

/// Errors: "signature-statement" with the field, "signature-hash" for a hash that is not computed here (BLAKE3).
Result<Statement> parse_statement(std::string_view payload, std::string name);

/// "signature-statement" if it is of the form before OMS 1.0, which was signed in another way, too. Says nothing of any
/// other.
Status refuse_old_statement(std::string_view payload);

/// Is the relative path of a model's file one that signatures leave out: Git's own, or one of `left_out`, or below?
bool is_left_out(const Statement& statement, std::string_view path);

}  // namespace modelutils::signature
