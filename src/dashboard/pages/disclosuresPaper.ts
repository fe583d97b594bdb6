import { raw } from 'hono/html';
import type { Purpose } from '../../domain/events/payloads.ts';
import { termText } from '../../modules/audit/disclosureFormats.ts';
import type {
  Disclosure,
  DisclosureForm,
  DisclosureQuery,
  DisclosureReport,
  ReportHead,
} from '../../modules/audit/disclosures.ts';
import { purposeTexts } from '../components/forms.ts';
import { fieldLabel } from '../components/labels.ts';
import { type Html, html } from '../components/page.ts';
import { type TableColumn, table } from '../components/tables.ts';
import { bdi, day, time } from '../components/text.ts';
import { actionText } from './auditTable.ts';
import { periodWords } from './records/auditorFile.ts';

export const formTitles: Record<DisclosureForm, string> = {
  access_report: 'Access report',
  accounting: 'Accounting of disclosures',
};

/** When it was disclosed; of one that was added, to the day if only that is known. */
export const when: TableColumn<Disclosure> = {
  title: 'When',
  isHeader: true,
  cell: ({ disclosed_at: at }) => (at.includes('T') ? time(at) : day(at)),
};

export const recipient: TableColumn<Disclosure> = {
  title: 'Recipient',
  cell: (disclosure) => {
    const text = termText(disclosure, 'recipient');
    if (text === '') return undefined;
    return html`${bdi(text)}${
      disclosure.recipient !== null &&
      html`<br><small class="muted">${bdi(disclosure.recipient_address ?? 'address not given')}</small>`
    }`;
  },
};

export const purpose: TableColumn<Disclosure> = {
  title: 'Purpose',
  cell: (disclosure) => {
    const text = purposeTexts[disclosure.purpose as Purpose] ?? termText(disclosure, 'purpose');
    const { purpose_statement: statement, purpose_stated: stated } = disclosure;
    const isMissing = disclosure.purpose === 'other' && statement === null;
    return html`${text}${(statement || isMissing) && html`${text && html`<br>`}<small class="muted">${bdi(statement ?? 'no statement given')}</small>`}${
      stated &&
      html`<br><small class="muted">stated ${time(stated.at)} by ${bdi(stated.principal.name ?? stated.principal.id)}</small>`
    }`;
  },
};

/** Returns what was disclosed in words. */
export function describedText({ description, found_by, view }: Disclosure): Html {
  return html`${found_by === 'range' && 'May have included: '}${bdi(description)}${view && ` (${view})`}`;
}

/** Returns how it was disclosed. */
export function meansText({ action, means }: Disclosure): string {
  return means === null ? actionText(action) : fieldLabel(means);
}

function described(disclosure: Disclosure): Html {
  return html`${describedText(disclosure)}<br><small class="muted">${meansText(disclosure)}</small>`;
}

const who: TableColumn<Disclosure> = {
  title: 'Who',
  cell: ({ principal }) => bdi(principal.name ?? principal.id),
};
const disclosed: TableColumn<Disclosure> = { title: 'What was disclosed', cell: described };
const exempt: TableColumn<Disclosure> = {
  title: 'Exempt',
  cell: ({ exemption }) => exemption ?? 'no',
};

const paperColumns: Record<DisclosureForm, TableColumn<Disclosure>[]> = {
  access_report: [when, who, disclosed, recipient, purpose],
  accounting: [when, recipient, disclosed, purpose, exempt],
};

/** Returns disclosures as they are handed over, without what only the organization needs. */
export function paperTable(form: DisclosureForm, items: readonly Disclosure[]): Html {
  const title = form === 'accounting' ? 'Disclosures, newest first' : 'Accesses, newest first';
  return html`<div class="disclosures">${table(title, paperColumns[form], items)}</div>`;
}

const explanations: Record<DisclosureForm, string> = {
  access_report:
    'Everyone who received, or may have received, data about the patient: the patient’s record, every record that refers or ever referred to it, and their documents.',
  accounting:
    'The disclosures that 45 CFR 164.528 covers. What the organization’s own workforce saw, and de-identified data, are not disclosures of protected health information. Disclosures for treatment, payment or health care operations are marked exempt (164.528(a)(1)(i)). Disclosures without a purpose are not treated as exempt.',
};

/** Says what a report lists. */
export const explanation = (form: DisclosureForm) => html`<p>${explanations[form]}</p>`;

/** Says what a report covers, for paper and files. */
export function reportRows(
  query: DisclosureQuery,
  { organization }: ReportHead,
  isForFile = false,
): [string, string][] {
  return [
    ['Organization', organization],
    ['Period', periodWords(query, isForFile)],
    ...(query.omitExempt ? [['Left out', 'exempt disclosures'] as [string, string]] : []),
  ];
}

const style = `body{font:1rem/1.5 Georgia,serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#111;background:#fff}
dl{display:grid;grid-template-columns:10rem 1fr;gap:.15rem 1rem}dt,.muted{color:#444}dd{margin:0;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid #999}
tr{break-inside:avoid}@media print{body{margin:0;max-width:none;font-size:10pt}table{font-size:9pt}}
@media print,(min-width:48rem){table{table-layout:fixed}td{overflow-wrap:anywhere}th:nth-child(1){width:13%}th:nth-child(3){width:34%}th:nth-child(5){width:15%}}`;

/** Yields a report as one page that needs nothing else, for the individual to read and print. */
export async function* reportPage({ query, head, parts }: DisclosureReport): AsyncGenerator<string> {
  const title = formTitles[query.form];
  const { patient } = head;
  const items = (await Array.fromAsync(parts)).flat();
  const rows: [string, string | null][] = [
    ['Patient', patient.name],
    ['Date of birth', patient.date_of_birth],
    ['Patient ID', patient.id],
    ...reportRows(query, head),
    ['Made at', new Date().toISOString()],
  ];
  yield String(html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><style>${raw(style)}</style></head>
<body><main>
<h1>${title}</h1>
<dl>${rows.map(([name, value]) => value !== null && html`<dt>${name}</dt><dd>${bdi(value)}</dd>`)}</dl>
${explanation(query.form)}
${items.length === 0 ? html`<p>None in this period.</p>` : paperTable(query.form, items)}
</main></body></html>
`);
}
