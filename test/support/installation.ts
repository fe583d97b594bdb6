import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { INSTALLATION, isBookkeeping } from '../../src/domain/events/streams.ts';

import { readAll } from './events.ts';
import type { TestService } from './service.ts';

/** The events that `work` had appended about users and sign-ins: what concerns no single workspace, nor the service itself. */
export async function installationEvents(
  { eventLog }: TestService,
  work: () => Promise<unknown>,
): Promise<RecordedEvent[]> {
  const before = await eventLog.head();
  await work();
  const events = await readAll(eventLog, before);
  return events.filter(
    ({ stream, metadata }) => metadata.workspace === INSTALLATION && !isBookkeeping(stream),
  );
}

/** Such events in short: the type, of an `AccessRecorded` its action, and why it was refused. */
export function inShort(events: RecordedEvent[]): string[] {
  return events.map(({ type, data }) =>
    type === 'AccessRecorded' ? [data.action, data.code].filter(Boolean).join(' ') : type,
  );
}
