// Was a bundle signed with the key, or under the certificate, that the user trusts? OpenSSL answers; nothing is asked
// of the network.
#pragma once

#include <string>

#include "base/finding_log.h"
#include "verify/signature/bundle.h"

namespace modelutils::signature {

/// `path`: PEM of a public key on P-256, P-384 or P-521. Adds what is wrong: "signature-method" (the bundle was signed
/// otherwise), "signature-key" (of another key), "signature-wrong". Errors: those of reading, "signature-trust" if the
/// file has no such key. True if the signature is good.
Result<bool> check_with_key(const Bundle& bundle, const std::string& path, FindingLog& log);

/// `path`: PEM of the certificates that are trusted (roots, or the intermediate that is meant). The leaf must be valid
/// today and made for signing. Adds what is wrong: "signature-method", "signature-certificate", "signature-wrong".
/// Errors: those of reading, "signature-trust". True if chain and signature are good.
Result<bool> check_with_certificate(const Bundle& bundle, const std::string& path, FindingLog& log);

}  // namespace modelutils::signature
