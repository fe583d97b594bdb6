import { Readable } from 'node:stream';
import { z } from 'zod';
import { subjectKinds } from '../../domain/records/catalog.ts';
import { identifier, requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import {
  DifferenceCounts,
  type Differences,
  differences,
  differenceView,
  recordedDifferences,
  sendersOf,
} from '../../modules/audit/differences.ts';
import type { FoundKey } from '../../modules/auth/keyDirectory.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import type { DifferenceSelection } from '../../modules/records/queries/changes.ts';
import type { HistoryPorts } from '../../modules/records/queries/history.ts';
import { FairBudget, WORKSPACE_AND_KEY } from '../../platform/threads/fairBudget.ts';
import { bytesSchema, endpoint } from '../schemas/endpoint.ts';
import { withPlus } from '../schemas/parameters.ts';
import { requirePermission, requireUsable } from '../server/admission.ts';
import { NDJSON } from '../server/answer.ts';
import { ownersOf, reserveShare } from '../server/loadShedder.ts';
import { callerOf } from '../server/requestContext.ts';
import { linesOf } from './batch.ts';
import type { EventsPorts } from './events.ts';
import { exampleSender } from './history.ts';

/** How many run at a time in a request thread: each reads the log. */
const MOST_AT_ONCE = 4;

const moment = (description: string) => requiredDate('2026-03-01', description);

/** Query of the differences between two moments. */
export const differencesQuerySchema = z.object({
  since: moment('The earlier moment. A plain date means its first moment; a time without an offset is UTC'),
  until: moment('The later moment, after `since` and not in the future; default: now').optional(),
  kind: z
    .enum(subjectKinds)
    .optional()
    .meta({ description: 'Only this kind of record, or documents', examples: ['patient'] }),
  principal: identifier(
    'Only fields whose last write in between is by the key, user or operator with this id',
    'key_4fTq9LmZs2Xw8RbC',
  ).optional(),
  source: identifier(
    'Only fields whose last write in between is from a message of this source',
    'emr',
  ).optional(),
  request: z
    .uuid()
    .optional()
    .meta({ description: 'Only fields whose last write in between is of this request' }),
});

/** Returns which differences are asked for. Throws `validation_failed`. */
export function differenceSelection({
  since,
  until,
  kind,
  ...by
}: z.infer<typeof differencesQuerySchema>): DifferenceSelection {
  const [from, to] = [instantOf(since), until === undefined ? Date.now() : instantOf(until)];
  const problem = (field: string, message: string) => validationError([{ field, message }]);
  if (to > Date.now()) throw problem('until', 'must not be in the future');
  if (from >= to) throw problem('since', 'must be before the later moment, and in the past');
  const sent = Object.entries(by).filter(([, value]) => value !== undefined);
  return {
    ...{ since: new Date(from).toISOString(), until: new Date(to).toISOString() },
    ...(kind !== undefined && { kinds: [kind] }),
    ...Object.fromEntries(sent),
  };
}

const exampleLines = [
  { diff: { since: '2026-03-01T00:00:00.000Z', until: '2026-04-01T00:00:00.000Z' } },
  {
    ...{ kind: 'patient', id: 'patient-1001', change: 'changed' },
    fields: [
      {
        ...{ field: 'city', from: 'Omaha', to: 'Lincoln', version: 3 },
        ...{ at: '2026-03-14T09:30:00.000Z', principal: exampleSender.principal },
      },
    ],
  },
  {
    end: {
      records: { patient: { created: 0, changed: 1, removed: 0, erased: 0, unreadable: 0 } },
      fields: { 'patient.city': 1 },
      senders: [{ principal: exampleSender.principal, records: 1, fields: 1 }],
    },
  },
];

/** `GET /integration/diff`. */
export const readDiff = endpoint({
  method: 'get',
  path: '/integration/diff',
  operationId: 'readDiff',
  summary: 'Read what is different between two moments',
  description:
    'What is different in the workspace at `until` from what it was at `since`, one line of JSON per record or document: what became ' +
    `of it (${differences.map((one) => `\`${one}\``).join(', ')}), and each field with both values, and its last write in between. ` +
    'Only the result counts: a field that was changed and changed back is no difference, and neither is a document that was uploaded and ' +
    'removed. A record that was created and voided is created. Of a record that was erased in between, only that is reported; ' +
    'nothing of one that was erased later. `unreadable`: it has an event that cannot be read, so what changed is unknown. ' +
    'The first line has both moments. The last one, `end`, has the counts by kind, field and sender; if it is missing, the ' +
    'response is incomplete. Every event recorded since `since` is read.',
  tag: 'Requests',
  permission: ['read', ...subjectKinds.flatMap((kind) => onKind('read', kind).slice(1))],
  query: differencesQuerySchema,
  answers: {
    200: {
      description: 'The differences, in the order in which the records were first changed.',
      stream: { [NDJSON]: { schema: bytesSchema, example: linesOf(exampleLines) } },
    },
  },
  handler: (ports: EventsPorts & HistoryPorts) => {
    const running = new FairBudget(MOST_AT_ONCE, WORKSPACE_AND_KEY);
    return async (context) => {
      const query = validate(differencesQuerySchema, withPlus(context.req, 'since', 'until'));
      const selection = differenceSelection(query);
      const found = context.found as FoundKey;
      const kinds = query.kind === undefined ? subjectKinds : [query.kind];
      for (const kind of kinds) requirePermission(found, onKind('read', kind));
      const share = running.share(ownersOf(context));
      reserveShare(share, 1, 'comparisons');
      if (context.res.destroyed) share.release();
      else context.res.once('close', share.release);
      const compared = await recordedDifferences(ports, callerOf(context), selection);
      const check = () =>
        requireUsable(ports.directory.current(found), onKind('read', kinds[0] as string), context.clientIp);
      const first = { diff: { since: selection.since, until: selection.until } };
      return {
        headers: { 'Content-Type': NDJSON },
        body: { stream: Readable.from(textsOf(first, compared, ports, check)) },
      };
    };
  },
});

/** Yields a text for each part; `check` is called before. */
async function* textsOf(
  first: object,
  compared: Differences,
  { names }: HistoryPorts,
  check: () => void,
): AsyncGenerator<string> {
  yield linesOf([first]);
  const nameOf = names.nameOf.bind(names);
  const counts = new DifferenceCounts();
  for await (const records of compared.parts()) {
    check();
    await names.learn(sendersOf(records));
    for (const record of records) counts.add(record);
    if (records.length > 0) yield linesOf(records.map((record) => differenceView(record, nameOf)));
  }
  yield linesOf([{ end: counts.view(nameOf) }]);
}
