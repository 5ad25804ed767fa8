#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what was tested in one or more build directories.

    tools/test-summary.py [--strict] BUILD_DIR...

Reads BUILD_DIR/reports: ctest.xml, which ctest wrote, and NAME.json, which the
Criterion program NAME wrote. A Criterion program counts as its single tests,
any other test as one, and each log of a sanitizer there as a failure. What failed or was skipped is named; the last line is
"N passed, N failed, N skipped", and the exit code 1 where any test failed.

--strict (CI): a skip is a failure, unless the reason names a GPU, or names the
fixtures and their folder ($KBUNDLE_FIXTURES) is not there.
"""
import glob
import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Count:
    def __init__(self, strict):
        self.strict = strict
        self.passed = self.failed = self.skipped = 0

    def pass_one(self):
        self.passed += 1

    def fail(self, name, reason):
        self.failed += 1
        print(f"failed: {name}: {reason}")

    def skip(self, name, reason):
        if self.strict and not may_skip(reason):
            self.fail(name, f"skipped, which CI does not allow: {reason}")
            return
        self.skipped += 1
        print(f"skipped: {name}: {reason}")


def may_skip(reason):
    if re.search(r"\bGPU\b", reason):
        return True
    fixtures = os.environ.get(
        "KBUNDLE_FIXTURES", os.path.join(SOURCE, "..", "shared", "fixtures"))
    return "fixture" in reason and not os.path.isdir(fixtures)


def count_criterion(count, path, label):
    """Counts a report; returns how many tests it has and how many failed."""
    with open(path, encoding="utf-8", errors="replace") as report:
        suites = json.load(report)["test_suites"]
    total = failed = 0
    for suite in suites:
        for test in suite["tests"]:
            name = f"{label}: {suite['name']}::{test['name']}"
            why = "; ".join(test.get("messages", [])) or "no reason given"
            total += 1
            if test["status"] == "PASSED":
                count.pass_one()
            elif test["status"] == "SKIPPED":
                count.skip(name, why)
            else:
                failed += 1
                count.fail(name, why)
    return total, failed


def skip_reason(output):
    lines = [l.strip() for l in output.splitlines() if l.strip()]
    said = [l for l in lines if "skip" in l.lower()]
    return (said or lines or ["no reason given"])[-1]


def count_build(count, build):
    reports = os.path.join(build, "reports")
    preset = os.path.basename(os.path.normpath(build))
    try:
        cases = ElementTree.parse(os.path.join(reports, "ctest.xml")).getroot()
    except (OSError, ElementTree.ParseError) as error:
        count.fail(preset, f"no report of ctest: {error}")
        return
    if not len(cases):
        count.fail(preset, "ctest ran no test")
    for log in sorted(glob.glob(os.path.join(reports, "sanitizer.log.*"))):
        with open(log, encoding="utf-8", errors="replace") as text:
            print(text.read())
        count.fail(f"{preset}/{os.path.basename(log)}", "a sanitizer's report")
    for case in cases.iter("testcase"):
        name = case.get("name")
        label = f"{preset}/{name}"
        skipped = case.find("skipped")
        failure = case.find("failure")
        disabled = case.get("status") in ("disabled", "notrun")
        report = os.path.join(reports, name + ".json")
        if os.path.exists(report):
            try:
                total, failed = count_criterion(count, report, label)
            except (ValueError, KeyError) as error:
                count.fail(label, f"unreadable report: {error}")
                continue
            if failure is not None and not failed:
                count.fail(label, "the program failed, but none of its tests")
            elif not total:
                count.fail(label, "the program ran no test")
        elif skipped is not None:
            count.skip(label, skip_reason(case.findtext("system-out") or ""))
        elif failure is not None or disabled:
            count.fail(label, "did not run" if disabled else
                       failure.get("message") or "its output is above")
        else:
            count.pass_one()


def main(arguments):
    strict = "--strict" in arguments
    builds = [a for a in arguments if a != "--strict"]
    if not builds or any(b.startswith("-") for b in builds):
        print(__doc__, file=sys.stderr)
        return 2
    count = Count(strict)
    for build in builds:
        count_build(count, build)
    print(f"{count.passed} passed, {count.failed} failed, "
          f"{count.skipped} skipped")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
