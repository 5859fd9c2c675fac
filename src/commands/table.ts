/** Lines of columns that are as wide as their widest cell. Control characters, which could make a terminal do something, become blanks. */
export function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows.map((row) => row.map(printable))];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? "").length)));
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

/** A text that is safe to show. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}]/gu, " ");
}
