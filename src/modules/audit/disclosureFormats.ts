import { csvLine } from '../../platform/csv.ts';
import {
  type DisclosedThing,
  type Disclosure,
  type DisclosureReport,
  type DisclosureSummary,
  isDisclosure,
  summarizeDisclosures,
} from './disclosures.ts';

export const reportFormats = ['csv', 'json'] as const;
export type ReportFormat = (typeof reportFormats)[number];

/** The text of a cell for what was not stated. */
const NOT_GIVEN = 'not given';

type Cell = string | number | undefined;
type Columns<Row> = readonly (readonly [name: string, cell: (row: Row) => Cell])[];

type DisclosureParties = Pick<
  Disclosure,
  'status' | 'recipient' | 'recipient_address' | 'purpose' | 'purpose_statement'
>;

/** Returns a term, or that it was not given; empty when nothing was disclosed to anyone. */
export function termText(
  parties: DisclosureParties,
  name: Exclude<keyof DisclosureParties, 'status'>,
): string {
  return parties[name] ?? (isDisclosure(parties.status) ? NOT_GIVEN : '');
}

const terms: Columns<DisclosureParties> = (
  ['recipient', 'recipient_address', 'purpose', 'purpose_statement'] as const
).map((name) => [name, (parties) => termText(parties, name)]);

const exempt: Columns<Pick<Disclosure, 'status' | 'exemption'>> = [
  ['exempt', ({ status }) => (isDisclosure(status) ? (status === 'exempt' ? 'yes' : 'no') : undefined)],
  ['exemption', ({ exemption }) => exemption ?? undefined],
];

const discloser: Columns<Pick<Disclosure, 'principal' | 'webhook_id'>> = [
  ['principal_type', ({ principal }) => principal.type],
  ['principal_id', ({ principal }) => principal.id],
  ['principal_name', ({ principal }) => principal.name ?? undefined],
  ['webhook_id', ({ webhook_id }) => webhook_id ?? undefined],
];

const stated: Columns<Disclosure> = [
  ['purpose_stated_at', ({ purpose_stated }) => purpose_stated?.at],
  ['purpose_stated_by', ({ purpose_stated }) => nameIn(purpose_stated?.principal)],
  ['purpose_stated_event_id', ({ purpose_stated }) => purpose_stated?.event_id],
];

const nameIn = (principal: Disclosure['principal'] | undefined) => principal?.name ?? principal?.id;

const shown: Columns<Disclosure> = [
  ['means', ({ means }) => means ?? undefined],
  ['action', ({ action }) => action],
  ['found_by', ({ found_by }) => found_by],
  ['view', ({ view }) => view ?? undefined],
];

const request: Columns<Disclosure> = [
  ['client_ip', ({ client_ip }) => client_ip ?? undefined],
  ['request_id', ({ request_id }) => request_id],
  ['event_id', ({ event_id }) => event_id],
  ['position', ({ position }) => position],
];

const columns: Record<'access_report' | 'accounting', Columns<Disclosure>> = {
  access_report: [
    ['disclosed_at', ({ disclosed_at }) => disclosed_at],
    ...discloser,
    ['description', ({ description }) => description],
    ['what', (row) => whatText(row)],
    ...shown,
    ['status', ({ status }) => status],
    ...terms,
    ...exempt,
    ...stated,
    ...request,
  ],
  accounting: [
    ['disclosed_at', ({ disclosed_at }) => disclosed_at],
    ...terms.slice(0, 2),
    ['description', ({ description }) => description],
    ...terms.slice(2),
    ...exempt,
    ['what', (row) => whatText(row)],
    ...discloser,
    ...shown,
    ...stated,
    ...request,
  ],
};

const summaryColumns: Columns<DisclosureSummary> = [
  ...terms.slice(0, 2),
  ['description_first', ({ description }) => description],
  ['what_first', (row) => whatText(row)],
  ...terms.slice(2),
  ...exempt,
  ['first_disclosed_at', ({ first_disclosed_at }) => first_disclosed_at],
  ['disclosures', ({ disclosures }) => disclosures],
  ['last_disclosed_at', ({ last_disclosed_at }) => last_disclosed_at],
  ...discloser,
];

/**
 * Names what was disclosed by id: `patient p-1 (versions 1-3); document d-1 of encounter e-1`. `dayOf`: the day of an encounter, where
 * it is to be named as well.
 */
export function whatText(
  { what, what_more }: Pick<Disclosure, 'what' | 'what_more'>,
  dayOf: (encounterId: string) => string | undefined = () => undefined,
): string {
  const more = what_more > 0 ? [`${what_more} more`] : [];
  const called = (thing: DisclosedThing): DisclosedThing => {
    const day = thing.kind === 'patient' ? undefined : dayOf(thing.id);
    return day === undefined ? thing : { ...thing, id: `${thing.id} of ${day}` };
  };
  return [...what.map((thing) => thingText(called(thing))), ...more].join('; ');
}

function thingText({ kind, id, document_id, versions }: DisclosedThing): string {
  const isOne = versions !== undefined && /^\d+$/.test(versions);
  const which = versions === undefined ? '' : ` (version${isOne ? '' : 's'} ${versions})`;
  if (kind === 'readiness') return `readiness of encounter ${id}${which}`;
  if (kind !== 'document') return `${kind} ${id}${which}`;
  return document_id === undefined
    ? `documents of encounter ${id}`
    : `document ${document_id} of encounter ${id}${which}`;
}

/** Yields a report as a file, several lines at a time; a summary is computed from all of it before its first line. */
export async function* reportText(
  workspace: string,
  { query, head, parts }: DisclosureReport,
  format: ReportFormat,
  isSummary: boolean,
): AsyncGenerator<string> {
  const { form } = query;
  if (isSummary) {
    const rows = async function* () {
      yield await summarizeDisclosures(parts);
    };
    yield* format === 'csv'
      ? csv(summaryColumns, rows())
      : json(headOf(workspace, query, head, true), rows());
  } else {
    yield* format === 'csv' ? csv(columns[form], parts) : json(headOf(workspace, query, head, false), parts);
  }
}

function headOf(
  workspace: string,
  { form, from, to }: DisclosureReport['query'],
  { organization, patient }: DisclosureReport['head'],
  isSummary: boolean,
) {
  return {
    type: 'chartledger.disclosures.v1',
    form,
    summary: isSummary,
    workspace,
    organization,
    patient_id: patient.id,
    patient_name: patient.name,
    date_of_birth: patient.date_of_birth,
    from: from ?? null,
    to: to ?? null,
    generated_at: new Date().toISOString(),
  };
}

async function* csv<Row>(columnsOf: Columns<Row>, parts: AsyncIterable<Row[]>): AsyncGenerator<string> {
  yield csvLine(columnsOf.map(([name]) => name));
  for await (const rows of parts) {
    yield rows.map((row) => csvLine(columnsOf.map(([, cell]) => cell(row)))).join('');
  }
}

async function* json(head: object, parts: AsyncIterable<object[]>): AsyncGenerator<string> {
  yield `${JSON.stringify(head).slice(0, -1)},\n"disclosures":[`;
  let before = '\n';
  for await (const rows of parts) {
    for (const row of rows) {
      yield `${before}${JSON.stringify(row)}`;
      before = ',\n';
    }
  }
  yield '\n]}\n';
}
