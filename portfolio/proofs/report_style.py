"""Style sheet of the report: light and dark, small screens, paper."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --ground: #fff;
  --line: #d0d7de; --panel: #f5f7f9; --sure: #0072b2; --open: #a04000 }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --soft: #a8b1bb; --ground: #12161b; --line: #3a424c; --panel: #1b2129;
    --sure: #62b6ee; --open: #f0a35e } }
* { box-sizing: border-box }
body { margin: 0; color: var(--ink); background: var(--ground);
  font: 1.0625rem/1.55 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif }
main { max-width: 44rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1.25rem; text-wrap: balance }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.5rem 0 .5rem }
p { margin: .5rem 0 } ol, ul { margin: .5rem 0; padding-left: 1.4rem } li { margin: .3rem 0 }
p, li, th, td, dd { overflow-wrap: anywhere }
dl { margin: 0 } dt { color: var(--soft) } dd { margin: 0 }
.facts { display: flex; flex-wrap: wrap; gap: .75rem 2.5rem; margin: 0 0 1rem;
  padding: 1rem 1.25rem; background: var(--panel); border-radius: .6rem }
.facts dt, table thead th, .small { font-size: .875rem }
.facts dd { font-size: 1.2rem; font-weight: 600 }
table { width: 100%; table-layout: fixed; border-collapse: collapse; margin: .5rem 0 1rem;
  font-variant-numeric: tabular-nums }
th:nth-child(1) { width: 32% } th:nth-child(2) { width: 24% }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem }
th, td { text-align: left; vertical-align: top; padding: .5rem 1rem .5rem 0;
  border-bottom: 1px solid var(--line) }
thead th { color: var(--soft); font-weight: 400 } tbody th { font-weight: 600 }
.changes td:last-child { font-weight: 600 }
.status { margin: 1rem 0; padding: .7rem 1rem; background: var(--panel);
  border-left: .3rem solid var(--sure); border-radius: 0 .6rem .6rem 0 }
.status strong { color: var(--sure) }
.open { border-left: .3rem dashed var(--open) } .open strong { color: var(--open) }
.small div { display: grid; grid-template-columns: 14rem 1fr; gap: 1rem; padding: .35rem 0;
  border-bottom: 1px solid var(--line) }
@media (max-width: 34rem) {
  main { padding: 1.5rem 1rem 3rem } h1 { font-size: 1.5rem } h2 { margin-top: 2rem }
  table { font-size: .9375rem } th, td { padding-right: .6rem } .small div { display: block } }
@media print {
  @page { margin: 2cm } :root { font-size: 10.5pt } main { max-width: none; padding: 0 }
  h2 { break-after: avoid; margin-top: 1.5rem } tr, li, .status, .facts, .small div {
    break-inside: avoid }
  .facts, .status { border: 1px solid var(--line) } .status { border-left: .3rem solid var(--sure) }
  .open { border-left: .3rem dashed var(--open) } }
"""
