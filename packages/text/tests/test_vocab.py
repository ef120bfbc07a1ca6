import pytest

from tocha_text.vocab import Vocab, build_vocab_from_iterator, vocab


def test_vocab_of_counts():
    words = vocab({"the": 5, "a": 2, "<unk>": 9, "cat": 1}, min_freq=2, specials=["<unk>", "<pad>"])
    assert words.get_itos() == ["<unk>", "<pad>", "the", "a"] and len(words) == 4
    assert words["a"] == 3 and "cat" not in words and "the" in words
    last = vocab({"the": 5}, specials=["<unk>"], special_first=False)
    assert last.get_stoi() == {"the": 0, "<unk>": 1}


def test_vocab_of_texts_is_ordered_by_frequency():
    texts = [["b", "a", "b"], ["c", "a", "b", "d"]]
    assert build_vocab_from_iterator(texts).get_itos() == ["b", "a", "c", "d"]
    assert build_vocab_from_iterator(texts, min_freq=2, specials=["<x>"]).get_itos() == ["<x>", "b", "a"]
    assert build_vocab_from_iterator(texts, specials=["<x>"], max_tokens=3).get_itos() == ["<x>", "b", "a"]
    assert build_vocab_from_iterator([]).get_itos() == []
    with pytest.raises(ValueError, match="entirely special tokens"):
        build_vocab_from_iterator(texts, specials=["<x>"], max_tokens=1)


def test_lookups_and_the_default_index():
    words = Vocab(["a", "b", "c"])
    assert words(["c", "a"]) == words.lookup_indices(["c", "a"]) == [2, 0]
    assert words.lookup_token(1) == "b" and words.lookup_tokens([2, 2]) == ["c", "c"]
    with pytest.raises(RuntimeError, match="Token x not found and default index is not set"):
        words["x"]
    words.set_default_index(1)
    assert words["x"] == 1 and words.get_default_index() == 1 and "x" not in words
    words.set_default_index(None)
    with pytest.raises(RuntimeError, match="Token x not found"):
        words(["x"])
    for index in (-1, 3):
        with pytest.raises(RuntimeError, match="out of bounds for vocab of size 3"):
            words.lookup_token(index)


def test_insertion_moves_what_is_behind():
    words = Vocab(["a", "b"])
    words.insert_token("x", 1)
    words.append_token("y")
    assert words.get_itos() == ["a", "x", "b", "y"] and words.get_stoi() == {"a": 0, "x": 1, "b": 2, "y": 3}
    with pytest.raises(RuntimeError, match="Token b already exists in Vocab with index: 2"):
        words.append_token("b")
    with pytest.raises(RuntimeError, match="Specified index 9 is out of bounds"):
        words.insert_token("z", 9)
    assert repr(words) == "Vocab(size=4, default_index=None)"
