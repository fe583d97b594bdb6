/** A row is on the lists of so many visits at most: of those that its encounter was of last. */
const MOST = 20;
const PREFIX = 'visit=';

/**
 * The list, in the read model of records, of the encounters that are, or were, of the visit of an encounter with these fields: of the
 * same patient, provider and day of service (as it was sent), and the same facility or none. Undefined where patient, provider
 * or day is not there.
 */
export function visitList(fields: Readonly<Record<string, unknown>>): string | undefined {
  const [patient, provider, date, facility = ''] = (
    ['patient_id', 'provider_id', 'date_of_service', 'facility_id'] as const
  ).map((field) => textIn(fields, field));
  if (patient === undefined || provider === undefined || date === undefined) return undefined;
  return PREFIX + [patient, provider, date.slice(0, 10), facility].map(encodeURIComponent).join('&');
}

/** The lists of the visits of which an encounter with these fields is or was, by the lists that it was on `before`. */
export function visitLists(
  before: readonly string[] = [],
  fields: Readonly<Record<string, unknown>>,
): string[] {
  const present = visitList(fields);
  const earlier = before.filter((list) => list.startsWith(PREFIX) && list !== present);
  return [...earlier, ...(present === undefined ? [] : [present])].slice(-MOST);
}

function textIn(fields: Readonly<Record<string, unknown>>, field: string): string | undefined {
  const value = fields[field];
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
