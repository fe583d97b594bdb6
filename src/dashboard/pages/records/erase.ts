import { documentsModel } from '../../../../projections/records.ts';
import { pathId } from '../../../api/schemas/parameters.ts';
import { kindOfStream, ownerKind, recordStream } from '../../../domain/events/streams.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import type { CatalogEntry } from '../../../domain/records/schema/kind.ts';
import { validationError } from '../../../domain/records/schema/validation.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import { countByKind, eraseRecord } from '../../../modules/erasure/erase.ts';
import type { ErasurePorts } from '../../../modules/erasure/finish.ts';
import { Groups } from '../../../modules/erasure/groups.ts';
import { currentHolding } from '../../../modules/erasure/holdState.ts';
import { findDocuments, findReferrers, type Referrer } from '../../../modules/erasure/references.ts';
import type { HistoryPorts } from '../../../modules/records/queries/history.ts';
import { caughtUp } from '../../../modules/records/queries/paging.ts';
import { type RecordView, readRecord } from '../../../modules/records/queries/records.ts';
import type { FieldMessage } from '../../../platform/errors.ts';
import { type Confirmation, checkboxes, confirmedChange, input, messageOf } from '../../components/forms.ts';
import {
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  type Reply,
  textOf,
  type Visit,
  valuesOf,
} from '../../components/page.ts';
import { heldBanner } from '../../components/records.ts';
import { kindOf, recordCrumbs, recordsSection } from '../../components/recordTable.ts';
import { code, day } from '../../components/text.ts';
import { recordPath } from '../../components/urls.ts';
import { readTitle } from './head.ts';
import { orErased } from './shared.ts';

interface ErasePorts extends ErasurePorts, HistoryPorts {}

/** The record that is to be erased. */
interface Subject {
  entry: CatalogEntry;
  id: string;
  view: RecordView;
}

/** `…/records/{kinds}/{id}/erase`: asks whether, and why, a record should be erased permanently, and erases it. */
export function recordEraseRoutes(ports: ErasePorts): DashboardRoute[] {
  return confirmedChange<Subject>({
    path: '/workspaces/:workspace/records/:kind/:id/erase',
    async find({ req, workspace }) {
      const entry = kindOf(req.params.kind);
      const id = pathId(req, 'id', entry.title);
      return { entry, id, view: await readRecord(ports, workspace, entry, id) };
    },
    question: (subject, visit, details) => question(ports, subject, visit, details),
    make: (subject, visit) => erase(ports, subject, visit),
  }).map((route) => orErased(ports, route));
}

async function question(
  ports: ErasePorts,
  { entry, id, view }: Subject,
  visit: Visit,
  details?: readonly FieldMessage[],
): Promise<Confirmation> {
  const { workspace, caller } = visit;
  const { kind } = entry;
  const { title, name, accesses } = await readTitle(ports, workspace, entry, view);
  const read = { action: 'record.read', kind, record_id: id } as const;
  await recordAccess(ports.eventLog, caller, read, ...accesses);
  const referrers = await findReferrers(ports, workspace, kind, id);
  const holding = await currentHolding(ports.eventLog, workspace, { kind, id }, async () => referrers);
  const isPossible = holding === undefined && (referrers.length === 0 || kind === patient.kind);
  const fields = html`${referrers.length > 0 && withEncounters()}
${input({
  name: 'reason',
  label: 'Reason',
  hint: 'Do not identify anyone: the reason is kept permanently.',
  error: messageOf(details, 'reason'),
  isRequired: true,
  autocomplete: 'off',
})}
${input({
  name: 'record_id',
  label: `Type the ID of the ${kind}, ${id}, to confirm`,
  error: messageOf(details, 'record_id'),
  isRequired: true,
  autocomplete: 'off',
})}`;
  return {
    title: `Erase this ${kind}?`,
    section: recordsSection,
    breadcrumb: recordCrumbs(workspace, entry, { id, name }),
    text: html`<strong>${title}</strong>${bornText(view)}, ID ${code(id)}. It is permanently removed from all stores and cannot be restored. Its ID can be used again.`,
    fields: html`${heldBanner(visit, kind, holding)}
${await erasureScope(ports, workspace, entry, id, referrers)}
${goesAndStays(kind, ports.eventLog.scavenger !== undefined)}
${isPossible && fields}`,
    button: isPossible ? `Erase ${kind}` : undefined,
    isDangerous: true,
    back: recordPath(workspace, kind, id),
  };
}

function bornText({ record: { date_of_birth: born } }: RecordView): HtmlValue {
  return typeof born === 'string' && html`, born ${day(born)}`;
}

function withEncounters(): Html {
  const choice = { value: 'yes', text: 'Also erase the encounters and their documents' };
  return checkboxes('with_encounters', 'Encounters', [choice]);
}

/** Resolves with what is erased with the record, or stands in the way of erasing it. */
async function erasureScope(
  ports: ErasePorts,
  workspace: string,
  { kind }: CatalogEntry,
  id: string,
  referrers: readonly Referrer[],
): Promise<Html | undefined> {
  const counts = html`<strong>${countByKind(referrers.map((referrer) => referrer.kind))}</strong> ${referrers.length === 1 ? 'refers' : 'refer'} to it`;
  if (kind !== patient.kind && referrers.length > 0) {
    return html`<p class="banner">${counts}, so it cannot be erased. Erase those first, or make them refer to another ${kind}.</p>`;
  }
  const encounters = kind === encounter.kind ? [{ kind, id }] : referrers;
  const documents = await countDocuments(ports, workspace, encounters);
  const named = html`<strong>${countByKind(Array<string>(documents).fill('document'))}</strong>`;
  if (referrers.length > 0) {
    return html`<p class="banner">${counts}${documents > 0 && html`, with ${named}`}. The ${kind} cannot be erased without them.</p>`;
  }
  return documents > 0 ? html`<p class="banner">${named} will be erased with it.</p>` : undefined;
}

async function countDocuments(
  ports: ErasePorts,
  workspace: string,
  encounters: readonly Referrer[],
): Promise<number> {
  await caughtUp(ports, documentsModel);
  const found = await new Groups().each(encounters, ({ kind, id }) =>
    findDocuments(ports.readModels, recordStream(workspace, kind, id)),
  );
  return found.length;
}

function goesAndStays(kind: string, scavenges: boolean): Html {
  const holdsDocuments = kind === encounter.kind || kind === patient.kind;
  return html`<div class="record-columns"><section><h2>What is erased</h2>
<ul>
<li>all its versions, with everything that was sent, in lists and searches as well</li>
${holdsDocuments && html`<li>the documents of each erased encounter: their names and contents</li>`}
<li>webhook attempts about it, and their responses</li>
</ul></section>
<section><h2>What is kept</h2>
<ul>
<li>its ID, in the audit trail and where its history was</li>
${kind === encounter.kind && html`<li>the IDs of the patients it belonged to, for disclosure reports</li>`}
<li>who erased it, when and why</li>
<li>a hash of each version, which proves that the history is complete and reveals nothing of what was sent</li>
<li>earlier backups, until they expire</li>
</ul></section></div>
${scavenges && html`<p>The events can no longer be read. The event log’s files keep their bytes until each of its nodes has scavenged.</p>`}`;
}

async function erase(ports: ErasePorts, { entry, id }: Subject, visit: Visit): Promise<Reply> {
  const { form, caller, workspace, notice } = visit;
  if (textOf(form, 'record_id') !== id.trim()) {
    throw validationError([{ field: 'record_id', message: `is not the ID of the ${entry.kind}` }]);
  }
  const { tombstones, isComplete } = await eraseRecord(ports, caller, entry, id, {
    reason: textOf(form, 'reason'),
    withEncounters: valuesOf(form, 'with_encounters').length > 0,
  });
  const kinds = tombstones.slice(1).map(({ stream }) => kindOfStream(stream));
  const others = countByKind(kinds.filter((kind) => kind === 'document' || ownerKind(kind) === undefined));
  const end = isComplete
    ? erasedBytesText(ports)
    : 'It can no longer be read. The read models are behind: the service completes the erasure automatically.';
  notice(`The ${entry.kind} was erased${others && `, with ${others}`}. ${end}`);
  return { redirect: recordPath(workspace, entry.kind, id) };
}

/** Returns where the bytes of what was erased are: the projector removes them from the stores' files. */
function erasedBytesText({ eventLog }: ErasePorts): string {
  return eventLog.scavenger
    ? 'It can no longer be read. The event log’s files keep it until each of its nodes has scavenged.'
    : 'It can no longer be read. Its bytes will be removed from the stores’ files shortly.';
}
