import { z } from 'zod';
import { messageId } from '../../modules/webhooks/webhookMessage.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { exampleRequestId } from '../schemas/examples.ts';
import { exampleWebhookId } from '../schemas/webhookMessages.ts';
import {
  changeOnce,
  type WebhookRoutePorts,
  webhookId,
  webhookMember,
  webhookMemberEndpoint,
} from './webhookAddress.ts';

const pingedSchema = z
  .object({
    success: z.literal(true),
    message: z.string(),
    message_id: z.string().meta({ description: 'The `webhook-id` of the message' }),
  })
  .meta({ id: 'WebhookPingRequested', description: 'A ping will be sent.' });

const done = { success: true, message: 'Ping requested' } as const;

/** `POST /integration/webhooks/{id}/ping`. */
export const pingWebhook = endpoint({
  ...webhookMemberEndpoint,
  method: 'post',
  path: `${webhookMember}/ping`,
  operationId: 'pingWebhook',
  summary: 'Send a ping',
  description: 'Sends a message of the type `chartledger.webhook.ping.v1`. The attempts show its outcome.',
  takesIdempotencyKey: true,
  answers: {
    200: {
      description: 'The ping will be sent.',
      schema: pingedSchema,
      example: { ...done, message_id: messageId(exampleWebhookId, exampleRequestId) },
    },
  },
  errors: ['WebhookNotFound', 'WebhookDisabled'],
  handler: (ports: WebhookRoutePorts) => async (exchange) => {
    const message_id = await changeOnce(ports, exchange, undefined, (caller) =>
      ports.webhooks.ping(caller, webhookId(exchange)),
    );
    return { body: { ...done, message_id } };
  },
});
