import type { Purpose } from '../../domain/events/disclosureTerms.ts';
import type { Disclosure } from '../../modules/audit/disclosure.ts';
import { termText, whatText } from '../../modules/audit/disclosureFormats.ts';
import type { DisclosureForm } from '../../modules/audit/disclosureQuery.ts';
import type { DisclosureStatus } from '../../modules/audit/disclosureStatus.ts';
import { type Html, html } from '../components/html.ts';
import { principalTexts } from '../components/principal.ts';
import { type TableColumn, table } from '../components/table.ts';
import { purposeTexts } from '../components/termFields.ts';
import { badge, code, time } from '../components/text.ts';
import { actionText } from './auditTexts.ts';

const statusTexts: Record<DisclosureStatus, [text: string, tone: 'good' | 'bad' | 'neutral']> = {
  accountable: ['accountable', 'bad'],
  purpose_not_given: ['purpose not given', 'bad'],
  exempt: ['exempt', 'good'],
  internal_use: ['internal use', 'neutral'],
  deidentified: ['de-identified', 'neutral'],
};

/** Returns disclosures, or accesses, as a page shows them. */
export function disclosureTable(form: DisclosureForm, items: readonly Disclosure[]): Html {
  const title = form === 'accounting' ? 'Disclosures, newest first' : 'Accesses, newest first';
  return table(title, form === 'accounting' ? accountingColumns : accessColumns, items);
}

const when: TableColumn<Disclosure> = { title: 'When', cell: ({ disclosed_at }) => time(disclosed_at) };

const what: TableColumn<Disclosure> = {
  title: 'What',
  cell: (disclosure) => {
    const { action, found_by, view } = disclosure;
    const perhaps = found_by === 'range' ? 'May have included: ' : '';
    return html`${actionText(action)}${view && html` (${view})`}<br><small class="muted">${perhaps}${whatText(disclosure)}</small>`;
  },
};

const recipient: TableColumn<Disclosure> = {
  title: 'Recipient',
  cell: (disclosure) =>
    html`${termText(disclosure, 'recipient')}${
      disclosure.recipient !== null &&
      html`<br><small class="muted">${disclosure.recipient_address ?? 'address not given'}</small>`
    }`,
};

const purpose: TableColumn<Disclosure> = {
  title: 'Purpose',
  cell: (disclosure) => {
    const text = purposeTexts[disclosure.purpose as Purpose] ?? termText(disclosure, 'purpose');
    const statement = disclosure.purpose_statement;
    const isMissing = disclosure.purpose === 'other' && statement === null;
    return html`${text}${(statement || isMissing) && html`<br><small class="muted">${statement ?? 'no statement given'}</small>`}`;
  },
};

const status: TableColumn<Disclosure> = {
  title: 'Under 45 CFR 164.528',
  cell: (disclosure) => {
    const [text, tone] = statusTexts[disclosure.status];
    return html`${badge(text, tone)}${disclosure.exemption && html`<br><small>${disclosure.exemption}</small>`}`;
  },
};

function giver(title: string): TableColumn<Disclosure> {
  return {
    title,
    cell: ({ principal, webhook_id, client_ip }) =>
      webhook_id === null || principal.type !== 'service'
        ? html`${principal.name ?? principal.id}<br><small class="muted">${principalTexts[principal.type]}${client_ip && html`, ${client_ip}`}</small>`
        : html`webhook<br>${code(webhook_id)}`,
  };
}

const accessColumns = [when, giver('Who'), what, recipient, purpose, status];
const accountingColumns = [when, recipient, what, purpose, status, giver('Via')];
