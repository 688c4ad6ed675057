#!/usr/bin/env python3
"""Tests the reports of the package modelutils: findings, differences, memory, prompts, tokens, pages.
usage: reports_test.py TEST_DATA_DIR (with MODELUTILS_LIBRARY and PYTHONPATH)"""

import json
import os
import shutil
import sys
import tempfile
import unittest
from html.parser import HTMLParser

import modelutils as mu

data = sys.argv.pop(1)


def path(name):
    return os.path.join(data, name)


class Reports(unittest.TestCase):
    def test_verify(self):
        findings = mu.verify(path("gguf/small.gguf"), data=True)
        self.assertEqual([finding.code for finding in findings], ["gguf-value-nan", "loader-exempt", "data-nan"])
        self.assertNotIn("data-nan", [finding.code for finding in mu.verify(path("gguf/small.gguf"))])
        broken = mu.verify(path("gguf/hostile.gguf"))
        self.assertFalse(broken.ok)
        self.assertIn(("gguf-key-duplicate", 227), [(finding.code, finding.offset) for finding in broken])
        with self.assertRaises(mu.InputError):
            mu.verify(path("nothing"))

    def test_diff(self):
        equal = mu.diff(path("gguf/small.gguf"), path("gguf/small.gguf"), data=True)
        self.assertEqual((equal.equal, equal.tensors.changed), (True, []))
        other = mu.diff(path("gguf/small.gguf"), path("demo-model"))
        self.assertIn("rope_freqs.weight", other.tensors.added)
        with self.assertRaises(AttributeError):
            other.nothing

    def test_fit(self):
        # Two layers with two KV heads of 32 values: 32768 x 2 x 32 x 2 x 2 bytes of keys.
        fit = mu.fit(path("demo-model"), context=32768, gpu="24G")
        self.assertEqual((fit.fits, fit.alternatives, fit.contexts[0].k_bytes), (True, [], 8388608))
        self.assertEqual(fit.options.gpu, 24 * 1024**3)
        small = mu.fit(path("demo-model"), context=[256, 512], gpu="1M", margin=0)
        self.assertFalse(small.fits)
        self.assertEqual([context.n_ctx for context in small.contexts], [256, 512])

    def test_prompts(self):
        model = mu.open(path("demo-model"))
        messages = [{"role": "user", "content": "Gr\u00fc\u00dfe \U0001f642"}, {"role": "assistant", "content": "\n"}]
        expected = "<|begin_of_text|>user: Gr\u00fc\u00dfe \U0001f642<|eot_id|>\nassistant: \n<|eot_id|>\n"
        self.assertEqual(mu.render(model, messages), expected)
        self.assertEqual(mu.render(model, tuple(messages), tools=[], documents=[], unused=1.5), expected)
        ids = mu.tokenize(model, expected, parse_special=True)
        self.assertEqual(ids[0], 509)  # <|begin_of_text|>
        self.assertEqual(ids.count(511), 2)  # <|eot_id|>
        for wrong in (object(), float("nan"), {1: object()}):
            with self.assertRaises(mu.ArgumentError):
                mu.render(model, [{"role": wrong}])
        with self.assertRaises(mu.NotFoundError) as missing:
            mu.render(model, messages, template="tools")
        self.assertEqual(missing.exception.code, "template-missing")
        for wrong, code in (([{"content": 10**30}], "template-messages"), (None, "template-error")):
            with self.assertRaises(mu.InputError) as refused:
                mu.render(model, wrong)
            self.assertEqual(refused.exception.code, code)

    def test_tokens(self):
        model = mu.open(path("demo-model"))
        for text in ("Hello world", "", "a\0b", "\u20ac 12"):
            self.assertEqual(mu.detokenize(model, mu.tokenize(model, text)), text)

    def test_html(self):
        model = mu.open(path("demo-model"))
        page = model.html()
        self.assertTrue(page.startswith("<!DOCTYPE html>\n") and page.endswith("</html>\n"))
        self.assertEqual(schemas(page), ["page/1", "card/1", "st-dump/1"])
        self.assertEqual(schemas(model.html(vocabulary=True, statistics=True, memory=True)),
                         ["page/1", "card/1", "st-dump/1", *["stats/1"] * len(model.tensors), "fit/1", "vocabulary/1"])  # fmt: skip
        self.assertIn('"n_ctx":4096', model.html(memory={"context": 4096, "gpu": "24G"}))
        for wrong in ({"context": 0}, {"gpu": "much"}):
            with self.assertRaises(mu.ArgumentError):
                model.html(memory=wrong)
        with self.assertRaises(TypeError):
            model.html(memory={"color": 1})

    def test_a_notebook_shows_the_page_in_a_frame(self):
        model = mu.open(path("demo-model"))
        frames = Frames(model._repr_html_())
        [frame] = frames.frames
        self.assertEqual(frame["srcdoc"], model.html(memory=True))
        # Scripts run without an origin, so the notebook and its server are out of reach.
        self.assertEqual(frame["sandbox"], "allow-scripts")
        self.assertEqual(frames.text, repr(model))
        with tempfile.TemporaryDirectory() as folder:
            hostile = os.path.join(folder, "<script>\x1b&lt;.gguf")
            shutil.copyfile(path("gguf/small.gguf"), hostile)
            frames = Frames(mu.open(hostile)._repr_html_())
        self.assertEqual(frames.tags, ["code", "iframe"])
        self.assertIn("<script>\\x1b&lt;.gguf", frames.text)
        # Many tensors would make a notebook of many megabytes. Models that cannot become a GGUF have no memory plan.
        from modelutils import _notebook

        most, _notebook._MOST_TENSORS = _notebook._MOST_TENSORS, 3
        try:
            self.assertEqual(Frames(model._repr_html_()).tags, ["code"])
        finally:
            _notebook._MOST_TENSORS = most
        self.assertEqual(schemas(Frames(mu.open(path("mlx/h96_bf16_4b_g32"))._repr_html_()).frames[0]["srcdoc"])[0], "page/1")


def schemas(page):
    """Returns the schemas of the reports in a page."""
    data = page.split(' id="data">', 1)[1].split("</script>", 1)[0]
    return [report["schema"] for report in json.loads(data)]


class Frames(HTMLParser):
    """Collects the tags of a fragment, its text, and the attributes of its frames."""

    def __init__(self, fragment):
        super().__init__()
        self.tags, self.text, self.frames = [], "", []
        self.feed(fragment)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "iframe":
            self.frames.append(dict(attributes))

    def handle_data(self, data):
        self.text += data


unittest.main()
