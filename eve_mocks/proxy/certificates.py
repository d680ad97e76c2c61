"""Certificates of one run: a leaf for each host that is asked for, signed by the user's CA.

All leaves share one key, which exists in memory alone but for the moment in which OpenSSL reads it from a file.
"""

from __future__ import annotations

import datetime
import functools
import ipaddress
import ssl
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from eve_mocks.match import BadURL, normalise_host
from eve_mocks.proxy.tls import ServerSide

# Contexts kept at a time: a run that asks for more hosts than this signs some again.
_CACHED = 512
_LIFETIME = datetime.timedelta(days=30)
_CLOCK_SKEW = datetime.timedelta(days=1)


class Certificates:
    """TLS server contexts by host. ``ca`` is a PEM file with the CA's key and its certificate."""

    def __init__(self, ca: Path) -> None:
        pem = ca.read_bytes()
        key = serialization.load_pem_private_key(pem, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError(f"the key in {ca} is not an EC key")
        self._ca_key = key
        self._ca = x509.load_pem_x509_certificate(pem)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.context = functools.lru_cache(maxsize=_CACHED)(self._context)

    def _context(self, host: str, alpn: tuple[str, ...]) -> ssl.SSLContext:
        """The context for a normalised host; it changes to another's where the client asks for another by SNI.

        ``alpn`` is in the server's order of preference.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.sslobject_class = ServerSide
        context.set_alpn_protocols(list(alpn))

        def choose(tls: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
            assert isinstance(tls, ServerSide)  # noqa: S101 - see sslobject_class
            tls.sni = name
            if name is not None:
                try:
                    asked = normalise_host(name)
                except BadURL:
                    return ssl.AlertDescription.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
                if asked != host:
                    tls.context = self.context(asked, alpn)
            return None

        context.sni_callback = choose
        with tempfile.TemporaryDirectory(prefix="eve-mocks-") as folder:
            pem = Path(folder, "leaf.pem")
            pem.touch(mode=0o600)
            pem.write_bytes(self._leaf(host))
            context.load_cert_chain(pem)
        return context

    def _leaf(self, host: str) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            # RFC 5280, appendix A.1: a common name has at most 64 characters; clients look at the SAN alone.
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:64])]))
            .issuer_name(self._ca.subject)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _CLOCK_SKEW)
            .not_valid_after(min(now + _LIFETIME, self._ca.not_valid_after_utc))
            .add_extension(x509.SubjectAlternativeName([_general_name(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(_DIGITAL_SIGNATURE, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._ca_key.public_key()), critical=False
            )
            .sign(self._ca_key, hashes.SHA256())
        )
        return self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ) + certificate.public_bytes(serialization.Encoding.PEM)


_DIGITAL_SIGNATURE = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
