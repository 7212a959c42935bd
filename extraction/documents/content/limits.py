"""The limits of all parsers: how much of a document is read, in which time and memory, and what happens beyond.

"Refused" means that the document goes to quarantine with the reason in brackets, or that a file within it is left out
with the flag `attachment_` and that reason. "Flagged" means that what is within the limit is read and the document has
the flag (`parse_context.py` explains flags), "quietly" that the rest is left out without a flag. Pages in
`docs/` state the limits that users meet: `formats.md` and `privacy-and-security.md`. A changed limit counts as a change
of all formats, so documents that were read are read again.
"""

from __future__ import annotations

# Files and documents.

#: Bytes of a file: refused (`too_large`) before it is read.
MAX_FILE = 200 << 20
#: Files that lie within each other in a mail or a PDF: flagged `depth_limit`.
MAX_FILE_DEPTH = 8
#: Bytes that are unpacked from a file in all: refused (`unpacked`).
MAX_UNPACKED = 400 << 20
#: Characters of a document: flagged `truncated`.
MAX_CHARACTERS = 20_000_000
#: Parts of a document, which are told one by one: flagged `truncated`.
MAX_DOCUMENT_PARTS = 40_000
#: Bytes of all pictures of a document: flagged `ocr_limit`.
MAX_PICTURE_BYTES = 128 << 20
#: Named places of a document, and characters of their names: text after them has no place.
MAX_PLACES, MAX_PLACE_NAMES = 400_000, 8_000_000
#: Characters of the name of a place: cut quietly.
MAX_PLACE_NAME = 200
#: Characters of the name and of the media type of a part: cut quietly.
MAX_PART_NAME, MAX_MEDIA_TYPE = 1024, 200
#: Characters of the names of all parts: flagged `truncated`, and the parts after them have no name.
MAX_PART_NAMES = 2_000_000
#: Passwords of a run, each of which costs a derivation of its key for each encrypted file: the run is refused.
MAX_PASSWORDS = 100

# Processes that read files.

#: Seconds of wall clock for a document: the process is killed; after a second try refused (`timeout`).
PARSER_SECONDS = 30.0
#: Bytes of address space of a parser's process: after a second try refused (`memory`).
PARSER_MEMORY = 1 << 30
#: Documents before a process is replaced.
PARSER_DOCUMENTS = 1000
#: Files that a process may hold open: opening another one fails.
PARSER_OPEN_FILES = 32
#: Seconds for the start of a process, and starts before the run fails.
START_SECONDS, MAX_STARTS = 60.0, 5
#: Bytes of what a process says about one page of a PDF: the page is lost.
MAX_PAGE_ANSWER = 256 << 20
#: Pages of a document that are drawn at once for a person to look at, and pixels of one: A4 at 110 dots an inch.
MAX_DRAWN, DRAWN_PIXELS = 40, 1_200_000
#: Seconds for drawing them, well below those of a parser, and for those after a page that a person waits for.
DRAWING_SECONDS, NEXT_DRAWING_SECONDS = 15.0, 0.15

# Archives: ZIP (office files are such, too), 7z, tar, and packed files.

#: Files of an archive, with those in archives within it: refused (`unpacked`).
MAX_MEMBERS = 10_000
#: Archives that lie within each other: refused (`depth`) for the innermost one.
MAX_NESTING = 3
#: Bytes unpacked for each packed one, and bytes that any archive may hold: refused (`unpacked`).
MAX_RATIO, ALWAYS_UNPACKED = 100, 16 << 20
#: Bytes of memory for a stream of xz: refused (`broken`).
LZMA_MEMORY = 256 << 20
#: Entries that a ZIP file may list, each of which takes half a kilobyte before the first is read: refused (`unpacked`).
MAX_ZIP_ENTRIES = 200_000
#: Files and streams that a 7z archive may list, and bytes of that list: refused (`unpacked`).
MAX_7Z_ENTRIES, MAX_7Z_LIST = 200_000, 64 << 20
#: Bytes of a dictionary of 7z: a larger one is cut to it.
MAX_7Z_DICTIONARY = 256 << 20
#: Hashes of a key of 7z, as a power of two (7-Zip takes 19): refused (`unsupported`).
MAX_7Z_KEY_POWER = 22
#: Seconds and bytes of address space for unpacking: refused (`timeout`, `memory`).
UNPACKING_SECONDS, UNPACKING_MEMORY = 60.0, 1 << 30
#: Bytes of the list of files that an unpacking process returns: the process counts as broken.
MAX_MEMBER_LIST = 64 << 20

# PDF.

#: Pages of a document: flagged `truncated`.
MAX_PDF_PAGES = 5_000
#: Characters of a page: flagged `truncated`.
MAX_PAGE_CHARACTERS = 2_000_000
#: Seconds of processor time for the pictures of a file, and their number: flagged `ocr_limit`.
PICTURING_SECONDS, MAX_PAGE_PICTURES = 15.0, 500
#: Pixels of a drawn page (A4 at 300 dpi has 8.7 million): drawn smaller.
MAX_PIXELS = 9_000_000
#: Seconds of processor time for the search for hidden words and soft hyphens: flagged `hidden_unsearched`.
HIDDEN_SEARCH_SECONDS = 6.0
#: Words and objects of a page, and pairs of both, in that search: flagged `hidden_unsearched`. Maps have millions of
#: lines, which take seconds to draw.
MAX_SEARCHED_WORDS, MAX_SEARCHED_OBJECTS, MAX_SEARCHED_PAIRS = 50_000, 20_000, 1 << 27
#: Hyphens of a page that are told from soft ones, quietly; and objects of a page, beyond which none is.
MAX_HYPHENS, MAX_HYPHEN_OBJECTS = 200, 20_000
#: Seconds of processor time for the boxes and lines of a file (a page takes .05 s, a scan .2 s): flagged
#: `marks_unsearched`.
MARKING_SECONDS = 6.0
#: Shapes of a page in that search, and how deep they may lie in forms: quietly.
MAX_SHAPES, MAX_SHAPE_DEPTH = 5_000, 3
#: Boxes of a page: a page with more is a pattern, such as a code of dots or a map, and has none.
MAX_BOXES = 400
#: Lines to sign of a page: quietly.
MAX_RULES = 200
#: Objects of a page that are looked through for images: quietly.
MAX_IMAGE_OBJECTS = 1_000
#: Annotations of a page: flagged `truncated`.
MAX_ANNOTATIONS = 5_000
#: Options of a field, and bytes of one of its strings: quietly.
MAX_FIELD_OPTIONS, MAX_FIELD_BYTES = 1_000, 1 << 20
#: Packets of an XFA form, and bytes of one: not read.
MAX_XFA_PACKETS, MAX_XFA_BYTES = 64, 16 << 20
#: Levels of an XFA form, beyond which it is not read, and its values: quietly.
MAX_XFA_DEPTH, MAX_XFA_VALUES = 100, 20_000
#: Embedded files: quietly.
MAX_EMBEDDED_FILES = 1_000
#: Bytes of a file for the second parser, which is slow: in the tests for a portfolio and for unplaced fields, and where
#: pdfium finds no text. A larger file goes without.
MAX_PORTFOLIO, MAX_UNPLACED_BYTES, MAX_SECOND_OPINION = 100 << 20, 8 << 20, 8 << 20
#: Fields without a place: quietly.
MAX_UNPLACED_FIELDS = 5_000

# Images and OCR.

#: Pixels of a picture (an A3 page at 600 dots an inch has 70 million): refused (`unpacked`).
MAX_DECODED = 100_000_000
#: Frames of an image, and seconds of processor time for them: flagged `truncated`.
MAX_FRAMES, FRAMES_SECONDS = 1_000, 15.0
#: Seconds of wall clock and of processor time for a picture: flagged `ocr_failed`. A dense page takes 2.5 s of one
#: core; on a machine with eight busy processes to a core one took more than 90 s of wall clock.
PAGE_SECONDS, PROCESSOR_SECONDS = 300.0, 60.0
#: Seconds of processor time for a document, and for each of its pictures beside: flagged `ocr_limit`. A page takes 1.3
#: to 2.5 s.
DOCUMENT_SECONDS, PICTURE_SECONDS = 60.0, 10.0
#: Bytes of address space of a process; a page of 4,800 x 3,400 pixels needs 1.3 GiB of it.
OCR_MEMORY = 2 << 30
#: Pictures of a document that are read: flagged `ocr_limit`.
MAX_READ_PICTURES = 1_000
#: Bytes of an answer, beyond which the process counts as broken; and pictures before a process is replaced.
MAX_OCR_ANSWER, OCR_PICTURES = 32 << 20, 500
#: Words of a page (a newspaper page has 10,000): quietly; characters of a word with the blanks before it: refused.
MAX_PAGE_WORDS, MAX_WORD = 50_000, 2_000
#: Pixels of a line's length when it is 48 high (200 characters take about 4,000): the line is not read.
MAX_LINE_LENGTH = 16_000
#: Tiles of a tall picture, and lines of one: quietly.
MAX_TILES, MAX_PICTURE_LINES = 40, 3_000
#: Bytes of all pages that an output folder keeps (a dense page has 40,000): the oldest go.
MAX_KEPT_PAGES = 512 << 20

# Mail.

#: Mails and multiparts within each other: flagged `depth_limit`.
MAX_MAIL_DEPTH = 50
#: Parts of a mail, and mails of all mailboxes of a document, as a mailbox may lie in each mail: flagged `truncated`.
MAX_MAIL_PARTS, MAX_MAILS = 2_000, 2_000
#: Bytes of a mail's headers, and their lines (a mail that passed many servers has 150): flagged `truncated`.
MAX_HEADER_BYTES, MAX_HEADER_LINES = 1 << 20, 10_000
#: Bytes of a header's value as text: flagged `truncated`; and as addresses, of which there may be thousands: quietly.
MAX_HEADER_VALUE, MAX_ADDRESS_BYTES = 16_384, 1 << 18
#: Times that content is taken out of content: stays closed.
MAX_EXPANSIONS = 8
#: Images within the markup of a mail: quietly.
MAX_DATA_IMAGES = 50
#: Characters of a page and lines of a text in which quotes are looked for: a larger one has none.
MAX_QUOTED_MARKUP, MAX_QUOTED_LINES = 2_000_000, 100_000
#: Quotes and signatures of a text, and elements of a page that may be such: quietly.
MAX_QUOTES, MAX_QUOTE_ELEMENTS = 200, 20
#: Bytes of a mail's packed rich text: cut quietly; and its open groups: not followed.
MAX_MAIL_RTF, MAX_RTF_GROUPS = 8 << 20, 10_000
#: Properties of a row of TNEF: quietly.
MAX_TNEF_PROPERTIES = 20_000
#: Events and contacts of a file: flagged `truncated`; and how deep they lie within each other: read as one.
MAX_COMPONENTS, MAX_COMPONENT_DEPTH = 5_000, 50

# Office files.

#: Bytes of an XML part, as a tree takes some ten times its text: refused (`unpacked`).
MAX_TREE = 48 << 20
#: Attributes of an element, for which the parser takes quadratic time (30 s for 200,000): not read as XML.
MAX_ATTRIBUTES = 10_000
#: Relations of one member, and embedded files of a package: flagged `truncated`.
MAX_RELATIONS, MAX_PACKAGE_FILES = 20_000, 500
#: Cells with content of a workbook (two busy cores read 60,000 a second): flagged `truncated`.
MAX_CELLS = 1_000_000
#: Cells of a workbook that have an address of their own; beyond, the address is that of the row.
MAX_ADDRESSES = 50_000
#: Characters of a cell, and columns of a sheet, as in Excel: quietly.
MAX_CELL_CHARACTERS, MAX_SHEET_COLUMNS = 32_767, 16_384
#: Characters of a number format: cut quietly.
MAX_NUMBER_FORMAT = 255
#: Sheets of a workbook: flagged `truncated`, for `.xls` and `.xlsb` quietly.
MAX_SHEETS = 2_000
#: Shared texts of a workbook: flagged `truncated`; and its number formats: quietly.
MAX_SHARED_TEXTS, MAX_NUMBER_FORMATS = 4_000_000, 70_000
#: Cells in the rectangle around all cells of a sheet of `.xls`, for which the library takes 64 bytes each: refused
#: (`unpacked`).
MAX_RECTANGLE = 8 << 20
#: Slides of a presentation: flagged `truncated`.
MAX_SLIDES = 5_000
#: Rows of a table: flagged `truncated`, on a slide quietly.
MAX_TABLE_ROWS, MAX_SLIDE_ROWS = 100_000, 10_000
#: Times that OpenDocument repeats a cell, and blanks in one element: quietly.
MAX_REPEATED, MAX_SPACES = 16_384, 1_000
#: Styles above a style, in OpenDocument and in Word: those further up are not asked.
MAX_PARENT_STYLES, MAX_WORD_STYLES = 16, 20
#: Numbered lists of a Word document: those beyond have no numbers.
MAX_LISTS = 10_000
#: Controls of a Word document that are bound to data, and members with such data: others keep the text that they hold.
MAX_BINDINGS, MAX_BOUND_MEMBERS = 2_000, 16
#: Bytes of a rich text file: refused (`unpacked`).
MAX_RTF = 100 << 20

# Text, data and pages of the web.

#: Pages of a text: beyond, form feeds are line ends.
MAX_TEXT_PAGES = 5_000
#: Characters of a page of HTML: flagged `truncated`.
MAX_HTML = 4_000_000
#: Columns and rows over which a cell of HTML reaches, as hostile pages would fill the memory with empty cells: cut.
MAX_SPAN = 100
#: Characters of a cell of CSV, at which the table ends, and cells of a row, as in Excel: flagged `truncated`.
MAX_CSV_CELL, MAX_ROW_CELLS = 1 << 20, 1 << 14
#: Bytes of a JSON file, whose objects take some ten times its memory, and its values, which take some 150 bytes each:
#: read as plain text.
MAX_JSON, MAX_JSON_VALUES = 40 << 20, 4_000_000
#: Levels of JSON and of XML: flagged `depth_limit`.
MAX_JSON_DEPTH, MAX_XML_DEPTH = 60, 100
#: Levels of JSON within a page of HTML: quietly.
MAX_DATA_DEPTH = 20
#: Chapters of an EPUB: flagged `truncated`.
MAX_CHAPTERS = 5_000
#: Lines of an electronic invoice: flagged `truncated`; and values of a term that repeats, such as notes: quietly.
MAX_INVOICE_LINES, MAX_TERM_VALUES = 50_000, 20
