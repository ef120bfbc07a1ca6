"""``python import_all.py PACKAGE`` imports every module of an installed package: nothing undeclared may be needed."""

import importlib
import pkgutil
import sys

package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if not module.name.endswith(".__main__"):
        importlib.import_module(module.name)
