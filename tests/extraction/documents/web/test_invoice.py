"""Electronic invoices: the terms of EN 16931 as labelled lines and tables, in both of its syntaxes."""

from __future__ import annotations

import pytest

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.web.invoice import BLOCKS, LINES, TAXES, TOTALS

CII = b"""<?xml version="1.0"?>
<r:CrossIndustryInvoice xmlns:r="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"
 xmlns:a="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"
 xmlns:u="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100">
 <r:ExchangedDocument><a:ID>R-7</a:ID>
  <a:IssueDateTime><u:DateTimeString format="102">20240305</u:DateTimeString></a:IssueDateTime></r:ExchangedDocument>
 <r:SupplyChainTradeTransaction>
  <a:IncludedSupplyChainTradeLineItem>
   <a:AssociatedDocumentLineDocument><a:LineID>1</a:LineID></a:AssociatedDocumentLineDocument>
   <a:SpecifiedTradeProduct><a:SellerAssignedID>B1</a:SellerAssignedID><a:Name>Bolt</a:Name></a:SpecifiedTradeProduct>
   <a:SpecifiedLineTradeAgreement><a:NetPriceProductTradePrice><a:ChargeAmount>1.125</a:ChargeAmount>
    <a:BasisQuantity>1.00</a:BasisQuantity></a:NetPriceProductTradePrice></a:SpecifiedLineTradeAgreement>
   <a:SpecifiedLineTradeDelivery>
    <a:BilledQuantity unitCode="C62">4.000</a:BilledQuantity></a:SpecifiedLineTradeDelivery>
   <a:SpecifiedLineTradeSettlement><a:ApplicableTradeTax><a:RateApplicablePercent>19.00</a:RateApplicablePercent>
    </a:ApplicableTradeTax><a:SpecifiedTradeSettlementLineMonetarySummation><a:LineTotalAmount>4.5</a:LineTotalAmount>
    </a:SpecifiedTradeSettlementLineMonetarySummation></a:SpecifiedLineTradeSettlement>
  </a:IncludedSupplyChainTradeLineItem>
  <a:ApplicableHeaderTradeAgreement>
   <a:SellerTradeParty><a:Name>Nut &amp; Co</a:Name><a:PostalTradeAddress><a:PostcodeCode>10115</a:PostcodeCode>
    <a:CityName>Berlin</a:CityName></a:PostalTradeAddress><a:SpecifiedTaxRegistration><a:ID schemeID="FC">12/3</a:ID>
    </a:SpecifiedTaxRegistration><a:SpecifiedTaxRegistration><a:ID schemeID="VA">DE 123 456 789</a:ID>
    </a:SpecifiedTaxRegistration></a:SellerTradeParty>
   <a:BuyerTradeParty><a:Name>Buyer Ltd</a:Name></a:BuyerTradeParty>
  </a:ApplicableHeaderTradeAgreement>
  <a:ApplicableHeaderTradeSettlement><a:InvoiceCurrencyCode>EUR</a:InvoiceCurrencyCode>
   <a:SpecifiedTradeSettlementPaymentMeans><a:PayeePartyCreditorFinancialAccount>
    <a:IBANID>DE02 1203 0000</a:IBANID></a:PayeePartyCreditorFinancialAccount></a:SpecifiedTradeSettlementPaymentMeans>
   <a:ApplicableTradeTax><a:CalculatedAmount>0.86</a:CalculatedAmount><a:BasisAmount>4.50</a:BasisAmount>
    <a:CategoryCode>S</a:CategoryCode><a:RateApplicablePercent>19</a:RateApplicablePercent></a:ApplicableTradeTax>
   <a:SpecifiedTradeSettlementHeaderMonetarySummation><a:ChargeTotalAmount>0.00</a:ChargeTotalAmount>
    <a:TaxBasisTotalAmount>4.50</a:TaxBasisTotalAmount><a:TaxTotalAmount currencyID="EUR">0.86</a:TaxTotalAmount>
    <a:GrandTotalAmount>5.36</a:GrandTotalAmount><a:DuePayableAmount>5.36</a:DuePayableAmount>
   </a:SpecifiedTradeSettlementHeaderMonetarySummation></a:ApplicableHeaderTradeSettlement>
 </r:SupplyChainTradeTransaction>
</r:CrossIndustryInvoice>"""

UBL = b"""<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"
 xmlns:a="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
 xmlns:b="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">
 <b:ID>R-7</b:ID><b:IssueDate>2024-03-05</b:IssueDate><b:DocumentCurrencyCode>EUR</b:DocumentCurrencyCode>
 <a:AccountingSupplierParty><a:Party><a:PostalAddress><b:CityName>Berlin</b:CityName><b:PostalZone>10115</b:PostalZone>
  </a:PostalAddress><a:PartyTaxScheme><b:CompanyID>12/3</b:CompanyID><a:TaxScheme><b:ID>FC</b:ID></a:TaxScheme>
  </a:PartyTaxScheme><a:PartyTaxScheme><b:CompanyID>DE123456789</b:CompanyID><a:TaxScheme><b:ID>VAT</b:ID></a:TaxScheme>
  </a:PartyTaxScheme><a:PartyLegalEntity><b:RegistrationName>Nut &amp; Co</b:RegistrationName></a:PartyLegalEntity>
  </a:Party></a:AccountingSupplierParty>
 <a:AccountingCustomerParty><a:Party><a:PartyLegalEntity><b:RegistrationName>Buyer Ltd</b:RegistrationName>
  </a:PartyLegalEntity></a:Party></a:AccountingCustomerParty>
 <a:PaymentMeans><a:PayeeFinancialAccount><b:ID>DE0212030000</b:ID></a:PayeeFinancialAccount></a:PaymentMeans>
 <a:TaxTotal><b:TaxAmount currencyID="EUR">0.86</b:TaxAmount><a:TaxSubtotal><b:TaxableAmount>4.50</b:TaxableAmount>
  <b:TaxAmount>0.86</b:TaxAmount><a:TaxCategory><b:ID>S</b:ID><b:Percent>19</b:Percent></a:TaxCategory></a:TaxSubtotal>
  </a:TaxTotal>
 <a:LegalMonetaryTotal><b:TaxExclusiveAmount>4.50</b:TaxExclusiveAmount><b:TaxInclusiveAmount>5.36</b:TaxInclusiveAmount>
  <b:PayableAmount>5.36</b:PayableAmount></a:LegalMonetaryTotal>
 <a:InvoiceLine><b:ID>1</b:ID><b:InvoicedQuantity unitCode="C62">4</b:InvoicedQuantity>
  <b:LineExtensionAmount>4.50</b:LineExtensionAmount><a:Item><b:Name>Bolt</b:Name><a:SellersItemIdentification>
  <b:ID>B1</b:ID></a:SellersItemIdentification><a:ClassifiedTaxCategory><b:Percent>19</b:Percent>
  </a:ClassifiedTaxCategory></a:Item><a:Price><b:PriceAmount>1.125</b:PriceAmount></a:Price></a:InvoiceLine>
</Invoice>"""

TEXT = """Invoice number: R-7
Invoice issue date: 2024-03-05
Invoice currency code: EUR

Seller name: Nut & Co
Seller VAT identifier: DE123456789
Seller tax registration identifier: 12/3
Seller post code: 10115
Seller city: Berlin

Buyer name: Buyer Ltd

Payment account identifier: DE0212030000

"""


def words(line: str) -> list[str]:
    return [cell for cell in line.split("  ") if cell]


def check(document: Document) -> None:
    assert document.text.startswith(TEXT)
    head, line, _, taxes, rates, _, *totals = document.text.removeprefix(TEXT).split("\n")
    assert [cell.strip() for cell in words(head)] == [
        "Invoice line identifier", "Item Seller's identifier", "Item name", "Invoiced quantity", "Unit of measure code",
        "Item net price", "Invoiced item VAT rate", "Invoice line net amount",
    ]  # fmt: skip
    assert line.split() == ["1", "B1", "Bolt", "4", "C62", "1.1250", "19", "4.50"]
    assert len(words(taxes)) == 4 and rates.split() == ["S", "19", "4.50", "0.86"]
    assert totals == [
        "Invoice total amount without VAT: 4.50",
        "Invoice total VAT amount: 0.86",
        "Invoice total amount with VAT: 5.36",
        "Amount due for payment: 5.36",
    ]
    assert [part.kind for part in document.parts] == ["invoice"]
    assert document.places.at(document.text.index("DE123456789")) == "BT-31"
    assert document.places.at(document.text.index("Bolt")) == "Invoice line 1"


def test_both_syntaxes_give_the_terms_of_the_standard_under_its_names() -> None:
    check(parse(CII, "a.xml"))
    check(parse(UBL, "a.xml"))


def test_a_credit_note_is_an_invoice_and_other_xml_of_these_names_is_not() -> None:
    note = UBL.replace(b"Invoice-2", b"CreditNote-2").replace(b"<Invoice ", b"<CreditNote ").replace(
        b"</Invoice>", b"</CreditNote>"
    )
    note = note.replace(b"InvoiceLine", b"CreditNoteLine").replace(b"InvoicedQuantity", b"CreditedQuantity")
    check(parse(note, "a.xml"))
    assert parse(b"<Invoice><ID>7</ID></Invoice>", "a.xml").text == "Invoice:\n  ID: 7"


def test_version_1_of_zugferd_has_other_names_of_the_same_elements() -> None:
    old = CII.replace(b"CrossIndustryInvoice:100", b"invoice:1p0").replace(b"urn:un:unece:uncefact:data", b"urn:ferd")
    for name, former in (
        (b"CrossIndustryInvoice", b"CrossIndustryDocument"),
        (b"r:ExchangedDocument", b"r:HeaderExchangedDocument"),
        (b"r:SupplyChainTradeTransaction", b"r:SpecifiedSupplyChainTradeTransaction"),
        (b"ApplicableHeaderTrade", b"ApplicableSupplyChainTrade"),
        (b"SpecifiedLineTrade", b"SpecifiedSupplyChainTrade"),
        (b"SettlementHeaderMonetary", b"SettlementMonetary"),
        (b"SettlementLineMonetary", b"SettlementMonetary"),
        (b"RateApplicablePercent", b"ApplicablePercent"),
    ):
        old = old.replace(name, former)
    check(parse(old, "a.xml"))


@pytest.mark.parametrize("amount", ["1e5", "9" * 5000, "", "-0.5", "NaN", "1,5"])
def test_odd_amounts_stay_as_they_are_spelled(amount: str) -> None:
    spelled = {"-0.5": "-0.50"}.get(amount, amount)
    text = parse(UBL.replace(b"<b:PayableAmount>5.36", f"<b:PayableAmount>{amount}".encode()), "a.xml").text
    last = f"Amount due for payment: {spelled}" if amount else "Invoice total amount with VAT: 5.36"
    assert text.endswith(f"\n{last}")


def test_each_number_of_a_term_occurs_once() -> None:
    terms = [*(term for block in BLOCKS for term in block), *LINES.terms, *TAXES.terms, *TOTALS]
    assert len({term.number for term in terms}) == len(terms) == len({term.name for term in terms})
