"""The receipt of an SSH key: a signature made and verified by `ssh-keygen -Y`.

The signature carries the namespace below, so that one made for anything else does not fit here, nor this one
elsewhere. Whose key it is, the study says before the lock; a key that is named only afterwards shows that
whoever holds it signed, and no name.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from prereg.lock import utc_text
from prereg.problems import Problem, Refused
from prereg.receipts.protocol import BadReceipt, Claim, Kind, Owed, Receipt, Unverifiable, message, text_of
from prereg.wanted import SshReceipt

NAMESPACE = "prereg-lock@matched-compute-harness"
SECONDS = 300.0
"""How long a signature may take: a person may have to type a passphrase or touch a key."""
_MAGIC = b"SSHSIG"


@dataclass(frozen=True, slots=True)
class SshNotary:
    """Signs with a key file, and verifies against the key that the study names."""

    wanted: SshReceipt | None
    """Whose signature the study wants."""
    key: Path | None = None
    """The private key, or the public one if an agent holds the private."""

    kind: Kind = "ssh"

    def stamp(self, digest: str, at: datetime) -> Receipt:
        """A signature of the digest. The key must be the one that the study names, if it names one.

        Without a key it is owed.
        """
        if self.key is None:
            raise Owed("no key was named; give `--ssh-key`, e.g. `--ssh-key ~/.ssh/id_ed25519`")
        if not self.key.is_file():
            raise Refused(Problem("there is no such key", file=str(self.key)))
        command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(self.key), "-n", NAMESPACE]
        done = _run(command, message(digest))
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", errors="replace").strip() or "no reason was given"
            raise Refused(Problem(f"ssh-keygen could not sign: {said}", file=str(self.key)))
        signature = done.stdout.decode("ascii", errors="replace")
        receipt = Receipt(kind="ssh", lock=digest, made=utc_text(at), data={"signature": signature})
        try:
            self.verify(digest, receipt)
        except BadReceipt as error:
            raise Refused(Problem(str(error), file=str(self.key))) from None
        return receipt

    def verify(self, digest: str, receipt: Receipt) -> Claim:
        """That the key of the study, or else the key in the signature, signed this digest."""
        (signature,) = text_of(receipt, "signature")
        signed_by = _public_key(signature)
        if self.wanted is not None and self.wanted.public_key.split()[:2] != signed_by.split():
            raise BadReceipt("the SSH signature is by another key than the one that the study names")
        who = self.wanted.identity if self.wanted is not None else "signer"
        with tempfile.TemporaryDirectory(prefix="receipt-") as folder:
            allowed, made = Path(folder, "allowed_signers"), Path(folder, "signature")
            allowed.write_text(f'{who} namespaces="{NAMESPACE}" {signed_by}\n', encoding="ascii")
            made.write_text(signature, encoding="utf-8")
            command = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", who, "-n", NAMESPACE]
            done = _run([*command, "-s", str(made)], message(digest))
        if done.returncode != 0:
            raise BadReceipt("the SSH signature does not fit this lock")
        if self.wanted is not None:
            return Claim(
                "ssh", None, None, who,
                f"SSH: the lock is signed by the key that it names for {who} ({fingerprint(signed_by)}).",
                f"It does not show when; that the key is theirs is shown where {who} publishes it.",
            )  # fmt: skip
        return Claim(
            "ssh", None, None, fingerprint(signed_by),
            f"SSH: the lock is signed by the key {fingerprint(signed_by)}.",
            "It does not show when, nor whose key that is: the lock names none.",
        )  # fmt: skip


def fingerprint(public_key: str) -> str:
    """`SHA256:...` of a public key, as `ssh-keygen -l` prints it."""
    blob = base64.b64decode(public_key.split()[1])
    return f"SHA256:{base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip('=')}"


def _public_key(signature: str) -> str:
    """The public key that a signature says it was made with, as `type base64` (PROTOCOL.sshsig)."""
    lines = signature.strip().splitlines()
    try:
        blob = base64.b64decode("".join(lines[1:-1]), validate=True)
        if not blob.startswith(_MAGIC):
            raise BadReceipt("the SSH receipt holds no signature")
        key = _string(blob, len(_MAGIC) + 4)
        kind = _string(key, 0).decode("ascii")
    except (binascii.Error, struct.error, UnicodeDecodeError, ValueError):
        raise BadReceipt("the SSH receipt holds no signature") from None
    if not all(sign.isalnum() or sign in "-.@" for sign in kind):
        raise BadReceipt("the SSH receipt holds no signature")
    return f"{kind} {base64.b64encode(key).decode()}"


def _string(blob: bytes, at: int) -> bytes:
    """A string of the SSH wire format: four bytes of length, and so many bytes."""
    (size,) = struct.unpack_from(">I", blob, at)
    if at + 4 + size > len(blob):
        raise ValueError("cut off")
    return blob[at + 4 : at + 4 + size]


def _run(command: list[str], text: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(command, input=text, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise Unverifiable(f"ssh-keygen cannot be run: {error}") from None
