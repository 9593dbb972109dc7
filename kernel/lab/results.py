#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the lab's results, for people and for programs.

results.py LAB_OUT PLAN RESULT.md RESULT.json FACT=VALUE...: takes the figures
of LAB_OUT, the tables and the text of the directory PLAN, and the facts that the text asks
for.  Nothing is written unless all of it is there.
"""
import json
import pathlib
import re
import sys

import figures
from figures import ratio, read_rows, show

ALL = "all but the opt-in"
MOVED = 0.01


def table(heads, rows, left=1):
    """A table in Markdown whose first columns are text, the others figures."""
    if not rows:
        return ""
    marks = ["---"] * left + ["--:"] * (len(heads) - left)
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |"
                     for row in [heads, marks, *rows])


def each(figure):
    """Instructions a unit."""
    value = figure.ns / figure.units
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def times(without, with_):
    """How many times fewer, or the ratio where it is no gain."""
    value = ratio(without, with_)
    return f"{value:.0f}x" if value >= 100 else f"{value:.2f}x"


def arrow(before, after):
    if before is None or after is None:
        return "-"
    return f"{before} → {after}" if before != after else str(before)


def flushes(figure):
    """As the kernel counts them: whole TLBs, and pages one by one; or where they
    are broadcast, how often one was waited for, and what asked for them."""
    if figure.rounds is not None:
        return f"{figure.rounds} rounds of {figure.operations}" if figure.rounds \
            else "0"
    if figure.full is None or figure.one is None:
        return "-"
    if not figure.one:
        return f"{figure.full} full" if figure.full else "0"
    if not figure.full:
        return f"{figure.one} of a page"
    return f"{figure.full} full, {figure.one} of a page"


def counters(a, b):
    """What else there was, as far as it changed."""
    parts = []
    if flushes(a) != flushes(b):
        parts.append(f"flushes {flushes(a)} → {flushes(b)}")
    if a.units != b.units:
        parts.append(f"pages reported {arrow(a.units, b.units)}")
    for name in ("faults", "splits"):
        before, after = getattr(a, name), getattr(b, name)
        if before != after:
            parts.append(f"{name} {arrow(before, after)}")
    return "; ".join(parts)


def get_pair(boots, switch, case, part="exact"):
    without, with_ = figures.pair_of(part, switch)
    before, after = figures.cases_of(case)
    try:
        return boots[without][before], boots[with_][after]
    except KeyError:
        sys.exit(f"results: {case} was not measured in the boots {without} "
                 f"and {with_}: run lab.sh kbench and wall first")


def short_table(boots, changes):
    rows = []
    for change, switch, case, unit, what in changes:
        a, b = get_pair(boots, switch, case)
        rows.append([change, what, f"`{case}`", unit, each(a), each(b),
                     times(a.ns, b.ns), counters(a, b)])
    return table(["", "what is done", "case", "unit", "without", "with",
                  "fewer", "besides"], rows, left=4)


def verdict_table(verdicts):
    rows = []
    for v in verdicts:
        t = v.target
        if t.change in ("control", "series") and v.word == "ok":
            continue
        rows.append([t.change, f"`{t.case}`", t.switch + (
            ", real time" if t.part == "wall" else ""), t.metric,
            show(v.value), t.bound.replace("<=", "≤ ").replace(">=", "≥ "),
            t.prototype or "", v.word + (f": {v.note}" if v.note else "")])
    return table(["", "case", "compared", "metric", "measured", "target",
                  "prototype", "verdict"], rows, left=4)


def verdict_sum(verdicts):
    count = {word: sum(v.word == word for v in verdicts)
             for word in ("ok", "missed", "FAILED")}
    return (f"{count['ok']} met, {count['missed']} missed with a reason, "
            f"{count['FAILED']} failed, the controls among them.")


def seeds_table(boots, seeds):
    rows = []
    for seed, switch, case, headline in seeds:
        a, b = get_pair(boots, switch, case)
        rows.append([seed, headline, f"`{case}`", a.ns, b.ns,
                     times(a.ns, b.ns), counters(a, b)])
    return table(["", "headline", "case", "without", "with", "fewer",
                  "besides"], rows, left=3)


def switch_tables(boots, switches):
    parts = []
    for switch in switches:
        without, with_ = figures.pair_of("exact", switch)
        rows = []
        for case in boots[without]:
            if case not in boots[with_]:
                continue
            a, b = boots[without][case], boots[with_][case]
            if abs(ratio(b.ns, a.ns) - 1) >= MOVED or counters(a, b):
                rows.append([f"`{case}`", a.ns, b.ns,
                             f"{ratio(b.ns, a.ns):.3f}", counters(a, b)])
        parts.append(f"### {switch}\n\n" + table(
            ["case", "without", "with", "ratio", "besides"], rows))
    return "\n\n".join(parts)


def switch_cost(boots):
    """What the switched kernel costs beside the one that is shipped."""
    ratios = sorted(ratio(boots["on"][case].ns, boots["patched"][case].ns)
                    for case in boots["on"] if case in boots["patched"])
    middle = ratios[len(ratios) // 2]
    return f"{ratios[0]:.3f} to {ratios[-1]:.3f}, the median {middle:.3f}"


def wall_table(wall):
    rows = []
    for case in wall.get("off", {}):
        a, b = get_pair(wall, "", case, "wall")
        rows.append([f"`{case}`", f"{a.ns / 1e6:.3f}", f"{b.ns / 1e6:.3f}",
                     times(a.ns, b.ns), arrow(a.remote, b.remote)
                     if a.rounds is None else arrow(flushes(a), flushes(b))])
    return table(["case", "without, ms", "with, ms", "faster", "flushes"],
                 rows)


def read_selftests(directory):
    """The lines of each table that selftests.sh left, by kernel."""
    tables = {path.suffix[1:]: [line for line in path.read_text().splitlines()
                                if "|" in line]
              for path in sorted(directory.glob("table.*"))}
    if "patched" not in tables:
        sys.exit(f"results: no table of the kernel's tests in {directory}: "
                 "run lab.sh selftests first")
    return tables


def selftests_tables(tables):
    """The second line of each only says what the figures are."""
    return "\n\n".join(table(
        lines[0].split("|"), [line.split("|") for line in lines[2:]])
        for _, lines in sorted(tables.items(), reverse=True))


def cases_table(boots):
    rows = []
    for case, a in boots["stock"].items():
        b = boots["patched"].get(case)
        if b is None:
            continue
        rows.append([f"`{case}`", a.units, each(a), each(b),
                     f"{ratio(b.ns, a.ns):.3f}",
                     flushes(a) if flushes(a) == flushes(b)
                     else f"{flushes(a)} → {flushes(b)}",
                     arrow(a.faults, b.faults), arrow(a.splits, b.splits)])
    return table(["case", "units", "without", "with", "ratio", "flushes",
                  "faults", "splits"], rows)


def read_notes(path):
    """The plan's own sentences, by where they stand."""
    parts = re.split(r"^## ([a-z]+)\n", path.read_text(), flags=re.M)[1:]
    return {f"note_{name}": note.strip()
            for name, note in zip(parts[::2], parts[1::2])}


def choose(text, values):
    """Without the sections of which there is nothing to tell."""
    return re.sub(r"<!-- with ([a-z]+) -->\n(.*?)<!-- end -->\n",
                  lambda match: match[2] if values[match[1]] else "",
                  text, flags=re.S)


def fill(text, values):
    def value(match):
        # A plan need not have something to say everywhere.
        if match[1].startswith("note_"):
            return values.get(match[1], "")
        if match[1] not in values:
            sys.exit(f"results: the text asks for @{match[1]}@")
        return values[match[1]]
    text = re.sub(r"@([a-z0-9_]+)@", value, choose(text, values))
    return re.sub(r" +$", "", re.sub(r"\n{3,}", "\n\n", text), flags=re.M)


def boots_as_json(boots):
    """A case is a line, so that a difference of two versions can be read."""
    parts = []
    for name, boot in boots.items():
        cases = ",\n".join(f"   {json.dumps(case)}: {json.dumps(list(figure))}"
                           for case, figure in boot.items())
        parts.append(f"  {json.dumps(name)}: {{\n{cases}\n  }}")
    return "{\n" + ",\n".join(parts) + "\n }"


def as_json(facts, boots, wall, verdicts, selftests):
    targets = ",\n".join("  " + json.dumps(
        {**v.target._asdict(), "measured": v.value, "verdict": v.word})
        for v in verdicts)
    return (f'{{\n "facts": {json.dumps(facts, indent=2)},\n'
            f' "columns": {json.dumps(figures.Figure._fields)},\n'
            f' "exact": {boots_as_json(boots)},\n'
            f' "wall": {boots_as_json(wall)},\n'
            f' "targets": [\n{targets}\n ],\n'
            f' "selftests": {json.dumps(selftests, indent=2)}\n}}\n')


def main(arguments):
    if len(arguments) < 4:
        sys.exit("usage: results.py LAB_OUT PLAN RESULT.md RESULT.json "
                 "FACT=VALUE...")
    out, plan, markdown, data = map(pathlib.Path, arguments[:4])
    facts = dict(fact.split("=", 1) for fact in arguments[4:])
    selftests = read_selftests(out / "selftests")
    figures.read_pairs(plan / "pairs.tsv")
    boots = figures.read_exact(out / "kbench")
    wall = figures.read_wall(out / "wall")
    targets = figures.read_targets(plan / "targets.tsv")
    changes = read_rows(plan / "changes.tsv")
    verdicts = figures.judge("exact", targets, boots) + \
        figures.judge("wall", targets, wall)
    switches = list(dict.fromkeys(
        change[1] for change in changes
        if " > " not in change[2] and change[1] != "all"))
    notes = read_notes(plan / "notes.md")
    text = fill((plan.parent / "results.in.md").read_text(), {
        **facts, **{name: fill(note, facts) for name, note in notes.items()},
        "all": ALL, "short": short_table(boots, changes),
        "sum": verdict_sum(verdicts), "targets": verdict_table(verdicts),
        "seeds": seeds_table(boots, read_rows(plan / "seeds.tsv")),
        "wall": wall_table(wall),
        "switch_cost": switch_cost(boots),
        "switches": switch_tables(boots, switches),
        "selftests": selftests_tables(selftests),
        "cases": cases_table(boots)})
    whole = as_json(facts, boots, wall, verdicts, selftests)
    json.loads(whole)
    markdown.write_text(text)
    data.write_text(whole)


if __name__ == "__main__":
    main(sys.argv[1:])
