"""Names with a code: currencies (ISO 4217), countries (ISO 3166-1), languages (ISO 639), states of the US (USPS).

CLDR has these names in all of its languages; the tables here take precedence over it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, takewhile

from cinnabar.engine.readings.cldr import exact_key, loose_key, name_table, rows_of

#: In running text a shorter name is more often another word.
SHORTEST_NAME = 4
#: The longest name in CLDR has 103 characters.
LONGEST_NAME = 120
# Names that documents print and CLDR lacks or gives to several currencies: a currency's name without its country
# ("dollar", "pounds"), abbreviations ("rs", "stg"), signs of several currencies with the likeliest first.
_CURRENCIES = """
EUR|€|euro|euros
USD|$|us$|us dollar|us dollars|dollar|dollars|u.s. dollars|united states dollars|us-dollar
GBP|£|pound|pounds|pound sterling|pounds sterling|stg
JPY|¥|yen|jp¥
CNY|¥|rmb|yuan|renminbi|cn¥
CHF|sfr|fr.|franken|swiss franc|swiss francs|schweizer franken
INR|₹|rs|rs.|rupee|rupees
KRW|₩|won
RUB|₽|rouble|ruble|rubles|rub.
UAH|₴|hryvnia
TRY|₺|tl|lira
ILS|₪|nis|shekel
VND|₫|dong
THB|฿|baht
PHP|₱|peso
NGN|₦|naira
BRL|r$|real|reais
CAD|c$|ca$|can$|canadian dollar|canadian dollars
AUD|a$|au$|australian dollar|australian dollars
NZD|nz$|new zealand dollars
HKD|hk$|hong kong dollars
SGD|s$|sg$|singapore dollars
MXN|mx$|mexican pesos
MYR|rm|ringgit
SEK|kr|kronor|krona|swedish kronor
NOK|kr|kroner|nkr
DKK|kr|kroner|dkr
PLN|zł|zl|zloty
CZK|kč|kc|koruna
HUF|ft|forint
RON|lei|leu
BGN|лв|lev
ZAR|rand
AED|dhs|dirham|dirhams|د.إ
SAR|sr|riyal|riyals|ر.س
EGP|le|egyptian pound
KES|ksh|kshs
GHS|gh₵|gh¢|cedi
IDR|rp|rupiah
PKR|rs|pakistani rupee
"""

# alpha-2|alpha-3|names in English, German and French: a code is read as the first name, and all names take precedence
# over other meanings of the same word. CLDR has official and old names and abbreviations ("UK", "PRC", "Holland",
# "Burma") in no language or in few.
_COUNTRIES = """
AD|AND|Andorra|Andorre
AE|ARE|United Arab Emirates|UAE|Vereinigte Arabische Emirate|Émirats arabes unis
AF|AFG|Afghanistan
AL|ALB|Albania|Albanien|Albanie
AM|ARM|Armenia|Armenien|Arménie
AO|AGO|Angola
AR|ARG|Argentina|Argentinien|Argentine
AT|AUT|Austria|Österreich|Oesterreich|Autriche
AU|AUS|Australia|Australien|Australie
AZ|AZE|Azerbaijan|Aserbaidschan|Azerbaïdjan
BA|BIH|Bosnia and Herzegovina|Bosnien und Herzegowina|Bosnie-Herzégovine
BD|BGD|Bangladesh|Bangladesch
BE|BEL|Belgium|Belgien|Belgique
BG|BGR|Bulgaria|Bulgarien|Bulgarie
BH|BHR|Bahrain|Bahreïn
BM|BMU|Bermuda|Bermudes
BO|BOL|Bolivia|Bolivien|Bolivie
BR|BRA|Brazil|Brasilien|Brésil
BS|BHS|Bahamas|The Bahamas
BY|BLR|Belarus|Weißrussland|Biélorussie
CA|CAN|Canada|Kanada
CH|CHE|Switzerland|Schweiz|Suisse
CL|CHL|Chile|Chili
CM|CMR|Cameroon|Kamerun|Cameroun
CN|CHN|China|People's Republic of China|PRC|Chine
CO|COL|Colombia|Kolumbien|Colombie
CR|CRI|Costa Rica
CU|CUB|Cuba|Kuba
CY|CYP|Cyprus|Zypern|Chypre
CZ|CZE|Czech Republic|Czechia|Tschechien|Tschechische Republik|Tchéquie|République tchèque
DE|DEU|Germany|Deutschland|Bundesrepublik Deutschland|Allemagne
DK|DNK|Denmark|Dänemark|Danemark
DO|DOM|Dominican Republic|Dominikanische Republik|République dominicaine
DZ|DZA|Algeria|Algerien|Algérie
EC|ECU|Ecuador|Équateur
EE|EST|Estonia|Estland|Estonie
EG|EGY|Egypt|Ägypten|Égypte
ES|ESP|Spain|Spanien|Espagne|España
ET|ETH|Ethiopia|Äthiopien|Éthiopie
FI|FIN|Finland|Finnland|Finlande
FR|FRA|France|Frankreich
GB|GBR|United Kingdom|UK|Great Britain|England|Vereinigtes Königreich|Großbritannien|Royaume-Uni
GE|GEO|Georgia|Georgien|Géorgie
GH|GHA|Ghana
GR|GRC|Greece|Griechenland|Grèce
GT|GTM|Guatemala
HK|HKG|Hong Kong|Hongkong
HR|HRV|Croatia|Kroatien|Croatie
HU|HUN|Hungary|Ungarn|Hongrie
ID|IDN|Indonesia|Indonesien|Indonésie
IE|IRL|Ireland|Irland|Irlande
IL|ISR|Israel|Israël
IN|IND|India|Indien|Inde
IQ|IRQ|Iraq|Irak
IR|IRN|Iran
IS|ISL|Iceland|Island|Islande
IT|ITA|Italy|Italien|Italie|Italia
JM|JAM|Jamaica|Jamaika|Jamaïque
JO|JOR|Jordan|Jordanien|Jordanie
JP|JPN|Japan|Japon
KE|KEN|Kenya|Kenia
KR|KOR|South Korea|Republic of Korea|Korea|Südkorea|Corée du Sud
KW|KWT|Kuwait|Koweït
KY|CYM|Cayman Islands|Kaimaninseln|Îles Caïmans
KZ|KAZ|Kazakhstan|Kasachstan
LB|LBN|Lebanon|Libanon|Liban
LI|LIE|Liechtenstein
LK|LKA|Sri Lanka
LT|LTU|Lithuania|Litauen|Lituanie
LU|LUX|Luxembourg|Luxemburg
LV|LVA|Latvia|Lettland|Lettonie
MA|MAR|Morocco|Marokko|Maroc
MC|MCO|Monaco
MD|MDA|Moldova|Moldau|Moldavie
ME|MNE|Montenegro|Monténégro
MK|MKD|North Macedonia|Nordmazedonien|Macédoine du Nord
MT|MLT|Malta|Malte
MU|MUS|Mauritius|Maurice
MX|MEX|Mexico|Mexiko|Mexique
MY|MYS|Malaysia|Malaisie
NG|NGA|Nigeria
NL|NLD|Netherlands|The Netherlands|Holland|Niederlande|Pays-Bas|Nederland
NO|NOR|Norway|Norwegen|Norvège
NP|NPL|Nepal|Népal
NZ|NZL|New Zealand|Neuseeland|Nouvelle-Zélande
PA|PAN|Panama
PE|PER|Peru|Pérou
PH|PHL|Philippines|Philippinen
PK|PAK|Pakistan
PL|POL|Poland|Polen|Pologne
PR|PRI|Puerto Rico
PT|PRT|Portugal
PY|PRY|Paraguay
QA|QAT|Qatar|Katar
RO|ROU|Romania|Rumänien|Roumanie
RS|SRB|Serbia|Serbien|Serbie
RU|RUS|Russia|Russian Federation|Russland|Russie
SA|SAU|Saudi Arabia|Saudi-Arabien|Arabie saoudite
SE|SWE|Sweden|Schweden|Suède
SG|SGP|Singapore|Singapur|Singapour
SI|SVN|Slovenia|Slowenien|Slovénie
SK|SVK|Slovakia|Slowakei|Slovaquie
SN|SEN|Senegal|Sénégal
TH|THA|Thailand|Thaïlande
TN|TUN|Tunisia|Tunesien|Tunisie
TR|TUR|Turkey|Türkiye|Türkei|Turquie
TW|TWN|Taiwan|Taïwan
TZ|TZA|Tanzania|Tansania|Tanzanie
UA|UKR|Ukraine
UG|UGA|Uganda|Ouganda
US|USA|United States|United States of America|U.S.|U.S.A.|Vereinigte Staaten|États-Unis
UY|URY|Uruguay
UZ|UZB|Uzbekistan|Usbekistan|Ouzbékistan
VE|VEN|Venezuela
VG|VGB|British Virgin Islands
VN|VNM|Vietnam|Viet Nam
ZA|ZAF|South Africa|Südafrika|Afrique du Sud
ZM|ZMB|Zambia|Sambia|Zambie
ZW|ZWE|Zimbabwe|Simbabwe
"""

# code|name|clipped forms
_STATES = """
AL|Alabama|Ala.
AK|Alaska
AZ|Arizona|Ariz.
AR|Arkansas|Ark.
CA|California|Calif.|Cal.
CO|Colorado|Colo.
CT|Connecticut|Conn.
DE|Delaware|Del.
DC|District of Columbia|D.C.|Washington, D.C.
FL|Florida|Fla.
GA|Georgia|Ga.
HI|Hawaii
ID|Idaho
IL|Illinois|Ill.
IN|Indiana|Ind.
IA|Iowa
KS|Kansas|Kans.|Kan.
KY|Kentucky|Ky.
LA|Louisiana|La.
ME|Maine
MD|Maryland|Md.
MA|Massachusetts|Mass.
MI|Michigan|Mich.
MN|Minnesota|Minn.
MS|Mississippi|Miss.
MO|Missouri|Mo.
MT|Montana|Mont.
NE|Nebraska|Nebr.|Neb.
NV|Nevada|Nev.
NH|New Hampshire|N.H.
NJ|New Jersey|N.J.
NM|New Mexico|N. Mex.|N.M.
NY|New York|N.Y.
NC|North Carolina|N.C.
ND|North Dakota|N. Dak.|N.D.
OH|Ohio
OK|Oklahoma|Okla.
OR|Oregon|Oreg.|Ore.
PA|Pennsylvania|Pa.
RI|Rhode Island|R.I.
SC|South Carolina|S.C.
SD|South Dakota|S. Dak.|S.D.
TN|Tennessee|Tenn.
TX|Texas|Tex.
UT|Utah
VT|Vermont|Vt.
VA|Virginia|Va.
WA|Washington|Wash.
WV|West Virginia|W. Va.
WI|Wisconsin|Wis.
WY|Wyoming|Wyo.
PR|Puerto Rico|P.R.
GU|Guam
VI|Virgin Islands|V.I.
"""


# Former names of countries; older documents print them.
_FORMER_NAMES = """
BF|BFA|Upper Volta
BJ|BEN|Dahomey
BY|BLR|Byelorussia|Belorussia|Weissrussland
BZ|BLZ|British Honduras
CD|COD|Zaire|Zaïre
CI|CIV|Ivory Coast
CV|CPV|Cape Verde
GH|GHA|Gold Coast
IR|IRN|Persia|Persien|Perse
KH|KHM|Kampuchea
LK|LKA|Ceylon
MK|MKD|Macedonia|Mazedonien
MM|MMR|Burma|Birma|Birmanie
MO|MAC|Macau
SZ|SWZ|Swaziland|Swasiland
TH|THA|Siam
TL|TLS|East Timor|Osttimor|Timor oriental
VA|VAT|Vatican|Vatikan|Holy See
ZW|ZWE|Rhodesia
"""


# Countries and how long their account numbers (IBAN) are, from the registry of ISO 13616.
_ACCOUNTS = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18
FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20
LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24
SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
"""
#: The characters of an account number, by its country.
ACCOUNT_LENGTHS = {row[:2]: int(row[2:]) for row in _ACCOUNTS.split()}
# Groups of an account number on one line, and the characters in which its next line is looked for.
_GROUPS, _NEAR = re.compile(r"[A-Z0-9]+(?:[ \u00a0.-]{1,3}[A-Z0-9]+)*"), 300


def account_at(text: str, start: int = 0) -> tuple[int, str] | None:
    """Returns the end and the characters of the IBAN at this character, by its length and its check digits.

    It may go on in the next line, also in a column of it.
    """
    length = ACCOUNT_LENGTHS.get(text[start : start + 2], 0)
    head = _GROUPS.match(text, start, start + _NEAR) if length else None
    if head is None:
        return None
    begun = re.sub(r"[^A-Z0-9]", "", head[0])
    if len(begun) >= length:
        ends = [head]
    else:
        line = text.find("\n", head.end(), start + _NEAR) + 1
        ends = list(islice(_GROUPS.finditer(text, line, line + _NEAR), 4)) if line else []
        ends = [one for one in ends if "\n" not in text[line : one.start()]]
    for one in ends:
        taken = "" if one is head else begun
        places = [at for at in range(*one.span()) if text[at].isalnum()][: length - len(taken)]
        taken, end = taken + "".join(text[at] for at in places), places[-1] + 1
        digits = "".join(str(int(sign, 36)) for sign in taken[4:] + taken[:4])
        if len(taken) == length and int(digits) % 97 == 1 and not text[end : end + 1].isalnum():
            return end, taken
    return None


def _rows(table: str) -> list[list[str]]:
    return [line.split("|") for line in table.strip().splitlines()]


def _tables() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Returns (name in lower case -> its codes and full names, value -> its names)."""
    values: dict[str, dict[str, None]] = {}
    names: dict[str, dict[str, None]] = {}

    def link(name: str, *targets: str) -> None:
        for target in targets:
            if target != name:
                values.setdefault(name.lower(), {})[target] = None
                names.setdefault(target, {})[name] = None

    for code, *words in _rows(_CURRENCIES):
        for word in words:
            link(word, code)
    for two, three, *words in _rows(_COUNTRIES):
        for word in words:
            link(word, two, three)
        link(two, three, words[0])
        link(three, two, words[0])
    for two, three, *words in _rows(_FORMER_NAMES):
        for word in words:
            link(word, two, three)
    for code, name, *short in _rows(_STATES):
        link(name, code)
        for word in short:
            link(word, code, name)
            link(word.rstrip("."), code, name)
        link(code, name)
    return {k: tuple(v) for k, v in values.items()}, {k: tuple(v) for k, v in names.items()}


_VALUES, _NAMES = _tables()
_OWN_CURRENCIES = frozenset(row[0] for row in _rows(_CURRENCIES))
_SIGNS = {sign: tuple(codes.split("|")) for sign, codes in rows_of("signs.tsv")}
CURRENCY_CODES = _OWN_CURRENCIES | {code for (code,) in rows_of("currency_codes.tsv")}
#: The signs of one character that Unicode classes as currency symbols.
CURRENCY_SIGNS = "€$£¥₹₩₽₴₺₪₫฿₱₦₡₢₣₤₥₧₨₭₮₯₰₲₳₵₸₼₾₿৳៛؋֏﷼"
_TABLES = ("countries.tsv.gz", "languages.tsv.gz")
_DIGIT = re.compile(r"\d")
_CODE = re.compile(r"[A-Z]{2,3}|[a-z]{2,3}")
_STATE_CODES = frozenset(row[0] for row in _rows(_STATES))


def codes_of(name: str) -> tuple[str, ...]:
    """Returns the codes and the full names of a name or a code, in any case.

    The tables above come first, then currencies, countries and languages of CLDR.
    """
    return _codes_of(name) if len(name) <= LONGEST_NAME else ()


@lru_cache(maxsize=8192)
def _codes_of(name: str) -> tuple[str, ...]:
    found = [*currencies_of(name), *(meaning for table in _TABLES for meaning in _meanings(table, name))]
    return tuple(dict.fromkeys((*_VALUES.get(name.lower(), ()), *(code for code in found if code != name))))


@lru_cache(maxsize=8192)
def currencies_of(name: str) -> tuple[str, ...]:
    """Returns the codes of the currencies of a name or a sign, the likelier first.

    Case counts for signs: "KM" is the mark of Bosnia, and "km" is not.
    """
    own = (code for code in _VALUES.get(name.lower(), ()) if code in _OWN_CURRENCIES)
    return tuple(dict.fromkeys((*own, *_SIGNS.get(name, ()), *_meanings("currencies.tsv.gz", name))))


def _meanings(table: str, name: str) -> tuple[str, ...]:
    if _DIGIT.search(name):
        # No name has a digit, but most spans do.
        return ()
    key = exact_key(" ".join(name.split()))
    meanings = name_table(table).meanings(key)
    bare = loose_key(key)
    return meanings or (name_table(table).meanings(bare) if bare != key else ())


@lru_cache(maxsize=8192)
def code_kinds(code: str) -> frozenset[str]:
    """Returns the kinds of names that have this code, empty for other texts: "currency", "state", and countries and
    languages by the letters of their codes ("country 2", "language 3").
    """
    if not _CODE.fullmatch(code):
        return frozenset()
    kinds = {"currency"} if code in CURRENCY_CODES else set()
    if code in _STATE_CODES:
        kinds.add("state")
    for table, kind in zip(_TABLES, ("country", "language"), strict=True):
        if code in _codes_in(table, code):
            kinds.add(f"{kind} {len(code)}")
    return frozenset(kinds)


def _codes_in(table: str, code: str) -> list[str]:
    """Returns the codes, in their own case, in a code's row of a table."""
    # The row begins with its codes; the name after them has both capitals and small letters.
    return list(takewhile(lambda word: word.isupper() or word.islower(), name_table(table).meanings(code.lower())))


@lru_cache(maxsize=1024)
def names_of(value: str) -> tuple[str, ...]:
    """Returns the names that `codes_of` reads as this code or full name, for a search in running text.

    CLDR adds its unambiguous names of four letters and more, and its unambiguous signs of one character.
    """
    names = dict.fromkeys(_NAMES.get(value, ()))
    if not _CODE.fullmatch(value):
        return tuple(names)
    names |= dict.fromkeys(s for s, codes in _SIGNS.items() if codes == (value,) and s in CURRENCY_SIGNS)
    keys = list(name_table("currencies.tsv.gz").keys_of(value))
    for table in _TABLES:
        codes = _codes_in(table, value)
        if value in codes:
            keys += name_table(table).keys_of("|".join(codes))
    known = {name.lower() for name in names}
    names |= dict.fromkeys(key for key in keys if sum(map(str.isalpha, key)) >= SHORTEST_NAME and key not in known)
    return tuple(names)
