// modelutils.h: reads GGUF and safetensors models, for C99 and any language that can call C.
//
// The same functions work for a GGUF file (with all files of a split set), a safetensors file, a shard index, and a
// directory of safetensors files as written by Hugging Face and MLX. See docs/c-api.md for a tutorial.
//
// Errors. Functions validate their arguments and never crash: NULL, an index or range out of bounds, a buffer that is
// too small, or a broken file results in an error status. Functions that return mu_status return MU_OK (0) or one of
// the errors below. After an error, output arguments are unchanged unless the function's description says otherwise.
// The functions mu_last_error_…() describe the last error of the calling thread.
//
// Ownership. mu_open() creates a mu_model and mu_close() frees it. Every pointer that the library returns (strings,
// dims, tensor data) belongs to the model and is valid until mu_close(), unless noted otherwise; never free it or write
// through it. The texts of mu_last_error_…() are valid until the next call on the same thread that fails. The library
// never keeps pointers to the caller's buffers.
//
// Threads. A model is immutable after mu_open(): any number of threads may use it concurrently, without locks.
// mu_close() must not run concurrently with another call for the same model. The last error is stored per thread.
//
// Strings are NUL-terminated. Text from a file may contain NUL and bytes that are not UTF-8, so its size (without the
// terminator) is returned, too. Only error messages are escaped for a terminal.
//
// Sizes and offsets are in bytes, dims and counts in elements. Dimensions are in ggml's order for every format: the
// contiguous one first.
//
// Structures start with struct_size, which the caller sets to the sizeof() of the version it was compiled with. A later
// version of the library may add members at the end. It fills in only the members that the caller's version has, and
// sets struct_size to the number of bytes it filled in.
#ifndef MODELUTILS_H
#define MODELUTILS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MU_API __attribute__((visibility("default")))
#else
#define MU_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------------------------------------- version

#define MU_VERSION_MAJOR 0
#define MU_VERSION_MINOR 2
#define MU_VERSION_PATCH 0

// Version of the running library, e.g. "0.2.0". It may be newer than this header.
MU_API const char* mu_version(void);
// Returns the version as major × 1,000,000 + minor × 1,000 + patch, for comparisons.
MU_API uint32_t mu_version_number(void);

// ----------------------------------------------------------------------------------------------------------- errors

typedef int32_t mu_status;
enum {
  MU_OK = 0,
  MU_ERROR_ARGUMENT = 1,     // a required pointer is NULL, struct_size is too small, flags are unknown, or weights
                             // cannot be fused
  MU_ERROR_RANGE = 2,        // an index, offset, row or value is out of range
  MU_ERROR_NOT_FOUND = 3,    // there is no tensor or key of that name
  MU_ERROR_TYPE = 4,         // the value or tensor is not of the type that the function reads
  MU_ERROR_BUFFER = 5,       // the caller's buffer is too small
  MU_ERROR_UNSUPPORTED = 6,  // values of this type, or of a big-endian file, cannot be decoded
  MU_ERROR_INPUT = 7,        // a file cannot be opened or read, is not recognised, is broken, or has shrunk
  MU_ERROR_MEMORY = 8,       // out of memory
  MU_ERROR_INTERNAL = 9      // a bug in the library
};

// Returns the name of a status, e.g. "MU_ERROR_RANGE"; "unknown status" for other numbers. Static string.
MU_API const char* mu_status_name(mu_status status);

// The last error of the calling thread. Neither successful calls nor these five functions change it. Before the first
// error, the status is MU_OK and the texts are empty. The texts are never NULL.
MU_API mu_status mu_last_error_status(void);
// Returns a stable code, e.g. "gguf-n-dims"; see docs/findings.md.
MU_API const char* mu_last_error_code(void);
// Returns a one-line description: file, byte offset, place and problem. Escaped for a terminal.
MU_API const char* mu_last_error_message(void);
// Returns the path, as it was opened, of the file that the error concerns; empty if there is none. Not escaped.
MU_API const char* mu_last_error_file(void);
// Returns 1 and sets *offset to the absolute byte offset in that file. Returns 0 and sets *offset to 0 if the error has
// no offset. `offset` may be NULL.
MU_API int32_t mu_last_error_offset(uint64_t* offset);

// ------------------------------------------------------------------------------------------------------------ model

typedef struct mu_model mu_model;

// Opens `path`: a GGUF file (any file of a split set opens the whole set), a safetensors file, an index
// (*.safetensors.index.json), a directory of safetensors files with or without config.json, the name of a model in
// another program's store ("ollama:llama3.2", "hf:ORG/REPO": docs/stores.md), or an address (https://, http://, hf://)
// of such a file or repository, which requires libexec/modelutils/fetch next to the program or the library
// (docs/remote.md). Reads only headers and maps nothing. Of local paths, opens only regular files and never
// standard input ("-" is a file name). Fails with MU_ERROR_INPUT if the container breaks a rule (counts, sizes, types,
// offsets, duplicate names: whenever gguf-dump and st-dump exit with status 3), so the header of an open model is
// valid, and the files contain the data of every tensor. After an error, *model is NULL.
MU_API mu_status mu_open(const char* path, mu_model** model);
// Frees a model and everything that belongs to it. `model` may be NULL.
MU_API void mu_close(mu_model* model);

// Returns "gguf", "safetensors" or "mlx" (a directory with a config.json); NULL if `model` is NULL.
MU_API const char* mu_format(const mu_model* model);
// Returns general.architecture of a GGUF file, or architectures[0] or model_type in config.json; empty if there is
// none, NULL if `model` is NULL.
MU_API const char* mu_architecture(const mu_model* model);
// Returns 1 if numbers are stored in big-endian order (a GGUF for such machines), else 0. 0 if `model` is NULL.
MU_API int32_t mu_is_big_endian(const mu_model* model);
// Returns the logical number of elements of all tensors, not counting scales and biases of packed weights. 0 if `model`
// is NULL.
MU_API uint64_t mu_parameter_count(const mu_model* model);
// Return counts; indices are less than the count. 0 if `model` is NULL.
MU_API uint64_t mu_file_count(const mu_model* model);
MU_API uint64_t mu_tensor_count(const mu_model* model);
MU_API uint64_t mu_metadata_count(const mu_model* model);
// Returns the path of one of the model's files; NULL if `file` is out of range or `model` is NULL.
MU_API const char* mu_file_path(const mu_model* model, uint64_t file);

// ---------------------------------------------------------------------------------------------------- element types

// Types of tensor elements. Below 256 they are ggml's ids, as used in GGUF files; the others exist only in safetensors.
enum {
  MU_TYPE_UNKNOWN = -1,
  MU_TYPE_F32 = 0,
  MU_TYPE_F16 = 1,
  MU_TYPE_Q4_0 = 2,
  MU_TYPE_Q4_1 = 3,
  MU_TYPE_Q5_0 = 6,
  MU_TYPE_Q5_1 = 7,
  MU_TYPE_Q8_0 = 8,
  MU_TYPE_Q8_1 = 9,
  MU_TYPE_Q2_K = 10,
  MU_TYPE_Q3_K = 11,
  MU_TYPE_Q4_K = 12,
  MU_TYPE_Q5_K = 13,
  MU_TYPE_Q6_K = 14,
  MU_TYPE_Q8_K = 15,
  MU_TYPE_IQ2_XXS = 16,
  MU_TYPE_IQ2_XS = 17,
  MU_TYPE_IQ3_XXS = 18,
  MU_TYPE_IQ1_S = 19,
  MU_TYPE_IQ4_NL = 20,
  MU_TYPE_IQ3_S = 21,
  MU_TYPE_IQ2_S = 22,
  MU_TYPE_IQ4_XS = 23,
  MU_TYPE_I8 = 24,
  MU_TYPE_I16 = 25,
  MU_TYPE_I32 = 26,
  MU_TYPE_I64 = 27,
  MU_TYPE_F64 = 28,
  MU_TYPE_IQ1_M = 29,
  MU_TYPE_BF16 = 30,
  MU_TYPE_TQ1_0 = 34,
  MU_TYPE_TQ2_0 = 35,
  MU_TYPE_MXFP4 = 39,
  MU_TYPE_NVFP4 = 40,
  MU_TYPE_Q1_0 = 41,
  MU_TYPE_Q2_0 = 42,
  MU_TYPE_BOOL = 256,
  MU_TYPE_U8 = 257,
  MU_TYPE_U16 = 258,
  MU_TYPE_U32 = 259,
  MU_TYPE_U64 = 260,
  MU_TYPE_F8_E4M3 = 261,
  MU_TYPE_F8_E5M2 = 262,
  MU_TYPE_F8_E8M0 = 263,
  MU_TYPE_F8_E4M3FNUZ = 264,
  MU_TYPE_F8_E5M2FNUZ = 265,
  MU_TYPE_F4 = 266,
  MU_TYPE_F6_E2M3 = 267,
  MU_TYPE_F6_E3M2 = 268,
  MU_TYPE_C64 = 269
};

// Returns "Q4_K", "BF16", …; "unknown" for MU_TYPE_UNKNOWN, NULL for numbers that are not a type. Static string.
MU_API const char* mu_type_name(int32_t type);
// Sets the number of elements and bytes of the type's smallest storage unit (1 element for plain types). Either pointer
// may be NULL. MU_ERROR_NOT_FOUND for numbers that are not a type.
MU_API mu_status mu_type_block(int32_t type, uint32_t* elements, uint32_t* bytes);

// --------------------------------------------------------------------------------------------------------- metadata
//
// GGUF: the keys of the (first) file, in file order. Safetensors: the members of `__metadata__`, all strings; if
// several files have the same key, the first file's value.

// Types of metadata values, numbered as in GGUF.
enum {
  MU_VALUE_U8 = 0,
  MU_VALUE_I8 = 1,
  MU_VALUE_U16 = 2,
  MU_VALUE_I16 = 3,
  MU_VALUE_U32 = 4,
  MU_VALUE_I32 = 5,
  MU_VALUE_F32 = 6,
  MU_VALUE_BOOL = 7,
  MU_VALUE_STRING = 8,
  MU_VALUE_ARRAY = 9,
  MU_VALUE_U64 = 10,
  MU_VALUE_I64 = 11,
  MU_VALUE_F64 = 12
};

typedef struct mu_metadata {
  uint32_t struct_size;
  int32_t type;          // MU_VALUE_…
  int32_t element_type;  // MU_VALUE_… of an array's elements; -1 if the value is not an array
  int32_t reserved;      // 0
  uint64_t count;        // number of elements of an array; 1 for other values
  const char* key;
  uint64_t key_size;  // bytes
  uint64_t offset;    // absolute offset of the entry in its file
} mu_metadata;

// Finds a key (NUL-terminated); if it is duplicated, the first. MU_ERROR_NOT_FOUND if there is none.
MU_API mu_status mu_metadata_find(const mu_model* model, const char* key, uint64_t* index);
// Describes an entry. MU_ERROR_RANGE if `index` is out of range.
MU_API mu_status mu_metadata_info(const mu_model* model, uint64_t index, mu_metadata* info);

// Read a single value. Accepted types: mu_metadata_bool() BOOL (any byte other than 0 is 1); mu_metadata_u64() and
// mu_metadata_i64() integers of every width (MU_ERROR_RANGE if the value does not fit); mu_metadata_f64() F32 and F64;
// mu_metadata_string() STRING. MU_ERROR_TYPE for other types. `size` may be NULL.
MU_API mu_status mu_metadata_bool(const mu_model* model, uint64_t index, int32_t* value);
MU_API mu_status mu_metadata_u64(const mu_model* model, uint64_t index, uint64_t* value);
MU_API mu_status mu_metadata_i64(const mu_model* model, uint64_t index, int64_t* value);
MU_API mu_status mu_metadata_f64(const mu_model* model, uint64_t index, double* value);
MU_API mu_status mu_metadata_string(const mu_model* model, uint64_t index, const char** text, uint64_t* size);

// Combine mu_metadata_find() with one of the functions above.
MU_API mu_status mu_get_bool(const mu_model* model, const char* key, int32_t* value);
MU_API mu_status mu_get_u64(const mu_model* model, const char* key, uint64_t* value);
MU_API mu_status mu_get_i64(const mu_model* model, const char* key, int64_t* value);
MU_API mu_status mu_get_f64(const mu_model* model, const char* key, double* value);
MU_API mu_status mu_get_string(const mu_model* model, const char* key, const char** text, uint64_t* size);

// Read elements [first, first + count) of an array from the file. `out` must have room for `count` numbers; it may be
// NULL if count is 0. f32 and f64 accept all numeric types and bool, rounding to nearest if necessary; u64 and i64
// accept integers of every width and bool (MU_ERROR_RANGE if one does not fit). MU_ERROR_TYPE for other types. After an
// error, `out` may be partly written.
MU_API mu_status mu_array_f32(const mu_model* model, uint64_t index, uint64_t first, uint64_t count, float* out);
MU_API mu_status mu_array_f64(const mu_model* model, uint64_t index, uint64_t first, uint64_t count, double* out);
MU_API mu_status mu_array_u64(const mu_model* model, uint64_t index, uint64_t first, uint64_t count, uint64_t* out);
MU_API mu_status mu_array_i64(const mu_model* model, uint64_t index, uint64_t first, uint64_t count, int64_t* out);
// Returns an element of an array of strings. The first call for an array reads it into memory, where it stays until
// mu_close(), so that later calls are fast. `size` may be NULL.
MU_API mu_status mu_array_string(const mu_model* model, uint64_t index, uint64_t element, const char** text,
                                 uint64_t* size);
// Returns all elements of an array of strings. Element i starts at text[begin[i]]; the byte before text[begin[i + 1]]
// is its NUL. `begin` has *count + 1 entries. `count` may be NULL. Uses memory like mu_array_string().
MU_API mu_status mu_array_strings(const mu_model* model, uint64_t index, const char** text, const uint64_t** begin,
                                  uint64_t* count);
// Reads the next elements of an array of strings, as many as fit into `out`, each followed by a NUL. *count is their
// number, 0 at the end of the array; *size (may be NULL) the number of bytes used. Set *position to 0 for the first
// call; each call advances it. MU_ERROR_BUFFER if not even one element fits; *size is then the capacity that it needs.
// Nothing stays in memory, so this suits a single pass over a large array.
MU_API mu_status mu_array_next_strings(const mu_model* model, uint64_t index, uint64_t* position, char* out,
                                       uint64_t capacity, uint64_t* count, uint64_t* size);

// ---------------------------------------------------------------------------------------------------------- tensors
//
// All tensors of the model, in file order. A weight packed by MLX is listed with its logical shape; its scales and
// biases are separate tensors with is_part set.

#define MU_NONE UINT64_MAX

// How a weight is packed.
enum {
  MU_PACKING_NONE = 0,    // not packed: stored as `type`
  MU_PACKING_AFFINE = 1,  // value = scale × code + bias
  MU_PACKING_MXFP4 = 2,
  MU_PACKING_NVFP4 = 3,
  MU_PACKING_MXFP8 = 4
};

typedef struct mu_tensor {
  uint32_t struct_size;
  int32_t type;           // MU_TYPE_… as stored; U32 for packed weights
  const char* type_name;  // name of `type`
  const char* name;       // as in the file
  uint64_t name_size;     // bytes
  const uint64_t* dims;   // logical dimensions, the contiguous one first
  uint64_t n_dims;        // 0 for a scalar
  uint64_t elements;      // product of the dimensions; columns × rows
  uint64_t columns;       // elements per row: dims[0], or 1 for a scalar
  uint64_t rows;          // 1 for vectors and scalars
  uint64_t bytes;         // stored size
  uint64_t offset;        // absolute offset in its file
  uint64_t file;          // index for mu_file_path()
  int32_t packing;        // MU_PACKING_…
  uint32_t bits;          // bits per code of a packed weight; else 0
  uint32_t group_size;    // elements per scale of a packed weight; else 0
  int32_t is_part;        // 1: scales or biases of a packed weight
  uint64_t scales;        // tensor index of the scales of a packed weight; else MU_NONE
  uint64_t biases;        // tensor index of its biases; MU_NONE if there are none
} mu_tensor;

// Finds a tensor by its name in the file, by that name without a wrapper's "language_model.", by its GGUF name in a
// directory ("blk.0.attn_q.weight"), or by its Hugging Face name in a GGUF file. MU_ERROR_NOT_FOUND.
MU_API mu_status mu_tensor_find(const mu_model* model, const char* name, uint64_t* index);
// Describes a tensor. MU_ERROR_RANGE if `index` is out of range.
MU_API mu_status mu_tensor_info(const mu_model* model, uint64_t index, mu_tensor* info);

// Returns a tensor's bytes in the mapped file, without copying: *data points to *bytes bytes, at any alignment. *data
// is not NULL even for 0 bytes; `bytes` may be NULL. The first call for a file maps the whole file (address space, not
// memory). If the file is truncated later, accessing the missing part raises SIGBUS, which terminates the process
// unless it handles the signal; if the file is overwritten, the bytes change. For files that others may change, use
// mu_tensor_read(), which returns an error instead; replacing a file by renaming is safe. MU_ERROR_INPUT if the file
// has shrunk since mu_open(), cannot be mapped, or does not store the tensor contiguously.
MU_API mu_status mu_tensor_data(const mu_model* model, uint64_t index, const void** data, uint64_t* bytes);
// Copies the stored bytes [offset, offset + size) of a tensor to `out`, which may be NULL if size is 0. Uses pread:
// MU_ERROR_INPUT if the file has shrunk. MU_ERROR_RANGE for bytes outside of the tensor. After an error, `out` may be
// partly written.
MU_API mu_status mu_tensor_read(const mu_model* model, uint64_t index, uint64_t offset, void* out, uint64_t size);
// Decodes rows [first_row, first_row + rows) to float32, each with `columns` numbers, bit for bit like ggml and MLX.
// Applies the scales and biases of packed weights. `capacity` is the size of `out` in floats: MU_ERROR_BUFFER if it is
// less than rows × columns. Uses pread; its memory use does not depend on the tensor's size. MU_ERROR_RANGE,
// MU_ERROR_UNSUPPORTED (C64, unknown types, big-endian files), MU_ERROR_INPUT. After an error, `out` may be partly
// written.
MU_API mu_status mu_tensor_dequantize(const mu_model* model, uint64_t index, uint64_t first_row, uint64_t rows,
                                      float* out, uint64_t capacity);

// ------------------------------------------------------------------------------------------------ packed MLX weights
//
// Copies a packed weight into one contiguous buffer, or several fused row-wise (such as q, k and v). The buffer has all
// codes, then all scales, then all biases, without gaps. Each part has the order of the given weights, as stored in the
// file.

enum {
  MU_PACK_BF16_TO_F16 = 1  // converts BF16 scales and biases to F16, rounding to nearest even
};

typedef struct mu_packed {
  uint32_t struct_size;
  int32_t packing;         // MU_PACKING_…
  uint32_t bits;           // bits per code
  uint32_t group_size;     // elements per scale
  int32_t scale_type;      // MU_TYPE_… of the scales and biases in the buffer
  int32_t reserved;        // 0
  uint64_t rows;           // of all weights together
  uint64_t columns;        // logical elements per row
  uint64_t total_bytes;    // required size of the buffer
  uint64_t weight_bytes;   // size of the codes, which start at offset 0
  uint64_t scales_offset;  // offset in the buffer
  uint64_t scales_bytes;
  uint64_t biases_offset;
  uint64_t biases_bytes;  // 0 in the FP modes
} mu_packed;

// Computes the buffer's layout without reading data. `weights` has the indices of `count` (at least 1) packed weights;
// `flags` is 0 or MU_PACK_…. MU_ERROR_TYPE if one is not packed; MU_ERROR_ARGUMENT if they differ in mode, bits, group
// size, columns or scale type; MU_ERROR_RANGE for an index out of range.
MU_API mu_status mu_pack_layout(const mu_model* model, const uint64_t* weights, uint64_t count, uint32_t flags,
                                mu_packed* layout);
// Packs the weights into `out`. MU_ERROR_BUFFER if `size` is less than total_bytes; bytes beyond that are not written.
// Uses pread, directly into the buffer. *inexact (may be NULL) is the number of scales and biases that F16 cannot hold
// exactly. Fails like mu_pack_layout(), or with MU_ERROR_INPUT. After an error, `out` may be partly written.
MU_API mu_status mu_pack(const mu_model* model, const uint64_t* weights, uint64_t count, uint32_t flags, void* out,
                         uint64_t size, uint64_t* inexact);

// ---------------------------------------------------------------------------------------------------------- tokens

enum {
  MU_TOKENS_ADD_SPECIAL = 1,   // add the tokens that the model puts at the beginning and end of a text
  MU_TOKENS_PARSE_SPECIAL = 2  // recognise control tokens in the text
};

// Tokenises `size` bytes of `text` (any bytes; NULL is allowed if size is 0) like llama.cpp, by the model's keys or,
// for a directory, by those that mlx2gguf would write. *count is the number of tokens, even if they do not fit. `ids`
// receives them if `capacity`, its size in ids, is sufficient; otherwise MU_ERROR_BUFFER. To query the count, pass
// capacity 0 and NULL for `ids`. MU_ERROR_ARGUMENT (flags), MU_ERROR_INPUT (no tokenizer, or an unknown kind). The
// first call builds the tokenizer, which stays in memory until mu_close().
MU_API mu_status mu_tokenize(const mu_model* model, const char* text, uint64_t size, uint32_t flags, uint32_t* ids,
                             uint64_t capacity, uint64_t* count);

// ---------------------------------------------------------------------------------------------------------- reports
//
// The --json output of the tools, as one text. docs/json.md describes every member.

// A NUL-terminated text that the caller owns and frees with mu_text_free().
typedef struct mu_text mu_text;
// Returns the bytes, which are valid until mu_text_free(); NULL if `text` is NULL. *size (may be NULL) excludes the
// NUL.
MU_API const char* mu_text_data(const mu_text* text, uint64_t* size);
// Frees a text. `text` may be NULL.
MU_API void mu_text_free(mu_text* text);

// Returns the text of `count` tokens. MU_ERROR_RANGE if an id is not in the vocabulary; otherwise fails like
// mu_tokenize(). After an error, this and the following functions set the text to NULL.
MU_API mu_status mu_detokenize(const mu_model* model, const uint32_t* ids, uint64_t count, mu_text** text);

// Renders the model's chat template for a conversation, byte for byte like transformers. `conversation` is JSON of
// `size` bytes: a list of messages, or an object with `messages`, `tools`, `add_generation_prompt` (default: true) and
// further variables for the template. `name` selects one of several templates; NULL or "" selects the unnamed one. Time
// and memory are limited (docs/templates.md). MU_ERROR_NOT_FOUND if the model has no such template; MU_ERROR_INPUT if
// the JSON is invalid, or if the template does not parse, refuses the conversation ("template-raised") or exceeds the
// limits ("template-limit").
MU_API mu_status mu_render(const mu_model* model, const char* conversation, uint64_t size, const char* name,
                           mu_text** prompt);

// Describes a model and its layers: {"schema":"card/1",…}. Fails only if reading fails.
MU_API mu_status mu_card(const mu_model* model, mu_text** json);

enum {
  MU_VERIFY_DATA = 1,          // read every tensor, to find NaN and infinities
  MU_VERIFY_IGNORE_INDEX = 2,  // open directories as if they had no shard index
  MU_VERIFY_AUTHENTIC = 4      // compare files with the checksums in their download cache
};

// Verifies a path or a name like the tool `verify`: "verify/1", one object per line, for each model in or below a
// directory. Problems of a model are findings, not errors. MU_ERROR_INPUT if the path cannot be opened or has no known
// format; MU_ERROR_ARGUMENT for unknown flags.
MU_API mu_status mu_verify(const char* path, uint32_t flags, mu_text** json);

enum {
  MU_DIFF_DATA = 1,   // measure the difference of the values
  MU_DIFF_LAYOUT = 2  // also compare the locations in the files
};

// Compares two paths or names like model-diff: "model-diff/1". MU_ERROR_INPUT, MU_ERROR_ARGUMENT.
MU_API mu_status mu_diff(const char* a, const char* b, uint32_t flags, mu_text** json);

enum {
  MU_FIT_UNIFIED_CACHE = 1,  // all sequences share one cache
  MU_FIT_NO_FLASH_ATTENTION = 2,
  MU_FIT_FULL_WINDOWS = 4  // layers with a sliding window cache the whole context
};

// The available memory and the settings of a run. Sizes are in bytes. 0 means "not stated", except where noted.
typedef struct mu_fit_request {
  uint32_t struct_size;
  uint32_t flags;            // MU_FIT_…
  const uint64_t* contexts;  // context lengths in tokens, all greater than 0
  uint64_t context_count;    // 0: only the context length of the training
  uint64_t gpu;              // GPU memory
  uint64_t ram;              // host memory; if it is stated without `gpu`, there is no GPU
  uint64_t memory;           // memory shared by CPU and GPU; excludes the other two
  uint64_t margin;           // memory to keep free, may be 0; MU_NONE: 1 GiB
  uint64_t sequences;        // sequences processed at once; 0: 1
  uint64_t batch;            // batch size in tokens; 0: 2048
  uint64_t ubatch;           // tokens computed at once; 0: 512
  int32_t k_type;            // MU_TYPE_… of the cached keys (0 is F32); MU_TYPE_UNKNOWN: F16
  int32_t v_type;            // MU_TYPE_… of the cached values, likewise
} mu_fit_request;

// Reports whether a model fits into memory: "fit/1". `request` may be NULL, which states nothing. For a directory,
// reports on the GGUF that mlx2gguf would write. MU_ERROR_ARGUMENT if the settings contradict each other,
// MU_ERROR_INPUT.
MU_API mu_status mu_fit(const mu_model* model, const mu_fit_request* request, mu_text** json);

enum {
  MU_PAGE_VOCABULARY = 1,  // include every token, about 50 bytes each
  MU_PAGE_STATISTICS = 2,  // read every tensor: histograms, and the layers that are hardest to quantise
  MU_PAGE_MEMORY = 4       // memory by context length, for `request`
};

// Writes the page of gguf-dump and st-dump --html: one self-contained UTF-8 HTML file that makes no network requests
// (docs/html.md). `request` may be NULL as in mu_fit() and is only used with MU_PAGE_MEMORY; without contexts in it,
// the page shows several, up to the context length of the training. MU_ERROR_ARGUMENT (flags, request), MU_ERROR_INPUT
// (also for the parts that `flags` selects).
MU_API mu_status mu_page(const mu_model* model, uint32_t flags, const mu_fit_request* request, mu_text** html);

#ifdef __cplusplus
}
#endif

#endif
