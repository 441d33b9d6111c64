# SPDX-License-Identifier: Apache-2.0
"""Text to tokenize, always the same: words in many scripts, marks in every order, odd white space,
digits, code, emoji, the names of Unicode's characters, and the sources of Python's library."""

import pathlib
import random
import sysconfig
import unicodedata

# First and last letters of blocks that languages use.
SCRIPTS = {
    "Latin": [(0x61, 0x7A), (0xC0, 0x24F), (0x1E00, 0x1EFF)],
    "Greek": [(0x391, 0x3C9), (0x1F00, 0x1FFE)],
    "Cyrillic": [(0x400, 0x4FF)],
    "Armenian": [(0x531, 0x587)],
    "Hebrew": [(0x5B0, 0x5EA)],
    "Arabic": [(0x620, 0x65F), (0x671, 0x6D3)],
    "Devanagari": [(0x900, 0x97F)],
    "Bengali": [(0x980, 0x9FD)],
    "Tamil": [(0xB80, 0xBFA)],
    "Kannada": [(0xC80, 0xCFF)],
    "Sinhala": [(0xD80, 0xDF4)],
    "Thai": [(0xE01, 0xE5B)],
    "Tibetan": [(0xF00, 0xFBC)],
    "Myanmar": [(0x1000, 0x109F)],
    "Georgian": [(0x10A0, 0x10FF)],
    "Hangul jamo": [(0x1100, 0x11FF)],
    "Ethiopic": [(0x1200, 0x137C)],
    "Khmer": [(0x1780, 0x17F9)],
    "Mongolian": [(0x1800, 0x18AA)],
    "Kana": [(0x3041, 0x30FF)],
    "Han": [(0x4E00, 0x9FEF), (0x20000, 0x20200), (0xF900, 0xFA6D)],
    "Hangul": [(0xAC00, 0xD7A3)],
    "Gothic": [(0x10330, 0x1034A)],
    "Letters of mathematics": [(0x1D400, 0x1D7FF)],
}
MARKS = [(0x300, 0x36F), (0x591, 0x5C7), (0x64B, 0x65F), (0x3099, 0x309A), (0x1DC0, 0x1DF5)]
SYMBOLS = [(0x21, 0x40), (0x2010, 0x2060), (0x20A0, 0x20BF), (0x2100, 0x214F), (0x2190, 0x2BFF),
           (0x1F300, 0x1FAFF), (0xFE0E, 0xFE0F)]
DIGITS = [(0x30, 0x39), (0x660, 0x669), (0x966, 0x96F), (0x2160, 0x2188), (0xBC, 0xBE),
          (0xFF10, 0xFF19)]
BLANKS = [" ", " ", " ", "  ", "\n", "\n\n", "\r\n", "\t", " \n", "\u00a0", "\u1680", "\u180e",
          "\u2003", "\u2028", "\u202f", "\u3000", "\x0b", "\x0c", "\x1c", "\x85", "\u200b",
          "\ufeff"]
ENDINGS = ["'s", "'S", "'re", "'LL", "'d", "'\u017f", "\u2019s", "n't", "'", "''ve"]


def assigned(ranges):
    """Those that Python's Unicode has; later ones depend on the versions of libraries. Of marks, those
    of Unicode 3.2: the normalizer of the other side is old and puts newer ones in no order."""
    old = unicodedata.ucd_3_2_0.combining
    return [chr(c) for first, last in ranges for c in range(first, last + 1)
            if unicodedata.category(chr(c)) not in ("Cn", "Cs")
            and old(chr(c)) == unicodedata.combining(chr(c))]


def word(rng, letters, marks):
    out = []
    for _ in range(rng.randint(1, 9)):
        out.append(rng.choice(letters))
        while rng.random() < 0.08:
            out.append(rng.choice(marks))
    return "".join(out)


def mixture(size, seed):
    rng = random.Random(seed)
    scripts = [assigned(x) for x in SCRIPTS.values()]
    marks, symbols, digits = assigned(MARKS), assigned(SYMBOLS), assigned(DIGITS)
    out = []
    length = 0
    while length < size:
        letters = rng.choice(scripts)
        for _ in range(rng.randint(1, 30)):
            kind = rng.random()
            if kind < 0.70:
                piece = word(rng, letters, marks)
                if rng.random() < 0.2:
                    piece = unicodedata.normalize("NFD", piece)
                if rng.random() < 0.05:
                    piece += rng.choice(ENDINGS)
            elif kind < 0.82:
                piece = "".join(rng.choice(digits) for _ in range(rng.randint(1, 8)))
            else:
                piece = "".join(rng.choice(symbols) for _ in range(rng.randint(1, 5)))
            piece += rng.choice(BLANKS) if rng.random() < 0.8 else ""
            out.append(piece)
            length += len(piece.encode())
    return "".join(out)


def packaged(size):
    """Sources of Python's own library, and names of characters."""
    out = [f"{unicodedata.name(x, '').lower()} {x}\n" for x in assigned([(32, 0x2FFF)])]
    length = sum(map(len, out))
    for file in sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py")):
        if length >= size:
            break
        text = file.read_bytes().decode("utf-8", "ignore")
        out.append(text)
        length += len(text)
    return "".join(out)


def every_character():
    """Each character once alone and once between letters."""
    every = assigned([(0, 0x1FFFF)])
    return "".join(f"{x} a{x}b" for x in every)
