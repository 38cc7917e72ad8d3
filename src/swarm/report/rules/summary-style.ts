/**
 * The CSS of a swarm's HTML summary, for light and dark mode, phones and large screens. Breaks long words,
 * and wraps long lines inside their box.
 */
export const summaryStyle = `
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5c6470; --page: #fff; --box: #f3f4f6; --line: #d5d9df; --good: #1a6e37; --bad: #b3261e; --other: #7a5200 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #a3abb6; --page: #16181c; --box: #22262c; --line: #3a4048; --good: #6ed391; --bad: #ff8f86; --other: #f0bf5a } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; background: var(--page); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.5rem; margin: 0 } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem } h3 { font-size: 1rem; margin: 1rem 0 .25rem }
header p { margin: .25rem 0 }
a { color: inherit }
.small { color: var(--soft); font-size: .85rem; font-weight: normal }
code, pre { font: .85rem/1.45 ui-monospace, monospace }
pre { background: var(--box); border: 1px solid var(--line); border-radius: .3rem; margin: .4rem 0; overflow-x: auto; padding: .5rem .7rem; white-space: pre-wrap }
.words { white-space: pre-line }
ul { margin: .3rem 0; padding-left: 1.2rem }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .6rem 0; padding: .5rem .8rem }
summary { cursor: pointer }
article { border-top: 1px solid var(--line); margin-top: .6rem }
article p { margin: .3rem 0 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; margin: .5rem 0 }
dt { color: var(--soft) } dd { margin: 0 }
.bar { display: grid; grid-template: "name time words" / 14rem 1fr 13rem; gap: .1rem .8rem; align-items: center; margin: .2rem 0 }
.bar a { grid-area: name } .bar span { grid-area: words } .bar svg { grid-area: time; width: 100%; height: .9rem }
.bar line { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke }
rect { fill: var(--other) } rect.completed { fill: var(--good) } rect.failed { fill: var(--bad) }
span.completed { color: var(--good) } span.failed { color: var(--bad) } span.stopped, span.running, span.pending { color: var(--other) }
@media (max-width: 40rem) { .bar { grid-template: "name words" "time time" / 1fr max-content; margin: .6rem 0 } dl { grid-template-columns: 1fr } dt { margin-top: .3rem } }
@media print { details { break-inside: avoid } }
`;
