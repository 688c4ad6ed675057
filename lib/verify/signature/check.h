// verify --signature: compares a model, file by file, with its signed statement, an in-toto statement with the OMS 1.0
// predicate (docs/formats/model-signatures.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/hash.h"
#include "io/standard_output.h"
#include "verify/verify_report.h"

namespace modelutils::signature {

// The payload of a model signature: an in-toto statement with the OMS 1.0 predicate, which lists every file with its
// digest. docs/formats/model-signatures.md.

/// A file, or a byte range of one if the model was hashed in shards.
struct Resource {
  std::string name;    ///< relative to the model's root, '/' between folders; checked not to leave the root
  std::string digest;  ///< lower-case hexadecimal
  u64 begin = 0;       ///< first byte of a shard
  u64 end = 0;         ///< offset after its last byte
};

struct Statement {
  static constexpr std::string_view itself = ".";  ///< the name that signing tools give to a single-file model

  std::vector<Resource> resources;
  HashAlgorithm hash = HashAlgorithm::sha256;
  bool is_sharded = false;
  bool is_single_file = false;  ///< every resource has the name `itself`
  u64 shard_bytes = 0;
  bool follows_links = false;         ///< the signer followed symbolic links
  std::vector<std::string> left_out;  ///< relative paths excluded from the signature, besides Git's own
};

/// Parses the payload. Errors: "signature-statement" with the field, "signature-hash" for an unsupported hash (BLAKE3).
Result<Statement> parse_statement(std::string_view payload, std::string name);

/// Returns "signature-statement" if the statement has the form before OMS 1.0, whose signing method differed as well.
/// Accepts every other payload.
Status refuse_old_statement(std::string_view payload);

/// True if signatures exclude this relative path: Git's own files, a path in `left_out`, or anything below one.
bool is_left_out(const Statement& statement, std::string_view path);

struct Request {
  std::string bundle;                           ///< path of the signature file
  std::optional<std::string> key = {};          ///< PEM file of a public key
  std::optional<std::string> certificate = {};  ///< PEM file of the trusted certificates; exactly one of `key` and
                                                ///< `certificate` is set
};

/// Compares the bundle with the model at `path`, a file or a folder with everything below it, and reads every file. The
/// report is about the bundle. Findings: those of parse_bundle(), parse_statement() and keys.h, "signature-file"
/// (differs), "signature-file-missing", "signature-file-unsigned", "signature-link" (a symbolic link although the
/// signer followed none). Errors of reading the bundle or the key make it `unreadable`.
VerifyReport check(const Request& request, const std::string& path, unsigned threads, Progress* progress);

}  // namespace modelutils::signature
