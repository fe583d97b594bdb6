import { instantOf } from '../../../domain/records/schema/instantOf.ts';
import { readinessAccess } from '../../../modules/audit/readinessAccesses.ts';
import { readReadiness } from '../../../modules/readiness/readReadiness.ts';
import type { ReadinessState } from '../../../modules/readiness/rules/findings.ts';
import type { BilledRecord } from '../../../modules/readiness/rules/rule.ts';
import type { QueryPorts } from '../../../modules/records/queries/readRecord.ts';
import type { HistoryPorts } from '../../../modules/records/queries/versionPage.ts';
import { asUnreadable, UnreadableError } from '../../../platform/errors.ts';
import { facts } from '../../components/facts.ts';
import { type Html, html } from '../../components/html.ts';
import { readinessBadge } from '../../components/readinessBadge.ts';
import { fieldValue } from '../../components/recordFields.ts';
import { acknowledgePath } from '../../components/recordPaths.ts';
import { unlessBehind } from '../../components/recordQuery.ts';
import type { Visit } from '../../components/route.ts';
import { empty, tryAgain } from '../../components/text.ts';
import { billedSummary, changesSince } from './billedSummary.ts';
import { findingList } from './findingList.ts';
import type { RecordPart } from './recordParts.ts';

const texts: Record<ReadinessState, string> = {
  ready: 'Nothing blocks billing.',
  blocked: 'A payer would refuse it.',
  not_completed: 'It is not marked as completed.',
  voided: 'It is void and must not be billed.',
};

/**
 * Resolves with whether an encounter can be billed, now or as of a moment (as it was asked for), and what is in the
 * way.
 */
export async function encounterReadiness(
  ports: HistoryPorts & QueryPorts,
  { workspace, req }: Visit,
  id: string,
  asOf?: string,
): Promise<RecordPart> {
  const moment = asOf === undefined ? undefined : instantOf(asOf);
  const readiness = await unlessBehind(readReadiness(ports, workspace, id, moment)).catch(asUnreadable);
  if (readiness === undefined) {
    return { body: html`<h2>Readiness</h2>${tryAgain(req.originalUrl)}`, accesses: [] };
  }
  if (readiness instanceof UnreadableError) {
    const why = empty(
      'A record that it refers to has an event that this version of the service cannot read.',
    );
    return { body: html`<h2>Readiness</h2>${why}`, accesses: [] };
  }
  const { names } = ports;
  const { state, findings, encounter } = readiness;
  await names.learn(findings.map(({ cause }) => cause.event.metadata.principal));
  const billed = await billedSummary(workspace, names, readiness);
  const mayChangesStay = asOf === undefined && changesSince(readiness).length > 0;
  return {
    body: html`<h2>Readiness</h2>
<p>${readinessBadge(state)} ${texts[state]}</p>
${state === 'voided' && voidFacts(encounter)}
${findings.length > 0 && findingList(workspace, names, readiness)}
${billed && html`<h3>What was billed</h3>${billed}`}
${mayChangesStay && html`<p><a role="button" class="outline secondary" href="/dashboard${acknowledgePath(workspace, id)}">Acknowledge changes</a></p>`}`,
    accesses: [readinessAccess(readiness, asOf)],
  };
}

/** Returns since when, and why, an encounter is void, as sent. */
function voidFacts({ fields }: BilledRecord): Html {
  return facts([
    ['Void since', fieldValue(fields.voided_at)],
    ['Reason', fieldValue(fields.void_reason)],
  ]);
}
