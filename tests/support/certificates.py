"""A certificate authority and a server certificate that it signs, made anew for each test that needs them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_SIGNS = {"key_cert_sign": True}
_USES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "crl_sign", "encipher_only", "decipher_only",
)  # fmt: skip


@dataclass(frozen=True)
class Certificates:
    """`chain` holds the server's key and certificate; a client has to trust `authority`."""

    chain: Path
    authority: Path


def make(folder: Path, address: str = "127.0.0.1") -> Certificates:
    """Make certificates for a server at this address, under this folder."""
    root, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    signer, signed = _name("An authority of one's own"), _name("A mail server")
    authority = _begun(signer, signer, root, root).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    authority = authority.add_extension(x509.KeyUsage(**dict.fromkeys(_USES, False) | _SIGNS), critical=True)
    server = _begun(signed, signer, own, root).add_extension(
        x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False
    )
    pem = serialization.Encoding.PEM
    key = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    found = Certificates(folder / "server.pem", folder / "authority.pem")
    found.chain.write_bytes(key + server.sign(root, hashes.SHA256()).public_bytes(pem))
    found.authority.write_bytes(authority.sign(root, hashes.SHA256()).public_bytes(pem))
    return found


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(identifier, critical=False)
        .add_extension(authority, critical=False)
    )
