import { randomBytes } from 'node:crypto';
import { Storage } from '@google-cloud/storage';
import { afterAll, describe } from 'vitest';
import { GcsTreeHeadPublisher } from '../../src/storage/engines/gcs/targets.ts';
import { gcsBucket, googleCloudStorage } from '../support/servers.ts';
import { headTargetContract } from './contracts/treeHeadPublisher.ts';

const server = await googleCloudStorage();
const root = `chartledger-heads-${randomBytes(4).toString('hex')}`;
const endpoint = server.url ?? '';

(server.url ? describe : describe.skip)('GcsHeadTarget', () => {
  const storage = new Storage({ apiEndpoint: endpoint, projectId: 'test', useAuthWithCustomEndpoint: false });
  const bucket = storage.bucket(gcsBucket);
  afterAll(() => bucket.deleteFiles({ prefix: root, force: true }));

  const at = (name: string) => `gs://${name}/${root}/a%20b?endpoint=${encodeURIComponent(endpoint)}`;
  headTargetContract({
    open: () => new GcsTreeHeadPublisher(at(gcsBucket)),
    openAway: () => new GcsTreeHeadPublisher(at('not-there')),
    async kept() {
      const [files] = await bucket.getFiles({ prefix: `${root}/a b/` });
      const texts = files.map(async (file) => {
        const [bytes] = await file.download();
        return [file.name.slice(`${root}/a b/`.length), bytes.toString()] as const;
      });
      return new Map(await Promise.all(texts));
    },
  });
});
