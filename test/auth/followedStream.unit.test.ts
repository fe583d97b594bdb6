import { afterEach, describe, expect, test } from 'vitest';
import type { NewEvent, RecordedEvent } from '../../src/domain/events/event.ts';
import { FollowedStream } from '../../src/modules/auth/keyDirectory.ts';
import { ServiceError } from '../../src/platform/errors.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

/** Ids of the events folded. */
interface Ids {
  revision: number;
  ids: string[];
}

/** One stream in memory; a read takes what is there when it begins, and gives it when `gate` opens. */
class FakeLog implements Pick<EventLog, 'append' | 'readStream'> {
  readonly ids: string[] = [];
  /** Workspaces of events that are about one webhook, by event id. */
  readonly workspaces = new Map<string, string>();
  gate: Promise<void> = Promise.resolve();
  /** Runs before the next append. */
  before: (() => void) | undefined;

  async append(_stream: string, { id }: NewEvent, expected: 'any' | 'none' | number) {
    this.before?.();
    if (expected !== (this.ids.length === 0 ? 'none' : this.ids.length - 1)) {
      throw new ServiceError('version_conflict', 'moved on');
    }
    this.ids.push(id);
    return { revision: this.ids.length - 1, position: this.ids.length };
  }

  async readStream(stream: string, { from = 0, limit }: { from?: number; limit: number }) {
    const found = this.ids
      .map((id, revision) => {
        const workspace = this.workspaces.get(id);
        return { id, stream, revision, data: workspace ? { webhook_id: 'wh' } : {}, metadata: { workspace } };
      })
      .slice(from, from + limit);
    await this.gate;
    return found as unknown as RecordedEvent[];
  }
}

const event = (id: string) => ({ id }) as NewEvent;
const opened: FollowedStream<Ids>[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

async function follow(log: FakeLog): Promise<FollowedStream<Ids>> {
  const empty: Ids = { revision: -1, ids: [] };
  const followed = await FollowedStream.open(
    log as unknown as EventLog,
    'things',
    empty,
    (state, { id, revision }) => {
      state.ids.push(id);
      state.revision = revision;
    },
  );
  opened.push(followed);
  return followed;
}

describe('a followed stream', () => {
  test('is read whole when it is opened, however long', async () => {
    const log = new FakeLog();
    for (let count = 0; count < 1_234; count++) log.ids.push(`event-${count}`);
    expect((await follow(log)).state).toEqual({ revision: 1_233, ids: log.ids });
  });

  test('ends before an event about something of another workspace', async () => {
    const log = new FakeLog();
    const followed = await follow(log);
    for (const [id, workspace] of [
      ['created', 'alpha'],
      ['changed', 'alpha'],
      ['redirected', 'beta'],
    ] as const) {
      log.ids.push(id);
      log.workspaces.set(id, workspace);
    }
    for (let time = 0; time < 2; time += 1) {
      await expect(followed.refresh()).rejects.toMatchObject({ code: 'internal' });
      expect(followed.state).toEqual({ revision: 1, ids: ['created', 'changed'] });
    }
    await expect(follow(log)).rejects.toMatchObject({ code: 'internal' });
  });

  test('has what was appended before a refresh was asked for, also while another one is under way', async () => {
    const log = new FakeLog();
    const followed = await follow(log);
    const gate = Promise.withResolvers<void>();
    log.gate = gate.promise;
    const first = followed.refresh();
    log.ids.push('late');
    const second = followed.refresh();
    const third = followed.refresh();
    gate.resolve();
    await first;
    expect(followed.state.ids).toEqual([]);
    await Promise.all([second, third]);
    expect(followed.state.ids).toEqual(['late']);
  });

  test('decides a change again when somebody else was faster', async () => {
    const log = new FakeLog();
    const followed = await follow(log);
    const seen: number[] = [];
    log.before = () => {
      log.ids.push('other');
      log.before = undefined;
    };
    await followed.change(({ ids }) => {
      seen.push(ids.length);
      return event('ours');
    });
    expect(seen).toEqual([0, 1]);
    expect(followed.state.ids).toEqual(['other', 'ours']);
  });

  test('appends nothing when nothing is decided, or that throws', async () => {
    const log = new FakeLog();
    const followed = await follow(log);
    await followed.change(() => undefined);
    const refused = followed.change(() => {
      throw new ServiceError('conflict', 'no');
    });
    await expect(refused).rejects.toMatchObject({ code: 'conflict' });
    expect(log.ids).toEqual([]);
  });

  test('gives up as unavailable when others are faster again and again', async () => {
    const log = new FakeLog();
    const followed = await follow(log);
    log.before = () => log.ids.push('other');
    await expect(followed.change(() => event('ours'))).rejects.toMatchObject({ code: 'unavailable' });
    expect(log.ids).not.toContain('ours');
  });

  test('takes all changes that are made at the same time', async () => {
    const log = new FakeLog();
    const followed = await follow(log);
    const ids = Array.from({ length: 12 }, (_, index) => `event-${index}`);
    await Promise.all(ids.map((id) => followed.change(() => event(id))));
    expect([...followed.state.ids].sort()).toEqual([...ids].sort());
  });
});
