import pytest

import tocha
from tocha_text import CharTokenizer, LanguageModelingDataset

TEXT = "abcdefghij\n" * 3
TOKENIZER = CharTokenizer.train(TEXT)


def texts(dataset):
    return [(TOKENIZER.decode(x), TOKENIZER.decode(y)) for x, y in dataset]


def test_targets_are_one_token_later():
    dataset = LanguageModelingDataset("abcdefghij\n", TOKENIZER, block_size=4)
    assert texts(dataset) == [("abcd", "bcde"), ("efgh", "fghi")]
    x, y = dataset[-1]
    assert x.dtype == y.dtype == tocha.int64 and TOKENIZER.decode(x) == "efgh"


@pytest.mark.parametrize(("stride", "count"), [(1, 7), (2, 4), (3, 3), (4, 2), (6, 2), (7, 1), (100, 1)])
def test_stride(stride, count):
    dataset = LanguageModelingDataset("abcdefghij\n", TOKENIZER, 4, stride)
    assert len(dataset) == len(texts(dataset)) == count
    assert [x[0] for x, _ in texts(dataset)] == list("abcdefghij"[::stride])[:count]


def test_the_last_token_is_a_target_when_it_fits():
    assert texts(LanguageModelingDataset("abc", TOKENIZER, 2)) == [("ab", "bc")]
    with pytest.raises(ValueError, match="at least block_size \\+ 1 = 4 tokens, got 3"):
        LanguageModelingDataset("abc", TOKENIZER, 3)
    with pytest.raises(IndexError):
        LanguageModelingDataset("abc", TOKENIZER, 2)[1]
    for size, stride in ((0, None), (2, 0)):
        with pytest.raises(ValueError, match="at least 1"):
            LanguageModelingDataset("abc", TOKENIZER, size, stride)


def test_texts_and_files_are_told_apart(tmp_path, monkeypatch):
    path = tmp_path / "novel.txt"
    path.write_bytes("ação\n".encode("latin-1") * 5)
    tokenizer = CharTokenizer.train("ação\n")
    for source in (path, str(path)):
        dataset = LanguageModelingDataset(source, tokenizer, 4, encoding="latin-1")
        assert tokenizer.decode(dataset.tokens) == "ação\n" * 5
    with pytest.raises(UnicodeDecodeError):
        LanguageModelingDataset(path, tokenizer, 4)
    for missing in (tmp_path / "nothing", str(tmp_path / "nothing.txt"), "nothing.txt"):
        with pytest.raises(FileNotFoundError, match="nothing"):
            LanguageModelingDataset(missing, tokenizer, 4)
    assert len(LanguageModelingDataset("a" * 5000, tokenizer, 4).tokens) == 5000


def test_batches():
    dataset = LanguageModelingDataset(TEXT, TOKENIZER, 8)
    x, y = next(iter(tocha.utils.data.DataLoader(dataset, batch_size=3)))
    assert x.shape == y.shape == (3, 8) and tocha.equal(x[:, 1:], y[:, :-1])
    assert repr(dataset) == "LanguageModelingDataset(4 samples of 8 tokens, stride 8, from 33 tokens)"
