// Tests every function of modelutils.h, compiled as C99: results for valid models, and errors for invalid arguments.
// usage: functions TEST_DATA_DIR
#include <math.h>
#include <stdlib.h>

#include "check.h"

static char path_buffer[4096];

static const char* path_of(const char* folder, const char* name) {
  snprintf(path_buffer, sizeof path_buffer, "%s/%s", folder, name);
  return path_buffer;
}

static mu_model* open_or_exit(const char* folder, const char* name) {
  mu_model* model = NULL;
  GIVES(MU_OK, mu_open(path_of(folder, name), &model));
  if (model == NULL) exit(1);
  return model;
}

static void test_version_and_types(void) {
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", MU_VERSION_MAJOR, MU_VERSION_MINOR, MU_VERSION_PATCH);
  CHECK(strcmp(mu_version(), text) == 0);
  CHECK(mu_version_number() == MU_VERSION_MAJOR * 1000000u + MU_VERSION_MINOR * 1000u + MU_VERSION_PATCH);

  for (mu_status status = MU_OK; status <= MU_ERROR_INTERNAL; ++status) {
    CHECK(strncmp(mu_status_name(status), "MU_", 3) == 0);
  }
  CHECK(strcmp(mu_status_name(MU_ERROR_RANGE), "MU_ERROR_RANGE") == 0);
  CHECK(strcmp(mu_status_name(-1), "unknown status") == 0);

  uint32_t elements = 0, bytes = 0;
  CHECK(strcmp(mu_type_name(MU_TYPE_Q4_K), "Q4_K") == 0);
  CHECK(strcmp(mu_type_name(MU_TYPE_C64), "C64") == 0);
  CHECK(strcmp(mu_type_name(MU_TYPE_UNKNOWN), "unknown") == 0);
  CHECK(mu_type_name(4) == NULL && mu_type_name(-2) == NULL && mu_type_name(65536 + 1) == NULL);
  GIVES(MU_OK, mu_type_block(MU_TYPE_Q4_K, &elements, &bytes));
  CHECK(elements == 256 && bytes == 144);
  GIVES(MU_OK, mu_type_block(MU_TYPE_BF16, NULL, NULL));
  GIVES(MU_ERROR_NOT_FOUND, mu_type_block(MU_TYPE_UNKNOWN, &elements, &bytes));
}

// Checks the state before the first error. Must run first.
static void test_no_error_yet(void) {
  uint64_t offset = 7;
  CHECK(mu_last_error_status() == MU_OK);
  CHECK(mu_last_error_code()[0] == '\0' && mu_last_error_message()[0] == '\0' && mu_last_error_file()[0] == '\0');
  CHECK(mu_last_error_offset(&offset) == 0 && offset == 0);
}

static void test_errors(const char* folder) {
  mu_model* model = (mu_model*)folder;
  GIVES(MU_ERROR_ARGUMENT, mu_open(NULL, &model));
  CHECK(model == NULL);
  GIVES(MU_ERROR_ARGUMENT, mu_open("x", NULL));
  GIVES(MU_ERROR_INPUT, mu_open("", &model));
  GIVES(MU_ERROR_INPUT, mu_open("/nonexistent/file.gguf", &model));
  CHECK(strcmp(mu_last_error_code(), "io-open") == 0);
  CHECK(strcmp(mu_last_error_file(), "/nonexistent/file.gguf") == 0);
  CHECK(strstr(mu_last_error_message(), "No such file") != NULL);
  CHECK(mu_last_error_offset(NULL) == 0);
  GIVES(MU_ERROR_INPUT, mu_open("/dev/zero", &model));
  GIVES(MU_ERROR_INPUT, mu_open("-", &model));

  // An error with an offset. Later successful calls must not change it.
  uint64_t offset = 0;
  GIVES(MU_ERROR_INPUT, mu_open(path_of(folder, "gguf/hostile.gguf"), &model));
  CHECK(strcmp(mu_last_error_code(), "gguf-key-duplicate") == 0);
  CHECK(mu_last_error_offset(&offset) == 1 && offset == 227);
  CHECK(strstr(mu_last_error_message(), "byte 227") != NULL);
  mu_close(open_or_exit(folder, "gguf/small.gguf"));
  CHECK(strcmp(mu_last_error_code(), "gguf-key-duplicate") == 0);
  mu_close(NULL);
}

// Passes NULL for every argument of every function.
static void test_null(const mu_model* model) {
  int32_t truth = 0;
  uint64_t natural = 0;
  int64_t integer = 0;
  double number = 0;
  float value = 0;
  const char* text = NULL;
  const void* data = NULL;
  mu_metadata metadata = {sizeof metadata, 0, 0, 0, 0, NULL, 0, 0};
  mu_tensor tensor;
  mu_packed packed;
  tensor.struct_size = sizeof tensor;
  packed.struct_size = sizeof packed;

  CHECK(mu_format(NULL) == NULL && mu_architecture(NULL) == NULL && mu_file_path(NULL, 0) == NULL);
  CHECK(mu_last_error_status() == MU_ERROR_ARGUMENT);
  CHECK(mu_parameter_count(NULL) == 0 && mu_file_count(NULL) == 0);
  CHECK(mu_tensor_count(NULL) == 0 && mu_metadata_count(NULL) == 0);

  GIVES(MU_ERROR_ARGUMENT, mu_metadata_find(NULL, "x", &natural));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_find(model, NULL, &natural));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_find(model, "general.name", NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_info(NULL, 0, &metadata));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_info(model, 0, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_bool(NULL, 0, &truth));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_bool(model, 0, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_u64(NULL, 0, &natural));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_u64(model, 0, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_i64(NULL, 0, &integer));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_i64(model, 0, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_f64(NULL, 0, &number));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_f64(model, 0, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_string(NULL, 0, &text, &natural));
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_string(model, 0, NULL, &natural));
  GIVES(MU_ERROR_ARGUMENT, mu_get_bool(NULL, "x", &truth));
  GIVES(MU_ERROR_ARGUMENT, mu_get_bool(model, NULL, &truth));
  GIVES(MU_ERROR_ARGUMENT, mu_get_bool(model, "general.name", NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_get_u64(NULL, "x", &natural));
  GIVES(MU_ERROR_ARGUMENT, mu_get_u64(model, NULL, &natural));
  GIVES(MU_ERROR_ARGUMENT, mu_get_u64(model, "general.name", NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_get_i64(NULL, "x", &integer));
  GIVES(MU_ERROR_ARGUMENT, mu_get_i64(model, NULL, &integer));
  GIVES(MU_ERROR_ARGUMENT, mu_get_i64(model, "general.name", NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_get_f64(NULL, "x", &number));
  GIVES(MU_ERROR_ARGUMENT, mu_get_f64(model, NULL, &number));
  GIVES(MU_ERROR_ARGUMENT, mu_get_f64(model, "general.name", NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_get_string(NULL, "x", &text, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_get_string(model, NULL, &text, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_get_string(model, "general.name", NULL, NULL));

  uint64_t array = 0;
  GIVES(MU_OK, mu_metadata_find(model, "tokenizer.ggml.token_type", &array));
  GIVES(MU_ERROR_ARGUMENT, mu_array_f32(NULL, array, 0, 1, &value));
  GIVES(MU_ERROR_ARGUMENT, mu_array_f32(model, array, 0, 1, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_array_f64(NULL, array, 0, 1, &number));
  GIVES(MU_ERROR_ARGUMENT, mu_array_f64(model, array, 0, 1, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_array_u64(NULL, array, 0, 1, &natural));
  GIVES(MU_ERROR_ARGUMENT, mu_array_u64(model, array, 0, 1, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_array_i64(NULL, array, 0, 1, &integer));
  GIVES(MU_ERROR_ARGUMENT, mu_array_i64(model, array, 0, 1, NULL));
  GIVES(MU_OK, mu_array_i64(model, array, 16, 0, NULL));
  GIVES(MU_OK, mu_metadata_find(model, "tokenizer.ggml.tokens", &array));
  GIVES(MU_ERROR_ARGUMENT, mu_array_string(NULL, array, 0, &text, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_array_string(model, array, 0, NULL, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_array_next_strings(NULL, array, &natural, NULL, 0, &natural, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_array_next_strings(model, array, NULL, NULL, 0, &natural, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_array_next_strings(model, array, &natural, NULL, 0, NULL, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_array_next_strings(model, array, &natural, NULL, 1, &natural, NULL));

  GIVES(MU_ERROR_ARGUMENT, mu_tensor_find(NULL, "x", &natural));
  GIVES(MU_ERROR_ARGUMENT, mu_tensor_find(model, NULL, &natural));
  GIVES(MU_ERROR_ARGUMENT, mu_tensor_find(model, "token_embd.weight", NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_tensor_info(NULL, 0, &tensor));
  GIVES(MU_ERROR_ARGUMENT, mu_tensor_info(model, 0, NULL));
  GIVES(MU_ERROR_ARGUMENT, mu_tensor_data(NULL, 0, &data, &natural));
  GIVES(MU_ERROR_ARGUMENT, mu_tensor_data(model, 0, NULL, &natural));
  GIVES(MU_ERROR_ARGUMENT, mu_tensor_read(NULL, 0, 0, &value, 4));
  GIVES(MU_ERROR_ARGUMENT, mu_tensor_read(model, 0, 0, NULL, 4));
  GIVES(MU_ERROR_ARGUMENT, mu_tensor_dequantize(NULL, 0, 0, 1, &value, 1));
  GIVES(MU_ERROR_ARGUMENT, mu_tensor_dequantize(model, 0, 0, 1, NULL, 1000));

  GIVES(MU_ERROR_ARGUMENT, mu_pack_layout(NULL, &natural, 1, 0, &packed));
  GIVES(MU_ERROR_ARGUMENT, mu_pack_layout(model, NULL, 1, 0, &packed));
  GIVES(MU_ERROR_ARGUMENT, mu_pack(NULL, &natural, 1, 0, &value, 4, &natural));
  GIVES(MU_ERROR_ARGUMENT, mu_pack(model, NULL, 1, 0, &value, 4, &natural));

  // Structures with size 0, and of a later version with more members.
  metadata.struct_size = 0;
  GIVES(MU_ERROR_ARGUMENT, mu_metadata_info(model, 0, &metadata));
  tensor.struct_size = 8;
  GIVES(MU_ERROR_ARGUMENT, mu_tensor_info(model, 0, &tensor));
  struct {
    mu_tensor tensor;
    uint64_t later;
  } newer;
  newer.tensor.struct_size = sizeof newer;
  newer.later = 42;
  GIVES(MU_OK, mu_tensor_info(model, 0, &newer.tensor));
  CHECK(newer.tensor.struct_size == sizeof(mu_tensor) && newer.later == 42);
}

static void test_scalars(const mu_model* model) {
  int32_t truth = 0;
  uint64_t natural = 0, index = 0, size = 0;
  int64_t integer = 0;
  double number = 0;
  const char* text = NULL;
  CHECK(strcmp(mu_format(model), "gguf") == 0 && strcmp(mu_architecture(model), "llama") == 0);
  CHECK(mu_metadata_count(model) == 28 && mu_tensor_count(model) == 10 && mu_file_count(model) == 1);
  CHECK(mu_parameter_count(model) == 7776);
  CHECK(strstr(mu_file_path(model, 0), "small.gguf") != NULL && mu_file_path(model, 1) == NULL);

  GIVES(MU_OK, mu_get_i64(model, "test.i8", &integer));
  CHECK(integer == -8);
  GIVES(MU_OK, mu_get_u64(model, "test.u8", &natural));
  CHECK(natural == 8);
  GIVES(MU_OK, mu_get_i64(model, "test.i16", &integer));
  CHECK(integer == -16);
  GIVES(MU_OK, mu_get_i64(model, "test.u16", &integer));
  CHECK(integer == 16);
  GIVES(MU_OK, mu_get_u64(model, "llama.context_length", &natural));
  CHECK(natural == 2048);
  GIVES(MU_OK, mu_get_i64(model, "test.i64", &integer));
  CHECK(integer == INT64_MIN);
  GIVES(MU_OK, mu_get_u64(model, "test.u64", &natural));
  CHECK(natural == UINT64_MAX);
  GIVES(MU_OK, mu_get_f64(model, "test.f64", &number));
  CHECK(number == 0.1);
  GIVES(MU_OK, mu_get_f64(model, "llama.rope.freq_base", &number));
  CHECK(number == 10000);
  GIVES(MU_OK, mu_get_bool(model, "tokenizer.ggml.add_bos_token", &truth));
  CHECK(truth == 1);
  GIVES(MU_OK, mu_get_string(model, "general.name", &text, &size));
  CHECK(strcmp(text, "Small") == 0 && size == 5);
  GIVES(MU_OK, mu_get_string(model, "general.architecture", &text, NULL));
  CHECK(strcmp(text, "llama") == 0);

  // Out of range, of another type, absent: the output must not change.
  natural = 77;
  GIVES(MU_ERROR_RANGE, mu_get_u64(model, "test.i8", &natural));
  GIVES(MU_ERROR_RANGE, mu_get_i64(model, "test.u64", &integer));
  GIVES(MU_ERROR_TYPE, mu_get_u64(model, "general.name", &natural));
  GIVES(MU_ERROR_TYPE, mu_get_u64(model, "test.f64", &natural));
  GIVES(MU_ERROR_TYPE, mu_get_u64(model, "tokenizer.ggml.tokens", &natural));
  GIVES(MU_ERROR_TYPE, mu_get_i64(model, "tokenizer.ggml.add_bos_token", &integer));
  GIVES(MU_ERROR_TYPE, mu_get_bool(model, "test.u8", &truth));
  GIVES(MU_ERROR_TYPE, mu_get_f64(model, "test.u8", &number));
  GIVES(MU_ERROR_TYPE, mu_get_string(model, "test.u8", &text, &size));
  GIVES(MU_ERROR_NOT_FOUND, mu_get_u64(model, "nothing", &natural));
  GIVES(MU_ERROR_NOT_FOUND, mu_get_string(model, "", &text, &size));
  CHECK(natural == 77);

  mu_metadata info;
  info.struct_size = sizeof info;
  GIVES(MU_OK, mu_metadata_find(model, "test.f64", &index));
  GIVES(MU_OK, mu_metadata_info(model, index, &info));
  CHECK(strcmp(info.key, "test.f64") == 0 && info.key_size == 8 && info.type == MU_VALUE_F64);
  CHECK(info.element_type == -1 && info.count == 1 && info.offset > 24);
  GIVES(MU_OK, mu_metadata_f64(model, index, &number));
  GIVES(MU_ERROR_TYPE, mu_metadata_string(model, index, &text, &size));
  GIVES(MU_OK, mu_metadata_find(model, "test.u16", &index));
  GIVES(MU_OK, mu_metadata_u64(model, index, &natural));
  GIVES(MU_OK, mu_metadata_i64(model, index, &integer));
  CHECK(natural == 16 && integer == 16);
  GIVES(MU_OK, mu_metadata_find(model, "tokenizer.ggml.add_bos_token", &index));
  GIVES(MU_OK, mu_metadata_bool(model, index, &truth));
  GIVES(MU_OK, mu_metadata_string(model, 1, &text, &size));
  CHECK(strcmp(text, "Small") == 0);

  const uint64_t none = mu_metadata_count(model);
  GIVES(MU_ERROR_RANGE, mu_metadata_info(model, none, &info));
  GIVES(MU_ERROR_RANGE, mu_metadata_bool(model, none, &truth));
  GIVES(MU_ERROR_RANGE, mu_metadata_u64(model, none, &natural));
  GIVES(MU_ERROR_RANGE, mu_metadata_i64(model, none, &integer));
  GIVES(MU_ERROR_RANGE, mu_metadata_f64(model, UINT64_MAX, &number));
  GIVES(MU_ERROR_RANGE, mu_metadata_string(model, UINT64_MAX, &text, &size));
}

static void test_arrays(const mu_model* model) {
  uint64_t index = 0, size = 0;
  const char* text = NULL;
  float f32[16];
  double f64[16];
  uint64_t u64[16];
  int64_t i64[16];
  mu_metadata info;
  info.struct_size = sizeof info;

  GIVES(MU_OK, mu_metadata_find(model, "tokenizer.ggml.tokens", &index));
  GIVES(MU_OK, mu_metadata_info(model, index, &info));
  CHECK(info.type == MU_VALUE_ARRAY && info.element_type == MU_VALUE_STRING && info.count == 16);
  GIVES(MU_OK, mu_array_string(model, index, 0, &text, &size));
  CHECK(strcmp(text, "<unk>") == 0 && size == 5);
  const char* first = text;
  GIVES(MU_OK, mu_array_string(model, index, 2, &text, NULL));
  CHECK(strcmp(text, "</s>") == 0 && strcmp(first, "<unk>") == 0);
  GIVES(MU_ERROR_RANGE, mu_array_string(model, index, 16, &text, &size));
  GIVES(MU_ERROR_RANGE, mu_array_string(model, UINT64_MAX, 0, &text, &size));
  GIVES(MU_ERROR_TYPE, mu_array_f32(model, index, 0, 1, f32));
  GIVES(MU_ERROR_TYPE, mu_array_u64(model, index, 0, 1, u64));

  GIVES(MU_OK, mu_metadata_find(model, "tokenizer.ggml.scores", &index));
  GIVES(MU_OK, mu_array_f32(model, index, 0, 16, f32));
  CHECK(f32[1] == -1 && f32[15] == -15);
  GIVES(MU_OK, mu_array_f64(model, index, 14, 2, f64));
  CHECK(f64[0] == -14 && f64[1] == -15);
  GIVES(MU_ERROR_TYPE, mu_array_i64(model, index, 0, 1, i64));
  GIVES(MU_ERROR_TYPE, mu_array_string(model, index, 0, &text, &size));
  GIVES(MU_ERROR_RANGE, mu_array_f32(model, index, 15, 2, f32));
  GIVES(MU_ERROR_RANGE, mu_array_f32(model, index, UINT64_MAX, 2, f32));
  GIVES(MU_ERROR_RANGE, mu_array_f32(model, index, 1, UINT64_MAX, f32));

  GIVES(MU_OK, mu_metadata_find(model, "tokenizer.ggml.token_type", &index));
  GIVES(MU_OK, mu_array_i64(model, index, 0, 16, i64));
  GIVES(MU_OK, mu_array_u64(model, index, 0, 16, u64));
  GIVES(MU_OK, mu_array_f32(model, index, 0, 16, f32));
  CHECK(i64[0] == 2 && i64[1] == 3 && i64[15] == 1 && u64[0] == 2 && f32[1] == 3);

  GIVES(MU_OK, mu_metadata_find(model, "test.bools", &index));
  GIVES(MU_OK, mu_array_u64(model, index, 0, 3, u64));
  CHECK(u64[0] == 1 && u64[1] == 0 && u64[2] == 1);
  GIVES(MU_OK, mu_metadata_find(model, "test.nan", &index));
  GIVES(MU_OK, mu_array_f32(model, index, 0, 5, f32));
  CHECK(isnan(f32[0]) && isinf(f32[1]) && f32[4] == 0.1f);
  GIVES(MU_OK, mu_metadata_find(model, "test.empty", &index));
  GIVES(MU_OK, mu_array_i64(model, index, 0, 0, NULL));
  GIVES(MU_ERROR_RANGE, mu_array_i64(model, index, 0, 1, i64));
  GIVES(MU_OK, mu_metadata_find(model, "test.u8", &index));
  GIVES(MU_ERROR_TYPE, mu_array_i64(model, index, 0, 1, i64));
}

static void test_tensors(const mu_model* model) {
  uint64_t index = 0, bytes = 0, by_other_name = 99;
  const void* data = NULL;
  mu_tensor info;
  info.struct_size = sizeof info;
  GIVES(MU_OK, mu_tensor_find(model, "blk.0.attn_q.weight", &index));
  GIVES(MU_OK, mu_tensor_find(model, "model.layers.0.self_attn.q_proj.weight", &by_other_name));
  CHECK(index == 2 && by_other_name == 2);
  GIVES(MU_OK, mu_tensor_info(model, index, &info));
  CHECK(strcmp(info.name, "blk.0.attn_q.weight") == 0 && info.name_size == strlen(info.name));
  CHECK(info.type == MU_TYPE_Q4_0 && strcmp(info.type_name, "Q4_0") == 0);
  CHECK(info.n_dims == 2 && info.dims[0] == 32 && info.dims[1] == 32 && info.elements == 1024);
  CHECK(info.columns == 32 && info.rows == 32 && info.bytes == 576 && info.offset == 4256 && info.file == 0);
  CHECK(info.packing == MU_PACKING_NONE && info.bits == 0 && info.group_size == 0 && info.is_part == 0);
  CHECK(info.scales == MU_NONE && info.biases == MU_NONE);
  GIVES(MU_ERROR_NOT_FOUND, mu_tensor_find(model, "nothing", &index));
  GIVES(MU_ERROR_RANGE, mu_tensor_info(model, 10, &info));

  unsigned char copy[576];
  GIVES(MU_OK, mu_tensor_data(model, 2, &data, &bytes));
  GIVES(MU_OK, mu_tensor_read(model, 2, 0, copy, sizeof copy));
  CHECK(bytes == 576 && memcmp(copy, data, sizeof copy) == 0);
  GIVES(MU_OK, mu_tensor_read(model, 2, 570, copy, 6));
  CHECK(memcmp(copy, (const unsigned char*)data + 570, 6) == 0);
  GIVES(MU_OK, mu_tensor_read(model, 2, 576, NULL, 0));
  GIVES(MU_ERROR_RANGE, mu_tensor_read(model, 2, 571, copy, 6));
  GIVES(MU_ERROR_RANGE, mu_tensor_read(model, 2, UINT64_MAX, copy, 6));
  GIVES(MU_ERROR_RANGE, mu_tensor_read(model, 10, 0, copy, 1));
  GIVES(MU_OK, mu_tensor_data(model, 0, &data, NULL));
  GIVES(MU_ERROR_RANGE, mu_tensor_data(model, 10, &data, &bytes));

  // token_embd.weight counts up in tenths, with 32 elements per row.
  float rows[3 * 32];
  GIVES(MU_OK, mu_tensor_dequantize(model, 0, 2, 3, rows, 96));
  CHECK(fabsf(rows[0] - 6.4f) < 1e-5f && fabsf(rows[95] - 15.9f) < 1e-5f);
  GIVES(MU_ERROR_BUFFER, mu_tensor_dequantize(model, 0, 2, 3, rows, 95));
  GIVES(MU_ERROR_RANGE, mu_tensor_dequantize(model, 0, 15, 2, rows, 96));
  GIVES(MU_ERROR_RANGE, mu_tensor_dequantize(model, 0, UINT64_MAX, UINT64_MAX, rows, 96));
  GIVES(MU_ERROR_RANGE, mu_tensor_dequantize(model, 10, 0, 1, rows, 96));
  GIVES(MU_OK, mu_tensor_dequantize(model, 0, 16, 0, NULL, 0));
  GIVES(MU_OK, mu_tensor_dequantize(model, 2, 31, 1, rows, 32));
  // GGUF tensors cannot be packed.
  mu_packed layout;
  layout.struct_size = sizeof layout;
  GIVES(MU_ERROR_TYPE, mu_pack_layout(model, &index, 1, 0, &layout));
}

static void test_split_set(const char* folder) {
  mu_model* whole = open_or_exit(folder, "gguf/small.gguf");
  mu_model* parts = open_or_exit(folder, "gguf/split-00002-of-00002.gguf");
  CHECK(mu_file_count(parts) == 2 && mu_tensor_count(parts) == mu_tensor_count(whole));
  for (uint64_t i = 0; i < mu_tensor_count(whole); ++i) {
    mu_tensor a, b;
    a.struct_size = sizeof a;
    b.struct_size = sizeof b;
    uint64_t other = 0;
    const void *a_data = NULL, *b_data = NULL;
    GIVES(MU_OK, mu_tensor_info(whole, i, &a));
    GIVES(MU_OK, mu_tensor_find(parts, a.name, &other));
    GIVES(MU_OK, mu_tensor_info(parts, other, &b));
    CHECK(mu_file_path(parts, b.file) != NULL && a.bytes == b.bytes);
    GIVES(MU_OK, mu_tensor_data(whole, i, &a_data, NULL));
    GIVES(MU_OK, mu_tensor_data(parts, other, &b_data, NULL));
    CHECK(memcmp(a_data, b_data, a.bytes) == 0);
  }
  mu_close(parts);
  mu_close(whole);
}

static void test_mlx(const char* folder) {
  mu_model* model = open_or_exit(folder, "mlx/h96_bf16_4b_g32");
  const char* text = NULL;
  CHECK(strcmp(mu_format(model), "mlx") == 0 && strcmp(mu_architecture(model), "LlamaForCausalLM") == 0);
  CHECK(mu_parameter_count(model) == 203232);
  GIVES(MU_OK, mu_get_string(model, "format", &text, NULL));
  CHECK(strcmp(text, "mlx") == 0);

  uint64_t qkv[3];
  GIVES(MU_OK, mu_tensor_find(model, "model.layers.0.self_attn.q_proj.weight", &qkv[0]));
  GIVES(MU_OK, mu_tensor_find(model, "blk.0.attn_k.weight", &qkv[1]));
  GIVES(MU_OK, mu_tensor_find(model, "blk.0.attn_v.weight", &qkv[2]));
  mu_tensor q, part;
  q.struct_size = sizeof q;
  part.struct_size = sizeof part;
  GIVES(MU_OK, mu_tensor_info(model, qkv[0], &q));
  CHECK(q.type == MU_TYPE_U32 && q.packing == MU_PACKING_AFFINE && q.bits == 4 && q.group_size == 32);
  CHECK(q.columns == 96 && q.rows == 96 && q.bytes == 4608);
  GIVES(MU_OK, mu_tensor_info(model, q.scales, &part));
  CHECK(part.is_part == 1 && part.type == MU_TYPE_BF16 && part.bytes == 576);
  CHECK(strcmp(part.name, "model.layers.0.self_attn.q_proj.scales") == 0);

  // The first value of the first row is scale × code + bias.
  const unsigned char* codes = NULL;
  uint16_t bits[2];
  float scale_and_bias[2], row[96];
  GIVES(MU_OK, mu_tensor_data(model, qkv[0], (const void**)&codes, NULL));
  GIVES(MU_OK, mu_tensor_read(model, q.scales, 0, &bits[0], 2));
  GIVES(MU_OK, mu_tensor_read(model, q.biases, 0, &bits[1], 2));
  for (int i = 0; i < 2; ++i) {
    const uint32_t wide = (uint32_t)bits[i] << 16;
    memcpy(&scale_and_bias[i], &wide, 4);
  }
  GIVES(MU_OK, mu_tensor_dequantize(model, qkv[0], 0, 1, row, 96));
  CHECK(row[0] == scale_and_bias[0] * (float)(codes[0] & 15) + scale_and_bias[1]);

  mu_packed one, fused;
  one.struct_size = sizeof one;
  fused.struct_size = sizeof fused;
  GIVES(MU_OK, mu_pack_layout(model, qkv, 1, 0, &one));
  CHECK(one.packing == MU_PACKING_AFFINE && one.bits == 4 && one.group_size == 32 && one.scale_type == MU_TYPE_BF16);
  CHECK(one.weight_bytes == 4608 && one.scales_offset == 4608 && one.scales_bytes == 576);
  CHECK(one.biases_offset == 5184 && one.biases_bytes == 576 && one.total_bytes == 5760);
  GIVES(MU_OK, mu_pack_layout(model, qkv, 3, MU_PACK_BF16_TO_F16, &fused));
  CHECK(fused.rows == 160 && fused.columns == 96 && fused.scale_type == MU_TYPE_F16);
  CHECK(fused.weight_bytes == 160 * 48 && fused.total_bytes == 160 * (48 + 6 + 6));

  unsigned char* buffer = malloc(fused.total_bytes + 1);
  if (buffer == NULL) exit(1);
  buffer[fused.total_bytes] = 0xA5;
  uint64_t inexact = 99;
  GIVES(MU_ERROR_BUFFER, mu_pack(model, qkv, 3, 0, buffer, fused.total_bytes - 1, &inexact));
  GIVES(MU_ERROR_ARGUMENT, mu_pack(model, qkv, 3, 0, NULL, fused.total_bytes, &inexact));
  CHECK(inexact == 99);
  GIVES(MU_OK, mu_pack(model, qkv, 3, 0, buffer, fused.total_bytes + 1, &inexact));
  CHECK(inexact == 0 && buffer[fused.total_bytes] == 0xA5);
  CHECK(memcmp(buffer, codes, 4608) == 0);
  const void* v_biases = NULL;
  GIVES(MU_OK, mu_tensor_info(model, qkv[2], &part));
  GIVES(MU_OK, mu_tensor_data(model, part.biases, &v_biases, NULL));
  CHECK(memcmp(buffer + fused.total_bytes - 192, v_biases, 192) == 0);
  GIVES(MU_OK, mu_pack(model, qkv, 3, MU_PACK_BF16_TO_F16, buffer, fused.total_bytes, NULL));
  CHECK(memcmp(buffer, codes, 4608) == 0 && memcmp(buffer + fused.total_bytes - 192, v_biases, 192) != 0);
  CHECK(buffer[fused.total_bytes] == 0xA5);
  free(buffer);

  GIVES(MU_ERROR_ARGUMENT, mu_pack_layout(model, qkv, 0, 0, &one));
  GIVES(MU_ERROR_ARGUMENT, mu_pack_layout(model, qkv, 1, 2, &one));
  GIVES(MU_ERROR_ARGUMENT, mu_pack_layout(model, qkv, 1, 0, NULL));
  one.struct_size = 4;
  GIVES(MU_ERROR_ARGUMENT, mu_pack_layout(model, qkv, 1, 0, &one));
  one.struct_size = sizeof one;
  uint64_t others[2] = {qkv[0], q.scales};
  GIVES(MU_ERROR_TYPE, mu_pack_layout(model, others, 2, 0, &one));
  GIVES(MU_OK, mu_tensor_find(model, "blk.0.ffn_down.weight", &others[1]));  // 160 columns
  GIVES(MU_ERROR_ARGUMENT, mu_pack_layout(model, others, 2, 0, &one));
  CHECK(strcmp(mu_last_error_code(), "mlx-pack-mismatch") == 0);
  others[1] = UINT64_MAX;
  GIVES(MU_ERROR_RANGE, mu_pack_layout(model, others, 2, 0, &one));
  mu_close(model);

  // Open the directory through one of its files: the same tensors.
  model = open_or_exit(folder, "mlx/h96_bf16_4b_g32/model.safetensors");
  CHECK(strcmp(mu_format(model), "safetensors") == 0 && mu_tensor_count(model) == 53);
  mu_close(model);
  model = open_or_exit(folder, "mlx/h96_bf16_4b_g32/model.safetensors.index.json");
  CHECK(mu_tensor_count(model) == 53);
  mu_close(model);
  model = open_or_exit(folder, "mlx/h96_bf16_nvfp4");
  GIVES(MU_OK, mu_tensor_find(model, "blk.0.attn_q.weight", &qkv[0]));
  GIVES(MU_OK, mu_tensor_info(model, qkv[0], &q));
  CHECK(q.packing == MU_PACKING_NVFP4 && q.group_size == 16 && q.biases == MU_NONE);
  GIVES(MU_OK, mu_pack_layout(model, qkv, 1, 0, &one));
  CHECK(one.packing == MU_PACKING_NVFP4 && one.biases_bytes == 0 && one.scale_type == MU_TYPE_U8);
  mu_close(model);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  test_no_error_yet();
  test_version_and_types();
  test_errors(argv[1]);
  mu_model* small = open_or_exit(argv[1], "gguf/small.gguf");
  test_null(small);
  test_scalars(small);
  test_arrays(small);
  test_tensors(small);
  mu_close(small);
  test_split_set(argv[1]);
  test_mlx(argv[1]);
  if (failures == 0) puts("ok");
  return failures != 0;
}
