import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { incompleteBody } from '../../projections/projection.ts';
import type { CreatedKey } from '../../src/modules/auth/keyManager.ts';
import { UnreadableError } from '../../src/platform/errors.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { ModelName, PageQuery, ReadModels, Row } from '../../src/storage/readModels.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { paths, samples } from '../support/samples.ts';
import { type Faults, startFaultyApp, startTestService, type TestService } from '../support/service.ts';

const SNAPSHOT = '/integration/snapshot?kind=payer';
const LONG_MS = 60_000;
/** More than are held at once. */
const PAYERS = 230;

let service: TestService;
let readModels: ReadModels;
let created: CreatedKey;
const apps: { stop(): Promise<void> }[] = [];
beforeAll(async () => {
  service = await startTestService();
  readModels = await openReadModels(service.config.readModelUrl);
  created = await service.createKey('faults', ['write', 'events']);
  const client = service.as(created.key);
  for (let count = 0; count < PAYERS; count++) {
    expect((await client.post(paths.payer, samples.payer())).status).toBe(200);
  }
}, LONG_MS);
afterEach(() => Promise.all(apps.splice(0).map((app) => app.stop())));
afterAll(async () => {
  await readModels.close();
  await service.stop();
});

/** A client of an interface with these faults. */
async function clientOf(faults: Faults): Promise<Client> {
  const app = await startFaultyApp(service, faults);
  apps.push(app);
  return new Client(app.url, created.key);
}

type Page = <Body extends object>(model: ModelName<Body>, query: PageQuery) => Promise<Row<Body>[]>;

test('a snapshot whose read model is begun anew meanwhile breaks off', async () => {
  let isEmpty = false;
  const client = await clientOf({
    readModels: {
      page: async (model, query) => {
        isEmpty = query.after !== undefined;
        return isEmpty ? [] : readModels.page(model, query);
      },
      checkpoint: async (model) => (isEmpty ? 0 : readModels.checkpoint(model)),
    },
  });
  await expect(client.get(SNAPSHOT)).rejects.toThrow('aborted');
  expect(isEmpty).toBe(true);
});

test('records whose events cannot be read are counted, and others are not left out for them', async () => {
  const incomplete: Page = async (model, query) => {
    const [first, ...rows] = await readModels.page(model, query);
    if (first === undefined || query.after !== undefined) return first ? [first, ...rows] : [];
    return [{ ...first, body: incompleteBody as typeof first.body }, ...rows];
  };
  const ends = async (faults: Faults) => {
    const { text } = await (await clientOf(faults)).get(SNAPSHOT);
    return JSON.parse(text.trim().split('\n').at(-1) as string).end;
  };
  const readStream = () => Promise.reject(new UnreadableError('unreadable', 'too new'));
  expect(await ends({ readModels: { page: incomplete } })).toEqual({ count: PAYERS, unreadable: 0 });
  expect(await ends({ readModels: { page: incomplete }, eventLog: { readStream } })).toEqual({
    count: PAYERS - 1,
    unreadable: 1,
  });
});

test(
  'a client that reads slowly has little read ahead for it',
  async () => {
    const [pages, perPage] = [40, 200];
    const name = 'x'.repeat(20_000);
    let made = 0;
    const client = await clientOf({
      readModels: {
        page: async (model, query) => {
          const rows = await readModels.page(model, { ...query, after: 0, limit: perPage });
          made += 1;
          return rows
            .slice(0, made < pages ? perPage : perPage - 1)
            .map((row) => ({ ...row, body: { ...row.body, fields: { id: 'x', name } } }));
        },
      },
    });
    const { hostname, port } = new URL(client.url);
    const outgoing = request({ hostname, port, path: SNAPSHOT, headers: { 'x-api-key': client.key ?? '' } });
    const response = await new Promise<IncomingMessage>((resolve) => outgoing.on('response', resolve).end());
    const pageBytes = perPage * name.length;
    let received = 0;
    let mostAhead = 0;
    response.on('data', (bytes: Buffer) => {
      received += bytes.length;
      mostAhead = Math.max(mostAhead, made * pageBytes - received);
    });
    await once(response, 'end');
    expect(made).toBe(pages);
    expect(received).toBeGreaterThan((pages - 1) * pageBytes);
    expect(mostAhead).toBeLessThan(10 * pageBytes);
  },
  LONG_MS,
);

test('a key that is deactivated meanwhile gets no more', async () => {
  let isDeactivated = false;
  const client = await clientOf({
    readModels: {
      page: async (model, query) => {
        if (!isDeactivated) {
          isDeactivated = true;
          await service.keys.setKeyState(created.id, 'deactivated');
          await eventually(async () => expect((await client.get('/events')).status).toBe(403));
        }
        return readModels.page(model, query);
      },
    },
  });
  await expect(client.get(SNAPSHOT)).rejects.toThrow('aborted');
  expect(isDeactivated).toBe(true);
});
