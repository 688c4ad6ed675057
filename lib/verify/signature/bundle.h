// The bundle of an OpenSSF model signature (OMS 1.0): a JSON file with a DSSE envelope and the verification material.
// docs/formats/model-signatures.md has the layout and its source.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

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

}  // namespace modelutils::signature
