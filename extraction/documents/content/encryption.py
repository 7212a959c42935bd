"""Opens what AES encrypts in ZIP files: members of WinZip's AE-1 and AE-2."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np

# Bytes of the key for each strength of a ZIP member; the salt has half as many.
_STRENGTHS = {1: 16, 2: 24, 3: 32}
_ROUNDS, _VERIFIER, _SEAL = 1000, 2, 10
_BLOCK = 16


def opened_member(data: bytes, password: str, strength: int) -> bytes | None:
    """Returns the packed bytes of a ZIP member, None if the password is wrong or the member was changed.

    Raises ValueError for an unknown strength or missing bytes.
    """
    size = _STRENGTHS.get(strength, 0)
    if not size or len(data) < size // 2 + _VERIFIER + _SEAL:
        raise ValueError("an unknown strength, or too few bytes")
    salt, rest = data[: size // 2], data[size // 2 :]
    verifier, content, seal = rest[:_VERIFIER], rest[_VERIFIER:-_SEAL], rest[-_SEAL:]
    keys = hashlib.pbkdf2_hmac("sha1", password.encode(), salt, _ROUNDS, 2 * size + _VERIFIER)
    if keys[2 * size :] != verifier:
        return None
    if not hmac.compare_digest(hmac.digest(keys[size : 2 * size], content, "sha1")[:_SEAL], seal):
        return None
    return _counted(content, keys[:size])


def _counted(content: bytes, key: bytes) -> bytes:
    """Returns content under AES in counter mode, whose counter is little-endian here and begins at one."""
    # Cold start: few files are encrypted.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    blocks = -(-len(content) // _BLOCK)
    counters = np.zeros((blocks, 2), "<u8")
    counters[:, 0] = np.arange(1, blocks + 1)
    # Each counter is one block; in counter mode ECB is the cipher itself.
    pad = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(counters.tobytes())[: len(content)]
    return (np.frombuffer(content, np.uint8) ^ np.frombuffer(pad, np.uint8)).tobytes()
