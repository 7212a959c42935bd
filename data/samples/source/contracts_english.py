"""Non-disclosure agreements in English: a mutual deed, a one-way agreement, a side letter, a text file."""

from __future__ import annotations

from paper import Sample, flow
from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY
from reportlab.lib.pagesizes import A4, letter
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import Flowable, Paragraph, Spacer, Table
from truths_contract import nda

BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=11, leading=15, alignment=TA_JUSTIFY,
                      spaceAfter=8)
HEAD = ParagraphStyle("head", parent=BODY, fontName="Times-Bold", fontSize=14, alignment=TA_CENTER,
                      spaceAfter=16)


def foot(words: str, font: str = "Times-Roman"):  # type: ignore[no-untyped-def]
    """A page footer with the page's number."""
    def draw(canvas, template) -> None:  # type: ignore[no-untyped-def]
        canvas.setFont(font, 8)
        canvas.drawString(72, 36, words)
        canvas.drawRightString(template.pagesize[0] - 72, 36, f"Page {canvas.getPageNumber()}")
    return draw


def paragraphs(text: str, style: ParagraphStyle) -> list[Flowable]:
    return [Paragraph(" ".join(block.split()), style) for block in text.strip().split("\n\n")]


MUTUAL = """
<b>THIS AGREEMENT</b> is dated <b>14 February 2023</b>

<b>BETWEEN</b>

(1) <b>HALDEN MARINE ROBOTICS LIMITED</b>, incorporated and registered in England and Wales with company
number 09447120, whose registered office is at Unit 7, Ocean Village, Southampton SO14 3XB
("<b>Halden</b>"); and

(2) <b>OSPREY SUBSEA AS</b>, a company incorporated in Norway with organisation number 918 220 447, whose
principal place of business is at Strandgaten 196, 5004 Bergen ("<b>Osprey</b>").

<b>BACKGROUND</b>

Each party has developed technical and commercial information which it regards as secret. The parties wish
to evaluate a possible joint bid for the inspection of offshore wind foundations (the "<b>Purpose</b>"), and
each is willing to let the other have such information on the terms below.

<b>AGREED TERMS</b>

<b>1. Definitions.</b> "Confidential Information" means all information, in whatever form, that a party (the
"Discloser") makes available to the other (the "Recipient") on or after the date of this agreement and that
is marked confidential or ought reasonably to be regarded as confidential, including drawings, test results,
source code, prices, the names of customers, and the fact that discussions are taking place.

<b>2. Exceptions.</b> The obligations below do not extend to information which (a) is or becomes public
other than through a breach of this agreement; (b) was lawfully known to the Recipient before it was
disclosed, as its written records show; (c) is received from a third party who was free to disclose it; or
(d) is developed by employees of the Recipient who had no access to it.

<b>3. Undertakings.</b> The Recipient shall (a) keep the Confidential Information secret; (b) use it for the
Purpose and for nothing else; (c) disclose it only to those of its officers, employees and advisers who need
to know it for the Purpose and who are bound by obligations no less strict; (d) make no more copies than are
needed; and (e) tell the Discloser without delay if it becomes aware of any unauthorised use.

<b>4. Compelled disclosure.</b> A Recipient that is required by law, by a court or by the rules of a stock
exchange to disclose Confidential Information may do so, provided that, where it lawfully can, it gives the
Discloser at least five Business Days' notice and discloses the least that is required.

<b>5. Return.</b> Within ten Business Days of a written request, the Recipient shall return or destroy all
documents and materials that contain Confidential Information, save for copies made by automatic back-up and
one copy that its legal department may keep in order to prove compliance.

<b>6. No licence.</b> Nothing in this agreement transfers or licenses any patent, design, trade mark or
copyright. Neither party gives any warranty as to the accuracy of what it discloses. Neither is obliged to
conclude any further contract.

<b>7. Duration.</b> Either party may end the discussions at any time by notice in writing. The obligations
of each party shall, notwithstanding the earlier end of the discussions, continue for a period of three (3)
years from the date of this agreement.

<b>8. Remedies.</b> Each party acknowledges that damages alone may not be an adequate remedy for breach and
that the other may seek an injunction without proof of special damage. The total liability of either party
shall not exceed £2,000,000.

<b>9. Personal data.</b> The parties do not intend to exchange personal data other than business contact
details, which each shall handle in accordance with the UK GDPR and the Norwegian Personal Data Act.

<b>10. General.</b> This agreement is the whole agreement between the parties on its subject. It may be
varied only in writing signed by both. A person who is not a party has no rights under the Contracts (Rights
of Third Parties) Act 1999. It may be executed in counterparts.

<b>11. Governing law and jurisdiction.</b> This agreement, and any dispute arising out of it, is governed by
the law of England and Wales, and the courts of England have exclusive jurisdiction.

This agreement has been entered into on the date stated at the beginning of it.
"""


def mutual() -> Sample:
    sign = Table([["Signed by FIONA CATTERMOLE\nfor and on behalf of\nHALDEN MARINE ROBOTICS LIMITED",
                   ".................................\nDirector"],
                  ["Signed by TORSTEIN MYKLEBUST\nfor and on behalf of\nOSPREY SUBSEA AS",
                   ".................................\nAdm. direktør"]], colWidths=[260, 190], rowHeights=70)
    sign.setStyle([("FONT", (0, 0), (-1, -1), "Times-Roman", 11), ("VALIGN", (0, 0), (-1, -1), "TOP")])
    story = [Paragraph("CONFIDENTIALITY AGREEMENT", HEAD), *paragraphs(MUTUAL, BODY), Spacer(1, 18), sign]
    data = flow(story, A4, (72, 72, 72, 72), foot("HMR / Osprey – Confidentiality Agreement – execution "
                                                  "version"),
                title="Confidentiality Agreement", creator="Microsoft Word", author="K. Abara")
    truth = nda(["Halden Marine Robotics Limited", "Osprey Subsea AS"], "2023-02-14", "England and Wales",
                "3 years", True,
                "evaluate a possible joint bid for the inspection of offshore wind foundations")
    return Sample("docs/Halden_Osprey_NDA_execution.pdf", data, truth,
                  {"governing_law": ["England"], "purpose": [
        "a possible joint bid for the inspection of offshore wind foundations"]})


ONE_WAY = """
This One-Way Non-Disclosure Agreement (this "Agreement") is entered into and made effective as of September
1, 2022 (the "Effective Date") by and between Tallgrass Biologics, Inc., a Delaware corporation having its
principal offices at 4100 Research Parkway, Lincoln, Nebraska 68521 ("Company"), and Quillon Analytics LLC,
a limited liability company organized under the laws of Colorado ("Recipient").

WHEREAS, Company possesses certain proprietary information concerning the fermentation, purification and
stability of its TG-211 enzyme preparation; and

WHEREAS, Recipient desires to receive such information solely in order to prepare a quotation for analytical
testing services (the "Permitted Use");

NOW, THEREFORE, in consideration of the premises and the covenants herein, the parties agree as follows:

<b>Section 1. Proprietary Information.</b> "Proprietary Information" means any and all technical and
business information furnished by or on behalf of Company to Recipient, whether orally, in writing, by
inspection of tangible objects or by electronic transmission, and all notes, analyses and summaries that
contain or reflect such information. Samples of material are Proprietary Information, and Recipient shall
not analyze their composition except as Company directs.

<b>Section 2. Non-Use and Non-Disclosure.</b> Recipient shall hold the Proprietary Information in strict
confidence, shall not disclose it to any third party, and shall not use it for any purpose other than the
Permitted Use. Recipient shall protect it with at least the degree of care that it uses for its own
information of like importance, and in no event less than reasonable care. Recipient is responsible for any
breach by its personnel.

<b>Section 3. Exclusions.</b> Recipient has no obligation with respect to information that (i) was in its
possession, free of restriction, before receipt from Company; (ii) enters the public domain through no act
of Recipient; (iii) is rightfully obtained from a third party without restriction; or (iv) is approved for
release by Company in writing.

<b>Section 4. Required Disclosure.</b> If Recipient is served with a subpoena or other process that calls
for Proprietary Information, it shall give Company prompt notice so that Company may seek a protective
order. Pursuant to 18 U.S.C. § 1833(b), an individual shall not be held liable for the disclosure of a trade
secret made in confidence to a government official or an attorney solely for the purpose of reporting a
suspected violation of law.

<b>Section 5. Ownership.</b> All Proprietary Information remains the property of Company. No license is
granted. Upon Company's request, and in any event within thirty (30) days after expiration, Recipient shall
return or destroy all Proprietary Information and certify in writing that it has done so.

<b>Section 6. No Obligation of Company.</b> Company receives no confidential information of Recipient
hereunder, and anything that Recipient sends to Company, other than its quotation, shall be deemed
non-confidential.

<b>Section 7. Term.</b> Recipient's obligations hereunder shall survive for five (5) years following the
Effective Date, except that information identified in writing as a trade secret shall be protected for so
long as it remains one.

<b>Section 8. Export.</b> Recipient shall comply with all applicable export control laws and shall not
transfer any technical data to any destination to which its transfer is prohibited.

<b>Section 9. Equitable Relief.</b> Any breach may cause irreparable harm, and Company shall be entitled to
specific performance and injunctive relief in addition to all other remedies, without the posting of a bond.

<b>Section 10. Miscellaneous.</b> This Agreement shall be governed by and construed in accordance with the
laws of the State of Nebraska, without regard to its conflict of laws provisions. It may not be assigned by
Recipient. No waiver is effective unless in writing. If a provision is held unenforceable, the remainder
continues in effect. This Agreement is the entire understanding of the parties with respect to its subject
matter.

IN WITNESS WHEREOF, the parties have caused this Agreement to be executed by their duly authorized
representatives.
"""


def one_way() -> Sample:
    body = ParagraphStyle("us", parent=BODY, fontName="Helvetica", fontSize=10.5, leading=17, spaceAfter=10,
                          alignment=0)
    head = ParagraphStyle("ush", parent=HEAD, fontName="Helvetica-Bold", fontSize=13)
    sign = Table([["TALLGRASS BIOLOGICS, INC.", "QUILLON ANALYTICS LLC"],
                  ["By: ____________________", "By: ____________________"],
                  ["Name: Marcia Ostrowski", "Name: Dev Raman"],
                  ["Title: VP, Manufacturing", "Title: Managing Member"],
                  ["Date: 8/30/2022", "Date: 9/6/2022"]], colWidths=[234, 234], rowHeights=22)
    sign.setStyle([("FONT", (0, 0), (-1, -1), "Helvetica", 10)])
    story = [Paragraph("ONE-WAY NON-DISCLOSURE AGREEMENT", head), *paragraphs(ONE_WAY, body), Spacer(1, 20),
             sign]
    data = flow(story, letter, (72, 80, 72, 72), foot("TGB Form LGL-014 rev. C", "Helvetica"),
                title="LGL-014", creator="DocuSign")
    truth = nda(["Tallgrass Biologics, Inc.", "Quillon Analytics LLC"], "2022-09-01", "Nebraska", "5 years",
                False,
                "prepare a quotation for analytical testing services")
    return Sample("docs/LGL-014_Quillon_signed.pdf", data, truth)


LETTER = """
Dear Ms Achterberg,

<b>Possible sale of the Glenfarran bottling plant</b>

1. You have asked us for information about the bottling plant at Glenfarran, Perthshire, which our client,
Strathmuir Distillers plc ("the Seller"), is considering selling. In consideration of the Seller making that
information available to Achterberg Beverages N.V. ("you"), you agree to the terms of this letter.

2. You will keep the information strictly confidential and will use it only to decide whether to make an
offer for the plant. You may share it with your directors, your auditors and the bank that is to finance an
offer, if you first tell them that it is confidential; you answer for what they do with it.

3. You will not, without our written consent, approach any employee, supplier or tenant of the plant, nor
visit it. For twelve months you will not offer employment to the plant manager or to any of the coopers.

4. None of this applies to information that is already public or that you held before today. You may
disclose what a court or a regulator lawfully demands.

5. Should you decide not to proceed, you will within a week return the papers and delete the files, whether
or not we ask.

6. The undertakings in this letter lapse eighteen months after its date. They are governed by Scots law (the
law of Scotland), and the Court of Session alone has jurisdiction.

Please sign and return the enclosed copy of this letter if you agree.

Yours sincerely,
"""


def side_letter() -> Sample:
    body = ParagraphStyle("letter", parent=BODY, fontSize=11.5, leading=16.5, alignment=0, spaceAfter=10)
    plain = ParagraphStyle("plain", parent=body, spaceAfter=0, leading=14)
    story = [Paragraph("Menzies Rattray LLP",
                       ParagraphStyle("mr", parent=HEAD, fontSize=18, leading=24, spaceAfter=2)),
             Paragraph("Solicitors · 31 Charlotte Square · Edinburgh EH2 4ET",
                       ParagraphStyle("mr2", parent=HEAD, fontName="Times-Roman",
                                                                                           fontSize=9,
                                                                                           leading=12,
                                                                                           spaceAfter=30)),
             *[Paragraph(t, plain) for t in ("Ms Lotte Achterberg", "Achterberg Beverages N.V.",
                                             "Keizersgracht 411", "1016 EK Amsterdam",
                                             "&nbsp;", "Strictly private and confidential", "&nbsp;",
                                             "7th November 2023")],
             Spacer(1, 16), *paragraphs(LETTER, body), Spacer(1, 30),
             *[Paragraph(t, plain) for t in ("Iain Rattray, partner", "for Strathmuir Distillers plc",
                                             "&nbsp;", "We agree to the terms "
                                             "of the letter of which this is a copy.", "&nbsp;",
                                             "_________________________ &nbsp; for "
                                             "Achterberg Beverages N.V.")]]
    data = flow(story, A4, (80, 60, 80, 60), title="Letter 7 Nov 2023", creator="Microsoft Word",
                author="iar")
    truth = nda(["Strathmuir Distillers plc", "Achterberg Beverages N.V."], "2023-11-07", "Scotland",
                "18 months", False, "to decide whether to make an offer for the plant")
    also = {"term": ["eighteen months"],
            "purpose": ["only to decide whether to make an offer for the plant",
                        "decide whether to make an offer for the plant"]}
    return Sample("docs/letter_glenfarran_2023-11-07.pdf", data, truth, also)


PLAIN = """\
                    MUTUAL CONFIDENTIALITY AGREEMENT

     THIS MUTUAL CONFIDENTIALITY AGREEMENT (the "Agreement") is made this
23rd day of May, 2021, between RIDGELINE PAYMENTS CORP., a California
corporation with offices at 600 Battery Street, San Francisco, CA 94111
("Ridgeline"), and MARIGOLD CREDIT UNION, a federally chartered credit union
with offices at 1187 Alamo Avenue, Vacaville, CA 95687 ("Marigold").

     1. PURPOSE. The parties are discussing the integration of Ridgeline's card
processing platform with Marigold's member portal, and may exchange information
that each considers confidential.

     2. CONFIDENTIAL INFORMATION. "Confidential Information" includes member
data, security procedures, audit reports, pricing, roadmaps, and anything else
that a reasonable person would understand to be confidential. It excludes
information that is generally available, independently developed, or lawfully
received from others.

     3. DUTIES OF EACH PARTY. Each party, when it receives Confidential
Information of the other, will (a) use it only for the purpose stated in Section
1; (b) limit access to employees and contractors with a need to know; (c) keep
member data encrypted at rest and in transit; and (d) report any suspected
incident within forty-eight (48) hours.

     4. TERM. This Agreement begins on the date first written above and may be
ended by either party on thirty (30) days' notice. The duties in Section 3 last
for two (2) years after each disclosure; for member data they last indefinitely.

     5. GOVERNING LAW. California law governs this Agreement, and venue lies in
Solano County.

     6. ENTIRE AGREEMENT; COUNTERPARTS. This is the entire agreement on its
subject. Signatures sent by facsimile or electronic mail are originals.

RIDGELINE PAYMENTS CORP.                 MARIGOLD CREDIT UNION

/s/ Hannah Voss                          /s/ Luis Ybarra
-----------------------                  -----------------------
Hannah Voss, General Counsel             Luis Ybarra, President
"""


def plain_text() -> Sample:
    truth = nda(["Ridgeline Payments Corp.", "Marigold Credit Union"], "2021-05-23", "California", "2 years",
                True,
                "the integration of Ridgeline's card processing platform with Marigold's member portal")
    return Sample("docs/ridgeline_marigold_mca.txt", PLAIN.encode(), truth)


SAMPLES = [mutual, one_way, side_letter, plain_text]
