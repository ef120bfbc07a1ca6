"""``python -m tocha`` is the ``tocha`` command."""

import sys

from tocha._cli import main

sys.exit(main())
