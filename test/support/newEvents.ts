import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { JsonObject, NewEvent } from '../../src/domain/events/event.ts';
import type { Appended, EventLog, ExpectedRevision } from '../../src/storage/eventLog.ts';

const WAVE = 200;

/** Events of a workspace, a fresh one unless named, for tests that talk to an event log itself. */
export class TestWorkspace {
  readonly id: string;
  /** Prefix of its streams. */
  readonly prefix: string;

  constructor(id = `w${randomBytes(6).toString('hex')}`) {
    this.id = id;
    this.prefix = `${id}.`;
  }

  stream(name = randomBytes(6).toString('hex')): string {
    return this.prefix + name;
  }

  event(data: JsonObject = {}, type = `Tested-${this.id}`): NewEvent {
    const requestId = uuidv7();
    return {
      id: uuidv7(),
      type,
      data,
      metadata: {
        workspace: this.id,
        principal: { type: 'operator', id: 'test' },
        requestId,
        $correlationId: requestId,
        schemaVersion: 1,
      },
    };
  }

  append(
    log: EventLog,
    stream: string,
    data?: JsonObject,
    expected: ExpectedRevision = 'any',
  ): Promise<Appended> {
    return log.append(stream, this.event(data), expected);
  }

  /** Appends `count` events, of data `{n: 0}`, `{n: 1}` …, to the streams by turns, hundreds at once. */
  async appendMany(log: EventLog, count: number, streams: string[] = [this.stream()]): Promise<Appended[]> {
    const places: Appended[] = [];
    while (places.length < count) {
      const wave = Array.from({ length: Math.min(WAVE, count - places.length) }, (_, at) => {
        const n = places.length + at;
        return this.append(log, streams[n % streams.length] as string, { n });
      });
      places.push(...(await Promise.all(wave)));
    }
    return places;
  }
}
