import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newEvent } from '../../src/domain/events/newEvent.ts';
import { recordStream } from '../../src/domain/events/streams.ts';

import { type CliResult, runCli, spawnCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';

const LONG_MS = 180_000;
const EVENTS = 20_000;
const AT_ONCE = 500;

onEmbeddedEngines((start) => {
  const folder = temporaryFolder();
  const inFolder = (name: string) => join(folder, name);
  let service: TestService;
  beforeAll(async () => {
    service = await start({ ROLES: 'api' });
    for (let n = 0; n < EVENTS; n += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, appendPayer));
  }, LONG_MS);
  afterAll(() => service.stop());

  /** Past the REST interface, which is slower. */
  function appendPayer() {
    const workspace = service.workspaceId('clinic');
    const payer = samples.payer();
    const caller = { workspace, principal: { type: 'operator', id: 'test' }, requestId: uuidv7() } as const;
    const event = newEvent(caller, 'PayerUpserted', payer);
    return service.eventLog.append(recordStream(workspace, 'payer', payer.id), event, 'any');
  }

  const stores = () => ({ ...storesOf(service.config), DATA_DIR: folder });

  function exported(name: string, args: string[], kill?: AbortSignal): Promise<CliResult> {
    const workspace = service.workspaceId('clinic');
    return spawnCli(['export', '--workspace', workspace, '--out', inFolder(name), ...args], {
      env: stores(),
      ...(kill && { kill }),
    });
  }

  /** Runs an export and kills it when it has got somewhere. */
  async function killedExport(name: string, args: string[]): Promise<CliResult> {
    const kill = new AbortController();
    const running = exported(name, args, kill.signal);
    await eventually(() => {
      const { progress } = JSON.parse(readFileSync(`${inFolder(name)}.part.checkpoint`, 'utf8'));
      expect(progress.events).toBeGreaterThan(0);
    }, LONG_MS);
    kill.abort();
    return running;
  }

  test.each(['ndjson', 'csv'])(
    'an export as %s that was killed goes on, to the same file',
    async (format) => {
      const args = ['--format', format, '--kind', 'payer'];
      expect((await exported(`whole.${format}`, args)).code).toBe(0);
      const name = `killed.${format}`;
      const path = inFolder(name);
      expect((await killedExport(name, args)).code).toBe(null);
      expect([existsSync(path), existsSync(`${path}.part`)]).toEqual([false, true]);
      // What was written behind the checkpoint may end anywhere.
      writeFileSync(`${path}.part`, 'torn', { flag: 'a' });

      const resumed = await exported(name, args);
      expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining('20,000 events in ') });
      const [, after] = /^Going on after (\d+) events of an earlier run\.\n$/.exec(resumed.stderr) ?? [];
      expect(Number(after)).toBeGreaterThan(0);
      expect(Number(after)).toBeLessThan(EVENTS);
      expect(readFileSync(path).equals(readFileSync(inFolder(`whole.${format}`)))).toBe(true);
      expect([`${path}.part`, `${path}.part.checkpoint`].filter(existsSync)).toEqual([]);
      const key = inFolder('public.pem');
      writeFileSync(key, (await runCli(['secrets', 'show', 'signing'], { env: stores() })).stdout);
      expect((await runCli(['verify', path, '--public-key', key])).code).toBe(0);
    },
    LONG_MS,
  );

  test(
    'a complete export that was killed ends with the entry of the run that went on, and has the root of its lines',
    async () => {
      expect((await killedExport('all.ndjson', ['--format', 'ndjson'])).code).toBe(null);
      await appendPayer();
      const { code, stderr } = await exported('all.ndjson', ['--format', 'ndjson']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Going on after ') });
      const key = inFolder('public.pem');
      writeFileSync(key, (await runCli(['secrets', 'show', 'signing'], { env: stores() })).stdout);
      expect(await runCli(['verify', inFolder('all.ndjson'), '--public-key', key])).toMatchObject({
        code: 0,
      });
      const lines = readFileSync(inFolder('all.ndjson'), 'utf8').trimEnd().split('\n');
      const last = JSON.parse(lines.at(-1) as string);
      const { ranges } = last.data.shown;
      expect(last).toMatchObject({ type: 'AccessRecorded', data: { action: 'export' } });
      expect(ranges).toEqual([{ from: expect.any(Number), to: expect.any(Number) }]);
      expect(ranges[0].from).toBeGreaterThan(1);
      expect(ranges[0].to).toBeLessThan(last.position);
      expect(ranges[0].to).toBeGreaterThanOrEqual(JSON.parse(lines.at(-2) as string).position);
    },
    LONG_MS,
  );

  test(
    'another export does not go on with what was left, nor discard it, unless told to',
    async () => {
      const args = ['--format', 'ndjson', '--kind', 'payer'];
      expect((await killedExport('other.ndjson', args)).code).toBe(null);
      const other = ['--format', 'ndjson', '--kind', 'patient'];
      expect(await exported('other.ndjson', other)).toEqual({
        code: 1,
        stdout: '',
        stderr: `${inFolder('other.ndjson')}.part belongs to another, unfinished export. To discard it, use --force.\n`,
      });
      expect(await exported('other.ndjson', [...other, '--force'])).toMatchObject({ code: 0, stderr: '' });
      expect(readFileSync(inFolder('other.ndjson'), 'utf8')).toBe('');
    },
    LONG_MS,
  );
});
