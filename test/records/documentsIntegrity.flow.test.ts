import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { runCli, storesOf } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { createEncounter, documentForm, documentsPath, pdfBytes } from '../support/samples.ts';
import {
  logLines,
  newEvents,
  openConnection,
  rawRequest,
  startTestService,
  statusesOf,
  type TestService,
} from '../support/service.ts';

let service: TestService;
let encounter: string;
beforeAll(async () => {
  service = await startTestService();
  encounter = await createEncounter(service);
});
afterAll(() => service.stop());

/** Uploads a document; answers with its path in the interface and where its bytes are. */
async function upload(content: Buffer, document_id?: string) {
  const form = documentForm({ content, ...(document_id && { document_id }) });
  const [event] = await newEvents(service, async () => {
    expect((await service.upload(documentsPath(encounter), form)).status).toBe(200);
  });
  const { object_id, document_id: id } = (event as RecordedEvent).data as {
    object_id: string;
    document_id: string;
  };
  const folder = service.config.documentsUrl.slice('file:'.length);
  return {
    id,
    objectId: object_id,
    path: documentsPath(encounter, id),
    file: join(folder, 'objects', object_id.slice(-2), object_id),
  };
}

const verifyDocuments = () =>
  runCli(['verify', '--documents', '--workspace', service.workspaceId('clinic')], {
    env: { DATA_DIR: service.config.dataDir, ...storesOf(service.config) },
  });

const small = Buffer.from('%PDF-1.7 seen today');
const large = Buffer.concat([...pdfBytes(2_000_000)]);
const changes: [string, Buffer, (content: Buffer) => Buffer][] = [
  ['a small one with another byte', small, (content) => Buffer.from(content).fill('x', 9, 10)],
  [
    'a large one with another byte at its end',
    large,
    (content) => Buffer.from(content).fill('x', content.length - 1),
  ],
  ['a large one that was cut', large, (content) => content.subarray(0, -1)],
  ['one that was lengthened', small, (content) => Buffer.concat([content, content])],
  ['one that was emptied', small, () => Buffer.alloc(0)],
];

test.each(changes)(
  'a stored document that was changed is never handed out whole: %s',
  async (_label, content, change) => {
    const document = await upload(content);
    expect((await service.get(document.path)).bytes.equals(content)).toBe(true);
    writeFileSync(document.file, change(content));
    const read = fetch(service.url + document.path, { headers: { 'x-api-key': service.key as string } });
    await expect(read.then((answer) => answer.arrayBuffer())).rejects.toThrow();
    await eventually(() =>
      expect(logLines(document.objectId)).toMatchObject([
        {
          level: 50,
          msg: 'a stored document is not the one that was uploaded',
          mismatches: expect.any(Number),
        },
      ]),
    );
    expect((await service.get('/healthz')).status).toBe(200);
    writeFileSync(document.file, content);
  },
);

test('a part of a document that was cut ends its connection: what follows would be taken for the rest', async () => {
  const document = await upload(large);
  writeFileSync(document.file, large.subarray(0, -100));
  const headers = { 'x-api-key': service.key as string };
  const { closed } = openConnection(
    service.url,
    rawRequest('GET', document.path, { ...headers, range: 'bytes=1000-' }),
    rawRequest('GET', '/healthz', { connection: 'close' }),
  );
  expect(statusesOf(await closed())).not.toContain(200);
  await eventually(() => expect(logLines(document.objectId)).toMatchObject([{ level: 50 }]));
  writeFileSync(document.file, large);
});

test('verify --documents names what is not as it was uploaded', async () => {
  const [changed, missing, replaced] = [await upload(small), await upload(small), await upload(small)];
  await upload(large, replaced.id);
  // Until the projector has come by there is no tree to compare with.
  await eventually(async () =>
    expect(await verifyDocuments()).toMatchObject({
      stdout: expect.stringMatching(/ 0 no longer kept\n$/),
      stderr: '',
    }),
  );

  rmSync(replaced.file);
  expect(await verifyDocuments()).toMatchObject({
    stdout: expect.stringMatching(/ 1 no longer kept\n$/),
    stderr: '',
  });

  writeFileSync(changed.file, large);
  rmSync(missing.file);
  const { code, stderr } = await verifyDocuments();
  expect(code).toBe(1);
  const lines = stderr.trimEnd().split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(
    new RegExp(`^A stored document is not the one that was uploaded: .*${changed.objectId}`),
  );
  expect(lines[1]).toMatch(new RegExp(`^A document is no longer stored, .*${missing.objectId}`));
});
