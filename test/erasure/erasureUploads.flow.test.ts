import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { documentsPath } from '../support/documents.ts';
import { onEveryEngine } from '../support/engines.ts';
import { phi } from '../support/phi.ts';
import { samples } from '../support/samples.ts';
import { appendedBy, type TestService } from '../support/service.ts';
import { storedFiles } from '../support/storedFiles.ts';
import { beginUpload, endUpload } from '../support/streamUpload.ts';

onEveryEngine((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('an upload that was under way when its encounter was erased leaves nothing', async () => {
    const patient = samples.patient();
    const encounter = { id: phi('encounter'), patient_id: patient.id };
    expect((await service.post('/integration/patients', patient)).status).toBe(200);
    expect((await service.post('/integration/encounters', encounter)).status).toBe(200);
    const outgoing = beginUpload(service, encounter.id, phi('document'));
    // Nobody tells when the service has let it in; one that it refuses before would leave nothing either.
    await service.get(documentsPath(encounter.id));
    const options = ['--workspace', service.workspaceId('clinic'), '--reason', 'Request 2026-117'];
    const { code, stderr } = await runCli(['erase', 'encounter', encounter.id, ...options], {
      env: { ...storesOf(service.config), DATA_DIR: folder },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const appended = await appendedBy(service, async () => {
      expect(await endUpload(outgoing)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    });
    expect(appended.filter((line) => !line.includes('AccessRecorded'))).toEqual([]);
    if (service.config.documentsUrl.startsWith('file:')) {
      expect(storedFiles(service.config)).toEqual({ objects: [], uploads: [] });
    }
  });
});
