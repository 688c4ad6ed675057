// Tests the functions of the C API that return a text, and the token functions. usage: reports TEST_DATA_DIR
#include "check.h"

static char path_[4096];

static const char* in(const char* folder, const char* name) {
  snprintf(path_, sizeof path_, "%s/%s", folder, name);
  return path_;
}

// True if the text contains `part`.
static int has(const mu_text* text, const char* part) {
  uint64_t size = 0;
  const char* data = mu_text_data(text, &size);
  return data != NULL && strlen(data) == size && strstr(data, part) != NULL;
}

static void test_verify(const char* folder) {
  mu_text* text = NULL;
  GIVES(MU_OK, mu_verify(in(folder, "gguf/hostile.gguf"), 0, &text));
  CHECK(has(text, "\"schema\":\"verify/1\"") && has(text, "\"gguf-key-duplicate\"") &&
        has(text, "\"verdict\":\"bad\""));
  mu_text_free(text);
  GIVES(MU_OK, mu_verify(in(folder, "gguf/small.gguf"), 0, &text));
  CHECK(!has(text, "data-nan"));
  mu_text_free(text);
  GIVES(MU_OK, mu_verify(in(folder, "gguf/small.gguf"), MU_VERIFY_DATA, &text));
  CHECK(has(text, "data-nan"));
  mu_text_free(text);
  GIVES(MU_ERROR_INPUT, mu_verify(in(folder, "nothing"), 0, &text));
  CHECK(text == NULL);
  GIVES(MU_ERROR_ARGUMENT, mu_verify(in(folder, "gguf/small.gguf"), 1u << 31, &text));
  GIVES(MU_ERROR_ARGUMENT, mu_verify(NULL, 0, &text));
  GIVES(MU_ERROR_ARGUMENT, mu_verify(folder, 0, NULL));
}

static void test_diff(const char* folder) {
  char a[4096];
  snprintf(a, sizeof a, "%s/gguf/small.gguf", folder);
  mu_text* text = NULL;
  GIVES(MU_OK, mu_diff(a, a, MU_DIFF_DATA | MU_DIFF_LAYOUT, &text));
  CHECK(has(text, "\"equal\":true"));
  mu_text_free(text);
  GIVES(MU_OK, mu_diff(a, in(folder, "demo-model"), 0, &text));
  CHECK(has(text, "\"equal\":false") && has(text, "\"rope_freqs.weight\""));
  mu_text_free(text);
  GIVES(MU_ERROR_INPUT, mu_diff(a, in(folder, "nothing"), 0, &text));
  CHECK(text == NULL && strstr(mu_last_error_file(), "nothing") != NULL);
  GIVES(MU_ERROR_ARGUMENT, mu_diff(a, NULL, 0, &text));
  GIVES(MU_ERROR_ARGUMENT, mu_diff(a, a, 4, &text));
}

// Names of models in stores; tests/python/package_test.py has stores that contain them.
static void test_names(const char* folder) {
  mu_model* model = NULL;
  mu_text* text = NULL;
  GIVES(MU_ERROR_INPUT, mu_open("ollama:no-such-model-of-anyone", &model));
  CHECK(model == NULL && strcmp(mu_last_error_code(), "store-missing") == 0);
  GIVES(MU_ERROR_INPUT, mu_verify("hf:../../etc/passwd", 0, &text));
  CHECK(text == NULL && strcmp(mu_last_error_code(), "store-name") == 0);
  GIVES(MU_ERROR_INPUT, mu_diff(in(folder, "gguf/small.gguf"), "llama.cpp:no-such-model-of-anyone", 0, &text));
  CHECK(text == NULL && strcmp(mu_last_error_code(), "store-missing") == 0);
}

static void test_fit(const mu_model* model) {
  mu_text* text = NULL;
  GIVES(MU_OK, mu_fit(model, NULL, &text));
  CHECK(has(text, "\"n_ctx\":2048") && has(text, "\"fits\":null"));
  mu_text_free(text);
  // Two layers with 2 KV heads of 32: 8192 × 2 × 32 × 2 layers × 2 bytes.
  const uint64_t contexts[] = {8192, 0};
  mu_fit_request request = {.struct_size = sizeof request,
                            .contexts = contexts,
                            .context_count = 1,
                            .gpu = UINT64_C(24) << 30,
                            .margin = MU_NONE,
                            .k_type = MU_TYPE_UNKNOWN,
                            .v_type = MU_TYPE_UNKNOWN};
  GIVES(MU_OK, mu_fit(model, &request, &text));
  CHECK(has(text, "\"k_bytes\":2097152,\"v_bytes\":2097152") && has(text, "\"fits\":true"));
  mu_text_free(text);
  request.context_count = 2;
  GIVES(MU_ERROR_ARGUMENT, mu_fit(model, &request, &text));
  CHECK(text == NULL);
  request.context_count = 1;
  request.k_type = MU_TYPE_Q4_K;  // Q4_K is not a cache type
  GIVES(MU_ERROR_ARGUMENT, mu_fit(model, &request, &text));
  request.k_type = MU_TYPE_Q8_0;
  request.v_type = MU_TYPE_Q8_0;
  GIVES(MU_OK, mu_fit(model, &request, &text));
  mu_text_free(text);
  request.flags = MU_FIT_NO_FLASH_ATTENTION;
  GIVES(MU_ERROR_ARGUMENT, mu_fit(model, &request, &text));
  request.flags = 0;
  request.memory = 1;
  GIVES(MU_ERROR_ARGUMENT, mu_fit(model, &request, &text));
  request.memory = 0;
  request.struct_size = 8;
  GIVES(MU_ERROR_ARGUMENT, mu_fit(model, &request, &text));
}

static void test_tokens(const mu_model* model) {
  uint32_t ids[64];
  uint64_t count = 0;
  GIVES(MU_ERROR_BUFFER, mu_tokenize(model, "Hello", 5, 0, NULL, 0, &count));
  CHECK(count > 0 && count <= 5);
  const uint64_t needed = count;
  GIVES(MU_OK, mu_tokenize(model, "Hello", 5, 0, ids, 64, &count));
  CHECK(count == needed);
  mu_text* text = NULL;
  GIVES(MU_OK, mu_detokenize(model, ids, count, &text));
  CHECK(strcmp(mu_text_data(text, NULL), "Hello") == 0);
  mu_text_free(text);
  GIVES(MU_OK, mu_tokenize(model, NULL, 0, 0, NULL, 0, &count));
  CHECK(count == 0);
  GIVES(MU_ERROR_ARGUMENT, mu_tokenize(model, "x", 1, 4, ids, 64, &count));
  ids[0] = UINT32_MAX;
  GIVES(MU_ERROR_RANGE, mu_detokenize(model, ids, 1, &text));
  CHECK(text == NULL);
}

static void test_render(const mu_model* model) {
  static const char list[] = "[{\"role\": \"user\", \"content\": \"Hi\"}]";
  static const char object[] = "{\"messages\": [], \"add_generation_prompt\": false}";
  mu_text* text = NULL;
  GIVES(MU_OK, mu_render(model, list, sizeof list - 1, NULL, &text));
  CHECK(text != NULL && strcmp(mu_text_data(text, NULL), "<|begin_of_text|>user: Hi<|eot_id|>\n") == 0);
  mu_text_free(text);
  GIVES(MU_OK, mu_render(model, object, sizeof object - 1, "", &text));
  CHECK(text != NULL && strcmp(mu_text_data(text, NULL), "<|begin_of_text|>") == 0);
  mu_text_free(text);
  GIVES(MU_ERROR_NOT_FOUND, mu_render(model, list, sizeof list - 1, "other", &text));
  CHECK(text == NULL && strcmp(mu_last_error_code(), "template-missing") == 0);
  GIVES(MU_ERROR_INPUT, mu_render(model, list, sizeof list - 2, NULL, &text));
  CHECK(text == NULL);
  GIVES(MU_ERROR_INPUT, mu_render(model, "1", 1, NULL, &text));
  GIVES(MU_ERROR_INPUT, mu_render(model, "", 0, NULL, &text));
  GIVES(MU_ERROR_INPUT, mu_render(model, list, UINT64_MAX, NULL, &text));
  GIVES(MU_ERROR_ARGUMENT, mu_render(model, NULL, 0, NULL, &text));
  GIVES(MU_ERROR_ARGUMENT, mu_render(NULL, list, sizeof list - 1, NULL, &text));
  GIVES(MU_ERROR_ARGUMENT, mu_render(model, list, sizeof list - 1, NULL, NULL));
}

// Reads the tokens of small.gguf again, with room for `room` bytes at a time.
static void next_strings(const mu_model* model, uint64_t index, const char* texts, const uint64_t* begin) {
  for (uint64_t room = 9; room <= 200; ++room) {  // the longest, "\xe2\x96\x81tok10", needs 9
    char out[200];
    uint64_t position = 0, element = 0, count = 1, size = 0;
    while (count != 0) {
      memset(out, 'x', sizeof out);
      GIVES(MU_OK, mu_array_next_strings(model, index, &position, out, room, &count, &size));
      CHECK(element + count <= 16 && size == begin[element + count] - begin[element] && size <= room);
      CHECK(memcmp(out, texts + begin[element], size) == 0);
      element += count;
    }
    CHECK(element == 16);
  }
  char small[9];
  uint64_t position = 0, count = 7, size = 0;
  while (count != 0 && mu_array_next_strings(model, index, &position, small, 8, &count, &size) == MU_OK) {
  }
  CHECK(size == 9 && strcmp(mu_last_error_code(), "api-buffer") == 0);
  position = UINT64_MAX;
  GIVES(MU_OK, mu_array_next_strings(model, index, &position, small, 9, &count, NULL));
  CHECK(count == 0);
  position = 1;
  GIVES(MU_ERROR_INPUT, mu_array_next_strings(model, index, &position, small, 8, &count, &size));
  GIVES(MU_ERROR_RANGE, mu_array_next_strings(model, UINT64_MAX, &position, small, 8, &count, &size));
  GIVES(MU_ERROR_TYPE, mu_array_next_strings(model, 0, &position, small, 8, &count, &size));
}

static void test_page(const mu_model* model) {
  mu_text* text = NULL;
  GIVES(MU_OK, mu_page(model, 0, NULL, &text));
  CHECK(has(text, "<!DOCTYPE html>\n<html lang=\"en\">") && has(text, "Content-Security-Policy") &&
        has(text, "{\"schema\":\"page/1\",\"program\":\"libmodelutils\"") && has(text, "\n{\"schema\":\"card/1\"") &&
        has(text, "</html>\n"));
  CHECK(!has(text, "\"stats/1\",") && !has(text, "\"fit/1\",") && !has(text, "\"vocabulary/1\","));
  mu_text_free(text);
  GIVES(MU_OK, mu_page(model, MU_PAGE_VOCABULARY | MU_PAGE_STATISTICS | MU_PAGE_MEMORY, NULL, &text));
  CHECK(has(text, "\n{\"schema\":\"stats/1\"") && has(text, "\n{\"schema\":\"fit/1\"") &&
        has(text, "\n{\"schema\":\"vocabulary/1\"") && has(text, "\"n_ctx\":1024") && has(text, "\"n_ctx\":2048"));
  mu_text_free(text);
  const uint64_t contexts[] = {4096};
  mu_fit_request request = {.struct_size = sizeof request,
                            .contexts = contexts,
                            .context_count = 1,
                            .margin = MU_NONE,
                            .k_type = MU_TYPE_UNKNOWN,
                            .v_type = MU_TYPE_UNKNOWN};
  GIVES(MU_OK, mu_page(model, MU_PAGE_MEMORY, &request, &text));
  CHECK(has(text, "\"n_ctx\":4096") && !has(text, "\"n_ctx\":2048"));
  mu_text_free(text);
  request.struct_size = 8;
  GIVES(MU_OK, mu_page(model, 0, &request, &text));  // invalid requests are ignored without MU_PAGE_MEMORY
  mu_text_free(text);
  GIVES(MU_ERROR_ARGUMENT, mu_page(model, MU_PAGE_MEMORY, &request, &text));
  CHECK(text == NULL);
  GIVES(MU_ERROR_ARGUMENT, mu_page(model, 8, NULL, &text));
  GIVES(MU_ERROR_ARGUMENT, mu_page(NULL, 0, NULL, &text));
  GIVES(MU_ERROR_ARGUMENT, mu_page(model, 0, NULL, NULL));
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  test_verify(argv[1]);
  test_diff(argv[1]);
  test_names(argv[1]);
  mu_model* model = NULL;
  GIVES(MU_OK, mu_open(in(argv[1], "demo-model"), &model));
  if (model == NULL) return 1;
  test_fit(model);
  test_tokens(model);
  test_render(model);
  test_page(model);
  mu_text* text = NULL;
  GIVES(MU_OK, mu_card(model, &text));
  CHECK(has(text, "\"schema\":\"card/1\"") && has(text, "\"prefix\":\"model.layers\"") &&
        has(text, "\"heads_kv\":[2,2]"));
  mu_text_free(text);
  CHECK(mu_is_big_endian(model) == 0);
  mu_close(model);
  GIVES(MU_OK, mu_open(in(argv[1], "gguf/big-endian.gguf"), &model));
  CHECK(mu_is_big_endian(model) == 1);
  mu_close(model);
  GIVES(MU_OK, mu_open(in(argv[1], "gguf/small.gguf"), &model));
  uint64_t index = 0, count = 0;
  const char* texts = NULL;
  const uint64_t* begin = NULL;
  GIVES(MU_OK, mu_metadata_find(model, "tokenizer.ggml.tokens", &index));
  GIVES(MU_OK, mu_array_strings(model, index, &texts, &begin, &count));
  CHECK(count == 16 && strcmp(texts + begin[3], "\xe2\x96\x81tok0") == 0 && begin[4] - begin[3] == 8);
  GIVES(MU_ERROR_RANGE, mu_array_strings(model, UINT64_MAX, &texts, &begin, NULL));
  GIVES(MU_ERROR_TYPE, mu_array_strings(model, 0, &texts, &begin, NULL));
  next_strings(model, index, texts, begin);
  mu_close(model);
  CHECK(mu_text_data(NULL, &count) == NULL && count == 0);
  mu_text_free(NULL);
  if (failures == 0) puts("ok");
  return failures != 0;
}
