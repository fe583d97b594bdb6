import { html, raw } from 'hono/html';
import type { RecordFields } from '../../../domain/records/schema/kind.ts';
import { recordName } from '../../../domain/records/schema/kind.ts';
import type { CopiedDocument, PatientContents } from '../../../modules/patientCopy/contents.ts';
import { byService, type RecordView } from '../../../modules/records/queries/records.ts';

type Part = ReturnType<typeof html> | string | undefined | false;
type Row = [label: string, value: unknown];

const style = `:root{color-scheme:light dark;--line:#8886}
body{font:1rem/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin:0 0 .2rem}h2{font-size:1.25rem;margin:2.2rem 0 .6rem}h3{font-size:1rem;margin:0 0 .3rem}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;list-style:none;margin:1rem 0;padding:.6rem 0;border-block:1px solid var(--line)}
dl{margin:0}dl>div{display:grid;grid-template-columns:14rem 1fr;gap:0 1rem;padding:.2rem 0;border-bottom:1px solid var(--line)}
dt,.note{opacity:.75}dd{margin:0;overflow-wrap:anywhere}
article{break-inside:avoid;margin-bottom:1.6rem}h2,h3,h2+p{break-after:avoid}ul{padding-left:1.2rem}
@media print{:root{color-scheme:light}body{margin:0;max-width:none;font-size:10pt}nav{display:none}a{color:inherit}}
@media(max-width:34rem){dl>div{grid-template-columns:1fr}}`;

/** Returns the copy of a patient as one page that needs nothing else: for the patient to read and print. */
export function copiedPatientPage(contents: PatientContents, createdAt: string): string {
  const { patient, merged, encounters, documents, organization, timeZone } = contents;
  const names = new Names(contents);
  const name = recordName(patient.record) ?? patient.id;
  const visits = byService(encounters).map((view) =>
    visitPart(
      view,
      documents.filter((one) => one.encounterId === view.id),
      names,
      timeZone,
    ),
  );
  return String(html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Health record of ${name}</title><style>${raw(style)}</style></head>
<body>
<h1>Health record of <bdi>${name}</bdi></h1>
<p class="note">A copy of everything that <bdi>${organization}</bdi> holds about you in this system, made on ${moment(createdAt, timeZone)}. Earlier versions, and what was removed or erased, are not in it.</p>
<nav aria-label="Contents"><ul>
<li><a href="#you">About you</a></li><li><a href="#insurance">Your insurance</a></li>
${merged.length > 0 && html`<li><a href="#others">Other records about you</a> (${merged.length})</li>`}
<li><a href="#visits">Your visits</a> (${encounters.length})</li><li><a href="#documents">Your documents</a> (${documents.length})</li>
<li><a href="#files">The other files of this copy</a></li></ul></nav>
<main>
<h2 id="you">About you</h2>
${personPart(patient)}
<h2 id="insurance">Your insurance</h2>
${insurancePart(patient.record, names) ?? html`<p>None is recorded.</p>`}
${
  merged.length > 0 &&
  html`<h2 id="others">Other records about you</h2>
<p>These records were found to be about you, and joined with yours. Their visits and documents are among yours below.</p>
${merged.map((view) => html`<article>${personPart(view)}${insurancePart(view.record, names)}</article>`)}`
}
<h2 id="visits">Your visits</h2>
${visits.length > 0 ? visits : html`<p>None is recorded.</p>`}
<h2 id="documents">Your documents</h2>
${documents.length > 0 ? documentList(documents) : html`<p>None is recorded.</p>`}
<h2 id="files">The other files of this copy</h2>
<ul>
<li>The folder <code>documents</code> has your documents, as they were received.</li>
<li><code>patient.json</code> has all of this, and the technical details, for programs.</li>
<li><code>fhir-bundle.json</code> has it in the format FHIR R4, which apps for health records and other providers can read.</li>
<li><code>manifest.json</code> lists the files with their fingerprints and is signed: nobody can change a file unnoticed.</li>
</ul>
<p>If something is wrong or missing, you may ask for a correction (45 CFR 164.526).</p>
</main>
</body></html>
`);
}

/** The names of the payers, providers and facilities in a copy. */
class Names {
  readonly #referred: PatientContents['referred'];

  constructor({ referred }: PatientContents) {
    this.#referred = referred;
  }

  /** Returns the name of a record; without one, its id. */
  of(kind: string, id: unknown): string | undefined {
    if (typeof id !== 'string') return undefined;
    const view = this.#referred.get(kind)?.find((one) => one.id === id);
    return (view && recordName(view.record)) ?? id;
  }
}

function list(rows: readonly Row[]): Part {
  const given = rows.filter(
    ([, value]) => value !== undefined && value !== null && value !== '' && value !== false,
  );
  return html`<dl>${given.map(([label, value]) => html`<div><dt>${label}</dt><dd><bdi>${String(value)}</bdi></dd></div>`)}</dl>`;
}

function personPart({ id, record }: RecordView): Part {
  const { date_of_birth, gender, phone, email, ssn_last4 } = record;
  return list([
    ['Name', recordName(record)],
    ['Date of birth', day(date_of_birth)],
    ['Gender', words(gender)],
    ['Phone', phone],
    ['Email', email],
    ['Address', addressOf(record)],
    ['Social Security number', ssn_last4 && `ends in ${String(ssn_last4)}`],
    ['Record number', id],
  ]);
}

function addressOf(record: Record<string, unknown>, prefix = ''): string {
  const value = (name: string) => record[prefix + name];
  const place = [value('city'), [value('state'), value('zip_code')].filter(Boolean).join(' ')];
  const parts = [value('address_line_1'), value('address_line_2'), ...place, value('country')];
  // A country by itself is only a default.
  return parts.slice(0, -1).some(Boolean) ? parts.filter(Boolean).join(', ') : '';
}

const ranks = [
  ['primary_insurance', 'First insurance'],
  ['secondary_insurance', 'Second insurance'],
  ['tertiary_insurance', 'Third insurance'],
] as const;

function insurancePart(record: RecordFields, names: Names): Part {
  const parts = ranks.flatMap(([rank, title]) => {
    const insurance = record[rank] as Record<string, unknown> | null | undefined;
    if (!insurance) return [];
    const isOwn = insurance.subscriber_relationship === 'self';
    const person = [insurance.subscriber_first_name, insurance.subscriber_last_name]
      .filter(Boolean)
      .join(' ');
    return [
      html`<article><h3>${title}</h3>${list([
        ['Insurance company', names.of('payer', insurance.payer_id)],
        ['Policy number', insurance.policy_number],
        ['Group number', insurance.group_number],
        ['In force from', day(insurance.effective_date)],
        ['In force until', day(insurance.termination_date)],
        ['Insured person', person || (isOwn && 'You')],
        ['Your relation to that person', !isOwn && words(insurance.subscriber_relationship)],
        ['Insured person’s number', insurance.subscriber_id],
        ['Insured person’s date of birth', day(insurance.subscriber_date_of_birth)],
        ['Insured person’s address', addressOf(insurance, 'subscriber_')],
      ])}</article>`,
    ];
  });
  return parts.length === 0 ? undefined : html`${parts}`;
}

function visitPart(
  { id, record }: RecordView,
  documents: readonly CopiedDocument[],
  names: Names,
  timeZone: string,
): Part {
  const { date_of_service, visit_type, provider_id, rendering_provider_id, facility_id } = record;
  const { status, is_completed, voided_at, void_reason } = record;
  const when = moment(date_of_service, timeZone);
  const seenBy = rendering_provider_id ?? provider_id;
  return html`<article><h3>${when === undefined ? 'Visit without a date' : `Visit of ${when}`}</h3>
${list([
  ['Kind of visit', words(visit_type)],
  ['With', names.of('provider', seenBy)],
  ['Responsible', provider_id !== seenBy && names.of('provider', provider_id)],
  ['Where', names.of('facility', facility_id)],
  ['Status', words(status)],
  [
    'Completed',
    is_completed === undefined || is_completed === null ? undefined : is_completed ? 'yes' : 'no',
  ],
  ['Entered in error', day(voided_at)],
  ['Why', void_reason],
  ['Visit number', id],
])}
${documents.length > 0 && html`<p>Documents of this visit:</p>${documentList(documents)}`}</article>`;
}

function documentList(documents: readonly CopiedDocument[]): Part {
  return html`<ul>${documents.map(
    ({ view, path }) =>
      html`<li><a href="${encodeURI(path)}">${words(view.category)}, <bdi>${view.filename}</bdi></a>, received ${day(view.updated_at)}</li>`,
  )}</ul>`;
}

/** Returns `office_visit` as `Office visit`. */
function words(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const text = value.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const dayFormat = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeZone: 'UTC' });

/** Returns a date, or the day of a date-time in its own offset, as `May 5, 2026`. */
function day(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const date = new Date(`${value.slice(0, 10)}T00:00:00Z`);
  return Number.isNaN(date.getTime()) ? value : dayFormat.format(date);
}

/**
 * Returns a date with its time of day: that of a moment in UTC on the clocks of a time zone (IANA), which it names; any other as it was
 * sent.
 */
function moment(value: unknown, timeZone: string): string | undefined {
  if (typeof value !== 'string') return undefined;
  const clock = /T(\d\d:\d\d)/.exec(value)?.[1];
  if (clock === undefined || clock === '00:00') return day(value);
  if (!value.endsWith('Z')) return `${day(value)}, ${clock}`;
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, year: 'numeric', month: 'long', day: 'numeric', hour: 'numeric', minute: '2-digit' },
    timeZoneName: 'short',
  });
  return format.format(new Date(value));
}
