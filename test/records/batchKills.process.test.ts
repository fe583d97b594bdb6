import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordStream } from '../../src/domain/events/streams.ts';
import { storesOf } from '../support/cli.ts';
import { Client, linesOf, postLines, sendBatch } from '../support/client.ts';
import { eventually, LaterClock } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { ServiceProcess } from '../support/processes.ts';
import { appendedBy, startTestService, type TestService } from '../support/service.ts';

/** Longer than a key is held by a process of which nothing is heard. */
const LONG_AFTER_MS = 15_000;
const LINES = 20_000;

let service: TestService;
let later: Client & { stop(): Promise<void> };
beforeAll(async () => {
  service = await startTestService();
  later = await service.another({}, { clock: new LaterClock(LONG_AFTER_MS) });
});
afterAll(async () => {
  await later.stop();
  await service.stop();
});

test('a batch whose process was killed on the way is completed by its repeat: nothing is lost, nothing doubled', async () => {
  const { config } = service;
  const child = new ServiceProcess({
    ...{ ...storesOf(config), DATA_DIR: config.dataDir },
    ...{ RATE_LIMIT_PER_MINUTE: '0', NODE_ENV: 'production' },
  });
  const dying = new Client(await child.url(), service.key);
  const name = phi('Aetna');
  const lines = Array.from({ length: LINES }, (_, n) => ({
    kind: 'payer',
    record: { id: `killed-${n}`, name },
  }));
  const key = { 'idempotency-key': phi('key') };
  const appended = await appendedBy(service, async () => {
    const first = recordStream(service.workspaceId('clinic'), 'payer', 'killed-0');
    const cutOff = postLines(dying, linesOf(lines), key).catch(() => undefined);
    await eventually(async () =>
      expect(await service.eventLog.readStream(first, { limit: 1 })).toHaveLength(1),
    );
    await child.end('SIGKILL');
    expect((await cutOff)?.text ?? '').not.toContain('"summary"');
    const { results, headers } = await sendBatch(later, lines, key);
    expect(headers['idempotent-replayed']).toBe('true');
    expect(results.filter(({ outcome, version }) => outcome !== 'created' || version !== 1)).toEqual([]);
    expect(results).toHaveLength(LINES);
  });
  expect(appended).toHaveLength(LINES);
  expect(new Set(appended).size).toBe(LINES);
}, 120_000);
