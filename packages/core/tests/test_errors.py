"""The commonest mistakes raise PyTorch's exception type, with a message a PyTorch user recognises
(``reference/make_errors.py``)."""

from __future__ import annotations

import difflib
import json
import re
import warnings
from pathlib import Path

import pytest

import tocha
import tocha.nn.functional as F

TABLE = json.loads((Path(__file__).parent / "data" / "errors.json").read_text())
# where Python's own words, or better ones, take the place of PyTorch's
OWN_WORDS = {"t.ones(2).foo", "t.foo", "t.add(1)", "t.tensor('a')", "t.manual_seed('a')"}
SUBCLASSES = {"LinAlgError": "_LinAlgError"}


def plain(text: str) -> str:
    return re.sub(r"[^a-z0-9 ]", " ", text.lower().replace("torch.", "").replace("tocha.", ""))


@pytest.mark.parametrize("case", TABLE)
def test_error(case: str) -> None:
    kind, message = TABLE[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as caught:
            eval(case, {"t": tocha, "F": F})
    name = type(caught.value).__name__
    assert SUBCLASSES.get(name, name) == kind, f"{name}: {caught.value}, where PyTorch raises {kind}: {message}"
    if case in OWN_WORDS:
        return
    ours, theirs = plain(str(caught.value)).split(), plain(message).split()
    alike = difflib.SequenceMatcher(None, ours, theirs).ratio()
    common = len(set(ours) & set(theirs)) / max(1, len(set(theirs)))
    assert alike > 0.3 or common > 0.4, f"{caught.value!s}\nPyTorch: {message}"
