import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../support/cli.ts';
import { freshId } from '../support/fhir.ts';
import { inStores } from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, changesBy, sharedService, type TestService } from '../support/service.ts';

import { hl7Message, pid } from './hl7Messages.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  const folder = temporaryFolder();
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  test('a mapping is read from a file, shown, and refused where nothing could come of it', async () => {
    const { workspace } = await service.createKey('mapped');
    const sources = (command: string, ...args: string[]) =>
      inStores(service, 'sources', command, ...args, '--workspace', workspace);
    const listed = async () => JSON.parse((await sources('list', '--json')).stdout);
    const file = (content: unknown) => {
      const path = join(folder, `${freshId('mapping')}.json`);
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
      return path;
    };
    const set = (content: unknown, format = 'hl7v2') =>
      sources('set', 'lab', '--format', format, '--mapping', file(content));
    const mapping = { visit_types: { OBV: 'observation', DS: 'surgical' }, visit_id: 'PID-18' };
    const events = await changesBy(service, async () =>
      expect(await set(mapping)).toMatchObject({ code: 0 }),
    );
    expect(events).toMatchObject([{ type: 'SourceConfigured', data: { source: { id: 'lab', mapping } } }]);
    expect(await listed()).toMatchObject([{ id: 'lab', mapping }]);
    expect((await sources('list')).stdout).toContain('visit_id=PID-18, visit_types=2 codes');
    const refusals: [unknown, string, string?][] = [
      [{ visit_types: { OBV: 'observed' } }, 'mapping.visit_types.OBV must be one of office_visit'],
      [{ visit_types: { '': 'inpatient' } }, 'mapping.visit_types.'],
      [{ visit_id: 'PV1-3' }, 'mapping.visit_id must be one of PV1-19, PV1-50, PID-18'],
      [{ visit_typs: {} }, 'mapping.visit_typs is not a known option; the options are visit_types'],
      [
        { organization_types: { ins: 'payer' } },
        'mapping.organization_types is only for sources of the format fhir',
      ],
      [{ payer_id: 'IN1-2' }, 'mapping.payer_id is only for sources of the format hl7v2', 'fhir'],
      [
        { visit_types: Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`C${at}`, 'inpatient'])) },
        'mapping.visit_types must have at most 500 codes',
      ],
      ['visit_types', 'The file must be JSON'],
    ];
    const appended = await appendedBy(service, async () => {
      for (const [content, message, format] of refusals) {
        expect(await set(content, format)).toMatchObject({
          code: 1,
          stderr: expect.stringContaining(message),
        });
      }
      expect(await sources('set', 'lab', '--format', 'hl7v2', '--mapping', '/nowhere')).toMatchObject({
        ...{ code: 1, stderr: expect.stringContaining('cannot be read') },
      });
    });
    expect(appended).toEqual([]);
  });

  test('a code of the EMR gets its meaning by a mapping, in what came before as well', async () => {
    const id = freshId('visit');
    const sent = hl7Message('ADT^A01', [pid, ['PV1', { 2: 'OBV', 19: id }]]);
    const headers = { 'content-type': 'application/hl7-v2' };
    const { text } = await service.send('/hl7/v2', { method: 'POST', headers, body: sent });
    expect(text).toContain('MSA|AA|');
    const path = join(folder, 'lab.json');
    const mapping = { visit_types: { OBV: 'observation' } };
    writeFileSync(path, JSON.stringify({ id: 'lab', format: 'hl7v2', mapping }));
    const mappings = async (command: string) => {
      const workspace = ['--workspace', service.workspaceId('clinic')];
      const options = ['--source', 'default', ...workspace, '--json'];
      return JSON.parse((await inStores(service, 'mappings', command, path, ...options)).stdout);
    };
    const changes = [{ field: 'visit_type', from: null, to: 'observation' }];
    const changed = [{ kind: 'encounter', id, version: 1, changes, changed_since: [] }];
    expect(await mappings('test')).toMatchObject({ messages: 1, made: [], left: [], otherwise: [], changed });
    const events = await changesBy(service, () => mappings('apply'));
    expect(events.map(({ type, data }) => [type, data.visit_type])).toEqual([
      ['SourceConfigured', undefined],
      ['EncounterUpserted', 'observation'],
    ]);
  });
});
