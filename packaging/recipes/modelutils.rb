# Homebrew on Linux. Never run by brew: checked with ruby -c alone.
class Modelutils < Formula
  desc "Command-line tools for the files of language models"
  homepage "@URL@"
  url "@SOURCE@"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "eigen" => :build
  depends_on "fmt" => :build
  depends_on "ninja" => :build
  depends_on "rapidjson" => :build
  depends_on "spdlog" => :build
  depends_on "tl-expected" => :build
  depends_on "xxhash" => :build
  depends_on "curl"
  depends_on "libyaml"
  depends_on :linux
  depends_on "openssl@3"
  depends_on "utf8proc"
  depends_on "zlib"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/gguf-dump --version")
  end
end
