import { ServiceError } from '../../errors.ts';

/** Webhooks that a workspace can have. */
export const MAX_WEBHOOKS = 100;

/** The refusal of one webhook more. */
export function tooManyWebhooks(): ServiceError {
  return new ServiceError('conflict', `A workspace can have at most ${MAX_WEBHOOKS} webhooks.`);
}

/** The refusal to send anything to a webhook that is disabled. */
export function webhookDisabled(): ServiceError {
  return new ServiceError('conflict', 'The webhook is disabled; enable it first.');
}
