# Nix. Never built by Nix: checked with nix-instantiate --parse alone.
{ lib, stdenv, fetchurl, cmake, ninja, pkg-config, cli11, curl, eigen, fmt, libyaml, openssl, rapidjson, spdlog
, tl-expected, utf8proc, xxHash, zlib }:

stdenv.mkDerivation rec {
  pname = "modelutils";
  version = "@VERSION@";
  src = fetchurl {
    url = "@FILES@/modelutils-@VERSION@.tar.gz";
    sha256 = "@SHA256:modelutils-VERSION.tar.gz@";
  };
  nativeBuildInputs = [ cmake ninja pkg-config ];
  buildInputs = [ cli11 curl eigen fmt libyaml openssl rapidjson spdlog tl-expected utf8proc xxHash zlib ];
  meta = with lib; {
    description = "Command-line tools for the files of language models";
    homepage = "@URL@";
    license = licenses.mit;
    mainProgram = "modelutils";
    platforms = platforms.linux ++ platforms.darwin;
  };
}
