import { z } from 'zod';
import { returnChoices } from '../../domain/events/event.ts';
import { eventIdOf } from '../../domain/events/newEvent.ts';
import { KEYS_STREAM } from '../../domain/events/streams.ts';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import { identifier } from '../../domain/records/schema/fields.ts';
import { exactObject, validate } from '../../domain/records/schema/validation.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { KeyManager } from '../../modules/auth/keyManager.ts';
import { decideReturn, type ReturnedRecord, returnedPage } from '../../modules/erasure/returned.ts';
import { findPreviousAppend } from '../../modules/idempotency/keys.ts';
import { returnDecisions } from '../../modules/records/commands/returns.ts';
import type { HistoryPorts } from '../../modules/records/queries/history.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { exampleRequestId } from '../schemas/examples.ts';
import { pageQuerySchema, pageRequest } from '../schemas/parameters.ts';
import { doneAnswer, pageOf, principal, timestamp } from '../schemas/records.ts';
import { readJson } from '../server/body.ts';
import { type IdempotencyPorts, withOptionalIdempotency } from '../server/idempotency.ts';
import { callerOf } from '../server/requestContext.ts';
import { exampleSender } from './history.ts';

const path = '/integration/returned';
const common = { tag: 'Requests', permission: 'settings', takesIdempotencyKey: true } as const;

const choiceSchema = z.enum(returnChoices).meta({
  description:
    'What happens to a write of an erased record. `allow`: the record exists again, with the warning `previously_erased`; `refuse`: the ' +
    'write gets 410 `previously_erased`; `review`: it gets 409 `return_pending` until somebody decides.',
});
const kindSchema = z.enum(catalog.map(({ kind }) => kind) as [string, ...string[]]);
const idSchema = identifier('The id that the record was sent with.', 'patient-1001');
const reasonSchema = z.string().meta({
  description: 'Why; it is kept, so it must not identify the person concerned',
  examples: ['Erased by mistake'],
});
const decisionSchema = z.enum(returnDecisions);

const decidedSchema = z
  .object({
    decision: decisionSchema,
    reason: reasonSchema,
    at: timestamp('When it was decided'),
    principal: principal('Who decided'),
  })
  .meta({ id: 'ReturnDecided', description: 'What was decided about the return of a record.' });

const returnedSchema = z
  .object({
    kind: kindSchema,
    id: idSchema,
    state: z.enum(['returned', 'waiting', 'refused', 'allowed']).meta({
      description:
        '`returned`: it exists again. Otherwise what happens when it is sent: `waiting`: it is refused until somebody decides; ' +
        '`refused`; `allowed`: it returns',
    }),
    erased_at: timestamp('When it was erased'),
    refused_at: timestamp('When it was first refused since').nullable(),
    returned_at: timestamp('When it was written again').nullable(),
    version: z
      .int()
      .nullable()
      .meta({ description: 'Its first version after the erasure', examples: [3] }),
    principal: principal('Who sent it, first where it was refused').nullable(),
    request_id: z.string().nullable().meta({ description: 'The `Request-Id` of that' }),
    decided: decidedSchema.nullable(),
  })
  .meta({ id: 'ReturnedRecord', description: 'A record that was sent again after its erasure.' });

const listSchema = pageOf(returnedSchema).extend({ choice: choiceSchema }).meta({
  id: 'ReturnedRecords',
  description: 'The records that were sent again after their erasure.',
});

const someone = exampleSender.principal as z.infer<typeof returnedSchema>['principal'];
const example: z.infer<typeof returnedSchema> = {
  ...{ kind: 'patient', id: 'patient-1001', state: 'waiting', erased_at: '2026-03-14T16:05:12.480Z' },
  ...{ refused_at: '2026-03-15T02:00:07.113Z', returned_at: null, version: null },
  ...{ principal: someone, request_id: exampleRequestId, decided: null },
};

interface ReturnPorts extends HistoryPorts {
  directory: KeyDirectory;
}

/** `GET /integration/returned`. */
const listReturned = endpoint({
  method: 'get',
  path,
  operationId: 'listReturnedRecords',
  summary: 'List the records sent again after their erasure',
  description:
    'The choice of the workspace, and the records that were sent again after their erasure, or about which somebody decided, in the order of the ' +
    'erasures. A page takes as long as the erasures that it passes over. The read is itself recorded in the audit trail.',
  tag: common.tag,
  permission: 'audit',
  query: pageQuerySchema,
  answers: {
    200: {
      description: 'The records.',
      schema: listSchema,
      example: { choice: 'review', items: [example], next_page_token: null },
    },
  },
  handler:
    ({ eventLog, directory, names }: ReturnPorts) =>
    async (context) => {
      const caller = callerOf(context);
      const { workspace } = caller;
      const choice = directory.returnsOf(workspace);
      const page = await returnedPage(eventLog, workspace, choice, pageRequest(context.req));
      await recordAccess(eventLog, caller, { action: 'record.list', query: { returned: true } });
      const whose = ({ principal: sender, decided }: ReturnedRecord) => [
        sender ?? [],
        decided?.principal ?? [],
      ];
      await names.learn(page.items.flatMap(whose).flat());
      const named = (one: NonNullable<ReturnedRecord['principal']>) => ({
        ...{ type: one.type, id: one.id, name: names.nameOf(one) ?? null },
      });
      const items = page.items.map((one) => ({
        ...one,
        principal: one.principal && named(one.principal),
        decided: one.decided && { ...one.decided, principal: named(one.decided.principal) },
      }));
      return { body: { choice, items, next_page_token: page.next_page_token } };
    },
});

const done = { id: 'ReturnSet', description: 'It was set.' };

/** `PUT /integration/returned`. */
const setReturns = endpoint({
  ...common,
  method: 'put',
  path,
  operationId: 'setReturns',
  summary: 'Set what happens to erased records that are sent again',
  description:
    'Applies to the workspace, from the next write on, over every interface. A decision about a single record takes precedence, unless the choice is ' +
    '`allow`.',
  body: {
    required: true,
    content: {
      'application/json': {
        schema: exactObject({ choice: choiceSchema }).meta({ id: 'ReturnChoice', description: 'A choice.' }),
        example: { choice: 'review' },
      },
    },
  },
  answers: {
    200: doneAnswer('The choice is in force.', done, 'Choice set'),
  },
  errors: ['InvalidReturn', 'BodyTooLarge', 'NotJson'],
  handler: (ports: ReturnPorts & IdempotencyPorts) => async (context) => {
    const input = await readJson(context);
    const { choice } = validate(exactObject({ choice: choiceSchema }), input);
    await withOptionalIdempotency(ports, context, input, async (caller) => {
      if (await findPreviousAppend(ports.eventLog, KEYS_STREAM, caller)) return;
      const manager = new KeyManager(ports.directory, caller);
      await manager.setReturns(caller.workspace, choice, eventIdOf(caller));
    });
    return { body: { success: true, message: 'Choice set' } as const };
  },
});

const bodySchema = exactObject({
  kind: kindSchema,
  id: idSchema,
  decision: decisionSchema,
  reason: reasonSchema,
}).meta({ id: 'ReturnDecision', description: 'A decision about the return of an erased record.' });

/** `POST /integration/returned/decisions`. */
const decide = endpoint({
  ...common,
  method: 'post',
  path: `${path}/decisions`,
  operationId: 'decideReturn',
  summary: 'Decide whether an erased record returns',
  description:
    'With `allow`, the record exists again once it is sent again: nothing of what was refused was kept. The next erasure of the record ends the decision.',
  body: {
    required: true,
    content: {
      'application/json': {
        schema: bodySchema,
        example: { kind: 'patient', id: 'patient-1001', decision: 'allow', reason: 'Erased by mistake' },
      },
    },
  },
  answers: {
    200: doneAnswer('It is decided.', done, 'Decided'),
  },
  errors: ['InvalidReturn', 'RecordNotFound', 'NotErased', 'BodyTooLarge', 'NotJson'],
  handler: (ports: ReturnPorts & IdempotencyPorts) => async (context) => {
    const input = await readJson(context);
    const { kind, id, decision, reason } = validate(bodySchema, input);
    await withOptionalIdempotency(ports, context, input, (caller) =>
      decideReturn(ports.eventLog, caller, catalogEntry(kind), id, { decision, reason }),
    );
    return { body: { success: true, message: 'Decided' } as const };
  },
});

/** The endpoints of records that return after their erasure. */
export const returnEndpoints = [listReturned, setReturns, decide];
