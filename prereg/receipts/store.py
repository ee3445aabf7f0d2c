"""The file of receipts, beside the lock: JSON, every receipt of every lock of the study."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from prereg.fields import Section
from prereg.problems import LockMismatch, Problem, Refused
from prereg.receipts.protocol import Receipt
from prereg.whole import write_whole

MAX_BYTES = 1 << 24


class ReceiptFile(Section):
    """What stands in the file."""

    receipts_version: Literal[1] = 1
    receipts: tuple[Receipt, ...] = ()


def read_receipts(path: Path) -> tuple[Receipt, ...]:
    """The receipts of a file; none if there is none. Raises LockMismatch if it is not as it was written."""
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise Refused(Problem(f"it cannot be read: {error.strerror or error}", file=str(path))) from None
    hint = "Restore the file from a copy, or remove it and give `harness prereg stamp` again."
    try:
        found = ReceiptFile.model_validate_json(content)
        whole = _render(found.receipts) == content
    except (ValidationError, ValueError, RecursionError):
        whole = False
    if not whole:
        raise LockMismatch(Problem("the receipts are not as they were written", file=str(path), hint=hint))
    return found.receipts


def write_receipts(receipts: Sequence[Receipt], path: Path) -> None:
    """Replace the file as a whole. Raises Refused if it cannot be written."""
    try:
        write_whole(path, _render(receipts))
    except OSError as error:
        message = f"the receipts cannot be written: {error.strerror or error}"
        raise Refused(Problem(message, file=str(path))) from None


def _render(receipts: Sequence[Receipt]) -> bytes:
    body = ReceiptFile(receipts=tuple(receipts)).model_dump(mode="json")
    return (json.dumps(body, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
