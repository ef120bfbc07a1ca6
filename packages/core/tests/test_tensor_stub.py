"""What type checkers know of Tensor is what the operators attach to it."""

import ast
import runpy
from pathlib import Path

import tocha

WRITER = runpy.run_path(str(Path(__file__).parent / "reference" / "make_tensor_stub.py"))


def test_the_stub_is_in_step_with_the_operators() -> None:
    written = WRITER["PLACE"].read_text(encoding="utf-8").splitlines()
    fresh = WRITER["stub"]().splitlines()
    changed = sorted(set(written) ^ set(fresh))
    assert written == fresh, "run packages/core/tests/reference/make_tensor_stub.py: " + "; ".join(changed)


def test_the_stub_says_what_comes_back() -> None:
    lines = WRITER["stub"]().splitlines()
    assert "    def exp(self) -> Tensor: ..." in lines
    assert "    def add_(self, other: Any, *, alpha: Any = 1) -> Tensor: ..." in lines
    assert "    def tolist(self) -> Any: ..." in lines
    assert not hasattr(tocha.Tensor, "Attached") and tocha.Tensor.__mro__ == (tocha.Tensor, object)


def test_names_that_are_imported_on_first_use_are_known_to_type_checkers() -> None:
    source = ast.parse(Path(tocha.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in source.body if isinstance(node, ast.If) and ast.unparse(node.test) == "_TYPE_CHECKING"]
    imported = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(tocha._LAZY) == imported
