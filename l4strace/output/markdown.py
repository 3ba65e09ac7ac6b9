"""Markdown to paste into a ticket: verdict and findings, the rest folded. At most 60 kB."""

from __future__ import annotations

import re
from collections.abc import Iterator

from l4strace.console import one_line, printable
from l4strace.derive.senders import sender_logs
from l4strace.evidence import Capture, traffic
from l4strace.model import Analysis, Finding
from l4strace.output import flow_lines
from l4strace.output.json import tool
from l4strace.wording import collector_notes, measures, paths
from l4strace.wording.display_filters import frames_filter
from l4strace.wording.order import readable
from l4strace.wording.quantities import count
from l4strace.wording.sender_logs import named
from l4strace.wording.verdict import conversations, counted, verdict

MAX_BYTES = 60_000
"""What the common trackers take as one comment (GitHub: 65,536 characters)."""
FINDINGS_SHOWN = 40
FINDINGS_OF_A_RULE = 10
FLOWS_SHOWN = 60
FOLD_END = "\n\n</details>"
CUT = "\n\nCut here: the page has the rest."
WORD_JOINER = "\u2060"
"""Trackers notify whom `@name` names, in spite of a backslash; nobody sees this character."""
MARKUP = re.compile(r"([\\`*_{}\[\]<>#!|~])")


def render(capture: Capture, analysis: Analysis, most: int = MAX_BYTES) -> str:
    """The diagnosis as Markdown of at most ``most`` bytes; what does not fit is counted."""
    opening = verdict(analysis, counted(capture))
    action = opening.action(analysis)
    status = (("L4S", analysis.status.sentence),) if analysis.status else ()
    frame = (*status, *(opening.frame.lines if opening.frame else ()))
    blocks = [
        f"**{text(opening.headline)}**",
        text(opening.paragraph),
        f"**Do:** {text(action)}" if action else "",
        "\n".join(f"- {label}: {text(sentence)}" for label, sentence in frame),
        "\n".join(_findings(analysis, opening.told, action)),
        "\n".join(_evidence(analysis)),
        text(" ".join(paths.statements(capture))),
        "\n".join(_sources(capture)),
        "\n".join(_flows(capture, analysis)),
        "\n".join(_skipped(analysis)),
        f"l4strace {tool()['version']}",
    ]
    return _fitting("\n\n".join(block for block in blocks if block), most)


def text(raw: str) -> str:
    """``raw`` so that it shows as it is: names from a capture must not act as markup."""
    plain = MARKUP.sub(r"\\\1", printable(raw).replace("\n", " "))
    return plain.replace("@", f"@{WORD_JOINER}")


def code(raw: str) -> str:
    """``raw`` as inline code that it cannot leave, in a table too."""
    return f"`{one_line(raw).replace('`', chr(39)).replace('|', '¦')}`"


def _findings(analysis: Analysis, told: Finding | None, action: str) -> Iterator[str]:
    if not analysis.findings:
        return
    names = {rule.code: rule.name for rule in analysis.rules}
    yield "| | rule | flow | finding |"
    yield "|---|---|---|---|"
    shown = _shown(analysis)
    for finding in shown:
        what = finding.headline if finding == told else finding.message
        what = what if finding.action in ("", action) else f"{what} {finding.action}"
        yield f"| {' | '.join(_cells(finding, names.get(finding.rule, ''), what))} |"
    if (more := len(analysis.findings) - len(shown)) > 0:
        yield f"\n{count(more, 'more finding')} left out."


def _shown(analysis: Analysis) -> list[Finding]:
    places = readable(analysis.findings, FINDINGS_OF_A_RULE, FINDINGS_SHOWN)
    return [analysis.findings[place] for place in places]


def _cells(finding: Finding, name: str, what: str) -> Iterator[str]:
    yield f"**{finding.severity.name.lower()}**, {finding.confidence.name.lower()} confidence"
    yield f"{finding.rule} {text(name)}"
    yield "" if finding.flow is None else str(finding.flow)
    yield text(what)


def _evidence(analysis: Analysis) -> Iterator[str]:
    """The numbers and frames behind the findings, folded."""
    proven = [finding for finding in _shown(analysis) if finding.measures or finding.frames]
    if not proven:
        return
    yield "<details><summary>Evidence</summary>\n"
    for finding in proven:
        flow = "" if finding.flow is None else f", flow {finding.flow}"
        yield f"- {finding.rule}{flow}"
        yield from (f"  - {text(measures.line(measure))}" for measure in finding.measures)
        if finding.frames:
            yield f"  - {code(frames_filter(finding.frames))}"
    yield "\n</details>"


def _sources(capture: Capture) -> Iterator[str]:
    for row in capture.sources.iter_rows(named=True):
        cut = ", cut short" if row["complete"] is False else ""
        sha256 = f", sha256 {code(row['sha256'])}" if row["sha256"] else ""
        records = count(row["records"] or 0, "record")
        yield f"- {code(row['path'])}: {row['kind']}, {records}{cut}{sha256}"
        for note in collector_notes.of_source(capture, row["source"]):
            yield f"  - note: {text(note)}"


def _flows(run: Capture, analysis: Analysis) -> Iterator[str]:
    capture = traffic(run)
    shown = flow_lines.that_matter(capture, analysis.findings, FLOWS_SHOWN)
    lines = flow_lines.rows(capture, shown)
    if not lines:
        return
    yield f"<details><summary>{count(conversations(capture), 'flow')}</summary>\n"
    heads, *lines = flow_lines.known([flow_lines.HEADS, *lines])
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for line in lines:
        yield f"| {' | '.join(text(cell) for cell in line)} |"
    if (more := conversations(capture) - len(shown)) > 0:
        yield f"\n{count(more, 'more flow')} left out."
    for row in sender_logs.summary(run).iter_rows(named=True):
        if said := named(row):
            yield f"\n{text(said)}"
    yield "\n</details>"


def _skipped(analysis: Analysis) -> Iterator[str]:
    reasons: dict[str, set[str]] = {}
    for skipped in analysis.skipped:
        reasons.setdefault(skipped.reason, set()).add(skipped.rule)
    if not reasons:
        return
    rules = len({skipped.rule for skipped in analysis.skipped})
    yield f"<details><summary>Not judged: {count(rules, 'rule')}</summary>\n"
    for reason, codes in reasons.items():
        yield f"- {', '.join(sorted(codes))}: {text(reason)}"
    yield "\n</details>"


def _fitting(whole: str, most: int) -> str:
    """``whole`` within ``most`` bytes, cut at a line; what is folded is closed again."""
    if len(whole.encode()) <= most:
        return whole
    room = most - len(f"{FOLD_END}{CUT}".encode())
    kept = whole.encode()[:room].decode(errors="ignore").rpartition("\n")[0]
    folded = kept.count("<details>") > kept.count("</details>")
    return f"{kept}{FOLD_END if folded else ''}{CUT}"
