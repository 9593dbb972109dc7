#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what kbench printed in the lab's boots, makes ratios of it, and judges
them by a table of targets.

figures.py judge exact|wall PLAN DIRECTORY: prints a line for each target and
control of the directory PLAN, and last "N passed, N failed, N skipped".  Exits
non-zero when one failed.
"""
import fnmatch
import pathlib
import re
import statistics
import sys
from collections import namedtuple

Figure = namedtuple(
    "Figure", "units ns faults full one remote splits rounds operations")
Target = namedtuple(
    "Target", "change part switch case metric bound prototype reason")
Verdict = namedtuple("Verdict", "word target value note")

# Cases that no fast path moves, and by how much they may move all the same.
CONTROLS = ["fault.untracked", "scan.get-rich.*", "s4.mprotect.1000"]
CONTROL_SLACK = 0.01

# Which boots are compared where a switch is not simply on or off: read_pairs.
EXACT_PAIRS = {}
WALL_PAIR = ("off", "on")


def read_rows(path):
    """The columns of a table that is separated by tabs."""
    return [line.rstrip("\n").split("\t") for line in open(path)
            if line.strip() and not line.startswith("#")]


def read_pairs(path):
    EXACT_PAIRS.update((switch, (without, with_))
                       for switch, without, with_ in read_rows(path))


def pair_of(part, switch):
    """The boots without and with what the switch stands for."""
    if part == "exact":
        return EXACT_PAIRS.get(switch, ("off-" + switch, "on"))
    return WALL_PAIR


def read_boot(path):
    """The figures of one boot by case; none if it did not end well."""
    lines = path.read_text(errors="replace").splitlines()
    if not lines or lines[-1] != "EXIT 0":
        return {}
    figures = {}
    for line in lines:
        words = line.split()
        if words[:1] != ["kbench"] or len(words) != 2 + len(Figure._fields):
            continue
        figures[words[1]] = Figure(
            *(None if word == "-" else int(word) for word in words[2:]))
    return figures


def read_exact(directory):
    """The boots by name."""
    return {path.stem: read_boot(path)
            for path in sorted(pathlib.Path(directory).glob("*.log"))}


def read_wall(directory):
    """The boots by name without their round: of each figure the median."""
    rounds = {}
    for path in sorted(pathlib.Path(directory).glob("*.log")):
        name = re.fullmatch(r"(.+)\.[0-9]+", path.stem)
        if name:
            rounds.setdefault(name[1], []).append(read_boot(path))
    return {name: median_boot(boots) for name, boots in rounds.items()}


def median_boot(boots):
    """A boot that failed takes its cases from none of the others."""
    boots = [boot for boot in boots if boot]
    cases = {case: None for boot in boots for case in boot}
    return {case: median_figure([boot[case] for boot in boots if case in boot])
            for case in cases}


def median_figure(figures):
    return Figure(*(None if None in values else statistics.median_low(values)
                    for values in zip(*figures)))


def ratio(a, b):
    if b == 0:
        return 1.0 if a == 0 else float("inf")
    return a / b


# What a target may be about, of the figures without and with.
METRICS = {
    "instructions": lambda a, b: ratio(b.ns, a.ns),
    "faster": lambda a, b: ratio(a.ns, b.ns),
    "millions": lambda a, b: b.ns / 1e6,
    "faults": lambda a, b: ratio(b.faults, b.units),
    "fault ratio": lambda a, b: ratio(b.faults, a.faults),
    "flushes": lambda a, b: b.full + b.one,
    "full flushes": lambda a, b: b.full,
    "flushes before": lambda a, b: a.full + a.one,
    "requests": lambda a, b: b.remote,
    "rounds": lambda a, b: 0 + b.rounds,
    "rounds before": lambda a, b: 0 + a.rounds,
    "operations": lambda a, b: 0 + b.operations,
    "operations before": lambda a, b: 0 + a.operations,
    "splits": lambda a, b: b.splits,
    "pages reported": lambda a, b: ratio(b.units, a.units),
}


def cases_of(case):
    """The case without and with; it names two where it is "CASE > CASE"."""
    parts = case.split(" > ")
    return parts[0], parts[-1]


def measured(boots, target):
    """The target's value, or None if a boot or the case is missing."""
    without, with_ = (boots.get(name, {}).get(case) for name, case in zip(
        pair_of(target.part, target.switch), cases_of(target.case)))
    if without is None or with_ is None:
        return None
    try:
        return METRICS[target.metric](without, with_)
    except TypeError:
        # A counter that the kernel does not have.
        return None


def meets(value, bound):
    sign, number = re.fullmatch(r"(<=|>=|=)(.+)", bound).groups()
    number = float(number)
    return {"<=": value <= number, ">=": value >= number,
            "=": value == number}[sign]


def read_targets(path):
    """Rows of tab-separated columns, without comments."""
    targets = []
    for number, line in enumerate(open(path), 1):
        if line.startswith("#") or not line.strip():
            continue
        columns = [column.strip() for column in line.rstrip("\n").split("\t")]
        columns += [""] * (len(Target._fields) - len(columns))
        target = Target(*columns[:len(Target._fields)])
        if target.metric not in METRICS or \
                not re.fullmatch(r"(<=|>=|=)[0-9.]+", target.bound):
            sys.exit(f"{path}: line {number} is no target: {line.strip()}")
        targets.append(target)
    return targets


def judge_target(boots, target):
    value = measured(boots, target)
    if value is None:
        return Verdict("FAILED", target, None, "was not measured")
    if meets(value, target.bound):
        return Verdict("ok", target, value, "")
    if target.reason:
        return Verdict("missed", target, value, target.reason)
    return Verdict("FAILED", target, value, "")


def judge_controls(boots):
    """What a switch does not stand for must not move with it."""
    verdicts = []
    for name, boot in sorted(boots.items()):
        if not name.startswith("off-") or name == "off-s4":
            continue
        for case in sorted(boot):
            if not any(fnmatch.fnmatch(case, c) for c in CONTROLS):
                continue
            if case.startswith("scan.get-rich") and name == "off-s3":
                continue
            target = Target("control", "exact", name[4:], case,
                            "instructions", f"<={1 + CONTROL_SLACK}", "", "")
            verdict = judge_target(boots, target)
            if verdict.value is not None and \
                    verdict.value < 1 - CONTROL_SLACK:
                verdict = verdict._replace(word="FAILED")
            verdicts.append(verdict)
    return verdicts


def judge_series(boots, targets):
    """What the whole series may cost any path: the first pattern that fits."""
    named = {t.case for t in targets if t.part == "exact" and t.switch == "all"
             and t.metric in ("instructions", "faster")}
    patterns = [t for t in targets if t.change == "series"]
    verdicts = []
    for case in sorted(set(boots.get("stock", {})) | named_cases(patterns)):
        pattern = next((t for t in patterns
                        if fnmatch.fnmatch(case, t.case)), None)
        if pattern and case not in named:
            verdicts.append(judge_target(boots, pattern._replace(case=case)))
    return verdicts


def named_cases(patterns):
    """So that a pattern for a case that is not there any more is noticed."""
    return {t.case for t in patterns if not re.search(r"[*?[]", t.case)}


def judge(part, targets, boots):
    verdicts = [judge_target(boots, t) for t in targets
                if t.part == part and t.change != "series"]
    if part == "exact":
        verdicts += judge_controls(boots) + judge_series(boots, targets)
    return verdicts


def show(value):
    if value is None:
        return "-"
    if value == int(value):
        return str(int(value))
    return f"{value:.4g}" if value < 100 else f"{value:.0f}"


def print_verdicts(verdicts):
    for verdict in verdicts:
        t = verdict.target
        note = f" - {verdict.note}" if verdict.note else ""
        print(f"{verdict.word:7} {t.change:8} {t.case:24} {t.metric:15} "
              f"{show(verdict.value):>8} {t.bound:>8}  ({t.switch}){note}")
    count = {word: sum(v.word == word for v in verdicts)
             for word in ("ok", "FAILED", "missed")}
    print()
    print(f"{count['ok']} passed, {count['FAILED']} failed, "
          f"{count['missed']} skipped")
    return count["FAILED"] == 0 and count["ok"] > 0


def main(arguments):
    if len(arguments) != 4 or arguments[0] != "judge" or \
            arguments[1] not in ("exact", "wall"):
        sys.exit("usage: figures.py judge exact|wall PLAN DIRECTORY")
    part, plan, directory = arguments[1], *map(pathlib.Path, arguments[2:])
    read_pairs(plan / "pairs.tsv")
    boots = (read_exact if part == "exact" else read_wall)(directory)
    targets = read_targets(plan / "targets.tsv")
    return 0 if print_verdicts(judge(part, targets, boots)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
