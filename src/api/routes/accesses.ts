import { z } from 'zod';
import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import type { CatalogEntry } from '../../domain/records/schema/kind.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { auditFilter, readAuditTrail } from '../../modules/audit/trail.ts';
import type { HistoryPorts } from '../../modules/records/queries/history.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { exampleRequestId } from '../schemas/examples.ts';
import { accessSubject, pageQuerySchema, pageRequest, pathId, recordPath } from '../schemas/parameters.ts';
import { pageOf, principal, tagOf, timestamp, withArticle } from '../schemas/records.ts';
import { callerOf } from '../server/requestContext.ts';
import { exampleSender } from './history.ts';

const accessSchema = z
  .object({
    at: timestamp('When it was seen; what was sent to streams and webhooks is recorded within a minute'),
    action: z.string().meta({ description: 'How, as in the audit trail', examples: ['record.read'] }),
    principal: principal('Who saw it'),
    found_by: z.enum(['id', 'range']).meta({
      description:
        '`id`: the entry names it; `range`: it lies where a list, stream, webhook or export was shown events, and may have been ' +
        'left out',
    }),
    client_ip: z.string().nullable(),
    user_agent: z.string().nullable(),
    purpose_statement: z.string().nullable().meta({ description: 'What for, as stated then' }),
    request_id: z.uuid().meta({ description: 'The `Request-Id` of the read' }),
  })
  .meta({ id: 'Access', description: 'A read by which somebody saw a record, or may have.' });

function accessView(
  { recordedAt, action, type, principal, shown, ...entry }: AuditEntry,
  names: HistoryPorts['names'],
): z.infer<typeof accessSchema> {
  return {
    at: recordedAt,
    action: action ?? type,
    principal: { ...principal, name: names.nameOf(principal) ?? null },
    found_by: shown === undefined || shown.things ? 'id' : 'range',
    client_ip: entry.clientIp ?? null,
    user_agent: entry.userAgent ?? null,
    purpose_statement: entry.disclosedTo?.purpose_statement ?? null,
    request_id: entry.requestId ?? entry.eventId,
  };
}

const example: z.infer<typeof accessSchema> = {
  ...{ at: '2026-03-14T16:05:12.480Z', action: 'record.read' },
  principal: exampleSender.principal as z.infer<typeof accessSchema>['principal'],
  found_by: 'id',
  ...{ client_ip: '203.0.113.7', user_agent: 'emr-connector/4.2', purpose_statement: null },
  request_id: exampleRequestId,
};

/** `GET /integration/{kinds}/{id}/accesses`: who has seen a record, newest first. */
export function readRecordAccesses(entry: CatalogEntry) {
  const { title, kind } = entry;
  const isPatient = kind === patient.kind;
  return endpoint({
    method: 'get',
    path: `/integration/${entry.plural}/{id}/accesses`,
    operationId: `get${title}Accesses`,
    summary: `Find out who has seen ${withArticle(kind)}`,
    description:
      `Every read by which somebody saw the ${kind}${isPatient ? ', its encounters or their documents' : ''}, newest first: by its ` +
      'id, in a list, an export, the event stream or a webhook. A page may have fewer items than `limit`, or none: the list ' +
      'continues as long as there is a `next_page_token`. The read is itself recorded in the audit trail.',
    tag: tagOf(entry),
    permission: 'audit',
    params: recordPath(entry),
    query: pageQuerySchema,
    answers: {
      200: {
        description: 'A page of accesses.',
        schema: pageOf(accessSchema).meta({ id: 'AccessPage', description: 'A page of accesses.' }),
        example: { items: [example], next_page_token: null },
      },
    },
    errors: ['RecordNotFound'],
    subject: ({ req }) => accessSubject(kind, req.params.id),
    handler: (ports: QueryPorts & HistoryPorts) => async (context) => {
      const id = pathId(context.req, 'id', title);
      const caller = callerOf(context);
      const query = { kind, id, seen: isPatient ? 'all' : 'yes' };
      const filter = await auditFilter(ports, caller.workspace, query);
      const page = await readAuditTrail(ports, caller.workspace, filter, pageRequest(context.req));
      await ports.names.learn(page.items.map(({ principal }) => principal));
      await recordAccess(ports.eventLog, caller, { action: 'audit.read', query });
      const items = page.items.map((one) => accessView(one, ports.names));
      return { body: { items, next_page_token: page.next_page_token } };
    },
  });
}
