import { Readable } from 'node:stream';
import { pathId } from '../../api/schemas/parameters.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { type ReportFormat, reportText } from '../../modules/audit/disclosureFormats.ts';
import {
  type DisclosureForm,
  type DisclosureQuery,
  disclosureForms,
} from '../../modules/audit/disclosureQuery.ts';
import {
  type DisclosurePage,
  type DisclosurePorts,
  readDisclosures,
  reportDisclosures,
} from '../../modules/audit/readDisclosures.ts';
import { facts } from '../components/facts.ts';
import { formError } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import { disclosuresPath } from '../components/recordPaths.ts';
import { filledQuery, recordCrumbs, recordsSection, textsOf } from '../components/recordQuery.ts';
import { type DashboardRoute, type Page, phiReaders, type Reply, type Visit } from '../components/route.ts';
import { type Refusal, refusalOf } from '../components/sentForm.ts';
import { code, empty, time } from '../components/text.ts';
import {
  disclosureFilter,
  disclosureParameters,
  disclosureQuery,
  exportParameters,
  exportQuery,
} from './disclosureForm.ts';
import { disclosureTable } from './disclosureTable.ts';

const SHOWN_A_PAGE = 50;
const PRINTED_A_PAGE = 1_000;

const mediaTypes: Record<ReportFormat, string> = { csv: 'text/csv; charset=utf-8', json: 'application/json' };

const titles: Record<DisclosureForm, string> = {
  access_report: 'Access report',
  accounting: 'Accounting of disclosures',
};

const explanations: Record<DisclosureForm, Html> = {
  access_report: html`Everyone who received, or may have received, data about the patient: the patient’s record, every record that refers or ever referred to it, and their documents.`,
  accounting: html`The disclosures that 45 CFR 164.528 covers. What the organization’s own workforce saw, and de-identified data, are not disclosures of protected health information. Disclosures for treatment, payment or health care operations are marked exempt (164.528(a)(1)(i)). Disclosures without a purpose are not treated as exempt.`,
};

/** `…/records/patients/{id}/disclosures`: to whom a patient's data went; pages, printed or downloaded. */
export function disclosureRoutes(ports: DisclosurePorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/records/patients/:id/disclosures';
  const route = (suffix: string, query: readonly string[], handle: (visit: Visit) => Promise<Reply>) =>
    ({ method: 'get', path: path + suffix, roles: phiReaders, query, handle }) as const;
  return [
    route('', disclosureParameters, async (visit) => ({ page: await reportPage(ports, visit) })),
    route('/print', disclosureParameters, async (visit) => ({ page: await printedPage(ports, visit) })),
    route('/export', exportParameters, (visit) => download(ports, visit)),
  ];
}

const patientIdOf = ({ req }: Visit) => pathId(req, 'id', patient.title);

async function reportPage(ports: DisclosurePorts, visit: Visit): Promise<Page> {
  const { req, caller } = visit;
  let asked: ReturnType<typeof disclosureQuery>;
  try {
    asked = disclosureQuery(req, patientIdOf(visit));
  } catch (error) {
    const sent = textsOf({ query: filledQuery(req) });
    return framed(
      visit,
      sent.form === 'accounting' ? 'accounting' : 'access_report',
      sent,
      html``,
      refusalOf(error),
    );
  }
  const { query, pageToken, limits } = asked;
  const found = await readDisclosures(ports, caller, query, { limit: SHOWN_A_PAGE, pageToken });
  const body = html`${period(found.query)}
${listed(found, pageToken === undefined)}
${further(visit, '', limits, found, SHOWN_A_PAGE)}`;
  return framed(visit, query.form, limits, body);
}

/** Returns the page with the links to both forms and the filter above its body. */
function framed(
  visit: Visit,
  form: DisclosureForm,
  sent: Record<string, string>,
  body: Html,
  refusal?: Refusal,
): Page {
  const id = patientIdOf(visit);
  const path = `/dashboard${disclosuresPath(visit.workspace, id)}`;
  return {
    title: titles[form],
    section: recordsSection,
    ...(refusal && { status: refusal.status }),
    body: html`${recordCrumbs(visit.workspace, patient, id)}
<div class="page-head"><h1>${titles[form]}</h1>${!refusal && links(path, form, sent)}</div>
<nav class="tabs" aria-label="Reports"><ul>${disclosureForms.map(
      (one) =>
        html`<li><a href="${path}?form=${one}"${one === form && html` aria-current="page"`}>${titles[one]}</a></li>`,
    )}</ul></nav>
<p>${explanations[form]}</p>
${formError(refusal?.text)}
${disclosureFilter(path, form, sent, refusal)}
${body}`,
  };
}

function links(path: string, form: DisclosureForm, limits: Record<string, string>): Html {
  const link = (suffix: string, more: Record<string, string>, text: string) => {
    const query = new URLSearchParams({ ...limits, form, ...more });
    const isFile = suffix === '/export';
    return html`<a role="button" class="outline secondary" href="${path}${suffix}?${query.toString()}"${isFile && html` download`}>${text}</a>`;
  };
  return html`<div class="actions">${link('/export', { format: 'csv' }, 'Export as CSV')}
${link('/export', { format: 'json' }, 'Export as JSON')}
${form === 'accounting' && link('/export', { format: 'csv', summary: 'yes' }, 'Summary as CSV')}
${link('/print', {}, 'Printable page')}</div>`;
}

async function printedPage(ports: DisclosurePorts, visit: Visit): Promise<Page> {
  const { req, caller, workspace, user, requestId } = visit;
  const id = patientIdOf(visit);
  const { query, pageToken, limits } = disclosureQuery(req, id);
  const found = await readDisclosures(ports, caller, query, { limit: PRINTED_A_PAGE, pageToken });
  const { form } = query;
  const back = `/dashboard${disclosuresPath(workspace, id)}?${new URLSearchParams(limits).toString()}`;
  const now = new Date().toISOString();
  return {
    title: `${titles[form]}, printable`,
    section: recordsSection,
    body: html`<div class="paper">
<p class="actions"><a role="button" class="outline secondary" href="${back}">Back to report</a>
<button type="button" data-print hidden>Print</button></p>
<h1>${titles[form]}</h1>
${facts([
  ['Patient', code(id)],
  ['Workspace', code(workspace)],
  ['Period', periodText(found.query)],
  ...(query.omitExempt ? ([['Left out', 'exempt disclosures']] as const) : []),
  ['Printed', html`${time(now)} by ${user.name}, request ${code(requestId)}`],
])}
<p>${explanations[form]}</p>
${listed(found, pageToken === undefined)}
${further(visit, '/print', limits, found, PRINTED_A_PAGE)}
</div>`,
  };
}

function listed({ items, query, next_page_token }: DisclosurePage, isNewest: boolean): Html {
  if (items.length > 0) return disclosureTable(query.form, items);
  if (next_page_token !== null) return html``;
  return empty(isNewest ? 'None in this period. Try a longer one.' : 'Nothing older.');
}

/** Returns the link to the next page, and says how far an incomplete report goes. */
function further(
  { workspace, req }: Visit,
  suffix: string,
  limits: Record<string, string>,
  { next_page_token: token, lookedBackTo, items }: DisclosurePage,
  limit: number,
): Html {
  if (token === null) return html``;
  const path = `/dashboard${disclosuresPath(workspace, String(req.params.id))}${suffix}`;
  const url = `${path}?${new URLSearchParams({ ...limits, page_token: token }).toString()}`;
  const isShort = items.length < limit && lookedBackTo !== null;
  return html`<p class="muted">Earlier entries may exist that are not on this page.${isShort && html` Searched back to ${time(lookedBackTo)}.`}</p>
<p class="actions"><a role="button" class="outline" href="${url}" rel="next">${isShort ? 'Look further back' : 'Older'}</a></p>`;
}

function period(query: DisclosureQuery): Html {
  return html`<p class="muted">Period: ${periodText(query)}.</p>`;
}

function periodText({ from, to }: DisclosureQuery): Html {
  return html`${from ? html`from ${time(from)}` : 'from the beginning'}${to ? html`, before ${time(to)}` : ' until now'}`;
}

async function download(ports: DisclosurePorts, visit: Visit): Promise<Reply> {
  const { req, caller, workspace } = visit;
  const { query, format, isSummary } = exportQuery(req, patientIdOf(visit));
  const how = { format, ...(isSummary && { summary: true }) };
  const report = await reportDisclosures(ports, caller, query, how);
  const today = new Date().toISOString().slice(0, 10);
  const name = `${query.form.replace('_', '-')}${isSummary ? '-summary' : ''}-${workspace}-${today}.${format}`;
  const body = Readable.from(reportText(workspace, report, format, isSummary));
  return { download: { type: mediaTypes[format], name, body } };
}
