"""One self-contained page: no script, nothing from elsewhere, light and dark as the reader has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from gpumem_tools.chart import palette

_STYLE: Final = """
:root{color-scheme:light dark;--ground:#fff;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--card:#f6f8fa;--alarm:#b42318}
@media (prefers-color-scheme:dark){:root{--ground:#0f1318;--ink:#e6e9ee;--soft:#a0a9b5;--line:#343c46;--card:#171c23;
--alarm:#ff8b80}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:60rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .5rem;letter-spacing:-.01em}
h2{font-size:1.2rem;margin:2.75rem 0 .25rem;line-height:1.3}
h2 .number{color:var(--soft);font-weight:400;margin-right:.35em}
p{margin:.4rem 0 .8rem;max-width:46rem}
.soft{color:var(--soft)}
.lead{font-size:1.08rem}
code,pre{font:.9em ui-monospace,"SF Mono",Menlo,Consolas,monospace}
code{background:var(--card);border:1px solid var(--line);border-radius:4px;padding:.05em .35em;overflow-wrap:anywhere}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;overflow-x:auto}
pre code{background:none;border:0;padding:0}
figure{margin:1rem 0;overflow-x:auto}
figure svg{display:block;width:100%;min-width:36rem;height:auto}
figcaption{color:var(--soft);font-size:.88rem;margin-top:.35rem}
svg text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:var(--ink)}
svg .scale{fill:var(--soft);font-size:12px}
svg .grid{stroke:var(--line);stroke-width:1}
svg .label{font-weight:600}
svg .note{fill:var(--soft);paint-order:stroke;stroke:var(--ground);stroke-width:4px;stroke-linejoin:round}
svg .ground{fill:var(--ground)}
svg .alarm{fill:var(--alarm);font-weight:600}
svg .used{fill:var(--series)}
svg .idle{fill:var(--series);fill-opacity:.28}
svg .area{fill:var(--series);fill-opacity:.85}
svg .total{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:6 4}
svg .refusal{fill:var(--alarm)}
.table{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.4rem 1.6rem .4rem 0;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--soft);font-weight:600}
td.amount,th.amount{text-align:right;white-space:nowrap}
.alarm{color:var(--alarm)}
.legend{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;list-style:none;padding:0;margin:.6rem 0;font-size:.9rem}
.legend i{display:inline-block;width:.85em;height:.85em;border-radius:2px;margin-right:.45em;background:var(--series)}
.legend .pale{background:var(--soft);opacity:.35}
.legend .full{background:var(--soft)}
"""


def page(title: str, body: Iterable[str]) -> str:
    """Return the page."""
    style = (palette.style() + _STYLE).strip()
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            "<main>",
            *body,
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], amounts: frozenset[int] = frozenset()) -> str:
    """Return a table; `amounts` are the columns with numbers, which stand right."""

    def cell(tag: str, number: int, text: str) -> str:
        return f"<{tag}{' class=amount' if number in amounts else ''}>{escape(text)}</{tag}>"

    head = "".join(cell("th", number, text) for number, text in enumerate(heads))
    lines = ("".join(cell("td", number, text) for number, text in enumerate(row)) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def figure(picture: str, caption: str) -> str:
    """Return a picture with its caption."""
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"
