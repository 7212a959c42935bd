"""Messages in English to insurance companies: claims, complaints and questions, with attachments and replies."""

from __future__ import annotations

from mailkit import b64, facts, message, qp
from paper import Sample, Sheet


def burst_pipe() -> Sample:
    head = """
Return-Path: <judith.fenwick@postbox.example>
Received: from mx3.postbox.example (mx3.postbox.example [192.0.2.41])
 by inbound.castlegate-insurance.example with ESMTPS id 4TK2vq0PzQz;
 Mon, 15 Jan 2024 07:58:12 +0000 (GMT)
Message-ID: <65A4E4E4.3050208@postbox.example>
Date: Mon, 15 Jan 2024 07:58:09 +0000
From: Judith Fenwick <judith.fenwick@postbox.example>
User-Agent: Mozilla Thunderbird
MIME-Version: 1.0
To: newclaims@castlegate-insurance.example
Subject: Burst pipe at 22 Larkspur Close - home policy HH/20934417/02
Content-Type: text/plain; charset=UTF-8; format=flowed
Content-Transfer-Encoding: 8bit
"""
    body = """
Dear Claims Team,

I am writing to report water damage at my home, 22 Larkspur Close,
Durham DH1 5TR, insured with you under policy HH/20934417/02.

A pipe in the loft froze and burst on the night of Friday 12 January 2024.
We were away until Sunday and came home to find the ceiling of the back
bedroom on the floor. The carpet, the bed and a wardrobe are ruined, and the
electrician has told us not to use the upstairs sockets.

A local builder has quoted £3,480 to replace the ceiling and redecorate.
I have not yet had a price for the contents. Please tell me whether I may let
him start, as the room is damp and we have a four-month-old baby.

I have photographs and have kept the broken piece of pipe.

Yours faithfully,
Judith Fenwick (Mrs)
07700 900482
"""
    truth = facts("claim", "Judith Fenwick", "I am writing to report water damage at my home, 22 Larkspur "
                                             "Close, Durham DH1 5TR, "
                  "insured with you under policy HH/20934417/02.", policy="HH/20934417/02", day="2024-01-12",
                  amount=3480, currency="GBP")
    return Sample("docs/burst_pipe_fenwick.eml", message(head, body), truth, {"summary": [
        "Please tell me whether I may let him start, as the room is damp and we have a four-month-old baby.",
        "I am writing to report water damage at my home"],
        "sender_name": ["Mrs Judith Fenwick", "Judith Fenwick (Mrs)"]})


ESTIMATE = [("Rear bumper cover, OEM", "412.60"), ("Tail lamp assembly LH", "238.15"),
            ("Paint and materials", "289.00"),
            ("Body labor 9.5 h @ $62.00", "589.00"), ("ADAS sensor calibration", "185.00")]


def estimate() -> bytes:
    from reportlab.lib.pagesizes import letter

    s = Sheet(letter, points=10, title="Estimate of Record", creator="CCC ONE")
    s.text(54, 70, "RIO VISTA COLLISION CENTER", 15, bold=True)
    s.lines(54, 86, ["3355 Coors Blvd NW, Albuquerque, NM 87120", "(505) 555-0134"], 13)
    s.text(558, 70, "Preliminary Estimate 10482", 11, bold=True, align="right")
    s.lines(54, 140, ["Customer: Delgado, Ramona", "Vehicle: 2019 Subaru Outback 2.5i Premium, 58,204 mi",
                      "Point of impact: left rear",
                      "Written by: Hector Paz, 05/07/2024"], 15)
    y = 226.0
    for name, amount in ESTIMATE:
        s.text(70, y, name)
        s.text(500, y, amount, align="right")
        y += 18
    s.rule(400, y - 10, 500)
    s.lines(500, y + 6, ["Subtotal  1,713.75", "Sales tax  71.60", "Total cost of repairs  $1,785.35"], 16,
            align="right")
    s.paragraph(54, y + 90, 500, "This is a preliminary estimate. Additional damage found on disassembly "
                                 "will be billed as a supplement.", points=8)
    return s.pdf()


def rear_end() -> Sample:
    head = """
Received: by 2002:a05:6402:b2c with SMTP id k12csp118204edq; Wed, 8 May 2024 16:20:44 -0600
From: Ramona Delgado <ramona.delgado@inboxly.example>
Content-Type: multipart/mixed; boundary="Apple-Mail=_5C0B9A1E-7F7D-4C06-9A5E-1A4D7E3F2B10"
Mime-Version: 1.0 (Mac OS X Mail 16.0 \\(3774.600.62\\))
Subject: Claim 24-AU-771093 -- body shop estimate
Message-Id: <0F6C8B51-0D3A-4C5C-8D2E-5B9E6A7F1C33@inboxly.example>
Date: Wed, 8 May 2024 16:20:31 -0600
To: claims@sandiamutual.example
X-Mailer: Apple Mail (2.3774.600.62)
"""
    body = f"""
--Apple-Mail=_5C0B9A1E-7F7D-4C06-9A5E-1A4D7E3F2B10
Content-Transfer-Encoding: 7bit
Content-Type: text/plain;
	charset=us-ascii

Hello,

Attached is the estimate you asked for on the phone yesterday. The other driver
ran into the back of me at the light on Montano on Friday, May 3rd, 2024 and her
insurer has not called back once. I would like to go through my own collision
coverage (policy PA 5520-118-64) and have the shop start next week.

Claim number is 24-AU-771093. The estimate comes to $1,785.35, my deductible is $500.

Thanks,
Ramona Delgado


--Apple-Mail=_5C0B9A1E-7F7D-4C06-9A5E-1A4D7E3F2B10
Content-Disposition: attachment;
	filename="Estimate 10482.pdf"
Content-Type: application/pdf;
	x-unix-mode=0644;
	name="Estimate 10482.pdf"
Content-Transfer-Encoding: base64

{b64(estimate())}

--Apple-Mail=_5C0B9A1E-7F7D-4C06-9A5E-1A4D7E3F2B10--
"""
    truth = facts("claim", "Ramona Delgado", "I would like to go through my own collision coverage (policy "
                                             "PA 5520-118-64) and have the shop "
                  "start next week.", policy="PA 5520-118-64", claim="24-AU-771093", day="2024-05-03",
                  amount=1785.35, currency="USD")
    return Sample("docs/claim_24-AU-771093.eml", message(head, body), truth,
                  {"summary": ["Attached is the estimate you asked for on the phone yesterday."]})


def ebike() -> Sample:
    html = """<html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8">
<style>p{font-family:Calibri,sans-serif;font-size:11pt;margin:0 0 10px}</style></head><body>
<p>Hi there,</p>
<p>I&#8217;ve just bought an electric bike (a Kalkhoff, cost me &euro;3,199) and I keep it in the shared shed behind our flats in Cork.
<b>Could you let me know if it&#8217;s covered for theft under my contents policy, or do I need an add-on?</b></p>
<p>The policy is <span style="color:#1f497d">SHL-C-0077182</span>, it renews in August.</p>
<p>Also, is there any discount if I fit a GPS tracker?</p>
<p>Cheers,<br>Aoife N&iacute; Bhriain</p>
<p style="font-size:8pt;color:#888">Please consider the environment before printing this e-mail.</p>
</body></html>
"""  # noqa: E501
    head = """
From: =?utf-8?Q?Aoife_N=C3=AD_Bhriain?= <aoife.nibhriain@lee-architects.example>
To: "hello@shieldhome.example" <hello@shieldhome.example>
Subject: e-bike - am I covered?
Thread-Topic: e-bike - am I covered?
Thread-Index: AQHaWjJ7n0b0QkqV9k2n6r3yO5tZ4g==
Date: Thu, 18 Apr 2024 11:03:27 +0000
Message-ID: <DB9PR04MB8234A1C7E0F2@DB9PR04MB8234.eurprd04.example>
Accept-Language: en-IE, en-US
Content-Language: en-US
Content-Type: text/html; charset="utf-8"
Content-Transfer-Encoding: quoted-printable
MIME-Version: 1.0
"""
    truth = facts("enquiry", "Aoife Ní Bhriain", "Could you let me know if it’s covered for theft under my "
                                                 "contents policy, or do I need "
                  "an add-on?", policy="SHL-C-0077182")
    return Sample("docs/e-bike_am_I_covered.eml", message(head, qp(html), crlf=True), truth,
                  {"summary": ["Also, is there any discount if I fit a GPS tracker?"]})


def baggage() -> Sample:
    head = """
Date: Tue, 3 Oct 2023 21:47:05 +0200
From: "S. Brandvold" <sindre.brandvold@fjordpost.example>
To: Wayfarer Travel Claims <support@wayfarer-cover.example>
Message-ID: <CAK7+qX9d=2w@mail.fjordpost.example>
In-Reply-To: <20231003.0914.CS-4410027@wayfarer-cover.example>
References: <20230921.1120.CS-4410027@wayfarer-cover.example>
 <20231003.0914.CS-4410027@wayfarer-cover.example>
Subject: Re: [CS-4410027] Your travel claim: decision
MIME-Version: 1.0
Content-Type: text/plain; charset="UTF-8"
Content-Transfer-Encoding: quoted-printable
"""
    body = qp("""
Dear Ms Oyelaran,

I do not accept this decision and ask you to review it.

The suitcase was checked in at Oslo on 2 September 2023 and never arrived; I sent you the airline's own report
that says so. To call this "unattended baggage" is simply wrong. I have now waited a month, been passed between
three people and told something different each time. This is not the service I paid for.

I expect payment of the full NOK 14 600 within fourteen days. Otherwise I shall take the matter to the ombudsman.

Sindre Brandvold

On Tue, 3 Oct 2023 at 09:14, Wayfarer Travel Claims <support@wayfarer-cover.example> wrote:
> Dear Mr Brandvold,
>
> Claim reference: CS-4410027
> Policy: WT-NO-88120 (Nordic Annual)
>
> Thank you for your documents of 21 September. Unfortunately the loss of
> unattended baggage is excluded by section 6.4 of the terms, and we are
> unable to pay the amount claimed. We may offer NOK 1 500 as a gesture
> of goodwill.
>
> Kind regards,
> Folake Oyelaran
> Customer Resolution
""".strip("\n") + "\n")
    truth = facts("complaint", "Sindre Brandvold", "I do not accept this decision and ask you to review it.",
                  policy="WT-NO-88120",
                  claim="CS-4410027", day="2023-09-02", amount=14600, currency="NOK")
    return Sample("docs/RE_CS-4410027_decision.eml", message(head, body), truth, {"summary": [
        "I expect payment of the full NOK 14 600 within fourteen days."], "sender_name": ["S. Brandvold"]})


def charged_twice() -> Sample:
    head = """
From: Graham Pettifer <g.pettifer@homenet.example>
To: accounts@castlegate-insurance.example
Subject: Direct debit taken twice
Date: Fri, 2 Feb 2024 18:22:41 +0000
Message-ID: <E1rVyXz-0004Qp-2B@smtp.homenet.example>
X-Mailer: Microsoft Outlook 16.0
MIME-Version: 1.0
Content-Type: text/plain; charset="iso-8859-1"
Content-Transfer-Encoding: 8bit
Importance: normal
"""
    body = """
Good evening

My bank statement shows that you collected January's premium for the van (policy CV-6630148) on the 29th and again on the 31st, £57.19 each time.

Could you please refund the second payment of £57.19 to the same account, and make sure that February's is taken only once.

Many thanks
Graham Pettifer
Pettifer Plastering
"""  # noqa: E501
    truth = facts("payment", "Graham Pettifer", "Could you please refund the second payment of £57.19 to "
                                                "the same account, and make sure "
                  "that February's is taken only once.", policy="CV-6630148", amount=57.19, currency="GBP")
    return Sample("docs/direct_debit.eml", message(head, body, "iso-8859-1", crlf=True), truth)


def phone_question() -> Sample:
    head = """
Content-Type: text/plain; charset=us-ascii
Content-Transfer-Encoding: 7bit
From: Tunde Bakare <tbakare77@mobi.example>
Mime-Version: 1.0 (1.0)
Date: Sun, 30 Jun 2024 22:10:19 -0500
Subject: Question
Message-Id: <7E2D9C44-5B1C-4B9F-BE3B-9A2F0C5D8E71@mobi.example>
To: agent@lonestar-fidelity.example
X-Mailer: iPhone Mail (21F90)
"""
    body = """
hey quick one, my daughter turns 16 in august. how much would it be to add her to our auto policy and does she need to be on it while she just has the permit? thx

Tunde

Sent from my iPhone
"""  # noqa: E501
    truth = facts("enquiry", "Tunde", "how much would it be to add her to our auto policy and does she need "
                                      "to be on it while she just "
                  "has the permit?")
    return Sample("docs/question_30jun.eml", message(head, body), truth, {"sender_name": ["Tunde Bakare"]})


def thanks() -> Sample:
    head = """
From: Eleanor Whitcombe <eleanor@whitcombe-pottery.example>
To: Imran Sheikh <imran.sheikh@castlegate-insurance.example>
Cc: feedback@castlegate-insurance.example
Subject: Thank you!
Date: Wed, 29 Nov 2023 10:15:00 +0000
Message-ID: <2c9a41d7-58fb@whitcombe-pottery.example>
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary="b1_mQx0"
"""
    body = """
--b1_mQx0
Content-Type: text/plain; charset=utf-8

Dear Imran,

I just wanted to say thank you for how kindly you dealt with us after the kiln fire. The money has arrived and
the studio reopened on Saturday. There is nothing for you to do; please pass this on to your manager.

With warm wishes,
Eleanor Whitcombe
(your ref. FIR/23/00918)

--b1_mQx0
Content-Type: text/html; charset=utf-8

<div dir="ltr"><p>Dear Imran,</p><p>I just wanted to say thank you for how kindly you dealt with us after the kiln fire. The money has
arrived and the studio reopened on Saturday. There is nothing for you to do; please pass this on to your manager.</p><p>With warm
wishes,<br>Eleanor Whitcombe<br>(your ref. FIR/23/00918)</p></div>

--b1_mQx0--
"""  # noqa: E501
    truth = facts("other", "Eleanor Whitcombe", "I just wanted to say thank you for how kindly you dealt "
                                                "with us after the kiln fire.",
                  claim="FIR/23/00918")
    return Sample("docs/thank_you.eml", message(head, body), truth)


SAMPLES = [burst_pipe, rear_end, ebike, baggage, charged_twice, phone_question, thanks]
