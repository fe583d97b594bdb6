import type { ZodRequestBody } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import type { WebhookCaller } from '../../../webhooks/settings/payloadPermissions.ts';
import type { WebhookManager } from '../../../webhooks/settings/WebhookManager.ts';
import { exampleWebhookId } from '../../document/webhookMessages.ts';
import { callerOf, type Exchange } from '../../server/exchange.ts';

export interface WebhookRoutePorts {
  webhooks: WebhookManager;
}

/** Path of the webhooks of a workspace. */
export const webhookCollection = '/integration/webhooks';
/** Path of one of them. */
export const webhookMember = `${webhookCollection}/{id}`;
export const webhookParams = z.object({
  id: z.string().meta({ description: 'The id of the webhook', examples: [exampleWebhookId] }),
});

export const webhookId = ({ req }: Exchange) => String(req.params.id);

/** Who works with webhooks, and what he may let them send. */
export function webhookCallerOf(exchange: Exchange): WebhookCaller {
  return { ...callerOf(exchange), permissions: exchange.found?.key.permissions ?? [] };
}

/** What every endpoint of webhooks has. */
export const webhookEndpoint = { tag: 'Webhooks', permission: 'webhooks' } as const;

/** What goes wrong with a body. */
export const bodyErrors = ['InvalidWebhook', 'BodyTooLarge', 'NotJson'] as const;

/** A JSON body. */
export function jsonBody(
  schema: z.ZodType,
  examples: Record<string, { summary: string; value: unknown }>,
  required = true,
): ZodRequestBody {
  return { required, content: { 'application/json': { schema, examples } } };
}

/** The schema of the answer to something that was done. */
export function doneSchema(id: string, description: string) {
  return z.object({ success: z.literal(true), message: z.string() }).meta({ id, description });
}
