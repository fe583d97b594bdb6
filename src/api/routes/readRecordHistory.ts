import { z } from 'zod';
import type { CatalogEntry, RecordFields } from '../../domain/records/catalog.ts';
import { diffFields } from '../../domain/records/diff.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import { readRecordHistory as readHistory } from '../../modules/records/queries/recordHistory.ts';
import type { HistoryPorts } from '../../modules/records/queries/versionPage.ts';
import { pageOf } from '../schemas/answerSchemas.ts';
import { recordPath } from '../schemas/documentedParameters.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { exampleRequestId, upsertRequests, viewExample } from '../schemas/examples.ts';
import { tagOf, withArticle } from '../schemas/kindNames.ts';
import { accessSubject, pageQuerySchema, pageRequest, pathId } from '../schemas/parameters.ts';
import { callerOf } from '../server/exchange.ts';
import { exampleFirstRequestId, exampleSender, versionEntrySchema } from './versionSchemas.ts';

const fieldValue = z.union([z.string(), z.boolean(), z.null()]);

const fieldChangeSchema = z
  .object({
    field: z.string().meta({
      description: 'Name of the field, in dot notation if nested',
      examples: ['primary_insurance.policy_number'],
    }),
    from: fieldValue.meta({ description: '`null` if it had no value' }),
    to: fieldValue.meta({ description: '`null` if it no longer has a value' }),
  })
  .meta({ id: 'FieldChange', description: 'A field whose value was changed by a version.' });

const recordVersionSchema = versionEntrySchema
  .extend({
    outcome: z.enum(['created', 'updated', 'unchanged', 'erased']).meta({
      description:
        '`unchanged`: everything that was sent had the same value already; `erased`: all versions before ' +
        'it were permanently erased',
    }),
    changes: z.array(fieldChangeSchema).meta({ description: 'For the first version, all fields' }),
  })
  .meta({ id: 'RecordVersion', description: 'A version of a record: who sent it, and what it changed.' });

const pageSchema = pageOf(recordVersionSchema).meta({
  id: 'RecordHistoryPage',
  description: 'A page of the versions of a record, newest first.',
});

/** A record sent twice with its required fields. */
function exampleOf(entry: CatalogEntry) {
  const { created_at, updated_at } = viewExample(entry);
  const sent = upsertRequests(entry).minimal?.value as RecordFields;
  const by = (id: string) => ({ event_id: id, type: entry.eventType, ...exampleSender, request_id: id });
  const first = { version: 1, recorded_at: created_at, ...by(exampleFirstRequestId) };
  const second = { version: 2, recorded_at: updated_at, ...by(exampleRequestId) };
  return {
    items: [
      { ...second, outcome: 'unchanged', changes: [] },
      { ...first, outcome: 'created', changes: diffFields(undefined, sent) },
    ],
    next_page_token: null,
  };
}

/** `GET /integration/{kinds}/{id}/history`: every version, newest first. */
export function readRecordHistory(entry: CatalogEntry) {
  const { title, kind } = entry;
  return endpoint({
    method: 'get',
    path: `/integration/${entry.plural}/{id}/history`,
    operationId: `get${title}History`,
    summary: `Read the history of ${withArticle(kind)}`,
    description:
      `Every version of the ${kind}, newest first: who sent it, when, from where, and what it changed. ` +
      'Sending the same value again is not a change. Versions stored in the meantime do not affect paging.',
    tag: tagOf(entry),
    permission: onKind('read', kind),
    params: recordPath(entry),
    query: pageQuerySchema,
    answers: {
      200: { description: 'A page of versions.', schema: pageSchema, example: exampleOf(entry) },
    },
    errors: ['RecordNotFound'],
    subject: ({ req }) => accessSubject(kind, req.params.id),
    handler: (ports: HistoryPorts) => async (exchange) => {
      const id = pathId(exchange.req, 'id', title);
      const caller = callerOf(exchange);
      const request = pageRequest(exchange.req);
      const body = await readHistory(ports, caller.workspace, entry, id, request);
      await recordAccess(ports.eventLog, caller, {
        action: 'record.history',
        kind,
        record_id: id,
        query: { ...request },
      });
      return { body };
    },
  });
}
