import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { runCli, storesOf } from '../support/cli.ts';
import { EventReader } from '../support/log.ts';
import { paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';

onEmbeddedEngines((start) => {
  test('a change of the key of the de-identified view, which nobody reads any more, ends a live reader of the full view once', async () => {
    const keys = [randomBytes(32), randomBytes(32)].map((one) => one.toString('base64')).join(',');
    const service = await start({ DEIDENTIFICATION_KEY: keys });
    const { key } = await service.createKey('clinic', ['write', 'events']);
    const client = service.as(key);
    expect((await client.get('/events?view=deidentified')).status).toBe(200);
    const before = await EventReader.open(client);
    const rotated = await runCli(['secrets', 'rotate', 'pseudonyms'], { env: storesOf(service.config) });
    expect(rotated).toMatchObject({ code: 0, stderr: '' });
    await before.end();
    const reader = await EventReader.open(client);
    // Several times as long as it takes to look at the key.
    expect((await client.get('/events?wait=3')).status).toBe(200);
    expect(reader.ended).toBe(false);
    await client.post(paths.payer, samples.payer());
    await reader.count(1);
    reader.kill();
    await service.stop();
  }, 60_000);
});
