// The bundle of an OpenSSF model signature (OMS 1.0), a JSON file with a DSSE envelope and the verification material,
// and its verification against a trusted key or certificate with OpenSSL. Never uses the network. docs/formats/model-
// signatures.md has the layout and its source.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"

namespace modelutils::signature {

enum class Method : u8 {
  key,          ///< a public key, identified in the bundle by its fingerprint
  certificate,  ///< a chain of X.509 certificates, leaf first
  sigstore      ///< a short-lived Sigstore certificate and its log, which cannot be checked offline
};

struct Bundle {
  Method method = Method::key;
  std::string key_hint;                   ///< hexadecimal SHA-256 of the public key; empty in bundles before 1.1
  std::vector<std::string> certificates;  ///< DER
  std::string payload;                    ///< the signed statement, a JSON text
  std::string signature;                  ///< DER of an ECDSA signature
};

/// Largest accepted bundle: its statement names every file of a model at about 200 bytes each.
inline constexpr u64 max_bundle_bytes = u64{64} << 20;

/// Parses a bundle strictly: members that this form cannot have are refused, so that no byte goes unchecked. Errors:
/// "signature-bundle" with the field, "json-syntax".
Result<Bundle> parse_bundle(std::string_view text, std::string name);

/// Returns the bytes that are signed in place of the payload (DSSE's pre-authentication encoding).
std::string signed_bytes(std::string_view payload);

// Verifies a bundle's signature against a trusted key or certificate with OpenSSL. Never uses the network.

/// `path`: PEM file of a public key on P-256, P-384 or P-521. Returns true if the signature is valid; otherwise logs
/// "signature-method" (the bundle uses another method), "signature-key" (another key signed) or "signature-wrong".
/// Errors: those of reading, "signature-trust" if the file has no such key.
Result<bool> check_with_key(const Bundle& bundle, const std::string& path, FindingLog& log);

/// `path`: PEM file of the trusted certificates (roots, or a specific intermediate). The leaf must be valid today and
/// allowed to sign. Returns true if chain and signature are valid; otherwise logs "signature-method",
/// "signature-certificate" or "signature-wrong". Errors: those of reading, "signature-trust".
Result<bool> check_with_certificate(const Bundle& bundle, const std::string& path, FindingLog& log);

}  // namespace modelutils::signature
