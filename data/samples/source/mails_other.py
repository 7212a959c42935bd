"""Messages in German, French, Dutch and Spanish to insurance companies, one of them forwarded by a broker."""

from __future__ import annotations

from mailkit import b64, facts, message, qp, word
from paper import Sample


def complaint_de() -> Sample:
    head = f"""
Received: from mout.netzpost.example ([198.51.100.17]) by mx.rheinische-union.example
 (Postfix) with ESMTPS id 7A21F60B1C; Tue, 11 Jun 2024 19:44:03 +0200 (CEST)
From: {word("Jürgen Kaltwasser")} <j.kaltwasser@netzpost.example>
To: beschwerde@rheinische-union.example
Subject: {word("Schaden KS-2024-030881 – so geht es nicht!")}
Date: Tue, 11 Jun 2024 19:43:58 +0200
Message-ID: <trinity-8d0c7ae1-1718127838@netzpost.example>
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: base64
Sensitivity: Normal
"""
    body = b64("""Sehr geehrte Damen und Herren,

seit dem Hagelschaden vom 29.04.2024 sind sechs Wochen vergangen, und mein Wagen steht immer noch unrepariert in der Werkstatt.
Ihr Gutachter ist zweimal nicht erschienen, am Telefon lande ich in der Warteschleife, auf meine letzten drei Mails kam keine Antwort.
Ich beschwere mich hiermit in aller Form über die Bearbeitung und fordere Sie auf, die Reparaturkosten von 2.914,60 € bis zum 25.06.
freizugeben.

Vertrag: KFZ 4471-0093-8
Schaden-Nr.: KS-2024-030881

Sollte ich bis dahin nichts hören, wende ich mich an die BaFin.

Mit freundlichen Grüßen
Jürgen Kaltwasser
Hauptstr. 5, 53474 Bad Neuenahr

-----Ursprüngliche Nachricht-----
Von: Rheinische Union Schadenservice
Gesendet: Dienstag, 21. Mai 2024 08:12
An: j.kaltwasser@netzpost.example
Betreff: Eingangsbestätigung

Vielen Dank für Ihre Nachricht. Wir melden uns innerhalb von fünf Werktagen bei Ihnen.
""".encode())  # noqa: E501
    truth = facts("complaint", "Jürgen Kaltwasser", "Ich beschwere mich hiermit in aller Form über die "
                                                    "Bearbeitung und fordere Sie auf, die "
                  "Reparaturkosten von 2.914,60 € bis zum 25.06. freizugeben.", policy="KFZ 4471-0093-8",
                  claim="KS-2024-030881",
                  day="2024-04-29", amount=2914.6, currency="EUR")
    return Sample("docs/KS-2024-030881_beschwerde.eml", message(head, body), truth,
                  {"policy_number": ["4471-0093-8"]})


def cancellation_de() -> Sample:
    head = """
From: "Familie Obermayr" <obermayr.lenggries@alpennetz.example>
To: <vertrag@isar-direkt.example>
Subject: =?iso-8859-1?Q?K=FCndigung_Hausrat?=
Date: Mon, 23 Sep 2024 08:05:12 +0200
Message-ID: <000c01db0d7e$4f1a2e60$ed4e8b20$@alpennetz.example>
MIME-Version: 1.0
Content-Type: text/plain;
	charset="iso-8859-1"
Content-Transfer-Encoding: quoted-printable
X-Mailer: Microsoft Windows Live Mail 16.4.3528.331
"""
    body = qp("""Grüß Gott,

hiermit kündige ich unsere Hausratversicherung mit der Nummer H 30 118 264 fristgerecht zum 31.12.2024. Grund ist die Beitragserhöhung.
Bitte bestätigen Sie mir den Eingang schriftlich. Die Einzugsermächtigung erlischt mit Vertragsende.

Theresia Obermayr
Marktstraße 19
83661 Lenggries
""", "iso-8859-1")  # noqa: E501
    truth = facts("cancellation", "Theresia Obermayr", "hiermit kündige ich unsere Hausratversicherung mit "
                                                       "der Nummer H 30 118 264 "
                  "fristgerecht zum 31.12.2024.", policy="H 30 118 264")
    return Sample("docs/kuendigung_hausrat.eml", message(head, body, "ascii", crlf=True), truth,
                  {"sender_name": ["Familie Obermayr"], "summary": ["Bitte bestätigen Sie mir den Eingang "
                                                                    "schriftlich."]})


def moved_fr() -> Sample:
    head = f"""
Date: Thu, 4 Jul 2024 14:31:50 +0200 (CEST)
From: {word("Hélène Marchetti")} <helene.marchetti@boitealettres.example>
To: contact@mutuelle-garonne.example
Message-ID: <1482201944.552.1720096310@boitealettres.example>
Subject: =?UTF-8?Q?Changement_d'adresse_-_contrat_MG-559_204_11?=
MIME-Version: 1.0
Content-Type: text/html; charset=UTF-8
Content-Transfer-Encoding: 8bit
"""
    body = """
<html><body><div>Bonjour,</div><br>
<div>Je d&eacute;m&eacute;nage le 1er août. Merci de bien vouloir mettre à jour mon adresse pour le contrat habitation MG-559 204 11 :</div>
<ul><li>ancienne adresse : 3 allée des Platanes, 31400 Toulouse</li>
<li>nouvelle adresse : 47 quai des Chartrons, 33000 Bordeaux</li></ul>
<div>Mon numéro de téléphone ne change pas. Le nouvel appartement fait 58 m², deux pièces, au 3e étage.</div><br>
<div>Bien cordialement,<br><i>Hélène Marchetti</i></div></body></html>
"""  # noqa: E501
    truth = facts("change_of_details", "Hélène Marchetti", "Merci de bien vouloir mettre à jour mon adresse "
                                                           "pour le contrat habitation "
                  "MG-559 204 11 :", policy="MG-559 204 11")
    return Sample("docs/changement_adresse.eml", message(head, body), truth, {"summary": [
        "Je déménage le 1er août. Merci de bien vouloir mettre à jour mon adresse pour le contrat "
        "habitation MG-559 204 11",
        "Je déménage le 1er août."]})


def stolen_bike_nl() -> Sample:
    head = """
From: Bram Hoekstra <bram.hoekstra@kabelmail.example>
To: Schade <schade@onderlinge-zuiderzee.example>
Subject: Aangifte diefstal fiets
Date: Tue, 14 May 2024 09:26:33 +0200
Message-ID: <171567159309@kabelmail.example>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="=_part_88"
"""
    report = """POLITIE EENHEID NOORD-HOLLAND            Proces-verbaal van aangifte
Nummer        PL1100-2024101847-1
Feit          Diefstal fiets
Plaats        Stationsplein, Hoorn
Tijdstip      tussen 11 mei 2024 19.30 uur en 12 mei 2024 00.15 uur
Aangever      B. Hoekstra
Goed          Fiets, merk Gazelle, type Chamonix, framenummer GZ4490217
"""
    body = f"""
--=_part_88
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

Beste medewerker,

Zaterdagavond 11 mei 2024 is mijn fiets gestolen bij het station in Hoorn. Hij stond met twee sloten vast aan het rek.
Ik wil graag de dagwaarde vergoed krijgen; volgens de fietsenmaker is dat € 1.150.

Mijn polisnummer is 20.118.774. Het proces-verbaal van de politie zit in de bijlage, de sleutels stuur ik per post.

Groeten,
Bram Hoekstra

--=_part_88
Content-Type: text/plain; charset=utf-8; name="aangifte.txt"
Content-Disposition: attachment; filename="aangifte.txt"
Content-Transfer-Encoding: base64

{b64(report.encode())}
--=_part_88--
"""
    truth = facts("claim", "Bram Hoekstra", "Ik wil graag de dagwaarde vergoed krijgen; volgens de "
                                            "fietsenmaker is dat € 1.150.",
                  policy="20.118.774", day="2024-05-11", amount=1150, currency="EUR")
    return Sample("docs/diefstal_fiets.eml", message(head, body), truth, {"summary": [
        "Zaterdagavond 11 mei 2024 is mijn fiets gestolen bij het station in Hoorn."]})


def new_car_es() -> Sample:
    head = f"""
From: {word("Montserrat Ibáñez Robles")} <montse.ibanez@correo.example>
To: clientes@seguros-peninsula.example
Subject: {word("Cambio de vehículo en la póliza 08-4471920")}
Date: Mon, 4 Mar 2024 20:11:06 +0100
Message-ID: <CAJ3rT-5kq@correo.example>
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary="000000000000f3a1c70612d9"
"""
    text = """Buenas tardes:

He vendido el Seat Ibiza (4417 JKL) y desde el viernes tengo un Toyota Yaris, matrícula 8820 MNB.
Les ruego que pasen el seguro al coche nuevo con las mismas coberturas y me digan si cambia la prima.

Adjuntaré la ficha técnica en cuanto me la dé el concesionario.

Un saludo,
Montserrat Ibáñez
"""
    body = f"""
--000000000000f3a1c70612d9
Content-Type: text/plain; charset="UTF-8"
Content-Transfer-Encoding: quoted-printable

{qp(text)}
--000000000000f3a1c70612d9
Content-Type: text/html; charset="UTF-8"
Content-Transfer-Encoding: quoted-printable

{qp('<div dir="ltr">' + text.replace(chr(10), "<br>" + chr(10)) + "</div>")}
--000000000000f3a1c70612d9--
"""
    truth = facts("change_of_details", "Montserrat Ibáñez", "Les ruego que pasen el seguro al coche nuevo "
                                                            "con las mismas coberturas y me "
                  "digan si cambia la prima.", policy="08-4471920")
    return Sample("docs/cambio_vehiculo.eml", message(head, body), truth,
                  {"sender_name": ["Montserrat Ibáñez Robles"]})


def broker() -> Sample:
    head = """
From: Nadia Verhoeven <nadia@verhoeven-brokers.example>
To: underwriting@castlegate-insurance.example
Subject: FW: Policy TR-118-2209 - please cancel
Date: Thu, 12 Sep 2024 13:40:22 +0100
Message-ID: <AM0PR07MB5521.7C1D@verhoeven-brokers.example>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="----=_NextPart_000_0A17"
"""
    body = """
This is a multi-part message in MIME format.

------=_NextPart_000_0A17
Content-Type: text/plain; charset=utf-8

Dear colleagues,

Please see the attached message from our client. We ask you to cancel his tradesman policy TR-118-2209 with effect from
30 September and to let us have the return premium.

Best regards,
Nadia Verhoeven
Verhoeven Insurance Brokers, Norwich

------=_NextPart_000_0A17
Content-Type: message/rfc822
Content-Disposition: attachment

Date: Wed, 11 Sep 2024 20:02:10 +0100
From: Owen Tresidder <owen@tresiddertiling.example>
To: Nadia Verhoeven <nadia@verhoeven-brokers.example>
Subject: Policy TR-118-2209 - please cancel
Message-ID: <3b1f-owen@tresiddertiling.example>
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8

Hi Nadia,

I'm packing in the tiling and going on the books with a kitchen firm from October, so I won't need my own cover any more.
Can you cancel it for the end of the month please, and find out if there is anything back on the year I paid?

Owen

------=_NextPart_000_0A17--
"""  # noqa: E501
    truth = facts("cancellation", "Nadia Verhoeven", "We ask you to cancel his tradesman policy TR-118-2209 "
                                                     "with effect from 30 September and "
                  "to let us have the return premium.", policy="TR-118-2209")
    return Sample("docs/FW_TR-118-2209.eml", message(head, body), truth,
                  {"sender_name": ["Owen Tresidder", "Owen"], "summary": [
        "Can you cancel it for the end of the month please, and find out if there is anything back on the "
        "year I paid?"]})


SAMPLES = [complaint_de, cancellation_de, moved_fr, stolen_bike_nl, new_car_es, broker]
