import { pathId } from '../../api/schemas/parameters.ts';
import { type ReturnChoice, returnChoices } from '../../domain/events/event.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import type { CatalogEntry } from '../../domain/records/schema/kind.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { KeyManager } from '../../modules/auth/keyManager.ts';
import { decideReturn, type ReturnedRecord, returnedRecords } from '../../modules/erasure/returned.ts';
import { returnDecisions } from '../../modules/records/commands/returns.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { confirmedChange, input, messageOf, select } from '../components/forms.ts';
import { titleOf } from '../components/labels.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  admins,
  type DashboardRoute,
  type Html,
  holdKeepers,
  html,
  phiReaders,
  type Reply,
  textOf,
  type Visit,
} from '../components/page.ts';
import { kindOf } from '../components/recordTable.ts';
import { table } from '../components/tables.ts';
import { badge, bdi, code, empty, time } from '../components/text.ts';
import { recordPath, returnedPath, returnedSection } from '../components/urls.ts';

interface ReturnedPorts {
  eventLog: EventLog;
  directory: KeyDirectory;
  names: PrincipalNames;
}

/** `…/returned`: records that were sent again after their erasure, what happens to them, and the decision about one. */
export function returnedRoutes(ports: ReturnedPorts): DashboardRoute[] {
  const { directory } = ports;
  const path = '/workspaces/:workspace/returned';
  return [
    { method: 'get', path, roles: phiReaders, handle: (visit) => list(ports, visit) },
    {
      method: 'post',
      path,
      roles: admins,
      async handle({ workspace, actor, form, notice }) {
        const choice = returnChoices.find((one) => one === textOf(form, 'choice'));
        if (choice === undefined)
          throw validationError([{ field: 'choice', message: `must be ${returnChoices.join(', ')}` }]);
        await new KeyManager(directory, actor).setReturns(workspace, choice);
        notice(`Erased records that are sent again: ${choiceTexts[choice].toLowerCase()}.`);
        return { redirect: returnedPath(workspace) };
      },
    },
    ...returnDecisions.flatMap((decision) => decisionRoutes(ports, decision)),
  ];
}

const choiceTexts: Record<ReturnChoice, string> = {
  allow: 'Let them exist again, with a warning to the sender',
  refuse: 'Refuse them',
  review: 'Refuse them until somebody decides',
};

const decisionTexts = {
  allow: {
    title: 'Let this record return?',
    text: 'When it is sent again, it exists again. Nothing of what was refused was kept.',
    button: 'Let it return',
    notice: 'The record returns when it is sent again.',
  },
  refuse: {
    title: 'Refuse this record?',
    text: 'Whenever it is sent again, the sender gets the error previously_erased. Ask the sender to remove it.',
    button: 'Refuse it',
    notice: 'The record is refused when it is sent again.',
  },
} as const;

function decisionRoutes({ eventLog }: ReturnedPorts, decision: keyof typeof decisionTexts): DashboardRoute[] {
  const { title, text, button, notice: done } = decisionTexts[decision];
  return confirmedChange<{ entry: CatalogEntry; id: string }>({
    roles: holdKeepers,
    path: `/workspaces/:workspace/returned/:kind/:id/${decision}`,
    find({ req }) {
      const entry = kindOf(req.params.kind);
      return { entry, id: pathId(req, 'id', entry.title) };
    },
    question: ({ entry: { kind }, id }, { workspace }, details) => ({
      title,
      section: returnedSection,
      breadcrumb: breadcrumb([{ text: returnedSection, path: returnedPath(workspace) }]),
      text: html`${titleOf(kind)} ${code(id)}. ${text}`,
      fields: input({
        name: 'reason',
        label: 'Reason',
        hint: 'Do not identify anyone: the reason is kept permanently.',
        error: messageOf(details, 'reason'),
        isRequired: true,
        autocomplete: 'off',
      }),
      button,
      back: returnedPath(workspace),
    }),
    async make({ entry, id }, { caller, workspace, form, notice }) {
      await decideReturn(eventLog, caller, entry, id, { decision, reason: textOf(form, 'reason') });
      notice(done);
      return { redirect: returnedPath(workspace) };
    },
  });
}

/** The most that are shown; the command and the API list all. */
const MOST = 200;

async function list({ eventLog, directory, names }: ReturnedPorts, visit: Visit): Promise<Reply> {
  const { workspace, caller, csrf } = visit;
  const choice = directory.returnsOf(workspace);
  /** The first that wait, and the last of the others. */
  const waiting: ReturnedRecord[] = [];
  const others: ReturnedRecord[] = [];
  let total = 0;
  for await (const part of returnedRecords(eventLog, workspace, choice)) {
    total += part.length;
    for (const { record } of part) (record.state === 'waiting' ? waiting : others).push(record);
    waiting.splice(MOST);
    others.splice(0, others.length - MOST);
  }
  const shown = [...waiting, ...others.reverse()].slice(0, MOST);
  await names.learn(
    shown.flatMap(({ principal, decided }) => [principal ?? [], decided?.principal ?? []].flat()),
  );
  await recordAccess(eventLog, caller, { action: 'record.list', query: { returned: true } });
  const settings = html`<form method="post" class="line" action="/dashboard${returnedPath(workspace)}">${csrf}
${select({
  name: 'choice',
  label: 'Erased records that are sent again',
  value: choice,
  options: returnChoices.map((value) => ({ value, text: choiceTexts[value] })),
})}
<button type="submit">Save</button>
</form>`;
  const body = html`<h1>Returned records</h1>
<p>Records that were sent again after their erasure, usually by the next nightly synchronization of an EMR that still has them. What is refused is not kept: once a record may return, the EMR has to send it again.</p>
${visit.may(admins) ? settings : html`<p>Erased records that are sent again: <strong>${choiceTexts[choice].toLowerCase()}</strong>.</p>`}
${shown.length === 0 ? empty('No erased record was sent again.') : returnedTable(shown, names, visit)}
${total > shown.length && html`<p class="muted">${total - shown.length} more: ${code(`chartledger records returned --workspace ${workspace}`)} lists all.</p>`}`;
  return { page: { title: 'Returned records', section: returnedSection, body } };
}

const states = {
  returned: { text: 'Exists again', tone: 'neutral' },
  waiting: { text: 'Waits for a decision', tone: 'bad' },
  refused: { text: 'Refused', tone: 'good' },
  allowed: { text: 'May return', tone: 'neutral' },
} as const;

function returnedTable(found: readonly ReturnedRecord[], names: PrincipalNames, visit: Visit): Html {
  const { workspace } = visit;
  const path = ({ kind, id }: ReturnedRecord) =>
    `/dashboard${returnedPath(workspace)}/${catalogEntry(kind).plural}/${encodeURIComponent(id)}`;
  const link = (one: ReturnedRecord, decision: 'allow' | 'refuse') =>
    html`<a href="${path(one)}/${decision}" aria-label="${decisionTexts[decision].button}: ${one.id}">${decisionTexts[decision].button}</a> `;
  return html`<div class="flowing">${table(
    'Returned records',
    [
      {
        title: 'Record',
        isHeader: true,
        cell: ({ kind, id }) =>
          html`${titleOf(kind)} <a href="/dashboard${recordPath(workspace, kind, id)}">${bdi(id)}</a>`,
      },
      { title: 'State', cell: ({ state }) => badge(states[state].text, states[state].tone) },
      { title: 'Erased', cell: ({ erased_at }) => time(erased_at) },
      {
        title: 'Sent again',
        cell: ({ refused_at, returned_at, principal }) => {
          const at = refused_at ?? returned_at;
          return (
            at &&
            html`${time(at)}${principal && html` <small class="muted">${bdi(names.nameOf(principal) ?? principal.id)}</small>`}`
          );
        },
      },
      {
        title: 'Decided',
        cell: ({ decided }) =>
          decided &&
          html`${bdi(decided.reason)} <small class="muted">${time(decided.at)}, ${bdi(names.nameOf(decided.principal) ?? decided.principal.id)}</small>`,
      },
      ...(visit.may(holdKeepers)
        ? [
            {
              title: 'Actions',
              isTitleHidden: true,
              cell: (one: ReturnedRecord) =>
                one.state !== 'returned' &&
                html`${one.state !== 'allowed' && link(one, 'allow')}${one.state !== 'refused' && link(one, 'refuse')}`,
            },
          ]
        : []),
    ],
    found,
  )}</div>`;
}
