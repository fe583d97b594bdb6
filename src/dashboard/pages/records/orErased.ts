import { pathId } from '../../../api/schemas/parameters.ts';
import { statusOf } from '../../../api/server/errorAnswer.ts';
import { recordStream } from '../../../domain/events/streamNames.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import { type ScavengePorts, whereBytesAre } from '../../../modules/erasure/scavenges.ts';
import type { HistoryPorts } from '../../../modules/records/queries/versionPage.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { unlessUnavailable } from '../../../platform/unlessUnavailable.ts';
import { erasedBanner } from '../../components/erasedBanner.ts';
import { type Html, html } from '../../components/html.ts';
import { disclosuresPath, recordPath, seenPath } from '../../components/recordPaths.ts';
import { kindOf, recordCrumbs, recordsSection } from '../../components/recordQuery.ts';
import { type DashboardRoute, phiReaders, type Reply, type Visit } from '../../components/route.ts';
import { code } from '../../components/text.ts';
import { timeline } from '../../components/timeline.ts';
import { readTimeline } from './readTimeline.ts';

export interface ErasedPorts extends HistoryPorts, ScavengePorts {}

/** Returns the page of a record; for an erased record, a page that says so, with what is left: the timeline. */
export function orErased(ports: ErasedPorts, route: DashboardRoute): DashboardRoute {
  return {
    ...route,
    async handle(visit) {
      try {
        return await route.handle(visit);
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'gone') return erasedPage(ports, visit, error);
        throw error;
      }
    },
  };
}

async function erasedPage(ports: ErasedPorts, visit: Visit, error: ServiceError): Promise<Reply> {
  const { req, workspace, may } = visit;
  const entry = kindOf(req.params.kind ?? encounter.plural);
  const id = pathId(req, 'id', entry.title);
  const { versions, access } = await readTimeline(ports, visit, entry, id);
  await recordAccess(ports.eventLog, visit.caller, access);
  const body = html`${recordCrumbs(workspace, entry)}
<div class="record-heading">
<h1>${entry.title}</h1>
${
  may(phiReaders) &&
  html`<p class="actions"><a role="button" class="outline" href="/dashboard${recordPath(workspace, entry.kind, id)}/certificate">Erasure certificate</a>
<a role="button" class="outline secondary" href="/dashboard${seenPath(workspace, entry.kind, id)}">Who has seen it</a>
${
  entry.kind === patient.kind &&
  html`<a role="button" class="outline secondary" href="/dashboard${disclosuresPath(workspace, id)}">Disclosures</a>`
}</p>`
}
</div>
<p class="record-facts"><span>ID ${code(id)}</span></p>
${erasedBanner(entry.kind, error.erasedAt as string)}
${await bytesNote(ports, recordStream(workspace, entry.kind, id))}
<h2>Timeline</h2>
${timeline(workspace, recordPath(workspace, entry.kind, id), versions)}`;
  return { page: { title: entry.title, section: recordsSection, status: statusOf.gone, error, body } };
}

/** Says where its bytes still are; nothing when the state store cannot be reached. */
async function bytesNote(ports: ErasedPorts, stream: string): Promise<Html | undefined> {
  const [last] = await ports.eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  const bytes = last && (await unlessUnavailable(whereBytesAre(ports, last.position)));
  if (bytes === undefined) return undefined;
  if (bytes.erased) return html`<p>No byte of it is left in the stores’ files.</p>`;
  if (ports.eventLog.scavenger === undefined)
    return html`<p>Its bytes are being removed from the stores’ files.</p>`;
  return bytes.nodes.length > 0
    ? html`<p>The event log’s files still contain its bytes on ${bytes.nodes.map(({ node }) => node).join(', ')}. These nodes are scavenged one after the other.</p>`
    : html`<p>The event log’s files contain its bytes until each of its nodes has scavenged.</p>`;
}
