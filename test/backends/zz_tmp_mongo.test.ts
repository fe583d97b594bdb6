import { rmSync } from 'node:fs';
import { test } from '@jest/globals';
import { startTestService } from '../support/service.ts';
import { samples } from '../support/samples.ts';
test('idle', async () => {
  const s = await startTestService({});
  await s.post('/integration/patients', samples.patient());
  console.log((await s.get('/integration/patients')).status);
  rmSync(s.config.readModelUrl.slice(7));
  const out = [];
  for (let i = 0; i < 4; i++) out.push((await s.get('/integration/patients')).status);
  console.log(out);
  await s.post('/integration/patients', samples.patient());
  console.log((await s.get('/integration/patients')).body.items?.length);
  await s.stop();
});
