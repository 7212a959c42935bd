"""More non-disclosure agreements: German in two columns, French, a blank form, a consultant's promise."""

from __future__ import annotations

from contracts_english import BODY, HEAD, foot, paragraphs
from paper import Sample, flow
from reportlab.lib.pagesizes import A4, letter
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import Paragraph, Spacer
from truths_contract import nda

GERMAN = """
zwischen

<b>Kessler Präzisionsguss GmbH</b>, Gießereistraße 14, 58791 Werdohl, vertreten durch den Geschäftsführer
Dipl.-Ing. Ralf Kessler – nachfolgend „Kessler“ –

und

<b>Voltara Antriebe AG</b>, Lindenallee 3, 70565 Stuttgart, vertreten durch den Vorstand – nachfolgend
„Voltara“ –

<b>Vorbemerkung</b>

Die Parteien prüfen die gemeinsame Entwicklung eines Gehäuses aus Aluminiumdruckguss für Radnabenmotoren.
Dabei werden sie einander technische und kaufmännische Informationen zugänglich machen, die der
Öffentlichkeit nicht bekannt sind.

<b>§ 1 Vertrauliche Informationen</b>

(1) Vertraulich sind alle Zeichnungen, Muster, Werkzeugdaten, Kalkulationen, Lieferanten- und Kundennamen,
gleich ob sie mündlich, schriftlich oder elektronisch mitgeteilt werden.

(2) Mündliche Mitteilungen sind vertraulich, wenn sie binnen zehn Werktagen schriftlich als solche
bezeichnet werden.

<b>§ 2 Pflichten</b>

(1) Jede Partei behandelt die Informationen der anderen streng vertraulich, schützt sie durch angemessene
Maßnahmen im Sinne des § 2 GeschGehG und verwendet sie ausschließlich für den in der Vorbemerkung genannten
Zweck.

(2) Mitarbeiter und Berater erhalten nur Zugang, soweit dies erforderlich ist und sie entsprechend
verpflichtet wurden.

(3) Der Rückbau überlassener Muster („Reverse Engineering“) ist untersagt.

<b>§ 3 Ausnahmen</b>

Die Pflichten gelten nicht für Informationen, die allgemein bekannt sind, der empfangenden Partei bereits
bekannt waren, von ihr unabhängig entwickelt oder von einem Dritten rechtmäßig erlangt wurden. Die
Beweislast trägt, wer sich darauf beruft.

<b>§ 4 Vertragsstrafe</b>

Für jeden Fall der schuldhaften Zuwiderhandlung zahlt die verletzende Partei eine Vertragsstrafe von 25.000
Euro. Weitergehender Schadensersatz bleibt vorbehalten.

<b>§ 5 Rückgabe</b>

Nach Ende der Gespräche sind alle Unterlagen und Muster unaufgefordert zurückzugeben, Dateien zu löschen.
Gesetzliche Aufbewahrungspflichten bleiben unberührt.

<b>§ 6 Laufzeit</b>

Diese Vereinbarung tritt am 1. März 2024 in Kraft. Sie kann mit einer Frist von vier Wochen zum Monatsende
gekündigt werden. Die Pflicht zur Geheimhaltung besteht nach dem Ende der Vereinbarung 4 Jahre fort.

<b>§ 7 Schlussbestimmungen</b>

(1) Änderungen bedürfen der Schriftform; das gilt auch für diese Klausel.

(2) Es gilt das Recht der Bundesrepublik Deutschland unter Ausschluss des Kollisionsrechts. Gerichtsstand
ist Hagen.

(3) Sollte eine Bestimmung unwirksam sein, bleiben die übrigen wirksam.

Werdohl, den 26.02.2024<br/><br/>______________________<br/>Kessler Präzisionsguss GmbH

Stuttgart, den 28.02.2024<br/><br/>______________________<br/>Voltara Antriebe AG
"""


def german() -> Sample:
    body = ParagraphStyle("de", parent=BODY, fontSize=9.5, leading=12.6, spaceAfter=6)
    story = [Paragraph("Geheimhaltungsvereinbarung", ParagraphStyle("deh", parent=HEAD, leading=18)),
             *paragraphs(GERMAN, body)]
    data = flow(story, A4, (56, 64, 56, 64), foot("GHV Kessler / Voltara"), columns=2, gap=24,
                title="Geheimhaltungsvereinbarung",
                creator="Adobe InDesign CC", author="Rechtsabteilung")
    truth = nda(["Kessler Präzisionsguss GmbH", "Voltara Antriebe AG"], "2024-03-01", "Deutschland",
                "4 Jahre", True,
                "die gemeinsame Entwicklung eines Gehäuses aus Aluminiumdruckguss für Radnabenmotoren")
    return Sample("docs/GHV_Kessler_Voltara.pdf", data, truth, {
        "governing_law": ["Germany", "Bundesrepublik Deutschland"], "term": ["4 years"],
        "purpose": ["gemeinsame Entwicklung eines Gehäuses aus Aluminiumdruckguss für Radnabenmotoren"]})


FRENCH = """
<b>ENTRE LES SOUSSIGNÉES :</b>

La société <b>Fromagerie des Trois Vallées SAS</b>, au capital de 120 000 euros, dont le siège social est
situé 6 chemin du Rocher, 73210 Aime-la-Plagne, immatriculée au RCS de Chambéry sous le numéro 498 117 602,
représentée par sa présidente, Mme Élodie Perrier, ci-après « la Fromagerie »,

ET

La société <b>Nordalys Conseil SARL</b>, dont le siège social est situé 28 rue Faidherbe, 59800 Lille,
représentée par son gérant, M. Olivier Deschamps, ci-après « le Prestataire ».

<b>IL A ÉTÉ CONVENU CE QUI SUIT :</b>

<b>Article 1 – Objet.</b> La Fromagerie envisage de confier au Prestataire l'audit de sa chaîne logistique
du froid. À cette seule fin, elle lui communique des informations confidentielles, que le Prestataire
s'engage à protéger. Le Prestataire ne communique de son côté aucune information confidentielle.

<b>Article 2 – Informations confidentielles.</b> Sont confidentielles toutes les données relatives aux
recettes, aux coûts de revient, aux volumes, aux fournisseurs et aux clients de la Fromagerie, quel qu'en
soit le support.

<b>Article 3 – Engagements du Prestataire.</b> Le Prestataire s'interdit de divulguer ces informations à
quiconque, de les copier au-delà du nécessaire et de les employer à d'autres fins. Il se porte fort du
respect de ces engagements par ses salariés et sous-traitants.

<b>Article 4 – Exceptions.</b> Ces engagements ne s'appliquent pas aux informations tombées dans le domaine
public sans faute du Prestataire, ni à celles dont la communication est exigée par la loi ou par une
décision de justice.

<b>Article 5 – Durée.</b> Le présent accord prend effet le 9 janvier 2023. L'obligation de confidentialité
est souscrite pour une durée de cinq (5) ans à compter de cette date.

<b>Article 6 – Restitution.</b> À première demande, le Prestataire restitue ou détruit, sous quinze jours,
les documents reçus.

<b>Article 7 – Droit applicable et litiges.</b> Le présent accord est soumis au droit français. Tout litige
relève du tribunal de commerce de Chambéry.

Fait à Aime-la-Plagne, le 5 janvier 2023, en deux exemplaires originaux.
"""


def french() -> Sample:
    body = ParagraphStyle("fr", parent=BODY, fontName="Helvetica", fontSize=10.5, leading=16, spaceAfter=11)
    story = [Paragraph("ACCORD DE CONFIDENTIALITÉ",
                       ParagraphStyle("frh", parent=HEAD, fontName="Helvetica-Bold", leading=20,
                                      spaceAfter=26)),
             *paragraphs(FRENCH, body), Spacer(1, 24),
             Paragraph("Pour la Fromagerie &nbsp;" + "&nbsp;" * 60 + " Pour le Prestataire", body)]
    data = flow(story, A4, (70, 80, 70, 70), foot("Paraphes :", "Helvetica"),
                title="Accord de confidentialité", creator="LibreOffice")
    truth = nda(["Fromagerie des Trois Vallées SAS", "Nordalys Conseil SARL"], "2023-01-09", "France",
                "5 ans", False,
                "l'audit de sa chaîne logistique du froid")
    return Sample("docs/accord_3vallees_nordalys.pdf", data, truth,
                  {"governing_law": ["droit français", "français"],
                   "term": ["5 years", "cinq (5) ans", "cinq ans"],
                   "purpose": ["audit de sa chaîne logistique du froid"]})


BLANK = """
This Undertaking is given on the ____ day of ______________ 20___ by the visitor named below in favour of
<b>Peranakan Precision Optics Pte. Ltd.</b> (UEN 199804417K) of 21 Tuas Avenue 10, Singapore 639143 ("PPO").

1. In the course of a visit to the clean room at PPO's premises (the "Visit") the visitor may see or hear
information about coating processes, tooling and customers that PPO keeps secret.

2. The visitor shall use such information only for the Visit, shall take no photographs, recordings or
samples, and shall not disclose to anyone what he or she has learned.

3. PPO gives no undertaking in return, save that it will handle the visitor's particulars in accordance with
the Personal Data Protection Act 2012.

4. The visitor shall wear the badge issued at the security desk and hand it back on leaving. Mobile
telephones with cameras are to be left in the lockers.

5. This Undertaking shall be governed by and construed in accordance with the laws of Singapore, and the
visitor submits to the non-exclusive jurisdiction of the courts of Singapore.

Name of visitor: ____________________________________

Company: ____________________________________

Passport / NRIC no. (last four characters): ____________

Signature: ____________________________________
"""


def blank_form() -> Sample:
    body = ParagraphStyle("sg", parent=BODY, fontName="Vera", fontSize=9, leading=15, spaceAfter=12,
                          alignment=0)
    head = ParagraphStyle("sgh", parent=HEAD, fontName="Vera-Bold", fontSize=12, leading=16)
    story = [Paragraph("VISITOR NON-DISCLOSURE UNDERTAKING", head),
             *paragraphs(BLANK.replace("<b>", "").replace("</b>", ""), body)]
    data = flow(story, A4, (70, 90, 70, 60), foot("PPO/SEC/F-07 Issue 3", "Vera"), title="F-07")
    truth = nda(["Peranakan Precision Optics Pte. Ltd."], None, "Singapore", None, False, "the Visit")
    return Sample("docs/F-07_visitor_form.pdf", data, truth,
                  {"purpose": ["a visit to the clean room at PPO's premises",
                               "visit to the clean room at PPO's premises",
                               "use such information only for the Visit", "only for the Visit"]})


CONSULTANT = """
<b>THIS CONFIDENTIALITY AND NON-USE AGREEMENT</b> is made between:

<b>NORTHERN LOON AIRWAYS LTD.</b>, a corporation under the laws of Ontario (the "Airline")

– and –

<b>PRIYA NATARAJAN</b>, of the City of Ottawa, in the Province of Ontario (the "Consultant")

The parties agree as follows:

<b>1.</b> The Airline has asked the Consultant to review its crew scheduling software (the "Assignment").
The Airline will give her access to data, manuals and personnel for that purpose. For her part, the
Consultant will show the Airline her proprietary optimization methods, which she wishes to keep confidential
as well.

<b>2.</b> Each party will keep confidential what it learns from the other and will not use it except for the
Assignment. Access by the Airline to the Consultant's methods is restricted to the four employees listed in
Schedule "A".

<b>3.</b> The Consultant will work on the Airline's computers only and will not remove crew records from its
premises. The <i>Personal Information Protection and Electronic Documents Act</i> applies to them.

<b>4.</b> Paragraph 2 does not apply to information that is public, that the receiving party already had, or
that must be disclosed by law.

<b>5.</b> This agreement takes effect on April 17, 2024, whatever the dates of signature, and the
obligations under it end 36 months after the Assignment is completed.

<b>6.</b> Each party may apply to the Superior Court of Justice for an injunction. This agreement is
governed by the laws of the Province of Ontario and the federal laws of Canada applicable there.

<b>7.</b> The Consultant confirms that she was advised to obtain independent legal advice before signing.

SIGNED at Ottawa on April 11, 2024: ____________________ Priya Natarajan

SIGNED at Thunder Bay on April 15, 2024: ____________________ Gordon Achneepineskum, Vice-President
Operations
"""


def consultant() -> Sample:
    body = ParagraphStyle("ca", parent=BODY, fontSize=13, leading=21, spaceAfter=13, alignment=0)
    story = [*paragraphs(CONSULTANT, body), Spacer(1, 30), Paragraph('<b>SCHEDULE "A"</b>', body),
             *paragraphs("M. Pelletier (Crew Planning)\n\nS. Okimaw (Crew Planning)\n\nJ. Brandt (IT)\n\nA. "
                         "Farouk (IT)", body)]
    data = flow(story, letter, (84, 84, 84, 72), foot("Northern Loon Airways Ltd. / Natarajan"),
                title="Confidentiality and Non-Use Agreement",
                creator="WordPerfect")
    truth = nda(["Northern Loon Airways Ltd.", "Priya Natarajan"], "2024-04-17", "Ontario", "36 months", True,
                "review its crew scheduling software")
    return Sample("docs/natarajan_confidentiality.pdf", data, truth,
                  {"purpose": ["to review its crew scheduling software"]})


SAMPLES = [german, french, blank_form, consultant]
