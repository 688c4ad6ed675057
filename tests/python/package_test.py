#!/usr/bin/env python3
"""Tests the package modelutils: values against an independent reader, errors, use after close, threads.
usage: package_test.py TEST_DATA_DIR (with MODELUTILS_LIBRARY and PYTHONPATH)"""

import contextlib
import hashlib
import http.server
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import modelutils as mu

data = sys.argv.pop(1)

try:
    import numpy
except ImportError:
    numpy = None

FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


@contextlib.contextmanager
def stores_in(home):
    """Sets the variables that say where the stores are; the library reads them at each call."""
    variables = {"OLLAMA_MODELS": f"{home}/ollama", "LMSTUDIO_HOME": f"{home}/lmstudio", "HF_HUB_CACHE": f"{home}/hub", "HOME": home}
    before = {name: os.environ.get(name) for name in [*variables, "LLAMA_CACHE"]}
    os.environ.update(variables)
    os.environ.pop("LLAMA_CACHE", None)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class Gguf:
    """An independent GGUF reader for header and infos, using only struct."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.order = "<" if self.data[4] else ">"
        self.at = 8
        tensors, keys = self.take("Q"), self.take("Q")
        self.keys = {}
        for _ in range(keys):
            name = self.text()
            self.keys[name] = self.value(self.take("I"))
        self.tensors = {}
        for _ in range(tensors):
            name = self.text()
            dims = [self.take("Q") for _ in range(self.take("I"))]
            self.tensors[name] = (tuple(reversed(dims)), self.take("I"), self.take("Q"))
        align = self.keys.get("general.alignment", 32)
        self.begin = (self.at + align - 1) // align * align

    def take(self, kind):
        (value,) = struct.unpack_from(self.order + kind, self.data, self.at)
        self.at += struct.calcsize("=" + kind)
        return value

    def text(self):
        size = self.take("Q")
        self.at += size
        return self.data[self.at - size : self.at].decode("utf-8", "surrogateescape")

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            element, count = self.take("I"), self.take("Q")
            return [self.value(element) for _ in range(count)]
        return self.take(FORMATS[kind])


# The build's program that reads from addresses.
helper = os.path.join(os.path.dirname(os.environ["MODELUTILS_LIBRARY"]), "../libexec/modelutils/fetch")


@contextlib.contextmanager
def serving(folder):
    """Serves the files of a folder at a local address, with ranges."""

    class Files(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            try:
                with open(folder + self.path, "rb") as file:
                    content = file.read()
            except OSError:
                return self.send_error(404)
            wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            self.send_response(206 if wanted else 200)
            if wanted:
                begin, end = int(wanted[1]), min(int(wanted[2]) + 1, len(content))
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
                content = content[begin:end]
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def safetensors_header(file):
    """Returns the length of the header and its tensors, using only json."""
    with open(file, "rb") as opened:
        (size,) = struct.unpack("<Q", opened.read(8))
        header = json.loads(opened.read(size))
    header.pop("__metadata__", None)
    return size, header


def path(name):
    return os.path.join(data, name)


def same(a, b):
    if isinstance(a, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))


class Loading(unittest.TestCase):
    """The package without its library says which variable points to it."""

    def import_with(self, **variables):
        environment = {name: text for name, text in os.environ.items() if name != "MODELUTILS_LIBRARY"}
        command = [sys.executable, "-c", "import modelutils"]
        done = subprocess.run(command, env={**environment, **variables}, capture_output=True, text=True)
        return done.returncode, done.stderr.splitlines()[-1] if done.stderr else ""

    def test_no_library(self):
        with tempfile.TemporaryDirectory() as folder:
            status, message = self.import_with(LD_LIBRARY_PATH=folder)
        if status == 0:
            self.skipTest("the system has the library")
        self.assertRegex(message, "^ImportError: .*libmodelutils.so.0.*MODELUTILS_LIBRARY")

    def test_wrong_path(self):
        status, message = self.import_with(MODELUTILS_LIBRARY="/nowhere/lib.so")
        self.assertEqual(status, 1)
        self.assertRegex(message, "^ImportError: .*/nowhere/lib.so.*MODELUTILS_LIBRARY names this path")


class Reading(unittest.TestCase):
    def test_gguf_files_as_a_second_reader_reads_them(self):
        for name in ("gguf/small.gguf", "gguf/big-endian.gguf"):
            expected, model = Gguf(path(name)), mu.open(path(name))
            self.assertEqual(list(model.keys), list(expected.keys))
            for key, value in expected.keys.items():
                self.assertTrue(same(model.keys[key], value), (name, key, model.keys[key], value))
            self.assertEqual(list(model.tensors), list(expected.tensors))
            for tensor, (shape, _, offset) in expected.tensors.items():
                found = model.tensors[tensor]
                self.assertEqual((found.shape, found.offset), (shape, expected.begin + offset))
                stored = expected.data[found.offset : found.offset + found.nbytes]
                self.assertEqual(found.read(), stored)
                self.assertEqual(found.read(1, 2), stored[1:3])

    def test_arrays_that_take_several_pieces(self):
        def text(data):
            return struct.pack("<Q", len(data)) + data

        def array(key, kind, count, data):
            return text(key) + struct.pack("<IIQ", 9, kind, count) + data

        words = [b"word%d" % number for number in range(20_000)]
        arrays = [
            array(b"t.words", 8, 20_000, b"".join(map(text, words))),
            array(b"t.long", 8, 4, text(b"a") + text(b"\xe2\x96\x81" * 70_000) + text(b"") + text(b"z")),
            array(b"t.nul", 8, 20_001, b"".join(map(text, [*words, b"a\0b\xff"]))),
            array(b"t.escaped", 8, 3, text(b"\xff\xfe") + text(b"") + text(b"\xc3")),
            array(b"t.i16", 3, 20_000, struct.pack("<20000h", *range(-10_000, 10_000))),
            array(b"t.u64", 10, 8_193, struct.pack("<8193Q", *range(2**64 - 8_193, 2**64))),
            array(b"t.f32", 6, 8_192, struct.pack("<8192f", *range(8_192))),
            array(b"t.none", 8, 0, b""),
        ]
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
            file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(arrays)) + b"".join(arrays))
            file.flush()
            expected, model = Gguf(file.name), mu.open(file.name)
            for key, value in expected.keys.items():
                self.assertTrue(same(model.keys[key], value), key)

    @unittest.skipUnless(os.path.isdir("../shared/corpus"), "no reference data")
    def test_the_corpora_as_a_second_reader_reads_them(self):
        opened = 0
        for folder, _, names in os.walk("../shared/corpus"):
            for name in names:
                if not name.endswith(".gguf"):
                    continue
                file = os.path.join(folder, name)
                try:
                    model = mu.open(file)
                except mu.InputError as error:
                    self.assertRegex(file, "malformed|holes", error)
                    continue
                if len(model.files) > 1:
                    continue  # the other reader only supports one file
                opened += 1
                expected = Gguf(file)
                self.assertEqual(list(model.keys), list(expected.keys), file)
                for key, value in expected.keys.items():
                    if isinstance(value, list) and value and isinstance(value[0], list):
                        with self.assertRaises(mu.TypeMismatchError):  # the library has no arrays of arrays
                            model.keys[key]
                        continue
                    self.assertTrue(same(model.keys[key], value), (file, key))
                self.assertEqual({name: (t.shape, t.offset) for name, t in model.tensors.items()},
                                 {name: (t[0], expected.begin + t[2]) for name, t in expected.tensors.items()}, file)  # fmt: skip
        self.assertGreater(opened, 0)

    @unittest.skipUnless(os.path.isdir("../shared/corpus"), "no reference data")
    def test_safetensors_of_the_corpora_as_json_says(self):
        opened = 0
        for folder, _, names in os.walk("../shared/corpus"):
            for name in (one for one in names if one.endswith(".safetensors")):
                file = os.path.join(folder, name)
                if "malformed" in file or "holes" in file:
                    continue  # some can be opened nevertheless; json's view of them does not matter here
                model = mu.open(file)
                opened += 1
                size, header = safetensors_header(file)
                self.assertEqual({tensor.name: (tensor.type, tensor.offset, tensor.nbytes) for tensor in model.tensors.values()},
                                 {tensor: (entry["dtype"], 8 + size + entry["data_offsets"][0],
                                           entry["data_offsets"][1] - entry["data_offsets"][0])
                                  for tensor, entry in header.items()}, file)  # fmt: skip
        self.assertGreater(opened, 0)

    def test_names_of_models_in_stores(self):
        with tempfile.TemporaryDirectory() as home, stores_in(home):
            small = path("gguf/small.gguf")
            commit = "a" * 40
            snapshot = f"{home}/hub/models--org--repo/snapshots/{commit}"
            os.makedirs(f"{home}/hub/models--org--repo/refs")
            with open(f"{home}/hub/models--org--repo/refs/main", "w", encoding="ascii") as ref:
                ref.write(commit)
            os.makedirs(snapshot)
            for name in ("small-Q4_K_M.gguf", "small-Q8_0.gguf"):
                shutil.copy(small, f"{snapshot}/{name}")
            os.makedirs(f"{home}/lmstudio/models/org/one")
            shutil.copy(small, f"{home}/lmstudio/models/org/one/one.gguf")
            with open(small, "rb") as file:
                digest = "sha256-" + hashlib.sha256(file.read()).hexdigest()
            os.makedirs(f"{home}/ollama/blobs")
            shutil.copy(small, f"{home}/ollama/blobs/{digest}")
            manifest = f"{home}/ollama/manifests/registry.ollama.ai/library/tiny"
            os.makedirs(manifest)
            layer = {"mediaType": "application/vnd.ollama.image.model", "digest": digest.replace("-", ":"), "size": os.path.getsize(small)}
            with open(f"{manifest}/latest", "w", encoding="ascii") as file:
                json.dump({"schemaVersion": 2, "config": layer, "layers": [layer]}, file)

            keys = dict(mu.open(small).keys)
            for name in ("ollama:tiny", "ollama:tiny:latest", "hf:org/repo/small-Q8_0", "lmstudio:org/one", "llama.cpp:org/repo/small-Q4_K_M.gguf"):
                self.assertEqual(dict(mu.open(name).keys).keys(), keys.keys(), name)
                self.assertTrue(mu.diff(name, small).equal, name)
            self.assertEqual(mu.open("ollama:tiny").files, [f"{home}/ollama/blobs/{digest}"])
            self.assertEqual([report["format"] for report in mu.verify("lmstudio:org/one").reports], ["gguf"])
            with self.assertRaisesRegex(mu.InputError, "several models: name one of them, such as 'hf:org/repo/small-Q4_K_M.gguf'"):
                mu.open("hf:org/repo")
            with self.assertRaisesRegex(mu.InputError, "a model in a store is named 'ollama:tiny'"):
                mu.open("tiny")
            with self.assertRaises(mu.InputError) as missing:
                mu.open("ollama:other")
            self.assertEqual(missing.exception.code, "store-missing")

    def test_safetensors_as_json_says(self):
        file = path("mlx/h96_bf16_4b_g32/model.safetensors")
        size, header = safetensors_header(file)
        model = mu.open(file)
        self.assertEqual(set(model.tensors), set(header))
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            found = model.tensors[name]
            self.assertEqual((found.offset, found.nbytes), (8 + size + begin, end - begin))
            shape = list(found.shape)
            if found.packing:  # a word holds eight 4-bit codes
                shape[-1] //= 8
            self.assertEqual((found.type, shape), (entry["dtype"], entry["shape"]))

    @unittest.skipUnless(os.path.exists(helper), "no libexec/modelutils/fetch next to the library")
    def test_an_address(self):
        with serving(path("gguf")) as address:
            model, expected = mu.open(f"{address}/small.gguf"), mu.open(path("gguf/small.gguf"))
            self.assertEqual(dict(model.keys).keys(), dict(expected.keys).keys())
            self.assertEqual(model.files, [f"{address}/small.gguf"])
            tensor = model.tensors["token_embd.weight"]
            self.assertEqual(tensor.read(), expected.tensors["token_embd.weight"].read())
            if numpy is not None:
                with self.assertRaises(mu.InputError):
                    tensor.numpy(mmap=True)  # remote data cannot be mapped
            self.assertEqual([f.code for f in mu.verify(f"{address}/small.gguf", data=True)], ["gguf-value-nan", "loader-exempt", "data-nan"])
            with self.assertRaises(mu.InputError) as missing:
                mu.open(f"{address}/nothing.gguf")
            self.assertEqual(missing.exception.code, "remote-missing")

    def test_a_split_set_is_one_model(self):
        model = mu.open(path("gguf/split-00002-of-00002.gguf"))
        self.assertEqual([os.path.basename(file)[:11] for file in model.files], ["split-00001", "split-00002"])

    def test_names_of_the_other_format(self):
        model = mu.open(path("demo-model"))
        self.assertEqual(model.tensors["token_embd.weight"].name, "model.embed_tokens.weight")
        self.assertIn("token_embd.weight", model.tensors)
        self.assertNotIn("x\0y", model.tensors)
        packed = model.tensors["token_embd.weight"]
        self.assertEqual((packed.shape, packed.packing, packed.bits, packed.group_size), ((512, 128), "affine", 4, 64))

    def test_rows(self):
        tensor = mu.open(path("gguf/small.gguf")).tensors["token_embd.weight"]
        expected = struct.unpack("<64f", tensor.read(14 * 128))
        rows = tensor.dequantize(rows=slice(14, None))
        self.assertEqual([value for row in rows.tolist() for value in row], list(expected))
        self.assertEqual(tensor.dequantize(-1).tolist(), list(expected[32:]))
        self.assertEqual(tuple(tensor.dequantize().shape), (16, 32))
        self.assertEqual(len(tensor.dequantize(slice(9, 3))), 0)
        for wrong in (16, -17):
            with self.assertRaises(IndexError):
                tensor.dequantize(wrong)
        with self.assertRaises(ValueError):
            tensor.dequantize(slice(0, 8, 2))

    @unittest.skipIf(numpy is None, "no numpy")
    def test_numpy(self):
        for name in ("gguf/small.gguf", "gguf/big-endian.gguf"):
            for tensor in mu.open(path(name)).tensors.values():
                try:
                    copy, view = tensor.numpy(), tensor.numpy(mmap=True)
                except mu.TypeMismatchError as error:
                    self.assertEqual(error.code, "api-type")
                    continue
                self.assertEqual((copy.shape, copy.tobytes()), (tensor.shape, tensor.read()))
                self.assertEqual(view.tobytes(), copy.tobytes())
                self.assertTrue(copy.flags.writeable and not view.flags.writeable)
        packed = mu.open(path("demo-model")).tensors["token_embd.weight"]
        with self.assertRaises(TypeError):
            packed.numpy()

    @unittest.skipIf(numpy is None, "no numpy")
    def test_a_mapped_array_survives_close(self):
        model = mu.open(path("gguf/small.gguf"))
        tensor = model.tensors["token_embd.weight"]
        expected, view = tensor.read(), tensor.numpy(mmap=True)[2:]
        model.close()
        del model, tensor
        self.assertEqual(view.tobytes(), expected[2 * 128 :])


class Errors(unittest.TestCase):
    def test_code_file_and_offset(self):
        with self.assertRaises(mu.InputError) as raised:
            mu.open(path("gguf/hostile.gguf"))
        error = raised.exception
        self.assertEqual((error.code, error.file, error.offset), ("gguf-key-duplicate", path("gguf/hostile.gguf"), 227))
        with self.assertRaises(mu.Error) as raised:
            mu.open(path("nothing"))
        self.assertEqual((raised.exception.code, raised.exception.offset), ("io-open", None))
        self.assertTrue(str(raised.exception).endswith("No such file or directory [io-open]"))

    def test_kinds(self):
        model = mu.open(path("gguf/small.gguf"))
        for mapping in (model.keys, model.tensors):
            with self.assertRaises(KeyError) as raised:
                mapping["nothing"]
            self.assertEqual(raised.exception.code, "api-not-found")
            self.assertIsNone(mapping.get("nothing"))
        for call in (lambda: mu.open("a\0b"), lambda: model.tensors["a\0b"], lambda: mu.fit(model, gpu="24"),
                     lambda: mu.fit(model, gpu="much"), lambda: mu.fit(model, context=0), lambda: mu.fit(model, kv="q4_k"),
                     lambda: mu.tokenize(model, "\ud800")):  # fmt: skip
            with self.assertRaises(mu.ArgumentError):
                call()
        with self.assertRaises(mu.RangeError):
            mu.detokenize(mu.open(path("demo-model")), [512])

    def test_after_close(self):
        with mu.open(path("demo-model")) as model:
            tensor, keys = model.tensors["token_embd.weight"], model.keys
        self.assertTrue(model.closed)
        for call in (tensor.read, tensor.dequantize, tensor.numpy, model.card, model.html, lambda: len(model.tensors),
                     lambda: keys["x"], lambda: mu.tokenize(model, ""), lambda: mu.render(model, []), lambda: mu.fit(model), model.__enter__):  # fmt: skip
            with self.assertRaises(mu.ArgumentError) as raised:
                call()
            self.assertEqual(raised.exception.code, "api-argument")
        model.close()
        self.assertIn("closed", model._repr_html_())

    def test_close_while_others_read(self):
        for _ in range(20):
            model = mu.open(path("demo-model"))
            tensors = list(model.tensors.values())
            others = []

            def read():
                try:
                    for tensor in tensors * 10:
                        tensor.dequantize()
                except mu.ArgumentError as error:
                    others.append(error.code)

            threads = [threading.Thread(target=read) for _ in range(4)]
            for thread in threads:
                thread.start()
            model.close()
            for thread in threads:
                thread.join()
            self.assertLessEqual(set(others), {"api-argument"})


unittest.main()
