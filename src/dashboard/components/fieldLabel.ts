/** Words in field names that are written differently for people. */
const words: Record<string, string> = {
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
 * payer ID".
 */
export function fieldLabel(field: string): string {
  const text = field
    .split('.')
    .map((name) =>
      name
        .split('_')
        .map((word) => words[word] ?? word)
        .join(' '),
    )
    .join(', ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
