"""Writes docs/openapi.json from the table of endpoints; with --check only compares it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from takeback.serve.openapi import document
from takeback.serve.routes import ENDPOINTS

FILE = Path(__file__).resolve().parents[1] / "docs" / "openapi.json"


def main() -> int:
    text = json.dumps(document(ENDPOINTS), indent=1) + "\n"
    if "--check" not in sys.argv:
        FILE.write_text(text)
        return 0
    if FILE.is_file() and FILE.read_text() == text:
        return 0
    print("docs/openapi.json is not current: make docs", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
