// verify --signature: compares a model, file by file, with its signed statement.
#pragma once

#include <optional>
#include <string>

#include "io/progress.h"
#include "verify/verify_report.h"

namespace modelutils::signature {

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
