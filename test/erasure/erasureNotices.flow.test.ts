import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dataAs } from '../../src/domain/events/event.ts';
import { type RecordErased, restorer } from '../../src/domain/events/payloads.ts';
import {
  type ErasureNotice,
  ErasureNotices,
  eraseAgain,
  readNotices,
} from '../../src/modules/erasure/notices.ts';
import { PublicKeys } from '../../src/modules/integrity/publicKeys.ts';
import { unavailable } from '../../src/platform/errors.ts';
import { openDocumentStore, openEventLog, openStateStore } from '../../src/server/openStorage.ts';
import { LocalTreeHeadPublisher } from '../../src/storage/engines/filesystem/targets.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';
import type { PublishedHead, TreeHeadPublisher } from '../../src/storage/targets.ts';

import { temporaryFolder } from '../support/cli.ts';
import { appendTombstones, erase, type Removal } from '../support/erasure.ts';
import { TestWorkspace } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const signingKey = { privateKey, rotations: [] };

/** A place that takes notices while it is not `away`. */
class Place implements TreeHeadPublisher {
  readonly place = 'the place';
  readonly files: PublishedHead[] = [];
  isAway = false;

  async write(name: string, text: string): Promise<void> {
    if (this.isAway) throw unavailable('target of heads');
    this.files.push({ name, text });
  }

  async *list(prefix: string): AsyncGenerator<PublishedHead> {
    yield* this.files.filter(({ name }) => name.startsWith(prefix));
  }

  notices(): ErasureNotice[] {
    return this.files.map(({ text }) => JSON.parse(text));
  }
}

onEveryEngine((_, engines) => {
  const workspace = new TestWorkspace();
  let eventLog: EventLog;
  let stateStore: StateStore;
  beforeAll(async () => {
    const settings = engines.settings();
    const folder = temporaryFolder();
    eventLog = await openEventLog(settings.EVENT_LOG_URL ?? `sqlite:${join(folder, 'events.db')}`);
    stateStore = await openStateStore(settings.READ_MODEL_URL ?? `sqlite:${join(folder, 'state.db')}`);
  });
  afterAll(() => Promise.all([eventLog.close(), stateStore.close()]));

  /** A stream of two events. */
  async function stream(): Promise<string> {
    const name = workspace.stream();
    await workspace.appendMany(eventLog, 2, [name]);
    return name;
  }
  const firstPosition = async (name: string) =>
    (await eventLog.readStream(name, { limit: 1 }))[0]?.position ?? 0;
  /** The places at which streams began that were erased, by what was sent to a place. */
  const told = (place: Place) =>
    place.notices().flatMap(({ erasures }) => erasures.map(({ first }) => first.position));

  test('an erasure is told once it is finished, and in a later notice where one before it was under way', async () => {
    const place = new Place();
    const notices = new ErasureNotices({ eventLog, stateStore, target: place });
    await notices.send(signingKey, true);
    const streams = [await stream(), await stream(), await stream()] as const;
    const begun = await Promise.all(streams.map(firstPosition));
    await erase(eventLog, workspace, streams[0], 2);
    const removal: Removal = await appendTombstones(eventLog, workspace, streams[1], 2);
    await erase(eventLog, workspace, streams[2]);
    place.files.length = 0;
    await notices.send(signingKey, false);
    expect(told(place)).toEqual([begun[0]]);
    await notices.send(signingKey, true);
    expect(told(place)).toEqual([begun[0]]);
    await eventLog.erase(...removal);
    await notices.send(signingKey, false);
    expect(told(place)).toEqual(begun);
    await notices.send(signingKey, false);
    expect(place.files).toHaveLength(2);
    // Nothing in it names a stream.
    expect(place.files.filter(({ text }) => text.includes(workspace.prefix))).toEqual([]);
  });

  test('one that came too late is not told: a legal hold brought the record back', async () => {
    const place = new Place();
    const notices = new ErasureNotices({ eventLog, stateStore, target: place });
    const name = await stream();
    await appendTombstones(eventLog, workspace, name);
    await notices.send(signingKey, true);
    expect(place.files).toEqual([]);
    const [tombstone] = await eventLog.readStream(name, { direction: 'backwards', limit: 1 });
    const { erasure_id: requestId } = dataAs<RecordErased>(tombstone?.data ?? {});
    const event = workspace.event();
    const metadata = { ...event.metadata, principal: restorer, requestId };
    await eventLog.append(name, { ...event, metadata }, 'any');
    await notices.send(signingKey, true);
    expect(place.notices()).toMatchObject([{ erasures: [] }]);
  });

  test('an erased stream that was used again and erased again is told as where it began', async () => {
    const place = new Place();
    const notices = new ErasureNotices({ eventLog, stateStore, target: place });
    const name = await stream();
    const begun = await firstPosition(name);
    await erase(eventLog, workspace, name);
    await workspace.append(eventLog, name);
    await erase(eventLog, workspace, name);
    await notices.send(signingKey, true);
    expect(told(place)).toEqual([begun]);
  });

  test('what a place did not take is told when it takes again, and notices follow each other without a gap', async () => {
    const place = new Place();
    const log = await eventLog.identity();
    const name = await stream();
    const begun = await firstPosition(name);
    await erase(eventLog, workspace, name);
    place.isAway = true;
    const notices = new ErasureNotices({ eventLog, stateStore, target: place });
    await expect(notices.send(signingKey, true)).rejects.toMatchObject({ code: 'unavailable' });
    place.isAway = false;
    await notices.send(signingKey, true);
    await workspace.append(eventLog, workspace.stream());
    await new ErasureNotices({ eventLog, stateStore, target: place }).send(signingKey, true);
    const [first] = place.notices();
    const copy = { log, last_position: first?.after ?? 0, created_at: '2026-01-01T00:00:00.000Z' };
    const later = await readNotices(place, copy, new PublicKeys([publicKey]));
    expect(later).toMatchObject({ problems: [], asOf: place.notices().at(-1)?.as_of });
    expect(later.erasures.map(({ first: { position } }) => position)).toEqual([begun]);
    // Where the state is lost, all are told once more.
    const again = new Place();
    const empty = await openStateStore(`sqlite:${join(temporaryFolder(), 'state.db')}`);
    await new ErasureNotices({ eventLog, stateStore: empty, target: again }).send(signingKey, true);
    await empty.close();
    expect(told(again)).toContain(begun);
    expect(again.notices()[0]?.after).toBe(0);
  });

  test('a notice that a folder took, but whose place in the log was not kept, is sent once more', async () => {
    const place = new LocalTreeHeadPublisher(temporaryFolder());
    let isCutOff = true;
    const cutOff = new Proxy(stateStore, {
      get(target, name) {
        const own = Reflect.get(target, name);
        if (name !== 'save' || !isCutOff) return typeof own === 'function' ? own.bind(target) : own;
        return () => Promise.reject(unavailable('state store'));
      },
    });
    const notices = new ErasureNotices({ eventLog, stateStore: cutOff, target: place });
    const [told, waiting] = [await stream(), await stream()];
    const begun = await firstPosition(told);
    await erase(eventLog, workspace, told);
    const removal = await appendTombstones(eventLog, workspace, waiting);
    await expect(notices.send(signingKey, true)).rejects.toMatchObject({ code: 'unavailable' });
    isCutOff = false;
    await notices.send(signingKey, true);
    await eventLog.erase(...removal);
    await notices.send(signingKey, true);
    const copy = {
      log: await eventLog.identity(),
      last_position: begun,
      created_at: '2026-01-01T00:00:00.000Z',
    };
    const later = await readNotices(place, copy, new PublicKeys([publicKey]));
    expect(later.problems).toEqual([]);
    const positions = new Set(later.erasures.map(({ first: { position } }) => position));
    expect([...positions]).toEqual([begun, removal[2][0]?.position]);
  });

  test('an erasure is carried out again on what stands in a stream from before it, and once', async () => {
    const documentStore = await openDocumentStore(`file:${join(temporaryFolder(), 'documents')}`);
    const ports = { eventLog, stateStore, documentStore, webhooksOf: () => [] };
    const [name, anew] = [workspace.stream('patient-p-1'), workspace.stream('patient-p-2')];
    await workspace.appendMany(eventLog, 2, [name]);
    const { position: tombstone } = await workspace.append(eventLog, workspace.stream());
    await workspace.appendMany(eventLog, 2, [anew]);
    const first = { position: await firstPosition(name), event_id: crypto.randomUUID() };
    const principal = { type: 'user', id: 'u-1' } as const;
    const erased_at = '2026-03-14T09:30:00.000Z';
    const told = { tombstone, first, erasure_id: crypto.randomUUID(), principal, erased_at };
    const erasures = [name, anew, name].map((one) => ({ ...told, stream: one }));
    expect(await eraseAgain(ports, erasures)).toBe(1);
    expect(await eraseAgain(ports, erasures)).toBe(0);
    const left = await eventLog.readStream(name, { limit: 10 });
    expect(left).toMatchObject([
      {
        ...{ type: 'RecordErased', revision: 2, metadata: { principal, requestId: told.erasure_id } },
        data: { kind: 'patient', record_id: 'p-1', reason: expect.stringContaining(erased_at) },
      },
    ]);
    expect(await eventLog.readStream(anew, { limit: 10 })).toHaveLength(2);
    await documentStore.close();
  });
});
