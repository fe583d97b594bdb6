/**
 * Beginnings that make spreadsheets take a cell for a formula (OWASP, CSV injection), in both widths; and blanks and control
 * characters, which some of them pass over.
 */
const FORMULA = /^[=+\-@＝＋－＠\s\p{Cc}]/u;
const NEEDS_QUOTES = /[",\r\n]/;

/** A line of CSV (RFC 4180), with its end. A cell that a spreadsheet would take for a formula begins with an apostrophe. */
export function csvLine(cells: readonly (string | number | undefined)[]): string {
  return `${cells.map(csvCell).join()}\r\n`;
}

function csvCell(value: string | number | undefined): string {
  const text = String(value ?? '');
  const safe = typeof value === 'string' && FORMULA.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
