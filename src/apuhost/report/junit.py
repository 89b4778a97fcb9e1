"""JUnit XML: a suite for each host, a case for each verdict, as CI servers read it."""

from collections import Counter
from collections.abc import Iterable
from xml.etree import ElementTree

from apuhost.report.outcome import FAILED, Word, concern, sentence, waiver, word
from apuhost.report.text import visible
from apuhost.verdicts import Severity, Verdict
from apuhost.verdicts.host import HostReport

REACHED = "reached"
COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def junit(reports: Iterable[HostReport]) -> str:
    """A `<testsuites>` document. What does not fail the host is no failure in it, either."""
    root = ElementTree.Element("testsuites", name="apuhost verify")
    root.extend(_suite(report) for report in reports)
    for suite in (*root, root):
        _count(suite)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _suite(report: HostReport) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=visible(report.host))
    if report.unreachable:
        case = _case(suite, report.host, REACHED)
        _say(case, "error", f"not reached: {report.unreachable}", "")
    for verdict in report.verdicts:
        case = _case(suite, f"{report.host}.{concern(verdict)}", verdict.id)
        kind = _kind(verdict)
        if kind:
            _say(case, kind, _message(verdict), _details(verdict))
    return suite


def _case(suite: ElementTree.Element, place: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=visible(place), name=visible(name))


def _kind(verdict: Verdict) -> str | None:
    """What a case holds: a recommended verdict and a waived one never fail a build."""
    match word(verdict):
        case Word.FAIL:
            return "failure"
        case Word.UNKNOWN if verdict.severity is Severity.REQUIRED:
            return "error"
        case Word.OK:
            return None
        case _:
            return "skipped"


def _say(case: ElementTree.Element, kind: str, message: str, details: str) -> None:
    # Printable text only: XML has no form for most control characters.
    child = ElementTree.SubElement(case, kind, message=visible(message))
    if kind != "skipped":
        child.set("type", kind)
    child.text = details or None


def _message(verdict: Verdict) -> str:
    start = waiver(verdict) if word(verdict) is Word.WAIVED else word(verdict)
    return f"{start}: {sentence(verdict)}"


def _details(verdict: Verdict) -> str:
    layer = f"differs first at: {verdict.layer}" if verdict.layer else ""
    fix = f"fix: {verdict.fix}" if verdict.fix else ""
    lines = (layer, verdict.evidence, verdict.reason, fix) if word(verdict) in FAILED else ()
    return "\n".join(visible(line) for line in lines if line)


def _count(suite: ElementTree.Element) -> None:
    found = Counter(child.tag for case in suite.iter("testcase") for child in case)
    suite.set("tests", str(sum(1 for _ in suite.iter("testcase"))))
    for attribute, tag in COUNTED.items():
        suite.set(attribute, str(found[tag]))
