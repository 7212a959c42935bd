"""Pages in other languages, for OCR: the first articles of the Universal Declaration of Human Rights, drawn here."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

# The first font that is installed draws a page; both are in Debian (fonts-dejavu-core, fonts-noto-cjk).
_LETTERS, _IDEOGRAPHS = ("DejaVuSerif.ttf", "DejaVuSans.ttf"), ("NotoSansCJK-Regular.ttc",)
_POINTS, _MARGIN = 11, 60


@dataclass(frozen=True, slots=True)
class Sample:
    """A text in a language.

    tesseract: Tesseract's name of the language. ideographs: the text has no blanks, so its characters are counted.
    """

    tesseract: str
    text: str
    ideographs: bool = False

    def drawn(self, dpi: int) -> Image.Image | None:
        """Returns a page of A4 with the text in grey; None if no font is installed."""
        font = _font(_IDEOGRAPHS if self.ideographs else _LETTERS, round(_POINTS * dpi / 72))
        if font is None:
            return None
        page = Image.new("L", (round(8.27 * dpi), round(11.69 * dpi)), 255)
        margin = round(_MARGIN * dpi / 72)
        width = 42 if self.ideographs else 76
        lines = [line for article in self.text.splitlines() for line in (*textwrap.wrap(article, width), "")]
        spacing = round(_POINTS * dpi / 72 / 2)
        ImageDraw.Draw(page).multiline_text((margin, margin), "\n".join(lines), 0, font, spacing=spacing)
        return page


def _font(names: tuple[str, ...], size: int) -> ImageFont.FreeTypeFont | None:
    for name in names:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return None


#: By the code of the language.
SAMPLES: dict[str, Sample] = {
    "de": Sample(
        "deu",
        "Artikel 1. Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen"
        " begabt und sollen einander im Geiste der Brüderlichkeit begegnen.\n"
        "Artikel 3. Jeder hat das Recht auf Leben, Freiheit und Sicherheit der Person.\n"
        "Artikel 4. Niemand darf in Sklaverei oder Leibeigenschaft gehalten werden; Sklaverei und Sklavenhandel sind in"
        " allen ihren Formen verboten.\n"
        "Artikel 5. Niemand darf der Folter oder grausamer, unmenschlicher oder erniedrigender Behandlung oder Strafe"
        " unterworfen werden.",
    ),
    "fr": Sample(
        "fra",
        "Article 1. Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison"
        " et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.\n"
        "Article 3. Tout individu a droit à la vie, à la liberté et à la sûreté de sa personne.\n"
        "Article 4. Nul ne sera tenu en esclavage ni en servitude; l'esclavage et la traite des esclaves sont interdits"
        " sous toutes leurs formes.\n"
        "Article 5. Nul ne sera soumis à la torture, ni à des peines ou traitements cruels, inhumains ou dégradants.",
    ),
    "es": Sample(
        "spa",
        "Artículo 1. Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de"
        " razón y conciencia, deben comportarse fraternalmente los unos con los otros.\n"
        "Artículo 3. Todo individuo tiene derecho a la vida, a la libertad y a la seguridad de su persona.\n"
        "Artículo 4. Nadie estará sometido a esclavitud ni a servidumbre, la esclavitud y la trata de esclavos están"
        " prohibidas en todas sus formas.\n"
        "Artículo 5. Nadie será sometido a torturas ni a penas o tratos crueles, inhumanos o degradantes.",
    ),
    "it": Sample(
        "ita",
        "Articolo 1. Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione"
        " e di coscienza e devono agire gli uni verso gli altri in spirito di fratellanza.\n"
        "Articolo 3. Ogni individuo ha diritto alla vita, alla libertà ed alla sicurezza della propria persona.\n"
        "Articolo 4. Nessun individuo potrà essere tenuto in stato di schiavitù o di servitù; la schiavitù e la tratta"
        " degli schiavi saranno proibite sotto qualsiasi forma.\n"
        "Articolo 5. Nessun individuo potrà essere sottoposto a tortura o a trattamento o a punizione crudeli, inumani"
        " o degradanti.",
    ),
    "pt": Sample(
        "por",
        "Artigo 1. Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de"
        " consciência, devem agir uns para com os outros em espírito de fraternidade.\n"
        "Artigo 3. Todo o indivíduo tem direito à vida, à liberdade e à segurança pessoal.\n"
        "Artigo 4. Ninguém será mantido em escravatura ou em servidão; a escravatura e o trato dos escravos, sob todas"
        " as formas, são proibidos.\n"
        "Artigo 5. Ninguém será submetido a tortura nem a penas ou tratamentos cruéis, desumanos ou degradantes.",
    ),
    "nl": Sample(
        "nld",
        "Artikel 1. Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met"
        " verstand en geweten, en behoren zich jegens elkander in een geest van broederschap te gedragen.\n"
        "Artikel 3. Een ieder heeft het recht op leven, vrijheid en onschendbaarheid van zijn persoon.\n"
        "Artikel 4. Niemand zal in slavernij of horigheid gehouden worden. Slavernij en slavenhandel in iedere vorm"
        " zijn verboden.\n"
        "Artikel 5. Niemand zal onderworpen worden aan folteringen, noch aan een wrede, onmenselijke of onterende"
        " behandeling of bestraffing.",
    ),
    "sv": Sample(
        "swe",
        "Artikel 1. Alla människor är födda fria och lika i värde och rättigheter. De har utrustats med förnuft och"
        " samvete och bör handla gentemot varandra i en anda av gemenskap.\n"
        "Artikel 3. Var och en har rätt till liv, frihet och personlig säkerhet.\n"
        "Artikel 4. Ingen får hållas i slaveri eller träldom. Slaveri och slavhandel i alla dess former är förbjudna.\n"
        "Artikel 5. Ingen får utsättas för tortyr eller grym, omänsklig eller förnedrande behandling eller"
        " bestraffning.",
    ),
    "pl": Sample(
        "pol",
        "Artykuł 1. Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni"
        " rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.\n"
        "Artykuł 3. Każdy człowiek ma prawo do życia, wolności i bezpieczeństwa swej osoby.\n"
        "Artykuł 4. Nie wolno nikogo czynić niewolnikiem ani nakładać na nikogo służebności; niewolnictwo i handel"
        " niewolnikami są zakazane we wszystkich swych postaciach.\n"
        "Artykuł 5. Nie wolno nikogo torturować ani karać lub traktować w sposób okrutny, nieludzki lub poniżający.",
    ),
    "cs": Sample(
        "ces",
        "Článek 1. Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím"
        " a mají spolu jednat v duchu bratrství.\n"
        "Článek 3. Každý má právo na život, svobodu a osobní bezpečnost.\n"
        "Článek 4. Nikdo nesmí být držen v otroctví nebo nevolnictví; všechny formy otroctví a obchodu s otroky jsou"
        " zakázány.\n"
        "Článek 5. Nikdo nesmí být mučen nebo podrobován krutému, nelidskému nebo ponižujícímu zacházení nebo trestu.",
    ),
    "tr": Sample(
        "tur",
        "Madde 1. Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve"
        " birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler.\n"
        "Madde 3. Yaşamak, hürriyet ve kişi emniyeti her ferdin hakkıdır.\n"
        "Madde 4. Hiç kimse kölelik veya kulluk altında bulundurulamaz; kölelik ve köle ticareti her türlü şekliyle"
        " yasaktır.\n"
        "Madde 5. Hiç kimse işkenceye, zalimane, gayriinsani, haysiyet kırıcı cezalara veya muamelelere tabi"
        " tutulamaz.",
    ),
    "ru": Sample(
        "rus",
        "Статья 1. Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и"
        " совестью и должны поступать в отношении друг друга в духе братства.\n"
        "Статья 3. Каждый человек имеет право на жизнь, на свободу и на личную неприкосновенность.\n"
        "Статья 4. Никто не должен содержаться в рабстве или в подневольном состоянии; рабство и работорговля"
        " запрещаются во всех их видах.\n"
        "Статья 5. Никто не должен подвергаться пыткам или жестоким, бесчеловечным или унижающим его достоинство"
        " обращению и наказанию.",
    ),
    "el": Sample(
        "ell",
        "Άρθρο 1. Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι"
        " προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης.\n"
        "Άρθρο 3. Κάθε άτομο έχει δικαίωμα στη ζωή, την ελευθερία και την προσωπική του ασφάλεια.\n"
        "Άρθρο 4. Κανείς δεν επιτρέπεται να ζει υπό καθεστώς δουλείας, ολικής ή μερικής. Η δουλεία και το δουλεμπόριο"
        " υπό οποιαδήποτε μορφή απαγορεύονται.\n"
        "Άρθρο 5. Κανείς δεν επιτρέπεται να υποβάλλεται σε βασανιστήρια ούτε σε ποινή ή μεταχείριση σκληρή, απάνθρωπη"
        " ή ταπεινωτική.",
    ),
    "zh": Sample(
        "chi_sim",
        "第一条 人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。\n"
        "第三条 人人有权享有生命、自由和人身安全。\n"
        "第四条 任何人不得使为奴隶或奴役；一切形式的奴隶制度和奴隶买卖，均应予以禁止。\n"
        "第五条 任何人不得加以酷刑，或施以残忍的、不人道的或侮辱性的待遇或刑罚。",
        ideographs=True,
    ),
    "ja": Sample(
        "jpn",
        "第一条 すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心と"
        "を授けられており、互いに同胞の精神をもって行動しなければならない。\n"
        "第三条 すべて人は、生命、自由及び身体の安全に対する権利を有する。\n"
        "第四条 何人も、奴隷にされ、又は苦役に服することはない。奴隷制度及び奴隷売買は、"
        "いかなる形においても禁止する。\n"
        "第五条 何人も、拷問又は残虐な、非人道的な若しくは屈辱的な取扱若しくは刑罰を受けることはない。",
        ideographs=True,
    ),
}
