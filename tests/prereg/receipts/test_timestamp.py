"""Time-stamps by a real authority: openssl's, on the loopback interface."""

from __future__ import annotations

import base64
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prereg.problems import Refused
from prereg.receipts.protocol import BadReceipt, Owed, Receipt
from prereg.receipts.timestamp import TimestampNotary
from tests.prereg.receipts.authority import Authority, serving

pytest.importorskip("rfc3161_client")
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the authority")

DIGEST, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tsa") / "one")


@pytest.fixture(scope="module")
def url(authority: Authority) -> Iterator[str]:
    with serving(authority) as address:
        yield address


@pytest.fixture(scope="module")
def receipt(authority: Authority, url: str) -> Receipt:
    return TimestampNotary(url, authority.root, True).stamp(DIGEST, datetime.now(UTC))


def test_a_stamp_says_when_and_by_whom_it_is_trusted(
    receipt: Receipt, authority: Authority, url: str
) -> None:
    claim = TimestampNotary(url, authority.root, True).verify(DIGEST, receipt)
    assert claim.not_after is not None
    now = datetime.now(UTC)
    assert now - timedelta(minutes=5) < claim.not_after < now + timedelta(minutes=1)
    assert claim.not_before is None
    assert claim.who is None
    assert "not later than" in claim.proves
    assert "which the lock names" in claim.does_not_prove
    unlocked = TimestampNotary(None, None, False).verify(DIGEST, receipt)
    assert "which the lock does not name" in unlocked.does_not_prove


def test_openssl_itself_accepts_it(receipt: Receipt, authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "reply").write_bytes(base64.b64decode(receipt.data["response"]))
    (tmp_path / "data").write_text(f"{DIGEST}\n")
    command = ["openssl", "ts", "-verify", "-in", tmp_path / "reply", "-data", tmp_path / "data",
               "-CAfile", authority.folder / "ca.pem"]  # fmt: skip
    assert b"Verification: OK" in subprocess.run(command, capture_output=True, check=True).stdout


def test_a_stamp_of_another_digest_does_not_hold(receipt: Receipt, authority: Authority, url: str) -> None:
    with pytest.raises(BadReceipt, match="does not hold"):
        TimestampNotary(url, authority.root, True).verify(OTHER, receipt)


def test_an_authority_of_ones_own_is_not_the_one_that_was_locked(
    receipt: Receipt, authority: Authority, tmp_path: Path
) -> None:
    mine = Authority(tmp_path / "mine")
    with serving(mine) as address:
        forged = TimestampNotary(address, mine.root, True).stamp(DIGEST, datetime.now(UTC))
        with pytest.raises(Refused, match="certificates of this authority"):
            TimestampNotary(address, authority.root, True).stamp(DIGEST, datetime.now(UTC))
    with pytest.raises(BadReceipt):
        TimestampNotary(address, authority.root, True).verify(DIGEST, forged)


def test_no_altered_byte_of_the_answer_is_passed_off(
    receipt: Receipt, authority: Authority, url: str
) -> None:
    """Some bytes are not covered by the signature; then what is claimed must be the same."""
    notary = TimestampNotary(url, authority.root, True)
    honest = notary.verify(DIGEST, receipt)
    answer = base64.b64decode(receipt.data["response"])
    refused = 0
    for index in range(0, len(answer), 7):
        altered = bytearray(answer)
        altered[index] ^= 1 << (index % 8)
        data = receipt.data | {"response": base64.b64encode(bytes(altered)).decode()}
        try:
            claim = notary.verify(DIGEST, receipt.model_copy(update={"data": data}))
        except BadReceipt:
            refused += 1
        else:
            assert (claim.not_after, claim.proves) == (honest.not_after, honest.proves)
    assert refused > 0.9 * len(range(0, len(answer), 7))


@pytest.mark.parametrize("data", [{}, {"url": 1}, {"url": "x", "response": "%%", "roots": "x"}])
def test_what_is_no_receipt_is_refused_in_words(data: dict[str, object], authority: Authority) -> None:
    made = Receipt(kind="timestamp", lock=DIGEST, made="x", data=data)
    with pytest.raises(BadReceipt):
        TimestampNotary(None, authority.root, True).verify(DIGEST, made)


def test_without_a_network_it_is_owed(authority: Authority) -> None:
    with serving(authority) as address:
        pass  # from here on nobody listens there
    with pytest.raises(Owed, match="try again"):
        TimestampNotary(address, authority.root, True).stamp(DIGEST, datetime.now(UTC))


def test_it_needs_certificates_that_are_trusted() -> None:
    with pytest.raises(Refused, match="--tsa-roots"):
        TimestampNotary("http://127.0.0.1:1/", None, False).stamp(DIGEST, datetime.now(UTC))
    with pytest.raises(Refused, match="no PEM"):
        TimestampNotary("http://127.0.0.1:1/", b"junk", False).stamp(DIGEST, datetime.now(UTC))
