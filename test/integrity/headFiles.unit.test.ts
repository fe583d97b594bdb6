import { expect, test } from 'vitest';
import { INSTALLATION } from '../../src/domain/events/streams.ts';
import { headFilesOf } from '../../src/modules/integrity/treeHeads.ts';
import { LocalTreeHeadPublisher } from '../../src/storage/engines/filesystem/targets.ts';

import { temporaryFolder } from '../support/cli.ts';

test('the heads of a workspace called `all` are not those of all workspaces', async () => {
  const target = new LocalTreeHeadPublisher(temporaryFolder());
  const ofAll = 'all-000000001024-20260314T093000000Z.json';
  const ofTheInstallation = 'all-workspaces-000000004096-20260314T093000000Z.json';
  for (const name of [ofAll, ofTheInstallation]) await target.write(name, '{}');
  const kept = async (workspace: string) =>
    (await Array.fromAsync(target.list(headFilesOf(workspace)))).map(({ name }) => name);
  expect(await kept('all')).toEqual([ofAll]);
  expect(await kept(INSTALLATION)).toEqual([ofTheInstallation]);
});
