#include "io/file_kind.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/byte_reader.h"

namespace modelutils {

namespace {

using namespace std::string_view_literals;

struct Magic {
  FileKind kind;
  std::string_view bytes;
  std::size_t offset = 0;
};

constexpr Magic magics[] = {
    {FileKind::gguf, "GGUF"sv},
    {FileKind::ggml, "lmgg"sv},  // 'ggml' as a little-endian u32
    {FileKind::gguf_legacy, "tjgg"sv},
    {FileKind::gguf_legacy, "fmgg"sv},
    {FileKind::gguf_legacy, "algg"sv},
    {FileKind::ggml, "ggml"sv},
    {FileKind::gguf_legacy, "ggjt"sv},
    {FileKind::gguf_legacy, "ggmf"sv},
    {FileKind::gguf_legacy, "ggla"sv},
    {FileKind::bumpwgt, "BUMPWGT"sv},
    {FileKind::git_lfs, "version https://git-lfs.github.com/"sv},
    {FileKind::zip, "PK\x03\x04"sv},
    {FileKind::zip, "PK\x05\x06"sv},
    {FileKind::pickle, "\x80\x02"sv},
    {FileKind::pickle, "\x80\x03"sv},
    {FileKind::pickle, "\x80\x04\x95"sv},
    {FileKind::pickle, "\x80\x05\x95"sv},
    {FileKind::numpy, "\x93NUMPY"sv},
    {FileKind::hdf5, "\x89HDF\r\n\x1a\n"sv},
    {FileKind::gzip, "\x1f\x8b\x08"sv},
    {FileKind::xz, "\xfd\x37zXZ\0"sv},
    {FileKind::zstd, "\x28\xb5\x2f\xfd"sv},
    {FileKind::bzip2, "BZh"sv},
    {FileKind::seven_zip, "7z\xbc\xaf\x27\x1c"sv},
    {FileKind::tar, "ustar"sv, 257},
    {FileKind::pdf, "%PDF-"sv},
    {FileKind::elf,
     "\x7f"
     "ELF"sv},
};

struct Text {
  FileKind kind;
  std::string_view text;
};

constexpr Text texts[] = {
    {FileKind::unknown, "a file of unknown type"},
    {FileKind::empty, "an empty file"},
    {FileKind::gguf, "a GGUF file"},
    {FileKind::gguf_legacy,
     "a GGJT file, the predecessor of GGUF: download a GGUF, or convert it with an old version of llama.cpp"},
    {FileKind::ggml,
     "a GGML file: either a whisper.cpp model, which only whisper.cpp reads, or a language model older than GGUF: "
     "download it as GGUF"},
    {FileKind::whisper, "a whisper.cpp model (GGML), which only whisper.cpp reads"},
    {FileKind::bumpwgt, "a BUMPWGT weights file"},
    {FileKind::html, "an HTML page: the download returned a login or error page; download it again"},
    {FileKind::xml, "an XML document: the download returned an error message; download it again"},
    {FileKind::error_text, "an error message of a server: the download failed; download it again"},
    {FileKind::git_lfs, "a Git LFS pointer: the file itself was not downloaded; run \"git lfs pull\""},
    {FileKind::zip, "a ZIP archive, possibly a PyTorch checkpoint"},
    {FileKind::npz, "a NumPy archive (.npz), which may hold Python objects: read it with NumPy"},
    {FileKind::pickle, "a Python pickle, possibly a PyTorch checkpoint"},
    {FileKind::numpy, "a NumPy array file (.npy): read it with NumPy"},
    {FileKind::hdf5, "an HDF5 file"},
    {FileKind::gzip, "a gzip-compressed file: decompress it first"},
    {FileKind::xz, "an xz-compressed file: decompress it first"},
    {FileKind::zstd, "a zstd-compressed file: decompress it first"},
    {FileKind::bzip2, "a bzip2-compressed file: decompress it first"},
    {FileKind::seven_zip, "a 7z archive: unpack it first"},
    {FileKind::tar, "a tar archive: unpack it first"},
    {FileKind::pdf, "a PDF document"},
    {FileKind::elf, "an executable program"},
    {FileKind::zeros,
     "a file that starts with nothing but zero bytes, such as an unfinished download; download it again"},
};

bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() < lower.size()) return false;
  return std::equal(lower.begin(), lower.end(), text.begin(),
                    [](char want, char have) { return want == (have >= 'A' && have <= 'Z' ? have + 32 : have); });
}

FileKind markup_kind(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  for (const std::string_view tag : {"<!doctype html"sv, "<html"sv, "<head"sv, "<body"sv, "<script"sv}) {
    if (starts_with_ignoring_case(head, tag)) return FileKind::html;
  }
  return head.starts_with("<?xml") ? FileKind::xml : FileKind::unknown;
}

// True for typical answers of hubs and web servers about a missing or forbidden file.
bool is_error_text(std::string_view head) {
  constexpr std::string_view beginnings[] = {"entry not found",
                                             "not found",
                                             "404",
                                             "403",
                                             "401",
                                             "repository not found",
                                             "invalid username or password",
                                             "access to model",
                                             "access denied",
                                             "unauthorized",
                                             "forbidden",
                                             "internal server error",
                                             "{\"error\":",
                                             "{\"message\":"};
  return std::any_of(std::begin(beginnings), std::end(beginnings),
                     [&](std::string_view text) { return starts_with_ignoring_case(head, text); });
}

// True if the first record of the ZIP archive is a NumPy array. `head` begins with its local header.
bool is_npz(std::string_view head) {
  constexpr std::size_t local_bytes = 30, name_size_at = 26;
  if (head.size() < local_bytes) return false;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(head[at]); };
  const std::size_t size = byte(name_size_at) | static_cast<std::size_t>(byte(name_size_at + 1)) << 8U;
  return head.substr(local_bytes, size).ends_with(".npy");
}

// True for the header that whisper.cpp writes: after the magic, int32 n_vocab, n_audio_ctx (1500 in all models) and
// five numbers before n_text_ctx (448) and four after it.
bool is_whisper(std::string_view head) {
  constexpr std::size_t audio_context_at = 8, text_context_at = 24, numbers_end = 48;
  if (head.size() < numbers_end) return false;
  return load<u32>(head.data() + audio_context_at) == 1500 && load<u32>(head.data() + text_context_at) == 448;
}

}  // namespace

bool begins_as_pickle(std::string_view head) {
  constexpr std::string_view operations =
      "().012BCFGIJKLMNPQRSTUVX]abcdeghijlopqrstu}\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e"
      "\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98"sv;
  return head.size() >= 3 && head[0] == '\x80' && head[1] >= 1 && head[1] <= 5 &&
         operations.find(head[2]) != operations.npos;
}

bool begins_as_safetensors(std::string_view head) {
  constexpr std::size_t length_bytes = 8;
  constexpr u64 most = 100'000'000;  // the limit of the safetensors library
  if (head.size() <= length_bytes) return false;
  const u64 length = load<u64>(head.data());
  const std::size_t first = head.find_first_not_of(" \t\r\n", length_bytes);
  return length >= 2 && length <= most && first != head.npos && head[first] == '{';
}

FileKind file_kind(std::string_view head) {
  if (head.empty()) return FileKind::empty;
  for (const Magic& magic : magics) {
    if (head.size() < magic.offset || !head.substr(magic.offset).starts_with(magic.bytes)) continue;
    if (magic.kind == FileKind::pickle && (!begins_as_pickle(head) || begins_as_safetensors(head))) continue;
    if (magic.kind == FileKind::ggml && is_whisper(head)) return FileKind::whisper;
    return magic.kind == FileKind::zip && is_npz(head) ? FileKind::npz : magic.kind;
  }
  if (const FileKind kind = markup_kind(head); kind != FileKind::unknown) return kind;
  if (is_error_text(head)) return FileKind::error_text;
  // Fewer zero bytes may be a broken file of a known format, e.g. a header length of 0.
  if (head.size() >= 64 && head.find_first_not_of('\0') == head.npos) return FileKind::zeros;
  return FileKind::unknown;
}

FileKind file_kind(const ByteSource& source) {
  std::byte first{};
  const auto got = source.read_some(0, {&first, 1});
  if (!got) return FileKind::unknown;
  return file_kind(read_head(source));
}

std::string_view file_kind_text(FileKind kind) {
  for (const Text& row : texts) {
    if (row.kind == kind) return row.text;
  }
  return {};
}

std::string read_head(const ByteSource& source, std::size_t most) {
  std::string head(most, '\0');
  std::size_t size = 0;
  while (size < most) {
    const auto got = source.read_some(size, std::as_writable_bytes(std::span(head).subspan(size)));
    if (!got || *got == 0) break;
    size += *got;
  }
  head.resize(size);
  return head;
}

}  // namespace modelutils
