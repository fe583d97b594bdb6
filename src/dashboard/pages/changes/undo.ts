import { diffFields } from '../../../domain/records/fold.ts';
import type { RecordFields } from '../../../domain/records/schema/kind.ts';
import { recordedParts, undoList } from '../../../modules/audit/changes.ts';
import {
  type UndoAction,
  type UndoneField,
  type UndoneRecord,
  undoActions,
  undoActionTexts,
} from '../../../modules/records/commands/undo.ts';
import type { PrincipalNames } from '../../../modules/records/queries/principalNames.ts';
import type { SelectedRecord } from '../../../modules/records/queries/selectedWrites.ts';
import { fieldLabel, titleOf } from '../../components/labels.ts';
import {
  admins,
  type DashboardRoute,
  type Html,
  html,
  type Reply,
  type Visit,
} from '../../components/page.ts';
import { who } from '../../components/people.ts';
import { fieldValue } from '../../components/records.ts';
import { linesCell, type TableColumn, table } from '../../components/tables.ts';
import { bdi } from '../../components/text.ts';
import { selectionOf } from './changes.ts';
import {
  type ChangesPorts,
  changesPath,
  countSome,
  figure,
  selectionRoutes,
  selectionSent,
} from './selection.ts';

/** Records that one undo writes: some seconds of work. */
const MOST_UNDONE = 5_000;

/** What an undo writes. */
const written: readonly UndoAction[] = ['revert', 'void', 'remove'];

/** `…/changes/undo`: what an undo of selected writes would do, and the undo. */
export function undoRoutes(ports: ChangesPorts): DashboardRoute[] {
  const { names } = ports;
  return [
    ...selectionRoutes<UndoneRecord>(ports, {
      ...{ suffix: '/undo', title: 'Undo', labels: ['From', 'Before'] },
      none: 'There is nothing to undo.',
      lead: () =>
        'Gives records the values from before the selected writes; what others wrote since stays. An undo is one more write, and can be undone: select its request.',
      list: (sent, { caller }) => undoList(ports, caller, selectionOf(sent), { dryRun: true }),
      actions: () => undefined,
      async table(items, recordColumn) {
        await names.learn(items.flatMap(({ fields }) => fields.flatMap(({ by }) => by?.principal ?? [])));
        return table('Plan of the undo', planColumns(names, recordColumn), items);
      },
      counts,
    }),
    {
      ...{ method: 'post', path: '/workspaces/:workspace/changes/undo', roles: admins },
      handle: (visit) => undo(ports, visit),
    },
  ];
}

/** Returns how many records would be undone, and how, with the button that does it. */
async function counts(
  parts: AsyncIterable<UndoneRecord[]>,
  { workspace, csrf, may }: Visit,
  sent: Readonly<Record<string, string>>,
): Promise<Html> {
  const byAction = new Map<UndoAction, number>();
  const note = await countSome(
    parts,
    ({ action }) => byAction.set(action, (byAction.get(action) ?? 0) + 1),
    MOST_UNDONE,
  );
  const all = written.reduce((sum, action) => sum + (byAction.get(action) ?? 0), 0);
  const button = html`<form method="post" action="${changesPath(workspace, '/undo')}">${csrf}${Object.entries(
    sent,
  ).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<div class="actions"><button type="submit" class="danger">Undo ${figure(all, 'record')}</button></div></form>`;
  return html`${note && html`${note}<p class="muted">One undo writes ${figure(MOST_UNDONE, 'record')}; repeat it for the rest.</p>`}
${all > 0 && (may(admins) ? button : html`<p class="muted">An administrator can apply it.</p>`)}
<div class="charts">${table(
    'Records by what is done with them',
    [
      { title: 'What is done', isHeader: true, cell: (action) => titleOf(undoActionTexts[action]) },
      {
        title: 'Records',
        isNumber: true,
        cell: (action) => byAction.get(action)?.toLocaleString('en-US'),
      },
    ],
    undoActions.filter((action) => byAction.has(action)),
  )}</div>`;
}

function planColumns(
  names: PrincipalNames,
  recordColumn: TableColumn<SelectedRecord>,
): TableColumn<UndoneRecord>[] {
  const kept = ({ by }: UndoneField) =>
    by
      ? html`, version ${by.version} by ${who({ ...by.principal, name: names.nameOf(by.principal) ?? null })}`
      : ', as it is required';
  const linesOf = (one: UndoneField) => {
    if (one.action === 'keep')
      return [{ name: fieldLabel(one.field), line: html`${fieldLabel(one.field)} stays${kept(one)}` }];
    const [now, then] = [one.from, one.to].map((value) => ({ [one.field]: value }) as RecordFields);
    return diffFields(now, then as RecordFields).map(({ field, from, to }) => ({
      name: fieldLabel(field),
      line: html`${fieldLabel(field)}: ${fieldValue(from)} → <strong>${fieldValue(to)}</strong>`,
    }));
  };
  return [
    recordColumn,
    {
      title: 'What is done',
      isCut: true,
      cell: ({ action, problem }) =>
        html`${titleOf(undoActionTexts[action])}${problem && html`: ${bdi(problem)}`}`,
    },
    { title: 'Fields', isCut: true, cell: ({ fields }) => linesCell(fields.flatMap(linesOf)) },
  ];
}

/** Applies an undo; the page that follows has the plan of undoing it. */
async function undo(ports: ChangesPorts, { form, workspace, caller, notice }: Visit): Promise<Reply> {
  const selection = selectionOf(selectionSent(form));
  const from = new Date().toISOString();
  let [done, blocked] = [0, 0];
  const plan = undoList(ports, caller, selection, { dryRun: false });
  for await (const part of await recordedParts(ports, caller, plan)) {
    done += part.filter(({ action }) => written.includes(action)).length;
    blocked += part.filter(({ action }) => action === 'blocked').length;
    if (done >= MOST_UNDONE) break;
  }
  notice(
    `${figure(done, 'record')} undone${blocked > 0 ? `, ${figure(blocked, 'record')} blocked` : ''}. To undo this, apply the plan below.`,
  );
  const query = new URLSearchParams({ from, request: caller.requestId });
  return { redirect: `/workspaces/${workspace}/changes/undo?${query}` };
}
