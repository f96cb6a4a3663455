"""``python docs/_ext/checked_cells check PAGE``: run by path, needing no environment."""

import sys
from pathlib import Path

# The directory of this package in place of the package itself, whose modules are not top-level.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from checked_cells.command_line import main  # noqa: E402 - needs the line above

try:
    sys.exit(main())
except KeyboardInterrupt:
    sys.exit(130)
