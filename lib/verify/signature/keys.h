// Verifies a bundle's signature against a trusted key or certificate with OpenSSL. Never uses the network.
#pragma once

#include <string>

#include "base/finding_log.h"
#include "verify/signature/bundle.h"

namespace modelutils::signature {

/// `path`: PEM file of a public key on P-256, P-384 or P-521. Returns true if the signature is valid; otherwise logs
/// "signature-method" (the bundle uses another method), "signature-key" (another key signed) or "signature-wrong".
/// Errors: those of reading, "signature-trust" if the file has no such key.
Result<bool> check_with_key(const Bundle& bundle, const std::string& path, FindingLog& log);

/// `path`: PEM file of the trusted certificates (roots, or a specific intermediate). The leaf must be valid today and
/// allowed to sign. Returns true if chain and signature are valid; otherwise logs "signature-method",
/// "signature-certificate" or "signature-wrong". Errors: those of reading, "signature-trust".
Result<bool> check_with_certificate(const Bundle& bundle, const std::string& path, FindingLog& log);

}  // namespace modelutils::signature
