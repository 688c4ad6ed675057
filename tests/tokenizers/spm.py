# Trains small SentencePiece models on this project's documentation, and encodes texts with them.
#   /usr/bin/python3 spm.py train VARIANT MODEL TEXT_FILE…
#   /usr/bin/python3 spm.py variants
#   /usr/bin/python3 spm.py encode MODEL <TEXTS.json >IDS.json
# (encode-without-bytes: gives one unknown token for consecutive bytes)
import json
import sys

import sentencepiece

VARIANTS = {
    # As in T5 and XLM-R: NFKC, merged spaces, one space before the text.
    "unigram": {"model_type": "unigram", "vocab_size": 3000},
    # As in current Japanese models: unchanged texts, bytes for characters that are not in the vocabulary.
    "unigram-identity": {"model_type": "unigram", "vocab_size": 2000, "normalization_rule_name": "identity",
                         "remove_extra_whitespaces": False, "byte_fallback": True},
    "unigram-no-prefix": {"model_type": "unigram", "vocab_size": 2000, "normalization_rule_name": "nmt_nfkc_cf",
                          "remove_extra_whitespaces": False, "add_dummy_prefix": False},
    "unigram-half": {"model_type": "unigram", "vocab_size": 2000, "add_dummy_prefix": False},
    # As in Llama 2.
    "bpe": {"model_type": "bpe", "vocab_size": 2000, "normalization_rule_name": "identity", "byte_fallback": True,
            "remove_extra_whitespaces": False, "split_digits": True, "allow_whitespace_only_pieces": True},
    "bpe-no-prefix": {"model_type": "bpe", "vocab_size": 2000, "normalization_rule_name": "identity",
                      "byte_fallback": True, "remove_extra_whitespaces": False, "add_dummy_prefix": False},
}


def train(variant, model, files):
    lines = [line for name in files for line in open(name, encoding="utf-8").read().splitlines() if line]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=model.removesuffix(".model"),
                                             character_coverage=0.9998, hard_vocab_limit=False, minloglevel=2,
                                             num_threads=1, **VARIANTS[variant])


def encode(model, with_bytes):
    processor = sentencepiece.SentencePieceProcessor(model_file=model)

    def without_bytes(ids):
        kept = []
        for one in (processor.unk_id() if processor.is_byte(one) else one for one in ids):
            if not kept or one != processor.unk_id() or kept[-1] != one:
                kept.append(one)
        return kept

    ids = [processor.encode(text) for text in json.load(sys.stdin)]
    print(json.dumps(ids if with_bytes else [without_bytes(one) for one in ids]))


if sys.argv[1] == "train":
    train(sys.argv[2], sys.argv[3], sys.argv[4:])
elif sys.argv[1] == "variants":
    print("\n".join(VARIANTS))
else:
    encode(sys.argv[2], with_bytes=sys.argv[1] == "encode")
