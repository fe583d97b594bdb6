import { catalogEntry } from '../../../domain/records/catalog.ts';
import type { AccessRecorded } from '../../../modules/audit/recordAccess.ts';
import type { RecordVersion } from '../../../modules/records/queries/history.ts';
import type { RecordNames } from '../../../modules/records/queries/lists.ts';
import type { BillingRecorded, TimelineItem } from '../../../modules/records/queries/wholeTimeline.ts';
import { defectText } from '../../components/defects.ts';
import { changeCount, changeList, originNote, outcomeBadge } from '../../components/history.ts';
import { fieldLabel } from '../../components/labels.ts';
import { type Html, type HtmlValue, html } from '../../components/page.ts';
import { who } from '../../components/people.ts';
import { dayOf, linkedValue } from '../../components/records.ts';
import { badge, bdi, code, empty, time, writtenDate } from '../../components/text.ts';
import { comparePath, disclosuresPath, documentsPath, holdsPath, recordPath } from '../../components/urls.ts';

/** Returns an access for each record and document of which something is shown. */
export function accessesTo(items: readonly TimelineItem[], query: Record<string, unknown>): AccessRecorded[] {
  const accesses = new Map<string, AccessRecorded>();
  for (const item of items) {
    const access = accessTo(item, query);
    accesses.set(JSON.stringify(access), access);
  }
  return [...accesses.values()];
}

function accessTo(item: TimelineItem, query: Record<string, unknown>): AccessRecorded {
  if ('documentId' in item) {
    const { kind, id, documentId } = item;
    return { action: 'document.history', kind, record_id: id, document_id: documentId, query };
  }
  if ('of' in item)
    return { action: 'hold.list', ...(item.of && { kind: item.of.kind, record_id: item.of.id }) };
  if ('stated' in item) return { action: 'record.disclosures', kind: 'patient', record_id: item.id, query };
  if (item.kind === 'billing')
    return { action: 'record.readiness', kind: 'encounter', record_id: item.id, query };
  return { action: 'record.history', kind: item.kind, record_id: item.id, query };
}

/** Where a timeline is shown. */
interface Place {
  workspace: string;
  /** The record whose timeline it is. */
  record: { kind: string; id: string };
  names: RecordNames | undefined;
  /** Every change is open, and no entry is a link: for paper. */
  isPrinted?: boolean;
}

/** Returns the entries of a timeline. */
export function itemList(place: Place, items: readonly TimelineItem[]): Html {
  if (items.length === 0) return empty('No changes match.');
  return html`<ol class="timeline">${items.map((item) => html`<li class="version">${entryOf(place, item)}</li>`)}</ol>`;
}

/** What an entry is, in words. */
interface Description {
  path: string | undefined;
  title: HtmlValue;
  mark: Html;
  details: HtmlValue;
}

function entryOf(place: Place, item: TimelineItem): Html {
  const { version } = item;
  const { path, title, mark, details } = describe(place, item);
  const heading =
    path === undefined || place.isPrinted ? title : html`<a href="/dashboard${path}">${title}</a>`;
  return html`<div class="version-line">
<h3>${heading}</h3>
${mark}
</div>
<p class="origin">${time(version.recorded_at)} by ${who(version.principal)}<br><small class="muted">${originNote(place.workspace, version)}</small></p>
<div class="version-details">${details}
${version.reason !== undefined && html`<p>Reason: ${bdi(version.reason)}</p>`}</div>`;
}

function describe(place: Place, item: TimelineItem): Description {
  if ('documentId' in item) return describeDocument(place, item);
  if ('of' in item) return describeHold(place, item);
  if ('stated' in item) return describeDisclosure(place, item);
  if (item.kind === 'billing') return describeBilling(place, item as Billing);
  return describeRecord(place, item as OfRecord);
}

type OfRecord = Extract<TimelineItem, { version: RecordVersion }>;
type OfDocument = Extract<TimelineItem, { documentId: string }>;
type Billing = Extract<TimelineItem, { kind: 'billing' }>;
type OfDisclosure = Extract<TimelineItem, { stated: unknown }>;
type OfHold = Extract<TimelineItem, { of: unknown }>;

/** Returns what something is called on the timeline of a record: that record itself needs no name, encounters of a patient only a day. */
function called({ record, names }: Place, kind: string, id: string): HtmlValue {
  const { title } = catalogEntry(kind);
  if (record.kind === kind && record.id === id) return title;
  const isOfPatient = record.kind === 'patient' && kind === 'encounter';
  const name = isOfPatient ? dayOf(names, id) : names?.nameOf(kind, id);
  return name === undefined ? html`${title} ${code(id)}` : html`${title} ${bdi(name)} ${code(id)}`;
}

function describeRecord(place: Place, { kind, id, version }: OfRecord): Description {
  const { version: number, outcome, changes } = version;
  const path = `${recordPath(place.workspace, kind, id)}${outcome === 'erased' ? '' : `?version=${number}`}`;
  return {
    path,
    title: html`${called(place, kind, id)}, version ${number}`,
    mark: outcomeBadge(version),
    details:
      changes.length === 0
        ? html`<p class="muted">${changeCount(version)}</p>`
        : changesOf(place, { kind, id, version }),
  };
}

/** Maximum number of changed fields that are shown without expanding them. */
const MAX_SHOWN = 4;

function changesOf({ workspace, names, isPrinted }: Place, { kind, id, version }: OfRecord): Html {
  const { version: number, outcome, changes } = version;
  const entry = catalogEntry(kind);
  const list = changeList(changes, (value, field) => linkedValue(workspace, entry, field, value, names));
  if (isPrinted) return list;
  const all = html`${list}${
    outcome === 'updated' &&
    html`<p><a href="/dashboard${comparePath(workspace, kind, id, number - 1, number)}">Compare versions ${number - 1} and ${number}</a></p>`
  }`;
  const more = changes.length - MAX_SHOWN;
  if (outcome !== 'created' && more <= 0) return all;
  const named = changes.slice(0, MAX_SHOWN).map(({ field }) => fieldLabel(field));
  const summary = outcome === 'created' ? changeCount(version) : `${named.join(', ')} and ${more} more`;
  return html`<details><summary>${summary}</summary>${all}</details>`;
}

const documentTexts: Record<string, [text: string, tone: 'good' | 'bad']> = {
  DocumentUploaded: ['uploaded', 'good'],
  DocumentRemoved: ['removed', 'bad'],
  DocumentErased: ['erased', 'bad'],
};

function describeDocument(place: Place, { id, documentId, version, filename }: OfDocument): Description {
  const [text, tone] = documentTexts[version.type] ?? [version.type, 'bad'];
  return {
    path: documentsPath(place.workspace, id, documentId),
    title: html`Document ${filename === undefined ? code(documentId) : bdi(filename)}, version ${version.version}`,
    mark: badge(text, tone),
    details: html`<p class="muted">${filename !== undefined && html`${code(documentId)} `}${
      place.record.id !== id && called(place, 'encounter', id)
    }</p>`,
  };
}

function describeBilling(place: Place, { id, recorded }: Billing): Description {
  return {
    path: recordPath(place.workspace, 'encounter', id),
    title: called(place, 'encounter', id),
    ...billingTexts(place, recorded),
  };
}

function billingTexts(place: Place, { type, data }: BillingRecorded): Pick<Description, 'mark' | 'details'> {
  switch (type) {
    case 'EncounterBilled':
      return { mark: badge('billed', 'good'), details: html`<p>Claim ${code(data.claim_id)}</p>` };
    case 'BillingChangeAcknowledged':
      return {
        mark: badge('changes acknowledged', 'neutral'),
        details: html`<p>Reason: ${bdi(data.reason)}</p>`,
      };
    case 'ClaimOutcomeReported': {
      const { outcome, claim_id, statuses = [], adjustments = [], remarks = [] } = data;
      const isGood = outcome === 'accepted' || outcome === 'paid';
      const codes = [
        ...statuses.map(({ category, code: status, entity }) =>
          [category, status, entity ?? []].flat().join(':'),
        ),
        ...adjustments.map(({ group, code: reason }) => `${group}-${reason}`),
        ...remarks,
      ];
      return {
        mark: badge(`claim ${outcome}`, isGood ? 'good' : 'bad'),
        details: html`<p>Claim ${code(claim_id)}${codes.length > 0 && html`: ${codes.join(', ')}`}</p>`,
      };
    }
    case 'FindingAnswered': {
      const { kind, id } = data.record;
      const texts = [data.assigned_to, data.reason, data.note].filter((text) => typeof text === 'string');
      return {
        mark: badge(`finding ${data.answer}`, 'neutral'),
        details: html`<p>${defectText(data.rule)}: ${called(place, kind, id)}</p>
${texts.map((text) => html`<p>${bdi(text)}</p>`)}
${data.until !== undefined && html`<p class="muted">Until ${data.until}</p>`}`,
      };
    }
  }
}

function describeDisclosure({ workspace }: Place, { id, stated }: OfDisclosure): Description {
  const { purpose, purpose_statement } = stated.data;
  const purposeText =
    purpose &&
    html`<p>Purpose: ${fieldLabel(purpose)}${purpose_statement && html`, ${bdi(purpose_statement)}`}</p>`;
  const path = disclosuresPath(workspace, id);
  if (stated.type === 'DisclosurePurposeStated')
    return { path, title: 'Purpose of a disclosure', mark: badge('stated', 'neutral'), details: purposeText };
  const { disclosed_at, means, description, recipient } = stated.data;
  return {
    path,
    title: html`Disclosure to ${bdi(recipient)}`,
    mark: badge('added', 'neutral'),
    details: html`<p>${fieldLabel(means)}, ${writtenDate(disclosed_at)}: ${bdi(description)}</p>${purposeText}`,
  };
}

function describeHold(place: Place, { of, version, said }: OfHold): Description {
  const isAdded = version.type === 'HoldAdded';
  return {
    path: holdsPath(place.workspace),
    title: html`Legal hold on ${of ? called(place, of.kind, of.id) : 'the workspace'}`,
    mark: badge(isAdded ? 'placed' : 'released', isAdded ? 'bad' : 'good'),
    details: html`<p>Reason: ${bdi(said)}</p>`,
  };
}
