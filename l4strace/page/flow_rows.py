"""The rows of the table of flows as HTML, of which a page holds up to a thousand.

In Python: a template escapes and joins each of 30 values of a row by calls of its own, and took
two thirds of the time that filling such a page takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from l4strace.page.sections.flows import Amount, FlowRow

SPECIAL = re.compile("[&<>\"']")


@jinja2.pass_environment
def flow_rows(environment: jinja2.Environment, rows: Iterable[FlowRow]) -> Markup:
    """A `tr` per row; the template's environment shows texts and severities."""
    macros = environment.get_template("macros.html.j2").module
    worst = {word: str(macros.severity(word)) for word in {row.worst for row in rows if row.worst}}  # type: ignore[attr-defined]
    shown: Callable[[str], str] = environment.finalize  # type: ignore[assignment]

    def text(value: str) -> str:
        plain = value if value.isprintable() else shown(value)
        return str(escape(plain)) if SPECIAL.search(plain) else plain

    return Markup("".join(_row(row, worst.get(row.worst), text) for row in rows))  # noqa: S704 - escaped above


def _row(row: FlowRow, worst: str | None, text: Callable[[str], str]) -> str:
    key, flow = text(row.key), f"flow {row.flow}"
    about = [f'<a href="#{key}">{flow}</a></b>' if row.charted else f"{flow}</b>"]
    about += [text(row.sender)] if row.sender else []
    about += [worst] if worst else []
    place = "" if row.charted else f' id="{key}"'
    bars, labels = [], []
    for name, label, packets, percent in row.codepoints:
        color = f"background:var(--{text(name)})"
        bars.append(f'<i style="width:{percent}%;{color}"></i>')
        dot = f'<i class="dot" style="{color}"></i>'
        labels.append(f"<span>{dot}{text(label)} {packets:,}</span> ")
    return (
        f"<tr{place}>\n"
        f"<td><b>{' '.join(about)}<br> <small>{text(row.name)}</small></td>\n"
        f'<td title="{text(row.reason)}">{text(row.mode)}</td>\n'
        f"{_amount(row.payload, text)}{_amount(row.goodput, text)}"
        f'<td class="codepoints"><span class="bar" aria-hidden="true">{"".join(bars)}</span>'
        f"<small>{''.join(labels)}</small></td>\n"
        f"{_amount(row.ce, text)}{_amount(row.retransmits, text)}{_amount(row.rtt, text)}"
        f'<td title="{text(row.bottleneck_reason)}">{text(row.bottleneck)}</td>\n'
        "</tr>\n"
    )


def _amount(amount: Amount, text: Callable[[str], str]) -> str:
    value = "" if amount.value is None else amount.value
    return f'<td class="n" data-value="{value}">{text(amount.text)}</td>\n'
