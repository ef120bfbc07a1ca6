"""What the README shows as code runs."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_readmes_python_runs_and_learns():
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    names = {}
    exec(compile("import tocha\ntocha.manual_seed(0)\n" + code, "README.md", "exec"), names)
    assert names["step"] == 99
    assert names["loss"].item() < 0.02, names["loss"].item()
