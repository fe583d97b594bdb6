import type { ZodRequestBody } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import type { WebhookCaller } from '../../../webhooks/settings/payloadPermissions.ts';
import type { WebhookManager } from '../../../webhooks/settings/WebhookManager.ts';
import { exampleWebhookId } from '../../document/webhookMessages.ts';
import { type IdempotencyPorts, onceIfKeyed } from '../../idempotency/once.ts';
import { callerOf, type Exchange } from '../../server/exchange.ts';

export interface WebhookRoutePorts extends IdempotencyPorts {
  webhooks: WebhookManager;
}

/** Path of the webhooks of a workspace. */
export const webhookCollection = '/integration/webhooks';
/** Path of one of them. */
export const webhookMember = `${webhookCollection}/{id}`;
const webhookParams = z.object({
  id: z.string().meta({ description: 'The id of the webhook', examples: [exampleWebhookId] }),
});

/** Who works with webhooks, and what he may let them send. */
export function webhookCallerOf(exchange: Exchange): WebhookCaller {
  return { ...callerOf(exchange), permissions: exchange.found?.key.permissions ?? [] };
}

/** Which webhook a path names. */
export function webhookId({ req }: Exchange): string {
  return String(req.params.id);
}

/** Who works with a webhook, and with which one: the first arguments of what is done with one. */
export function webhookOf(exchange: Exchange): [caller: WebhookCaller, id: string] {
  return [webhookCallerOf(exchange), webhookId(exchange)];
}

/** What a change of webhooks gives, which is made once for an `Idempotency-Key` (see `onceIfKeyed`). */
export function changeOnce<Result>(
  ports: WebhookRoutePorts,
  exchange: Exchange,
  body: unknown,
  change: (caller: WebhookCaller) => Promise<Result>,
): Promise<Result> {
  const { permissions } = webhookCallerOf(exchange);
  return onceIfKeyed(ports, exchange, body, (caller) => change({ ...caller, permissions }));
}

/** What every endpoint of webhooks has. */
export const webhookEndpoint = { tag: 'Webhooks', permission: 'webhooks' } as const;

/** What every endpoint of one webhook has. */
export const webhookMemberEndpoint = { ...webhookEndpoint, params: webhookParams } as const;

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

/** What is answered where something was done, and nothing else is to be told. */
export interface Done {
  success: true;
  message: string;
}

/** That answer, as the document has it; `schema` is what its schema is called and described by. */
export function doneAnswer(description: string, schema: { id: string; description: string }, example: Done) {
  const fields = { success: z.literal(true), message: z.string() };
  return { description, schema: z.object(fields).meta(schema), example };
}
