/** Words in field names that are written differently for people. */
const spellings: Record<string, string> = {
  id: 'ID',
  npi: 'NPI',
  ssn: 'SSN',
  clia: 'CLIA',
  zip: 'ZIP',
  last4: 'last 4',
  line1: 'line 1',
  line2: 'line 2',
};

/**
 * Returns a field's name for people: `first_name` is "First name", `primary_insurance.payer_id` "Primary insurance,
 * payer ID", the second of several networks (`networks.1`) "Networks, 2".
 */
export function fieldLabel(field: string): string {
  const text = field
    .replace(/^is_/, '')
    .split('.')
    .map((name) =>
      /^\d+$/.test(name)
        ? String(Number(name) + 1)
        : name
            .split('_')
            .map((word) => spellings[word] ?? word)
            .join(' '),
    )
    .join(', ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns a code such as `validation_failed` for people. */
export function wordsOf(code: string): string {
  return code.replaceAll('_', ' ');
}

/** Returns a kind of record or setting, or another code, for people, capitalized as at the beginning of a line. */
export function titleOf(code: string): string {
  const text = wordsOf(code).replace(/^api /, 'API ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
