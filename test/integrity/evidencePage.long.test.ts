import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signStatement } from '../../src/modules/integrity/signing.ts';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { type BrowserlessSession, EvidencePage } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { unzipped } from '../support/files.ts';
import { headNames } from '../support/log.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { newEvents, readAll, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;
const REASON = 'Request 2026-117';
const headPauses = { everyMs: 50, retryMs: 50 };

onEmbeddedEngines((start) => {
  const folder = temporaryFolder();
  const heads = join(folder, 'heads');
  let service: TestService;
  let visitor: BrowserlessSession;
  let page: EvidencePage;
  let userId: string;
  let userName: string;
  beforeAll(async () => {
    mkdirSync(heads);
    service = await start({ HEADS_TO: heads, METRICS_PORT: '0' }, { headPauses });
    page = await EvidencePage.open(service);
    ({ visitor, userId, userName } = page);
  }, LONG_MS);
  afterAll(() => service.stop());

  const clinic = () => service.workspaceId('clinic');
  const path = (what?: string) => page.path(what);
  const cli = (...args: string[]) =>
    runCli(args, { env: { ...storesOf(service.config), DATA_DIR: service.config.dataDir } });
  const headFiles = () => headNames(heads, clinic());
  const lastHead = () => JSON.parse(readFileSync(join(heads, headFiles().at(-1) as string), 'utf8'));
  const eventsOfClinic = async () =>
    (await readAll(service.eventLog)).filter(({ metadata }) => metadata.workspace === clinic());

  test(
    'it verifies on demand, also against the heads that were sent, and says who asked and what was erased',
    async () => {
      const payer = samples.payer();
      for (const name of [phi('Aetna'), phi('Anew')]) {
        expect((await service.post('/integration/payers', { id: payer.id, name })).status).toBe(200);
      }
      await eventually(() => expect(headFiles()).not.toEqual([]));
      const args = ['payer', payer.id, '--workspace', clinic(), '--reason', REASON];
      expect(await cli('records', 'erase', ...args)).toMatchObject({ code: 0, stderr: '' });
      let shown = '';
      const appended = await newEvents(service, async () => {
        shown = await page.verified();
      });
      expect(appended.map(({ data, metadata }) => [data, metadata.principal])).toEqual([
        [{ action: 'verify' }, { type: 'user', id: userId }],
      ]);
      const size = (await eventsOfClinic()).length;
      expect(shown).toContain(`Verification passed just now Requested by ${userName} (user)`);
      expect(shown).toContain(`Erased 2 events, in 1 erasure of`);
      expect(shown).toMatch(new RegExp(`Payer ${payer.id} 2 \\S+ \\(command line\\) ${REASON}`));
      const [, events, compared, held] =
        /Events verified (\d+) .*model (\d+) events .*saved heads (\d+) /.exec(shown) ?? [];
      expect(Number(held)).toBeGreaterThan(0);
      expect(Number(compared)).toBeGreaterThan(0);
      expect(size - Number(events)).toBeLessThan(10);
      const { status, text } = await visitor.get(path('/verified-head'));
      const head = JSON.parse(text);
      expect({ status, type: head.type, size: head.size }).toEqual({
        status: 200,
        type: 'chartledger.tree_head.v1',
        size: Number(events),
      });
      writeFileSync(join(folder, 'verified.json'), text);
      expect(
        await cli('verify', '--workspace', clinic(), '--head', join(folder, 'verified.json')),
      ).toMatchObject({ code: 0, stderr: '' });
    },
    LONG_MS,
  );

  test(
    'a saved head that the log does not hold, or that nobody signed, is named',
    async () => {
      await eventually(() => expect(headFiles()).not.toEqual([]));
      const { key_id: _id, signature: _signature, ...body } = lastHead();
      const { privateKey } = generateKeyPairSync('ed25519');
      const forged = join(heads, `${clinic()}-000000000001-forged.json`);
      writeFileSync(forged, JSON.stringify(signStatement(body, privateKey)));
      const shown = await page.verified();
      rmSync(forged);
      expect(shown).toContain('Verification failed');
      expect(shown).toContain(`The saved head ${clinic()}-000000000001-forged.json is not valid:`);
      expect((await visitor.get(path('/verified-head'))).status).toBe(404);
    },
    LONG_MS,
  );

  test(
    'an export is downloaded with its manifest and the public key, and needs nothing else',
    async () => {
      await visitor.get(path());
      const appended = await newEvents(service, async () => {
        for (const format of ['ndjson', 'csv']) {
          const { status, headers, bytes } = await visitor.post(path('/export'), { format });
          expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/zip' });
          const files = await unzipped(bytes);
          expect([...files.keys()]).toEqual([
            `${clinic()}.${format}`,
            `${clinic()}.${format}.manifest.json`,
            'chartledger.pem',
          ]);
          for (const [name, content] of files) writeFileSync(join(folder, name), content);
          const file = join(folder, `${clinic()}.${format}`);
          const checked = await runCli(['verify', file, '--public-key', join(folder, 'chartledger.pem')]);
          expect(checked).toMatchObject({ code: 0, stderr: '' });
        }
      });
      expect(appended.map(({ data, metadata }) => [data.action, data.query, metadata.principal.id])).toEqual([
        ['export', { format: 'ndjson' }, userId],
        ['export', { format: 'csv' }, userId],
      ]);
      const lines = readFileSync(join(folder, `${clinic()}.ndjson`), 'utf8')
        .trimEnd()
        .split('\n');
      expect(lines.length).toBeGreaterThan(3);
      expect((await visitor.get(path('/public-key'))).text).toBe(
        (await cli('secrets', 'show', 'signing')).stdout,
      );
      expect(readFileSync(join(folder, 'chartledger.pem'), 'utf8')).toBe(
        (await cli('secrets', 'show', 'signing')).stdout,
      );
    },
    LONG_MS,
  );

  test(
    'the last head that was sent is shown, where to, and whether the last attempt failed',
    async () => {
      await eventually(async () => {
        const shown = await page.text();
        expect(shown).toContain(`Sent to ${heads} Last attempt`);
        expect(shown).toContain('succeeded');
        expect(JSON.parse((await visitor.get(path('/head'))).text)).toEqual(lastHead());
      });
      rmSync(heads, { recursive: true });
      await service.post('/integration/payers', samples.payer());
      await eventually(async () => {
        const shown = await page.text();
        expect(shown).toContain(`The last attempt failed. ${heads}`);
      });
      expect((await service.readiness()).warnings).toMatchObject([{ code: 'heads_not_sent' }]);
      const shown = await page.verified();
      expect(shown).toContain('Verification passed');
      expect(shown).toContain(`The heads in ${heads} could not be read:`);
      mkdirSync(heads);
    },
    LONG_MS,
  );
});
