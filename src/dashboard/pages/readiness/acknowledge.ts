import { acknowledgementSchema } from '../../../api/routes/billing.ts';
import { pathId } from '../../../api/schemas/parameters.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { validate } from '../../../domain/records/schema/validation.ts';
import { readinessAccess } from '../../../modules/audit/accesses.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import { acknowledgeChanges, changedConcurrently } from '../../../modules/readiness/billingCommands.ts';
import { type Readiness, readReadiness } from '../../../modules/readiness/queries.ts';
import type { QueryPorts } from '../../../modules/records/queries/records.ts';
import type { FieldMessage } from '../../../platform/errors.ts';
import { type Confirmation, confirmedChange, input, messageOf } from '../../components/forms.ts';
import {
  type DashboardRoute,
  html,
  type Reply,
  recordReaders,
  textOf,
  type Visit,
} from '../../components/page.ts';
import { recordsSection } from '../../components/recordTable.ts';
import { recordPath } from '../../components/urls.ts';
import { billedSummary, changesSince } from '../records/parts.ts';
import { type ErasedPorts, orErased, readCalled } from '../records/shared.ts';

interface AcknowledgePorts extends QueryPorts, ErasedPorts {}

/**
 * `…/records/encounters/{id}/billed/acknowledge`: asks why changes made after an encounter was billed are acceptable,
 * and records the reason. Anyone who may see the change may judge it; nothing is written to the records.
 */
export function acknowledgeBillingRoutes(ports: AcknowledgePorts): DashboardRoute[] {
  return confirmedChange<Readiness>({
    path: '/workspaces/:workspace/records/encounters/:id/billed/acknowledge',
    roles: recordReaders,
    find: ({ req, workspace }) =>
      readReadiness(ports, workspace, pathId(req, 'id', encounter.title), undefined),
    question: (readiness, visit, details) => question(ports, readiness, visit, details),
    make: (readiness, visit) => acknowledge(ports, readiness, visit),
  }).map((route) => orErased(ports, route));
}

async function question(
  ports: AcknowledgePorts,
  readiness: Readiness,
  visit: Visit,
  details?: readonly FieldMessage[],
): Promise<Confirmation> {
  const { kind, id } = readiness.encounter;
  const { workspace, caller } = visit;
  const billed = await billedSummary(workspace, ports.names, readiness);
  await recordAccess(ports.eventLog, caller, readinessAccess(readiness, undefined));
  const fields = html`<input type="hidden" name="versions" value="${versionsOf(readiness)}">
${input({
  name: 'reason',
  label: 'Reason',
  hint: 'Why no new claim is needed. Erased with the encounter.',
  error: messageOf(details, 'reason'),
  isRequired: true,
  autocomplete: 'off',
})}`;
  const isPossible = changesSince(readiness).length > 0;
  const { called, breadcrumb } = await readCalled(ports, visit, readiness.encounter);
  return {
    title: 'Acknowledge these changes?',
    section: recordsSection,
    breadcrumb,
    text: html`Encounter of ${called}. The claim need not be sent again if you say why; later changes are a new finding.`,
    fields: html`${billed ?? html`<p>It has not been billed.</p>`}
${isPossible && fields}`,
    button: isPossible ? 'Acknowledge changes' : undefined,
    back: recordPath(workspace, kind, id),
  };
}

async function acknowledge(ports: AcknowledgePorts, readiness: Readiness, visit: Visit): Promise<Reply> {
  const { caller, workspace, form, notice } = visit;
  const { kind, id } = readiness.encounter;
  const { reason } = validate(acknowledgementSchema.pick({ reason: true }), {
    reason: textOf(form, 'reason'),
  });
  if (textOf(form, 'versions') !== versionsOf(readiness)) throw changedConcurrently();
  const versions = readiness.used;
  const { outcome } = await acknowledgeChanges(ports, caller, id, { reason, versions });
  notice(
    outcome === 'unchanged'
      ? 'Nothing in the claim has changed, so there was nothing to acknowledge.'
      : 'The changes were acknowledged.',
  );
  return { redirect: recordPath(workspace, kind, id) };
}

/** Returns the versions that were looked at: the first ones show which records these belong to. */
function versionsOf({ used }: Readiness): string {
  return used.map(({ version }) => version).join('.');
}
