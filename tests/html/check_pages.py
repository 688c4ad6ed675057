#!/usr/bin/env python3
"""Checks pages in a browser: usage: check_pages.py CHROMIUM PAGES_DIR [--sample] [PICTURES_DIR]

PAGES_DIR has model.html, values.html, directory.html, diff.html and hostile.html, which tests/html/check writes, and,
if Python can load the library, notebook.html with a notebook's output for two models."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402

SAMPLE = "--sample" in sys.argv
WIDTHS, THEMES = (360,) if SAMPLE else (360, 800, 1600), ("light", "dark")
PRINTABLE = 703  # CSS pixels of A4 between margins of 12 mm
SECTIONS = {
    "model": ["model", "types", "layers", "memory", "keys", "template", "tensors", "vocabulary"],
    "values": ["model", "types", "layers", "memory", "keys", "template", "statistics", "tensors", "vocabulary"],
    "directory": ["model", "remarks", "types", "layers", "memory", "keys", "template", "statistics", "tensors", "vocabulary"],
    "diff": ["summary", "error", "types", "keys"],
    "hostile": ["model", "remarks", "types", "layers", "keys", "template", "tensors", "vocabulary"],
}
# Notebooks leave out the vocabulary.
SECTIONS_OF_FRAMES = {"hostile": ["model", "remarks", "types", "layers", "keys", "template", "tensors"],
                      "directory": ["model", "remarks", "types", "layers", "memory", "keys", "template", "tensors"]}
if SAMPLE:
    SECTIONS = {name: SECTIONS[name] for name in ("model", "hostile")}
failed = 0


def expect(what, found, wanted):
    global failed
    if found != wanted:
        failed += 1
        print("failed: %s: %r, not %r" % (what, found, wanted))


def everywhere(browser, name, pictures):
    """Checks that apply to every page in every form."""
    questions = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "questions.js")).read()
    browser.run("globalThis.questions = " + questions.split("\n", 1)[1])
    expect(name + ": sections", browser.run("[...document.querySelectorAll('main > section')].map((one) => one.id)"), SECTIONS[name])
    expect(name + ": without a name", browser.run("questions.unnamed()"), [])
    expect(name + ": elements from a text", browser.run("questions.strange()"), [])
    expect(name + ": unsafe characters", browser.run("questions.unsafe()"), 0)
    for theme in THEMES:
        for width in WIDTHS:
            browser.show_as(width, theme)
            form = "%s, %s, %d pixels" % (name, theme, width)
            expect(form + ": too wide", browser.run("questions.wide(false)"), [])
            if pictures:
                browser.screenshot(os.path.join(pictures, "%s-%s-%d.png" % (name, theme, width)), 1400 if width > 500 else 1700)
        expect("%s, %s: too faint" % (name, theme), browser.run("questions.faint()"), [])
    browser.show_as(PRINTABLE, "light", medium="print")
    expect(name + ": cut on paper", browser.run("questions.wide(true)"), [])
    browser.show_as(1200, "light")
    if pictures:
        browser.pdf(os.path.join(pictures, name + ".pdf"))
    expect(name + ": complaints", browser.complaints(), [])


def status(browser, table):
    return browser.run("document.querySelector('#%s-table .status').textContent" % table)


SEE_THE_VOCABULARY = "document.getElementById('vocabulary').scrollIntoView({ behavior: 'instant' })"


def wait_for(browser, condition):
    """Waits until a condition of the page holds, ten seconds at most. Returns whether it does."""
    return browser.run("""new Promise((done) => {
      const end = Date.now() + 10000;
      const look = () => ((%s) ? done(true) : Date.now() > end ? done(false) : setTimeout(look, 20));
      look();
    })""" % condition)


def vocabulary(browser, page):
    """The vocabulary is unpacked when it is seen, and a search that has begun goes on. A browser that cannot unpack it
    says so, and where the tokens are."""
    browser.open(page)
    expect("tokens before they are seen", status(browser, "vocabulary"), "1–100 of 256")
    browser.run("document.getElementById('vocabulary-search').focus({ preventScroll: true })")
    browser.run("document.activeElement.value = 'zz'; " + SEE_THE_VOCABULARY)
    expect("all tokens", wait_for(browser, "document.querySelector('#vocabulary-table .status').textContent.includes('128,256')"), True)
    expect("the search goes on", browser.run("`${document.activeElement.id} ${document.activeElement.value}`"), "vocabulary-search zz")
    expect("unpacking: complaints", browser.complaints(), [])
    browser.open(page, "delete window.DecompressionStream")
    browser.run(SEE_THE_VOCABULARY)
    text = "document.getElementById('vocabulary').textContent"
    expect("without DecompressionStream", wait_for(browser, text + ".includes('gguf-dump --tokens all model.gguf')"), True)
    expect("its tokens", status(browser, "vocabulary"), "1–100 of 256")
    expect("without DecompressionStream: complaints", browser.complaints(), [])


def by_keyboard(browser):
    """Uses the page of a model with the keyboard only."""
    browser.run("document.body.focus(); scrollTo(0, 0)")
    browser.press("Tab")
    expect("the first stop", browser.run("document.activeElement.className"), "skip")
    browser.tab_to("#types .figure")
    for key in ("ArrowRight", "End", "Home"):
        browser.press(key)
    expect("the largest tensor", browser.run("document.querySelector('#types .status').textContent"),
           "output.weight: Q6_K, 4096 × 128256, 431 MB, 8.8 % of all")
    browser.tab_to("#layers summary")
    browser.press("Enter")
    expect("a part folds", browser.run("document.querySelector('#layers details').open"), False)
    browser.press(" ")
    expect("and unfolds", browser.run("document.querySelector('#layers details').open"), True)
    browser.tab_to("#keys-search")
    browser.type("ROPE")
    expect("keys found", status(browser, "keys"), "1–2 of 2 found of 25")
    expect("the first of them", browser.run("document.querySelector('#keys-table tbody th').textContent"), "llama.rope.freq_base")
    browser.tab_to("#tensors-table .buttons button:nth-child(3)")
    browser.press("Enter")
    expect("the next page", status(browser, "tensors"), "51–100 of 292")
    browser.press(" ")
    expect("the one after it", status(browser, "tensors"), "101–150 of 292")
    browser.tab_to("#tensors-table th:last-child button.sort")
    browser.press("Enter")
    expect("the largest first", browser.run("document.querySelector('#tensors-table tbody th').textContent"), "output.weight")
    browser.tab_to("#vocabulary-search")
    wait_for(browser, "document.querySelector('#vocabulary-table .status').textContent.includes('128,256')")
    browser.type("zzzz")
    expect("no token", status(browser, "vocabulary"), "nothing found among 128,256")


def hostile(browser):
    text = browser.run("document.getElementById('page').textContent")
    for wanted in ("</script><script>window.hacked = 2</script>", "<!--<script>", "a\\u{202e}gnp.exe", "broken \ufffd\ufffd text",
                   "(9,934,464 more characters)", "a name of JavaScript", "nul\\u{0}bell\\u{7}escape\\u{1b}[31m"):
        expect("shown as text: " + wanted, wanted in text, True)
    expect("the title", browser.run("document.title"), "</script><script>window.hacked = 2</script>a\\u{202e}gnp.exe")
    expect("scripts that ran", browser.run("String(window.hacked)"), "undefined")
    # Even if a text became markup, the policy must stop it.
    browser.run("{ const one = document.createElement('script'); one.textContent = 'window.hacked = 6'; document.body.append(one); }")
    browser.run("fetch('http://127.0.0.1:9/').catch(() => 0)")
    expect("scripts that ran past the policy", browser.run("String(window.hacked)"), "undefined")
    refused = [one for one in browser.complaints() if "Content Security Policy" in one]
    for what in ("inline script", "http://127.0.0.1:9/"):
        expect("the policy refused: " + what, any(what in one for one in refused), True)
    expect("requests past the policy", [one for one in browser.complaints() if one.startswith("request: ")], [])


def notebook(browser):
    """Checks that two models in frames are both drawn, do not affect each other, and keep their links inside."""
    frames = browser.frames()
    expect("frames", len(frames), 2)
    for name, frame in zip(("hostile", "directory"), frames):
        wanted = SECTIONS_OF_FRAMES[name]
        sections = "[...document.querySelectorAll('main > section')].map((one) => one.id)"
        expect(name + " in a frame: sections", browser.run(sections, frame), wanted)
        expect(name + " in a frame: its origin", browser.run("origin", frame), "null")
        expect(name + " in a frame: scripts that ran", browser.run("String(window.hacked)", frame), "undefined")
        reached = browser.run("(() => { try { return parent.document.title; } catch (error) { return error.name; } })()", frame)
        expect(name + " in a frame: what it reaches", reached, "SecurityError")
        browser.run("document.querySelector('nav a[href=\"#tensors\"]').click()", frame)
        browser.run("new Promise((done) => setTimeout(done, 0))", frame)
        expect(name + " in a frame: after a link", browser.run(sections, frame), wanted)
        place = "(() => { const at = document.getElementById('tensors').getBoundingClientRect(); return at.top >= 0 && at.top < innerHeight; })()"
        browser.run("document.documentElement.style.scrollBehavior = 'auto'; document.querySelector('nav a[href=\"#tensors\"]').click()", frame)
        expect(name + " in a frame: the link leads there", browser.run(place, frame), True)
    expect("the notebook's own scripts", browser.run("String(window.hacked)"), "undefined")
    expect("notebook: complaints", browser.complaints(), [])


def main():
    program, pages, *rest = [one for one in sys.argv[1:] if one != "--sample"]
    pages, pictures = os.path.abspath(pages), rest[0] if rest else None
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(program, profile)
        try:
            for name in SECTIONS:
                browser.show_as(1200, "light")
                browser.open("file://%s/%s.html" % (pages, name))
                everywhere(browser, name, pictures)
                if name == "model":
                    by_keyboard(browser)
                    vocabulary(browser, "file://%s/%s.html" % (pages, name))
                if name == "hostile":
                    hostile(browser)
            if os.path.exists(os.path.join(pages, "notebook.html")):
                browser.show_as(1200, "light")
                browser.open("file://%s/notebook.html" % pages)
                notebook(browser)
        finally:
            browser.close()
    print("%d pages in %d widths and %d themes, on paper, by keyboard: %s" %
          (len(SECTIONS), len(WIDTHS), len(THEMES), "%d failed" % failed if failed else "fine"))
    return 1 if failed else 0


sys.exit(main())
