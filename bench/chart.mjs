// Draws ratios as bars, in an SVG that follows the light or the dark of the page.

const WIDTH = 760;
const LABELS = 300;
const ROW = 22;
const HEAD = 34;

/** The text of an SVG: groups of bars on one scale of logarithms, on which 1 is a line and twice as much as far from it as half. */
export function chartOf(title, groups) {
  const all = groups.flatMap(({ bars }) => bars.map(({ ratio }) => ratio));
  const [least, most] = [Math.min(0.5, ...all), Math.max(2, ...all)].map(Math.log2);
  const x = (ratio) => LABELS + ((Math.log2(ratio) - least) / (most - least)) * (WIDTH - LABELS - 60);
  let y = 30;
  const parts = groups.map(({ title: group, bars }) => {
    const head = `<text x="0" y="${y + 22}" class="head">${escaped(group)}</text>`;
    y += HEAD;
    const rows = bars.map(({ name, ratio }) => {
      const [from, to] = [x(1), x(ratio)].sort((a, b) => a - b);
      const row = `<text x="${LABELS - 8}" y="${y + 14}" class="label">${escaped(name)}</text>
  <rect x="${from.toFixed(1)}" y="${y + 3}" width="${Math.max(1, to - from).toFixed(1)}" height="14" class="${ratio < 1 ? 'less' : 'more'}" />
  <text x="${(to + 6).toFixed(1)}" y="${y + 14}">${ratio.toFixed(2)}</text>`;
      y += ROW;
      return row;
    });
    return [head, ...rows].join('\n  ');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 12}" role="img" aria-label="${escaped(title)}">
  <style>
    text { font: 13px system-ui, sans-serif; fill: #1f2328; }
    .head { font-weight: 600; }
    .label { text-anchor: end; }
    .more { fill: #0969da; }
    .less { fill: #bc4c00; }
    line { stroke: #57606a; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .more { fill: #4493f8; }
      .less { fill: #f0883e; }
      line { stroke: #9198a1; }
    }
  </style>
  <text x="0" y="16" class="head">${escaped(title)}</text>
  ${parts.join('\n  ')}
  <line x1="${x(1).toFixed(1)}" y1="30" x2="${x(1).toFixed(1)}" y2="${y}" />
</svg>
`;
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
