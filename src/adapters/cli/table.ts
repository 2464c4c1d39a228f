/** Rows in columns as wide as their widest cell, for people; `paint` colours a cell, by the title of its column. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  paint: (cell: string, title: string) => string = (cell) => cell,
): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[], painted: (cell: string, column: number) => string) => {
    const last = cells.findLastIndex((cell) => cell !== '');
    const padded = cells.slice(0, last + 1).map((cell, column) => {
      const room = ' '.repeat(column === last ? 0 : (widths[column] ?? 0) - cell.length);
      return painted(cell, column) + room;
    });
    return padded.join('  ');
  };
  return [line(head, (cell) => cell), ...rows.map((row) => line(row, (cell, i) => paint(cell, head[i] ?? '')))].join(
    '\n',
  );
}
