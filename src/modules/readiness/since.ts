import { dataAs, type Principal } from '../../domain/events/event.ts';
import type { EncounterReadinessChanged } from '../../domain/events/readinessEvents.ts';
import { documentStream, encounterReadinessStream, recordStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';

/** Since when an encounter has its state and findings, and who made the change that led to them. */
export interface Since {
  /** ISO 8601, UTC. */
  at: string;
  /** Undefined where a finding began by itself, or its cause cannot be read any more. */
  principal: Principal | undefined;
}

/** Events looked at for the last announcement of an encounter. */
const LOOK_BACK = 20;
const AT_ONCE = 16;

/**
 * Resolves with since when encounters are as the worklist says, by their ids; without those of which nothing was
 * announced. Rejects with `unavailable`.
 */
export async function readSince(
  eventLog: EventLog,
  workspace: string,
  encounterIds: readonly string[],
): Promise<Map<string, Since>> {
  const found = new Map<string, Since>();
  const look = async (id: string) => {
    const since = await sinceOf(eventLog, workspace, id).catch(asUnreadable);
    if (since !== undefined && !(since instanceof UnreadableError)) found.set(id, since);
  };
  for (let at = 0; at < encounterIds.length; at += AT_ONCE) {
    await Promise.all(encounterIds.slice(at, at + AT_ONCE).map(look));
  }
  return found;
}

async function sinceOf(eventLog: EventLog, workspace: string, id: string): Promise<Since | undefined> {
  const stream = encounterReadinessStream(workspace, id);
  const events = await eventLog.readStream(stream, { direction: 'backwards', limit: LOOK_BACK });
  const last = events.find(({ type }) => type === 'EncounterReadinessChanged');
  if (last === undefined) return undefined;
  const { cause } = dataAs<EncounterReadinessChanged>(upcast(last).data);
  if (cause === undefined) return { at: last.recordedAt, principal: undefined };
  const { kind, id: causeId, version, event_id } = cause;
  const causing =
    kind === 'document' ? documentStream(workspace, id, causeId) : recordStream(workspace, kind, causeId);
  const [event] = await eventLog.readStream(causing, { from: version - 1, limit: 1 });
  const isIt = event?.id === event_id;
  return {
    at: isIt ? event.recordedAt : last.recordedAt,
    principal: isIt ? event.metadata.principal : undefined,
  };
}
