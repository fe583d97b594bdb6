import type { Webhook } from '../../src/modules/webhooks/webhook.ts';

/** A webhook that wants everything from the beginning of the log on. */
export function sampleWebhook(overrides: Partial<Webhook> = {}): Webhook {
  const at = '2026-11-21T10:00:00.000Z';
  return {
    id: 'wh_0123456789abcdef',
    order: 0,
    workspace: 'clinic',
    url: 'https://billing.example/hook',
    description: undefined,
    kinds: undefined,
    types: undefined,
    payload: 'reference',
    startAfter: 0,
    secrets: [],
    state: 'enabled',
    disabledReason: undefined,
    createdAt: at,
    createdBy: { type: 'api_key', id: 'key_4fTq9LmZs2Xw8RbC' },
    updatedAt: at,
    enabledAt: at,
    version: 1,
    requests: [],
    ...overrides,
  };
}
