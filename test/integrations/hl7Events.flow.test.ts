import { readFileSync } from 'node:fs';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { eventRows } from '../../src/modules/integrations/hl7/events.ts';
import { configureSource } from '../../src/modules/integrations/sourceCommands.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

import { scenarios } from './hl7Scenarios.ts';

const events = eventRows.flatMap((row) => row.events.map((event) => `${row.type} ${event}`));

test('each event has scenarios, and a row in the guide', () => {
  expect([...scenarios.keys()].toSorted()).toEqual(events.toSorted());
  expect(events.filter((one) => (scenarios.get(one)?.length ?? 0) < 2)).toEqual([]);
  const guide = readFileSync('docs/guides/hl7.md', 'utf8');
  const section = guide.slice(
    guide.indexOf('## Messages that are taken'),
    guide.indexOf('## Where fields come from'),
  );
  const cells = [...section.matchAll(/^\| (.+?) +\| (.+?) +\| (.+?) +\|$/gm)].slice(2);
  expect(cells.map(([, ...row]) => row)).toEqual(
    eventRows.map((row) => [`${row.type} ${row.events.join(', ')}`, row.title, row.becomes]),
  );
});

onEmbeddedEngines(() => {
  let service: TestService;
  let directory: KeyDirectory;
  beforeAll(async () => {
    service = await sharedService();
    directory = await KeyDirectory.open(service.eventLog);
  });
  afterAll(async () => {
    directory.close();
    await service.stop();
  });

  test.each(events)('%s does what the guide says, in order and out of order, and once', async (event) => {
    for (const [place, { source, before = [], message, appended, after = {} }] of (
      scenarios.get(event) ?? []
    ).entries()) {
      const label = `${event.replace(' ', '').toLowerCase()}_${place}`;
      const { key, workspace } = await service.createKey(label);
      const client = service.as(key);
      if (source) {
        const caller = {
          workspace,
          principal: { type: 'operator', id: 'test' },
          requestId: uuidv7(),
        } as const;
        const settings = { id: 'adt', format: 'hl7v2', ...source } as const;
        await configureSource({ eventLog: service.eventLog, directory }, caller, settings);
      }
      const send = async (body: string) => {
        const headers = { 'content-type': 'application/hl7-v2' };
        const { text } = await client.send('/hl7/v2', { method: 'POST', body, headers });
        return text.split('\r').find((one) => one.startsWith('MSA'));
      };
      for (const one of before)
        expect([label, await send(one)]).toEqual([label, expect.stringContaining('MSA|AA|')]);
      const written = await appendedBy(service, async () => {
        expect([label, await send(message)]).toEqual([label, expect.stringContaining('MSA|AA|')]);
      });
      const expected = appended.map((one) => `${label}.${one}`);
      expect([label, ...written.toSorted()]).toEqual([label, ...expected.toSorted()]);
      for (const [path, fields] of Object.entries(after)) {
        const { status, body } = await client.get(path);
        if (fields === undefined) expect([label, path, status]).toEqual([label, path, 404]);
        else {
          const { record } = body as { record: Record<string, unknown> };
          const shown = Object.fromEntries(Object.keys(fields).map((name) => [name, record[name]]));
          expect([label, path, shown]).toEqual([label, path, fields]);
        }
      }
      expect(await appendedBy(service, () => send(message))).toEqual([]);
    }
  });
});
