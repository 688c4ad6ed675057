# Homebrew on macOS and Linux. Never run by brew: checked with ruby -c alone.
class Modelutils < Formula
  desc "Command-line tools for the files of language models"
  homepage "@URL@"
  url "@FILES@/modelutils-@VERSION@.tar.gz"
  sha256 "@SHA256:modelutils-VERSION.tar.gz@"
  license "MIT"

  bottle do
    root_url "@FILES@"
    sha256 cellar: :any_skip_relocation, arm64_sonoma: "@SHA256:modelutils-VERSION.arm64_sonoma.bottle.tar.gz@"
    sha256 cellar: :any_skip_relocation, sonoma:       "@SHA256:modelutils-VERSION.sonoma.bottle.tar.gz@"
    sha256 cellar: :any_skip_relocation, arm64_linux:  "@SHA256:modelutils-VERSION.arm64_linux.bottle.tar.gz@"
    sha256 cellar: :any_skip_relocation, x86_64_linux: "@SHA256:modelutils-VERSION.x86_64_linux.bottle.tar.gz@"
  end

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "eigen" => :build
  depends_on "fmt" => :build
  depends_on "ninja" => :build
  depends_on "rapidjson" => :build
  depends_on "spdlog" => :build
  depends_on "tl-expected" => :build
  depends_on "xxhash" => :build
  depends_on "libyaml"
  depends_on "openssl@3"
  depends_on "utf8proc"

  uses_from_macos "curl"
  uses_from_macos "zlib"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/gguf-dump --version")
  end
end
