"""Signed tokens (RFC 7515, RFC 7519, RFC 9068) and the key that whoever verifies them is given (RFC 7517)."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    from eve_mocks.response import Json

ALGORITHM = "RS256"
_BITS = 2048


def encoded(data: bytes) -> str:
    """Base64url without padding (RFC 7515, section 2)."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text: str) -> bytes:
    """Raises ``ValueError``."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Signer:
    """A key of its own, made when it is first needed: it signs for one mock, as long as the run."""

    @functools.cached_property
    def _key(self) -> RSAPrivateKey:
        from cryptography.hazmat.primitives.asymmetric import rsa

        return rsa.generate_private_key(public_exponent=65537, key_size=_BITS)

    @functools.cached_property
    def key(self) -> dict[str, Json]:
        """The public key as JSON."""
        numbers = self._key.public_key().public_numbers()

        def of(number: int) -> str:
            return encoded(number.to_bytes((number.bit_length() + 7) // 8))

        key = {"kty": "RSA", "n": of(numbers.n), "e": of(numbers.e)}
        # RFC 7638, section 3: the thumbprint is of these members, in this order.
        thumbprint = hashlib.sha256(json.dumps(dict(sorted(key.items())), separators=(",", ":")).encode()).digest()
        return {**key, "alg": ALGORITHM, "use": "sig", "kid": encoded(thumbprint)}

    def sign(self, claims: dict[str, Json], *, type_: str = "JWT") -> str:
        """A token with these claims."""
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        head = {"alg": ALGORITHM, "typ": type_, "kid": self.key["kid"]}
        signed = ".".join(encoded(json.dumps(part, separators=(",", ":")).encode()) for part in (head, claims))
        return f"{signed}.{encoded(self._key.sign(signed.encode(), PKCS1v15(), SHA256()))}"

    def verify(self, token: str) -> dict[str, Any] | None:
        """The claims of a token that this key has signed; None for any other."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        signed, _, signature = token.rpartition(".")
        try:
            self._key.public_key().verify(decoded(signature), signed.encode(), PKCS1v15(), SHA256())
            claims = json.loads(decoded(signed.partition(".")[2]))
        except (InvalidSignature, ValueError):
            return None
        return claims if isinstance(claims, dict) else None
