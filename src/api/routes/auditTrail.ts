import { Readable } from 'node:stream';
import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import type { Position, Principal } from '../../domain/events/event.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { readAuditAfter } from '../../modules/audit/trail.ts';
import { formatPosition, parsePosition, requirePlace } from '../../modules/eventStream/position.ts';
import { auditLine } from '../../modules/integrity/export.ts';
import type { HistoryPorts } from '../../modules/records/queries/history.ts';
import { bytesSchema, endpoint } from '../schemas/endpoint.ts';
import { exampleRequestId } from '../schemas/examples.ts';
import { auditQuerySchema, eventMediaTypes } from '../schemas/parameters.ts';
import { callerOf } from '../server/requestContext.ts';
import { exampleSender } from './history.ts';

const ACTION = 'audit.read';

const { name, ...principal } = exampleSender.principal;
const example: AuditEntry = {
  ...{ position: 8_136, eventId: exampleRequestId, type: 'AccessRecorded', action: 'record.read' },
  ...{ recordedAt: '2026-03-14T09:30:00.000Z', principal: principal as Principal },
  ...{ kind: 'patient', id: 'patient-1001', clientIp: '203.0.113.7', userAgent: 'emr-connector/4.2' },
};

/** `GET /integration/audit`: the audit trail, oldest first, for systems that collect it. */
export const readAudit = endpoint({
  method: 'get',
  path: '/integration/audit',
  operationId: 'readAuditTrail',
  summary: 'Read the audit trail',
  description:
    'Who changed, read or was refused what in the workspace, oldest first: one entry per line, as in the export of the ' +
    'trail. The header `Chartledger-Position` says where to continue: send it as `after`. An empty page means that there ' +
    'are no further entries for now. Entries have ids of records, and no values. The read is itself recorded in the audit ' +
    "trail, unless it returned nothing, or nothing but the same key's earlier reads of it.",
  tag: 'Requests',
  permission: 'audit',
  query: auditQuerySchema,
  answers: {
    200: {
      description: 'Entries, in log order.',
      headers: ['Chartledger-Position'],
      stream: {
        [eventMediaTypes.ndjson]: {
          schema: bytesSchema,
          example: auditLine(example, 'ndjson', () => name ?? undefined),
        },
      },
    },
  },
  errors: ['PositionGone'],
  handler: (ports: HistoryPorts) => async (context) => {
    const { after: sent, limit } = validate(auditQuerySchema, context.req.query);
    const after: Position = sent === undefined ? 0 : (parsePosition(sent) as Position);
    await requirePlace(ports.eventLog, after, 'after');
    const caller = callerOf(context);
    const entries = await readAuditAfter(ports, caller.workspace, after, limit);
    await ports.names.learn(entries.map(({ principal }) => principal));
    const isOwnRead = ({ action, principal }: AuditEntry) =>
      action === ACTION && principal.type === caller.principal.type && principal.id === caller.principal.id;
    // Otherwise each poll would have the entry of the one before to read.
    if (!entries.every(isOwnRead))
      await recordAccess(ports.eventLog, caller, { action: ACTION, query: { ...context.req.query } });
    const lines = entries.map((entry) => auditLine(entry, 'ndjson', (one) => ports.names.nameOf(one)));
    return {
      headers: {
        'Content-Type': eventMediaTypes.ndjson,
        'Chartledger-Position': formatPosition(entries.at(-1)?.position ?? after),
      },
      body: { stream: Readable.from(lines) },
    };
  },
});
