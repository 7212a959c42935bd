"""The subjects of the tuning part."""

from __future__ import annotations

from bench.list_layouts.subjects import Subject
from bench.list_layouts.values import (
    Field,
    amount,
    code,
    day,
    later,
    level,
    made,
    measure,
    one_of,
    percent,
    person,
    pick,
    serial,
    whole,
    worked_out,
    year,
)

_FIRST = "Anna|Luis|Maria|James|Kwame|Ingrid|Peter|Wei|Fatima|Olga|Tom|Rosa|Hugh|Dana|Marc"
_LAST = "Miller|Garcia|Okafor|Lindqvist|Chen|O'Neil|Baker|Novak|Haddad|Van Dyke|Price|Stone|Ruiz|Adler|May"
_STATES = pick("IN|OR|DE|ID|TX|OH|ME|CA|NY|PA|AL|OK|HI|MA")
_TOWNS = "Springfield|Salem|Dover|Boise|Marion|Fort Wayne|Eugene|La Porte|Medford|New Castle"
_FIRM = made(
    "{} {} {}", "Harbor|Granite|Blue Ridge|Prairie|Summit|Old Mill", "Freight|Supply|Foods|Transit", "LLC|Inc."
)

LOSSES = Subject(
    "Loss Run Report|Loss Experience by Coverage",
    "Claims|claims reported",
    "Claims history of an insured business, as its insurer reports it.",
    "losses",
    "One entry for each reported loss, without any sums.",
    (
        Field("Claim No|Clm #|File Number", code("CL-#####", "##@-####"), "reference", "Identifier of the loss."),
        Field("D.O.L.|Loss Dt|Dt of Loss", day(2017, 2023), "happened_on", "Day on which the damage happened."),
        Field("Rptd|Rept Dt", later("", 2018, 60, "happened_on")),
        Field("Clmt|Claimant", person("{1}, {0}", _FIRST, _LAST), "injured_party", "Who asks for money.", empty=0.1),
        Field(
            "Desc of Loss|Accident Desc",
            made("{} {} {}", "OV|IV|Truck|Employee|Forklift", "rear ended|struck|backed into|slipped on|damaged",
                 "CV at light|parked car in customer lot while making delivery|wet floor|gate post|utility pole"),
            "circumstances", "What happened, in a few words.",
        ),
        Field("St", _STATES, "place", "Two letters of the state where it happened."),
        Field("Sts|O/C", one_of(open="O", closed="C", reopened="R"), "handling", "Whether the case is still handled."),
        Field("Ind|Loss", amount(50, 90000), "compensation", "Amount paid out for the damage so far.", 0.15,
              band="Pd", sums=True),
        Field("Exp|ALAE", amount(20, 9000), "adjusting_costs", "Amount spent on lawyers and experts.", 0.3, "Pd", True),
        Field("O/S Rsv|Resv", amount(100, 50000, 0.05), "set_aside", "Amount kept for later payments.", 0.5, sums=True),
        Field(
            "Tot Inc|Incurred",
            worked_out(amount(1, 2), lambda row, _: round(
                sum(row[part] or 0 for part in ("compensation", "adjusting_costs", "set_aside")), 2)),
            "cost", "Whole cost of the loss.", sums=True,
        ),
    ),
    (
        Field("Named Insured|Insd", _FIRM, "business", "Company whose losses are listed."),
        Field("Valued As Of|Val Dt", day(2024, 2024), "status_of", "Day for which the figures hold."),
    ),
    (Field("Pol #|Policy No.", code("@@@ #######", "@@-######-##"), "contract", "Number of the insurance contract."),),
    (
        Field("Cov|LOB", pick("Auto Liability|General Liability|Property|Workers Comp|Inland Marine"),
              "kind_of_cover", "Line of insurance that answers for the loss."),
    ),
    "Coverage: {0}",
)  # fmt: skip

VEHICLES = Subject(
    "Schedule of Covered Autos|Vehicle Schedule",
    "Vehicles|Units|Autos",
    "Cars and trucks that a policy covers.",
    "automobiles",
    "One entry for each insured car, truck or trailer.",
    (
        Field("Veh No|Unit", serial(), "position", "Running number of the car in the list."),
        Field("Yr|Vh Yr", year(1994, 2024), "built", "Year in which it was made."),
        Field("Mk|Make", pick("FORD|CHEV|FRHT|MACK|TOYT|GMC|RAM|INTL|UTIL"), "manufacturer", "Who made it."),
        Field("Mdl|Model", pick("T|F-150|M2|E|Cascadia 126|VNL|Transit|2500|C|Express"), "type_name",
              "Name of the type that the maker gave it.", empty=0.1),
        Field("VIN|Serial Number", code("1FT@#@#####@#####", "3AK@@##@#@@######"), "chassis",
              "Identification of the chassis."),
        Field("Cls|Class", code("01###", "03###", "21###")),
        Field("GVW|Gross Wt", whole(3000, 80000), "heaviest_load", "Permitted total weight in pounds.", empty=0.2),
        Field("St|Lic St", _STATES, "registered_in", "State of the licence plate."),
        Field("Cost New|OCN", amount(9000, 180000, step=1), "list_price", "Price when it was new.", sums=True),
        Field("Comp|OTC", level(500, 1000, 2500), "own_share", "Deductible, other than for collisions.", 0.25,
              band="Deduct"),
        Field("Coll", level(500, 1000, 2500), band="Deduct"),
    ),
    (
        Field("Insured|Name Insd", _FIRM, "business", "Company that is insured."),
        Field("Eff|Eff Dt", day(2022, 2024), "cover_begins", "Day from which the policy holds."),
    ),
    (Field("Pol Nbr|Policy #", code("BAP-#######", "CA @##-####"), "contract", "Number of the policy."),),
    (
        Field("Loc", code("0##"), "depot_number", "Number of the place where it is kept."),
        Field("Garaging|Garage Loc", made("{} {}", _TOWNS, "Depot|Yard|Terminal"), "depot", "Place where it is kept."),
    ),
    "Location {0} - {1}",
    absent=(("colour", "string", "Colour of the paint."),),
)  # fmt: skip

DRIVERS = Subject(
    "Driver Roster|List of Operators",
    "Drivers|Operators on file",
    "People who drive for a company.",
    "staff",
    "One entry for each person behind the wheel.",
    (
        Field("Drv|Drvr No", serial()),
        Field("Operator|Drvr Name", person("{1}, {0}", _FIRST, _LAST), "full_name", "Family name, first name."),
        Field("DOB|Birth Dt", day(1950, 2002), "born", "Birthday."),
        Field("Lic No|D/L Number", code("@###-####-####", "########", "@@######"), "permit", "Number of the licence."),
        Field("Lic St|D/L St", _STATES, "permit_from", "State that issued the licence."),
        Field("DOH|Hired", day(2001, 2023), "employed_since", "First day of work.", empty=0.15),
        Field("CDL", one_of(commercial="Y", ordinary="N"), "permit_kind", "Whether for heavy trucks or for cars only."),
        Field("Viol|MVR Viol", whole(0, 6), "offences", "How often the police fined the person.", 0.2, "3 Yr"),
        Field("Acc|MVR Acc", whole(0, 4), "crashes", "How often the person had a crash.", 0.2, "3 Yr"),
    ),
    (Field("Fleet|Motor Carrier", _FIRM, "employer", "Company for which they drive."),),
    (Field("DOT #|USDOT", code("#######"), "carrier_number", "Number of the company at the traffic office."),),
    (Field("Term|Terminal", pick(_TOWNS), "home", "Town from which the person starts."),),
    "Terminal {0}",
    absent=(("telephone", "string", "Number at which the person can be called."),),
)

PRICES = Subject(
    "Preisliste|Netto-Preisliste",
    "Artikel|Positionen",
    "Preise eines Händlers.",
    "goods",
    "Ein Eintrag je Ware.",
    (
        Field("Art.-Nr.|Best.-Nr.", code("##.####", "@#####-##"), "identifier", "Kennung der Ware."),
        Field(
            "Bezeichnung|Benennung",
            made("{} {} {}", "Kugelhahn|Rohrschelle|Dichtung|Sechskantschraube|Spülkasten",
                 "verzinkt|Edelstahl A2|PVC grau|mit Gewindeeinsatz und Schalldämmeinlage nach DIN 4109",
                 "DN 15|DN 20|DN 32|M8 x 40|1/2 Zoll"),
            "what", "Was verkauft wird.",
        ),
        Field("VE|VPE", whole(1, 500), "pieces", "Stückzahl in einem Karton."),
        Field("ME", one_of(piece="Stk", metre="m", kilogram="kg"), "sold_by", "Wonach der Preis rechnet."),
        Field("Listenpr.|Brutto", amount(0.4, 900), "before_discount", "Preis ohne Nachlass."),
        Field("Rab.|Rabatt", percent(0, 45, 1), "discount", "Nachlass in Prozent.", empty=0.3),
        Field(
            "Netto|Nettopr.",
            worked_out(amount(1, 2), lambda row, _: round(
                row["before_discount"] * (1 - (row["discount"] or 0) / 100), 2)),
            "to_pay", "Preis nach dem Nachlass.",
        ),
        Field("EAN", code("40#########"), "", "", 0.2),
    ),
    (Field("Gültig ab|Stand", day(2023, 2024), "valid_from", "Erster Tag, an dem die Preise gelten."),),
    (Field("Währung|Alle Preise in", pick("EUR|CHF"), "money", "In welchem Geld die Preise stehen."),),
    (Field("Warengr.|WG", pick("Armaturen|Befestigung|Sanitär|Werkzeug|Dichtungen|Rohre"), "family", "Art der Ware."),),
    "Warengruppe {0}",
    locale="de",
)  # fmt: skip

LEDGER = Subject(
    "General Ledger Detail|Account Activity",
    "Entries|Postings",
    "Bookings of a company by account.",
    "bookings",
    "One entry for each booking, without carried sums.",
    (
        Field("Dt|Post Dt", later("booked_on", 2023, 3), "booked_on", "Day of the booking."),
        Field("Jnl|Src", pick("GJ|AP|AR|CD|PR")),
        Field("Ref|Doc", code("######", "JE-####"), "voucher", "Number of the paper behind it."),
        Field("Memo|Explanation", made("{} {}", "Invoice|Accrual|Rent|Payroll|Reversal|Freight",
                                       "March|Q2|adj.|Oakdale|per contract|vendor 114"), "reason", "What it was for."),
        Field("Dr|Debits", amount(5, 40000), "charged", "Amount booked on the left side.", 0.4, sums=True),
        Field("Cr|Credits", amount(5, 40000), "credited", "Amount booked on the right side.", 0.5, sums=True),
        Field("Bal|Running", worked_out(amount(1, 2), lambda row, before: round(
            before.get("standing", 0.0) + (row["charged"] or 0) - (row["credited"] or 0), 2)),
            "standing", "What the account holds afterwards."),
    ),
    (
        Field("Entity|Co.", _FIRM, "bookkeeper", "Company whose books these are."),
        Field("Per|FY", year(2019, 2024), "financial_year", "Year of the books."),
    ),
    (),
    (
        Field("Acct", code("####", "##-###"), "account_number", "Number of the account."),
        Field("Acct Name", pick("Cash in Bank|Trade Payables|Office Expense|Sales - Retail|Fuel|Insurance"),
              "account_name", "Name of the account."),
    ),
    "Acct {0}  {1}",
    "accounts",
    "One entry for each account with its bookings.",
)  # fmt: skip

STOCK = Subject(
    "Physical Inventory Count|Cycle Count Variance",
    "Items|Lines counted",
    "What was counted in a store.",
    "counted_goods",
    "One entry for each good in a shelf.",
    (
        Field("SKU|Part", code("@@-####", "#####@"), "item_code", "Code of the good."),
        Field("Item Desc", made("{} {}", "Hex bolt|Cable tie|Work gloves|Filter", "M8|200 mm black|size L|HF-35"),
              "goods", "What it is."),
        Field("UM|UoM", pick("EA|BX|RL|PR")),
        Field("Book|On Hand", whole(1, 2000), "expected", "How many the books show.", band="Qty"),
        Field("Cnt|Physical", whole(1, 2000), "seen", "How many were found.", band="Qty"),
        Field("Var|+/-", worked_out(whole(0, 1), lambda row, _: row["seen"] - row["expected"]), "difference",
              "Found minus expected.", band="Qty"),
        Field("U/C|Unit Cst", amount(0.05, 300), "piece_cost", "What one piece cost."),
        Field("Ext|Ext Var", worked_out(amount(1, 2), lambda row, _: round(row["difference"] * row["piece_cost"], 2)),
              "difference_worth", "Money behind the difference.", sums=True),
    ),
    (Field("Whse|Warehouse", pick("Reno North|Dock 4|Annex B"), "store", "Building that was counted."),),
    (Field("Cnt Dt|Counted On", day(2022, 2024), "day_of_count", "Day on which people counted."),),
    (Field("Bin|Aisle", code("@-##", "@#-##"), "shelf", "Shelf in which the good lies."),),
    "Bin {0}",
)  # fmt: skip

EXAMS = Subject(
    "Examination Results|Broadsheet of Marks",
    "Candidates|Entries",
    "Marks of pupils in an exam.",
    "pupils",
    "One entry for each pupil.",
    (
        Field("Cand No|Ex No", code("####", "0###"), "pupil_number", "Number by which the exam board knows the pupil."),
        Field("Cand Name|Surname & Forename", person("{1} {0}", _FIRST, _LAST), "pupil", "Name of the pupil."),
        Field("Sex|M/F", one_of(female="F", male="M"), "gender", "Whether a girl or a boy.", empty=0.05),
        Field("P1|Ppr 1", whole(20, 60), "first_part", "Points in the first part.", band="Marks"),
        Field("P2|Ppr 2", whole(20, 60), "second_part", "Points in the second part.", band="Marks"),
        Field("Agg|Sum", worked_out(whole(0, 1), lambda row, _: row["first_part"] + row["second_part"]), "points",
              "Points in both parts.", band="Marks"),
        Field("Pct|%", worked_out(percent(0, 1), lambda row, _: round(row["points"] / 1.2, 1)), "share",
              "Percent of all points."),
        Field("Gr|Grd", pick("A|B|C|D|E|U"), "verdict", "Letter that the pupil was given.", empty=0.04),
    ),
    (Field("Ser.|Session", pick("June 2023|November 2022|January 2024"), "term", "When the exam was held."),),
    (Field("Subj|Syllabus", pick("Biology 0610|History 2147|Physics 0625"), "taught_in", "What was examined."),),
    (Field("Ctr|Centre", made("{} {}", "Elm Park|St. Jude's|Kingsway", "Academy|High School"), "school",
           "School of the pupil."),),
    "Centre: {0}",
    locale="gb",
)  # fmt: skip

PAYROLL = Subject(
    "Journal de paie|État récapitulatif des salaires",
    "Salariés|Bulletins",
    "Salaires du personnel d'une entreprise.",
    "employees",
    "Une entrée par personne payée.",
    (
        Field("Matr.|Matricule", code("0####", "E####"), "badge", "Numéro interne de la personne."),
        Field("Nom et prénom", person("{1} {0}", "Chloé|Luc|Inès|Rémi|Zoé|Paul", "MARTIN|LEFÈVRE|PETIT|LE GOFF|ROUX"),
              "who", "Personne qui reçoit l'argent."),
        Field("Empl.|Emploi", pick("Vendeur|Comptable|Chef d'équipe|Magasinier"), "occupation", "Ce qu'elle fait."),
        Field("Entrée", day(1998, 2023), "joined", "Premier jour de travail.", empty=0.1),
        Field("H|Hres", measure(20, 169, 2), "time_worked", "Temps travaillé."),
        Field("Tx|Tx hor.", measure(11.5, 40, 2), "hourly", "Argent gagné en une heure."),
        Field("S. brut", worked_out(amount(1, 2), lambda row, _: round(row["time_worked"] * row["hourly"], 2)),
              "before_deductions", "Salaire avant toute retenue.", sums=True),
        Field("Cotis.|Ret. sal.", worked_out(amount(1, 2), lambda row, _: round(-0.22 * row["before_deductions"], 2)),
              "deducted", "Ce que l'on retient, négatif.", sums=True),
        Field("Net payé|Net à payer", worked_out(amount(1, 2), lambda row, _: round(
            row["before_deductions"] + row["deducted"], 2)), "received", "Ce qui est versé.", sums=True),
    ),
    (Field("Mois|Période", pick("mars 2023|juillet 2022|octobre 2024"), "month", "Mois du travail, comme imprimé."),),
    (Field("SIRET", code("##############"), "company_number", "Numéro de l'entreprise."),),
    (Field("Étab.|Service", pick("Lyon|Nantes|Siège|Dépôt Sud"), "workplace", "Lieu de travail."),),
    "Établissement {0}",
    locale="fr",
)  # fmt: skip

SAMPLES = Subject(
    "Certificate of Analysis|Analytical Results",
    "Results|Determinations",
    "What a laboratory measured.",
    "measurements",
    "One entry for each substance in each probe.",
    (
        Field("Lab ID|Smpl", code("L######-##", "#####-@#"), "probe", "Mark of the probe."),
        Field("Mtx|Matrix", one_of(water="AQ", soil="SO", air="A"), "material", "What the probe is made of."),
        Field("Analyte|Parameter", pick("Lead|Zinc|pH|Benzene|Arsenic, total|Nitrate as N|m,p-Xylene|E. coli"),
              "substance", "What was looked for."),
        Field("CAS", code("##-##-#", "####-##-#"), "", "", 0.2),
        Field("Rslt|Conc", measure(0.01, 90, 3), "content", "How much was found.", empty=0.2),
        Field("Q|Qual", pick("J|U|B|H"), "remark", "Letter that qualifies the figure.", empty=0.6),
        Field("RL|PQL", measure(0.001, 5, 3), "smallest_sure", "Least amount measured reliably.", band="Limits"),
        Field("MDL", measure(0.001, 1, 4), "smallest_seen", "Least amount that is noticed at all.", band="Limits"),
        Field("DF|Dil", whole(1, 100), "thinned", "How many times the probe was thinned."),
        Field("Anlzd|Run Dt", later("measured_on", 2023, 1), "measured_on", "Day of the measurement."),
    ),
    (
        Field("Client|Report To", _FIRM, "customer", "Who ordered the work."),
        Field("WO|Work Order", code("#######"), "order", "Number of the job."),
    ),
    (Field("Units|All results in", pick("mg/L|ug/L|mg/kg"), "in_units", "Unit of all figures."),),
    (Field("Meth|Method", pick("EPA 200.8|SW846 8260D|SM 4500|EPA 300.0"), "procedure", "Norm that was followed."),),
    "Method {0}",
)  # fmt: skip

CARGO = Subject(
    "Cargo Manifest|Inward Manifest",
    "Bills of Lading|B/Ls",
    "Freight on board of a ship.",
    "shipments",
    "One entry for each consignment.",
    (
        Field("B/L|BL No", code("@@@@#######", "@@@/###/##"), "paper", "Number of the freight document."),
        Field("Shpr|Shipper", made("{} {}", "Nakata|Ferreira|Orient|Baltic", "Trading Co.|Export GmbH|Textiles Ltd"),
              "sender", "Who sends it."),
        Field("Cnee|Consignee", made("{} {}", "Delta|Marlow|Kestrel", "Imports|Stores Inc.|Agro"), "receiver",
              "Who gets it.", empty=0.1),
        Field("Pkgs|No of Pkgs", whole(1, 900), "pieces", "How many boxes, bales or drums.", sums=True),
        Field("Kind", pick("CTN|PLT|DRM|BG")),
        Field(
            "Descr of Goods|Goods",
            made("{} {}", "Used machinery parts|Cotton yarn|Frozen squid|Ceramic tiles",
                 "in bulk|STC 40 pallets, temperature to be kept at minus 18 C|of Turkish origin|NOS"),
            "content", "What is inside.",
        ),
        Field("Gr Wt|Gross Kgs", measure(50, 28000, 1), "mass", "Weight with packing in kilograms.", sums=True),
        Field("CBM|Meas", measure(0.5, 70, 2), "room", "Cubic metres that it fills.", empty=0.1),
        Field("Frt|PP/CC", one_of(sender="PP", receiver="CC"), "who_pays", "Who pays for the voyage."),
    ),
    (Field("Vsl|Vessel", pick("MV Aurelia|Ever Gallant|Star Pelican"), "ship", "Name of the ship."),),
    (Field("Voy|Voyage", code("0##@", "@###W"), "trip", "Number of the voyage."),),
    (
        Field("POL", pick("Izmir|Santos|Busan|Riga"), "from_port", "Where it was loaded."),
        Field("POD", pick("Norfolk|Leixoes|Cork"), "to_port", "Where it is unloaded."),
    ),
    "POL {0} / POD {1}",
)  # fmt: skip
