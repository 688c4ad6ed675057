// verify --signature: is this model, file by file, the one that was signed?
#pragma once

#include <optional>
#include <string>

#include "io/progress.h"
#include "verify/verify_report.h"

namespace modelutils::signature {

struct Request {
  std::string bundle;                           ///< the signature's file
  std::optional<std::string> key = {};          ///< PEM of a public key
  std::optional<std::string> certificate = {};  ///< PEM of what is trusted; one of the two
};

/// Compares the bundle with the model at `path`, a folder (with all below it) or a file, and reads every file of it.
/// The report is about the bundle. Findings: those of parse_bundle(), parse_statement() and keys.h, "signature-file"
/// (differs), "signature-file-missing", "signature-file-unsigned", "signature-link" (a symbolic link where the signer
/// followed none). Errors of reading bundle or key make it `unreadable`.
VerifyReport check(const Request& request, const std::string& path, unsigned threads, Progress* progress);

}  // namespace modelutils::signature
