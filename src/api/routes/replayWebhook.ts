import { replaySchema } from '../../modules/webhooks/webhookSettings.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { readJson } from '../server/readJson.ts';
import {
  bodyErrors,
  changeOnce,
  doneAnswer,
  jsonBody,
  type WebhookRoutePorts,
  webhookId,
  webhookMember,
  webhookMemberEndpoint,
} from './webhookAddress.ts';

const done = { success: true, message: 'Replay requested' } as const;

/** `POST /integration/webhooks/{id}/replay`. */
export const replayWebhook = endpoint({
  ...webhookMemberEndpoint,
  method: 'post',
  path: `${webhookMember}/replay`,
  operationId: 'replayWebhook',
  summary: 'Replay messages',
  description:
    'Replays all events after a position or from a point in time, a single message, or all messages that ' +
    'were given up after the last attempt. Messages keep their `webhook-id`. Returns 404 also for a ' +
    'message that was not sent in the last 30 days.',
  takesIdempotencyKey: true,
  body: jsonBody(replaySchema, {
    failed: { summary: 'Messages that were given up', value: { failed: true } },
    time: { summary: 'From a point in time', value: { from: '2026-03-14T12:00:00Z' } },
    beginning: { summary: 'Everything', value: { after: '0' } },
  }),
  answers: {
    200: doneAnswer(
      'The messages will be sent.',
      { id: 'WebhookReplayRequested', description: 'Messages will be sent again.' },
      done,
    ),
  },
  errors: [...bodyErrors, 'WebhookNotFound', 'WebhookDisabled'],
  handler: (ports: WebhookRoutePorts) => async (exchange) => {
    const input = await readJson(exchange);
    await changeOnce(ports, exchange, input, (caller) =>
      ports.webhooks.replay(caller, webhookId(exchange), input),
    );
    return { body: done };
  },
});
