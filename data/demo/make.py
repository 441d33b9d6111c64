#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes train.jsonl, held_out.jsonl and preferences.jsonl from WordNet (Debian package wordnet-base).

A row asks for the usual form of a name that stands in its catalogue form:
"Einstein, Albert" is to become "Albert Einstein". The people are those of WordNet that are listed
under their surname and under their full name. A preference sets the usual form over the catalogue
form, for some of the names to train on. Same WordNet, same files.
"""

import hashlib
import json
import pathlib
import re
import sys

WORDNET = pathlib.Path("/usr/share/wordnet/data.noun")
PERSON = "18"  # number of the lexicographer file noun.person
HELD_OUT = 64
TRAIN = 2400
PREFERENCES = 400
PART = re.compile(r"[A-Z][a-z]+")


def people(lines):
    """Yields (given names, surname)."""
    for line in lines:
        fields = line.split(" | ")[0].split(" ")
        if line.startswith(" ") or fields[1] != PERSON:
            continue
        words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        for word in words:
            *given, surname = word.split("_")
            if given and surname in words and all(map(PART.fullmatch, [*given, surname])):
                yield " ".join(given), surname
                break


def order(name):
    """A fixed order that has nothing to do with the alphabet."""
    return hashlib.sha256(" ".join(name).encode()).hexdigest()


def example(given, surname):
    return {"prompt": f"Entry: {surname}, {given}\nName:", "completion": f" {given} {surname}"}


def preference(given, surname):
    row = example(given, surname)
    return {"prompt": row["prompt"], "chosen": row["completion"], "rejected": f" {surname}, {given}"}


def write(path, rows):
    with open(path, "w", encoding="ascii") as out:
        for row in rows:
            out.write(json.dumps(row) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    with open(WORDNET, encoding="latin-1") as lines:
        names = sorted(set(people(lines)), key=order)
    held_out, train = names[:HELD_OUT], names[HELD_OUT : HELD_OUT + TRAIN]
    write(folder / "held_out.jsonl", [example(*name) for name in held_out])
    write(folder / "train.jsonl", [example(*name) for name in train])
    write(folder / "preferences.jsonl", [preference(*name) for name in train[:PREFERENCES]])


if __name__ == "__main__":
    main()
