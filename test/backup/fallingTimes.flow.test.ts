import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toCopied } from '../../src/modules/backup/format.ts';
import { openLogCopy } from '../../src/server/openStorage.ts';

import { runCli, temporaryFolder } from '../support/cli.ts';
import { samples, TestWorkspace } from '../support/samples.ts';
import { appendedBy, readAll, startTestService, type TestService } from '../support/service.ts';

const MINUTE_MS = 60_000;
const FAR = 1_800_000_000_000_000;
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

/** Verifies a copy of the service's log whose last event was recorded by a clock that is a minute behind the others. */
async function verifyCopy() {
  const folder = temporaryFolder();
  const url = `sqlite:${join(folder, 'events.db')}`;
  const events = await readAll(service.eventLog);
  const copy = await openLogCopy(url, await service.eventLog.identity());
  await copy.add(
    events.map((event, index) => {
      const behind = new Date(Date.parse(event.recordedAt) - MINUTE_MS).toISOString();
      return toCopied(index === events.length - 1 ? { ...event, recordedAt: behind } : event);
    }),
  );
  await copy.finish('log-restores', new TestWorkspace().event({}, 'LogRestored'), [
    { after: events.at(-1)?.position ?? 0, position: FAR },
  ]);
  await copy.close();
  const env = {
    DATA_DIR: service.config.dataDir,
    EVENT_LOG_URL: url,
    READ_MODEL_URL: `sqlite:${join(folder, 'read-models.db')}`,
  };
  const verify = (...args: string[]) =>
    runCli(['verify', '--workspace', service.workspaceId('clinic'), ...args], { env });
  const head = join(folder, 'head.json');
  const saved = await verify('--save-head', head);
  return saved.code === 1 ? saved : verify('--head', head);
}

test('times that go back, as at a change of leader or when a clock is set back, are no sign of tampering', async () => {
  const appended = await appendedBy(service, async () => {
    for (const payer of [samples.payer(), samples.payer()])
      expect((await service.post('/integration/payers', payer)).status).toBe(200);
  });
  expect(appended).toHaveLength(2);
  expect(await verifyCopy()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(
      'Events whose times go backwards, as happens when a clock is set back or the leader changes: 1.',
    ),
    stderr: '',
  });
});
