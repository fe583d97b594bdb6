import type { ZodRequestBody } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import type { WebhookCaller } from '../../modules/webhooks/payloadPermissions.ts';
import type { WebhookManager } from '../../modules/webhooks/WebhookManager.ts';
import { exampleWebhookId } from '../schemas/webhookMessages.ts';
import { callerOf, type Exchange } from '../server/exchange.ts';
import { type IdempotencyPorts, onceIfKeyed } from '../server/once.ts';

export interface WebhookRoutePorts extends IdempotencyPorts {
  webhooks: WebhookManager;
}

/** Path of a workspace's webhooks. */
export const webhookCollection = '/integration/webhooks';
/** Path of one of them. */
export const webhookMember = `${webhookCollection}/{id}`;
const webhookParams = z.object({
  id: z.string().meta({ description: 'The id of the webhook', examples: [exampleWebhookId] }),
});

/** Returns who works with webhooks, and what they may have sent. */
export function webhookCallerOf(exchange: Exchange): WebhookCaller {
  return { ...callerOf(exchange), permissions: exchange.found?.key.permissions ?? [] };
}

/** Returns which webhook a path names. */
export function webhookId({ req }: Exchange): string {
  return String(req.params.id);
}

/** Returns who works with a webhook, and with which one: the first arguments of operations on a webhook. */
export function webhookOf(exchange: Exchange): [caller: WebhookCaller, id: string] {
  return [webhookCallerOf(exchange), webhookId(exchange)];
}

/**
 * Resolves with the result of a change to webhooks, which is made once for an `Idempotency-Key` (see `onceIfKeyed`).
 */
export function changeOnce<Result>(
  ports: WebhookRoutePorts,
  exchange: Exchange,
  body: unknown,
  change: (caller: WebhookCaller) => Promise<Result>,
): Promise<Result> {
  const { permissions } = webhookCallerOf(exchange);
  return onceIfKeyed(ports, exchange, body, (caller) => change({ ...caller, permissions }));
}

/** What all endpoints of webhooks have in common. */
export const webhookEndpoint = { tag: 'Webhooks', permission: 'webhooks' } as const;

/** What all endpoints of a single webhook have in common. */
export const webhookMemberEndpoint = { ...webhookEndpoint, params: webhookParams } as const;

/** What can go wrong with a body. */
export const bodyErrors = ['InvalidWebhook', 'BodyTooLarge', 'NotJson'] as const;

/** Describes a JSON body. */
export function jsonBody(
  schema: z.ZodType,
  examples: Record<string, { summary: string; value: unknown }>,
  required = true,
): ZodRequestBody {
  return { required, content: { 'application/json': { schema, examples } } };
}

/** The response where something was done and there is nothing else to report. */
export interface Done {
  success: true;
  message: string;
}

/** Describes that response for the document; `schema` is its schema's name and description. */
export function doneAnswer(description: string, schema: { id: string; description: string }, example: Done) {
  const fields = { success: z.literal(true), message: z.string() };
  return { description, schema: z.object(fields).meta(schema), example };
}
