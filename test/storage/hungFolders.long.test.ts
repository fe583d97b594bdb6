import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, watch, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { LocalDocumentStore } from '../../src/storage/engines/filesystem/documentStore.ts';
import { LocalTreeHeadPublisher } from '../../src/storage/engines/filesystem/targets.ts';

import { temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { hangFile } from '../support/network.ts';
import { appendedBy, startTestService } from '../support/service.ts';

/** All file operations of a process together have this many places. */
const PLACES = 4;
const LONG_MS = 60_000;

/** Works as long as a place is left. */
const readAnyFile = () => readFile(import.meta.filename, 'utf8');

test(
  'a folder for heads that does not answer takes one place for file operations, and is used again when it answers',
  async () => {
    const heads = join(temporaryFolder(), 'heads');
    mkdirSync(heads);
    const target = new LocalTreeHeadPublisher(heads);
    const names = Array.from({ length: PLACES }, (_, index) => `clinic-${index}.json`);
    const answers = names.map((name) => hangFile(join(heads, `${name}.part`)));
    const refused = names.map((name) =>
      expect(target.write(name, '{}')).rejects.toMatchObject({ problem: `${heads} does not take a file.` }),
    );
    expect(await readAnyFile()).toContain('heads');
    await Promise.all(refused);
    for (const answer of answers) answer();
    await target.write('clinic.json', '{}');
    expect(readdirSync(heads)).toContain('clinic.json');
  },
  LONG_MS,
);

test(
  'while the folder of documents does not answer, readyz does, and tells of it',
  async () => {
    const service = await startTestService();
    const uploads = join(service.config.dataDir, 'documents', 'uploads');
    const looks = watch(uploads);
    const anyone = service.as(undefined);
    const readyz = () => anyone.get('/readyz');
    const [[, probe]] = await Promise.all([once(looks, 'change'), eventually(readyz)]);
    looks.close();
    const appended = await appendedBy(service, async () => {
      const answer = hangFile(join(uploads, String(probe)));
      await eventually(async () =>
        expect(await readyz()).toMatchObject({ status: 200, body: { degraded: ['document_store'] } }),
      );
      answer();
      await eventually(async () => expect((await readyz()).body.degraded).toEqual([]));
    });
    expect(appended).toEqual([]);
    await service.stop();
  },
  LONG_MS,
);

test(
  'signs of life and looks for abandoned uploads take no further places while the folder of documents does not answer',
  async () => {
    const folder = join(temporaryFolder(), 'documents');
    const store = await LocalDocumentStore.open(folder, { beatMs: 5, goneAfterMs: 60_000 });
    const objectId = randomUUID();
    await store.put(objectId, Readable.from([Buffer.from('hello')]));
    const owners = join(folder, 'owners');
    const [own = ''] = readdirSync(owners);
    const other = randomUUID();
    writeFileSync(join(folder, 'uploads', `${other}.${randomUUID()}`), '');
    const answers = [own, other].map((owner) => hangFile(join(owners, owner)));
    const looks = Array.from({ length: PLACES }, () => store.abandoned());
    const begun = performance.now();
    await eventually(async () => {
      expect(await readAnyFile()).toContain('heads');
      expect(performance.now()).toBeGreaterThan(begun + 1_000);
    });
    for (const answer of answers) answer();
    expect(await Promise.all(looks)).toEqual(looks.map(() => []));
    await store.confirm(objectId);
    await store.close();
  },
  LONG_MS,
);
