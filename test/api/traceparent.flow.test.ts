import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { eventsOf } from '../support/log.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy } from '../support/service.ts';
import { type Hook, HookSuite, LONG_MS } from '../support/webhooks.ts';

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const PAYERS = '/integration/payers';

onEmbeddedEngines((start) => {
  const suite = new HookSuite(start);

  /** What the messages that an endpoint took say of the trace: in the header, and in the event. */
  const told = ({ endpoint }: Hook) =>
    endpoint.accepted.map(({ headers, body }) => [headers.traceparent, JSON.parse(body).traceparent]);

  test(
    'the trace of a request goes with its event: to the stream and to webhooks, but not where nobody is to be known',
    async () => {
      const hooks = await Promise.all(
        ['reference', 'full', 'deidentified'].map((payload) => suite.open({ payload })),
      );
      const events = await changesBy(suite.service, async () => {
        await suite.client.post(PAYERS, samples.payer(), { traceparent });
        await suite.client.post(PAYERS, samples.payer());
        await suite.client.post(PAYERS, samples.payer(), { traceparent: traceparent.replace('00-', 'ff-') });
      });
      expect(events.map(({ metadata }) => metadata.traceparent)).toEqual([traceparent, undefined, undefined]);

      const streamed = eventsOf(await suite.client.get('/events'));
      expect(streamed.map((event) => event.traceparent)).toEqual([traceparent, undefined, undefined]);
      const deidentified = await suite.service.createKey(suite.label, ['events:deidentified']);
      const shown = await suite.service.as(deidentified.key).get('/events');
      expect(eventsOf(shown)).toHaveLength(3);
      expect(shown.text).not.toContain('traceparent');

      const [reference, full, hidden] = hooks as [Hook, Hook, Hook];
      const none = [undefined, undefined];
      for (const hook of [reference, full])
        await eventually(() =>
          expect(told(hook).toSorted()).toEqual([[traceparent, traceparent], none, none].toSorted()),
        );
      await eventually(() => expect(told(hidden)).toEqual([none, none, none]));
    },
    LONG_MS,
  );
});
