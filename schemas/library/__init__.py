"""The schemas that ship with Cinnabar, by their names on the command line."""

from __future__ import annotations

from pydantic import BaseModel

from cinnabar.schemas.library.contract import NonDisclosureAgreement
from cinnabar.schemas.library.event import Event
from cinnabar.schemas.library.invoice import Invoice
from cinnabar.schemas.library.mail import InsuranceMail
from cinnabar.schemas.library.receipt import Receipt

LIBRARY: dict[str, type[BaseModel]] = {
    "invoice": Invoice,
    "receipt": Receipt,
    "contract": NonDisclosureAgreement,
    "insurance_mail": InsuranceMail,
    "event": Event,
}

__all__ = ["LIBRARY", "Event", "InsuranceMail", "Invoice", "NonDisclosureAgreement", "Receipt"]
