"""Signatures by ssh-keygen, with keys made on the spot."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prereg.problems import Refused
from prereg.receipts.protocol import BadReceipt, Owed, Receipt
from prereg.receipts.ssh import NAMESPACE, SshNotary, fingerprint
from prereg.wanted import SshReceipt

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen signs")

NOON = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
DIGEST, OTHER = "ab" * 32, "cd" * 32


def make_key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True)
    return path


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_key(tmp_path_factory.mktemp("ssh") / "key")


def wanted(key: Path) -> SshReceipt:
    return SshReceipt(identity="a@example.org", public_key=key.with_suffix(".pub").read_text().strip())


def test_the_key_that_the_study_names_gives_a_name(key: Path) -> None:
    receipt = SshNotary(wanted(key), key).stamp(DIGEST, NOON)
    claim = SshNotary(wanted(key)).verify(DIGEST, receipt)
    assert claim.who == "a@example.org"
    assert (claim.not_before, claim.not_after) == (None, None)
    assert "does not show when" in claim.does_not_prove


def test_a_key_that_nobody_named_gives_only_its_fingerprint(key: Path) -> None:
    receipt = SshNotary(None, key).stamp(DIGEST, NOON)
    claim = SshNotary(None).verify(DIGEST, receipt)
    listed = subprocess.run(
        ["ssh-keygen", "-l", "-f", f"{key}.pub"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert claim.who == fingerprint(key.with_suffix(".pub").read_text()) == listed[1]
    assert "whose key" in claim.does_not_prove


def test_another_key_another_digest_and_another_namespace_do_not_hold(key: Path, tmp_path: Path) -> None:
    other = make_key(tmp_path / "other")
    with pytest.raises(Refused, match="another key"):
        SshNotary(wanted(key), other).stamp(DIGEST, NOON)
    receipt = SshNotary(wanted(key), key).stamp(DIGEST, NOON)
    with pytest.raises(BadReceipt, match="does not fit"):
        SshNotary(wanted(key)).verify(OTHER, receipt)
    for namespace, holds in ((NAMESPACE, True), ("git", False)):
        signature = subprocess.run(
            ["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", namespace],
            input=f"{DIGEST}\n", capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        made = receipt.model_copy(update={"data": {"signature": signature}})
        if holds:
            assert SshNotary(wanted(key)).verify(DIGEST, made).who == "a@example.org"
        else:
            with pytest.raises(BadReceipt, match="does not fit"):
                SshNotary(wanted(key)).verify(DIGEST, made)


@pytest.mark.parametrize(
    "signature", ["", "x", "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----"]
)
def test_what_is_no_signature_is_refused_in_words(signature: str) -> None:
    receipt = Receipt(kind="ssh", lock=DIGEST, made="x", data={"signature": signature})
    with pytest.raises(BadReceipt, match="no signature"):
        SshNotary(None).verify(DIGEST, receipt)


def test_a_key_that_is_not_there_or_cannot_sign_is_named(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no such key"):
        SshNotary(None, tmp_path / "none").stamp(DIGEST, NOON)
    (tmp_path / "junk").write_text("junk")
    (tmp_path / "junk").chmod(0o600)
    with pytest.raises(Refused, match="could not sign"):
        SshNotary(None, tmp_path / "junk").stamp(DIGEST, NOON)
    with pytest.raises(Owed, match="--ssh-key"):
        SshNotary(None).stamp(DIGEST, NOON)
