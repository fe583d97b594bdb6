import { Readable } from 'node:stream';
import { z } from 'zod';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import type { RecordState } from '../../domain/records/fold.ts';
import { validate } from '../../domain/records/schema/validate.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { FoundKey } from '../../modules/auth/KeyDirectory.ts';
import { formatPosition } from '../../modules/eventStream/position.ts';
import { type SnapshotLine, snapshotLine } from '../../modules/eventStream/snapshotLine.ts';
import { type Snapshot, snapshotOf } from '../../modules/records/queries/snapshotOf.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { requireUsable } from '../server/admit.ts';
import { NDJSON } from '../server/answer.ts';
import { callerOf } from '../server/exchange.ts';
import { EVENT_ACCESS, type EventsPorts } from './readEvents.ts';
import { viewOf } from './requestedEvents.ts';

const snapshotQuerySchema = z.object({
  kind: z
    .enum(catalog.map(({ kind }) => kind))
    .meta({ description: 'The kind of record', examples: ['encounter'] }),
  view: z
    .enum(['full', 'deidentified'])
    .optional()
    .meta({
      description: 'Default `full`, or `deidentified` for a key that is allowed no other view',
      examples: ['full'],
    }),
});

const exampleLines = [
  { snapshot: { kind: 'payer', view: 'full', position: '0000000000008136' } },
  {
    subject: 'payer/payer-aetna',
    version: 2,
    created_at: '2026-03-14T09:00:00.000Z',
    updated_at: '2026-03-14T09:30:00.000Z',
    record: { id: 'payer-aetna', name: 'Aetna', state: 'CT' },
  } satisfies SnapshotLine,
  { end: { count: 1, unreadable: 0 } },
];

/** `GET /integration/snapshot`: every record of a kind, from which to continue with the event stream. */
export function readSnapshot() {
  return endpoint({
    method: 'get',
    path: '/integration/snapshot',
    operationId: 'readSnapshot',
    summary: 'Read every record of a kind',
    description:
      'Every record of a kind in the workspace, one line of JSON each, in the view that the key has on ' +
      '`GET /events`. Use it to start consuming the stream without processing it from its first event. ' +
      'The first line and the header `Chartledger-Position` contain the position after which to continue ' +
      'with `GET /events`. A record may be newer than this position: skip events whose `version` is not ' +
      'higher than the one here. `record` has the fields as they were sent, merged. The last line, `end`, ' +
      'says how many records there were; if it is missing, the snapshot is incomplete and must be read ' +
      'again. `unreadable` counts additional records that are omitted because one of their events cannot ' +
      'be read; lists name them. Erased records are not included.',
    tag: 'Events',
    permission: EVENT_ACCESS,
    query: snapshotQuerySchema,
    answers: {
      200: {
        description: 'The records, in the order of their creation.',
        headers: ['Chartledger-Position'],
        stream: {
          [NDJSON]: {
            schema: { type: 'string' },
            example: exampleLines.map((line) => `${JSON.stringify(line)}\n`).join(''),
          },
        },
      },
    },
    handler: (ports: EventsPorts) => async (exchange) => {
      const query = validate(snapshotQuerySchema, exchange.req.query);
      const entry = catalogEntry(query.kind);
      const found = exchange.found as FoundKey;
      const view = viewOf(found, query.view);
      const caller = callerOf(exchange);
      const deidentify = view === 'deidentified' ? await ports.feed.deidentifier() : undefined;
      const snapshot = await snapshotOf(ports, caller.workspace, entry);
      const position = formatPosition(snapshot.position);
      await recordAccess(ports.eventLog, caller, {
        action: 'export',
        kind: entry.kind,
        query: { snapshot: true, kind: entry.kind, view },
        shown: {
          ranges: [{ from: 0, to: snapshot.position }],
          event_types: [entry.eventType],
          ...(deidentify && { view: 'deidentified' }),
        },
      });
      const check = () => requireUsable(ports.directory.current(found), EVENT_ACCESS, exchange.clientIp);
      const first = { snapshot: { kind: entry.kind, view, position } };
      const toLine = (state: RecordState) => snapshotLine(caller.workspace, entry, state, deidentify);
      return {
        headers: { 'Content-Type': NDJSON, 'Chartledger-Position': position },
        body: { stream: Readable.from(linesOf(first, snapshot.parts(check), toLine)) },
      };
    },
  });
}

/** Yields a text for each part. */
async function* linesOf(
  first: object,
  parts: ReturnType<Snapshot['parts']>,
  toLine: (state: RecordState) => SnapshotLine,
): AsyncGenerator<string> {
  yield `${JSON.stringify(first)}\n`;
  const end = { count: 0, unreadable: 0 };
  for await (const part of parts) {
    const readable = part.filter((state) => state !== undefined);
    end.count += readable.length;
    end.unreadable += part.length - readable.length;
    yield readable.map((state) => `${JSON.stringify(toLine(state))}\n`).join('');
  }
  yield `${JSON.stringify({ end })}\n`;
}
