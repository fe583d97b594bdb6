import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordStream } from '../../src/domain/events/streams.ts';
import type { Message } from '../../src/modules/integrations/messages/message.ts';
import { type MessagePorts, MessageStore } from '../../src/modules/integrations/messages/store.ts';
import { eventually } from '../support/eventually.ts';
import { fhirPatient, freshId, sendFhir } from '../support/fhir.ts';
import { closeMessageStores, openMessageStores } from '../support/messages.ts';
import { onSharedService } from '../support/servers.ts';
import { changesBy, type TestService } from '../support/service.ts';

/** As of two who send a message again or correct it at once. */
onSharedService((start) => {
  let service: TestService;
  let stores: MessagePorts;
  let store: MessageStore;
  beforeAll(async () => {
    service = await start();
    stores = await openMessageStores(service.config);
    store = new MessageStore(stores);
  });
  afterAll(async () => {
    await closeMessageStores(stores);
    await service.stop();
  });

  /** A message that was refused. */
  async function refused(): Promise<Message> {
    const sent = () => sendFhir(service, '/fhir/Patient', fhirPatient({ birthDate: 'soon' }));
    expect(await changesBy(service, sent)).toEqual([]);
    // What became of a message is stored right after the response.
    return eventually(async () => {
      const { items } = await store.list(service.workspaceId('clinic'), { limit: 1, pageToken: undefined });
      expect(items).toMatchObject([{ state: 'rejected' }]);
      return items[0] as Message;
    });
  }
  const now = ({ workspace, id }: Message) => store.load(workspace, id);
  const patient = () => ({ kind: 'patient', id: freshId('patient') });

  test('records that both find are noted once, and erasing each of them finds the message', async () => {
    const [message, both, one, other] = [await refused(), patient(), patient(), patient()];
    await Promise.all([store.relate(message, [both, one]), store.relate(message, [both, other])]);
    const changed = await now(message);
    expect(
      changed?.about
        .slice(message.about.length)
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual([both, one, other].map(({ id }) => id).toSorted());
    expect(changed?.records).toBe(message.records + 3);
    for (const { kind, id } of [both, one, other]) {
      const found = await Array.fromAsync(store.about(recordStream(message.workspace, kind, id)));
      expect(found.map((each) => each.id)).toEqual([message.id]);
    }
    await store.eraseAbout(recordStream(message.workspace, both.kind, both.id), 1);
    expect(await now(message)).toBeUndefined();
  });

  test('its result, its configuration and its correction do not replace each other', async () => {
    const [message, found] = [await refused(), patient()];
    const { state, about } = message;
    const [, , , isCorrected, isCorrectedToo] = await Promise.all([
      store.processed(message, { state, about, problems: [] }),
      store.readBy(message, 7),
      store.relate(message, [found]),
      store.correctedBy(message, 'one'),
      store.correctedBy(message, 'other'),
    ]);
    expect([isCorrected, isCorrectedToo].toSorted()).toEqual([false, true]);
    expect(await now(message)).toMatchObject({
      ...{ state, problems: [], configuration: 7, corrected_by: isCorrected ? 'one' : 'other' },
      about: [...about, found],
    });
  });

  test('what one of two accepted stays accepted, though the other was refused what was there by then', async () => {
    const message = await refused();
    const [{ kind = '', id = '' } = {}] = message.about;
    await store.processed(message, {
      ...{ state: 'accepted', problems: [] },
      about: [{ kind, id, outcome: 'created', version: 1 }],
    });
    await store.processed(message, {
      state: 'rejected',
      problems: [{ severity: 'error', code: 'conflict', at: '', text: 'It has changed.' }],
      about: [{ kind, id, outcome: 'refused' }],
    });
    expect(await now(message)).toMatchObject({
      ...{ state: 'accepted', problems: [] },
      about: [{ kind, id, outcome: 'created', version: 1 }],
    });
  });
});
