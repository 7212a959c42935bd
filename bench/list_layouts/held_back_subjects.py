"""The subjects of the part that is held back."""

from __future__ import annotations

from bench.list_layouts.subjects import Subject
from bench.list_layouts.values import (
    Field,
    amount,
    clock,
    code,
    day,
    later,
    level,
    made,
    measure,
    one_of,
    person,
    pick,
    serial,
    whole,
    worked_out,
    year,
)

_FIRST = "Elena|Sam|Noor|Bjorn|Greta|Diego|Ruth|Ivan|Mei|Paula|Owen|Tariq|Lena|Carl"
_LAST = "Hughes|Moreau|Ito|Fischer|Banerjee|Costa|Kelly|Sato|Weaver|De Boer|Quinn|Holm|Reyes"
_STREETS = "Maple Ave|2nd St|Harbor Rd|County Line Rd|Elm Ct|Industrial Pkwy|Old Quarry Lane"
_OWNER = made("{} {}", "Corvus|Lakeshore|Tamarack|Pinnacle|Redwood|Union", "Holdings LP|Partners|Realty Trust|Co-op")

BUILDINGS = Subject(
    "Statement of Values|Property Schedule",
    "Premises|Structures",
    "Houses that an insurer is asked to cover.",
    "houses",
    "One entry for each house.",
    (
        Field("Bldg|Prem/Bldg", code("1-#", "##-#"), "house_number_in_list", "Mark of the house in the list."),
        Field("Addr|Street Addr", made("{} {}", "12|480|1701|9|2250", _STREETS), "street", "Street and number."),
        Field("Cty|Municipality", pick("Tulsa|Bangor|Laramie|Reno|Athens"), "town", "Town in which it stands."),
        Field("State", pick("OK|ME|WY|NV|GA|IN|OR|HI"), "state_code", "State by its two letters."),
        Field("Zip|ZIP+4", code("#####", "0####"), "postcode", "Postal code.", empty=0.08),
        Field("ISO|Const", pick("FR|MNC|JM|F|NC"), "walls", "What the walls are made of, as a code."),
        Field("Blt|Yr Blt", year(1890, 2022), "erected", "Year in which it was built.", empty=0.1),
        Field("Sty|No Stories", level(1, 2, 3, 4, 12)),
        Field("Bldg Val|RCV", amount(40000, 9000000, step=1), "to_rebuild", "Money needed to build it again.", 0,
              "Limits of Ins", True),
        Field("BPP|Cont", amount(5000, 900000, step=1), "movables", "Worth of what is inside.", 0.2,
              "Limits of Ins", True),
        Field("BI/EE|Rents", amount(5000, 400000, step=1), "lost_income", "Income that is covered.", 0.4,
              "Limits of Ins", True),
        Field("TIV|Tot Ins Val", worked_out(amount(1, 2), lambda row, _: round(
            sum(row[part] or 0 for part in ("to_rebuild", "movables", "lost_income")), 2)),
            "all_together", "Whole sum that is covered.", 0, "Limits of Ins", True),
    ),
    (
        Field("First Named Ins|Applicant", _OWNER, "owner", "Who owns the houses."),
        Field("Exp. Dt|Policy Term To", day(2024, 2026), "cover_ends", "Last day of the cover."),
    ),
    (Field("Acct Nbr|Subm. ID", code("S-####-##", "#########"), "file", "Number of the whole request."),),
    (Field("Camp|Site", made("{} {}", "North|Upper|Mill|Bay", "Campus|Plaza|Works"), "estate", "Its ground."),),
    "Site: {0}",
    absent=(("sprinklers", "string", "Whether there are sprinklers."),),
)  # fmt: skip

ACCOUNT = Subject(
    "Statement of Account|Your Current Account",
    "Transactions|Items on this statement",
    "What went in and out of an account at a bank.",
    "movements",
    "One entry for each payment, without balances brought over.",
    (
        Field("Date", later("moved_on", 2023, 2), "moved_on", "Day of the payment."),
        Field("Val.|Value", later("x", 2023, 3, "moved_on")),
        Field("Particulars|Details", made(
            "{} {}", "DD|CARD PAYMENT TO|FPI|STO|CHQ", "COUNCIL TAX|TESCO STORES 3217|J HARRIS RENT REF 88|ATM LEEDS"),
            "narrative", "Text of the payment."),
        Field("Ty|Tp", pick("DD|VIS|CR|SO|BP")),
        Field("Out|Withdrawn", amount(1, 3000), "debit_side", "Money that left the account.", 0.4, sums=True),
        Field("In|Lodged", amount(1, 5000), "credit_side", "Money that came in.", 0.6, sums=True),
        Field("Balance|C/f", worked_out(amount(1, 2), lambda row, before: round(
            before.get("afterwards", 900.0) + (row["credit_side"] or 0) - (row["debit_side"] or 0), 2)),
            "afterwards", "What was left; negative if overdrawn."),
    ),
    (Field("Account Holder|A/c Name", person("{0} {1}", _FIRST, _LAST), "customer", "Whose account it is."),),
    (Field("Sort Code|S/C", code("##-##-##"), "branch", "Six digits of the branch."),),
    locale="gb",
)  # fmt: skip

TREES = Subject(
    "Tree Inventory|Arboricultural Survey Data",
    "Trees|Stems surveyed",
    "Trees of a town.",
    "plants",
    "One entry for each tree.",
    (
        Field("Tag|Tree ID", code("T####", "0####"), "label_on_trunk", "Number on the trunk."),
        Field("Spp|Botanical", pick("Acer rubrum|Quercus alba|Tilia cordata|Ulmus sp.|Fraxinus excelsior 'Jaspidea'"),
              "latin_name", "Scientific name."),
        Field("DBH|Diam", measure(4, 160, 1), "thickness", "Thickness of the trunk in centimetres.", band="Size"),
        Field("Ht|Hgt m", measure(2, 34, 1), "tallness", "How tall it is, in metres.", 0.1, band="Size"),
        Field("Crn|Sprd", whole(1, 20), "", "", 0.3, band="Size"),
        Field("Cond|Vit.", one_of(healthy="G", weak="F", dying="P"), "health", "How well it does."),
        Field("Rmks|Field Obs", made("{} {}", "Deadwood|Cavity|Lean|Ivy", "over footpath|at base, monitor in two years"
              ), "observation", "What the inspector saw.", 0.4),
        Field("Insp|Surv'd", day(2021, 2023), "visited", "Day on which someone looked at it."),
    ),
    (Field("Ward|District", pick("Ward 3|Riverside|Old Town"), "quarter", "Part of the town."),),
    (Field("Surv.|Arborist", person("{0} {1}", _FIRST, _LAST), "inspector", "Who looked at the trees."),),
    (Field("Rd|Thoroughfare", pick(_STREETS), "along", "Street along which it stands."),),
    "{0}",
    locale="gb",
)  # fmt: skip

BOOKS = Subject(
    "Bestandsverzeichnis|Standortkatalog",
    "Bände|Titelaufnahmen",
    "Bücher einer Bibliothek.",
    "volumes",
    "Ein Eintrag je Buch.",
    (
        Field("Sign.|Signatur", code("@ ###", "@@ ##/###"), "shelf_mark", "Wo das Buch im Regal steht."),
        Field("Verf.|Verfasser", person("{1}, {0}", "Käthe|Jörg|Emil|Ruth", "Weiß|Brückner|Sommer|Vogt"), "author",
              "Wer es schrieb.", 0.1),
        Field("Sachtitel|Titel", made(
            "{} {}", "Geschichte|Grundzüge|Kleines Handbuch|Quellen",
            "der Botanik|des Mühlenwesens in den Tälern des Harzes und seines Vorlandes|der Physik|zur Landeskunde"),
            "book_title", "Wie es heißt."),
        Field("Aufl.|Ausg.", level(1, 2, 3, 5), "edition", "Die wievielte Ausgabe.", 0.4),
        Field("Ersch.|J.", year(1888, 2019), "printed_in", "In welchem Jahr es gedruckt wurde."),
        Field("Verl.|Verlag", pick("Reclam|Beck|Teubner|Insel"), "", "", 0.2),
        Field("Zugang|Erw.", day(1992, 2023), "acquired", "Seit wann es der Bibliothek gehört.", 0.1),
        Field("Kosten|Anschaff.", amount(2, 180), "paid", "Was es gekostet hat.", 0.3, sums=True),
    ),
    (Field("Zweigstelle|Haus", pick("Stadtmitte|Nordend|Archiv"), "library", "Haus, in dem die Bücher stehen."),),
    (Field("Sachgebiet|Fach", pick("Nat|Ges|Tec"), "area", "Gebiet, zu dem alle Bücher gehören."),),
    (Field("Regal|Reg.", code("R##", "M-##"), "rack", "Regal, in dem es steht."),),
    "Regal {0}",
    locale="de",
)  # fmt: skip

STATIONS = Subject(
    "Station Bulletin|Seismograph Station List",
    "Stations|Sites operated",
    "Places where earthquakes are recorded.",
    "observatories",
    "One entry for each place with an instrument.",
    (
        Field("Sta|Stn", code("@@@", "@@@@"), "short_name", "Letters that stand for the place."),
        Field("Lat|Phi", measure(-60, 72, 4), "north", "Degrees north of the equator, negative in the south."),
        Field("Lon|Lambda", measure(-179, 179, 4), "east", "Degrees east of Greenwich, negative in the west."),
        Field("Elev|h(m)", measure(-20, 3900, 0), "altitude", "Metres above the sea."),
        Field("Bur.|z", measure(0, 200, 1), "", "", 0.5),
        Field("Inst|Sensor", pick("STS-2|CMG-3T|L4C|S-13|T"), "instrument", "What records the ground.", 0.1),
        Field("SR|Hz", level(20, 40, 100, 200), "samples", "Values a second."),
        Field("On|Opened", day(1991, 2015), "since", "First day of recording.", band="Operation"),
        Field("Off|Closed", later("", 2016, 3000, "since"), "ended", "Last day of recording.", 0.7, band="Operation"),
    ),
    (Field("Issued|Bull. Date", day(2022, 2024), "list_date", "Day of the list."),),
    (Field("Datum", pick("WGS84|ED50"), "ellipsoid", "Which model of the earth the degrees refer to."),),
    (Field("Net|Network", pick("CH|IN|GE|IU|DE|OR"), "operator_code", "Two letters of who runs the place."),),
    "Network {0}",
    absent=(("telephone", "string", "Number of the observatory."),),
)  # fmt: skip

DEPARTURES = Subject(
    "Working Timetable|Service Register",
    "Services|Trains shown",
    "Trains by route.",
    "runs",
    "One entry for each train.",
    (
        Field("Train|Hdcode", code("#@##", "####"), "train_number", "Number of the train."),
        Field("From|Orig.", pick("Ashby|Corley|Penmere|Stowe Jn"), "starts_at", "Where it starts."),
        Field("Dep.|d.", clock(), "leaves", "When it starts."),
        Field("To|Dest.", pick("Linton|Marsh End|Kirkholm|Upton"), "goes_to", "Where it ends."),
        Field("Arr.|a.", clock(), "comes_in", "When it ends.", 0.05),
        Field("Plat|Pfm", level(1, 2, 3, 14), "track", "Track at the start.", 0.2),
        Field("Runs|SX/SO", one_of(weekdays="MF", saturdays="SO", daily="D"), "days", "On which days."),
        Field("Stock|Unit Type", pick("158|4-car|HST|DMU")),
    ),
    (Field("Op. Period|Validity", pick("Winter 2023|May-Dec 2024"), "season", "For how long it holds, as printed."),),
    (),
    (
        Field("Route", code("R##", "L-#"), "line_number", "Number of the route."),
        Field("Via", pick("the coast|Hallam Moor|the loop"), "by_way_of", "Where the route goes along."),
    ),
    "Route {0} via {1}",
    "routes",
    "One entry for each route with its trains.",
    locale="gb",
)  # fmt: skip

GIFTS = Subject(
    "Pledge Register|Annual Appeal Ledger",
    "Pledges|Donors listed",
    "Promised and given money of a charity.",
    "promises",
    "One entry for each promise of a giver.",
    (
        Field("Seq|Line", serial()),
        Field("ID|Const. ID", code("D-#####", "00####"), "giver_number", "Number of the giver."),
        Field("Donor|Recognition", person("{0} {1}", _FIRST, _LAST), "giver", "Who gives.", 0.03),
        Field("Pl. Date|Pledged", day(2019, 2023), "promised_on", "Day of the promise.", 0.1),
        Field("Pl. Amt|Commit.", amount(25, 20000, step=5), "promised", "How much was promised.", 0, "USD", True),
        Field("Rec'd|To Date", amount(5, 9000, step=5), "arrived", "How much came.", 0.3, "USD", True),
        Field("Due|Outst.", worked_out(amount(1, 2), lambda row, _: round(row["promised"] - (row["arrived"] or 0), 2)),
              "missing", "What is still to come; negative if more came than was promised.", 0, "USD", True),
        Field("Fnd|Desig.", pick("GEN|BLDG|SCH|MUS"), "purpose", "What the money is for."),
        Field("Ack|TY", one_of(thanked="X", waiting="o"), "thanks", "Whether the giver was thanked.", 0.2),
    ),
    (Field("Chapter|Affiliate", _OWNER, "charity", "Who collects."), ),
    (Field("Drive|Campaign", pick("Fall Appeal|Roof Fund|Centennial"), "collection", "Name of the collection."),),
    (Field("Zone|Sect.", pick("East|West|Parish 4|Alumni"), "circle", "Circle to which the giver belongs."),),
    "{0}",
)  # fmt: skip

RENTS = Subject(
    "Rent Roll|Tenancy Schedule",
    "Apartments|Leases",
    "Flats and who rents them.",
    "flats",
    "One entry for each flat, let or empty.",
    (
        Field("Apt|Suite", code("#@", "###"), "door", "Number of the flat."),
        Field("Lessee|Occupant", person("{1}, {0}", _FIRST, _LAST), "renter", "Who lives there; none if empty.", 0.1),
        Field("SF|RSF", whole(350, 3000), "floor_area", "Square feet of the flat."),
        Field("Commence|Move-In", day(2016, 2022), "rented_since", "First day of the contract.", 0.1),
        Field("Expires|Lse End", later("", 2023, 900, "rented_since"), "rented_until", "Last day of it.", 0.15),
        Field("Mkt|Asking", amount(700, 4000, step=5), "possible_rent", "What it could bring.", 0, "Mo. Rent", True),
        Field("Act|In Place", amount(600, 4000, step=5), "agreed_rent", "What was agreed on.", 0.1, "Mo. Rent", True),
        Field("Sec Dep|Held", amount(300, 4000, step=5), "security", "Money held against damage.", 0.2, sums=True),
        Field("Arrears|Past Due", amount(5, 3000, 0.3), "owed", "What the renter owes; negative if paid ahead.", 0.5,
              sums=True),
    ),
    (Field("Landlord|Lessor", _OWNER, "owner", "Who lets the flats."),
     Field("As At|Roll Date", day(2023, 2024), "day_of_list", "Day of the list.")),
    (Field("Mgr|PM", person("{0} {1}", _FIRST, _LAST), "manager", "Who looks after the houses."),),
    (
        Field("Prop|Asset No", code("P##", "####"), "house_code", "Code of the house."),
        Field("Prop Name", made("{} {}", "The Alder|Cedar|Lakeview", "Court|Lofts|Arms"), "house", "Its name."),
    ),
    "Property {0}: {1}",
    "houses",
    "One entry for each house with its flats.",
)  # fmt: skip

METERS = Subject(
    "Relevé des compteurs|Facturation de l'eau - rôle",
    "Abonnés|Compteurs relevés",
    "Eau consommée par les habitants.",
    "readings",
    "Une entrée par appareil.",
    (
        Field("Cpt.|N° cpt.", code("##@###", "A#######"), "device", "Numéro de l'appareil."),
        Field("Abonné|Titulaire", person("{1} {0}", "Aline|Joël|Maud|Yves", "DUVAL|GAUTIER|NOËL|LE BRIS"), "household",
              "Qui paie.", 0.05),
        Field("Anc. ind.|Ancien", whole(10, 9000), "first_count", "Chiffre au début.", band="Index"),
        Field("Nouv. ind.|Nouveau", worked_out(whole(0, 1), lambda row, _: row["first_count"] + 7 * len(row["device"])
              + row["#"] % 83), "last_count", "Chiffre à la fin.", band="Index"),
        Field("Conso|m3", worked_out(whole(0, 1), lambda row, _: row["last_count"] - row["first_count"]), "used",
              "Eau consommée.", sums=True),
        Field("P.U.|Tarif", measure(1.2, 4.9, 3), "per_unit", "Prix d'un mètre cube."),
        Field("Mt|Mt TTC", worked_out(amount(1, 2), lambda row, _: round(row["used"] * row["per_unit"], 2)), "bill",
              "Ce qu'il faut payer.", sums=True),
        Field("Rel. le|Lu le", day(2022, 2024), "read_on", "Jour de la lecture.", 0.1),
        Field("Obs.", pick("E|A|*")),
    ),
    (Field("Commune", pick("Saint-Aubin|Le Vigan|Plouha"), "village", "Où sont les appareils."),),
    (Field("Rôle|Lot", code("20##-##"), "batch", "Numéro de la tournée entière."),),
    (Field("Voie|Rue", made("{} {}", "rue|impasse|chemin", "des Écoles|du Lavoir|Pasteur"), "lane", "Où il est."),),
    "{0}",
    locale="fr",
)  # fmt: skip

RUNNERS = Subject(
    "Official Results|Finishers List",
    "Finishers|Classified",
    "Results of a race.",
    "finishers",
    "One entry for each person who finished.",
    (
        Field("Pl|Pos", serial(), "rank", "Rank over all."),
        Field("Bib|Nr", code("####", "F###"), "start_number", "Number on the shirt."),
        Field("Athlete|Runner", person("{1} {0}", _FIRST, _LAST), "person", "Who ran."),
        Field("YoB|Jg", year(1948, 2006), "birth_year", "Year of birth.", 0.1),
        Field("Nat|NOC", pick("DE|IT|ID|AT|IN|NO|ME"), "country", "Country by its two letters.", 0.1),
        Field("Club|Team", made("{} {}", "LG|TSV|Road Runners|AC", "Nord|Riverside & District Harriers|1887|Trento"),
              "ran_for", "Association of the person.", 0.35),
        Field("Chip|Net", clock(), "duration", "Time from line to line, as printed.", band="Time"),
        Field("Gun|Gross", clock(), band="Time"),
        Field("Gap|Diff", measure(0.1, 99, 1), "behind", "Minutes behind the first one.", 0.05),
    ),
    (Field("Event|Meet", pick("Lakes Half Marathon|City 10K|Ridge Trail"), "race", "Name of the race."),),
    (Field("Held|On the", day(2021, 2024), "raced_on", "Day of the race."),),
    (Field("Cat|AG", one_of(women="W", men="M", youth="J"), "class_of_age", "Class in which the person is ranked."),),
    "Category {0}",
    locale="gb",
)  # fmt: skip
