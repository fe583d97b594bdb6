/**
 * Characters at the start of a cell that make spreadsheets treat it as a formula (OWASP, CSV injection), in both widths; and
 * blanks and control characters, which some of them skip.
 */
const FORMULA = /^[=+\-@＝＋－＠\s\p{Cc}]/u;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * Formats a line of CSV (RFC 4180), including the line end. A cell that a spreadsheet would treat as a formula is prefixed with
 * an apostrophe.
 */
export function csvLine(cells: readonly (string | number | undefined)[]): string {
  return `${cells.map(csvCell).join()}\r\n`;
}

function csvCell(value: string | number | undefined): string {
  const text = String(value ?? '');
  const safe = typeof value === 'string' && FORMULA.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
