"""Run every bench in turn: `make bench`. One that fails does not stop the others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """All modules of this package that can be run."""
    failed = []
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        if "__main__" not in path.read_text():
            continue
        print(f"\n=== bench {path.stem}", flush=True)
        if subprocess.run([sys.executable, "-m", f"bench.{path.stem}"]).returncode:
            failed.append(path.stem)
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nall benches ran")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
