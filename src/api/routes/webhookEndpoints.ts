import { createWebhook } from './createWebhook.ts';
import { deleteWebhook } from './deleteWebhook.ts';
import { listWebhookAttempts } from './listWebhookAttempts.ts';
import { listWebhooks } from './listWebhooks.ts';
import { pingWebhook } from './pingWebhook.ts';
import { readWebhook } from './readWebhook.ts';
import { replayWebhook } from './replayWebhook.ts';
import { retryWebhook } from './retryWebhook.ts';
import { rotateWebhookSecret } from './rotateWebhookSecret.ts';
import { updateWebhook } from './updateWebhook.ts';

/** The endpoints of webhooks. */
export const webhookEndpoints = [
  createWebhook,
  listWebhooks,
  readWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  pingWebhook,
  retryWebhook,
  replayWebhook,
  listWebhookAttempts,
];
