import { expect, test } from 'vitest';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { eventsOf } from '../support/log.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { type Hook, HookSuite, LONG_MS } from '../support/webhooks.ts';

const WAIT_MS = 20_000;
const ERASED = 'chartledger.patient.erased.v1';

onEveryEngine((start) => {
  const suite = new HookSuite(start);
  const folder = temporaryFolder();

  const send = async (patient: object) =>
    expect((await suite.client.post('/integration/patients', patient)).status).toBe(200);

  const erase = async (id: string) => {
    // A list is up to date: the command finds out what refers to the patient, and waits two seconds for that.
    await eventually(
      async () => expect((await suite.client.get('/integration/encounters')).status).toBe(200),
      WAIT_MS,
    );
    const workspace = suite.service.workspaceId(suite.label);
    const { code, stderr } = await runCli(
      ['records', 'erase', 'patient', id, '--workspace', workspace, '--reason', 'Request 2026-117'],
      { env: { ...storesOf(suite.service.config), DATA_DIR: folder } },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  };

  /** What the endpoint took of a patient: the versions, with what the message says of each. */
  const taken = ({ endpoint }: Hook, id: string) =>
    endpoint.accepted
      .map(({ body }) => JSON.parse(body))
      .filter(({ subject }) => subject === `patient/${encodeURIComponent(id)}`)
      .map(({ type, data }) => [type, data.version, data.outcome]);

  test(
    'a webhook is told of an erasure; the attempts to tell of what was erased are gone',
    async () => {
      const hook = await suite.open({ payload: 'full' });
      const [patient, other] = [{ ...samples.patient(), last_name: phi('Lopez') }, samples.patient()];
      for (const one of [patient, { ...patient, last_name: phi('Diaz') }, other]) await send(one);
      const versionsOf = async (id: string) =>
        (await suite.attempts(hook.id))
          .filter(({ record_id }: { record_id: string }) => record_id === id)
          .map(({ type, version }: { type: string; version: number }) => [type, version]);
      await eventually(async () => expect(await versionsOf(patient.id)).toHaveLength(2), WAIT_MS);
      await erase(patient.id);
      await eventually(() => expect(taken(hook, patient.id).at(-1)).toEqual([ERASED, 3, undefined]), WAIT_MS);
      await eventually(async () => expect(await versionsOf(patient.id)).toEqual([[ERASED, 3]]), WAIT_MS);
      expect(await versionsOf(other.id)).toEqual([['chartledger.patient.upserted.v1', 1]]);
      const told = hook.endpoint.accepted.find(({ type }) => type === ERASED);
      expect(JSON.parse(told?.body ?? '').data).toEqual({
        version: 3,
        sent: { id: patient.id },
        changed: [],
      });
    },
    LONG_MS,
  );

  test(
    'what is in memory of an erased record is sent no more, and no response to it is kept',
    async () => {
      const hook = await suite.open({ payload: 'full' });
      const patient = { ...samples.patient(), last_name: phi('Lopez') };
      // So many that sending them takes several times as long as the erasure.
      const versions = 60;
      hook.endpoint.answer = () => 'slow';
      for (let version = 1; version <= versions; version += 1) await send({ ...patient, city: `${version}` });
      await erase(patient.id);
      const sent = hook.endpoint.received.length;
      await eventually(
        () => expect(taken(hook, patient.id).at(-1)).toEqual([ERASED, versions + 1, undefined]),
        WAIT_MS,
      );
      // Those of the second in which other processes learn of it, and the one that tells of it.
      expect(hook.endpoint.received.length - sent).toBeLessThanOrEqual(6);
      const told = async () => (await suite.attempts(hook.id)).map(({ type }: { type: string }) => type);
      await eventually(async () => expect(await told()).toContain(ERASED), WAIT_MS);
      expect(await told()).toEqual([ERASED]);
    },
    LONG_MS,
  );

  test(
    'the first version after an erasure is told as created, also to who has not been told of the others',
    async () => {
      const hook = await suite.open({ payload: 'reference' });
      const patient = samples.patient();
      for (const city of ['Omaha', 'Lincoln']) await send({ ...patient, city });
      await eventually(() => expect(taken(hook, patient.id)).toHaveLength(2), WAIT_MS);
      await erase(patient.id);
      for (const city of ['Omaha', 'Lincoln', 'Lincoln']) await send({ ...patient, city });
      const upserted = 'chartledger.patient.upserted.v1';
      const since = [
        [ERASED, 3, 'erased'],
        [upserted, 4, 'created'],
        [upserted, 5, 'updated'],
        [upserted, 6, 'unchanged'],
      ];
      await eventually(
        () =>
          expect(taken(hook, patient.id)).toEqual([
            [upserted, 1, 'created'],
            [upserted, 2, 'updated'],
            ...since,
          ]),
        WAIT_MS,
      );
      const late = await suite.open({ payload: 'reference' });
      await eventually(() => expect(taken(late, patient.id)).toEqual(since), WAIT_MS);
      // The stream names every field of it as changed, as of any first version.
      const stream = await suite.client.get('/events?limit=10000');
      const first = eventsOf(stream).find(
        ({ subject, data }) => subject === `patient/${encodeURIComponent(patient.id)}` && data.version === 4,
      );
      expect(first?.data.changed).toContain('first_name');
    },
    LONG_MS,
  );
});
