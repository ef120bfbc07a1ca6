import subprocess
import sys

import pytest

import tocha_text


def test_import_is_light():
    code = "import sys, tocha_text; assert not {'tokenizers', 'torch', 'scipy', 'PIL'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_byte_pairs_alone_need_tokenizers():
    code = "import sys; from tocha_text import *; CharTokenizer.train('a'); assert 'tokenizers' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names():
    assert set(tocha_text.__all__) <= set(dir(tocha_text))
    assert all(getattr(tocha_text, name) is not None for name in tocha_text.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tocha_text.nothing


def test_plugin_registers_what_the_package_has():
    from tocha import plugins

    assert plugins.get("tokenizers", "BPETokenizer") is tocha_text.BPETokenizer
    assert plugins.get("tokenizers", "CharTokenizer") is tocha_text.CharTokenizer
    assert plugins.get("datasets", "LanguageModelingDataset") is tocha_text.LanguageModelingDataset
    assert plugins.get("models", "GPT") is tocha_text.models.GPT
