import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { configureSource, removeSource } from '../../src/modules/integrations/sourceCommands.ts';
import { readSources } from '../../src/modules/integrations/sources.ts';
import { onSharedService } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onSharedService((start) => {
  let service: TestService;
  let directory: KeyDirectory;
  beforeAll(async () => {
    service = await start();
    directory = await KeyDirectory.open(service.eventLog);
  });
  afterAll(async () => {
    directory.close();
    await service.stop();
  });

  const ports = () => ({ eventLog: service.eventLog, directory });

  async function workspaceOf(label: string) {
    const { workspace } = await service.createKey(label);
    return {
      workspace,
      caller: { workspace, principal: { type: 'operator', id: 'test' }, requestId: uuidv7() },
    } as const;
  }

  test('of two that would be the default at once, one is, and the other is told', async () => {
    const { caller, workspace } = await workspaceOf('both');
    const outcomes: PromiseSettledResult<unknown>[] = [];
    const appended = await appendedBy(service, async () => {
      const ids = ['one', 'two', 'three'];
      const writers = ids.map((id) => configureSource(ports(), caller, { id, format: 'hl7v2' }));
      outcomes.push(...(await Promise.allSettled(writers)));
    });
    expect(appended).toEqual(['both.sources: SourceConfigured']);
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    const conflict = { reason: expect.objectContaining({ code: 'conflict' }) };
    expect(refused).toEqual([expect.objectContaining(conflict), expect.objectContaining(conflict)]);
    const sources = await readSources(service.eventLog, workspace);
    expect(sources).toEqual([
      { id: expect.stringMatching(/^(?:one|two|three)$/), format: 'hl7v2', time_zone: 'UTC' },
    ]);
  });

  test('two that do not concern each other are both configured, and one removed at once is gone once', async () => {
    const { caller, workspace } = await workspaceOf('apart');
    const appended = await appendedBy(service, async () => {
      await Promise.all([
        configureSource(ports(), caller, { id: 'emr', format: 'fhir' }),
        configureSource(ports(), caller, { id: 'lab', format: 'hl7v2' }),
      ]);
      const removals = [1, 2].map(() => removeSource(service.eventLog, caller, 'emr'));
      const outcomes = await Promise.allSettled(removals);
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    });
    expect(appended).toEqual([
      'apart.sources: SourceConfigured',
      'apart.sources: SourceConfigured',
      'apart.sources: SourceRemoved',
    ]);
    expect(await readSources(service.eventLog, workspace)).toMatchObject([{ id: 'lab' }]);
  });
});
