import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocha
from tocha_text import BPETokenizer, CharTokenizer, Tokenizer

TEXT = "the quick brown fox jumps over the lazy dog; " * 20 + "não, ação, coração: 日本語 🙂\n"


def test_char_tokenizer_numbers_the_sorted_characters():
    tokenizer = CharTokenizer.train(["banana", "cab"])
    assert tokenizer.alphabet == "abcn" and tokenizer.vocab_size == len(tokenizer) == 4
    assert tokenizer.encode("cabn") == [2, 0, 1, 3] and tokenizer.encode("") == []
    assert tokenizer.decode([3, 0]) == "na" and tokenizer.decode([]) == ""
    assert tokenizer.decode(tocha.tensor([1, 0, 3])) == "ban"
    assert repr(tokenizer) == "CharTokenizer(vocab_size=4, unknown=None)"


def test_char_tokenizer_refuses_or_replaces_other_characters():
    with pytest.raises(ValueError, match="the character 'x' at position 2 is not in the alphabet"):
        CharTokenizer.train("abc").encode("abxc")
    tokenizer = CharTokenizer.train("abc", unknown="?")
    assert tokenizer.decode(tokenizer.encode("abxc")) == "ab?c"
    for wrong in ([4], [-1], [0, 99]):
        with pytest.raises(ValueError, match="expected numbers from 0 to 3"):
            tokenizer.decode(wrong)


@pytest.mark.parametrize(
    ("alphabet", "unknown", "message"),
    [
        ("", None, "single characters"),
        (["ab", "c"], None, "single characters"),
        ("abca", None, r"has \['a'\] more than once"),
        ("abc", "?", "unknown='\\?' is not in the alphabet"),
    ],
)
def test_char_tokenizer_needs_an_alphabet(alphabet, unknown, message):
    with pytest.raises(ValueError, match=message):
        CharTokenizer(alphabet, unknown)


def test_char_tokenizer_is_saved_and_loaded(tmp_path):
    path = tmp_path / "characters.json"
    tokenizer = CharTokenizer.train(TEXT, unknown="¿")
    tokenizer.save(path)
    again = CharTokenizer.load(path)
    assert again.alphabet == tokenizer.alphabet and again.unknown == "¿"
    assert [file.name for file in tmp_path.iterdir()] == ["characters.json"]
    for content in ("", "[]", "{}", '{"type": "BPE"}', '{"type": "CharTokenizer", "alphabet": "aa", "unknown": null}'):
        path.write_text(content)
        with pytest.raises(ValueError, match="characters.json is not a saved CharTokenizer"):
            CharTokenizer.load(path)


@given(st.text(min_size=1))
def test_char_tokenizer_gives_every_text_back(text):
    tokenizer = CharTokenizer.train(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.fixture(scope="module")
def bpe():
    return BPETokenizer.train(TEXT, vocab_size=300, special_tokens=["<end>", "<pad>"])


def test_bpe_merges_what_is_frequent(bpe):
    assert 258 < bpe.vocab_size == len(bpe) <= 300
    assert "Ġquick" in bpe.vocab and len(bpe.encode(" quick brown")) == 2
    assert max(bpe.encode(TEXT)) < bpe.vocab_size


@given(st.text())
def test_bpe_gives_every_text_back(text):
    tokenizer = BPETokenizer.train("abc abc", vocab_size=260)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_bpe_special_tokens_come_first_and_stay_whole(bpe):
    assert bpe.token_to_id("<end>") == 0 and bpe.token_to_id("<pad>") == 1
    ids = bpe.encode("the<end> dog")
    assert ids.count(0) == 1
    assert bpe.decode(ids) == "the<end> dog" and bpe.decode(ids, skip_special_tokens=True) == "the dog"
    with pytest.raises(KeyError, match="<none>"):
        bpe.token_to_id("<none>")


def test_bpe_decodes_tensors_and_refuses_other_numbers(bpe):
    ids = bpe.encode("lazy 🙂")
    assert bpe.decode(tocha.tensor(ids)) == "lazy 🙂" and bpe.decode([]) == ""
    assert "\ufffd" in bpe.decode(ids[:-1])
    with pytest.raises(ValueError, match=f"expected numbers from 0 to {bpe.vocab_size - 1}, got 0 to 5000"):
        bpe.decode([0, 5000])


def test_bpe_encodes_batches(bpe):
    texts = ["the dog", "", "quick"]
    assert bpe.encode_batch(texts) == [bpe.encode(text) for text in texts]


def test_bpe_needs_room_for_the_bytes():
    with pytest.raises(ValueError, match="vocab_size of at least 258 .* got 257"):
        BPETokenizer.train("abc", vocab_size=257, special_tokens=["<a>", "<b>"])
    rare = BPETokenizer.train("abababab", vocab_size=400, min_frequency=50)
    assert rare.vocab_size == 256


def test_bpe_is_saved_and_loaded(tmp_path, bpe):
    path = tmp_path / "tokenizer.json"
    bpe.save(path)
    again = BPETokenizer.load(path)
    assert (
        again.vocab == bpe.vocab
        and again.encode(TEXT) == bpe.encode(TEXT)
        and again.decode([0, 5]) == bpe.decode([0, 5])
    )
    assert [file.name for file in tmp_path.iterdir()] == ["tokenizer.json"]
    path.write_text('{"something": "else"}')
    with pytest.raises(ValueError, match="tokenizer.json is not a saved tokenizer"):
        BPETokenizer.load(path)
    with pytest.raises(FileNotFoundError):
        BPETokenizer.load(tmp_path / "nowhere.json")


def test_bpe_reads_the_two_files_of_gpt2(tmp_path):
    tokens = {token: number for number, token in enumerate(["l", "o", "w", "Ġ", "lo", "low", "Ġlow"])}
    (tmp_path / "encoder.json").write_text(json.dumps(tokens), encoding="utf-8")
    (tmp_path / "vocab.bpe").write_text("#version: 0.2\nl o\nlo w\nĠ low\n", encoding="utf-8")
    tokenizer = BPETokenizer.from_gpt2(tmp_path / "encoder.json", tmp_path / "vocab.bpe")
    assert tokenizer.encode("low low") == [5, 6] and tokenizer.decode([5, 6]) == "low low"
    with pytest.raises(ValueError, match="are not GPT-2's files"):
        BPETokenizer.from_gpt2(tmp_path / "vocab.bpe", tmp_path / "encoder.json")


def test_tokenizers_have_one_interface(bpe):
    assert isinstance(bpe, Tokenizer) and issubclass(CharTokenizer, Tokenizer)
    with pytest.raises(TypeError, match="abstract"):
        Tokenizer()
