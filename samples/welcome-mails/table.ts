/** Prints names and figures in two columns. */
export function printTable(rows: readonly (readonly [string, string | number])[]): void {
  const nameWidth = Math.max(...rows.map(([name]) => name.length));
  const figureWidth = Math.max(...rows.map(([, figure]) => String(figure).length));
  const line = '─'.repeat(nameWidth + figureWidth + 4);
  console.log(line);
  for (const [name, figure] of rows) console.log(` ${name.padEnd(nameWidth)}  ${String(figure).padStart(figureWidth)}`);
  console.log(line);
}
