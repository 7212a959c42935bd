"""Electronic invoices (EN 16931) in XML: their business terms as labelled lines, their lines and taxes as tables.

A path is XPath whose names of elements stand without their namespace: `Party[Scheme/ID='VAT']/CompanyID`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

from lxml import etree  # type: ignore[import-untyped]

from cinnabar.extraction.documents.content.limits import MAX_INVOICE_LINES, MAX_TERM_VALUES, MAX_TREE
from cinnabar.extraction.documents.content.marked_text import MarkedText, part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.office.package import local, xml_tree
from cinnabar.extraction.documents.plain.rows import table_lines, widths

# The roots of both syntaxes by their names, with a part of their namespaces.
_ROOTS: dict[str, tuple[Syntax, str]] = {
    "CrossIndustryInvoice": ("cii", "uncefact"),
    "CrossIndustryDocument": ("cii", "ferd"),
    "Invoice": ("ubl", "oasis:names:specification:ubl"),
    "CreditNote": ("ubl", "oasis:names:specification:ubl"),
}
_DAY = re.compile(r"(\d{4})(\d{2})(\d{2})\d{0,6}")
_NUMBER = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?")
_MONEY = re.compile(r"\b(?:amount|price|allowances|charges)\b(?! base)", re.IGNORECASE)
_NUMERIC = re.compile(rf"{_MONEY.pattern}|\b(?:quantity|rate)\b", re.IGNORECASE)
# Rows that are laid out at once.
_BLOCK = 500
# The values that mean the same as no value, by the numbers of their terms: sums of allowances and charges, the paid
# amount and rounding count as 0 in the standard's rules, and a price is that of one unit.
_EMPTY = {107: 0, 108: 0, 113: 0, 114: 0, 149: 1}
# Identifiers of accounts and for VAT have no blanks; some programs print them in groups.
_WITHOUT_BLANKS = (31, 48, 84, 91)


def syntax_of(root: Any) -> Syntax | None:
    """Returns the syntax of an invoice by the root of its tree, None if it is anything else."""
    syntax, namespace = _ROOTS.get(local(root), (None, ""))
    return syntax if syntax and namespace in root.tag.partition("}")[0] else None


def is_invoice(data: bytes) -> bool:
    """Returns whether XML is an electronic invoice."""
    if len(data) > MAX_TREE:
        return False
    root, damaged = xml_tree(data)
    return root is not None and not damaged and syntax_of(root) is not None


def add_invoice(reading: ParseContext, root: Any, syntax: Syntax) -> None:
    """Appends the terms of an invoice as a part of its own; the places of its values are their terms (BT-1)."""
    with part_text(reading, "invoice", media_type="application/xml") as lines:
        for block in BLOCKS:
            _add_terms(lines, root, syntax, block)
        _add_group(reading, lines, root, syntax, LINES)
        _add_group(reading, lines, root, syntax, TAXES)
        _add_terms(lines, root, syntax, TOTALS)


def _add_terms(lines: MarkedText, root: Any, syntax: Syntax, terms: Sequence[Term]) -> None:
    lines.blank()
    for term in terms:
        for text in dict.fromkeys(_values(term, root, syntax)):
            lines.line(f"{term.name}: {text}", f"BT-{term.number}")


def _add_group(reading: ParseContext, lines: MarkedText, root: Any, syntax: Syntax, group: TermGroup) -> None:
    """Appends a table with a column for each term that any row has."""
    elements = group.elements(root, syntax)
    if len(elements) > MAX_INVOICE_LINES:
        reading.builder.flags.add("truncated")
        del elements[MAX_INVOICE_LINES:]
    rows = [[next(_values(term, one, syntax), "") for term in group.terms] for one in elements]
    used = [at for at in range(len(group.terms)) if any(row[at] for row in rows)]
    if not used:
        return
    lines.blank()
    names, columns = [group.terms[at].name for at in used], list[int]()
    for begin in range(0, len(rows), _BLOCK):
        if lines.full:
            return
        block = [[row[at] for at in used] for row in rows[begin : begin + _BLOCK]]
        columns = widths([names, *block], columns)
        (head, *_), *printed = table_lines([names, *block], columns)
        if not begin:
            lines.line(head, group.name)
        for number, (row, *_) in enumerate(printed, begin + 1):
            lines.line(row, f"{group.name} {number}")


def _values(term: Term, element: Any, syntax: Syntax) -> Iterator[str]:
    """Yields the texts of a term, at most `MAX_TERM_VALUES`."""
    for node in term.values(element, syntax)[:MAX_TERM_VALUES]:
        text = str(node) if isinstance(node, str) else "".join(node.itertext())
        if text := _plain(" ".join(text.split()), term):
            yield text


def _plain(text: str, term: Term) -> str:
    """Returns a date as ISO 8601 has it, an amount with two decimals or as many as it needs, and "" for no value.

    A number never has three decimals: its mark would look like one of thousands.
    """
    if term.number in _WITHOUT_BLANKS:
        return text.replace(" ", "")
    if "date" in term.name and (day := _DAY.fullmatch(text)):
        return "-".join(day.groups())
    if not (_NUMERIC.search(term.name) and _NUMBER.fullmatch(text)):
        return text
    number = Decimal(text)
    if number == _EMPTY.get(term.number):
        return ""
    whole, _, decimals = f"{number:f}".partition(".")
    decimals = decimals.rstrip("0").ljust(2 if _MONEY.search(term.name) else 0, "0")
    return f"{whole}.{decimals}{'0' * (len(decimals) == 3)}" if decimals else whole


Syntax = Literal["cii", "ubl"]
_TOKEN = re.compile(r"'[^']*'|@\w+|(self::)?([A-Z]\w*)")


@dataclass(frozen=True, slots=True)
class Term:
    """A business term: its number (BT-…) and name in the standard, and its paths in the two syntaxes."""

    number: int
    name: str
    cii: str
    ubl: str

    def values(self, element: Any, syntax: Syntax) -> list[Any]:
        """Returns the elements and attributes of the term below an element, in the order of the file."""
        return list(_compile(self.cii if syntax == "cii" else self.ubl)(element))


@dataclass(frozen=True, slots=True)
class TermGroup:
    """A repeated group of terms: its name, the paths of its elements, and the terms within one of them."""

    name: str
    cii: str
    ubl: str
    terms: tuple[Term, ...]

    def elements(self, root: Any, syntax: Syntax) -> list[Any]:
        """Returns the elements of the group, in the order of the file."""
        return list(_compile(self.cii if syntax == "cii" else self.ubl)(root))


@lru_cache(maxsize=512)
def _compile(path: str) -> Any:
    def by_local_name(token: re.Match[str]) -> str:
        if not token[2]:
            return token[0]
        return f"local-name()='{token[2]}'" if token[1] else f"*[local-name()='{token[2]}']"

    return etree.XPath(_TOKEN.sub(by_local_name, path)) if path else lambda _: ()


# The parts of an invoice in CII; version 1 of ZUGFeRD has other names of the same elements.
_HEAD = "*[self::ExchangedDocument or self::HeaderExchangedDocument]"
_TRADE = "*[self::SupplyChainTradeTransaction or self::SpecifiedSupplyChainTradeTransaction]"
_AGREED = f"{_TRADE}/*[self::ApplicableHeaderTradeAgreement or self::ApplicableSupplyChainTradeAgreement]"
_DELIVERED = f"{_TRADE}/*[self::ApplicableHeaderTradeDelivery or self::ApplicableSupplyChainTradeDelivery]"
_SETTLED = f"{_TRADE}/*[self::ApplicableHeaderTradeSettlement or self::ApplicableSupplyChainTradeSettlement]"
_SUM = (
    f"{_SETTLED}/*[self::SpecifiedTradeSettlementHeaderMonetarySummation "
    "or self::SpecifiedTradeSettlementMonetarySummation]"
)
_MEANS = f"{_SETTLED}/SpecifiedTradeSettlementPaymentMeans"
_ACCOUNT = f"{_MEANS}/PayeePartyCreditorFinancialAccount"
_TOTAL = "LegalMonetaryTotal"


def _party(role: str, cii: str, ubl: str, numbers: Mapping[str, int]) -> tuple[Term, ...]:
    """Returns the terms of a party, under the names that they have in its role."""
    address, tax, contact = f"{ubl}/PostalAddress", f"{ubl}/PartyTaxScheme", f"{ubl}/Contact"
    paths = {
        "name": (f"{cii}/Name", f"{ubl}/PartyLegalEntity/RegistrationName"),
        "trading name": (f"{cii}/SpecifiedLegalOrganization/TradingBusinessName", f"{ubl}/PartyName/Name"),
        "identifier": (f"{cii}/ID", f"{ubl}/PartyIdentification/ID"),
        "legal registration identifier": (
            f"{cii}/SpecifiedLegalOrganization/ID", f"{ubl}/PartyLegalEntity/CompanyID",
        ),
        "VAT identifier": (
            f"{cii}/SpecifiedTaxRegistration/ID[@schemeID='VA']", f"{tax}[TaxScheme/ID='VAT']/CompanyID",
        ),
        "tax registration identifier": (
            f"{cii}/SpecifiedTaxRegistration/ID[@schemeID='FC']", f"{tax}[not(TaxScheme/ID='VAT')]/CompanyID",
        ),
        "address line 1": (f"{cii}/PostalTradeAddress/LineOne", f"{address}/StreetName"),
        "address line 2": (f"{cii}/PostalTradeAddress/LineTwo", f"{address}/AdditionalStreetName"),
        "address line 3": (f"{cii}/PostalTradeAddress/LineThree", f"{address}/AddressLine/Line"),
        "post code": (f"{cii}/PostalTradeAddress/PostcodeCode", f"{address}/PostalZone"),
        "city": (f"{cii}/PostalTradeAddress/CityName", f"{address}/CityName"),
        "country subdivision": (f"{cii}/PostalTradeAddress/CountrySubDivisionName", f"{address}/CountrySubentity"),
        "country code": (f"{cii}/PostalTradeAddress/CountryID", f"{address}/Country/IdentificationCode"),
        "contact point": (
            f"{cii}/DefinedTradeContact/PersonName|{cii}/DefinedTradeContact/DepartmentName", f"{contact}/Name",
        ),
        "contact telephone number": (
            f"{cii}/DefinedTradeContact/TelephoneUniversalCommunication/CompleteNumber", f"{contact}/Telephone",
        ),
        "contact email address": (
            f"{cii}/DefinedTradeContact/EmailURIUniversalCommunication/*", f"{contact}/ElectronicMail",
        ),
    }  # fmt: skip
    return tuple(Term(number, f"{role} {name}", *paths[name]) for name, number in numbers.items())


#: The terms of the whole invoice, in blocks.
BLOCKS: tuple[tuple[Term, ...], ...] = (
    (
        Term(1, "Invoice number", f"{_HEAD}/ID", "ID"),
        Term(2, "Invoice issue date", f"{_HEAD}/IssueDateTime/*", "IssueDate"),
        Term(3, "Invoice type code", f"{_HEAD}/TypeCode", "InvoiceTypeCode|CreditNoteTypeCode"),
        Term(5, "Invoice currency code", f"{_SETTLED}/InvoiceCurrencyCode", "DocumentCurrencyCode"),
        Term(9, "Payment due date", f"{_SETTLED}/SpecifiedTradePaymentTerms/DueDateDateTime/*",
             "DueDate|PaymentMeans/PaymentDueDate"),
        Term(72, "Actual delivery date", f"{_DELIVERED}/ActualDeliverySupplyChainEvent/OccurrenceDateTime/*",
             "Delivery/ActualDeliveryDate"),
        Term(73, "Invoicing period start date", f"{_SETTLED}/BillingSpecifiedPeriod/StartDateTime/*",
             "InvoicePeriod/StartDate"),
        Term(74, "Invoicing period end date", f"{_SETTLED}/BillingSpecifiedPeriod/EndDateTime/*",
             "InvoicePeriod/EndDate"),
        Term(10, "Buyer reference", f"{_AGREED}/BuyerReference", "BuyerReference"),
        Term(11, "Project reference", f"{_AGREED}/SpecifiedProcuringProject/ID", "ProjectReference/ID"),
        Term(12, "Contract reference", f"{_AGREED}/ContractReferencedDocument/*[self::IssuerAssignedID or self::ID]",
             "ContractDocumentReference/ID"),
        Term(13, "Purchase order reference",
             f"{_AGREED}/BuyerOrderReferencedDocument/*[self::IssuerAssignedID or self::ID]", "OrderReference/ID"),
        Term(14, "Sales order reference",
             f"{_AGREED}/SellerOrderReferencedDocument/*[self::IssuerAssignedID or self::ID]",
             "OrderReference/SalesOrderID"),
        Term(16, "Despatch advice reference",
             f"{_DELIVERED}/DespatchAdviceReferencedDocument/*[self::IssuerAssignedID or self::ID]",
             "DespatchDocumentReference/ID"),
        Term(25, "Preceding Invoice reference",
             f"{_SETTLED}/InvoiceReferencedDocument/*[self::IssuerAssignedID or self::ID]",
             "BillingReference/InvoiceDocumentReference/ID"),
        Term(22, "Invoice note", f"{_HEAD}/IncludedNote/Content", "Note"),
    ),
    _party("Seller", f"{_AGREED}/SellerTradeParty", "AccountingSupplierParty/Party", {
        "name": 27, "trading name": 28, "identifier": 29, "legal registration identifier": 30, "VAT identifier": 31,
        "tax registration identifier": 32, "address line 1": 35, "address line 2": 36, "address line 3": 162,
        "post code": 38, "city": 37, "country subdivision": 39, "country code": 40, "contact point": 41,
        "contact telephone number": 42, "contact email address": 43,
    }),
    _party("Buyer", f"{_AGREED}/BuyerTradeParty", "AccountingCustomerParty/Party", {
        "name": 44, "trading name": 45, "identifier": 46, "legal registration identifier": 47, "VAT identifier": 48,
        "address line 1": 50, "address line 2": 51, "address line 3": 163, "post code": 53, "city": 52,
        "country subdivision": 54, "country code": 55, "contact point": 56, "contact telephone number": 57,
        "contact email address": 58,
    }),
    (
        Term(59, "Payee name", f"{_SETTLED}/PayeeTradeParty/Name", "PayeeParty/PartyName/Name"),
        Term(62, "Seller tax representative name", f"{_AGREED}/SellerTaxRepresentativeTradeParty/Name",
             "TaxRepresentativeParty/PartyName/Name"),
        Term(70, "Deliver to party name", f"{_DELIVERED}/ShipToTradeParty/Name",
             "Delivery/DeliveryParty/PartyName/Name"),
        Term(75, "Deliver to address line 1", f"{_DELIVERED}/ShipToTradeParty/PostalTradeAddress/LineOne",
             "Delivery/DeliveryLocation/Address/StreetName"),
        Term(78, "Deliver to post code", f"{_DELIVERED}/ShipToTradeParty/PostalTradeAddress/PostcodeCode",
             "Delivery/DeliveryLocation/Address/PostalZone"),
        Term(77, "Deliver to city", f"{_DELIVERED}/ShipToTradeParty/PostalTradeAddress/CityName",
             "Delivery/DeliveryLocation/Address/CityName"),
    ),
    (
        Term(20, "Payment terms", f"{_SETTLED}/SpecifiedTradePaymentTerms/Description", "PaymentTerms/Note"),
        Term(82, "Payment means text", f"{_MEANS}/Information", "PaymentMeans/PaymentMeansCode/@name"),
        Term(83, "Remittance information", f"{_SETTLED}/PaymentReference", "PaymentMeans/PaymentID"),
        Term(84, "Payment account identifier", f"{_ACCOUNT}/IBANID|{_ACCOUNT}/ProprietaryID",
             "PaymentMeans/PayeeFinancialAccount/ID"),
        Term(85, "Payment account name", f"{_ACCOUNT}/AccountName", "PaymentMeans/PayeeFinancialAccount/Name"),
        Term(86, "Payment service provider identifier",
             f"{_MEANS}/PayeeSpecifiedCreditorFinancialInstitution/BICID",
             "PaymentMeans/PayeeFinancialAccount/FinancialInstitutionBranch/ID"),
        Term(89, "Mandate reference identifier", f"{_SETTLED}/SpecifiedTradePaymentTerms/DirectDebitMandateID",
             "PaymentMeans/PaymentMandate/ID"),
        Term(91, "Debited account identifier", f"{_MEANS}/PayerPartyDebtorFinancialAccount/IBANID",
             "PaymentMeans/PaymentMandate/PayerFinancialAccount/ID"),
    ),
)  # fmt: skip

_LINE_AGREED = "*[self::SpecifiedLineTradeAgreement or self::SpecifiedSupplyChainTradeAgreement]"
_LINE_DELIVERED = "*[self::SpecifiedLineTradeDelivery or self::SpecifiedSupplyChainTradeDelivery]"
_LINE_SETTLED = "*[self::SpecifiedLineTradeSettlement or self::SpecifiedSupplyChainTradeSettlement]"
_LINE_SUM = (
    f"{_LINE_SETTLED}/*[self::SpecifiedTradeSettlementLineMonetarySummation "
    "or self::SpecifiedTradeSettlementMonetarySummation]"
)
_PRICE = f"{_LINE_AGREED}/NetPriceProductTradePrice"
_QUANTITY = "InvoicedQuantity|CreditedQuantity"

#: The lines of an invoice (BG-25).
LINES = TermGroup(
    "Invoice line",
    f"{_TRADE}/IncludedSupplyChainTradeLineItem",
    "InvoiceLine|CreditNoteLine",
    (
        Term(126, "Invoice line identifier", "AssociatedDocumentLineDocument/LineID", "ID"),
        Term(155, "Item Seller's identifier", "SpecifiedTradeProduct/SellerAssignedID",
             "Item/SellersItemIdentification/ID"),
        Term(156, "Item Buyer's identifier", "SpecifiedTradeProduct/BuyerAssignedID",
             "Item/BuyersItemIdentification/ID"),
        Term(157, "Item standard identifier", "SpecifiedTradeProduct/GlobalID",
             "Item/StandardItemIdentification/ID"),
        Term(153, "Item name", "SpecifiedTradeProduct/Name", "Item/Name"),
        Term(129, "Invoiced quantity", f"{_LINE_DELIVERED}/BilledQuantity", _QUANTITY),
        Term(130, "Unit of measure code", f"{_LINE_DELIVERED}/BilledQuantity/@unitCode",
             "InvoicedQuantity/@unitCode|CreditedQuantity/@unitCode"),
        Term(146, "Item net price", f"{_PRICE}/ChargeAmount", "Price/PriceAmount"),
        Term(149, "Item price base quantity", f"{_PRICE}/BasisQuantity", "Price/BaseQuantity"),
        Term(152, "Invoiced item VAT rate",
             f"{_LINE_SETTLED}/ApplicableTradeTax/*[self::RateApplicablePercent or self::ApplicablePercent]",
             "Item/ClassifiedTaxCategory/Percent"),
        Term(131, "Invoice line net amount", f"{_LINE_SUM}/LineTotalAmount", "LineExtensionAmount"),
    ),
)  # fmt: skip
#: The taxes of an invoice (BG-23).
TAXES = TermGroup(
    "VAT breakdown",
    f"{_SETTLED}/ApplicableTradeTax",
    "TaxTotal/TaxSubtotal",
    (
        Term(118, "VAT category code", "CategoryCode", "TaxCategory/ID"),
        Term(119, "VAT category rate", "RateApplicablePercent|ApplicablePercent", "TaxCategory/Percent"),
        Term(116, "VAT category taxable amount", "BasisAmount", "TaxableAmount"),
        Term(117, "VAT category tax amount", "CalculatedAmount", "TaxAmount"),
    ),
)
#: The totals of an invoice (BG-22).
TOTALS: tuple[Term, ...] = (
    Term(106, "Sum of Invoice line net amount", f"{_SUM}/LineTotalAmount", f"{_TOTAL}/LineExtensionAmount"),
    Term(107, "Sum of allowances on document level", f"{_SUM}/AllowanceTotalAmount", f"{_TOTAL}/AllowanceTotalAmount"),
    Term(108, "Sum of charges on document level", f"{_SUM}/ChargeTotalAmount", f"{_TOTAL}/ChargeTotalAmount"),
    Term(109, "Invoice total amount without VAT", f"{_SUM}/TaxBasisTotalAmount", f"{_TOTAL}/TaxExclusiveAmount"),
    Term(110, "Invoice total VAT amount", f"{_SUM}/TaxTotalAmount", "TaxTotal/TaxAmount"),
    Term(112, "Invoice total amount with VAT", f"{_SUM}/GrandTotalAmount", f"{_TOTAL}/TaxInclusiveAmount"),
    Term(113, "Paid amount", f"{_SUM}/TotalPrepaidAmount", f"{_TOTAL}/PrepaidAmount"),
    Term(114, "Rounding amount", f"{_SUM}/RoundingAmount", f"{_TOTAL}/PayableRoundingAmount"),
    Term(115, "Amount due for payment", f"{_SUM}/DuePayableAmount", f"{_TOTAL}/PayableAmount"),
)
