import { z } from 'zod';
import { instantOf } from '../../domain/records/schema/instantOf.ts';
import { validate, validationError } from '../../domain/records/schema/validate.ts';
import type { FoundKey } from '../../modules/auth/KeyDirectory.ts';
import { feedEventTypes } from '../../modules/eventStream/cloudEvent.ts';
import { parsePosition, requirePlace } from '../../modules/eventStream/position.ts';
import type { Start } from '../../modules/eventStream/Subscription.ts';
import type { Selection } from '../../modules/eventStream/selection.ts';
import { startAt } from '../../modules/eventStream/startAt.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { type EventsQuery, eventsQuerySchema, lastEventIdSchema } from '../schemas/eventsQuery.ts';
import type { Exchange } from '../server/exchange.ts';
import { lackingPermission } from '../server/keyRefusals.ts';

/** What is needed to find where to begin. */
export interface StartPorts {
  eventLog: EventLog;
  readModels: ReadModels;
}

const BEGINNING_OF_YEAR = /-01-01T00:00:00\.000Z$/;

/** The `+` of an offset that was not percent-encoded arrives as a space, which no moment contains. */
function withPlus({ req: { query } }: Exchange): Record<string, unknown> {
  return typeof query.from === 'string' ? { ...query, from: query.from.replace(' ', '+') } : query;
}

/** Returns the query of a request. Throws `validation_failed`. */
export function eventsQueryOf(exchange: Exchange): EventsQuery {
  return validate(eventsQuerySchema, withPlus(exchange));
}

/** Returns the view of events that a key gets, given the view `asked` for, if any. Throws `permission_denied`. */
export function viewOf({ key }: FoundKey, asked: EventsQuery['view']): Selection['view'] {
  const full = key.permissions.includes('events');
  if (asked === 'full' && !full) {
    throw lackingPermission(['events']);
  }
  return asked ?? (full ? 'full' : 'deidentified');
}

/** Returns which events a key and a query select. Throws `permission_denied`, `validation_failed`. */
export function selectionOf(
  found: FoundKey,
  { kinds, types, view: asked, unchanged }: EventsQuery,
  format: Selection['format'],
  address: string,
): Selection {
  const view = viewOf(found, asked);
  const eventTypes = feedEventTypes
    .filter(
      ({ kind, type }) =>
        (kinds?.split(',').includes(kind) ?? true) && (types?.split(',').includes(type) ?? true),
    )
    .map(({ eventType }) => eventType);
  if (eventTypes.length === 0) {
    throw validationError([{ field: 'types', message: 'must be of the kinds in kinds' }]);
  }
  return {
    workspace: found.workspace.id,
    view,
    eventTypes,
    unchanged,
    format,
    address,
  };
}

/** Resolves with where to begin. Rejects with `validation_failed`, `position_gone`, `unavailable`. */
export async function startOf(
  ports: StartPorts,
  { req }: Exchange,
  { view }: Selection,
  { after, from }: EventsQuery,
): Promise<Start> {
  const lastEventId = req.headers['last-event-id'];
  if (lastEventId) {
    const known = validate(z.object({ 'Last-Event-ID': lastEventIdSchema }), {
      'Last-Event-ID': lastEventId,
    });
    return startAfter(ports, known['Last-Event-ID'], 'Last-Event-ID');
  }
  if (after !== undefined && from !== undefined) {
    throw validationError([{ field: 'from', message: 'must not be sent together with after' }]);
  }
  if (from === undefined) return after === undefined ? { after: 0 } : startAfter(ports, after, 'after');
  const time = instantOf(from);
  // Trying finer moments would reveal when an event was recorded; the view reveals only the year.
  if (view === 'deidentified' && !BEGINNING_OF_YEAR.test(new Date(time).toISOString())) {
    throw validationError([
      {
        field: 'from',
        message: 'must be the beginning of a year in the de-identified view, such as 2026-01-01',
      },
    ]);
  }
  return { after: await startAt(ports.readModels, time), from: time };
}

async function startAfter({ eventLog }: StartPorts, text: string, field: string): Promise<Start> {
  const after = parsePosition(text) as number;
  await requirePlace(eventLog, after, field);
  return { after };
}
