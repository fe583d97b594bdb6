import { pathId } from '../../api/schemas/parameters.ts';
import { addHold, type HeldRecord } from '../../modules/erasure/addHold.ts';
import type { Hold } from '../../modules/erasure/holdState.ts';
import { readHolds } from '../../modules/erasure/readHolds.ts';
import { findHold, releaseHold } from '../../modules/erasure/releaseHold.ts';
import { type QueryPorts, readRecord } from '../../modules/records/queries/readRecord.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import { confirmedChange } from '../components/confirmation.ts';
import { input, messageOf } from '../components/formFields.ts';
import { holdsPath, holdsSection } from '../components/holdPaths.ts';
import { type Html, html } from '../components/html.ts';
import { recordPath } from '../components/recordPaths.ts';
import { kindOf, recordsSection } from '../components/recordQuery.ts';
import { type DashboardRoute, holdKeepers } from '../components/route.ts';
import { textOf } from '../components/sentForm.ts';
import { code } from '../components/text.ts';
import { type ErasedPorts, orErased } from './records/orErased.ts';

interface HoldPorts extends QueryPorts, ErasedPorts {}

/**
 * Places a workspace or a record under legal hold, and ends a hold: for each, the confirmation page and the action.
 */
export function holdChangeRoutes(ports: HoldPorts): DashboardRoute[] {
  return [...workspaceHold(ports), ...recordHold(ports), ...release(ports)];
}

function workspaceHold({ eventLog }: HoldPorts): DashboardRoute[] {
  return confirmedChange({
    roles: holdKeepers,
    path: '/workspaces/:workspace/holds/new',
    find: ({ workspace }) => workspace,
    question: (workspace, _visit, details) => ({
      title: `Put workspace ${workspace} under legal hold?`,
      section: holdsSection,
      text: 'Until the hold is released, nobody can erase a record of the workspace. Everything else works as before.',
      fields: reasonField(details),
      button: 'Hold workspace',
      back: holdsPath(workspace),
    }),
    async make(workspace, { caller, form, notice }) {
      const id = await addHold(eventLog, caller, undefined, textOf(form, 'reason'));
      notice(`The workspace is under legal hold ${id}.`);
      return { redirect: holdsPath(workspace) };
    },
  });
}

function recordHold(ports: HoldPorts): DashboardRoute[] {
  return confirmedChange<HeldRecord>({
    roles: holdKeepers,
    path: '/workspaces/:workspace/records/:kind/:id/hold',
    async find({ req, workspace }) {
      const entry = kindOf(req.params.kind);
      const id = pathId(req, 'id', entry.title);
      await readRecord(ports, workspace, entry, id);
      return { entry, id };
    },
    question: ({ entry: { kind }, id }, { workspace }, details) => ({
      title: `Put this ${kind} under legal hold?`,
      section: recordsSection,
      text: html`${code(id)}. Until the hold is released, nobody can erase it${protectedToo[kind]}. It can still be changed.`,
      fields: reasonField(details),
      button: `Hold ${kind}`,
      back: recordPath(workspace, kind, id),
    }),
    async make(record, { caller, workspace, form, notice }) {
      const { kind } = record.entry;
      const holdId = await addHold(ports.eventLog, caller, record, textOf(form, 'reason'));
      notice(`The ${kind} is under legal hold ${holdId}.`);
      return { redirect: recordPath(workspace, kind, record.id) };
    },
  }).map((route) => orErased(ports, route));
}

/** What a hold on a record of a kind also protects. */
const protectedToo: Record<string, string | undefined> = {
  patient: ', its encounters or their documents',
  encounter: ', its documents or its patient',
};

function release({ eventLog }: HoldPorts): DashboardRoute[] {
  return confirmedChange<Hold>({
    roles: holdKeepers,
    path: '/workspaces/:workspace/holds/:hold/release',
    async find({ req, workspace }) {
      return findHold((await readHolds(eventLog, workspace)).holds, String(req.params.hold));
    },
    question: ({ id, record }, { workspace }, details) => ({
      title: 'Release this legal hold?',
      section: holdsSection,
      text: html`${code(id)}, on ${record ? html`the ${record.kind} ${code(record.id)}` : 'the workspace'}. Anything under no other hold can be erased again, also by the workspace’s retention.`,
      fields: reasonField(details),
      button: 'Release hold',
      isDangerous: true,
      back: holdsPath(workspace),
    }),
    async make({ id }, { caller, workspace, form, notice }) {
      await releaseHold(eventLog, caller, id, textOf(form, 'reason'));
      notice(`Hold ${id} is released.`);
      return { redirect: holdsPath(workspace) };
    },
  });
}

function reasonField(details?: readonly FieldMessage[]): Html {
  return input({
    name: 'reason',
    label: 'Reason',
    hint: 'For example, a case name. Do not identify anyone: the reason is kept permanently.',
    error: messageOf(details, 'reason'),
    isRequired: true,
    autocomplete: 'off',
  });
}
