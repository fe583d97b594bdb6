import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../../src/cli/program.ts';
import { runOn } from '../../src/server/terminal.ts';

import { storesOf, temporaryFolder } from '../support/cli.ts';
import { bundle, fhirEncounter, fhirPatient, putFhir, sendFhir } from '../support/fhir.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  const folder = temporaryFolder();
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const env = () => ({ ...process.env, ...storesOf(service.config), DATA_DIR: service.config.dataDir });
  const inWorkspace = (...args: string[]) => [...args, '--workspace', service.workspaceId('clinic')];

  /** Sends every message again that waits; calls `meanwhile` once the first one is done, before the next one. */
  async function resendAll(meanwhile: () => void): Promise<string> {
    let text = '';
    const stdout = new Writable({
      write: (chunk, _encoding, done) => {
        if (text === '') meanwhile();
        text += chunk;
        done();
      },
    });
    const terminal = { env: env(), stdin: Readable.from([]), stdout, stderr: stdout };
    await runOn(terminal, () => runCommand(inWorkspace('messages', 'resend')));
    return text;
  }

  /** Does it before this process goes on. */
  const atOnce = (...args: string[]) =>
    execFileSync(process.execPath, [join(process.cwd(), 'bin/chartledger.mjs'), ...inWorkspace(...args)], {
      env: env(),
    });

  test('what was corrected or erased since the run began is skipped, and the rest is sent again', async () => {
    const [patient, erased] = [fhirPatient(), fhirPatient()];
    const [first, wrong, right, last] = [1, 2, 3, 4].map(() =>
      fhirEncounter({ reference: `Patient/${patient.id}` }),
    );
    await putFhir(service, erased);
    const sent = [first, wrong, { ...erased, birthDate: 'soon' }, last];
    for (const one of sent) await sendFhir(service, '/fhir', bundle('batch', one ?? {}));
    await putFhir(service, patient);
    const file = join(folder, 'correction.json');
    writeFileSync(file, JSON.stringify(bundle('batch', right ?? {})));
    const waiting = JSON.parse(String(atOnce('messages', 'list', '--rejected', '--json')));
    const ids: string[] = waiting.map(({ id }: { id: string }) => id).toReversed();
    let text = '';
    const written = await changesBy(service, async () => {
      text = await resendAll(() => {
        atOnce('messages', 'correct', ids[1] ?? '', '--file', file);
        atOnce('records', 'erase', 'patient', String(erased.id), '--reason', 'Asked');
      });
    });
    expect(text).toContain(`${ids[0]}: accepted`);
    expect(text).toContain(`${ids[1]}: skipped. It was corrected by `);
    expect(text).toContain(`${ids[2]}: skipped. It no longer exists.`);
    expect(text).toContain(`${ids[3]}: accepted`);
    expect(written.map(({ type, data }) => [type, data.id ?? data.record_id])).toEqual([
      ['EncounterUpserted', first?.id],
      ['EncounterUpserted', right?.id],
      ['RecordErased', expect.anything()],
      ['EncounterUpserted', last?.id],
    ]);
  });
});
