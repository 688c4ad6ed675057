// modelutils.h: read GGUF and safetensors models from C99 and from whatever can call C.
//
// One set of calls for a GGUF file (with all files of a split set), a safetensors file, a shard index, and a directory
// of safetensors files as Hugging Face and MLX write them. A tutorial stands in docs/c-api.md.
//
// Errors. Every function is total: NULL, an index or range outside, a buffer that is too small and a broken file give a
// status, never a crash. A function that returns mu_status gives MU_OK (0) or one of the errors below; what its output
// arguments hold after an error is said with each function, and is "unchanged" where nothing is said. Details of the
// last error of the calling thread: mu_last_error_…().
//
// Ownership. A mu_model is made by mu_open() and freed by mu_close(). Every pointer that the library gives (strings,
// dims, tensor data) belongs to the model and is valid until mu_close(); never free or write one. The texts of
// mu_last_error_…() are valid until the next call on the same thread that fails. Buffers that the caller passes are
// never kept.
//
// Threads. A model does not change after mu_open(): any number of threads may use one model at once, without locks.
// mu_close() must not run at the same time as another call with that model. The last error is kept for each thread.
//
// Strings are NUL-terminated. Text from a file may hold NUL and bytes that are not UTF-8, therefore its size (without
// the terminator) is given too; only error messages are escaped for a terminal.
//
// Sizes and offsets are in bytes, dims and counts in elements. Dimensions stand in ggml's order for every format: the
// contiguous one first.
//
// Structures begin with struct_size, which the caller sets to the sizeof() it was compiled with. A later version of the
// library may know more members; it fills in only those that the caller has, and sets struct_size to what it filled.
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

// Version of the library that is running, e.g. "0.2.0"; may be newer than that of this header.
MU_API const char* mu_version(void);
// The same as major × 1,000,000 + minor × 1,000 + patch, for comparisons.
MU_API uint32_t mu_version_number(void);

// ----------------------------------------------------------------------------------------------------------- errors

typedef int32_t mu_status;
enum {
  MU_OK = 0,
  MU_ERROR_ARGUMENT = 1,     // NULL where something is needed, a struct_size that is too small, unknown flags,
                             // modules that cannot be fused
  MU_ERROR_RANGE = 2,        // an index, offset, row or value outside of what there is
  MU_ERROR_NOT_FOUND = 3,    // no tensor or key of that name
  MU_ERROR_TYPE = 4,         // the value or tensor is of another kind than the function reads
  MU_ERROR_BUFFER = 5,       // the caller's buffer is too small
  MU_ERROR_UNSUPPORTED = 6,  // the values of this type, or of a big-endian file, cannot be decoded
  MU_ERROR_INPUT = 7,        // a file cannot be opened or read, is not recognised, is broken, or became shorter
  MU_ERROR_MEMORY = 8,       // out of memory
  MU_ERROR_INTERNAL = 9      // a bug of the library
};

// Name of a status, e.g. "MU_ERROR_RANGE"; "unknown status" for other numbers. Static.
MU_API const char* mu_status_name(mu_status status);

// The last error of the calling thread. A call that succeeds does not change it, nor does any of these five functions.
// Before the first error: MU_OK and empty texts. Never NULL.
MU_API mu_status mu_last_error_status(void);
// Stable code, e.g. "gguf-n-dims"; docs/findings.md describes each.
MU_API const char* mu_last_error_code(void);
// One line for a person: file, byte offset, place and what is wrong; escaped for a terminal.
MU_API const char* mu_last_error_message(void);
// Path of the file that the error is about, as it was opened; empty if it is about no file. Raw.
MU_API const char* mu_last_error_file(void);
// 1 and the absolute byte offset in that file, or 0 (and *offset is 0) if the error has none. `offset` may be NULL.
MU_API int32_t mu_last_error_offset(uint64_t* offset);

// ------------------------------------------------------------------------------------------------------------ model

typedef struct mu_model mu_model;

// Opens `path`: a GGUF file (any file of a split set opens all), a safetensors file, an index
// (*.safetensors.index.json), a directory of safetensors files with or without config.json, or an address (https://,
// http://, hf://) of such a file or repository, where libexec/modelutils/fetch is next to the program or the library
// (docs/remote.md). Reads headers only; maps nothing. On this machine only regular files are opened, never standard
// input. A file whose container breaks a rule (counts, sizes, types, offsets, names that stand twice: where gguf-dump
// and st-dump exit 3) is refused with MU_ERROR_INPUT: what is open is sound, and every tensor's bytes are there. After
// an error *model is NULL.
MU_API mu_status mu_open(const char* path, mu_model** model);
// Frees a model and everything that came from it. NULL is allowed.
MU_API void mu_close(mu_model* model);

// "gguf", "safetensors" or "mlx" (a directory with a config.json); NULL if `model` is NULL.
MU_API const char* mu_format(const mu_model* model);
// general.architecture of a GGUF file, else architectures[0] or model_type of config.json; empty if there is none. NULL
// if `model` is NULL.
MU_API const char* mu_architecture(const mu_model* model);
// 1 if the stored numbers are big-endian (a GGUF made for such machines), else 0; 0 if `model` is NULL.
MU_API int32_t mu_is_big_endian(const mu_model* model);
// Logical elements of all tensors; scales and biases of packed weights do not count. 0 if `model` is NULL.
MU_API uint64_t mu_parameter_count(const mu_model* model);
// Counts; 0 if `model` is NULL. Indexes run from 0 to the count (exclusive).
MU_API uint64_t mu_file_count(const mu_model* model);
MU_API uint64_t mu_tensor_count(const mu_model* model);
MU_API uint64_t mu_metadata_count(const mu_model* model);
// Path of a file of the model (of a set one for each file); NULL if `file` is out of range or `model` is NULL.
MU_API const char* mu_file_path(const mu_model* model, uint64_t file);

// ---------------------------------------------------------------------------------------------------- element types

// Types of tensor elements. Below 256 they are ggml's ids as they stand in GGUF files; the others only safetensors has.
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

// "Q4_K", "BF16", …; "unknown" for MU_TYPE_UNKNOWN, NULL for numbers that are no type. Static.
MU_API const char* mu_type_name(int32_t type);
// The smallest unit of storage: `elements` elements in `bytes` bytes (1 element for plain types). Either may be NULL.
// MU_ERROR_NOT_FOUND for numbers that are no type.
MU_API mu_status mu_type_block(int32_t type, uint32_t* elements, uint32_t* bytes);

// --------------------------------------------------------------------------------------------------------- metadata
//
// GGUF: the keys of the (first) file, in their order. Safetensors: the members of `__metadata__`, all strings; of a key
// that stands in several files the first file's.

// Types of metadata values: GGUF's ids.
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
  int32_t element_type;  // MU_VALUE_… of an array's elements; -1 if the value is no array
  int32_t reserved;      // 0
  uint64_t count;        // elements of an array; 1 for other values
  const char* key;
  uint64_t key_size;  // bytes
  uint64_t offset;    // absolute offset of the entry in its file
} mu_metadata;

// The index of a key (NUL-terminated; the first of equal keys). MU_ERROR_NOT_FOUND.
MU_API mu_status mu_metadata_find(const mu_model* model, const char* key, uint64_t* index);
// Key and type of an entry. MU_ERROR_RANGE.
MU_API mu_status mu_metadata_info(const mu_model* model, uint64_t index, mu_metadata* info);

// One value. The types they read: bool BOOL (any byte but 0 is 1); u64 and i64 integers of every width
// (MU_ERROR_RANGE if the value does not fit); f64 F32 and F64; string STRING. Others: MU_ERROR_TYPE. `size` may be
// NULL.
MU_API mu_status mu_metadata_bool(const mu_model* model, uint64_t index, int32_t* value);
MU_API mu_status mu_metadata_u64(const mu_model* model, uint64_t index, uint64_t* value);
MU_API mu_status mu_metadata_i64(const mu_model* model, uint64_t index, int64_t* value);
MU_API mu_status mu_metadata_f64(const mu_model* model, uint64_t index, double* value);
MU_API mu_status mu_metadata_string(const mu_model* model, uint64_t index, const char** text, uint64_t* size);

// The same by key: mu_metadata_find() and the getter in one call.
MU_API mu_status mu_get_bool(const mu_model* model, const char* key, int32_t* value);
MU_API mu_status mu_get_u64(const mu_model* model, const char* key, uint64_t* value);
MU_API mu_status mu_get_i64(const mu_model* model, const char* key, int64_t* value);
MU_API mu_status mu_get_f64(const mu_model* model, const char* key, double* value);
MU_API mu_status mu_get_string(const mu_model* model, const char* key, const char** text, uint64_t* size);

// Elements [first, first + count) of an array, read from the file into `out`, which has room for `count` numbers (NULL
// is allowed if count is 0). f32 and f64 read numbers of every type and bool (rounded to nearest where needed); u64
// and i64 integers of every width and bool (MU_ERROR_RANGE if one does not fit). Other values: MU_ERROR_TYPE. After an
// error `out` may be partly written.
MU_API mu_status mu_array_f32(const mu_model* model, uint64_t index, uint64_t first, uint64_t count, float* out);
MU_API mu_status mu_array_f64(const mu_model* model, uint64_t index, uint64_t first, uint64_t count, double* out);
MU_API mu_status mu_array_u64(const mu_model* model, uint64_t index, uint64_t first, uint64_t count, uint64_t* out);
MU_API mu_status mu_array_i64(const mu_model* model, uint64_t index, uint64_t first, uint64_t count, int64_t* out);
// One element of an array of strings. The first call for an array reads all of it into memory, where it stays until
// mu_close(); the others are look-ups. `size` may be NULL.
MU_API mu_status mu_array_string(const mu_model* model, uint64_t index, uint64_t element, const char** text,
                                 uint64_t* size);
// All elements of an array of strings at once: element i is text[begin[i]] up to begin[i + 1] - 1 (exclusive), where
// its NUL stands; `begin` has *count + 1 numbers. `count` may be NULL. Memory as with mu_array_string().
MU_API mu_status mu_array_strings(const mu_model* model, uint64_t index, const char** text, const uint64_t** begin,
                                  uint64_t* count);
// The next elements of an array of strings, as many as have room: one after the other in `out`, a NUL behind each.
// `count` gets how many these are, none at the end; `size` (bytes; may be NULL) what they take. `position` is 0 for the
// beginning and then what the last call made of it. MU_ERROR_BUFFER if the next one alone has no room: `size` is then
// what it needs. Nothing stays in memory, so this is how to go through a large array once.
MU_API mu_status mu_array_next_strings(const mu_model* model, uint64_t index, uint64_t* position, char* out,
                                       uint64_t capacity, uint64_t* count, uint64_t* size);

// ---------------------------------------------------------------------------------------------------------- tensors
//
// Every tensor of the model, in the order of the files. A weight that MLX packed has its logical shape here; its scales
// and biases are tensors of their own, marked as parts.

#define MU_NONE UINT64_MAX

// How a weight is packed.
enum {
  MU_PACKING_NONE = 0,    // not packed: `type` says all
  MU_PACKING_AFFINE = 1,  // value = scale × code + bias
  MU_PACKING_MXFP4 = 2,
  MU_PACKING_NVFP4 = 3,
  MU_PACKING_MXFP8 = 4
};

typedef struct mu_tensor {
  uint32_t struct_size;
  int32_t type;           // MU_TYPE_… as stored: U32 for packed weights
  const char* type_name;  // of `type`
  const char* name;       // as in the file
  uint64_t name_size;     // bytes
  const uint64_t* dims;   // n_dims logical dimensions, the contiguous one first
  uint64_t n_dims;        // 0 for a scalar
  uint64_t elements;      // product of the dimensions: columns × rows
  uint64_t columns;       // elements of a row: dims[0]; 1 for a scalar
  uint64_t rows;          // 1 for vectors and scalars
  uint64_t bytes;         // as stored
  uint64_t offset;        // absolute in its file
  uint64_t file;          // for mu_file_path()
  int32_t packing;        // MU_PACKING_…
  uint32_t bits;          // of a code of a packed weight; else 0
  uint32_t group_size;    // elements that share a scale; else 0
  int32_t is_part;        // 1: scales or biases of a packed weight
  uint64_t scales;        // index of the scales of a packed weight; else MU_NONE
  uint64_t biases;        // the same of its biases; MU_NONE if it has none
} mu_tensor;

// The index of a tensor: by its name in the file, without a wrapper's "language_model.", by its GGUF name in a
// directory ("blk.0.attn_q.weight"), by its Hugging Face name in a GGUF file. MU_ERROR_NOT_FOUND.
MU_API mu_status mu_tensor_find(const mu_model* model, const char* name, uint64_t* index);
// What is known of a tensor. MU_ERROR_RANGE.
MU_API mu_status mu_tensor_info(const mu_model* model, uint64_t index, mu_tensor* info);

// The tensor's bytes where they stand in the file, without a copy: *data points at *bytes (may be NULL) bytes, at any
// alignment; never NULL, even if there are none. The first call for a file maps all of it (address space, not memory).
// If the file is cut short after that, touching what is gone raises SIGBUS and ends the process, unless it handles
// that; if it is written to, the bytes change. Use mu_tensor_read() for files that others may change: it never dies.
// Files should be replaced by renaming, which does no harm. MU_ERROR_INPUT if the file is already shorter than it was
// or cannot be mapped.
MU_API mu_status mu_tensor_data(const mu_model* model, uint64_t index, const void** data, uint64_t* bytes);
// Copies the stored bytes [offset, offset + size) of the tensor to `out` (NULL is allowed if size is 0), by pread: a
// file that became shorter is MU_ERROR_INPUT. Outside the tensor: MU_ERROR_RANGE. After an error `out` may be partly
// written.
MU_API mu_status mu_tensor_read(const mu_model* model, uint64_t index, uint64_t offset, void* out, uint64_t size);
// Rows [first_row, first_row + rows) as float32, row after row, each of `columns` numbers: bit for bit what ggml and
// MLX decode. Packed weights are decoded with their scales and biases. `capacity` is the room in `out` in floats:
// MU_ERROR_BUFFER if it is less than rows × columns. Reads by pread, in memory that does not grow with the tensor.
// MU_ERROR_RANGE, MU_ERROR_UNSUPPORTED (C64, unknown types, big-endian files), MU_ERROR_INPUT. After an error `out` may
// be partly written.
MU_API mu_status mu_tensor_dequantize(const mu_model* model, uint64_t index, uint64_t first_row, uint64_t rows,
                                      float* out, uint64_t capacity);

// ------------------------------------------------------------------------------------------------ packed MLX weights
//
// A packed weight in one contiguous buffer, or several fused row-wise (q, k and v into one matrix): all codes, then all
// scales, then all biases, without gaps, each part in the order of the modules, each as it stands in the file.

enum {
  MU_PACK_BF16_TO_F16 = 1  // BF16 scales and biases become F16, rounded to nearest even
};

typedef struct mu_packed {
  uint32_t struct_size;
  int32_t packing;         // MU_PACKING_…
  uint32_t bits;           // of a code
  uint32_t group_size;     // elements that share a scale
  int32_t scale_type;      // MU_TYPE_… of scales and biases in the buffer
  int32_t reserved;        // 0
  uint64_t rows;           // of all modules together
  uint64_t columns;        // logical elements of a row
  uint64_t total_bytes;    // what the buffer needs
  uint64_t weight_bytes;   // the codes begin at 0
  uint64_t scales_offset;  // in the buffer
  uint64_t scales_bytes;
  uint64_t biases_offset;
  uint64_t biases_bytes;  // 0 in the FP modes
} mu_packed;

// Asks what packing needs, reading nothing. `weights` are `count` (at least 1) indexes of packed weights, `flags` 0 or
// MU_PACK_…. MU_ERROR_TYPE if one is not packed; MU_ERROR_ARGUMENT if they differ in mode, bits, group size, columns or
// scale type; MU_ERROR_RANGE.
MU_API mu_status mu_pack_layout(const mu_model* model, const uint64_t* weights, uint64_t count, uint32_t flags,
                                mu_packed* layout);
// Packs into `out`, which has `size` bytes: MU_ERROR_BUFFER if that is less than total_bytes; more is allowed and left
// alone. Reads by pread straight into the buffer. *inexact (may be NULL) counts the scales and biases that F16 does not
// hold exactly. Errors as above, MU_ERROR_INPUT. After an error `out` may be partly written.
MU_API mu_status mu_pack(const mu_model* model, const uint64_t* weights, uint64_t count, uint32_t flags, void* out,
                         uint64_t size, uint64_t* inexact);

// ---------------------------------------------------------------------------------------------------------- tokens

enum {
  MU_TOKENS_ADD_SPECIAL = 1,   // the tokens that the model says begin and end a text
  MU_TOKENS_PARSE_SPECIAL = 2  // control tokens in the text are found by their texts
};

// Cuts the `size` bytes of `text` (NULL is allowed if size is 0; any bytes) into tokens as llama.cpp does it with the
// model's keys, or those that mlx2gguf would write of a directory. *count is the number of tokens, whether they have
// room or not; `ids` gets them if `capacity`, its room in ids, is enough. MU_ERROR_BUFFER if it is not (capacity 0 with
// `ids` NULL asks for the count), MU_ERROR_ARGUMENT (flags), MU_ERROR_INPUT (no tokenizer, or none that is known). The
// first call makes the tokenizer, which stays until mu_close().
MU_API mu_status mu_tokenize(const mu_model* model, const char* text, uint64_t size, uint32_t flags, uint32_t* ids,
                             uint64_t capacity, uint64_t* count);

// ---------------------------------------------------------------------------------------------------------- reports
//
// What the tools print with --json, as one text. docs/json.md describes every member.

// A text that belongs to the caller, with a NUL after it.
typedef struct mu_text mu_text;
// Valid until mu_text_free(). `size` (bytes, without the NUL) may be NULL. NULL if `text` is NULL.
MU_API const char* mu_text_data(const mu_text* text, uint64_t* size);
// NULL is allowed.
MU_API void mu_text_free(mu_text* text);

// The text of `count` tokens ("detokenize"). MU_ERROR_RANGE if one is not in the vocabulary; else as mu_tokenize().
// After an error of this and the following functions the text is NULL.
MU_API mu_status mu_detokenize(const mu_model* model, const uint32_t* ids, uint64_t count, mu_text** text);

// The prompt that the model's chat template makes of a conversation, byte for byte as transformers renders it. The
// `size` bytes of `conversation` are JSON: a list of messages, or an object with `messages`, `tools`,
// `add_generation_prompt` (true where it is absent) and further variables of the template. `name` is that of one of
// several templates; NULL or "" is the one without a name. A rendering is bounded in time and memory
// (docs/templates.md). MU_ERROR_NOT_FOUND if the model has no such template; MU_ERROR_INPUT if the JSON is broken, or
// the template does not parse, refuses the conversation ("template-raised") or needs too much ("template-limit").
MU_API mu_status mu_render(const mu_model* model, const char* conversation, uint64_t size, const char* name,
                           mu_text** prompt);

// What a model is, and its layers: {"schema":"card/1",…}. Errors: those of reading.
MU_API mu_status mu_card(const mu_model* model, mu_text** json);

enum {
  MU_VERIFY_DATA = 1,          // read every tensor: NaN and infinities
  MU_VERIFY_IGNORE_INDEX = 2,  // open directories as if they had no index of shards
  MU_VERIFY_AUTHENTIC = 4      // compare files with what their download cache says of them
};

// Verifies a path as the tool does: "verify/1", one object a line, one for each model in or below a directory. A broken
// model is no error but has findings. MU_ERROR_INPUT if the path cannot be opened or is of no known format;
// MU_ERROR_ARGUMENT for unknown flags.
MU_API mu_status mu_verify(const char* path, uint32_t flags, mu_text** json);

enum {
  MU_DIFF_DATA = 1,   // measure the values
  MU_DIFF_LAYOUT = 2  // also where in the files things are
};

// Compares two paths as model-diff does: "model-diff/1". MU_ERROR_INPUT, MU_ERROR_ARGUMENT.
MU_API mu_status mu_diff(const char* a, const char* b, uint32_t flags, mu_text** json);

enum {
  MU_FIT_UNIFIED_CACHE = 1,  // the sequences share one cache
  MU_FIT_NO_FLASH_ATTENTION = 2,
  MU_FIT_FULL_WINDOWS = 4  // layers with a sliding window keep the whole context
};

// How a model is to be run and in what memory; sizes in bytes. A number that is 0 is "not stated".
typedef struct mu_fit_request {
  uint32_t struct_size;
  uint32_t flags;            // MU_FIT_…
  const uint64_t* contexts;  // numbers of tokens, none of them 0
  uint64_t context_count;    // 0: one context, for which the model was trained
  uint64_t gpu;              // memory of the GPU
  uint64_t ram;              // memory of the host; without `gpu` there is no GPU
  uint64_t memory;           // one memory for both; not with the other two
  uint64_t margin;           // what must stay free; MU_NONE: 1 GiB
  uint64_t sequences;        // at once; 0: 1
  uint64_t batch;            // tokens; 0: 2048
  uint64_t ubatch;           // tokens computed at once; 0: 512
  int32_t k_type;            // MU_TYPE_… of the cache's keys; MU_TYPE_UNKNOWN: F16
  int32_t v_type;            // and of its values
} mu_fit_request;

// Whether a model fits: "fit/1". `request` may be NULL: nothing is stated. Of directories the GGUF that mlx2gguf makes
// of them is judged. MU_ERROR_ARGUMENT if the options do not go together, MU_ERROR_INPUT.
MU_API mu_status mu_fit(const mu_model* model, const mu_fit_request* request, mu_text** json);

enum {
  MU_PAGE_VOCABULARY = 1,  // every token: some 50 bytes each
  MU_PAGE_STATISTICS = 2,  // reads every tensor: a histogram of each, the layers that are hardest to quantise
  MU_PAGE_MEMORY = 4       // memory over context, as `request` states it
};

// The page that gguf-dump and st-dump write with --html: one HTML file with its style, script and data in it, in UTF-8,
// which asks the network for nothing (docs/html.md). `request` may be NULL as with mu_fit() and is looked at with
// MU_PAGE_MEMORY only; without contexts there are several, up to the one for which the model was trained.
// MU_ERROR_ARGUMENT (flags, request), MU_ERROR_INPUT (also of the parts that `flags` asks for).
MU_API mu_status mu_page(const mu_model* model, uint32_t flags, const mu_fit_request* request, mu_text** html);

#ifdef __cplusplus
}
#endif

#endif
