"""`python -m capd` is the `capd` command."""

from __future__ import annotations

import sys

from capd.cli import main

if __name__ == "__main__":
    sys.exit(main())
