import type { CatalogEntry } from '../../../domain/records/catalog.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import type { AccessRecorded } from '../../../modules/audit/recordAccess.ts';
import { encountersOf } from '../../../modules/records/queries/encountersOf.ts';
import { type LatestDocuments, latestDocuments } from '../../../modules/records/queries/latestDocuments.ts';
import type { QueryPorts } from '../../../modules/records/queries/readRecord.ts';
import type { HistoryPorts } from '../../../modules/records/queries/versionPage.ts';
import { MOST_ENCOUNTERS } from '../../../modules/records/queries/wholeTimeline.ts';
import { documentTable } from '../../components/documents.ts';
import { type Html, html } from '../../components/html.ts';
import { documentsPath } from '../../components/recordPaths.ts';
import { unlessBehind } from '../../components/recordQuery.ts';
import type { Visit } from '../../components/route.ts';
import { leftOut, tryAgain } from '../../components/text.ts';
import { encounterReadiness } from './encounterReadiness.ts';
import { patientEncounters } from './patientEncounters.ts';
import { recordBlocks } from './recordBlocks.ts';

/** Maximum number of encounters, and of documents, on the page of a record; pages of their own list all. */
const SHOWN = 10;

export interface PartPorts extends QueryPorts, HistoryPorts {}

/** A part of a record's page, and the accesses to be recorded before it is shown. */
export interface RecordPart {
  body: Html;
  accesses: AccessRecorded[];
}

/**
 * Resolves with what is below a record on its page: for an encounter its readiness and documents, for all others what
 * they block; for a patient also its encounters and their documents.
 */
export function readRecordParts(
  ports: PartPorts,
  visit: Visit,
  entry: CatalogEntry,
  id: string,
): Promise<RecordPart[]> {
  if (entry.kind === encounter.kind) {
    return Promise.all([encounterReadiness(ports, visit, id), encounterDocumentsPart(ports, visit, id)]);
  }
  const blocks = recordBlocks(ports, visit, entry, id);
  if (entry.kind !== patient.kind) return Promise.all([blocks]);
  return Promise.all([blocks, patientEncounters(ports, visit, id), patientDocumentsPart(ports, visit, id)]);
}

async function patientDocumentsPart(ports: PartPorts, visit: Visit, id: string): Promise<RecordPart> {
  const { workspace, req } = visit;
  const encounters = await unlessBehind(encountersOf(ports, workspace, id, MOST_ENCOUNTERS));
  const ids = encounters?.places.map((one) => one.id);
  const list = ids && (await unlessBehind(latestDocuments(ports, workspace, ids, SHOWN)));
  const isWhole = list?.isWhole && encounters?.isWhole;
  return {
    body: html`<h2>Documents</h2>
${list ? documentTable(workspace, list.items, { isOfSeveral: true }) : tryAgain(req.originalUrl)}
${list && leftOut(list.unreadable)}
${list && !isWhole && html`<p class="muted">Only the most recently changed documents. The page of each encounter lists all of its documents.</p>`}`,
    accesses: accessesTo(list),
  };
}

async function encounterDocumentsPart(ports: PartPorts, visit: Visit, id: string): Promise<RecordPart> {
  const { workspace, req } = visit;
  const list = await unlessBehind(latestDocuments(ports, workspace, [id], SHOWN));
  const all = `/dashboard${documentsPath(workspace, id)}`;
  return {
    body: html`<h2>Documents</h2>
${list ? documentTable(workspace, list.items) : tryAgain(req.originalUrl)}
${list && leftOut(list.unreadable)}
${list && !list.isWhole && html`<p><a href="${all}">All documents</a></p>`}`,
    accesses: list ? [accessTo(id)] : [],
  };
}

/** Returns an access for each encounter whose documents are shown. */
function accessesTo(list: LatestDocuments | undefined): AccessRecorded[] {
  return [...new Set(list?.items.map(({ encounter_id }) => encounter_id))].map(accessTo);
}

function accessTo(encounterId: string): AccessRecorded {
  return { action: 'document.list', kind: 'document', record_id: encounterId, query: { limit: SHOWN } };
}
