import { ServiceError } from '../../platform/errors.ts';

/** Maximum number of webhooks in a workspace. */
export const MAX_WEBHOOKS = 100;

/** Returns the refusal to create one more webhook. */
export function tooManyWebhooks(): ServiceError {
  return new ServiceError('conflict', `A workspace can have at most ${MAX_WEBHOOKS} webhooks.`);
}

/** Returns the refusal to send anything to a disabled webhook. */
export function webhookDisabled(): ServiceError {
  return new ServiceError('conflict', 'The webhook is disabled; enable it first.');
}
