"""Tests verify --signature with valid and faulty model signatures made by OpenSSL's program.
usage: signatures.py VERIFY"""

import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile

VERIFY = os.path.abspath(sys.argv[1])
TYPE = "application/vnd.in-toto+json"
failed = 0


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True).stdout


def statement(root, method="files", hash_type="sha256", links=False, ignore=(), shard=4):
    resources = []
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, root)
            if relative == "model.sig" or relative in ignore:
                continue
            content = open(path, "rb").read()
            pieces = [(relative, content)]
            if method == "shards":
                pieces = [(f"{relative}:{at}:{min(at + shard, len(content))}", content[at:at + shard])
                          for at in range(0, len(content), shard)]
            for piece, data in pieces:
                digest = hashlib.blake2b(data) if hash_type == "blake2b" else hashlib.sha256(data)
                resources.append({"name": piece, "digest": digest.hexdigest(), "algorithm": hash_type})
    resources.sort(key=lambda each: each["name"])
    serialization = {"method": method, "hash_type": hash_type, "allow_symlinks": links, "ignore_paths": list(ignore)}
    if method == "shards":
        serialization["shard_size"] = shard
    digest = hashlib.sha256(b"".join(bytes.fromhex(each["digest"]) for each in resources)).hexdigest()
    return {"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": "model", "digest": {"sha256": digest}}],
            "predicateType": "https://model_signing/signature/v1.0",
            "predicate": {"resources": resources, "serialization": serialization}}


def bundle(payload, key, material, digest="sha256"):
    if not isinstance(payload, bytes):
        payload = json.dumps(payload, separators=(",", ":")).encode()
    signed = b"DSSEv1 %d %s %d %s" % (len(TYPE), TYPE.encode(), len(payload), payload)
    signature = openssl("dgst", f"-{digest}", "-sign", key, data=signed)
    return {"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": material,
            "dsseEnvelope": {"payload": base64.b64encode(payload).decode(), "payloadType": TYPE,
                             "signatures": [{"sig": base64.b64encode(signature).decode(), "keyid": ""}]}}


def hint(public):
    return {"publicKey": {"hint": hashlib.sha256(open(public, "rb").read()).hexdigest()}, "tlogEntries": []}


def run(*arguments):
    done = subprocess.run([VERIFY, "--json", *arguments], capture_output=True, text=True)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    codes = [finding["code"] for report in reports if report["format"] == "signature" for finding in report["findings"]]
    return done.returncode, sorted(set(codes)), done.stderr


def expect(what, status, codes, *arguments):
    global failed
    got = run(*arguments)
    if got[:2] != (status, sorted(codes)):
        failed += 1
        print(f"{what}: status {got[0]} with {got[1]}, not {status} with {sorted(codes)}\n  {got[2]}")


def write(path, content):
    with open(path, "wb") as out:
        out.write(content if isinstance(content, bytes) else json.dumps(content).encode())


def sign_model(root, key, public, digest="sha256", **options):
    write(f"{root}/model.sig", bundle(statement(root, **options), key, hint(public), digest))


def make_model(root):
    os.makedirs(f"{root}/deep/er")
    write(f"{root}/weights", b"0123456789")
    write(f"{root}/deep/er/more", b"abcdefgh")
    write(f"{root}/empty", b"")


def with_key(work):
    for curve, digest in (("prime256v1", "sha256"), ("secp384r1", "sha384"), ("secp521r1", "sha512")):
        key, public, root = f"{work}/{curve}.pem", f"{work}/{curve}.pub", f"{work}/{curve}"
        openssl("ecparam", "-name", curve, "-genkey", "-noout", "-out", key)
        write(public, openssl("ec", "-in", key, "-pubout"))
        make_model(root)
        sign_model(root, key, public, digest)
        expect(curve, 0, [], "--signature", f"{root}/model.sig", "--key", public, root)
    other = f"{work}/secp384r1.pub"
    key, public, root = f"{work}/prime256v1.pem", f"{work}/prime256v1.pub", f"{work}/prime256v1"
    good = ["--signature", f"{root}/model.sig", "--key", public, root]
    expect("another key", 1, ["signature-key"], *good[:3], other, root)
    expect("a certificate", 1, ["signature-method"], *good[:2], "--certificate", certificates(work)["root"], root)
    signed = open(f"{root}/model.sig", "rb").read()
    no_hint = json.loads(signed)
    no_hint["verificationMaterial"]["publicKey"] = {"rawBytes": "AA==", "keyDetails": "PKIX_ECDSA_P256_SHA_256"}
    write(f"{root}/model.sig", no_hint)
    expect("before 1.1", 0, [], *good)
    expect("before 1.1, another key", 1, ["signature-wrong"], *good[:3], other, root)
    write(f"{root}/model.sig", signed)

    os.rename(f"{root}/weights", f"{work}/held")
    expect("missing", 1, ["signature-file-missing"], *good)
    write(f"{root}/weights", b"0123456780")
    expect("differs", 1, ["signature-file"], *good)
    os.remove(f"{root}/weights")
    os.symlink(f"{work}/held", f"{root}/weights")
    expect("link", 1, ["signature-link"], *good)
    os.rename(f"{work}/held", f"{root}/weights")
    write(f"{root}/deep/added.py", b"import os")
    expect("added", 1, ["signature-file-unsigned"], *good)
    os.remove(f"{root}/deep/added.py")
    os.makedirs(f"{root}/.git/deep")
    write(f"{root}/.git/deep/HEAD", b"x")
    write(f"{root}/cache", b"x")
    expect("Git's own files are not signed", 1, ["signature-file-unsigned"], *good)
    sign_model(root, key, public, ignore=("cache", ".git/deep/HEAD"))
    expect("left out by the signer", 0, [], *good)
    sign_model(root, key, public, ignore=("cache", ".git/deep/HEAD"), hash_type="blake2b")
    expect("blake2b", 0, [], *good)
    sign_model(root, key, public, ignore=("cache", ".git/deep/HEAD"), method="shards")
    expect("shards", 0, [], *good)
    write(f"{root}/weights", b"0123456789+")
    expect("longer than its shards", 1, ["signature-file"], *good)
    write(f"{root}/weights", b"01234567")
    expect("shorter than its shards", 1, ["signature-file"], *good)
    write(f"{root}/weights", b"0123456789")

    sign_model(root, key, public, ignore=("cache", ".git/deep/HEAD"))
    expect("before links", 0, [], *good)
    os.mkdir(f"{work}/elsewhere")
    write(f"{work}/elsewhere/modeling.py", b"import os")
    for what, target in (("a folder linked in later", f"{work}/elsewhere"), ("a circle", "."), ("a circle of two", "../prime256v1"),
                         ("a folder of the model", "deep")):
        os.symlink(target, f"{root}/later")
        expect(what, 1, ["signature-link"], *good)
        expect(f"{what}, links followed", 1, ["signature-link"], "--follow-links", *good)
        os.remove(f"{root}/later")
    os.symlink(f"{work}/elsewhere", f"{root}/cached")
    expect("beside a name that is left out", 1, ["signature-link"], *good)
    os.remove(f"{root}/cached")
    os.symlink("nowhere", f"{root}/dangling")
    expect("a dangling link", 1, ["signature-file-unsigned"], *good)
    os.remove(f"{root}/dangling")
    os.rename(f"{root}/deep", f"{work}/moved")
    os.symlink(f"{work}/moved", f"{root}/deep")
    expect("a signed folder that became a link", 1, ["signature-link"], *good)
    sign_model(root, key, public, ignore=("cache", ".git/deep/HEAD"), links=True)
    expect("a folder that was a link when links were followed", 1, ["signature-file-unsigned"], *good)
    following = statement(root, ignore=("cache", ".git/deep/HEAD"), links=True)
    following["predicate"]["resources"].append({"name": "deep/er/more", "digest": hashlib.sha256(b"abcdefgh").hexdigest(),
                                                "algorithm": "sha256"})
    write(f"{root}/model.sig", bundle(following, key, hint(public)))
    expect("a linked folder whose files are signed", 0, [], *good)
    write(f"{work}/moved/added.py", b"import os")
    expect("a file more in it", 1, ["signature-file-unsigned"], *good)
    os.remove(f"{work}/moved/added.py")
    os.symlink(".", f"{work}/moved/again")
    expect("a circle in it", 1, ["signature-file-unsigned"], *good)
    os.remove(f"{work}/moved/again")
    os.remove(f"{root}/deep")
    os.rename(f"{work}/moved", f"{root}/deep")

    sharded = statement(root, ignore=("cache", ".git/deep/HEAD"), method="shards")
    for name in ("weights:0:4", "weights:4:8", "weights:8:10"):
        gap = json.loads(json.dumps(sharded))
        gap["predicate"]["resources"] = [each for each in gap["predicate"]["resources"] if each["name"] != name]
        write(f"{root}/model.sig", bundle(gap, key, hint(public)))
        expect(f"without the shard {name}", 1, ["signature-file"], *good)
    short = json.loads(json.dumps(sharded))
    for each in short["predicate"]["resources"]:
        if each["name"] == "weights:4:8":
            each.update(name="weights:4:7", digest=hashlib.sha256(b"456").hexdigest())
    write(f"{root}/model.sig", bundle(short, key, hint(public)))
    expect("a shard that ends early", 1, ["signature-file"], *good)
    write(f"{root}/model.sig", bundle(sharded, key, hint(public)))
    expect("all shards", 0, [], *good)

    single = statement(root, ignore=("cache", ".git/deep/HEAD", "deep/er/more", "empty"))
    write(f"{work}/single.sig", bundle(single, key, hint(public)))
    expect("one file", 0, [], "--signature", f"{work}/single.sig", "--key", public, f"{root}/weights")
    expect("another file", 1, ["signature-file-missing"], "--signature", f"{work}/single.sig", "--key", public,
           f"{root}/empty")
    itself = statement(root, ignore=("cache", ".git/deep/HEAD", "deep/er/more", "empty"))  # as model_signing names it
    itself["predicate"]["resources"][0]["name"] = "."
    write(f"{work}/single.sig", bundle(itself, key, hint(public)))
    expect("one file called '.'", 0, [], "--signature", f"{work}/single.sig", "--key", public, f"{root}/weights")
    expect("another file than '.'", 1, ["signature-file"], "--signature", f"{work}/single.sig", "--key", public,
           f"{root}/empty")
    expect("a folder instead of '.'", 1, ["signature-file-missing"], "--signature", f"{work}/single.sig", "--key", public, root)
    old = json.loads(json.dumps(single))
    old["predicateType"] = "https://model_signing/Digests/v0.1"
    write(f"{work}/single.sig", bundle(old, key, hint(public), "sha512"))
    expect("an old statement whose signature is of other bytes", 1, ["signature-statement"], "--signature",
           f"{work}/single.sig", "--key", public, f"{root}/weights")
    wrong_statements(work, root, key, public, single)
    wrong_bundles(work, root, key, public, single)
    each_byte(work, key, public)


def wrong_statements(work, root, key, public, good):
    def changed(change):
        copy = json.loads(json.dumps(good))
        change(copy)
        return copy

    resource = good["predicate"]["resources"][0]
    for what, code, change in (
            ("an old predicate", "signature-statement", lambda s: s.update(predicateType="https://model_signing/Digests/v0.1")),
            ("another predicate", "signature-statement", lambda s: s.update(predicateType="https://example.com/x")),
            ("another statement", "signature-statement", lambda s: s.update(_type="x")),
            ("no file", "signature-statement", lambda s: s["predicate"].update(resources=[])),
            ("itself beside a file", "signature-statement",
             lambda s: s["predicate"]["resources"].append(dict(resource, name="."))),
            ("a file twice", "signature-statement", lambda s: s["predicate"]["resources"].append(resource)),
            ("out of the folder", "signature-statement", lambda s: s["predicate"]["resources"][0].update(name="../weights")),
            ("absolute", "signature-statement", lambda s: s["predicate"]["resources"][0].update(name="/etc/passwd")),
            ("a short digest", "signature-statement", lambda s: s["predicate"]["resources"][0].update(digest="00")),
            ("a shard of no size", "signature-statement", lambda s: s["predicate"]["serialization"].update(method="shards")),
            ("BLAKE3", "signature-hash", lambda s: s["predicate"]["serialization"].update(hash_type="blake3"))):
        write(f"{work}/wrong.sig", bundle(changed(change), key, hint(public)))
        expect(what, 1, [code], "--signature", f"{work}/wrong.sig", "--key", public, f"{root}/weights")
    write(f"{work}/wrong.sig", bundle(b"{", key, hint(public)))
    expect("no JSON", 1, ["json-syntax"], "--signature", f"{work}/wrong.sig", "--key", public, f"{root}/weights")


def wrong_bundles(work, root, key, public, payload):
    good = bundle(payload, key, hint(public))
    sigstore = dict(good, verificationMaterial={"certificate": {"rawBytes": "AA=="}, "tlogEntries": [{"logIndex": "1"}]})
    no_log = dict(good, verificationMaterial={"certificate": {"rawBytes": "AA=="}})
    envelope = good["dsseEnvelope"]
    for what, code, content in (
            ("empty", "json-syntax", b""), ("no object", "signature-bundle", []),
            ("no envelope", "signature-bundle", {k: v for k, v in good.items() if k != "dsseEnvelope"}),
            ("another media type", "signature-bundle", dict(good, mediaType="text/plain")),
            ("an unknown member", "signature-bundle", dict(good, more=1)),
            ("two signatures", "signature-bundle", dict(good, dsseEnvelope=dict(envelope, signatures=envelope["signatures"] * 2))),
            ("no base64", "signature-bundle", dict(good, dsseEnvelope=dict(envelope, payload="!"))),
            ("another payload type", "signature-bundle", dict(good, dsseEnvelope=dict(envelope, payloadType="text/plain"))),
            ("Sigstore without its log", "signature-bundle", no_log), ("Sigstore", "signature-method", sigstore)):
        write(f"{work}/wrong.sig", content)
        expect(what, 1, [code], "--signature", f"{work}/wrong.sig", "--key", public, f"{root}/weights")
    write(f"{work}/wrong.sig", good)
    expect("no key at all", 3, ["signature-trust"], "--signature", f"{work}/wrong.sig", "--key", f"{root}/weights",
           f"{root}/weights")
    expect("no certificate at all", 3, ["signature-trust"], "--signature", f"{work}/wrong.sig", "--certificate", public,
           f"{root}/weights")
    expect("no bundle", 3, ["io-open"], "--signature", f"{work}/none.sig", "--key", public, f"{root}/weights")


def each_byte(work, key, public):
    """Checks that every change of a byte in a bundle is detected."""
    global failed
    root = f"{work}/small"
    os.mkdir(root)
    write(f"{root}/w", b"1")
    good = json.dumps(bundle(statement(root), key, hint(public)), separators=(",", ":")).encode()
    for at in range(len(good)):
        changed = bytearray(good)
        changed[at] ^= 1
        write(f"{work}/flipped.sig", bytes(changed))
        status = run("--signature", f"{work}/flipped.sig", "--key", public, root)[0]
        if status != 1:
            failed += 1
            print(f"byte {at} of {len(good)} changed ({good[at:at + 1]} to {changed[at:at + 1]}): status {status}")


made = {}


def certificates(work):
    """Creates a root, an intermediate and leaf certificates, as files."""
    if made:
        return made

    def make(name, issuer, extensions, days="3650"):
        openssl("ecparam", "-name", "secp384r1", "-genkey", "-noout", "-out", f"{work}/{name}.key")
        request = openssl("req", "-new", "-key", f"{work}/{name}.key", "-subj", f"/CN={name}")
        write(f"{work}/extensions", extensions.encode())
        signer = ["-key", f"{work}/{name}.key"] if issuer is None else ["-CA", f"{work}/{issuer}.crt", "-CAkey", f"{work}/{issuer}.key"]
        signer = ["-signkey", f"{work}/{name}.key"] if issuer is None else signer
        openssl("x509", "-req", *signer, "-days", days, "-sha384", "-set_serial", str(len(made) + 1), "-extfile",
                f"{work}/extensions", "-out", f"{work}/{name}.crt", data=request)
        made[name] = f"{work}/{name}.crt"

    authority = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n"
    make("root", None, authority)
    make("other", None, authority)
    make("middle", "root", authority)
    make("leaf", "middle", "keyUsage=critical,digitalSignature\nextendedKeyUsage=codeSigning\n")
    # Expires in the second in which it begins; OpenSSL 3.4 and newer create none that expire earlier.
    make("expired", "middle", "keyUsage=critical,digitalSignature\n", days="0")
    make("useless", "middle", "keyUsage=critical,keyEncipherment\n")
    return made


def with_certificate(work):
    made = certificates(work)
    root = f"{work}/certified"
    make_model(root)

    def sign(leaf, chain=("middle",), key=None):
        der = [base64.b64encode(openssl("x509", "-in", made[name], "-outform", "DER")).decode() for name in (leaf, *chain)]
        material = {"x509CertificateChain": {"certificates": [{"rawBytes": each} for each in der]}, "tlogEntries": []}
        write(f"{root}/model.sig", bundle(statement(root), f"{work}/{key or leaf}.key", material, "sha384"))

    def judge(what, codes, trusted):
        expect(what, 1 if codes else 0, codes, "--signature", f"{root}/model.sig", "--certificate", made[trusted], root)

    sign("leaf")
    judge("a chain", [], "root")
    judge("an intermediate that is trusted", [], "middle")
    judge("another root", ["signature-certificate"], "other")
    expect("a key", 1, ["signature-method"], "--signature", f"{root}/model.sig", "--key", f"{work}/prime256v1.pub", root)
    sign("leaf", ())
    judge("a chain with a gap", ["signature-certificate"], "root")
    sign("leaf", key="useless")
    judge("another key than the leaf's", ["signature-wrong"], "root")
    sign("expired")
    judge("expired", ["signature-certificate"], "root")
    sign("useless")
    judge("not for signing", ["signature-certificate"], "root")
    broken = json.load(open(f"{root}/model.sig"))
    broken["verificationMaterial"]["x509CertificateChain"]["certificates"][0]["rawBytes"] = "AAAA"
    write(f"{root}/model.sig", broken)
    judge("no certificate", ["signature-certificate"], "root")


with tempfile.TemporaryDirectory() as folder:
    with_key(folder)
    with_certificate(folder)
print(f"{failed} failed" if failed else "all as expected")
sys.exit(1 if failed else 0)
