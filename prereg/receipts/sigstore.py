"""The receipt of Sigstore: an identity signed the lock, and a public log shows that it did.

Written against sigstore 4.5 and its documented interface (`sigstore.sign`, `sigstore.verify`). It needs the
network and a person, or a workflow, that an issuer vouches for; so no test of this project runs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from prereg.lock import utc_text
from prereg.problems import Problem, Refused
from prereg.receipts.protocol import BadReceipt, Claim, Kind, Owed, Receipt, Unverifiable, message, text_of
from prereg.wanted import SigstoreReceipt

INSTALL = "install it with `pip install 'matched-compute-harness[sigstore]'`"


@dataclass(frozen=True, slots=True)
class SigstoreNotary:
    """Signs as whoever the browser or the workflow says, and verifies against the identity of the study."""

    wanted: SigstoreReceipt | None

    kind: Kind = "sigstore"

    def stamp(self, digest: str, at: datetime) -> Receipt:
        """A bundle of the public instance; opens a browser where no workflow vouches for the identity."""
        if self.wanted is None:
            hint = "Name identity and issuer under `receipts.sigstore` before the lock."
            raise Refused(Problem("Sigstore needs an identity that the study names", hint=hint))
        try:
            from sigstore.models import ClientTrustConfig
            from sigstore.oidc import IdentityToken, Issuer, detect_credential
            from sigstore.sign import SigningContext
        except ImportError:
            raise Owed(f"the package sigstore is not there; {INSTALL}") from None
        try:
            trust = ClientTrustConfig.production()
            credential = detect_credential()
            token = (
                IdentityToken(credential)
                if credential
                else Issuer(trust.signing_config.get_oidc_url()).identity_token()
            )
            with SigningContext.from_trust_config(trust).signer(token) as signer:
                bundle = signer.sign_artifact(message(digest))
        except Exception as error:  # noqa: BLE001 - its errors share no base; whatever it was, none was had
            raise Owed(f"Sigstore gave no signature: {error}") from None
        receipt = Receipt(kind="sigstore", lock=digest, made=utc_text(at), data={"bundle": bundle.to_json()})
        try:
            self.verify(digest, receipt)
        except BadReceipt as error:
            raise Refused(Problem(str(error))) from None
        return receipt

    def verify(self, digest: str, receipt: Receipt) -> Claim:
        """That the identity of the study signed this digest, by the root of trust that sigstore holds."""
        if self.wanted is None:
            raise BadReceipt("the locked study names no identity for Sigstore")
        try:
            from sigstore.errors import Error, VerificationError
            from sigstore.models import Bundle, InvalidBundle
            from sigstore.verify import Verifier
            from sigstore.verify.policy import Identity
        except ImportError:
            raise Unverifiable(f"the package sigstore is not there; {INSTALL}") from None
        (text,) = text_of(receipt, "bundle")
        identity, issuer = self.wanted.identity, self.wanted.issuer
        try:
            bundle = Bundle.from_json(text)
            policy = Identity(identity=identity, issuer=issuer)
            Verifier.production(offline=True).verify_artifact(message(digest), bundle, policy)
        except (VerificationError, InvalidBundle, ValueError) as error:
            raise BadReceipt(f"the Sigstore bundle does not hold: {error}") from None
        except Error as error:
            raise Unverifiable(f"sigstore could not be asked: {error}") from None
        # The signature was made while its certificate, of minutes, was valid: that is what was verified.
        latest = bundle.signing_certificate.not_valid_after_utc.astimezone(UTC)
        return Claim(
            "sigstore", None, latest, identity,
            f"Sigstore: {identity}, for whom {issuer} vouches, signed the lock not later than "
            f"{utc_text(latest)}, and a public log holds it.",
            "It shows nothing of what was done before that.",
        )  # fmt: skip
