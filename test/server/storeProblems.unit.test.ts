import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { MongoServerError } from 'mongodb';
import { expect, test } from 'vitest';
import { gcsProblem } from '../../src/storage/engines/gcs/bucket.ts';
import { GcsDocumentStore } from '../../src/storage/engines/gcs/documentStore.ts';
import { mongoProblem } from '../../src/storage/engines/mongodb/connection.ts';
import { fileProblem } from '../../src/storage/engines/shared.ts';

const sqlite = (errcode: number) => Object.assign(new Error('raw'), { code: 'ERR_SQLITE_ERROR', errcode });
const system = (code: string) => Object.assign(new Error('raw'), { code });

const ofFiles: [string, Error, string | undefined][] = [
  ['a full disk', sqlite(13), 'disk or quota is full. Free space'],
  ['a full disk, of documents', system('ENOSPC'), 'disk or quota is full. Free space'],
  ['a damaged file', sqlite(11), 'is damaged. Stop the service and restore the file from a backup'],
  ['a damaged index', sqlite(779), 'is damaged'],
  ['a file that is no database', sqlite(26), 'is damaged'],
  ['a read-only file', sqlite(8), 'cannot be written: it, its folder or its file system is read-only'],
  ['a read-only folder', system('EROFS'), 'cannot be written'],
  ['a file of somebody else', system('EACCES'), 'cannot be written'],
  ['a locked file', sqlite(5), 'is locked by another process'],
  ['a failing disk', sqlite(778), 'cannot be read or written: its disk fails'],
  ['a file that is not there', sqlite(14), 'is not there'],
  ['what does not tell', new Error('raw'), undefined],
];
test.each(ofFiles)('%s is named, with what to do', (_what, error, text) => {
  const problem = fileProblem('/data/events.db', error);
  expect(problem).toEqual(text && expect.stringContaining(text));
  expect(problem ?? '/data/events.db').toContain('/data/events.db');
});

const ofMongo: [string, unknown, string | undefined][] = [
  [
    'a wrong password',
    new MongoServerError({ code: 18, message: 'raw' }),
    'refuses the user or the password',
  ],
  ['a user without rights', new MongoServerError({ code: 13, message: 'raw' }), 'the role readWrite'],
  ['a full disk', new MongoServerError({ code: 14_031, message: 'raw' }), 'no disk space left'],
  ['a server that is away', system('ECONNREFUSED'), 'does not answer'],
  ['what does not tell', new MongoServerError({ code: 1, message: 'raw' }), undefined],
];
test.each(ofMongo)('on MongoDB %s is named, with what to do', (_what, error, text) => {
  const problem = mongoProblem('db:27017', error);
  expect(problem).toEqual(text && expect.stringContaining(text));
  expect(problem ?? '').not.toContain('raw');
});

const ofBuckets: [string, unknown, string | undefined][] = [
  ['credentials without rights', { code: 403 }, 'may not be used with these credentials'],
  ['a bucket that is not there', { code: 404 }, 'There is no bucket records'],
  ['no credentials', new Error('Could not load the default credentials.'), 'GOOGLE_APPLICATION_CREDENTIALS'],
  ['what does not tell', new Error('raw'), undefined],
];
test.each(ofBuckets)('on Google Cloud Storage %s is named, with what to do', (_what, error, text) => {
  expect(gcsProblem('records', error, 'DOCUMENTS_URL')).toEqual(text && expect.stringContaining(text));
});

const bodies = [{ error: { code: 403 } }, { error: 'forbidden by a proxy' }];
test.each(bodies)(
  'a bucket that refuses the credentials is named where a document is used: %j',
  async (body) => {
    const server = createServer((request, response) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
      request.resume();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const store = new GcsDocumentStore(`gs://records?endpoint=http://127.0.0.1:${port}`);
    const refused = {
      code: 'unavailable',
      problem: expect.stringContaining('The bucket records may not be used with these credentials'),
    };
    try {
      await expect(store.get('object').then((read) => read.toArray())).rejects.toMatchObject(refused);
      await expect(store.put('object', Readable.from(['bytes']))).rejects.toMatchObject(refused);
      await expect(store.check()).rejects.toMatchObject(refused);
    } finally {
      await store.close();
      server.closeAllConnections();
      server.close();
    }
  },
);
